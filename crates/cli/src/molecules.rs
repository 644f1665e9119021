//! Molecules: atoms of PQR files, and the surfaces made of them.

use std::path::Path;

use farad::LengthUnit;
use formats::pqr;
use mesh::Mesh;
use mesh::files::{Cause, Error as FileError, in_file};
use surface::{Atom, Error, Info, Options, Resolution, Surface};

use crate::files;
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Advice on making PQR files.
const MAKE_PQR: &str = "a PQR file has a charge and a radius for each atom; PDB2PQR makes one: \
                        pdb2pqr --ff=PARSE protein.pdb protein.pqr";

/// Triangles per square angstrom where nothing says how many, of atoms of usual radii.
pub(crate) const DENSITY: f64 = 4.0;

/// The largest radius of these, in angstrom.
const LARGEST: f64 = 5.0;

/// So many times the density asked for passes without a word.
const DENSER: f64 = 1.5;

/// A share of the area that triangles may miss without a word.
const MISSING: f64 = 0.003;

/// Beginnings of lines of mmCIF files.
const OF_MMCIF: [&[u8]; 3] = [b"data_", b"loop_", b"_atom_site"];

/// Whether it is a PQR file by its name.
pub(crate) fn is_pqr(path: &Path) -> bool {
    ends_in(path, &["pqr"])
}

