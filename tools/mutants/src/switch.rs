//! Which of the mutants compiled into this program is switched on: the one whose number is in
//! FARAD_MUTANT. With FARAD_REACHED the numbers of those that a run comes by are appended to that
//! file.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static SEEN: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];

#[inline(never)]
pub(crate) fn on(number: usize) -> bool {
    static MUTANT: OnceLock<usize> = OnceLock::new();
    static REACHED: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    let reached = REACHED.get_or_init(|| std::env::var_os("FARAD_REACHED").map(Into::into));
    if let Some(path) = reached
        && !SEEN[number].swap(true, Ordering::Relaxed)
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path)
    {
        let _ = file.write_all(format!("{number}\n").as_bytes());
    }
    *MUTANT.get_or_init(|| std::env::var("FARAD_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX)) == number
}
