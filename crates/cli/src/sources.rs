//! The point charges of a case: those it lists, and the atoms of its molecules.

use mesh::Mesh;
use mesh::locate::Locator;
use mesh::pqr;
use mesh::regions::{self, Region};

use crate::case::{Case, Defect, Dielectric, Located, Sort};
use crate::exit::Failure;
use crate::problem::unreadable;
use crate::symmetry::{Side, Symmetry};
use crate::units::{self, ELEMENTARY_CHARGE, LengthUnit};

/// Atoms nearer to a surface than this, in angstrom, have no place in a model of surfaces without thickness.
const NEAREST_ATOM: f64 = 0.1;

/// Other charges must be off surfaces by this share of the mesh's size.
const NEAREST_CHARGE: f64 = 1e-9;

/// Atoms at fault that are named.
const NAMED: usize = 5;

/// A point charge in its medium.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    /// In the mesh's unit.
    pub(crate) position: [f64; 3],
    pub(crate) coulomb: f64,
    /// Of the medium around it.
    pub(crate) relative_permittivity: f64,
    /// The dielectric whose file it is from, in the order of the case; `None` for a `[[charge]]`.
    pub(crate) molecule: Option<usize>,
    /// Chain, residue, its number and atom; empty for a `[[charge]]`.
    pub(crate) atom: String,
}

impl Source {
    /// The charge in elementary charges.
    pub(crate) fn elementary(&self) -> f64 {
        self.coulomb / ELEMENTARY_CHARGE
    }
}

/// All point charges of `case`, whose dielectrics fill `regions`.
pub(crate) fn find(
    case: &Case,
    mesh: &Mesh,
    symmetry: &Symmetry,
    regions: &[Region],
) -> Result<Vec<Source>, Failure> {
    let [low, high] = mesh::quality::bounding_box(mesh);
    let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let medium = |x: [f64; 3]| regions::around(regions, x);
    let permittivity = |medium: Option<u32>| {
        medium.map_or(case.relative_permittivity, |index| {
            case.dielectrics[index as usize].relative_permittivity
        })
    };
    let mut defects = Vec::new();
    let mut sources = Vec::new();
    let surfaces = (!case.charges.is_empty()).then(|| Locator::new(mesh));
    for charge in &case.charges {
        let position = symmetry.snapped(charge.position.value);
        let plane = |index: usize| case.planes[index].name();
        let misplaced = match symmetry.side(position) {
            Side::Here => None,
            Side::InGround(index) => Some(format!("the charge lies in {}", plane(index))),
            Side::Beyond(index) => {
                Some(format!("the charge and the mesh lie on different sides of {}", plane(index)))
            }
        };
        if let Some(message) = misplaced {
            let defect = Defect::new(Sort::Value, charge.position.span.clone(), message);
            defects.push(defect.help("images of charges are made by the program"));
        }
        let distance = regions.iter().map(|r| r.distance(position)).fold(f64::INFINITY, f64::min);
        if distance <= NEAREST_CHARGE * size {
            let message = "the charge lies on the surface of a dielectric, where it has no medium";
            let defect = Defect::new(Sort::Value, charge.position.span.clone(), message);
            defects.push(defect.help("move it to either side"));
        } else if let Some(near) = surfaces.as_ref().and_then(|all| all.nearest(position))
            && near.distance <= NEAREST_CHARGE * size
        {
            let message =
                format!("the charge lies on a surface, that of triangle {}", near.triangle);
            let defect = Defect::new(Sort::Value, charge.position.span.clone(), message);
            defects.push(defect.help("its energy would have no bound; move it off"));
        }
        sources.push(Source {
            position,
            coulomb: charge.coulomb(),
            relative_permittivity: permittivity(medium(position)),
            molecule: None,
            atom: String::new(),
        });
    }
    for (index, (dielectric, region)) in case.dielectrics.iter().zip(regions).enumerate() {
        let Some(file) = &dielectric.charges else { continue };
        let atoms = pqr::read(&file.value).map_err(unreadable)?;
        let place = |atom: &pqr::Atom| {
            let read =
                atom.position.map(|x| x * LengthUnit::Angstrom.metres() / case.mesh.unit.metres());
            symmetry.snapped(dielectric.motions.iter().fold(read, |x, motion| motion.apply(x)))
        };
        let nearest = NEAREST_ATOM * LengthUnit::Angstrom.metres() / case.mesh.unit.metres();
        let (mut outside, mut close, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
        for atom in &atoms {
            let position = place(atom);
            if symmetry.side(position) != Side::Here {
                beyond.push(atom);
            } else if medium(position) != Some(index as u32) {
                outside.push(atom);
            } else if region.distance(position) < nearest {
                close.push(atom);
            }
        }
        defects.extend(faulty(dielectric, file, &outside, "outside of molecule", "the surface and the atoms must be of one molecule in one place; positions in PQR files are in angstrom, and the mesh's unit is named in [mesh]"));
        defects.extend(faulty(
            dielectric,
            file,
            &beyond,
            "not on the mesh's side of a plane, in molecule",
            "list only the atoms on the mesh's side: images are made by the program",
        ));
        defects.extend(faulty(dielectric, file, &close, "within 0.1 angstrom of the surface of molecule", "their energy would depend on where the facets happen to be; take a surface that encloses the atoms' spheres"));
        sources.extend(atoms.iter().map(|atom| Source {
            position: place(atom),
            coulomb: atom.charge * ELEMENTARY_CHARGE,
            relative_permittivity: dielectric.relative_permittivity,
            molecule: Some(index),
            atom: label(atom),
        }));
    }
    if defects.is_empty() { Ok(sources) } else { Err(case.failure(defects)) }
}

/// "A LYS 12 CA", without the chain if there is none.
fn label(atom: &pqr::Atom) -> String {
    let chain = atom.chain.iter().map(String::as_str);
    let words = chain.chain([atom.residue.as_str(), atom.number.as_str(), atom.name.as_str()]);
    words.collect::<Vec<_>>().join(" ")
}

/// The defect of atoms that are in the wrong place, if there are any.
fn faulty(
    dielectric: &Dielectric,
    file: &Located<std::path::PathBuf>,
    atoms: &[&pqr::Atom],
    what: &str,
    help: &str,
) -> Option<Defect> {
    if atoms.is_empty() {
        return None;
    }
    let named: Vec<String> = atoms
        .iter()
        .take(NAMED)
        .map(|atom| format!("{} (line {})", label(atom), atom.line))
        .collect();
    let more = if atoms.len() > NAMED { " and others" } else { "" };
    let message = format!(
        "in {}, {} {what} \"{}\": {}{more}",
        file.value.display(),
        if atoms.len() == 1 {
            "1 atom lies".to_owned()
        } else {
            format!("{} atoms lie", units::count(atoms.len() as u64))
        },
        dielectric.name.value,
        named.join(", "),
    );
    Some(Defect::new(Sort::Value, file.span.clone(), message).help(help))
}
