//! The program `farad`: case files, commands, progress, results. It holds no numerics.

#![expect(missing_docs, reason = "its interface is `run`; the rest is for tests")]

mod case;
mod commands;
mod files;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod internals;
mod machine;
mod molecules;
mod paths;
mod report;
mod surfaces;
mod temporaries;
mod terminal;
mod words;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::commands::fastercap;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::{interrupt, logging, output};

/// Does what the command line of this process asks for, and returns how that ended.
pub fn run() -> ExitCode {
    machine::pages::set_pieces();
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some((dialect, words)) = fastercap::asked(&words) {
        interrupt::install();
        output::install_error_style();
        return fastercap::run(dialect, words).into();
    }
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => return refuse(&refusal),
    };
    logging::install(cli.verbose);
    interrupt::install();
    output::install_error_style();
    match commands::run(cli) {
        Ok(()) => Exit::Success.into(),
        Err(failure) => {
            show(&failure);
            failure.exit.into()
        }
    }
}

/// Shows a failure, unless another rank does.
pub(crate) fn show(failure: &Failure) {
    output::failure(failure);
    if wants_json() {
        output::failure_as_json(failure);
    }
}

/// Whether JSON output was requested, even on a command line with errors.
fn wants_json() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}

/// Shows what clap has to say: help and version are no errors.
fn refuse(refusal: &clap::Error) -> ExitCode {
    let shown = refusal.print().and_then(|()| std::io::stdout().flush());
    match (refusal.kind(), shown) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, shown) => match shown {
            Ok(()) => Exit::Success.into(),
            Err(error) => {
                let failure = output::not_written(&error);
                output::failure(&failure);
                failure.exit.into()
            }
        },
        // If it could not be shown, there is no other way to report it.
        _ => {
            if wants_json() {
                output::failure_as_json(&Failure::new(Exit::Usage, refusal.render()));
            }
            Exit::Usage.into()
        }
    }
}
