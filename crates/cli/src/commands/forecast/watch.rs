//! Looks on while a solve goes on, for when it gets where, with how much memory.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bem::{Progress, Stage};

use crate::machine;
use crate::machine::system::processor_seconds;
use crate::terminal::output::Output;
use crate::terminal::progress::Bars;

/// Reports of each thread on its rows of the near field that tell what all rows will take: the
/// first is of when all have begun.
const REPORTS: usize = 3;

/// The share of all rows that these are at least.
const SHARE: u64 = 8;

/// A solve of few triangles takes a second or two, or more with many images or excitations; then it
/// is ended after this number of seconds, and smaller pieces show what the whole takes.
pub(super) const PATIENCE: f64 = 2.0;

/// Cost of a step. Memory is known where the system gives it.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub seconds: f64,
    pub bytes: Option<f64>,
}

impl Cost {
    /// Applies `f` to both costs' seconds, and to their bytes.
    pub(super) fn with(self, other: Self, f: impl Fn([f64; 2]) -> f64) -> Self {
        let bytes = self.bytes.zip(other.bytes).map(|(a, b)| f([a, b]));
        Self { seconds: f([self.seconds, other.seconds]), bytes }
    }
}

/// Cost of a solve up to the end of its near field.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// Bytes are those that are held in the end.
    all: Cost,
    /// Bytes at most, until the near field began.
    most: Option<f64>,
}

impl Beginning {
    /// Both together, where the bytes of `later` are those in addition.
    pub fn followed_by(self, later: Cost) -> Cost {
        let added = self.all.bytes.zip(later.bytes).map(|(held, added)| held + added);
        let bytes = added.zip(self.most).map(|(a, b)| a.max(b));
        Cost { seconds: self.all.seconds + later.seconds, bytes }
    }
}

/// Where a solve is ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    End,
    /// So many seconds after its beginning.
    Seconds(f64),
    /// Once some rows of the near field tell what all will take.
    SomeRows,
}

/// Looks on while a solve goes on.
pub struct Watch {
    bars: Bars<'static>,
    until: Until,
    pub threads: usize,
    started: Instant,
    /// Seconds of all processors that were spent before, where they alone compute.
    pub spent_before: Option<f64>,
    /// Bytes held before it began.
    pub before: Option<u64>,
    marks: Mutex<Marks>,
}

/// Events and their times since the beginning.
#[derive(Default)]
pub struct Marks {
    /// Whether there is one: a dense solve has none.
    has_plan: bool,
    /// When the plan was there, and bytes at most until then.
    pub planned: Option<(Cost, Option<f64>)>,
    /// Reports on rows of the near field, how many rows each of two was about, and how many there
    /// are.
    reports: usize,
    pub first: Option<(u64, Cost)>,
    pub last: Option<(u64, Cost)>,
    pub rows: u64,
    /// When the near field was there, and bytes at most until then.
    near: Option<(Cost, Option<f64>)>,
    has_stopped: bool,
}

impl Watch {
    pub fn new(output: &Output, until: Until, backend: fmm::Backend) -> Self {
        let silent = Output { quiet: true, ..*output };
        machine::return_free_memory();
        let before = machine::restart_peak_memory().then(machine::resident_memory).flatten();
        Self {
            bars: Bars::new(&silent),
            until,
            threads: machine::threads(),
            started: Instant::now(),
            spent_before: processor_seconds().filter(|_| backend == fmm::Backend::Cpu),
            before,
            marks: Mutex::default(),
        }
    }

    pub fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes more than before the beginning.
    fn added(&self, bytes: Option<u64>) -> Option<f64> {
        bytes.zip(self.before).map(|(bytes, before)| bytes as f64 - before as f64)
    }

    /// Seconds since the beginning; no more than processors have spent, for others may keep the
    /// machine busy, too.
    fn seconds(&self) -> f64 {
        let elapsed = self.started.elapsed().as_secs_f64();
        let spent = self.spent_before.and_then(|before| Some(processor_seconds()? - before));
        spent.map_or(elapsed, |spent| elapsed.min(spent))
    }

