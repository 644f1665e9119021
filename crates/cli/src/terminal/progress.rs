//! Progress bars while the solver works: one per stage, once the work has taken a second, on a
//! terminal only.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bem::{CheckpointStore, Progress, Stage};
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::interrupt;
use crate::terminal::output::Output;

/// Work that is done before this needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress bars for a solve, which also hand Ctrl-C on to it.
pub struct Bars<'a> {
    visible: bool,
    started: Instant,
    pub current: Mutex<Option<(Stage, ProgressBar)>>,
    checkpoints: Option<&'a dyn CheckpointStore>,
}

impl<'a> Bars<'a> {
    pub fn new(output: &Output) -> Self {
        Self::storing(output, None)
    }

    /// As [`Self::new`], storing answers in `checkpoints`.
    pub(crate) fn storing(output: &Output, checkpoints: Option<&'a dyn CheckpointStore>) -> Self {
        Self {
            visible: output.draws_progress(),
            started: Instant::now(),
            current: Mutex::default(),
            checkpoints,
        }
    }

    fn show(&self, stage: Stage, done: u64, total: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*current, Some((shown, _)) if *shown == stage) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            *current = Some((stage, bar(stage, total)));
        }
        if let Some((_, bar)) = &*current {
            bar.set_position(done);
        }
    }
}

impl Progress for Bars<'_> {
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool {
        if self.visible && self.started.elapsed() >= PATIENCE {
            self.show(stage, done, total);
        }
        !interrupt::requested()
    }

    fn residual(&self, iteration: usize, relative: f64) {
        tracing::info!(iteration, relative, "residual");
        if self.visible {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((Stage::Solve, bar)) = &*current {
                bar.set_message(format!("residual {relative:.1e}"));
            }
        }
    }

    fn checkpoint_store(&self) -> Option<&dyn CheckpointStore> {
        self.checkpoints
    }
}

impl Drop for Bars<'_> {
    fn drop(&mut self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bar)) = &*current {
            bar.finish_and_clear();
        }
    }
}

/// Iterations have no known end, so the solve gets a spinner and counts.
fn bar(stage: Stage, total: u64) -> ProgressBar {
    let (name, template) = match stage {
        Stage::Plan => ("planning", "{spinner} {prefix} {elapsed}"),
        Stage::NearField => {
            ("near field", "{prefix} [{bar:40}] {percent}% of {len} rows, {eta} left")
        }
        Stage::Solve => ("solving", "{spinner} {prefix}: iteration {pos}, {msg} ({elapsed})"),
    };
    let bar = if total > 0 { ProgressBar::new(total) } else { ProgressBar::new_spinner() };
    // The templates are constants that a unit test parses.
    let style = ProgressStyle::with_template(template);
    let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(name);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
