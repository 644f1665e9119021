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

/// Has the allocator take and give back memory in larger pieces: threads of a process wait for each
/// other while one of them asks the system for some, and by itself it asks for 128 KiB at a time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn set_pieces() {
    for (what, bytes) in PIECES {
        // SAFETY: mallopt(3) may be called before other threads are there; where it refuses, the
        // allocator stays as it is.
        unsafe { libc::mallopt(what, bytes) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn set_pieces() {}

/// Blocks from this size on are the system's own; what each thread's memory grows by, and what of
/// it may stay free at its end. Otherwise these sizes grow with the blocks that happen to be freed
/// (sphere of ten million triangles on a GPU with 16 threads: 6.6 GiB, where 6.0 are enough).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PIECES: [(libc::c_int, libc::c_int); 3] = [
    (libc::M_MMAP_THRESHOLD, 1 << 20),
    (libc::M_TOP_PAD, 1 << 20),
    (libc::M_TRIM_THRESHOLD, 4 << 20),
];
