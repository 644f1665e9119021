//! When the steps of a plan were under way.

use std::time::Instant;

use crate::Span;

/// The steps of a plan as they are done.
#[derive(Debug)]
pub(super) struct Steps {
    started: Instant,
    pub spans: Vec<Span>,
}

impl Steps {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), spans: Vec::new() }
    }

    /// Seconds since the first began.
    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Does a step.
    pub(super) fn of<R>(&mut self, stage: &'static str, work: impl FnOnce() -> R) -> R {
        let begin = self.seconds();
        let made = work();
        self.spans.push(Span { stage, gpu: false, begin, end: self.seconds() });
        made
    }
}
