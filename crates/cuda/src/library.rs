//! The vendor's libraries, loaded once and never unloaded.
//!
//! To ask cudarc whether a library is there loads and unloads it each time, while other threads may
//! be inside of it.

use libloading::Library;

/// A library under any of the names that cudarc tries, kept in memory as long as the process runs.
///
/// Once this has succeeded cudarc's own loading finds the same library. `None` where there is none.
pub(crate) fn keep(names: &[&str]) -> Option<Library> {
    let candidates = names.iter().flat_map(|name| cudarc::get_lib_name_candidates(name));
    // SAFETY: loading the library runs its initialisers, which is what every user of it does.
    candidates.into_iter().find_map(|name| unsafe { Library::new(name) }.ok())
}
