//! A preconditioner shared by ranks: local inverses of the panels that each holds, and a coarse
//! level that is the same for all.

use std::sync::Arc;

use comm::Group;

use crate::geometry::panels::Panels;
use crate::geometry::share::Share;

/// The panels of all ranks, for a rank that has the near field of those it holds, and the conductor
/// of each.
#[derive(Clone, Copy)]
pub(crate) struct OfAll<'a> {
    pub(crate) share: &'a Arc<Share>,
    pub(crate) panels: &'a Panels,
    pub(crate) conductor: &'a [Option<u32>],
}

impl<'a> OfAll<'a> {
    /// The conductors' panels; `chosen` are the positions, among all held panels, of those held
    /// here.
    pub(crate) fn conductors(self, chosen: &[u32]) -> Conductors<'a> {
        let Self { share, panels, conductor } = self;
        let is_conductor = |i: &u32| conductor[*i as usize].is_some();
        let conductors: Vec<u32> = (0..conductor.len() as u32).filter(is_conductor).collect();
        let (held, is_own) = (share.held(), share.is_own());
        let place = |&k: &u32| conductors.binary_search(&held[k as usize]).unwrap_or(0) as u32;
        let are_some = conductors.len() < panels.len();
        Conductors {
            group: share.group(),
            all: panels,
            some: are_some.then(|| panels.subset(&conductors)),
            owner: conductor.iter().flatten().copied().collect(),
            held: chosen.iter().map(place).collect(),
            is_own: chosen.iter().map(|&k| is_own[k as usize]).collect(),
        }
    }
}

/// The conductors' panels of all ranks, and which of them this rank holds.
pub struct Conductors<'a> {
    group: &'a Group,
    all: &'a Panels,
    /// Those of conductors, if there are others.
    some: Option<Panels>,
    /// The conductor of each.
    pub(crate) owner: Vec<u32>,
    /// Positions of the held panels, and whether each is this rank's own.
    pub(crate) held: Vec<u32>,
    pub(crate) is_own: Vec<bool>,
}

impl Conductors<'_> {
    pub(crate) fn group(&self) -> &Group {
        self.group
    }

    pub(crate) fn panels(&self) -> &Panels {
        self.some.as_ref().unwrap_or(self.all)
    }

    /// Selects values on the held panels from values on all.
    pub(crate) fn held_of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.held.iter().map(|&i| all[i as usize]).collect()
    }

    /// Weights on the held panels, 0 on those of other ranks.
    pub(crate) fn masked(&self, held: &[f64]) -> Vec<f64> {
        let own = |(weight, own): (&f64, &bool)| if *own { *weight } else { 0.0 };
        held.iter().zip(&self.is_own).map(own).collect()
    }
}
