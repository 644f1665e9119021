//! `[[molecule]]`: atoms of a PQR file, whose surface the program makes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use farad::{Dielectric, SURROUNDINGS};
use mesh::conductors::UNGROUPED;
use surface::{Cavities, Kind, Options, Resolution};

use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;
use super::file_names;
use super::named_files::existing;
use super::places::Entry;
use super::schema::{CAVITIES, SURFACES};
use super::toml_text::string;
use crate::molecules;
use crate::paths;
use crate::report::units::shortest as number;

/// Relative permittivity of water at 25 degrees Celsius, as in APBS's examples: that of the
/// surroundings of molecules where a case names none.
pub(super) const WATER: f64 = 78.54;

/// Relative permittivity of a molecule where a case names none.
const INSIDE: f64 = 4.0;

/// Kinds in the order of their names.
const KINDS: [Kind; 4] =
    [Kind::SolventExcluded, Kind::Gaussian, Kind::VanDerWaals, Kind::SolventAccessible];

/// A molecule whose surface is made of its atoms; what is inside is a dielectric of the case.
#[derive(Clone, Debug)]
pub(crate) struct Molecule {
    /// The index of that dielectric.
    pub(crate) dielectric: usize,
    /// Its atoms.
    pub(crate) file: PathBuf,
    /// How the surface is made.
    pub(crate) options: Options,
    /// Whether the case leaves the number of triangles to the program.
    pub(crate) has_usual_density: bool,
    /// A layer around it that ions do not enter.
    pub(crate) stern: Option<Stern>,
}

/// A layer of the surrounding medium without its ions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stern {
    /// The index of the dielectric that it is.
    pub(crate) dielectric: usize,
    /// Angstrom beyond the atoms' radii.
    pub(crate) thickness: f64,
}

impl Molecule {
    /// How the outer surface of the layer without ions is made: potentials are smooth there.
    pub(crate) fn around(&self, stern: Stern) -> Options {
        self.options
            .kind(Kind::SolventAccessible)
            .probe(stern.thickness)
            .resolution(match self.options.resolution {
                Resolution::Density(density) => Resolution::Density(OF_STERN * density),
                Resolution::Elements(count) => {
                    Resolution::Elements(((OF_STERN * count as f64) as usize).max(LEAST))
                }
            })
            .cavities(Cavities::Drop)
    }

    /// The same with so many times as many triangles.
    pub(crate) fn refined(&self, times: f64) -> Self {
        let mut refined = self.clone();
        refined.options.resolution = match self.options.resolution {
            Resolution::Density(density) => Resolution::Density(density * times),
            Resolution::Elements(count) => {
                Resolution::Elements(((count as f64 * times) as usize).max(LEAST))
            }
        };
        refined
    }
}

/// Triangles of the outer surface of a layer without ions, as a share of those of the molecule's.
const OF_STERN: f64 = 0.25;

/// The least of them.
const LEAST: usize = 80;

/// What the sections are of: molecules, and the dielectrics that come after those of the case.
pub(super) type Found = (Vec<Molecule>, Vec<(Dielectric, Entry)>);

/// Reads every `[[molecule]]`; `before` are the dielectrics of the case. `instead` is a file that
/// takes the place of the one that the only molecule names.
pub(super) fn read(
    top: &Section<'_>,
    base: &Path,
    before: &[(Dielectric, Entry)],
    instead: Option<&Path>,
    surroundings: f64,
) -> Found {
    let (mut molecules, mut dielectrics) = (Vec::new(), Vec::<(Dielectric, Entry)>::new());
    let sections = top.sections("molecule");
    if let (Some(_), count) = (instead, sections.len())
        && count != 1
    {
        let message = format!("a template has one [[molecule]], this case has {count}");
        let span = sections.get(1).map_or(0..0, Section::span);
        let help = "each of the files given takes the place of the one that it names";
        top.report(Defect::new(Sort::Value, span, message).help(help));
    }
    for section in sections {
        let file = match instead {
            Some(path) => {
                let span = section.has("pqr").then(|| section.text("pqr")).flatten();
                let span = span.map_or(section.span(), |pqr| pqr.span);
                Some(Located { value: path.to_owned(), span })
            }
            None => section.text("pqr").and_then(|file| existing(top, base, "PQR file", file)),
        };
        let options = read_options(&section);
        let relative_permittivity =
            section.number("relative_permittivity").map_or(INSIDE, |number| number.value);
        let named = section.text("name");
        let thickness = read_stern(&section, &options);
        let Some(file) = file else { continue };
        if let Some((message, help)) = molecules::no_pqr(&file.value) {
            top.report(Defect::new(Sort::Value, file.span.clone(), message).help(help));
        }
        let of_file = || Located { value: stem(&file.value), span: file.span.clone() };
        let name = match (named, instead) {
            (Some(name), None) => name,
            _ => of_file(),
        };
        let mut all = before.iter().chain(&dielectrics);
        let first = all.find(|(known, _)| known.name == name.value).map(|(_, entry)| &entry.name);
        check_name(top, &name, first);
        let index = before.len() + dielectrics.len();
        let stern = thickness.map(|thickness| Stern { dielectric: index + 1, thickness });
        let has_usual_density = !section.has("density") && !section.has("elements");
        let (dielectric, path) = (index, file.value.clone());
        molecules.push(Molecule { dielectric, file: path, options, has_usual_density, stern });
        let (atoms, groups) = (Vec::new(), vec![name.value.clone()]);
        let name_of = name.value.clone();
        let dielectric =
            Dielectric { atoms, groups, ..Dielectric::new(&name_of, relative_permittivity) };
        let places = vec![name.span.clone()];
        let entry = Entry {
            name: name.span,
            groups: places,
            file: Some(file),
            is_made: true,
            ..Entry::default()
        };
        let of_layer = Entry { file: None, ..entry.clone() };
        dielectrics.push((dielectric, entry));
        if stern.is_some() {
            let layer = format!("{} stern layer", name.value);
            let layer = Dielectric { is_of_medium: true, ..Dielectric::new(&layer, surroundings) };
            dielectrics.push((layer, of_layer));
        }
    }
    (molecules, dielectrics)
}

