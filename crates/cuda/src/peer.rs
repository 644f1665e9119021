//! Device memory that other GPUs of this process copy from, without the host in between.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use cudarc::driver::{result, sys};

use crate::device::Context;
use crate::{Buffer, Device, Error, Pointer, check, failure};

/// Environment variable that keeps copies between GPUs in the host's memory if it is `0`.
pub const VARIABLE: &str = "FARAD_PEER_COPIES";

/// What a [`Shared`] is found by: a number of the process and one of its own.
pub type Name = [u64; 2];

/// Bytes on a GPU that others may copy from. They stay as long as anybody has them.
#[derive(Debug)]
pub struct Shared {
    raw: sys::CUdeviceptr,
    len: usize,
    name: Name,
    context: Arc<Context>,
}

/// All that this process shares.
static ALL: Mutex<BTreeMap<Name, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// A number that no other process has, but by chance.
fn process() -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    *PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}

impl Shared {
    /// What it is found by.
    pub fn name(&self) -> Name {
        self.name
    }

    /// Where it is, for a kernel of its GPU.
    pub fn pointer(&self) -> Pointer<u8> {
        Pointer::new(self.raw)
    }

    /// Copies all bytes to the host, when what `device` has on its main stream has run.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn to_vec(&self, device: &Device) -> Result<Vec<u8>, Error> {
        let on_device = device.buffer(self.len)?;
        on_device.copy_from_shared(0, self, 0, self.len)?;
        on_device.to_vec()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        ALL.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
        if self.raw != 0 && self.context.bind().is_ok() {
            // SAFETY: allocated in `Device::shared`; the driver waits for what uses it.
            let _ = unsafe { result::free_sync(self.raw) };
        }
    }
}

impl Device {
    /// `len` bytes of unknown content that other GPUs may copy from.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn shared(&self, len: usize) -> Result<Arc<Shared>, Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.check_free(len as u64)?;
        let context = self.stream().context.clone();
        context.bind()?;
        // Memory of the pool that buffers are from is for one GPU alone.
        let raw = if len == 0 {
            0
        } else {
            // SAFETY: freed in `drop`.
            unsafe { result::malloc_sync(len) }
                .map_err(|error| failure("allocating memory", error))?
        };
        let name = [process(), COUNT.fetch_add(1, Ordering::Relaxed)];
        let shared = Arc::new(Shared { raw, len, name, context });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(name, Arc::downgrade(&shared));
        Ok(shared)
    }

    /// What is shared by a name, if it is this process's, this GPU can copy from there, and
    /// [`VARIABLE`] does not forbid it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn find_shared(&self, name: Name) -> Result<Option<Arc<Shared>>, Error> {
        if std::env::var_os(VARIABLE).is_some_and(|value| value == "0") {
            return Ok(None);
        }
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&name).and_then(Weak::upgrade);
        drop(all);
        let Some(shared) = found else { return Ok(None) };
        let own = &self.stream().context;
        if own.index == shared.context.index {
            return Ok(Some(shared));
        }
        let mut can = 0;
        // SAFETY: both devices are valid, their contexts retained.
        unsafe {
            let asked = sys::cuDeviceCanAccessPeer(&mut can, own.device, shared.context.device);
            check("asking for peer access", asked.result())?;
            if can == 0 {
                return Ok(None);
            }
            own.bind()?;
            match sys::cuCtxEnablePeerAccess(shared.context.raw, 0) {
                sys::CUresult::CUDA_SUCCESS
                | sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(Some(shared)),
                // As many GPUs as there may be are connected already.
                _ => Ok(None),
            }
        }
    }
}

impl Buffer<u8> {
    /// Copies `count` bytes from `begin` on of what a GPU shares to those from `first` on, on this
    /// buffer's main stream. What writes to the others must have run, and must wait for the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When either ends before.
    pub fn copy_from_shared(
        &self,
        first: usize,
        from: &Shared,
        begin: usize,
        count: usize,
    ) -> Result<(), Error> {
        let (there, here) = (begin.checked_add(count), first.checked_add(count));
        let fits =
            there.is_some_and(|end| end <= from.len) && here.is_some_and(|end| end <= self.len());
        assert!(fits, "copying {count} bytes beyond an end");
        if count == 0 {
            return Ok(());
        }
        let stream = self.main_stream();
        stream.context.bind()?;
        let (to, source) = (self.address() + first as u64, from.raw + begin as u64);
        // SAFETY: the lengths were checked; both contexts are retained.
        let copied = unsafe {
            sys::cuMemcpyPeerAsync(
                to,
                stream.context.raw,
                source,
                from.context.raw,
                count,
                stream.raw,
            )
        };
        check("copying between GPUs", copied.result())
    }
}
