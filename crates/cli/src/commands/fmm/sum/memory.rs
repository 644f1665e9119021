//! Memory that a plan and its sums take.

use crate::machine;
use crate::machine::ranks::Ranks;
use crate::terminal::exit::Failure;

/// The memory of the process before the plan was made.
pub(super) struct Memory {
    resident: Option<u64>,
    peak: Option<u64>,
    /// The peak counts from here on.
    restarted: bool,
}

impl Memory {
    pub(super) fn before() -> Self {
        let peak = machine::peak_memory();
        let restarted = machine::restart_peak_memory();
        Self { resident: machine::resident_memory(), peak, restarted }
    }

    /// Memory taken since; `results` bytes are the caller's.
    pub(super) fn after(&self, results: u64) -> MemoryTaken {
        let peak = machine::peak_memory();
        let working = match (self.restarted, peak, self.resident) {
            (true, Some(peak), Some(resident)) => Some(peak.saturating_sub(resident + results)),
            _ => None,
        };
        MemoryTaken { working, peak: self.peak.max(peak) }
    }
}

/// Bytes; `None` where the system does not say.
pub(super) struct MemoryTaken {
    /// The most that plan and sums held.
    pub(super) working: Option<u64>,
    /// The most that the process ever held.
    pub(super) peak: Option<u64>,
}

impl MemoryTaken {
    /// The memory of the rank that took most. Collective.
    pub(super) fn largest(self, ranks: &Ranks) -> Result<Self, Failure> {
        let number = |bytes: Option<u64>| bytes.map_or(-1.0, |bytes| bytes as f64);
        let mut most = [number(self.working), number(self.peak)];
        ranks.max(&mut most)?;
        let [working, peak] = most.map(|most| (most >= 0.0).then_some(most as u64));
        Ok(Self { working, peak })
    }
}
