//! The text after a solve: conductors, the matrix with its unit, how far to trust it, where the
//! files are.

mod numbers;

use std::fmt::Write as _;

use farad::CapacitanceMatrix;

use super::json::{Document, Timings};
use super::run::{Run, Status, reason_name, status};
use super::surface;
use crate::report::text::printable_line;
use crate::report::text_table::aligned_table;
use crate::report::units::{self, significant};
use crate::report::warnings;
use crate::words::Word as _;

/// A matrix of more conductors is left to the files.
const LARGEST_SHOWN: usize = 10;

/// Error bars of more conductors' matrices are, but for the longest.
const LARGEST_WITH_BARS: usize = 4;

/// The whole text.
pub(crate) fn text(run: &Run<'_>, document: &Document) -> String {
    let capacitance = run.solution.capacitance();
    let mut text = heading(run);
    text += &conductors(run);
    text += &match capacitance.values.maxwell_farad.len() {
        0 => String::new(),
        1 => numbers::single(&capacitance),
        _ => numbers::matrix(run, &capacitance),
    };
    text.extend(run.reduced().iter().map(numbers::reduction));
    text.extend(run.solution.derivatives.iter().map(|of| numbers::sensitivity(run, of)));
    text += &numbers::films(run);
    text += &numbers::state(run);
    text += &numbers::bodies(run);
    text += &solves(run);
    text += &accuracy(run, &capacitance);
    text += &checks(run);
    text += &time(&document.timings_s);
    text += &files(run, document);
    text
}

/// A table after an empty line.
fn block(
    header: impl IntoIterator<Item = impl Into<String>>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    format!("\n{}", aligned_table(header, rows))
}

fn heading(run: &Run<'_>) -> String {
    let warning = match status(run) {
        Status::Complete => "",
        Status::NotConverged => {
            "\nNOT CONVERGED: the numbers below are what the solver had when it stopped\n"
        }
        Status::AccuracyNotReached => {
            "\nACCURACY NOT REACHED: the error bars below are longer than requested, or no finer mesh confirms them\n"
        }
        Status::ChecksFailed => {
            "\nSELF-CHECKS FAILED: do not use the numbers below, see the errors after them\n"
        }
    };
    format!(
        "{}\nfarad {}, method {}, {} with {} threads\n{warning}",
        printable_line(&run.case.title),
        env!("CARGO_PKG_VERSION"),
        run.solution.answer.method.word(),
        run.used.word(),
        crate::machine::threads(),
    )
}

fn conductors(run: &Run<'_>) -> String {
    let conductors = run.problem.conductors();
    let mut text = String::new();
    let rows = conductors.summaries.iter().map(|summary| {
        vec![
            summary.name.clone(),
            units::count(summary.triangles as u64),
            significant(summary.area),
            if summary.closed { "closed" } else { "open" }.to_owned(),
        ]
    });
    if !conductors.summaries.is_empty() {
        let area = format!("area / {}^2", run.case.description.unit.name());
        text += &block(["conductor", "triangles", &area, "surface"], rows);
    }
    let ignored = conductors.of_triangle.iter().filter(|owner| owner.is_none()).count();
    // Triangles of no conductor may be interfaces.
    if ignored > 0 && run.problem.media().is_none() {
        let _ = writeln!(text, "  ({} triangles ignored)", units::count(ignored as u64));
    }
    if let Some(media) = &run.problem.media() {
        let rows = media.summaries.iter().map(|medium| {
            let triangles = match medium.triangles {
                0 => String::new(),
                count => units::count(count as u64),
            };
            vec![medium.name.clone(), medium.relative_permittivity.to_string(), triangles]
        });
        text += &block(["medium", "eps_r", "triangles of its boundary"], rows);
    } else if let [_, _, ..] = run.problem.layers()[..] {
        let layers = run.problem.layers();
        let media: Vec<String> = layers.iter().map(|(_, eps)| eps.to_string()).collect();
        let _ = writeln!(text, "  in layers of eps_r = {}", media.join(", "));
    } else if run.problem.description().relative_permittivity != 1.0 {
        let permittivity = run.problem.description().relative_permittivity;
        let _ = writeln!(text, "  in a medium of eps_r = {permittivity}");
    }
    text
}

fn solves(run: &Run<'_>) -> String {
    let solves = &run.solution.answer.solves;
    if run.solution.conductors.len() > LARGEST_SHOWN {
        let most = solves.iter().map(|solve| solve.iterations).max().unwrap_or(0);
        let worst = solves.iter().fold(0.0_f64, |r, solve| r.max(solve.relative_residual));
        let count = solves.len();
        return format!("\n{count} solves: at most {most} iterations, residual {worst:.1e}\n");
    }
    let rows = solves.iter().map(|solve| {
        vec![
            run.problem.excitation_name(solve.excitation),
            solve.iterations.to_string(),
            format!("{:.1e}", solve.relative_residual),
            reason_name(solve.reason).replace('_', " "),
        ]
    });
    block(["excitation", "iterations", "residual", "ended as"], rows)
}

fn accuracy(run: &Run<'_>, capacitance: &CapacitanceMatrix) -> String {
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
    let conductors = capacitance.values.maxwell_farad.len();
    if conductors > 1 {
        let asymmetry = capacitance.values.relative_asymmetry;
        let _ = writeln!(text, "Asymmetry of the matrix as computed {asymmetry:.1e}");
    }
    text += &bars(run, capacitance);
    if run.solution.converged() && run.problem.media().is_none() && run.solution.warnings.is_empty()
    {
        // Galerkin's bound in one medium: V^T C V is smallest for the exact charge on the same
        // surface.
        let what = if conductors == 1 { "The value" } else { "The diagonal" };
        let _ = writeln!(
            text,
            "{what} is a lower bound for the surface as meshed (Galerkin), up to the tolerance",
        );
    }
    text
}

/// The text on error bars, and on how an accuracy was reached.
fn bars(run: &Run<'_>, capacitance: &CapacitanceMatrix) -> String {
    let mut text = String::new();
    let Some(bars) = capacitance.length().bars else { return text };
    if bars.len() > LARGEST_WITH_BARS {
        let excited = &run.solution.columns;
        let pairs = (0..excited.len()).flat_map(|a| (0..excited.len()).map(move |b| (a, b)));
        let own = |k: usize| run.solution.answer.maxwell[excited[k]][k].abs();
        let relative = |(a, b): (usize, usize)| {
            let scale = own(a).min(own(b)) * run.solution.relative_permittivity;
            bars[excited[a]][b] / scale
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
    let surface = match run.case.description.has_salt() {
        true => "and how far flat triangles are from the surface through their corners",
        false => "not the difference of the meshed surface from the true one",
    };
    let _ = writeln!(text, "Error bars (+-) cover mesh, solver, sums and quadrature, {surface}");
    text
}

/// The text on self-checks.
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
