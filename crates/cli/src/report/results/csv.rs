//! The tables: one header row, names in the first column, quoted where they must be.

use std::io::{self, Write};

use farad::{Labelled, Problem, Solvation};

use super::run::reason_name;
use crate::report::text::csv_name;
use crate::report::units::{self, ELEMENTARY_CHARGE};

/// The values of a matrix; the corner names the quantity.
pub fn matrix(out: &mut impl Write, corner: &str, matrix: Labelled<'_>) -> io::Result<()> {
    write!(out, "{corner}")?;
    for name in matrix.columns {
        write!(out, ",{}", csv_name(name))?;
    }
    writeln!(out)?;
    for (name, row) in matrix.rows.iter().zip(matrix.values) {
        write!(out, "{}", csv_name(name))?;
        for value in row {
            write!(out, ",{value:e}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The residual after each iteration of each solve, beginning with 1 at iteration 0; at the end
/// also the one that the solve is judged by, which GMRES does not know before, since it works in
/// the norm of the preconditioned equations.
pub(super) fn residuals(
    out: &mut impl Write,
    problem: &Problem,
    solves: &[bem::Solve],
) -> io::Result<()> {
    writeln!(out, "excitation,iteration,relative_residual,ended_as,residual_at_end")?;
    for solve in solves {
        let name = csv_name(&problem.excitation_name(solve.excitation));
        let last = solve.history.len().saturating_sub(1);
        for (iteration, residual) in solve.history.iter().enumerate() {
            write!(out, "{name},{iteration},{residual:e},")?;
            if iteration == last {
                writeln!(out, "{},{:e}", reason_name(solve.reason), solve.relative_residual)?;
            } else {
                writeln!(out, ",")?;
            }
        }
    }
    Ok(())
}

/// The potential of all surface charge at each point charge.
pub(super) fn reaction(
    out: &mut impl Write,
    problem: &Problem,
    solvation: &Solvation,
    temperature: f64,
) -> io::Result<()> {
    let description = &problem.description();
    let unit = description.unit.name();
    writeln!(
        out,
        "molecule,atom,x [{unit}],y [{unit}],z [{unit}],charge [e],reaction potential [V],\
         reaction potential [kcal/(mol e)],reaction potential [kT/e],Coulomb potential [V]"
    )?;
    let potentials = solvation.reaction_v.iter().zip(&solvation.coulomb_v);
    for (source, (volt, coulomb)) in problem.sources().iter().zip(potentials) {
        let molecule = source.molecule.map(|index| description.dielectrics[index].name.as_str());
        let [x, y, z] = source.position;
        let charge = source.elementary();
        let kilocalorie = units::kilocalorie_per_mole(volt * ELEMENTARY_CHARGE);
        let (molecule, atom) = (csv_name(molecule.unwrap_or_default()), csv_name(&source.atom));
        let thermal = units::thermal(volt * ELEMENTARY_CHARGE, temperature);
        write!(out, "{molecule},{atom},{x:e},{y:e},{z:e},{charge:e},{volt:e},{kilocalorie:e}")?;
        writeln!(out, ",{thermal:e},{coulomb:e}")?;
    }
    Ok(())
}
