//! What a person reads after a solve: conductors, the matrix with its unit, how far to trust it,
//! where the files are.

use std::fmt::Write as _;

use farad::{Derivative, Matrices, Parameter, Reduced, Solvation};

use super::json::{Document, Timings};
use super::matrices::{per_unit, reduced_file, sensitivity_files};
use super::run::{Run, Status, reason_name, status};
use super::surface;
use crate::case::method_name;
use crate::report::text::printable_line;
use crate::report::text_table::aligned_table;
use crate::report::units::{self, column, prefix, significant, with_bar};
use crate::report::warnings;

/// A matrix of more conductors is left to the files.
const LARGEST_SHOWN: usize = 10;

/// Error bars of more conductors' matrices are, but for the longest.
const LARGEST_WITH_BARS: usize = 4;

/// Forces that are not known better than to this share of themselves are said to be.
const VAGUE: f64 = 1e-2;

/// The whole text.
pub(crate) fn text(
    run: &Run<'_>,
    matrices: &Matrices,
    reduced: &[Reduced],
    document: &Document,
) -> String {
    let mut text = heading(run);
    text += &conductors(run);
    text += &match matrices.maxwell_length.len() {
        0 => String::new(),
        1 => single(run, matrices),
        _ => matrix(run, matrices),
    };
    text.extend(reduced.iter().map(reduction));
    text.extend(run.solution.derivatives.iter().map(|of| sensitivity(run, of)));
    text += &films(run);
    text += &state(run);
    text += &bodies(run);
    text += &solves(run);
    text += &accuracy(run, matrices);
    text += &checks(run);
    text += &time(&document.timings_s);
    text += &files(run, document);
    text
}

fn heading(run: &Run<'_>) -> String {
    let warning = match status(run) {
        Status::Complete => "",
        Status::NotConverged => {
            "\nNOT CONVERGED: the numbers below are what the solver had when it stopped\n"
        }
        Status::AccuracyNotReached => {
            "\nACCURACY NOT REACHED: the error bars below are longer than what was asked for\n"
        }
        Status::ChecksFailed => {
            "\nSELF-CHECKS FAILED: the numbers below are not to be used, see the errors after them\n"
        }
    };
    format!(
        "{}\nfarad {}, method {}, {} with {} threads\n{warning}",
        printable_line(&run.case.title),
        env!("CARGO_PKG_VERSION"),
        method_name(run.solution.answer.method),
        run.used.name(),
        crate::machine::threads(),
    )
}

fn conductors(run: &Run<'_>) -> String {
    let unit = run.case.description.unit.name();
    let rows = run.problem.conductors().summaries.iter().map(|summary| {
        vec![
            summary.name.clone(),
            units::count(summary.triangles as u64),
            significant(summary.area),
            if summary.closed { "closed" } else { "open" }.to_owned(),
        ]
    });
    let area = format!("area / {unit}^2");
    let header = ["conductor", "triangles", &area, "surface"].map(str::to_owned);
    let ignored =
        run.problem.conductors().of_triangle.iter().filter(|owner| owner.is_none()).count();
    let none = run.problem.conductors().summaries.is_empty();
    let mut text =
        if none { String::new() } else { format!("\n{}", aligned_table(header.to_vec(), rows)) };
    // Triangles of no conductor may be interfaces.
    if ignored > 0 && run.problem.media().is_none() {
        let _ = writeln!(text, "  ({} triangles ignored)", units::count(ignored as u64));
    }
    if let Some(media) = &run.problem.media() {
        let rows = media.summaries.iter().map(|medium| {
            let triangles = if medium.triangles == 0 {
                String::new()
            } else {
                units::count(medium.triangles as u64)
            };
            vec![medium.name.clone(), medium.relative_permittivity.to_string(), triangles]
        });
        let header = ["medium", "eps_r", "triangles of its boundary"].map(str::to_owned);
        let _ = write!(text, "\n{}", aligned_table(header.to_vec(), rows));
    } else if let [_, _, ..] = run.problem.layers()[..] {
        let layers = run.problem.layers();
        let media: Vec<String> = layers.iter().map(|(_, eps)| eps.to_string()).collect();
        let _ = writeln!(text, "  in layers of eps_r = {}", media.join(", "));
    } else if run.problem.description().relative_permittivity != 1.0 {
        let _ = writeln!(
            text,
            "  in a medium of eps_r = {}",
            run.problem.description().relative_permittivity
        );
    }
    text
}

