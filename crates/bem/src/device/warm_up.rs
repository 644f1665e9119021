//! Who waits while the GPU is warmed up: two solves at once would load the same kernels twice.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// The thread that warms the GPU up.
static UNDER_WAY: Mutex<Option<ThreadId>> = Mutex::new(None);
static OVER: Condvar = Condvar::new();

fn under_way() -> MutexGuard<'static, Option<ThreadId>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, other threads wait in [`wait`].
pub(crate) struct WarmUp(());

impl WarmUp {
    /// After those of other threads.
    pub(crate) fn begin() -> Self {
        wait();
        *under_way() = Some(thread::current().id());
        Self(())
    }
}

impl Drop for WarmUp {
    fn drop(&mut self) {
        *under_way() = None;
        OVER.notify_all();
    }
}

/// Returns when no other thread warms the GPU up.
pub(super) fn wait() {
    let own = thread::current().id();
    let other = |thread: &mut Option<ThreadId>| thread.is_some_and(|thread| thread != own);
    drop(OVER.wait_while(under_way(), other));
}
