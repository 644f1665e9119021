//! `farad mesh convert`.

use std::path::{Path, PathBuf};

use mesh::files::Format;
use mesh::gmsh::{self, Encoding};
use mesh::{Mesh, PhysicalGroup};

use crate::files;
use crate::report::units;
use crate::surfaces;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad mesh convert`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Mesh: .msh, .vert or .face, .off, .ply, .stl, FastCap's .lst, .qui or .neu, or a
    /// layout: .pex25d, or .gds with its --stack; of several files each is a physical group under
    /// its name, or keeps the groups that it has
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file that says what the layers of GDSII layouts are
    #[arg(long, value_name = "STACK.toml")]
    stack: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

/// Where a mesh goes to, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The mesh file, written as MSH 4.1
    #[arg(short, long, value_name = "FILE.msh")]
    pub(crate) output: PathBuf,
    /// Write numbers as bytes: smaller and faster to read
    #[arg(long)]
    pub(crate) binary: bool,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
}

impl Target {
    /// Refuses a name of another format than is written, and a file that exists and must not be
    /// replaced.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if Format::of(&self.output) != Some(Format::Gmsh) {
            return Err(Failure::with_help(
                Exit::Usage,
                format!(
                    "{} does not end in .msh, but a Gmsh mesh is what is written",
                    self.output.display()
                ),
                "meshes are read by what their names end in; choose a name that ends in .msh",
            ));
        }
        files::check_vacant(&self.output, self.overwrite)
    }

    /// Writes the mesh and says what it has.
    pub(crate) fn write(&self, mesh: &Mesh) -> Result<(), Failure> {
        write(mesh, &self.output, self.binary)?;
        Output::default().text(&describe(mesh, &self.output))
    }
}

/// Writes a Gmsh mesh; what lies at `path` is replaced.
pub(crate) fn write(mesh: &Mesh, path: &Path, binary: bool) -> Result<(), Failure> {
    let encoding = if binary { Encoding::LittleEndian } else { Encoding::Ascii };
    files::replace(path, |mut out| gmsh::write(mesh, encoding, &mut out))
}

/// One line: the file and what it has.
pub(crate) fn describe(mesh: &Mesh, path: &Path) -> String {
    let groups: Vec<_> = mesh.groups.iter().map(PhysicalGroup::label).collect();
    format!(
        "{}: {} triangles, {} vertices, {}",
        path.display(),
        units::count(mesh.triangles.len() as u64),
        units::count(mesh.vertices.len() as u64),
        if groups.is_empty() {
            "no groups".to_owned()
        } else {
            format!("groups {}", groups.join(", "))
        }
    )
}

/// Reads one format and writes the other; several meshes become one.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.target.check()?;
    let mut parts = Vec::with_capacity(args.files.len());
    for file in &args.files {
        let stack = args.stack.as_deref().filter(|_| formats::layout::gds::is_name(file));
        let mesh = surfaces::read_to_convert(file, stack, &Output::default())?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        parts.push((name.into_owned(), mesh));
    }
    match <[_; 1]>::try_from(parts) {
        Ok([(_, mesh)]) => args.target.write(&mesh),
        Err(parts) => args.target.write(&mesh::join::joined(parts)),
    }
}
