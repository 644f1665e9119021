//! Device memory that other GPUs of this host copy from, without the host's memory in between.
//!
//! GPUs of one process copy by peer access. Those of other processes open the memory by a handle
//! (CUDA's interprocess communication).

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use cudarc::driver::{result, sys};

use crate::device::Context;
use crate::{Buffer, Device, Error, Pointer, check, failure};

/// Environment variable that keeps copies between GPUs in the host's memory if it is `0`.
pub const VARIABLE: &str = "FARAD_PEER_COPIES";

/// Where a [`Shared`] is, in numbers that a message can carry: its process and its number there,
/// its bytes, and for other processes two numbers of the host, zero if there is no handle, and the
/// handle.
pub type Address = [u64; 13];

/// Memory that others open comes in whole pages of the device, which hold nothing else.
const PAGE: usize = 2 << 20;

/// Bytes on a GPU that others may copy from. They stay as long as anybody of this process has them.
#[derive(Debug)]
pub struct Shared {
    raw: sys::CUdeviceptr,
    len: usize,
    context: Arc<Context>,
    origin: Origin,
}

/// Whose memory a [`Shared`] is.
#[derive(Debug)]
enum Origin {
    /// Of this process: its number, and whether other processes may have opened it.
    Here { number: u64, is_published: AtomicBool },
    /// Of another one, which this process has opened.
    Abroad,
}

/// All that this process shares.
static ALL: Mutex<BTreeMap<u64, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// Memory that other processes may have opened and nobody here uses any more: it is undefined to
/// free what another process may still have open, so that it serves what is shared next.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Kept {
    raw: sys::CUdeviceptr,
    bytes: usize,
    context: Arc<Context>,
}

/// A number that no other process has, but by chance.
pub fn process() -> u64 {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    *PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()))
}

/// A number that no other host has, nor this one after a restart; zero where the
/// system does not tell.
fn host() -> [u64; 2] {
    static HOST: OnceLock<[u64; 2]> = OnceLock::new();
    *HOST.get_or_init(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let number = u128::from_str_radix(&id.trim().replace('-', ""), 16).unwrap_or(0);
        [(number >> 64) as u64, number as u64]
    })
}

impl Shared {
    /// The handle by which this process opens it, and with `abroad` other processes too.
    pub fn address(&self, abroad: bool) -> Address {
        let mut address = [0; 13];
        if let Origin::Here { number, is_published } = &self.origin {
            address[..3].copy_from_slice(&[process(), *number, self.len as u64]);
            if let Some(handle) = abroad.then(|| self.handle()).flatten() {
                is_published.store(true, Ordering::Relaxed);
                address[3..5].copy_from_slice(&host());
                address[5..].copy_from_slice(&handle);
            }
        }
        address
    }

    /// What other processes open the memory by; none where the driver has no such thing.
    fn handle(&self) -> Option<[u64; 8]> {
        if self.raw == 0 || self.context.bind().is_err() {
            return None;
        }
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the memory was allocated in `Device::shared` and is there as long as `self`.
        let made = unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.raw) };
        let word =
            |i| u64::from_ne_bytes(std::array::from_fn(|j| handle.reserved[8 * i + j] as u8));
        made.result().ok().map(|()| std::array::from_fn(word))
    }

    /// Opens the memory of another process of this host. None if it is another host's, or cannot be
    /// opened from this GPU.
    fn open(device: &Device, address: &Address) -> Result<Option<Arc<Self>>, Error> {
        let (there, words) = (&address[3..5], &address[5..]);
        if there == [0; 2] || there != host() {
            return Ok(None);
        }
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        for (to, from) in handle.reserved.iter_mut().zip(words.iter().flat_map(|w| w.to_ne_bytes()))
        {
            *to = from as std::ffi::c_char;
        }
        let context = device.stream().context.clone();
        context.bind()?;
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut raw = 0;
        // SAFETY: closed in `drop`; the driver refuses a handle that it does not know.
        let opened = unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut raw, handle, flags) };
        let len = address[2] as usize;
        let shared = || Arc::new(Self { raw, len, context, origin: Origin::Abroad });
        Ok(opened.result().ok().map(|()| shared()))
    }

    /// Where it is, for a kernel of its GPU.
    pub fn pointer(&self) -> Pointer<u8> {
        Pointer::new(self.raw, self.len)
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
        match &self.origin {
            Origin::Here { number, is_published } => {
                ALL.lock().unwrap_or_else(PoisonError::into_inner).remove(number);
                if is_published.load(Ordering::Relaxed) {
                    let (raw, bytes) = (self.raw, self.len.next_multiple_of(PAGE));
                    let kept = Kept { raw, bytes, context: self.context.clone() };
                    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
                } else if self.raw != 0 && self.context.bind().is_ok() {
                    // SAFETY: allocated in `Device::shared`; the driver waits for what uses it.
                    let _ = unsafe { result::free_sync(self.raw) };
                }
            }
            Origin::Abroad => {
                if self.context.bind().is_ok() {
                    // SAFETY: opened in `open`, once for each `Shared`.
                    let _ = unsafe { sys::cuIpcCloseMemHandle(self.raw) };
                }
            }
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
        let context = self.stream().context.clone();
        let raw = match len {
            0 => 0,
            _ => self.kept(len).map_or_else(|| self.allocate_shared(len), Ok)?,
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let origin = Origin::Here { number, is_published: AtomicBool::new(false) };
        let shared = Arc::new(Shared { raw, len, context, origin });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, Arc::downgrade(&shared));
        Ok(shared)
    }

    /// The smallest memory of this GPU that is kept and has `len` bytes.
    fn kept(&self, len: usize) -> Option<sys::CUdeviceptr> {
        let gpu = self.stream().context.index;
        let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |kept: &Kept| kept.context.index == gpu && kept.bytes >= len;
        let found = (0..all.len()).filter(|&i| fits(&all[i])).min_by_key(|&i| all[i].bytes)?;
        Some(all.swap_remove(found).raw)
    }

    fn allocate_shared(&self, len: usize) -> Result<sys::CUdeviceptr, Error> {
        let bytes = len.next_multiple_of(PAGE);
        self.check_free(bytes as u64)?;
        self.stream().context.bind()?;
        // Memory of the pool that buffers are from is for one GPU alone.
        // SAFETY: freed, or kept, by the drop of `Shared`.
        unsafe { result::malloc_sync(bytes) }.map_err(|error| failure("allocating memory", error))
    }

    /// What is shared at an address, if this GPU can copy from there and [`VARIABLE`] does not
    /// forbid it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn find_shared(&self, address: &Address) -> Result<Option<Arc<Shared>>, Error> {
        if std::env::var_os(VARIABLE).is_some_and(|value| value == "0") {
            return Ok(None);
        }
        if address[0] != process() {
            return Shared::open(self, address);
        }
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&address[1]).and_then(Weak::upgrade);
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
        // SAFETY: the lengths were checked; both memories are within this GPU's reach as long as
        // `self` and `from`.
        let copied = unsafe { sys::cuMemcpyAsync(to, source, count, stream.raw) };
        check("copying between GPUs", copied.result())
    }
}
