//! Meshes on the way to an accuracy, as a checkpoint has them.

use farad::{Key, Level, Passed, Solution, Unit, Way};
use serde::{Deserialize, Serialize};

use crate::report::results::Checkpoint;
use crate::report::units::{self, prefix};
use crate::terminal::output::Output;

/// Meshes on the way to an accuracy, each a part of the run for which charges are kept.
pub(super) struct Meshes<'a> {
    kept: Option<&'a Checkpoint>,
    output: &'a Output,
    passed: usize,
}

/// [`Passed`] in a checkpoint, but for its numbers.
#[derive(Serialize, Deserialize)]
struct SentMesh {
    triangles: usize,
    worst: Option<(Key, Unit)>,
    /// So many pairs of a value and its bar come before the sides.
    values: usize,
}

impl<'a> Meshes<'a> {
    /// Those that an earlier run has passed, but for the last of them: it is the result where the
    /// next mesh fails, and its charges are known.
    pub(super) fn begin(kept: Option<&'a Checkpoint>, output: &'a Output) -> (Vec<Passed>, Self) {
        let read = |k: usize| {
            let (mesh, numbers) = kept?.take(&mesh_name(k))?;
            passed_of(mesh, &numbers)
        };
        let mut passed: Vec<Passed> = (0..).map_while(read).collect();
        passed.pop();
        for mesh in &passed {
            output.note(&format!("{}, as found before", told(&mesh.level)));
        }
        if let Some(kept) = kept {
            kept.begin(passed.len(), |part| part < passed.len());
        }
        let way = Self { kept, output, passed: passed.len() };
        (passed, way)
    }
}

impl Way for Meshes<'_> {
    fn reached(&mut self, level: &Level, _: &Solution) {
        self.output.note(&told(level));
    }

    fn passed(&mut self, mesh: &Passed) {
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
        kept.put(&mesh_name(self.passed), &sent, &numbers);
        self.passed += 1;
        // The charges on the mesh itself are where the next run begins.
        kept.begin(self.passed, |part| part + 1 < self.passed);
    }
}

fn mesh_name(mesh: usize) -> String {
    format!("mesh-{mesh}")
}

/// What [`Way::passed`] has kept.
fn passed_of(mesh: SentMesh, numbers: &[f64]) -> Option<Passed> {
    let SentMesh { triangles, worst, values } = mesh;
    let (&[value, bar, relative, tolerance, seconds], rest) = numbers.split_first_chunk()?;
    let (&[stretch, elapsed, share], rest) = rest.split_first_chunk()?;
    let (numbers, sides) = rest.split_at_checked(values.checked_mul(2)?)?;
    let side = |&[a, b, gain]: &[f64; 3]| ((a as u32, b as u32), gain);
    Some(Passed {
        level: Level { triangles, worst, value, bar, relative, tolerance, seconds },
        numbers: numbers.as_chunks::<2>().0.to_vec(),
        stretch,
        elapsed,
        share,
        gains: sides.as_chunks::<3>().0.iter().map(side).collect(),
    })
}

/// What a mesh gave, in a line.
pub(super) fn told(level: &Level) -> String {
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
