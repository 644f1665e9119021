//! Queues of work on a device, and points in time on them.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use crate::device::Context;
use crate::memory::Held;
use crate::{Error, check, failure};

/// A queue: what is put on it runs in order.
#[derive(Debug)]
pub struct Stream {
    pub(crate) raw: sys::CUstream,
    pub(crate) context: Arc<Context>,
    /// By buffers whose stream this is.
    pub(crate) held: Held,
}

// SAFETY: the driver's streams may be used from any thread; the context is bound before every use.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Stream {}

impl Stream {
    /// `urgent`: its kernels go before those of other streams.
    pub(crate) fn new(context: &Arc<Context>, urgent: bool) -> Result<Self, Error> {
        context.bind()?;
        let fail = |e| failure("creating a stream", e);
        let (least, greatest) = result::stream::get_priority_range().map_err(fail)?;
        let priority = if urgent { greatest } else { least };
        let raw =
            result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, priority)
                .map_err(fail)?;
        Ok(Self { raw, context: context.clone(), held: Held::default() })
    }

    /// Waits until all that was put on the stream has run.
    ///
    /// # Errors
    /// [`Error::Driver`] when something on it failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the stream is valid as long as `self`.
        check("waiting for kernels", unsafe { result::stream::synchronize(self.raw) })
    }

    /// Puts `work` on this stream after all that `other` holds, and lets `other` go on after it.
    pub(crate) fn in_order_with(
        &self,
        other: &Self,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.context.bind()?;
        if self.raw == other.raw {
            return work();
        }
        let (before, after) = (Event::new(&other.context)?, Event::new(&self.context)?);
        before.record(other)?;
        self.wait(&before)?;
        work()?;
        after.record(self)?;
        other.wait(&after)
    }

    /// What is put on the stream from now on waits for `event`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        self.context.bind()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both are valid.
        check("waiting for an event", unsafe {
            result::stream::wait_event(self.raw, event.raw, flags)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: nobody else has this stream.
            let _ = unsafe { result::stream::destroy(self.raw) };
        }
    }
}

/// A point in time on a stream.
#[derive(Debug)]
pub struct Event {
    raw: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: as for `Stream`.
unsafe impl Send for Event {}
// SAFETY: as for `Stream`.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        context.bind()?;
        let raw = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)
            .map_err(|e| failure("creating an event", e))?;
        Ok(Self { raw, context: context.clone() })
    }

    /// Marks the present end of `stream`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: both are valid.
        check("recording an event", unsafe { result::event::record(self.raw, stream.raw) })
    }

    /// Waits until it has passed.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        // SAFETY: the event is valid.
        check("waiting for an event", unsafe { result::event::synchronize(self.raw) })
    }

    /// Seconds from `self` to `later`, once both have passed; waits for that.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn seconds_to(&self, later: &Self) -> Result<f64, Error> {
        later.synchronize()?;
        // SAFETY: both events are valid.
        let milliseconds = unsafe { result::event::elapsed(self.raw, later.raw) };
        milliseconds.map(|ms| f64::from(ms) * 1e-3).map_err(|e| failure("timing", e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: nobody else has this event.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}
