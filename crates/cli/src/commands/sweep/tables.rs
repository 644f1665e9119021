//! Output of a sweep over all runs: results.json, a table, a series of pictures, and the text.

use std::fmt::Write as _;
use std::path::Path;

use farad::{distinct_entries, entry_name};
use serde::Serialize;

use super::rows::{Listed, Row, Values};
use super::runs::{Parameter, Runs, equations, picture};
use crate::report::results::{OfCase, Series, csv_number, csv_table};
use crate::report::text::{csv_quoted, printable_line};
use crate::report::text_table::aligned_table;
use crate::report::units::{column, counted, prefix, significant};
use crate::report::warnings;

pub(super) const CSV: &str = "sweep.csv";
pub(super) const PVD: &str = "sweep.pvd";

/// Entries beyond this are left to the files.
const MOST_SHOWN: usize = 8;

/// The content of the sweep's results.json.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Results {
    parameters: Vec<String>,
    conductors: Vec<String>,
    /// Those that were excited, one for each column.
    columns: Vec<String>,
    #[serde(skip)]
    excited: Vec<usize>,
    /// Names and units of the results other than the matrix.
    quantities: Vec<String>,
    runs: Vec<Listed>,
    /// Runs for which equations were solved; the others differ from one of them by a factor.
    solved: usize,
    /// How often near field and fast sums were set up: once per geometry.
    prepared: usize,
}

impl Results {
    pub(super) fn new(runs: &Runs<'_>, rows: Vec<Row>) -> Self {
        let solved = rows.iter().filter(|row| row.is_solved).count();
        let prepared = rows.iter().map(|row| row.prepared).sum();
        let (conductors, excited, quantities) = match rows.first() {
            Some(Row { conductors, excited, quantities, .. }) => {
                (conductors.clone(), excited.clone(), quantities.clone())
            }
            None => Default::default(),
        };
        let columns = excited.iter().filter_map(|&k| conductors.get(k).cloned()).collect();
        let parameters = runs.case.sweeps.iter().map(|sweep| sweep.name.clone()).collect();
        let listed = |(run, row): (usize, Row)| Listed {
            parameters: runs.parameters(run),
            values: row.values,
        };
        let runs = rows.into_iter().enumerate().map(listed).collect();
        Self { parameters, conductors, columns, excited, quantities, runs, solved, prepared }
    }

    /// The runs whose self-checks failed.
    pub(super) fn failed(&self) -> Vec<String> {
        let failed = self.runs.iter().filter(|run| warnings::failed(&run.values.warnings));
        failed.map(|run| equations(&self.parameters, &run.parameters)).collect()
    }

    /// The matrix's entries on and above the diagonal, by row: name and place. Where only some
    /// conductors are excited, all of their columns but for what is there twice.
    fn entries(&self) -> Vec<(String, usize, usize)> {
        let Self { conductors, excited, .. } = self;
        let entries = distinct_entries(conductors.len(), excited);
        entries.into_iter().map(|(i, k)| (entry_name(conductors, i, excited[k]), i, k)).collect()
    }
}

pub(super) fn csv(results: &Results) -> String {
    let entries = results.entries();
    let mut header: Vec<String> = results.parameters.iter().map(|name| csv_quoted(name)).collect();
    header.push("triangles".to_owned());
    header.extend(entries.iter().map(|(name, ..)| csv_quoted(&format!("{name} [F]"))));
    header.extend(results.quantities.iter().map(|name| csv_quoted(name)));
    let parameter = |parameter: &Parameter| match parameter {
        Parameter::Number(value) => csv_number(Some(*value)),
        Parameter::Text(text) => csv_quoted(text),
    };
    let row = |run: &Listed| {
        let Values { maxwell_farad, quantities, triangles, .. } = &run.values;
        let mut cells: Vec<String> = run.parameters.iter().map(parameter).collect();
        cells.push(triangles.to_string());
        let numbers =
            entries.iter().map(|(_, i, j)| maxwell_farad[*i][*j]).chain(quantities.iter().copied());
        cells.extend(numbers.map(|number| csv_number(Some(number))));
        cells
    };
    csv_table(header, results.runs.iter().map(row))
}

/// The series of pictures for ParaView: the time of a run is the value of the one sweep where that
/// is a number, else the run's own.
pub(super) fn steps(results: &Results) -> impl Iterator<Item = (f64, String, String)> {
    results.runs.iter().enumerate().map(|(step, run)| {
        let time = match run.parameters.as_slice() {
            [Parameter::Number(value)] => *value,
            _ => step as f64,
        };
        (time, picture(step + 1), equations(&results.parameters, &run.parameters))
    })
}

/// The table of all runs, with what there is to be said of them.
pub(super) fn text(series: &Series<OfCase, Results>, folder: &Path) -> String {
    let results = &series.results;
    let entries = results.entries();
    let shown = entries.len().min(MOST_SHOWN);
    let all = results.runs.iter().flat_map(|row| row.values.maxwell_farad.iter().flatten());
    let largest = all.fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let scale = prefix(largest);
    let number = column(largest / scale.factor, 0);
    let mut header = results.parameters.clone();
    header.extend(entries[..shown].iter().map(|(name, ..)| format!("{name} / {}F", scale.symbol)));
    header.extend(results.quantities.iter().cloned());
    let rows = results.runs.iter().map(|row| {
        let mut cells: Vec<String> = row.parameters.iter().map(Parameter::to_string).collect();
        cells.extend(
            entries[..shown]
                .iter()
                .map(|(_, i, j)| number(row.values.maxwell_farad[*i][*j] / scale.factor)),
        );
        cells.extend(row.values.quantities.iter().map(|value| significant(*value)));
        cells
    });
    let mut text = format!(
        "{}\nfarad {}\n\n",
        printable_line(&series.subject.title),
        env!("CARGO_PKG_VERSION")
    );
    text += &aligned_table(header, rows);
    for row in &results.runs {
        let run = equations(&results.parameters, &row.parameters);
        for warning in &row.values.warnings {
            let _ = writeln!(text, "{} with {run}: {}", warning.heading(), warning.message);
        }
    }
    if shown < entries.len() {
        let _ = writeln!(text, "  and {} more entries in {CSV}", entries.len() - shown);
    }
    let _ = writeln!(
        text,
        "\n{}{}\nResults in {}: {CSV}, results.json",
        counted(results.runs.len(), "run"),
        match results.solved {
            solved if solved == results.runs.len() => ", all solved".to_owned(),
            1 => ", of which 1 was solved and the others follow from it".to_owned(),
            solved => format!(", of which {solved} were solved and the others follow from them"),
        },
        folder.display(),
    );
    if series.files.iter().any(|file| file == PVD) {
        let picture = folder.join(PVD);
        let _ = writeln!(text, "To see the charges, open {} in ParaView", picture.display());
    }
    text
}
