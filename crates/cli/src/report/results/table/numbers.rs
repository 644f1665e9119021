//! The numbers: matrices, what follows from them, the state, bodies.

use std::fmt::Write as _;

use farad::{
    CapacitanceMatrix, Derivative, Energies, Force, Labelled, Parameter, Reduced, Solvation,
};

use super::super::matrices::{reduced_file, sensitivity_files};
use super::super::run::Run;
use super::{LARGEST_SHOWN, LARGEST_WITH_BARS, block};
use crate::report::text_table::aligned_table;
use crate::report::units::{self, column, prefix, significant, with_bar};

/// Forces that are not known better than to this share of themselves are said to be.
const VAGUE: f64 = 1e-2;

/// One conductor: its capacitance to infinity.
pub(super) fn single(matrix: &CapacitanceMatrix) -> String {
    let (farad, length) = (matrix.maxwell(), matrix.length());
    let scale = prefix(farad.values[0][0]);
    let number = |of: Labelled<'_>, factor: f64| {
        with_bar(of.values[0][0] / factor, of.bars.map(|bars| bars[0][0] / factor))
    };
    format!(
        "\nCapacitance  {} {}F     C/(4 pi eps0) = {} {}\n",
        number(farad, scale.factor),
        scale.symbol,
        number(length, 1.0),
        length.unit,
    )
}

/// Several conductors: the Maxwell matrix, or of a large one its diagonal.
pub(super) fn matrix(run: &Run<'_>, matrix: &CapacitanceMatrix) -> String {
    let (farads, lengths) = (matrix.maxwell(), matrix.length());
    let scale = prefix(farads.largest());
    let farad = format!("{}F", scale.symbol);
    let mut text = String::new();
    if run.is_of_chosen() {
        let all = units::count(farads.rows.len() as u64);
        let some = crate::case::quoted(farads.columns.iter().map(String::as_str));
        let _ = writeln!(text, "\nOf {all} conductors only these are excited: {some}");
    }
    if farads.rows.len() > LARGEST_SHOWN {
        let rows = run.solution.columns.iter().zip(farads.columns).enumerate();
        let rows = rows.map(|(k, (&i, name))| {
            let both = [farads.values[i][k] / scale.factor, lengths.values[i][k]];
            [vec![name.clone()], both.map(significant).to_vec()].concat()
        });
        let header = [
            String::new(),
            format!("C_ii / {farad}"),
            format!("C_ii/(4 pi eps0) / {}", lengths.unit),
        ];
        text += "\nDiagonal of the Maxwell capacitance matrix; all of it is in capacitance_maxwell.csv\n";
        return text + &aligned_table(header, rows);
    }
    text += "\nMaxwell capacitance matrix, Q_i = sum_j C_ij V_j (mutual form: capacitance_mutual.csv)\n";
    text += &table(farads, &farad, scale.factor, farads.largest());
    text += "\nThe same as a length, C/(4 pi eps0)\n";
    text + &table(lengths, lengths.unit.as_str(), 1.0, lengths.largest())
}

/// A matrix and its bars over `factor`, in the unit `heading` that this makes of it, to the digits
/// of numbers as large as `size`.
fn table(matrix: Labelled<'_>, heading: &str, factor: f64, size: f64) -> String {
    let number = column(size / factor, 0);
    let bars = matrix.bars.filter(|_| matrix.rows.len() <= LARGEST_WITH_BARS);
    let cell = |i: usize, j: usize| {
        let value = matrix.values[i][j] / factor;
        match bars.map(|bars| bars[i][j]).filter(|bar| !bar.is_nan()) {
            Some(bar) => with_bar(value, Some(bar / factor)),
            None => number(value),
        }
    };
    let cells = |i: usize| (0..matrix.columns.len()).map(move |j| cell(i, j));
    let rows = matrix.rows.iter().enumerate();
    let rows = rows.map(|(i, name)| std::iter::once(name.clone()).chain(cells(i)).collect());
    let header = [heading].into_iter().chain(matrix.columns.iter().map(String::as_str));
    aligned_table(header, rows)
}

/// A reduced matrix.
pub(super) fn reduction(found: &Reduced) -> String {
    let matrix = found.matrix();
    let scale = prefix(matrix.largest());
    let farad = format!("{}F", scale.symbol);
    let mut text = format!("\nReduction {}: ", found.name);
    if matrix.rows.len() > LARGEST_SHOWN {
        let rows = matrix
            .rows
            .iter()
            .enumerate()
            .map(|(i, net)| vec![net.clone(), significant(matrix.values[i][i] / scale.factor)]);
        let table = aligned_table([String::new(), format!("C_ii / {farad}")], rows);
        let file = reduced_file(&found.name);
        let _ = write!(text, "diagonal of its Maxwell matrix; all of it is in {file}\n{table}");
    } else {
        text += "its Maxwell matrix\n";
        text += &table(matrix, &farad, scale.factor, matrix.largest());
    }
    if let (Some(value), [a, b]) = (found.between, found.nets.as_slice()) {
        let scale = prefix(value);
        let bar = found.between_bar.map(|bar| bar / scale.factor);
        let number = with_bar(value / scale.factor, bar);
        let _ = writeln!(text, "  capacitance between {a} and {b}  {number} {}F", scale.symbol);
    }
    text
}