/// One conductor: its capacitance to infinity.
fn single(run: &Run<'_>, matrices: &Matrices) -> String {
    let (farad, length) = (matrices.maxwell_farad[0][0], matrices.maxwell_length[0][0]);
    let scale = prefix(farad);
    let bars = run.solution.matrix_bars();
    let bar = |rows: fn(&Matrices) -> &Vec<Vec<f64>>| bars.as_ref().map(|bars| rows(bars)[0][0]);
    format!(
        "\nCapacitance  {} {}F     C/(4 pi eps0) = {} {}\n",
        with_bar(farad / scale.factor, bar(|m| &m.maxwell_farad).map(|bar| bar / scale.factor)),
        scale.symbol,
        with_bar(length, bar(|m| &m.maxwell_length)),
        run.case.description.unit.name(),
    )
}

fn matrix(run: &Run<'_>, matrices: &Matrices) -> String {
    let names = &run.problem.conductors().names;
    let scale = prefix(largest(&matrices.maxwell_farad));
    let farad = format!("{}F", scale.symbol);
    let unit = run.case.description.unit.name();
    let columns = run.columns();
    let chosen = match run.is_of_chosen() {
        true => {
            let all = units::count(names.len() as u64);
            let some = crate::case::quoted(columns.iter().map(String::as_str));
            format!("\nOf {all} conductors only these are excited: {some}\n")
        }
        false => String::new(),
    };
    if names.len() > LARGEST_SHOWN {
        let rows = run.solution.columns.iter().enumerate().map(|(k, &i)| {
            vec![
                names[i].clone(),
                significant(matrices.maxwell_farad[i][k] / scale.factor),
                significant(matrices.maxwell_length[i][k]),
            ]
        });
        let header =
            vec![String::new(), format!("C_ii / {farad}"), format!("C_ii/(4 pi eps0) / {unit}")];
        return format!(
            "{chosen}\nDiagonal of the Maxwell capacitance matrix; all of it is in capacitance_maxwell.csv\n{}",
            aligned_table(header, rows)
        );
    }
    let bars = run.solution.matrix_bars();
    let of_farads = bars.as_ref().map(|bars| bars.maxwell_farad.as_slice());
    let of_lengths = bars.as_ref().map(|bars| bars.maxwell_length.as_slice());
    format!(
        "{chosen}\nMaxwell capacitance matrix, Q_i = sum_j C_ij V_j (mutual form: capacitance_mutual.csv)\n{}\nThe same as a length, C/(4 pi eps0)\n{}",
        table(names, &columns, &farad, &matrices.maxwell_farad, of_farads, scale.factor),
        table(names, &columns, unit, &matrices.maxwell_length, of_lengths, 1.0),
    )
}

/// A matrix over names of rows and of columns and its bars over `factor`, in the unit that this
/// makes of it.
fn table(
    names: &[String],
    columns: &[String],
    unit: &str,
    values: &[Vec<f64>],
    bars: Option<&[Vec<f64>]>,
    factor: f64,
) -> String {
    table_of_size(names, columns, unit, values, bars, factor, largest(values))
}

/// The same to the digits of numbers as large as `size`, of this matrix or of those with it.
fn table_of_size(
    names: &[String],
    columns: &[String],
    unit: &str,
    values: &[Vec<f64>],
    bars: Option<&[Vec<f64>]>,
    factor: f64,
    size: f64,
) -> String {
    let number = column(size / factor, 0);
    let bars = bars.filter(|_| names.len() <= LARGEST_WITH_BARS);
    let cell = |i: usize, j: usize| match bars {
        Some(bars) if !bars[i][j].is_nan() => {
            with_bar(values[i][j] / factor, Some(bars[i][j] / factor))
        }
        _ => number(values[i][j] / factor),
    };
    let cells = |i: usize| (0..columns.len()).map(move |j| cell(i, j));
    let row = |i: usize| std::iter::once(names[i].clone()).chain(cells(i)).collect();
    let header = [vec![unit.to_owned()], columns.to_vec()].concat();
    aligned_table(header, (0..names.len()).map(row).collect::<Vec<_>>())
}

