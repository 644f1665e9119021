//! Interaction with whoever runs the program: messages, progress, interrupts, exit codes.

pub(crate) mod exit;
pub(crate) mod interrupt;
pub(crate) mod logging;
pub(crate) mod output;
pub(crate) mod progress;
