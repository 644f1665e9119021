//! Fuzzes the reader that the environment variable FARAD_READER names: `fuzz/run` runs all.

#![no_main]

use std::sync::LazyLock;

use farad_cli::fuzzing::{READERS, Reader};
use libfuzzer_sys::fuzz_target;

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let name = std::env::var("FARAD_READER").unwrap_or_default();
    let found = READERS.iter().find(|(own, _)| *own == name);
    let names = READERS.map(|(name, _)| name).join(", ");
    found.unwrap_or_else(|| panic!("FARAD_READER is \"{name}\", none of {names}")).1
});

fuzz_target!(|data: &[u8]| READER(data));