/// Refuses keys of `[mesh]` that are of a mesh's file where there is none.
pub(super) fn check_mesh(section: &Section<'_>) {
    for key in ["ignore", "stack", "smooth"] {
        if let Some(span) = section.place(key) {
            let message = format!("{key} is of a mesh's file, and [mesh] names none");
            section.report(Defect::new(Sort::Value, span, message).help("leave it out"));
        }
    }
}

/// The name of a file without its ending, of characters that names may have.
pub(crate) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    stem.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

/// It becomes the name of a dielectric and of a group of the mesh.
fn check_name(top: &Section<'_>, name: &Located<String>, first: Option<&Range<usize>>) {
    if [SURROUNDINGS, UNGROUPED].contains(&name.value.as_str()) {
        let message = format!("\"{}\" is not a name that a molecule may have", name.value);
        top.report(Defect::new(Sort::Value, name.span.clone(), message));
    }
    file_names::check(top, ["molecule", "molecules or dielectrics"], name, first);
}

fn read_options(section: &Section<'_>) -> Options {
    let usual = Options::default();
    let (density, elements) = (section.number("density"), section.integer("elements"));
    if let (Some(density), Some(elements)) = (&density, &elements) {
        let message = "the number of triangles is given by density and by elements";
        let defect = Defect::new(Sort::Value, elements.span.clone(), message);
        section.report(defect.label("and here").first(density.span.clone()));
    }
    let elements = elements.and_then(|number| usize::try_from(number.value).ok());
    let word = |found: Option<Located<String>>, words: &[&str]| {
        found.and_then(|word| words.iter().position(|known| *known == word.value)).unwrap_or(0)
    };
    let order = section.integer("order").and_then(|number| usize::try_from(number.value).ok());
    usual
        .kind(KINDS[word(section.choice("surface"), &SURFACES)])
        .probe(section.number("probe").map_or(usual.probe, |number| number.value))
        .resolution(match elements {
            Some(elements) => Resolution::Elements(elements),
            None => Resolution::Density(density.map_or(molecules::DENSITY, |number| number.value)),
        })
        .order(order.unwrap_or(usual.order))
        .cavities(match word(section.choice("cavities"), &CAVITIES) {
            0 => Cavities::Keep,
            _ => Cavities::Drop,
        })
}

/// The thickness of the layer that ions do not enter.
fn read_stern(section: &Section<'_>, options: &Options) -> Option<f64> {
    let stern = section.number("stern").filter(|stern| stern.value > 0.0)?;
    // Surfaces of other kinds are within the atoms' spheres, or about them.
    let least = match options.kind {
        Kind::SolventExcluded | Kind::SolventAccessible => options.probe,
        Kind::Gaussian | Kind::VanDerWaals => 0.0,
    };
    let is_within = match options.kind {
        Kind::SolventAccessible => stern.value <= least,
        _ => stern.value < least,
    };
    if is_within {
        let (found, probe) = (number(stern.value), number(least));
        let message = format!(
            "a stern layer of {found} angstrom may lie within the surface, which is up to {probe} angstrom from the atoms"
        );
        let defect = Defect::new(Sort::Value, stern.span, message);
        section.report(defect.help("give one that is thicker than the probe"));
        return None;
    }
    Some(stern.value)
}

/// The table of a molecule in a case file that lies in `folder`.
pub(super) fn table(
    molecule: &Molecule,
    dielectric: &Dielectric,
    folder: &Path,
) -> Vec<(&'static str, String)> {
    let Molecule { file, options, stern, .. } = molecule;
    let stern = stern.map(|stern| ("stern", number(stern.thickness)));
    let kind = KINDS.iter().position(|kind| *kind == options.kind).unwrap_or(0);
    let table = vec![
        ("pqr", string(&paths::relative(folder, file))),
        ("name", string(&dielectric.name)),
        ("relative_permittivity", number(dielectric.relative_permittivity)),
        ("surface", string(SURFACES[kind])),
        ("probe", number(options.probe)),
        match options.resolution {
            Resolution::Density(density) => ("density", number(density)),
            Resolution::Elements(elements) => ("elements", elements.to_string()),
        },
        ("order", options.order.to_string()),
        ("cavities", string(CAVITIES[usize::from(options.cavities == Cavities::Drop)])),
    ];
    table.into_iter().chain(stern).collect()
}
