//! Facts about the machine that the program runs on. Every function works on every system.

pub(crate) mod backend;
pub(crate) mod deal;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod pages;
pub(crate) mod ranks;
pub(crate) mod system;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The processor's name, where the system knows it.
pub(crate) fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Bytes of memory that this process has held at most.
pub(crate) fn peak_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmHWM:")
}

/// Bytes of memory that this process holds now.
pub(crate) fn resident_memory() -> Option<u64> {
    kibibytes("/proc/self/status", "VmRSS:")
}

/// Gives the system back what was freed, where its allocator keeps it: [`resident_memory`] is then
/// what is in use.
pub(crate) fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim(3) may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes [`peak_memory`] count from now on. False where the system cannot do that.
pub(crate) fn restart_peak_memory() -> bool {
    // proc(5): 5 sets the peak of the resident set to what it is now.
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Processes of this program that share the machine's memory.
static SHARED_AMONG: AtomicUsize = AtomicUsize::new(1);

/// From now on [`available_memory`] is the part of one of this many processes.
pub(crate) fn share_memory_among(processes: usize) {
    SHARED_AMONG.store(processes.max(1), Ordering::Relaxed);
}

/// Bytes of memory available without swapping, within the limits of the process.
pub(crate) fn available_memory() -> Option<u64> {
    let processes = SHARED_AMONG.load(Ordering::Relaxed) as u64;
    let all = [
        kibibytes("/proc/meminfo", "MemAvailable:"),
        limits::of_groups(Path::new("/")),
        limits::of_process(),
    ];
    Some(all.into_iter().flatten().min()? / processes)
}

/// The value of a "Key:   123 kB" line.
fn kibibytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(number * 1024)
}

/// Threads that the sums use.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The vector instructions that the sums use.
pub(crate) fn simd() -> &'static str {
    simd::Level::chosen().name()
}
