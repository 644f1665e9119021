//! `[[molecule]]`: atoms of a PQR file, whose surface the program makes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use farad::{Dielectric, SURROUNDINGS};
use mesh::conductors::UNGROUPED;
use surface::{Cavities, Kind, Options, Resolution};

use crate::molecules;
use crate::paths;
use crate::report::units::shortest as number;

use super::file_names;
use super::named_files::existing;
use super::prelude::*;

words!(Kind {
    "ses" = Self::SolventExcluded,
    "gaussian" = Self::Gaussian,
    "vdw" = Self::VanDerWaals,
    "sas" = Self::SolventAccessible,
});

words!(Cavities { "keep" = Self::Keep, "drop" = Self::Drop });

table! {
    /// `[[molecule]]`.
    MoleculeTable = "molecule" repeated;
    @rules [Rule::Always(&["pqr"]), Rule::AtMostOne(&["density", "elements"])];
    @written_last ["stern"];
    pqr: String = PATH, unless("required"),
        "PQR file of the atoms, relative to the case file; positions and radii are in angstrom, charges in elementary \
         charges";
    name: String = FILE_NAME, or("the file's name without `.pqr`"),
        "name in all results, and of the group of the surface";
    relative_permittivity: f64 = PERMITTIVITY, or("4.0"), "permittivity inside";
    surface: Kind = Spec::choice(Kind::WORDS), or("ses"),
        "solvent excluded, level set of a sum of Gaussian functions, union of the atoms, or solvent accessible";
    probe: f64 = Spec::number(0.0, 1e6), or("1.4"),
        "radius of the probe in angstrom, for surfaces of solvent";
    density: f64 = POSITIVE.said("number"), or("4.0; of balls that are all larger than 5 angstrom as many triangles as one of 5 has"),
        "triangles per square angstrom; where radii of atoms, probe and creases need more, or a body would have fewer than 80, \
         there are more, and a note says so";
    elements: usize = Spec::integer(20, 1 << 30), or("-"),
        "instead of `density`: the number of triangles, about";
    order: usize = Spec::integer(1, 2).said("1 or 2"), or("1"),
        "order of the triangles: 1 flat, 2 curved, with nodes on the surface";
    stern: f64 = Spec::number(0.0, 1e6), or("none"),
        "thickness in angstrom of a layer around the atoms that ions do not enter, with the permittivity of the medium; its \
         outer surface has a quarter of the triangles";
    cavities: Cavities = Spec::choice(Cavities::WORDS), or("keep"),
        "whether cavities stay, filled by the surrounding medium, or belong to the molecule";
}

/// Relative permittivity of water at 25 degrees Celsius, as in APBS's examples: that of the
/// surroundings of molecules where a case names none.
pub(in crate::case) const WATER: f64 = 78.54;

/// Relative permittivity of a molecule where a case names none.
const INSIDE: f64 = 4.0;

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

    /// The molecule with `times` as many triangles.
    pub(crate) fn refined(&self, times: f64) -> Self {
        let mut refined = self.clone();
        refined.options.least = (self.options.least as f64 * times) as usize;
        refined.options.resolution = match self.options.resolution {
            Resolution::Density(density) => Resolution::Density(density * times),
            Resolution::Elements(count) => {
                Resolution::Elements(((count as f64 * times) as usize).max(count.min(LEAST)))
            }
        };
        refined
    }
}

/// Triangles of the outer surface of a layer without ions, as a share of those of the molecule's.
const OF_STERN: f64 = 0.25;

/// The least of them.
const LEAST: usize = 80;

/// Content of the tables: molecules, and the dielectrics that come after those of the case.
#[derive(Default)]
pub(in crate::case) struct Found {
    pub(in crate::case) molecules: Vec<Molecule>,
    pub(in crate::case) dielectrics: Vec<(Dielectric, Entry)>,
}

/// Context for reading molecules.
pub(in crate::case) struct Given<'a> {
    /// The folder of the case.
    pub(in crate::case) base: &'a Path,
    /// The dielectrics of the case.
    pub(in crate::case) before: &'a [(Dielectric, Entry)],
    /// A file that takes the place of the one that the only molecule names.
    pub(in crate::case) instead: Option<&'a Path>,
    /// The permittivity of the surrounding medium.
    pub(in crate::case) surroundings: f64,
}

/// Reads every `[[molecule]]`.
pub(in crate::case) fn read(top: &Section<'_>, given: &Given<'_>) -> Found {
    let mut found = Found::default();
    let sections = top.sections(MoleculeTable::INFO);
    if let (Some(_), count) = (given.instead, sections.len())
        && count != 1
    {
        let message = format!("a template has one [[molecule]], this case has {count}");
        let span = sections.get(1).map_or(0..0, Section::span);
        let help = "each of the files given takes the place of the one that it names";
        top.report(Defect::new(Sort::Value, span, message).help(help));
    }
    for section in sections {
        if given.instead.is_none() {
            section.require(&["pqr"]);
        }
        MoleculeTable::read(&section).add_to(&mut found, top, given);
    }
    found
}

