//! The allocator. Ends the program in good order where the system refuses memory: with the size,
//! advice, and the exit code for it. Asks for huge pages where blocks are large.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pages;
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::{files, machine};

/// The system's allocator. Where it refuses, the standard library would abort the process.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call goes to the system's allocator as it is, and what that returns is returned,
// unless the process ends.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same promises.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same promises.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the same promises.
        granted(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Memory that was granted; otherwise the end.
fn granted(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        refused(size);
    }
    pages::advise(pointer, size);
    pointer
}

#[cold]
fn refused(size: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    // Reporting needs a little memory itself, and other threads may be refused meanwhile: the first
    // one ends the process.
    if ENDING.swap(true, Ordering::SeqCst) {
        if size < 1 << 16 {
            std::process::abort();
        }
        loop {
            std::thread::park();
        }
    }
    // Written piece by piece, without memory.
    let _ = writeln!(
        std::io::stderr(),
        "Error: out of memory: the system refused {} MiB more\n  help: use a coarser mesh, fewer points, or --method fmm; or give the \
         process more memory (ulimit -v, the control group)",
        (size >> 20).max(1)
    );
    files::remove_temporaries_and_exit(Exit::Memory as i32)
}

/// Refuses what `needs` more bytes than may be used; `None` is more than can be counted.
pub(crate) fn check(
    what: &str,
    needs: Option<u64>,
    limit: Option<u64>,
    advice: &str,
) -> Result<(), Failure> {
    let Some(limit) = limit.or_else(machine::available_memory) else { return Ok(()) };
    match needs {
        Some(needs) if needs <= limit => Ok(()),
        _ => {
            let size = needs.map_or("more than any machine has".to_owned(), units::bytes);
            let message = format!(
                "{what} needs {size}, more than the {} that may be used",
                units::bytes(limit)
            );
            Err(Failure::with_help(Exit::Memory, message, advice))
        }
    }
}
