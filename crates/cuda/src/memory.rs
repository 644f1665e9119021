//! Device memory and page-locked host memory.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::{result, sys};

use crate::device::Context;
use crate::{Error, Pointer, Stream, check, failure};

/// Types that may be copied to and from a device bit by bit.
///
/// # Safety
/// Every bit pattern is a value, and there is no padding.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: numbers.
unsafe impl Plain for u8 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for u64 {}
// SAFETY: numbers.
unsafe impl Plain for i64 {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}
// SAFETY: arrays have no padding of their own.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Bytes of `len` elements; none if no address reaches them, which would wrap around to few.
pub fn bytes_of<T>(len: usize) -> Option<usize> {
    len.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok())
}

/// Whether elements `first .. first + count` are among `len`.
pub fn within(first: usize, count: usize, len: usize) -> bool {
    first.checked_add(count).is_some_and(|end| end <= len)
}

/// What to say of `len` elements that do not fit.
fn out_of_memory<T>(context: &Context, len: usize) -> Error {
    let needed = (len as u64).saturating_mul(size_of::<T>() as u64);
    let free = context.free_memory().unwrap_or(0);
    Error::OutOfMemory { gpu: context.index, needed, free }
}

/// Bytes that the buffers of a main stream hold, and the most that they ever held.
#[derive(Debug, Default)]
pub struct Held {
    now: AtomicU64,
    most: AtomicU64,
}

impl Held {
    /// Counts what a new buffer holds.
    pub fn add(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    /// Counts what a buffer held that is dropped.
    pub fn subtract(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes held now.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most bytes ever held.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

/// An array in device memory, freed in the order of the device's main stream.
#[derive(Debug)]
pub struct Buffer<T> {
    raw: sys::CUdeviceptr,
    len: usize,
    stream: Arc<Stream>,
    of: PhantomData<T>,
}

impl<T: Plain> Buffer<T> {
    /// `len` elements of unknown content; none take no memory.
    pub(crate) fn new(stream: &Arc<Stream>, len: usize) -> Result<Self, Error> {
        stream.context.bind()?;
        let bytes = bytes_of::<T>(len).ok_or_else(|| out_of_memory::<T>(&stream.context, len))?;
        let raw = if bytes == 0 {
            0
        } else {
            // SAFETY: the memory is used only through this buffer, in stream order.
            unsafe { result::malloc_async(stream.raw, bytes) }.map_err(|error| {
                if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                    out_of_memory::<T>(&stream.context, len)
                } else {
                    failure("allocating memory", error)
                }
            })?
        };
        stream.held.add(bytes as u64);
        Ok(Self { raw, len, stream: stream.clone(), of: PhantomData })
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Where the elements from `first` on are, for a kernel.
    ///
    /// # Panics
    /// When the buffer ends before.
    pub fn pointer_to(&self, first: usize) -> Pointer<T> {
        assert!(first <= self.len, "element {first} of a buffer of {}", self.len);
        Pointer::new(self.raw + (first * size_of::<T>()) as u64, self.len - first)
    }

    /// Where the elements are, for a kernel.
    pub fn pointer(&self) -> Pointer<T> {
        self.pointer_to(0)
    }

    /// The stream in whose order it is freed.
    pub(crate) fn main_stream(&self) -> &Stream {
        &self.stream
    }

    /// The device's address as a number, for tables of addresses.
    pub fn address(&self) -> u64 {
        self.raw
    }

    /// Sets all bytes to zero, on the main stream.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn zero(&self) -> Result<(), Error> {
        self.zero_on(&self.stream)
    }

    /// Sets all bytes to zero, on `stream`; what the main stream is given before and after keeps
    /// its order with that.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn zero_on(&self, stream: &Stream) -> Result<(), Error> {
        if self.len == 0 {
            return Ok(());
        }
        stream.in_order_with(&self.stream, || {
            // SAFETY: within the allocation, which is freed in the order of the main stream, after
            // this.
            check("clearing memory", unsafe {
                result::memset_d8_async(self.raw, 0, self.len * size_of::<T>(), stream.raw)
            })
        })
    }

    /// Copies `values` to the front of the buffer, on the main stream; returns when `values` may
    /// change again.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When there are more values than elements.
    pub fn write(&self, values: &[T]) -> Result<(), Error> {
        self.write_at(0, values)
    }

    /// Likewise to the elements from `first` on.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When the buffer ends before.
    pub fn write_at(&self, first: usize, values: &[T]) -> Result<(), Error> {
        let (count, len) = (values.len(), self.len);
        assert!(within(first, count, len), "a buffer of {len} for {count} from {first} on");
        if values.is_empty() {
            return Ok(());
        }
        self.stream.context.bind()?;
        let to = self.raw + (first * size_of::<T>()) as u64;
        // SAFETY: the length was checked; the copy is waited for before `values` is given back.
        unsafe {
            check("copying to the GPU", result::memcpy_htod_async(to, values, self.stream.raw))?;
        }
        self.stream.synchronize()
    }

    /// Copies the first `count` elements of `other`, on the main stream; `other` may be used on its
    /// own stream, or dropped, at once: that keeps its order with the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When either is shorter.
    pub fn copy_from(&self, other: &Self, count: usize) -> Result<(), Error> {
        assert!(count <= self.len && count <= other.len, "copying more than there is");
        self.copy(self.raw, other.raw, count, &other.stream)
    }

    /// Copies the first `count` elements to the front of `other`, on this buffer's main stream; as
    /// for [`Self::copy_from`], what is done with `other` keeps its order with the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When either is shorter.
    pub fn copy_to(&self, other: &Self, count: usize) -> Result<(), Error> {
        assert!(count <= self.len && count <= other.len, "copying more than there is");
        self.copy(other.raw, self.raw, count, &other.stream)
    }

    /// Copies `count` elements on this buffer's stream, one side being this buffer's and the other
    /// one's of stream `other`.
    fn copy(
        &self,
        to: sys::CUdeviceptr,
        from: sys::CUdeviceptr,
        count: usize,
        other: &Stream,
    ) -> Result<(), Error> {
        let bytes = count * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        self.stream.in_order_with(other, || {
            // SAFETY: the caller checked both lengths; each buffer is freed in the order of its
            // stream, after this.
            check("copying on the GPU", unsafe {
                result::memcpy_dtod_async(to, from, bytes, self.stream.raw)
            })
        })
    }

    /// Copies the elements from `first` on into `values` and waits for them.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When the buffer ends before.
    pub fn read(&self, first: usize, values: &mut [T]) -> Result<(), Error> {
        // SAFETY: `values` has room for as many as it holds.
        unsafe { self.read_into(first, values.as_mut_ptr(), values.len()) }
    }

    /// Copies the elements `first .. first + count` to `values` and waits for them.
    ///
    /// # Safety
    /// There is room for them at `values`; it need not hold anything.
    unsafe fn read_into(&self, first: usize, values: *mut T, count: usize) -> Result<(), Error> {
        assert!(within(first, count, self.len), "reading past the end of a buffer");
        let bytes = count * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        self.stream.context.bind()?;
        let from = self.raw + (first * size_of::<T>()) as u64;
        // SAFETY: the length was checked, there is room by the caller's promise, and the copy is
        // waited for.
        check("copying from the GPU", unsafe {
            sys::cuMemcpyDtoHAsync_v2(values.cast(), from, bytes, self.stream.raw).result()
        })?;
        self.stream.synchronize()
    }

    /// All elements.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut values = Vec::with_capacity(self.len);
        // SAFETY: the vector has room for all, and all are there when its length is set.
        unsafe {
            self.read_into(0, values.as_mut_ptr(), self.len)?;
            values.set_len(self.len);
        }
        Ok(values)
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.stream.held.subtract((self.len * size_of::<T>()) as u64);
        if self.raw != 0 && self.stream.context.bind().is_ok() {
            // SAFETY: allocated on this stream; freed after what was put on it before.
            let _ = unsafe { result::free_async(self.raw, self.stream.raw) };
        }
    }
}

