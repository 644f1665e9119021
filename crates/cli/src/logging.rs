//! `-v`: what the libraries report through `tracing`, on stderr.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Shows warnings, with `-v` what happens, with `-vv` how, with `-vvv` everything; without `-v`, RUST_LOG decides.
pub(crate) fn install(verbosity: u8) {
    let from_environment = || EnvFilter::try_from_default_env().ok();
    let filter = match verbosity {
        0 => from_environment().unwrap_or_else(|| EnvFilter::new("warn")),
        1 => EnvFilter::new("info"),
        2 => EnvFilter::new("debug"),
        _ => EnvFilter::new("trace"),
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_ansi(std::io::stderr().is_terminal() && !no_color)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
}
