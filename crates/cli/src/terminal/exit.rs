//! Exit codes, and the error type that carries one.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use miette::{Diagnostic, Report};

use crate::report::page;
use crate::report::text::printable;
use crate::report::units;

/// How the program ended, as a shell sees it. 1 and 101 are left to crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    Usage = 2,
    BadInput = 3,
    NotConverged = 4,
    Memory = 5,
    Io = 6,
    Interrupted = 7,
    NoGpu = 8,
}

impl Exit {
    /// Every code with its meaning, in the words of `farad --help`.
    pub const MEANINGS: [(Self, &str); 8] = [
        (Self::Success, "success"),
        (Self::Usage, "usage: the command line is wrong"),
        (Self::BadInput, "bad input: a case file, mesh or array is wrong"),
        (
            Self::NotConverged,
            "not converged, or a self-check failed: results are written, marked not_converged or checks_failed",
        ),
        (Self::Memory, "memory: the problem does not fit"),
        (
            Self::Io,
            "I/O: a file cannot be read or written, or the output folder holds something else",
        ),
        (
            Self::Interrupted,
            "interrupted: Ctrl-C or SIGTERM; no results are written, --resume goes on",
        ),
        (Self::NoGpu, "no GPU: the backend asked for is not there"),
    ];

    /// The exit of a code.
    pub(crate) fn of_code(code: u8) -> Self {
        let all = Self::MEANINGS.iter().map(|(exit, _)| *exit);
        all.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Self::Io)
    }

    /// The table at the end of `farad --help`.
    pub fn help() -> String {
        let rows = Self::MEANINGS
            .iter()
            .map(|(exit, meaning)| format!("  {}  {meaning}", *exit as u8))
            .collect::<Vec<_>>();
        format!("Exit codes:\n{}", rows.join("\n"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command failed: the message for the user and the exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// `None` when nobody reads it any more (the reader of a pipe has gone).
    pub report: Option<Report>,
}

impl Failure {
    /// A failure with `message`.
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, report: Some(Report::msg(printable(&message.to_string()).into_owned())) }
    }

    /// A failure with `message` and what to do about it.
    pub(crate) fn with_help(
        exit: Exit,
        message: impl fmt::Display,
        help: impl fmt::Display,
    ) -> Self {
        let [message, help] =
            [message.to_string(), help.to_string()].map(|text| printable(&text).into_owned());
        let report = miette::miette!(help = help, "{message}");
        Self { exit, report: Some(report) }
    }

    /// A failure that shows the place in a file.
    pub(crate) fn diagnostic(
        exit: Exit,
        diagnostic: impl Diagnostic + Send + Sync + 'static,
    ) -> Self {
        Self { exit, report: Some(Report::new(diagnostic)) }
    }

    /// The operating system refused: `action` is "read", "write", ...
    pub(crate) fn io(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let message = format!("cannot {action} {}: {error}", path.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::with_help(
                Exit::Io,
                message,
                "check the spelling; relative paths start from the current directory",
            ),
            _ => Self::new(Exit::Io, message),
        }
    }

    /// This failure, with its message beginning with `whom`.
    pub(crate) fn of(self, whom: &str) -> Self {
        let report = self.report.map(|report| {
            let message = format!("{whom}: {report}");
            match report.help().map(|help| help.to_string()) {
                Some(help) => miette::miette!(help = help, "{message}"),
                None => Report::msg(message),
            }
        });
        Self { report, ..self }
    }

    /// The user interrupted the program.
    pub fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted; no results were written")
    }

    /// The output's reader has gone (`farad ... | head`), which is no fault of anybody.
    pub(crate) fn broken_pipe() -> Self {
        Self { exit: Exit::Success, report: None }
    }
}

impl From<page::Error> for Failure {
    fn from(error: page::Error) -> Self {
        match (&error, error.help()) {
            (page::Error::Io { folder, source }, _) => Self::io("make a page of", folder, source),
            (_, Some(help)) => Self::with_help(Exit::BadInput, &error, help),
            (_, None) => Self::new(Exit::BadInput, &error),
        }
    }
}

impl fmt::Display for Failure {
    /// The message alone, to be part of another one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.as_ref().map_or(Ok(()), |report| write!(f, "{report}"))
    }
}

impl From<fmm::Error> for Failure {
    fn from(error: fmm::Error) -> Self {
        let exit = match error {
            // The other rank tells why.
            fmm::Error::Ranks(comm::Error::Elsewhere { .. }) => {
                return Self { exit: Exit::BadInput, report: None };
            }
            fmm::Error::Ranks(_) => Exit::Io,
            fmm::Error::Option { .. } | fmm::Error::Simd(_) => Exit::Usage,
            fmm::Error::Gpu(fmm::GpuError::OutOfMemory { .. }) => Exit::Memory,
            fmm::Error::Gpu(_) => Exit::NoGpu,
            fmm::Error::GpuMemory { gpus, .. } => {
                let shared = gpus.map_or_else(String::new, |gpus| {
                    format!("farad fmm bench and eval share it among GPUs with --gpus {gpus}; ")
                });
                let help = format!("{shared}use fewer points or densities, or --backend cpu");
                return Self::with_help(Exit::Memory, error, help);
            }
            _ => Exit::BadInput,
        };
        Self::new(exit, error)
    }
}

impl From<fgt::Error> for Failure {
    fn from(error: fgt::Error) -> Self {
        let exit = match error {
            fgt::Error::Option { .. } | fgt::Error::Simd(_) => Exit::Usage,
            fgt::Error::Gpu(fgt::GpuError::OutOfMemory { .. }) => Exit::Memory,
            fgt::Error::Gpu(_) => Exit::NoGpu,
            _ => Exit::BadInput,
        };
        Self::new(exit, error)
    }
}

impl From<simd::Error> for Failure {
    fn from(error: simd::Error) -> Self {
        fmm::Error::from(error).into()
    }
}

impl From<bem::Error> for Failure {
    fn from(error: bem::Error) -> Self {
        match error {
            bem::Error::Interrupted => Self::interrupted(),
            bem::Error::Fmm(inner) => inner.into(),
            bem::Error::Gpu(inner) => fmm::Error::from(inner).into(),
            bem::Error::Memory { what, needed, available, advice } => Self::with_help(
                Exit::Memory,
                format!(
                    "{what} needs {}, more than the {} that may be used",
                    units::bytes(needed),
                    units::bytes(available)
                ),
                format!("{advice}; or raise --memory-limit"),
            ),
            other => Self::new(Exit::BadInput, other),
        }
    }
}