    fn now(&self) -> Cost {
        let seconds = self.seconds();
        Cost { seconds, bytes: self.added(machine::resident_memory()) }
    }

    /// Cost of the whole solve, with peak bytes, and of the part after the near field.
    pub fn took(&self) -> (Cost, Option<Cost>) {
        let seconds = self.seconds();
        let bytes = self.added(machine::peak_memory());
        let Some((near, before)) = self.marks().near else {
            return (Cost { seconds, bytes }, None);
        };
        let most = bytes.zip(before).map(|(bytes, before)| bytes.max(before));
        let added = bytes.zip(near.bytes).map(|(bytes, held)| (bytes - held).max(0.0));
        let later = Cost { seconds: seconds - near.seconds, bytes: added };
        (Cost { seconds, bytes: most }, Some(later))
    }

    /// Whether it was this that ended the solve.
    pub fn has_stopped(&self) -> bool {
        self.marks().has_stopped
    }

    /// Whether fast sums have been planned, or begun to be.
    pub fn has_plan(&self) -> bool {
        self.marks().has_plan
    }

    /// Cost of a solve up to the end of its near field, if it had one; `is_crowd` where rows may be
    /// of pairs with all rows that follow.
    pub fn beginning(&self, is_crowd: bool) -> Option<Beginning> {
        let marks = self.marks();
        let (planned, most) = marks.planned?;
        let (done, last) = marks.last?;
        let (from, first) = marks.first.filter(|(from, _)| *from < done).unwrap_or((0, planned));
        let [rows, from, done] = [marks.rows, from, done].map(|rows| rows as f64);
        let alike = rows / (done - from);
        // Where all pairs are near, later rows have fewer; it is between these.
        let fewer = rows * rows / ((rows - from).powi(2) - (rows - done).powi(2));
        let times = if is_crowd { (alike * fewer).sqrt() } else { alike };
        let carried_on =
            |[planned, first, last]: [f64; 3]| planned + (last - first).max(0.0) * times;
        let bytes = [planned.bytes, first.bytes, last.bytes];
        let all = Cost {
            seconds: carried_on([planned.seconds, first.seconds, last.seconds]),
            bytes: match bytes {
                [Some(planned), Some(first), Some(last)] => {
                    Some(carried_on([planned, first, last]))
                }
                _ => None,
            },
        };
        Some(Beginning { all, most })
    }
}

impl Progress for Watch {
    fn advance(&self, stage: Stage, done: u64, total: u64) -> bool {
        let mut goes_on = self.bars.advance(stage, done, total);
        let mut marks = self.marks();
        marks.has_plan |= matches!(stage, Stage::Plan);
        if let Until::Seconds(seconds) = self.until {
            marks.has_stopped |= self.seconds() > seconds;
        }
        match stage {
            Stage::Plan if done > 0 && marks.planned.is_none() => {
                let most = self.added(machine::peak_memory());
                // Memory that is freed so far would hide the near field's.
                machine::return_free_memory();
                marks.planned = Some((self.now(), most));
            }
            Stage::NearField if marks.near.is_none() && total > 0 => {
                let now = self.now();
                marks.reports += 1;
                if marks.reports == self.threads {
                    marks.first = Some((done, now));
                }
                if marks.last.is_none_or(|(known, _)| known < done) {
                    marks.last = Some((done, now));
                }
                marks.rows = total;
                if done >= total {
                    marks.near = Some((now, self.added(machine::peak_memory())));
                    machine::restart_peak_memory();
                }
                let tells = marks.reports >= REPORTS * self.threads && SHARE * done >= total;
                marks.has_stopped |= self.until == Until::SomeRows && (tells || done >= total);
            }
            _ => {}
        }
        goes_on &= !marks.has_stopped;
        goes_on
    }
}
