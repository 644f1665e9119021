//! The files of a run: one module per file format, and the rules of their folder.

pub(crate) mod checkpoint;
mod commit;
pub(crate) mod csv;
mod exports;
mod folder;
mod index;
mod json;
mod lock;
mod matrices;
mod molecular;
mod opendx;
mod probe;
mod run;
mod series;
pub(crate) mod surface;
mod table;
mod viewers;

use std::time::Instant;

pub(crate) use checkpoint::{Checkpoint, Inputs};
pub(crate) use folder::{Folder, held};
pub(crate) use index::INDEX;
pub(crate) use json::Document;
pub(crate) use probe::{tagged, write_all as write_probes};
pub(crate) use run::{Refinement, Run, status_name};
pub(crate) use series::{OfCase, Series, Showing, csv_number, csv_table};
pub(crate) use surface::{stage_piece, write as write_surface};
pub(crate) use table::text as table;

use matrices::{
    MAXWELL, MAXWELL_ERROR, MUTUAL, MUTUAL_ERROR, reduced_error_file, reduced_file,
    sensitivity_files,
};
use run::{Status, status};

use crate::case::{Case, VtkMode, probe_file, probe_map, probe_picture};
use crate::report::page;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

const RESIDUALS: &str = "residuals.csv";
const RESOLVED: &str = "case.resolved.toml";
const REACTION: &str = "reaction_potential.csv";

/// The files that a run of `case` with this number of excitations of conductors writes besides
/// results.json, with its surface in `pieces` or as one file.
pub(crate) fn file_names(case: &Case, excitations: usize, pieces: Option<usize>) -> Vec<String> {
    let mut names = vec![RESIDUALS, RESOLVED];
    if excitations > 0 {
        names.extend([MAXWELL, MUTUAL]);
        names.extend(
            case.description
                .error_bars
                .then_some([MAXWELL_ERROR, MUTUAL_ERROR])
                .into_iter()
                .flatten(),
        );
    }
    if case.description.has_charges() {
        names.push(REACTION);
    }
    let of_molecules = molecular::file_names(case);
    let names =
        names.into_iter().map(str::to_owned).chain(surface::file_names(case, excitations, pieces));
    let reduced = case.description.reductions.iter().flat_map(|reduction| {
        let bars = case.description.error_bars.then(|| reduced_error_file(&reduction.name));
        [reduced_file(&reduction.name)].into_iter().chain(bars)
    });
    let sensitivities = case.description.sensitivities.iter();
    let sensitivities = sensitivities.flat_map(|of| {
        let bars = case.description.error_bars.then_some("_error");
        let ends = [""].into_iter().chain(bars);
        ends.flat_map(|end| sensitivity_files(&of.name, &of.by, end))
    });
    let exports = exports::all_names(case);
    let of_molecules = of_molecules.into_iter().map(str::to_owned);
    let names = names.chain(of_molecules).chain(reduced).chain(sensitivities);
    names.chain(exports).chain(probe_files(case)).collect()
}

/// The files of the probes of `case`.
pub(crate) fn probe_files(case: &Case) -> Vec<String> {
    let probes = || case.description.probes.iter();
    let pictures = probes().filter_map(|probe| probe_picture(probe, case.vtk));
    let maps = probes().filter_map(|probe| probe_map(probe, case));
    probes().map(probe_file).chain(pictures).chain(maps).collect()
}

/// Writes all files, next to pieces of the surface that ranks have staged, and returns what
/// results.json holds, with the failure that names the files that could not be written. These can
/// be made of what is `kept`.
pub(crate) fn write(
    run: &Run<'_>,
    mut folder: Folder,
    kept: Option<&Checkpoint>,
) -> Result<(Document, Option<Failure>), Failure> {
    let begun = Instant::now();
    folder.leave_out_what_fails();
    let mark = match status(run) {
        Status::Complete => "",
        Status::NotConverged => "; NOT CONVERGED",
        Status::ChecksFailed => "; SELF-CHECKS FAILED",
        Status::AccuracyNotReached => "; ACCURACY NOT REACHED",
    };
    let (capacitance, reduced) = (run.capacitance(), run.reduced());
    matrices::write_all(&mut folder, run, &capacitance, &reduced, mark)?;
    folder.stage(RESIDUALS, |out| csv::residuals(out, run.problem, &run.solution.answer.solves))?;
    let state = run.solution.state.as_ref();
    probe::write_all(&mut folder, run.case, run.solution, "")?;
    if let Some(solvation) = state.and_then(|state| state.solvation.as_ref()) {
        let temperature = run.case.kelvin();
        folder.stage(REACTION, |out| csv::reaction(out, run.problem, solvation, temperature))?;
        molecular::write_all(&mut folder, run, solvation)?;
    }
    let resolved = run.case.resolved(folder.path(), run.problem);
    folder.stage(RESOLVED, |out| std::io::Write::write_all(out, resolved.as_bytes()))?;
    if run.case.vtk != VtkMode::None {
        interrupt::check()?;
        let file = surface::file(run.pieces);
        match run.pieces {
            None => folder.stage(file, |out| surface::write(out, run))?,
            Some(_) => folder.stage(file, |out| surface::write_index(out, run))?,
        }
        if run.case.vtk_series {
            surface::stage_series(&mut folder, run)?;
        }
        // The first rank's own is there.
        folder.add_staged(surface::piece_files(run.pieces).skip(1));
    }
    interrupt::check()?;

    let mut document = Document::new(run, capacitance, reduced);
    document.files = folder.names()?;
    document.timings_s.output = Some(begun.elapsed().as_secs_f64());
    if run.has_page {
        document.files.push(page::FILE.to_owned());
        if !folder.stage_page(&document.text())? {
            document.files.pop();
        }
    }
    if let Some(kept) = kept.filter(|_| folder.lacks_any()) {
        kept.write_all();
    }
    let lacking = folder.commit(&document.text())?;
    Ok((document, lacking))
}
