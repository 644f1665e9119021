//! Large blocks of memory in huge pages.
//!
//! The system makes a page when it is first touched, and threads of a process wait for each other
//! there. Pages of 4 KiB make a solve of ten million triangles on a GPU take an eighth more time
//! (docs/performance.md, "Solves by several processes").

/// Size of a huge page.
const HUGE: usize = 2 << 20;

/// Blocks of this many bytes and more are worth a call of the system.
const LARGE: usize = 2 * HUGE;

/// Asks for huge pages where whole ones fit into a large block that the allocator has granted.
#[cfg(target_os = "linux")]
pub(super) fn advise(block: *mut u8, size: usize) {
    if size < LARGE {
        return;
    }
    let offset = block.align_offset(HUGE);
    let length = size.saturating_sub(offset) / HUGE * HUGE;
    if length > 0 {
        // SAFETY: the range is within the block. The advice changes nothing of what is there, and a
        // system that does not take it says so in vain.
        unsafe { libc::madvise(block.wrapping_add(offset).cast(), length, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn advise(_: *mut u8, _: usize) {}
