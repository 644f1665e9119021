//! Meshes on the way to an accuracy, as a checkpoint has them.

use farad::{CompletedLevel, Key, Level, RefinementObserver, Solution, Unit};
use serde::{Deserialize, Serialize};

use crate::report::results::Checkpoint;
use crate::report::units::{self, prefix};
use crate::terminal::output::Output;

/// Meshes on the way to an accuracy, each a part of the run for which charges are kept.
pub(super) struct Meshes<'a> {
    kept: Option<&'a Checkpoint>,
    output: &'a Output,
    completed: usize,
}

/// [`CompletedLevel`] in a checkpoint, but for its numbers.
#[derive(Serialize, Deserialize)]
struct SentMesh {
    triangles: usize,
    worst: Option<(Key, Unit)>,
    /// The number of pairs of a value and its bar that come before the sides.
    values: usize,
}

impl<'a> Meshes<'a> {
    /// Those that an earlier run has completed, but for the last of them: it is the result where the
    /// next mesh fails, and its charges are known.
    pub(super) fn begin(
        kept: Option<&'a Checkpoint>,
        output: &'a Output,
    ) -> (Vec<CompletedLevel>, Self) {
        let read = |k: usize| {
            let (mesh, numbers) = kept?.take(&mesh_name(k))?;
            completed_of(mesh, &numbers)
        };
        let mut completed: Vec<CompletedLevel> = (0..).map_while(read).collect();
        completed.pop();
        for mesh in &completed {
            output.note(&format!("{}, as found before", summary(&mesh.level)));
        }
        if let Some(kept) = kept {
            kept.begin(completed.len(), |part| part < completed.len());
        }
        let meshes = Self { kept, output, completed: completed.len() };
        (completed, meshes)
    }
}

impl RefinementObserver for Meshes<'_> {
    fn reached(&mut self, level: &Level, _: &Solution) {
        self.output.note(&summary(level));
    }

    fn completed(&mut self, mesh: &CompletedLevel) {
        let Some(kept) = self.kept else { return };
        let Level { triangles, worst, value, bar, relative, tolerance, seconds } = &mesh.level;
        let (worst, values) = (worst.clone(), mesh.numbers.len());
        let sent = SentMesh { triangles: *triangles, worst, values };
        let of_level = [value, bar, relative, tolerance, seconds].map(|number| *number);
        let of_mesh = [mesh.stretch, mesh.elapsed, mesh.share];
        let sides = mesh.gains.iter();
        let sides = sides.flat_map(|&((a, b), gain)| [f64::from(a), f64::from(b), gain]);
        let numbers: Vec<f64> = of_level
            .into_iter()
            .chain(of_mesh)
            .chain(mesh.numbers.as_flattened().iter().copied())
            .chain(sides)
            .collect();
        kept.put(&mesh_name(self.completed), &sent, &numbers);
        self.completed += 1;
        // The charges on the mesh itself are where the next run begins.
        kept.begin(self.completed, |part| part + 1 < self.completed);
    }
}

fn mesh_name(mesh: usize) -> String {
    format!("mesh-{mesh}")
}

/// What [`Meshes::completed`] has kept.
fn completed_of(mesh: SentMesh, numbers: &[f64]) -> Option<CompletedLevel> {
    let SentMesh { triangles, worst, values } = mesh;
    let (&[value, bar, relative, tolerance, seconds], rest) = numbers.split_first_chunk()?;
    let (&[stretch, elapsed, share], rest) = rest.split_first_chunk()?;
    let (numbers, sides) = rest.split_at_checked(values.checked_mul(2)?)?;
    let side = |&[a, b, gain]: &[f64; 3]| ((a as u32, b as u32), gain);
    Some(CompletedLevel {
        level: Level { triangles, worst, value, bar, relative, tolerance, seconds },
        numbers: numbers.as_chunks::<2>().0.to_vec(),
        stretch,
        elapsed,
        share,
        gains: sides.as_chunks::<3>().0.iter().map(side).collect(),
    })
}

/// What a mesh gave, in a line.
fn summary(level: &Level) -> String {
    let triangles = units::count(level.triangles as u64);
    let has_prefix = matches!(level.worst, Some((_, Unit::Farad)));
    let scale = prefix(if has_prefix { level.value } else { 1.0 });
    format!(
        "{triangles} triangles: {} = {} {}{}, {:.1e} ({})",
        level.name(),
        units::with_bar(level.value / scale.factor, Some(level.bar / scale.factor)),
        scale.symbol,
        level.unit(),
        level.relative,
        units::duration(level.seconds),
    )
}
