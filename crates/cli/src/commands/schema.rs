//! `farad schema`.

use crate::case::json_schema::json_schema;
use crate::report::json;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Arguments of `farad schema`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Prints the JSON schema of case files to stdout.
pub(crate) fn run(_: &Args) -> Result<(), Failure> {
    Output::default().data(&json::text(&json_schema()))
}
