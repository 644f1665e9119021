//! Results of molecules: their atoms with potentials, residues with energies, the potential on
//! their surfaces, and scripts for programs that show them.

use std::io::{self, Write};

use farad::{LengthUnit, Solvation, Source};
use formats::pqr;

use super::folder::Folder;
use super::run::Run;
use super::viewers::{self, ATOMS, STL};
use crate::case::{Case, VtkMode};
use crate::report::text::csv_name;
use crate::report::units::{self, ELEMENTARY_CHARGE};
use crate::report::vtk;
use crate::terminal::exit::Failure;

const RESIDUES: &str = "residues.csv";
const SURFACE_POTENTIAL: &str = "surface_potential.csv";
const PICTURE: &str = "atoms.vtu";

/// The files written for a case with atoms.
pub(super) fn file_names(case: &Case) -> Vec<&'static str> {
    if !case.has_atoms() {
        return Vec::new();
    }
    let mut names = vec![RESIDUES, ATOMS];
    if case.vtk != VtkMode::None {
        names.extend([SURFACE_POTENTIAL, PICTURE]);
    }
    names.extend((!case.viewers.is_empty()).then_some(STL));
    names.extend(case.viewers.iter().map(|viewer| viewers::script(*viewer)));
    names
}

/// Writes all of them.
pub(super) fn write_all(
    folder: &mut Folder,
    run: &Run<'_>,
    solvation: &Solvation,
) -> Result<(), Failure> {
    let case = run.case;
    if !case.has_atoms() {
        return Ok(());
    }
    let atoms = atoms(run, solvation);
    folder.stage(RESIDUES, |out| residues(out, run, &atoms))?;
    folder.stage(ATOMS, |out| write_atoms(out, case, &atoms))?;
    if case.vtk != VtkMode::None {
        folder.stage(PICTURE, |out| picture(out, case, &atoms))?;
    }
    let potential = run.solution.state.as_ref().and_then(|state| state.potential.as_ref());
    if let (Some(potential), true) = (potential, case.vtk != VtkMode::None) {
        folder.stage(SURFACE_POTENTIAL, |out| surface(out, run, potential))?;
    }
    if !case.viewers.is_empty() {
        let angstrom = case.description.unit.metres() / LengthUnit::Angstrom.metres();
        folder.stage(STL, |out| viewers::write_stl(out, run.problem.mesh(), angstrom))?;
    }
    for &viewer in &case.viewers {
        folder.stage(viewers::script(viewer), |out| viewers::write(out, case, viewer))?;
    }
    Ok(())
}

/// An atom with what acts on it.
struct Acted<'a> {
    molecule: &'a str,
    atom: &'a pqr::Atom,
    source: &'a Source,
    reaction_v: f64,
    coulomb_v: f64,
}

/// The atoms of all molecules, one after the other.
fn atoms<'a>(run: &'a Run<'_>, solvation: &Solvation) -> Vec<Acted<'a>> {
    let dielectrics = &run.case.description.dielectrics;
    let potentials = solvation.reaction_v.iter().zip(&solvation.coulomb_v);
    let all = run.problem.sources().iter().zip(potentials);
    let of = |(index, atoms): (usize, &'a Vec<pqr::Atom>)| {
        let own = all.clone().filter(move |(source, _)| source.molecule == Some(index));
        own.zip(atoms).map(move |((source, (reaction_v, coulomb_v)), atom)| Acted {
            molecule: &dielectrics[index].name,
            atom,
            source,
            reaction_v: *reaction_v,
            coulomb_v: *coulomb_v,
        })
    };
    run.case.atoms.iter().enumerate().flat_map(of).collect()
}

