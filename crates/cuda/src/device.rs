//! One GPU in use: context, modules, launches.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{result, sys};

use crate::probe::{DeviceInfo, NEEDED_CAPABILITY, devices, driver};
use crate::{Buffer, Error, Event, Pinned, Plain, Source, Stream, check, compiler, failure};

/// The GPU's primary context, kept as long as anybody uses it.
#[derive(Debug)]
pub struct Context {
    pub(crate) raw: sys::CUcontext,
    pub(crate) device: sys::CUdevice,
    /// The GPU's number.
    pub(crate) index: usize,
}

// SAFETY: contexts may be used from any thread after being bound to it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Makes the context the calling thread's.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        // SAFETY: retained as long as `self`.
        check("binding a context", unsafe { result::ctx::set_current(self.raw) })
    }

    /// Bytes of device memory that are free, those that this process keeps for later included.
    pub(crate) fn free_memory(&self) -> Result<u64, Error> {
        self.bind()?;
        let fail = |error| failure("asking for free memory", error);
        let (free, _) = result::mem_get_info().map_err(fail)?;
        let (mut reserved, mut used) = (0u64, 0u64);
        // SAFETY: the device is valid; both attributes are 64-bit numbers.
        unsafe {
            use sys::CUmemPool_attribute as Attribute;
            let pool = result::device::get_default_mem_pool(self.device).map_err(fail)?;
            let ask = |what, to: &mut u64| {
                result::mem_pool::get_attribute(pool, what, std::ptr::from_mut(to).cast())
            };
            ask(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &mut reserved).map_err(fail)?;
            ask(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &mut used).map_err(fail)?;
        }
        Ok(free as u64 + reserved.saturating_sub(used))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `Device::first`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks, two-dimensional.
    pub blocks: [u32; 2],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

/// A count, as kernels take them.
pub fn count(n: usize) -> u32 {
    n as u32
}

impl Grid {
    /// Blocks of `threads` that cover `count` elements, one per thread.
    pub fn covering(count: usize, threads: u32) -> Self {
        Self::new(count.div_ceil(threads as usize), threads)
    }

    /// `blocks` blocks of `threads`.
    pub fn new(blocks: usize, threads: u32) -> Self {
        Self { blocks: [blocks as u32, 1], threads, shared: 0 }
    }
}

/// Compiled kernels in the device's memory.
#[derive(Debug)]
pub struct Module {
    raw: sys::CUmodule,
    name: String,
    context: Arc<Context>,
}

// SAFETY: modules are immutable after loading.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// The kernel `name`, declared `extern "C"`.
    pub(crate) fn function(self: &Arc<Self>, name: &str) -> Result<Function, Error> {
        self.context.bind()?;
        let missing = || Error::Driver {
            what: "finding a kernel",
            reason: format!("{} has no {name}", self.name),
        };
        let text = CString::new(name).map_err(|_| missing())?;
        // SAFETY: the module is loaded as long as `self`, which the function keeps.
        let raw = unsafe { result::module::get_function(self.raw, text) }.map_err(|_| missing())?;
        Ok(Function { raw, module: self.clone() })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: functions keep their module, so none is left.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

/// A kernel of whatever arguments.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    raw: sys::CUfunction,
    module: Arc<Module>,
}

// SAFETY: immutable handles.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// Allows launches with up to `bytes` of dynamic shared memory; never fewer than before, since
    /// all users of the kernel share the limit.
    pub(crate) fn allow_shared(&self, bytes: u32) -> Result<(), Error> {
        use sys::CUfunction_attribute as Attribute;
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        self.module.context.bind()?;
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is valid as long as its module.
        let allowed = unsafe { result::function::get_function_attribute(self.raw, attribute) }
            .map_err(|error| failure("asking for shared memory", error))?;
        if bytes as i32 <= allowed {
            return Ok(());
        }
        // SAFETY: the function is valid as long as its module.
        check("setting shared memory", unsafe {
            result::function::set_function_attribute(self.raw, attribute, bytes as i32)
        })
    }

    /// Puts a launch on `stream`, with each argument in the front bytes of a word.
    ///
    /// # Safety
    /// The arguments are those that the kernel declares, and its accesses stay inside buffers that
    /// live, as this function does, until it has run.
    pub(crate) unsafe fn launch(
        &self,
        stream: &Stream,
        grid: Grid,
        words: &mut [u64],
    ) -> Result<(), Error> {
        self.module.context.bind()?;
        let mut pointers: Vec<*mut c_void> =
            words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        // SAFETY: by the caller's promise; the driver copies the arguments before it returns.
        check("starting a kernel", unsafe {
            result::launch_kernel(
                self.raw,
                (grid.blocks[0], grid.blocks[1], 1),
                (grid.threads, 1, 1),
                grid.shared,
                stream.raw,
                &mut pointers,
            )
        })
    }
}

/// Modules by file name and macros.
type Modules = HashMap<(String, Vec<String>), Arc<Module>>;

/// A GPU in use. Clones share context, main stream and compiled modules; those that are opened
/// apart share all but the stream.
#[derive(Clone, Debug)]
pub struct Device {
    info: Arc<DeviceInfo>,
    main: Arc<Stream>,
    modules: Arc<Mutex<Modules>>,
}

