//! What the tests of all crates that use a GPU share.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Device, Error};

/// The GPU that `open` gives, or none after saying why `test` is skipped; says how many ran and were skipped so far.
///
/// # Errors
/// Why there is none, where FARAD_REQUIRE_GPU=1.
pub fn device_for(
    test: &str,
    open: impl FnOnce() -> Result<Device, Error>,
) -> Result<Option<Device>, Error> {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let device = open();
    let counter = if device.is_ok() { &RAN } else { &SKIPPED };
    counter.fetch_add(1, Ordering::Relaxed);
    let (ran, skipped) = (RAN.load(Ordering::Relaxed), SKIPPED.load(Ordering::Relaxed));
    let what = match &device {
        Ok(device) => format!("runs on {}", device.info().name),
        Err(error) => format!("skipped: {error}"),
    };
    // Past the harness, which hides what passing tests print; a closed stream is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{test} {what} (GPU tests: {ran} ran, {skipped} skipped)");
    match device {
        Ok(device) => Ok(Some(device)),
        Err(error) if std::env::var("FARAD_REQUIRE_GPU").is_ok_and(|v| v == "1") => Err(error),
        Err(_) => Ok(None),
    }
}
