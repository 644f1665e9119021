//! `farad report`: a folder of results as one page for browsers.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ::report::files::text_itself;

use crate::files;
use crate::report::page;
use crate::report::results::{INDEX, held};
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad report`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that `farad solve`, `study` or `sweep` wrote its results to
    results: PathBuf,
    /// The page [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file that is no page of farad
    #[arg(long)]
    overwrite: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Makes the page.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let folder = &args.results;
    check(folder)?;
    // A page inside is one of the results, which no other run is to replace meanwhile.
    let _held = args.output.is_none().then(|| held(folder)).transpose()?;
    let index = folder.join(INDEX);
    let text = text_itself(&index).map_err(|error| Failure::io("read", &index, &error))?;
    let page = page::make(folder, &text.unwrap_or_default())?;
    let path = args.output.clone().unwrap_or_else(|| folder.join(page::FILE));
    files::check_vacant(&path, args.overwrite || page::is_own(&path))?;
    files::replace(&path, |out| out.write_all(page.as_bytes()))?;
    let output = Output { quiet: args.quiet, ..Output::default() };
    output.text(&format!("Page in {}: open it in a browser\n", path.display()))
}

/// Whether these are results.
fn check(folder: &Path) -> Result<(), Failure> {
    let help = "give the folder that farad solve, study or sweep wrote, such as case.out";
    if !folder.is_dir() {
        let what = if folder.exists() { "is no folder" } else { "is not there" };
        return Err(Failure::with_help(Exit::Io, format!("{} {what}", folder.display()), help));
    }
    if !folder.join(INDEX).is_file() {
        let message = format!("{} holds no results: there is no {INDEX}", folder.display());
        return Err(Failure::with_help(Exit::Io, message, help));
    }
    Ok(())
}