/// Whether the name ends in one of these, whatever their case.
pub(crate) fn ends_in(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    endings.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// The kind of a file that is no PQR file by its name, and advice.
pub(crate) fn no_pqr(path: &Path) -> Option<(String, &'static str)> {
    if is_pqr(path) {
        return None;
    }
    // Messages about content quote it, which must not reveal just any file that a case names.
    let what = if ends_in(path, &["pdb", "ent"]) {
        " is a PDB file, which has no charges and no radii"
    } else if ends_in(path, &["cif", "mmcif"]) {
        " is an mmCIF file, which has no charges and no radii"
    } else {
        ": the name does not end in .pqr"
    };
    Some((format!("{}{what}", path.display()), MAKE_PQR))
}

/// The atoms of a PQR file; files of coordinates alone are refused with what makes one of them.
pub(crate) fn atoms(path: &Path) -> Result<Vec<pqr::Atom>, Failure> {
    if let Some((message, help)) = no_pqr(path) {
        return Err(Failure::with_help(Exit::BadInput, message, help));
    }
    let wrong = |error: FileError| Failure::with_help(Exit::BadInput, error, MAKE_PQR);
    let content = files::bytes(path)?;
    if OF_MMCIF.iter().any(|start| content.trim_ascii_start().starts_with(start)) {
        let cause = Cause::Other("this is an mmCIF file, not PQR".into()).on_line(1);
        return Err(wrong(in_file(path)(cause)));
    }
    pqr::parse(&content).map_err(in_file(path)).map_err(wrong)
}

/// Refuses atoms of radius 0 that the surface of the others need not enclose.
pub(crate) fn check_radii(path: &Path, atoms: &[pqr::Atom]) -> Result<(), Failure> {
    let without = formats::atoms::uncovered(atoms);
    if without.is_empty() {
        return Ok(());
    }
    let count = units::counted(without.len(), "atom");
    let (have, lie) = if without.len() == 1 { ("has", "lies") } else { ("have", "lie") };
    Err(Failure::with_help(
        Exit::BadInput,
        format!(
            "{}: {count} {have} radius 0 and {lie} in no other atom: {}",
            path.display(),
            formats::atoms::named(without.iter().map(|&index| &atoms[index]))
        ),
        "give them radii, as pdb2pqr does with a force field, or leave them out; hydrogens of radius 0 inside the atoms that they are \
         bound to need none",
    ))
}

/// How fine a surface is where nothing says so: balls that are larger than atoms, all of them, have
/// as many triangles as the largest atom.
pub(crate) fn usual_resolution(atoms: &[pqr::Atom]) -> Resolution {
    let radii = atoms.iter().map(|atom| atom.radius).filter(|radius| *radius > 0.0);
    let least = radii.reduce(f64::min).unwrap_or(LARGEST).max(LARGEST);
    Resolution::Density(DENSITY * (LARGEST / least).powi(2))
}

/// The surface of atoms.
pub(crate) fn surface(
    path: &Path,
    atoms: &[pqr::Atom],
    options: &Options,
) -> Result<Surface, Failure> {
    let spheres: Vec<Atom> =
        atoms.iter().map(|atom| Atom { centre: atom.position, radius: atom.radius }).collect();
    surface::molecular(&spheres, options).map_err(|error| failure(path, error, atoms))
}

/// An error of the library, with the file and the line that it is about.
fn failure(path: &Path, error: Error, atoms: &[pqr::Atom]) -> Failure {
    let exit = match error {
        Error::Option { .. } => Exit::Usage,
        Error::TooMany { .. } => Exit::Memory,
        _ => Exit::BadInput,
    };
    let line = match error {
        Error::NotFinite { atom, .. } | Error::NegativeRadius { atom, .. } => atoms.get(atom),
        _ => None,
    };
    let file = path.display();
    match line {
        Some(atom) => Failure::new(exit, format!("{file}: line {}: {error}", atom.line)),
        None => Failure::new(exit, format!("{file}: {error}")),
    }
}

/// Shows what of a molecule's surface is not as its atoms have it.
pub(crate) fn show_notes(name: &str, info: &Info, options: &Options, output: &Output) {
    let triangles: usize = info.parts.iter().map(|part| part.triangles).sum();
    let (area, volume) = measured(info);
    tracing::info!(triangles, area, volume, "made the surface of {name}");
    if info.filled.count > 0 {
        let surface::Filled { count, volume, .. } = info.filled;
        output.note(&format!("{name}: {} filled, {volume:.3} A^3 in all", cavities(count)));
    }
    if info.unresolved > 0 {
        output.note(&format!(
            "{name}: {} of the surface too small for these triangles left out",
            units::counted(info.unresolved, "part")
        ));
    }
    if let Some(denser) = denser(info, options) {
        output.note(&format!("{name}: {denser}"));
    }
    if let Some(off) = off_area(info) {
        let area = info.union.map_or(0.0, |union| union.area);
        output.note(&format!(
            "{name}: the spheres of its atoms have {area:.1} A^2 of surface, and triangles {off}"
        ));
    }
}

/// That there are more triangles than asked for, because the surface is curved or its bodies small.
pub(crate) fn denser(info: &Info, options: &Options) -> Option<String> {
    let triangles: usize = info.parts.iter().map(|part| part.triangles).sum();
    let (times, how_many, asked) = match options.resolution {
        Resolution::Density(density) => {
            let found = triangles as f64 / measured(info).0;
            let how_many = format!("{found:.1} triangles per square angstrom");
            (found / density, how_many, units::shortest(density))
        }
        Resolution::Elements(elements) => {
            let [found, asked] = [triangles, elements].map(|number| units::count(number as u64));
            (triangles as f64 / elements as f64, format!("{found} triangles"), asked)
        }
    };
    (times > DENSER).then(|| {
        format!(
            "{how_many} where {asked} were asked for: their sides go with the radii of atoms, probe and creases, each body has \
             about {} at least, and this surface has no coarser ones",
            options.least
        )
    })
}

/// How far the area of triangles is from that of a union of balls, if that is more than it is of
/// smooth surfaces.
pub(crate) fn off_area(info: &Info) -> Option<String> {
    let all = info.union.filter(|union| union.area > 0.0)?.area;
    let missing = 1.0 - (measured(info).0 + info.filled.area) / all;
    let percent = 100.0 * missing.abs();
    (missing.abs() > MISSING).then(|| match missing > 0.0 {
        true => format!(
            "leave out {percent:.1} % of this area, in hollows and creases smaller than they are"
        ),
        false => format!("have {percent:.1} % more than this area"),
    })
}

fn cavities(count: usize) -> String {
    if count == 1 { "1 cavity".to_owned() } else { format!("{count} cavities") }
}

/// Area of all parts, and the volume inside of bodies and outside of cavities.
fn measured(info: &Info) -> (f64, f64) {
    info.parts.iter().fold((0.0, 0.0), |(area, volume), part| {
        let own = match part.kind {
            surface::PartKind::Body => part.volume,
            surface::PartKind::Cavity => -part.volume,
        };
        (area + part.area, volume + own)
    })
}

/// A mesh in angstrom in another unit.
pub(crate) fn in_unit(mut mesh: Mesh, unit: LengthUnit) -> Mesh {
    let factor = LengthUnit::Angstrom.metres() / unit.metres();
    if factor != 1.0 {
        let nodes = mesh.patches.iter_mut().flat_map(|patches| &mut patches.nodes);
        mesh.vertices.iter_mut().chain(nodes).flatten().for_each(|x| *x *= factor);
    }
    mesh
}