impl MoleculeTable {
    fn add_to(mut self, found: &mut Found, top: &Section<'_>, given: &Given<'_>) {
        let pqr = std::mem::take(&mut self.pqr).located();
        let file = match given.instead {
            Some(path) => {
                let span = pqr.map_or(self.place(), |pqr| pqr.span);
                Some(Located { value: path.to_owned(), span })
            }
            None => pqr.and_then(|file| existing(top, given.base, "PQR file", file)),
        };
        let options = self.options(top);
        let thickness = self.thickness(top, &options);
        let Some(file) = file else { return };
        if let Some((message, help)) = molecules::no_pqr(&file.value) {
            top.report(Defect::new(Sort::Value, file.span.clone(), message).help(help));
        }
        let name = match (self.name.located(), given.instead) {
            (Some(name), None) => name,
            _ => Located { value: stem(&file.value), span: file.span.clone() },
        };
        let mut all = given.before.iter().chain(&found.dielectrics);
        let first = all.find(|(known, _)| known.name == name.value).map(|(_, entry)| &entry.name);
        check_name(top, &name, first);
        let dielectric = given.before.len() + found.dielectrics.len();
        found.molecules.push(Molecule {
            dielectric,
            file: file.value.clone(),
            options,
            has_usual_density: !self.density.is_given() && !self.elements.is_given(),
            stern: thickness.map(|thickness| Stern { dielectric: dielectric + 1, thickness }),
        });
        let entry = Entry {
            groups: vec![name.span.clone()],
            name: name.span,
            file: Some(file),
            is_made: true,
            ..Entry::default()
        };
        let of_layer = Entry { file: None, ..entry.clone() };
        let permittivity = self.relative_permittivity.or(INSIDE);
        found.dielectrics.push((Dielectric::new(&name.value, permittivity), entry));
        if thickness.is_some() {
            let layer = format!("{} stern layer", name.value);
            let layer = Dielectric::new(&layer, given.surroundings);
            found.dielectrics.push((layer.is_of_medium(true), of_layer));
        }
    }

    fn options(&self, top: &Section<'_>) -> Options {
        let usual = Options::default();
        if self.density.value.is_some() && self.elements.value.is_some() {
            let message = "the number of triangles is given by density and by elements";
            let (first, second) = (self.density.span.clone(), self.elements.span.clone());
            top.report(Defect::clash(message, first, second));
        }
        let density = || Resolution::Density(self.density.value.unwrap_or(molecules::DENSITY));
        usual
            .kind(self.surface.value.unwrap_or(Kind::SolventExcluded))
            .probe(self.probe.value.unwrap_or(usual.probe))
            .resolution(self.elements.value.map_or_else(density, Resolution::Elements))
            .order(self.order.value.unwrap_or(usual.order))
            .cavities(self.cavities.value.unwrap_or(Cavities::Keep))
    }

    /// The thickness of the layer that ions do not enter.
    fn thickness(&self, top: &Section<'_>, options: &Options) -> Option<f64> {
        let stern = self.stern.value.filter(|stern| *stern > 0.0)?;
        // Surfaces of other kinds are within the atoms' spheres, or about them.
        let least = match options.kind {
            Kind::SolventExcluded | Kind::SolventAccessible => options.probe,
            Kind::Gaussian | Kind::VanDerWaals => 0.0,
        };
        let is_within = match options.kind {
            Kind::SolventAccessible => stern <= least,
            _ => stern < least,
        };
        if is_within {
            let (found, probe) = (number(stern), number(least));
            let message = format!(
                "a stern layer of {found} angstrom may lie within the surface, which is up to {probe} angstrom from the atoms"
            );
            let defect = Defect::new(Sort::Value, self.stern.span.clone(), message);
            top.report(defect.help("give one that is thicker than the probe"));
            return None;
        }
        Some(stern)
    }

    /// The table of a molecule whose inside is `dielectric`, for a case that lies in `folder`.
    pub(in crate::case) fn of(molecule: &Molecule, dielectric: &Dielectric, folder: &Path) -> Self {
        let Molecule { file, options, stern, .. } = molecule;
        let (density, elements) = match options.resolution {
            Resolution::Density(density) => (Some(density), None),
            Resolution::Elements(elements) => (None, Some(elements)),
        };
        Self {
            pqr: paths::relative(folder, file).into(),
            name: (&dielectric.name).into(),
            relative_permittivity: dielectric.relative_permittivity.into(),
            surface: options.kind.into(),
            probe: options.probe.into(),
            density: density.into(),
            elements: elements.into(),
            order: options.order.into(),
            stern: stern.map(|stern| stern.thickness).into(),
            cavities: options.cavities.into(),
            ..Self::default()
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
