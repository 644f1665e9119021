//! The two streams: results and text for people on stdout, everything else on stderr. No other
//! module writes to them.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::report::text::{printable, printable_json};
use crate::terminal::exit::{Exit, Failure};

/// The output that the user wants to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// Errors only.
    pub quiet: bool,
    /// stdout carries one JSON document and nothing else.
    pub json: bool,
    /// Log lines go to stderr, where a progress bar would tear them.
    pub verbose: bool,
}

impl Output {
    /// Text for people, on stdout unless `--quiet` or `--json` was given.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        if self.quiet || self.json { Ok(()) } else { to_stdout(&printable(text)) }
    }

    /// As [`text`](Self::text), about results that are already in `folder`: a failure to print says
    /// so.
    pub(crate) fn text_of(&self, folder: &Path, text: &str) -> Result<(), Failure> {
        self.text(text).map_err(|failure| match &failure.report {
            Some(_) => {
                let help = format!("the results are written, in {}", folder.display());
                Failure::with_help(failure.exit, failure, help)
            }
            None => failure,
        })
    }

    /// Text that the command exists to print, on stdout whatever the options.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        to_stdout(text)
    }

    /// What a command found: one JSON object if `as_json`, else a text for people.
    pub(crate) fn report(
        as_json: bool,
        found: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        // Only maps with strange keys cannot be JSON, and there are none.
        let json = || serde_json::to_string(found).unwrap_or_default();
        to_stdout(&if as_json { json() } else { printable(&text()).into_owned() })
    }

    /// A remark that is no result, on stderr unless `--quiet` was given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            to_stderr(&format!("note: {}", printable(text)));
        }
    }

    /// Whether progress bars may be drawn.
    pub(crate) fn draws_progress(&self) -> bool {
        !self.quiet && !self.json && !self.verbose && io::stderr().is_terminal()
    }
}

/// Sets how errors are drawn: with the place in the file, and without breaking lines that a user
/// may want to search.
pub(crate) fn install_error_style() {
    let style = |_: &_| -> Box<dyn miette::ReportHandler> {
        let options = miette::MietteHandlerOpts::new().wrap_lines(false).context_lines(1);
        Box::new(options.build())
    };
    // Refused only when a style is set already, and then there is one.
    let _ = miette::set_hook(Box::new(style));
}

/// Whether a command has written what it exists to print.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints a failure as JSON on stdout, for programs that requested JSON and have received none yet.
pub(crate) fn failure_as_json(failure: &Failure) {
    let (Some(report), false) = (&failure.report, PRINTED.load(Ordering::SeqCst)) else { return };
    let related = report.related().into_iter().flatten().map(ToString::to_string);
    let document = serde_json::json!({
        "schema": "farad-error/1",
        "exit": failure.exit as u8,
        "message": report.to_string(),
        "errors": related.collect::<Vec<_>>(),
        "help": report.help().map(|help| help.to_string()),
    });
    // Why it failed is on stderr as well.
    let _ = to_stdout(&printable_json(document.to_string()));
}

/// Shows why the program failed.
pub(crate) fn failure(failure: &Failure) {
    if let Some(report) = &failure.report {
        to_stderr(&format!("{report:?}"));
    }
}

fn to_stdout(text: &str) -> Result<(), Failure> {
    PRINTED.store(true, Ordering::SeqCst);
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
    match written {
        Ok(()) => Ok(()),
        Err(error) => Err(not_written(&error)),
    }
}

/// The failure for a standard output that takes no more.
pub(crate) fn not_written(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::broken_pipe(),
        _ => Failure::new(Exit::Io, format!("cannot write to standard output: {error}")),
    }
}

fn to_stderr(text: &str) {
    // When stderr itself is gone there is nowhere left to complain.
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}
