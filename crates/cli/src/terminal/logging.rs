//! `-v`: what the libraries report through `tracing`, on stderr.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

/// Shows warnings, with `-v` what happens, with `-vv` how, with `-vvv` everything; without `-v`,
/// RUST_LOG decides.
pub(crate) fn install(verbosity: u8) {
    let all = |level| Targets::new().with_default(level);
    let from_environment = || std::env::var("RUST_LOG").ok()?.parse().ok();
    let filter = match verbosity {
        0 => from_environment().unwrap_or_else(|| all(LevelFilter::WARN)),
        1 => all(LevelFilter::INFO),
        2 => all(LevelFilter::DEBUG),
        _ => all(LevelFilter::TRACE),
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_ansi(std::io::stderr().is_terminal() && !no_color)
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_target(false)
        // How long each step took.
        .with_span_events(FmtSpan::CLOSE)
        .finish()
        .with(filter)
        .init();
}