impl Device {
    /// Opens GPU `index`, with a main stream of its own. Opening one takes some tenths of a second
    /// the first time; it stays open as long as the process runs.
    ///
    /// # Errors
    /// Errors of [`devices`], [`Error::NoSuchDevice`], [`Error::DeviceTooOld`], [`Error::Driver`].
    pub fn open(index: usize) -> Result<Self, Error> {
        static OPENED: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
        // Held while one is opened: who comes second waits for it.
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = opened.get(&index) {
            return device.with_own_stream();
        }
        let device = Self::first(index)?;
        opened.insert(index, device.clone());
        device.with_own_stream()
    }

    fn first(index: usize) -> Result<Self, Error> {
        driver()?;
        let all = devices()?;
        let count = all.len();
        let info = all.into_iter().nth(index).ok_or(Error::NoSuchDevice { index, count })?;
        if info.capability < NEEDED_CAPABILITY {
            return Err(Error::DeviceTooOld {
                index,
                name: info.name,
                found: info.capability.to_string(),
                needed: NEEDED_CAPABILITY.to_string(),
            });
        }
        let fail = |error| failure("opening a GPU", error);
        let device = result::device::get(index as i32).map_err(fail)?;
        // SAFETY: `device` was just returned by the driver; released when the context is dropped.
        let raw = unsafe { result::primary_ctx::retain(device) }.map_err(fail)?;
        let context = Arc::new(Context { raw, device, index });
        context.bind()?;
        // Freed memory stays with the process for the next plan, instead of going back to the
        // driver. SAFETY: the device is valid; the attribute is a 64-bit number.
        unsafe {
            let pool = result::device::get_default_mem_pool(device).map_err(fail)?;
            let mut keep = u64::MAX;
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            result::mem_pool::set_attribute(pool, attribute, (&raw mut keep).cast())
                .map_err(fail)?;
        }
        let main = Arc::new(Stream::new(&context, true)?);
        Ok(Self { info: Arc::new(info), main, modules: Arc::default() })
    }

    /// This GPU with another main stream: its user waits for nobody else's work, and a
    /// graph that is recorded there holds nobody else's.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn with_own_stream(&self) -> Result<Self, Error> {
        let main = Arc::new(Stream::new(&self.main.context, true)?);
        Ok(Self { main, ..self.clone() })
    }

    /// What the GPU is.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The stream on which memory is allocated and copied.
    pub fn stream(&self) -> &Stream {
        &self.main
    }

    /// Another stream, whose kernels let those of the main one pass.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn new_stream(&self) -> Result<Stream, Error> {
        Stream::new(&self.main.context, false)
    }

    /// An event.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn event(&self) -> Result<Event, Error> {
        Event::new(&self.main.context)
    }

    /// Bytes of device memory that are free, those that this process keeps for later included.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn free_memory(&self) -> Result<u64, Error> {
        self.main.context.free_memory()
    }

    /// Whether `needed` bytes more may be allocated, as far as one can know before.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if not, [`Error::Driver`].
    pub fn check_free(&self, needed: u64) -> Result<(), Error> {
        let free = self.free_memory()?;
        let gpu = self.info.index;
        if needed > free { Err(Error::OutOfMemory { gpu, needed, free }) } else { Ok(()) }
    }

    /// Bytes that the buffers of this device's main stream hold: those of this handle and its
    /// clones, not those of handles that were opened apart.
    pub fn held_memory(&self) -> u64 {
        self.main.held.now()
    }

    /// The most that they ever held.
    pub fn most_memory(&self) -> u64 {
        self.main.held.most()
    }

    /// `len` elements of unknown content.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn buffer<T: Plain>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Buffer::new(&self.main, len)
    }

    /// A copy of `values` on the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`].
    pub fn upload<T: Plain>(&self, values: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.buffer(values.len())?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Page-locked host memory.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn pinned<T: Plain>(&self, len: usize) -> Result<Pinned<T>, Error> {
        Pinned::new(&self.main.context, len)
    }

    /// The kernels of `source` with the macros `defines` (NAME=VALUE), compiled for this GPU once.
    ///
    /// # Errors
    /// [`Error::NoCompiler`], [`Error::Compile`], [`Error::Driver`].
    pub fn module(&self, source: &Source, defines: &[String]) -> Result<Arc<Module>, Error> {
        let key = (source.file.name.to_owned(), defines.to_vec());
        let known = || self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known().get(&key) {
            return Ok(module.clone());
        }
        let image = compiler::compile(source, defines, self.info.capability)?;
        self.main.context.bind()?;
        // SAFETY: the image is a complete cubin: from the compiler, or from the cache, which checks
        // that it is what the compiler gave.
        let raw = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(|error| failure("loading a kernel", error))?;
        let module = Arc::new(Module {
            raw,
            name: source.file.name.to_owned(),
            context: self.main.context.clone(),
        });
        // Should another thread have been faster, its module stays: recorded graphs rely on it, and
        // it must not be unloaded.
        Ok(known().entry(key).or_insert(module).clone())
    }
}