/// The derivative of the matrix by a parameter.
pub(super) fn sensitivity(run: &Run<'_>, found: &Derivative) -> String {
    let names = &run.solution.conductors;
    let what = match &found.by {
        Parameter::Shift(names) => format!("shifts of {}", names.join(", ")),
        Parameter::Permittivity(name) => format!("the relative permittivity of {name}"),
        Parameter::OfLayer(layer) => format!("the relative permittivity of layer {layer}"),
        Parameter::Thickness(layer) => format!("the thickness of layer {layer}"),
    };
    let mut text = format!("\nSensitivity {}, by {what}\n", found.name);
    if names.len() > LARGEST_SHOWN {
        let files = sensitivity_files(&found.name, &found.by, "").join(", ");
        return text + &format!("  in {files}\n");
    }
    // A value that vanishes along one axis is noise next to one that does not along another.
    let largest = found.labelled(names).map(|matrix| matrix.largest()).fold(0.0, f64::max);
    let scale = prefix(largest);
    let axes: &[&str] =
        if found.matrices.len() == 3 { &[" along x", " along y", " along z"] } else { &[""] };
    for (along, matrix) in axes.iter().zip(found.labelled(names)) {
        let heading = format!("{}{}{along}", scale.symbol, found.unit);
        text += &table(matrix, &heading, scale.factor, largest);
    }
    if !found.participation.is_empty() {
        let rows = names.iter().zip(&found.participation).enumerate().map(|(k, (name, part))| {
            vec![name.clone(), with_bar(*part, found.participation_bars.get(k).copied())]
        });
        text += &aligned_table(["", "participation"], rows);
    }
    text
}

/// Shares of the energy in films, a column for each.
pub(super) fn films(run: &Run<'_>) -> String {
    let (names, films) = (&run.solution.conductors, &run.solution.films);
    if films.is_empty() || names.len() > LARGEST_SHOWN {
        return String::new();
    }
    let row = |(k, name): (usize, &String)| {
        let shares =
            films.iter().map(|film| with_bar(film.participation[k], film.bars.get(k).copied()));
        std::iter::once(name.clone()).chain(shares).collect()
    };
    let header = ["participation of"].into_iter().chain(films.iter().map(|film| &*film.name));
    block(header, names.iter().enumerate().map(row))
}

/// Results of the case's potentials, charges and field.
pub(super) fn state(run: &Run<'_>) -> String {
    let mut text = String::new();
    let Some(state) = &run.solution.state else { return text };
    if !state.conductors.is_empty() {
        let number = |value: f64, bar: Option<f64>| match bar.filter(|bar| *bar > 0.0) {
            Some(bar) => with_bar(value, Some(bar)),
            None => format!("{value:.6e}"),
        };
        let rows = state.conductors.iter().map(|conductor| {
            vec![
                conductor.name.clone(),
                number(conductor.potential_v, conductor.potential_error_v),
                number(conductor.charge_c, conductor.charge_error_c),
                if conductor.floating { "floating" } else { "held" }.to_owned(),
            ]
        });
        text += &block(["conductor", "potential / V", "free charge / C", ""], rows);
    }
    if let Some(solvation) = &state.solvation {
        text += &energies(run, solvation);
        text += &molecules(run, solvation);
    }
    text
}

/// Energies of point charges.
fn energies(run: &Run<'_>, solvation: &Solvation) -> String {
    let temperature = run.case.kelvin();
    let thermal = |joule: f64| units::thermal(joule, temperature);
    let row = |name: &str, joule: f64, bar: Option<f64>| {
        let number = |of: &dyn Fn(f64) -> f64| with_bar(of(joule), bar.map(of));
        vec![
            name.to_owned(),
            number(&units::kilocalorie_per_mole),
            number(&units::kilojoule_per_mole),
            number(&thermal),
            if bar.is_some() { number(&|joule| joule) } else { format!("{joule:.6e}") },
        ]
    };
    let charges = units::counted(solvation.reaction_v.len(), "charge");
    let (corner, kt) = (format!("energy of {charges}"), format!("kT at {temperature} K"));
    let (bar, all) = (solvation.reaction_error_j, &solvation.energies);
    block(
        [corner.as_str(), "kcal/mol", "kJ/mol", &kt, "J"],
        [
            row("Coulomb energy", all.coulomb_j, None),
            row("Solvation energy", all.reaction_j, bar),
            row("Total", all.total_j(), bar),
        ],
    )
}