/// Page-locked host memory, which copies at the full speed of the bus.
#[derive(Debug)]
pub struct Pinned<T> {
    raw: *mut T,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: owned memory of plain values.
unsafe impl<T: Plain> Send for Pinned<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for Pinned<T> {}

impl<T: Plain> Pinned<T> {
    /// `len` zero elements.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        context.bind()?;
        let bytes = bytes_of::<T>(len).ok_or_else(|| out_of_memory::<T>(context, len))?.max(1);
        // SAFETY: no flags, so cached memory that is fast to read; freed in `drop`.
        let raw = unsafe { result::malloc_host(bytes, 0) }
            .map_err(|error| failure("allocating page-locked memory", error))?;
        // SAFETY: just allocated with this size.
        unsafe { std::ptr::write_bytes(raw.cast::<u8>(), 0, bytes) };
        Ok(Self { raw: raw.cast(), len, context: context.clone() })
    }

    /// Copies to the front of `buffer`, in the order of its stream, without waiting.
    ///
    /// # Safety
    /// The values stay as they are, and are not dropped, until the stream has passed the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub unsafe fn send(&self, buffer: &Buffer<T>) -> Result<(), Error> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.send_to(buffer, 0, self.len) }
    }

    /// Copies the first `count` values to the elements of `buffer` from `first` on, in the order of
    /// its stream, without waiting.
    ///
    /// # Safety
    /// The values stay as they are, and are not dropped, until the stream has passed the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// When either is shorter.
    pub unsafe fn send_to(
        &self,
        buffer: &Buffer<T>,
        first: usize,
        count: usize,
    ) -> Result<(), Error> {
        assert!(within(first, count, buffer.len()), "more values than the buffer holds");
        let values = &self[..count];
        if values.is_empty() {
            return Ok(());
        }
        self.context.bind()?;
        let to = buffer.raw + (first * size_of::<T>()) as u64;
        // SAFETY: lengths were checked; the rest is the caller's promise.
        check("copying to the GPU", unsafe {
            result::memcpy_htod_async(to, values, buffer.stream.raw)
        })
    }

    /// Copies the front of `buffer` here, in the order of its stream, without waiting.
    ///
    /// # Safety
    /// Nobody reads the values, or drops them, until the stream has passed the copy.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub unsafe fn receive(&mut self, buffer: &Buffer<T>) -> Result<(), Error> {
        assert!(self.len <= buffer.len(), "fewer values in the buffer than asked for");
        self.context.bind()?;
        let (raw, stream) = (buffer.raw, buffer.stream.raw);
        // SAFETY: lengths were checked; the rest is the caller's promise.
        check("copying from the GPU", unsafe { result::memcpy_dtoh_async(self, raw, stream) })
    }
}

impl<T> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements were allocated and initialised.
        unsafe { std::slice::from_raw_parts(self.raw, self.len) }
    }
}

impl<T> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.raw, self.len) }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: allocated by `malloc_host`.
            let _ = unsafe { result::free_host(self.raw.cast()) };
        }
    }
}