fn largest(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0_f64, |largest, value| largest.max(value.abs()))
}

/// What a reduction makes of the matrix.
fn reduction(found: &Reduced) -> String {
    let Reduced { name, nets, maxwell, bars, between } = found;
    let scale = prefix(largest(maxwell));
    let farad = format!("{}F", scale.symbol);
    let mut text = format!("\nReduction {name}: ");
    if nets.len() > LARGEST_SHOWN {
        let rows = nets.iter().enumerate();
        let rows =
            rows.map(|(i, net)| vec![net.clone(), significant(maxwell[i][i] / scale.factor)]);
        let table = aligned_table(vec![String::new(), format!("C_ii / {farad}")], rows);
        let file = reduced_file(name);
        let _ = write!(text, "diagonal of its Maxwell matrix; all of it is in {file}\n{table}");
    } else {
        let shown = table(nets, nets, &farad, maxwell, bars.as_deref(), scale.factor);
        let _ = write!(text, "its Maxwell matrix\n{shown}");
    }
    if let (Some((value, bar)), [a, b]) = (between, nets.as_slice()) {
        let scale = prefix(*value);
        let _ = writeln!(
            text,
            "  capacitance between {a} and {b}  {} {}F",
            with_bar(value / scale.factor, bar.map(|bar| bar / scale.factor)),
            scale.symbol
        );
    }
    text
}

/// The derivative of the matrix by a parameter.
fn sensitivity(run: &Run<'_>, found: &Derivative) -> String {
    let unit = per_unit(&found.by);
    let names = &run.problem.conductors().names;
    let files = sensitivity_files(&found.name, &found.by, "");
    let what = match &found.by {
        Parameter::Shift(names) => format!("shifts of {}", names.join(", ")),
        Parameter::Permittivity(name) => format!("the relative permittivity of {name}"),
        Parameter::OfLayer(layer) => format!("the relative permittivity of layer {layer}"),
        Parameter::Thickness(layer) => format!("the thickness of layer {layer}"),
    };
    let mut text = format!("\nSensitivity {}, by {what}\n", found.name);
    let axes: &[&str] = if found.matrices.len() == 3 { &["x", "y", "z"] } else { &[""] };
    let largest_of_all = found.matrices.iter().map(|rows| largest(rows)).fold(0.0, f64::max);
    for (k, (axis, matrix)) in axes.iter().zip(&found.matrices).enumerate() {
        if names.len() > LARGEST_SHOWN {
            continue;
        }
        let scale = prefix(largest_of_all);
        let along = if axis.is_empty() { String::new() } else { format!(" along {axis}") };
        let heading = format!("{}{unit}{along}", scale.symbol);
        // What vanishes along one axis is noise next to what does not along another.
        let bars = found.bars.get(k).map(Vec::as_slice);
        text += &table_of_size(names, names, &heading, matrix, bars, scale.factor, largest_of_all);
    }
    if !found.participation.is_empty() && names.len() <= LARGEST_SHOWN {
        let rows = names.iter().zip(&found.participation).enumerate().map(|(k, (name, part))| {
            let bar = found.participation_bars.get(k).copied();
            vec![
                name.clone(),
                bar.map_or_else(|| significant(*part), |bar| with_bar(*part, Some(bar))),
            ]
        });
        text += &aligned_table(vec![String::new(), "participation".to_owned()], rows);
    }
    if names.len() > LARGEST_SHOWN {
        let _ = writeln!(text, "  in {}", files.join(", "));
    }
    text
}

/// Shares of the energy in films, a column for each.
fn films(run: &Run<'_>) -> String {
    let (names, films) = (&run.problem.conductors().names, &run.solution.films);
    if films.is_empty() || names.len() > LARGEST_SHOWN {
        return String::new();
    }
    let row = |(k, name): (usize, &String)| {
        let shares = films.iter().map(|film| with_bar(film.participation[k], Some(film.bars[k])));
        std::iter::once(name.clone()).chain(shares).collect()
    };
    let header = std::iter::once("participation of".to_owned());
    let header = header.chain(films.iter().map(|film| film.name.clone())).collect();
    format!("\n{}", aligned_table(header, names.iter().enumerate().map(row)))
}