/// Each molecule's part of the energies.
fn molecules(run: &Run<'_>, solvation: &Solvation) -> String {
    if solvation.molecules.is_empty() {
        return String::new();
    }
    let rows = solvation.molecules.iter().map(|molecule| {
        let Energies { coulomb_j, reaction_j, .. } = molecule.energies;
        let [coulomb, reaction] =
            [coulomb_j, reaction_j].map(|joule| significant(units::kilocalorie_per_mole(joule)));
        vec![
            molecule.name.clone(),
            units::count(molecule.atoms as u64),
            significant(molecule.charge_e),
            coulomb,
            reaction,
            molecule.least_distance.map_or_else(|| "-".to_owned(), significant),
        ]
    });
    let distance = format!("atom to surface / {}", run.case.description.unit.name());
    let header = ["molecule", "atoms", "charge / e", "Coulomb / kcal/mol", "solvation", &distance];
    block(header, rows)
}

/// Forces, polarisability and diffusion, where they are asked for.
pub(super) fn bodies(run: &Run<'_>) -> String {
    let mut text = String::new();
    let unit = run.case.description.unit.name();
    if let Some(forces) = run.solution.state.as_ref().and_then(|state| state.forces.as_ref()) {
        text += &self::forces(run, forces);
    }
    if let Some(found) = &run.solution.polarisability {
        let corner = format!("polarisability/(4 pi eps0) / {unit}^3");
        let cell = |i: usize, j: usize| match found.over_4pi_eps0_error {
            Some(bars) => with_bar(found.over_4pi_eps0[i][j], Some(bars[i][j])),
            None => format!("{:.5e}", found.over_4pi_eps0[i][j]),
        };
        let rows = ["x", "y", "z"].iter().enumerate().map(|(i, axis)| {
            let cells = (0..3).map(|j| cell(i, j));
            std::iter::once((*axis).to_owned()).chain(cells).collect()
        });
        text += &block([corner.as_str(), "x", "y", "z"], rows);
    }
    if let Some(found) = &run.solution.hydrodynamics {
        let _ = writeln!(
            text,
            "\nCapacity and hydrodynamic radius  {} {unit}; diffusion constant {:.5e} m^2/s",
            with_bar(found.capacity, found.capacity_error),
            found.diffusion,
        );
        if let Some(viscosity) = &found.viscosity {
            let _ = writeln!(
                text,
                "Intrinsic viscosity {} per volume fraction, of a volume of {} {}; viscometric radius {} {unit}",
                significant(viscosity.intrinsic_viscosity),
                significant(viscosity.volume),
                run.case.description.unit.cubed(),
                significant(viscosity.viscometric_radius),
            );
        }
    }
    text
}

/// Forces and torques, and what is not known of them.
fn forces(run: &Run<'_>, forces: &[Force]) -> String {
    let rows = forces.iter().map(|force| {
        let vector = |of: [f64; 3], bar: Option<f64>| -> Vec<String> {
            let bar = bar.map_or_else(String::new, |bar| format!("{bar:.0e}"));
            of.iter().map(|value| format!("{value:.5e}")).chain([bar]).collect()
        };
        [
            vec![force.name.clone()],
            vector(force.newton, force.newton_error),
            vector(force.newton_metre, force.newton_metre_error),
        ]
        .concat()
    });
    let header = ["body", "Fx / N", "Fy", "Fz", "+-", "Tx / N m", "Ty", "Tz", "+-"];
    let mut text = block(header, rows);
    for force in forces {
        let size = force.newton.iter().map(|f| f * f).sum::<f64>().sqrt();
        if force.known_to > VAGUE * size {
            let _ = writeln!(
                text,
                "  the force on {} is known to about {:.0e} N: it is a small part of what charges exert there",
                crate::case::quoted([force.name.as_str()]),
                force.known_to
            );
        }
    }
    let dielectrics = run.case.description.dielectrics.iter().map(|dielectric| &dielectric.name);
    let without: Vec<&str> = run
        .solution
        .conductors
        .iter()
        .chain(dielectrics)
        .filter(|name| !forces.iter().any(|force| force.name == **name))
        .map(String::as_str)
        .collect();
    if !without.is_empty() {
        let _ = writeln!(
            text,
            "  no force is known on {}: several media lie around it, it stands on a ground plane, or what acts on it is less than 1e-10 of what acts on others",
            crate::case::quoted(without.iter().copied())
        );
    }
    text
}
