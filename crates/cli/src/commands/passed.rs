//! Meshes on the way to an accuracy, as parts of a checkpoint.

use farad::{CompletedLevel, Level, RefinementObserver, Solution, Unit};

use crate::report::results::Checkpoint;
use crate::report::units::{self, prefix};
use crate::terminal::output::Output;

/// Adds meshes to a checkpoint as they are passed; charges belong to the current one.
pub(super) struct Meshes<'a> {
    checkpoint: Option<&'a Checkpoint>,
    output: &'a Output,
    completed: usize,
}

impl<'a> Meshes<'a> {
    /// The meshes that an earlier run has completed, except the last: it is the result if the next
    /// mesh fails, and its charges are known.
    pub(super) fn begin(
        checkpoint: Option<&'a Checkpoint>,
        output: &'a Output,
    ) -> (Vec<CompletedLevel>, Self) {
        let take = |mesh: usize| checkpoint?.take(&part(mesh));
        let mut completed: Vec<CompletedLevel> = (0..).map_while(take).collect();
        completed.pop();
        for mesh in &completed {
            output.note(&format!("{}, as found before", summary(&mesh.level)));
        }
        if let Some(checkpoint) = checkpoint {
            checkpoint.begin(completed.len(), |part| part < completed.len());
        }
        let meshes = Self { checkpoint, output, completed: completed.len() };
        (completed, meshes)
    }
}

impl RefinementObserver for Meshes<'_> {
    fn reached(&mut self, level: &Level, _: &Solution) {
        self.output.note(&summary(level));
    }

    fn completed(&mut self, mesh: &CompletedLevel) {
        let Some(checkpoint) = self.checkpoint else { return };
        checkpoint.put(&part(self.completed), mesh);
        self.completed += 1;
        // A resumed run starts from the charges on this mesh, so they stay.
        checkpoint.begin(self.completed, |part| part + 1 < self.completed);
    }
}

fn part(mesh: usize) -> String {
    format!("mesh-{mesh}")
}

/// Results on a mesh, in a line.
fn summary(level: &Level) -> String {
    let triangles = units::count(level.triangles as u64);
    let has_prefix = matches!(level.worst, Some((_, Unit::Farad)));
    let scale = prefix(if has_prefix { level.value } else { 1.0 });
    // Shares have no unit that is written.
    let unit = match level.worst {
        Some((_, Unit::Ratio)) => String::new(),
        _ => format!(" {}{}", scale.symbol, level.unit()),
    };
    format!(
        "{triangles} triangles: {} = {}{unit}, {:.1e} ({})",
        level.name(),
        units::with_bar(level.value / scale.factor, Some(level.bar / scale.factor)),
        level.relative,
        units::duration(level.seconds),
    )
}