/// What the case's potentials, charges and field lead to.
fn state(run: &Run<'_>) -> String {
    let mut text = String::new();
    let Some(state) = &run.solution.state else { return text };
    if !state.conductors.is_empty() {
        let bars = run.solution.bars();
        let rows = state.conductors.iter().enumerate().map(|(k, conductor)| {
            let bars = bars.and_then(|bars| bars.conductors.get(k));
            let number = |value: f64, bar: Option<f64>| match bar.filter(|bar| *bar > 0.0) {
                Some(bar) => with_bar(value, Some(bar)),
                None => format!("{value:.6e}"),
            };
            let how = if conductor.floating { "floating" } else { "held" };
            let (volt, coulomb) = (conductor.potential_v, conductor.charge_c);
            vec![
                conductor.name.clone(),
                number(volt, bars.map(|bars| bars.potential_v)),
                number(coulomb, bars.map(|bars| bars.charge_c)),
                how.to_owned(),
            ]
        });
        let header = ["conductor", "potential / V", "free charge / C", ""].map(str::to_owned);
        let _ = write!(text, "\n{}", aligned_table(header.to_vec(), rows));
    }
    if let Some(solvation) = &state.solvation {
        text += &energies(run, solvation);
    }
    text
}

/// Energies of point charges, and each molecule's part of them.
fn energies(run: &Run<'_>, solvation: &Solvation) -> String {
    let kilocalories = |joule: f64| significant(units::kilocalorie_per_mole(joule));
    let all = &solvation.energies;
    let temperature = run.case.kelvin();
    let row = |name: &str, joule: f64, bar: Option<f64>| {
        let number = |of: fn(f64) -> f64| with_bar(of(joule), bar.map(of));
        let joules = match bar {
            Some(_) => number(|joule| joule),
            None => format!("{joule:.6e}"),
        };
        let per_mole = [units::kilocalorie_per_mole, units::kilojoule_per_mole].map(number);
        let thermal = |joule: f64| units::thermal(joule, temperature);
        let thermal = with_bar(thermal(joule), bar.map(thermal));
        [vec![name.to_owned()], per_mole.to_vec(), vec![thermal, joules]].concat()
    };
    let bar = run.solution.bars().and_then(|bars| bars.reaction_j);
    let of = units::counted(solvation.reaction_v.len(), "charge");
    let corner = format!("energy of {of}");
    let kt = format!("kT at {temperature} K");
    let header = [corner.as_str(), "kcal/mol", "kJ/mol", &kt, "J"].map(str::to_owned).to_vec();
    let mut text = format!(
        "\n{}",
        aligned_table(
            header,
            [
                row("Coulomb energy", all.coulomb_j, None),
                row("Solvation energy", all.reaction_j, bar),
                row("Total", all.total_j(), bar),
            ]
        )
    );
    if !solvation.molecules.is_empty() {
        let unit = run.case.description.unit.name();
        let rows = solvation.molecules.iter().map(|molecule| {
            let distance = molecule.least_distance.map_or_else(|| "-".to_owned(), significant);
            vec![
                molecule.name.clone(),
                units::count(molecule.atoms as u64),
                significant(molecule.charge_e),
                kilocalories(molecule.energies.coulomb_j),
                kilocalories(molecule.energies.reaction_j),
                distance,
            ]
        });
        let distance = format!("atom to surface / {unit}");
        let header =
            ["molecule", "atoms", "charge / e", "Coulomb / kcal/mol", "solvation", &distance];
        let _ = write!(text, "\n{}", aligned_table(header.map(str::to_owned).to_vec(), rows));
    }
    text
}

