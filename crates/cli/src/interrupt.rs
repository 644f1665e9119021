//! Ctrl-C and SIGTERM: the first asks the run to stop in good order, the second ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{Exit, Failure};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Where the system refuses one, signals keep their usual effect.
pub(crate) fn install() {
    let handler = || {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        tracing::warn!("no handler for Ctrl-C: {error}");
    }
}

/// Whether the user has asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// An error once the user has asked to stop.
pub(crate) fn check() -> Result<(), Failure> {
    if requested() { Err(Failure::interrupted()) } else { Ok(()) }
}
