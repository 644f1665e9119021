//! The program `farad`, all of which is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    farad_cli::run()
}