/// Half the charges of a residue's atoms times the potentials there: what the residues add to the
/// energies.
fn residues(out: &mut impl Write, run: &Run<'_>, atoms: &[Acted<'_>]) -> io::Result<()> {
    let temperature = run.case.kelvin();
    writeln!(
        out,
        "molecule,chain,residue,number,atoms,charge [e],solvation energy [kcal/mol],\
         solvation energy [kJ/mol],solvation energy [kT],Coulomb energy [kcal/mol],total energy [kcal/mol]"
    )?;
    let same = |a: &Acted<'_>, b: &Acted<'_>| {
        let (x, y) = (a.atom, b.atom);
        let is_numbered = (&x.chain, &x.residue, &x.number) == (&y.chain, &y.residue, &y.number);
        is_numbered && a.molecule == b.molecule
    };
    for residue in atoms.chunk_by(same) {
        let Some(first) = residue.first() else { continue };
        let half = |volt: fn(&Acted<'_>) -> f64| -> f64 {
            residue.iter().map(|atom| 0.5 * atom.source.coulomb * volt(atom)).sum()
        };
        let (reaction, coulomb) = (half(|atom| atom.reaction_v), half(|atom| atom.coulomb_v));
        let charge: f64 = residue.iter().map(|atom| atom.atom.charge).sum();
        // Sums that are zero but for rounding have no sign.
        let charge = (charge * 1e4).round() / 1e4 + 0.0;
        let pqr::Atom { chain, residue: name, number, .. } = first.atom;
        let words = [first.molecule, chain.as_deref().unwrap_or_default(), name, number];
        write!(out, "{}", words.map(csv_name).join(","))?;
        write!(out, ",{},{charge:.4}", residue.len())?;
        let kilocalories = units::kilocalorie_per_mole;
        for value in [
            kilocalories(reaction),
            units::kilojoule_per_mole(reaction),
            units::thermal(reaction, temperature),
            kilocalories(coulomb),
            kilocalories(reaction + coulomb),
        ] {
            write!(out, ",{value:e}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A PQR file whose charges are reaction potentials in kT/e, in the columns of PDB files as far as
/// words fit them, always with blanks between.
fn write_atoms(out: &mut impl Write, case: &Case, atoms: &[Acted<'_>]) -> io::Result<()> {
    let temperature = case.kelvin();
    writeln!(
        out,
        "REMARK   1 In the column of charges: reaction potential in kT/e at {temperature} K"
    )?;
    writeln!(
        out,
        "REMARK   1 (potential of all surface charge at the atom), by farad {}",
        env!("CARGO_PKG_VERSION")
    )?;
    for (index, acted) in atoms.iter().enumerate() {
        let pqr::Atom { name, residue, chain, number, position: [x, y, z], radius, .. } =
            acted.atom;
        let value = units::thermal(acted.reaction_v * ELEMENTARY_CHARGE, temperature);
        let mut line = "ATOM".to_owned();
        // Each word ends at its column.
        let mut put = |word: &str, end: usize| {
            let width = end.saturating_sub(line.len()).max(word.len() + 1);
            line += &format!("{word:>width$}");
        };
        put(&(index + 1).to_string(), 11);
        put(&format!("{name:<3}"), 16);
        put(residue, 20);
        if let Some(chain) = chain {
            put(chain, 22);
        }
        put(number, 26);
        for (value, end) in [(x, 38), (y, 46), (z, 54)] {
            put(&format!("{value:.3}"), end);
        }
        put(&format!("{value:.4}"), 62);
        put(&format!("{radius:.4}"), 69);
        writeln!(out, "{line}")?;
    }
    writeln!(out, "END")
}

/// The atoms as points, for ParaView.
fn picture(out: &mut impl Write, case: &Case, atoms: &[Acted<'_>]) -> io::Result<()> {
    let temperature = case.kelvin();
    let unit = case.description.unit;
    let angstrom = LengthUnit::Angstrom.metres() / unit.metres();
    let points: Vec<[f64; 3]> = atoms.iter().map(|atom| atom.source.position).collect();
    let array = |name: &str, value: &dyn Fn(&Acted<'_>) -> f64| {
        vtk::array(name.to_owned(), atoms.iter().map(value).collect::<Vec<f64>>())
    };
    let thermal = |volt: f64| units::thermal(volt * ELEMENTARY_CHARGE, temperature);
    let data = [
        array("reaction potential [kT/e]", &|atom| thermal(atom.reaction_v)).first(),
        array("reaction potential [V]", &|atom| atom.reaction_v),
        array("Coulomb potential [V]", &|atom| atom.coulomb_v),
        array("charge [e]", &|atom| atom.atom.charge),
        array(&format!("radius [{}]", unit.name()), &|atom| atom.atom.radius * angstrom),
    ];
    vtk::write_points(out, &points, false, &data, case.vtk != VtkMode::Plain)
}

/// The potential at the middle of each triangle.
fn surface(out: &mut impl Write, run: &Run<'_>, potential: &[f64]) -> io::Result<()> {
    let (mesh, unit) = (run.problem.mesh(), run.case.description.unit.name());
    let temperature = run.case.kelvin();
    writeln!(
        out,
        "triangle,x [{unit}],y [{unit}],z [{unit}],area [{unit}^2],potential [V],potential [kT/e]"
    )?;
    for (t, volt) in potential.iter().enumerate().filter(|(_, volt)| volt.is_finite()) {
        let [x, y, z] = mesh.point(t, [1.0 / 3.0; 3]);
        let (area, thermal) =
            (run.problem.areas()[t], units::thermal(volt * ELEMENTARY_CHARGE, temperature));
        writeln!(out, "{t},{x:.6e},{y:.6e},{z:.6e},{area:.6e},{volt:.6e},{thermal:.6e}")?;
    }
    Ok(())
}
