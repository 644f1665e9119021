//! When the steps of a plan, or of a sum, were under way.

use std::time::Instant;

use crate::Span;

/// Steps as they are done.
#[derive(Debug)]
pub(super) struct Steps {
    pub started: Instant,
    pub spans: Vec<Span>,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), spans: Vec::new() }
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Does a step.
    pub(super) fn of<R>(&mut self, stage: &'static str, work: impl FnOnce() -> R) -> R {
        let begin = self.seconds();
        let made = work();
        self.ended(stage, begin);
        made
    }

    /// A step has ended that began at `begin`.
    pub(super) fn ended(&mut self, stage: &'static str, begin: f64) {
        self.spans.push(Span { stage, gpu: false, begin, end: self.seconds() });
    }
}
