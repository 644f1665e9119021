//! The allocator. Ends the program in good order where the system refuses memory: with the size,
//! advice, and the exit code for it. Asks for huge pages where blocks are large.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{pages, system};
use crate::machine;
use crate::report::units;
use crate::temporaries;
use crate::terminal::exit::{Exit, Failure};

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
    // Other threads may be refused meanwhile: the first one ends the process. From here on it takes
    // no lock, since whoever holds one may be among those that wait here, and asks for no memory.
    while ENDING.swap(true, Ordering::SeqCst) {
        std::thread::sleep(Duration::from_secs(1));
    }
    let mut message = Line { bytes: [0; 256], length: 0 };
    let _ = writeln!(
        message,
        "Error: out of memory: the system refused {} MiB more\n  help: use a coarser mesh, fewer points, or --method fmm; or give the \
         process more memory (ulimit -v, the control group)",
        (size >> 20).max(1)
    );
    system::write_to_stderr(&message.bytes[..message.length]);
    temporaries::remove_and_exit_without_memory(Exit::Memory as i32)
}

/// Text that needs no memory; what does not fit is cut off.
struct Line {
    bytes: [u8; 256],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (to, byte) in self.bytes[self.length..].iter_mut().zip(text.bytes()) {
            *to = byte;
            self.length += 1;
        }
        Ok(())
    }
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
