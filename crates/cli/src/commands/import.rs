//! `farad import`.

use std::path::PathBuf;

use formats::fastcap;

use super::arguments::Listed;
use crate::case::{Overrides, described};
use crate::commands::mesh::convert;
use crate::surfaces::fastcap_model;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;
use crate::{files, paths};

/// Arguments of `farad import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// FastCap list file (.lst), or panels alone (.qui, .neu)
    list: PathBuf,
    /// The case file; the mesh goes next to it, as .msh [default: the list's name in the current
    /// folder]
    #[arg(short, long, value_name = "CASE.toml")]
    output: Option<PathBuf>,
    /// Write the mesh's numbers as bytes: smaller and faster to read
    #[arg(long)]
    binary: bool,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    listed: Listed,
}

/// Reads the list and writes the case and the mesh.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !fastcap::is_name(&args.list) {
        return Err(Failure::with_help(
            Exit::BadInput,
            format!("{} is not called .lst, .qui or .neu", args.list.display()),
            "`farad import` reads FastCap's files; meshes of other formats can stand in a case as they are",
        ));
    }
    interrupt::ends_at_once();
    let default =
        || PathBuf::from(args.list.file_name().unwrap_or_default()).with_extension("toml");
    let case = args.output.clone().unwrap_or_else(default);
    let mesh = case.with_extension("msh");
    for file in [&case, &mesh] {
        files::check_vacant(file, args.overwrite)?;
    }
    let overrides = args.listed.over(Overrides::default());
    let model = fastcap_model(&args.list, overrides.lenient, &mesh::files::load)?;
    let output = Output::default();
    for note in &model.reading.notes {
        output.note(&format!("{}: {note}", args.list.display()));
    }
    let folder = case.parent().unwrap_or(std::path::Path::new(""));
    let text = described::of_list(&model, &args.list, &paths::relative(folder, &mesh), &overrides)?;
    convert::write(&model.mesh, &mesh, args.binary)?;
    files::replace(&case, |out| std::io::Write::write_all(out, text.as_bytes()))?;
    output.text(&format!(
        "{}\n{}: run it with `farad solve {}`",
        convert::describe(&model.mesh, &mesh),
        case.display(),
        case.display()
    ))
}