/// Forces, polarisability and diffusion, where they are asked for.
fn bodies(run: &Run<'_>) -> String {
    let mut text = String::new();
    let unit = run.case.description.unit.name();
    if let Some(forces) = run.solution.state.as_ref().and_then(|state| state.forces.as_ref()) {
        let header = ["body", "Fx / N", "Fy", "Fz", "+-", "Tx / N m", "Ty", "Tz", "+-"];
        let bars = run.solution.bars();
        let row = |(index, force): (usize, &farad::Force)| -> Vec<String> {
            let bar = bars.and_then(|bars| bars.forces.get(index));
            let mut cells = vec![force.name.clone()];
            for (of, bar) in [
                (&force.newton, bar.map(|bar| bar.newton)),
                (&force.newton_metre, bar.map(|bar| bar.newton_metre)),
            ] {
                cells.extend(of.iter().map(|v| format!("{v:.5e}")));
                cells.push(bar.map_or_else(String::new, |bar| format!("{bar:.0e}")));
            }
            cells
        };
        let rows = forces.iter().enumerate().map(row);
        let _ = write!(text, "\n{}", aligned_table(header.map(str::to_owned).to_vec(), rows));
        for force in forces.iter().filter(|force| {
            let size = force.newton.iter().map(|f| f * f).sum::<f64>().sqrt();
            force.known_to > VAGUE * size
        }) {
            let _ = writeln!(
                text,
                "  the force on {} is known to about {:.0e} N: it is a small part of what charges exert there",
                crate::case::quoted([force.name.as_str()]),
                force.known_to
            );
        }
        let conductors = run.problem.conductors().names.iter();
        let dielectrics =
            run.case.description.dielectrics.iter().map(|dielectric| &dielectric.name);
        let without: Vec<&str> = conductors
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
    }
    if let Some(found) = &run.solution.polarisability {
        let corner = format!("polarisability/(4 pi eps0) / {unit}^3");
        let header = [corner.as_str(), "x", "y", "z"].map(str::to_owned);
        let bars = run.solution.bars().and_then(|bars| bars.polarisability);
        let cell = |i: usize, j: usize| match bars {
            Some(bars) => with_bar(found.over_4pi_eps0[i][j], Some(bars[i][j])),
            None => format!("{:.5e}", found.over_4pi_eps0[i][j]),
        };
        let rows = ["x", "y", "z"].iter().enumerate().map(|(i, axis)| {
            let cells = (0..3).map(|j| cell(i, j));
            std::iter::once((*axis).to_owned()).chain(cells).collect()
        });
        let _ = write!(text, "\n{}", aligned_table(header.to_vec(), rows));
    }
    if let Some(found) = &run.solution.hydrodynamics {
        let _ = writeln!(
            text,
            "\nCapacity and hydrodynamic radius  {} {unit}; diffusion constant {:.5e} m^2/s",
            with_bar(found.capacity, found.capacity_bar),
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

fn solves(run: &Run<'_>) -> String {
    let names = &run.problem.conductors().names;
    let header = ["excitation", "iterations", "residual", "ended as"].map(str::to_owned).to_vec();
    let rows = run.solution.answer.solves.iter().map(|solve| {
        vec![
            run.problem.excitation_name(solve.excitation),
            solve.iterations.to_string(),
            format!("{:.1e}", solve.relative_residual),
            reason_name(solve.reason).replace('_', " "),
        ]
    });
    if names.len() > LARGEST_SHOWN {
        let most =
            run.solution.answer.solves.iter().map(|solve| solve.iterations).max().unwrap_or(0);
        let worst = run
            .solution
            .answer
            .solves
            .iter()
            .fold(0.0_f64, |r, solve| r.max(solve.relative_residual));
        return format!(
            "\n{} solves: at most {most} iterations, residual {worst:.1e}\n",
            run.solution.answer.solves.len()
        );
    }
    format!("\n{}", aligned_table(header, rows))
}

fn accuracy(run: &Run<'_>, matrices: &Matrices) -> String {
    let answer = &run.solution.answer;
    let mut text = format!("\nSolver tolerance {:.1e}", answer.tolerance);
    if let Some(tolerance) = answer.fmm_tolerance {
        let _ = write!(text, "; FMM tolerance {tolerance:.1e}");
    }
    if let Some(error) = answer.fmm_error_sampled {
        let _ = write!(text, ", error measured against direct sums {error:.1e}");
    }
    if let Some(error) = answer.fmm_error_potential {
        let _ = write!(text, ", of potentials {error:.1e} V");
    }
    text.push('\n');
    if matrices.maxwell_length.len() > 1 {
        let asymmetry = matrices.relative_asymmetry;
        let _ = writeln!(text, "Asymmetry of the matrix as computed {asymmetry:.1e}");
    }
    text += &bars(run);
    if run.solution.converged() && run.problem.media().is_none() && run.solution.warnings.is_empty()
    {
        // Galerkin's bound in one medium: V^T C V is smallest for the exact charge on the same
        // surface.
        let what = if matrices.maxwell_length.len() == 1 { "The value" } else { "The diagonal" };
        let _ = writeln!(
            text,
            "{what} is a lower bound for the surface as meshed (Galerkin), up to the tolerance",
        );
    }
    text
}

/// What the error bars are, and how an accuracy was reached.
fn bars(run: &Run<'_>) -> String {
    let mut text = String::new();
    let Some(found) = run.solution.matrix_bars() else { return text };
    let names = &run.problem.conductors().names;
    if names.len() > LARGEST_WITH_BARS {
        let excited = &run.solution.columns;
        let pairs = (0..excited.len()).flat_map(|a| (0..excited.len()).map(move |b| (a, b)));
        let own = |k: usize| run.solution.answer.maxwell[excited[k]][k].abs();
        let relative = |(a, b): (usize, usize)| {
            let scale = own(a).min(own(b)) * run.solution.relative_permittivity;
            found.maxwell_length[excited[a]][b] / scale
        };
        let longest = pairs.map(relative).fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "Error bars of the matrix: at most {longest:.1e} of the diagonal; all are in capacitance_maxwell_error.csv"
        );
    }
    if let Some(refinement) = run.refinement {
        let meshes = refinement.levels.len();
        let reached = refinement.levels.last().map_or(f64::NAN, |level| level.relative);
        let _ = writeln!(
            text,
            "Accuracy {:.1e} asked for, {reached:.1e} reached on mesh {meshes}",
            refinement.goal.accuracy,
        );
    }
    let _ = writeln!(
        text,
        "Error bars (+-) cover mesh, solver, sums and quadrature, not how far the surface as meshed is from what it stands for"
    );
    text
}

/// What self-checks found, or that they found nothing.
fn checks(run: &Run<'_>) -> String {
    if run.solution.warnings.is_empty() {
        return "Self-checks passed\n".to_owned();
    }
    let mut text = String::new();
    for warning in warnings::of(run.solution) {
        let _ = writeln!(text, "{}: {}", warning.heading(), warning.message);
    }
    text
}

fn time(timings: &Timings) -> String {
    let parts = [
        ("read", Some(timings.read)),
        ("plan", Some(timings.plan)),
        ("near field", Some(timings.near_field)),
        ("solve", Some(timings.solve)),
        ("check of the FMM", (timings.fmm_check > 0.0).then_some(timings.fmm_check)),
        ("error bars", (timings.error_estimate > 0.0).then_some(timings.error_estimate)),
        ("self-checks", Some(timings.self_checks)),
        ("evaluation", (timings.evaluation > 0.0).then_some(timings.evaluation)),
        ("output", timings.output),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter_map(|(name, seconds)| Some(format!("{name} {}", units::duration((*seconds)?))))
        .collect();
    let memory = crate::machine::peak_memory()
        .map_or_else(String::new, |bytes| format!("; peak memory {}", units::bytes(bytes)));
    format!("\nTime {}: {}{memory}\n", units::duration(timings.total), parts.join(", "))
}

fn files(run: &Run<'_>, document: &Document) -> String {
    let pieces: Vec<String> = surface::piece_files(run.pieces).collect();
    let named: Vec<&str> =
        document.files.iter().filter(|name| !pieces.contains(name)).map(String::as_str).collect();
    let mut text = format!("Results in {}: {}\n", run.folder.display(), named.join(", "));
    let file = surface::file(run.pieces);
    if named.contains(&file) {
        if let [first, .., last] = &pieces[..] {
            let _ = writeln!(text, "{file} has its triangles in {first} to {last}");
        }
        let shown_in = run.folder.join(file);
        let (shown, all) = (run.case.vtk_excitations, run.solution.columns.len());
        if shown < all {
            let all = units::count(all as u64);
            let _ = writeln!(
                text,
                "{} has the first {shown} of {all} excitations; output.vtk_excitations says how many",
                file
            );
        }
        let _ = writeln!(text, "To see the charge, open {} in ParaView", shown_in.display());
    }
    text
}
