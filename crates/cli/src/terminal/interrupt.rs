//! Ctrl-C and SIGTERM: the first asks the run to stop in good order, the second ends it at once.
//! Commands that only write whole files at their end have no order to keep: the first ends them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::machine::system;
use crate::temporaries;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether the first signal ends the process.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Installs the handler. Where the system refuses one, signals keep their usual effect; what is
/// ignored stays ignored.
pub(crate) fn install() {
    let handler = || {
        let again = REQUESTED.swap(true, Ordering::SeqCst);
        if again {
            temporaries::remove_and_exit(Exit::Interrupted as i32);
        } else if AT_ONCE.load(Ordering::SeqCst) {
            end();
        }
    };
    system::ignore_file_size_signal();
    if let Err(error) = system::keep_ignored(|| ctrlc::set_handler(handler)) {
        tracing::warn!("no handler for Ctrl-C: {error}");
    }
}

/// From now on the first signal ends the process, with the exit code of an interrupted run and
/// nothing half written left; so does one that was there before.
pub(crate) fn ends_at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
    if requested() {
        end();
    }
}

fn end() {
    output::failure(&Failure::interrupted());
    temporaries::remove_and_exit(Exit::Interrupted as i32);
}

/// Whether the user has interrupted the program.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// An error once the user has interrupted the program.
pub(crate) fn check() -> Result<(), Failure> {
    if requested() { Err(Failure::interrupted()) } else { Ok(()) }
}
