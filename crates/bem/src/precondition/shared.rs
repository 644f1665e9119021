//! A preconditioner distributed over ranks: local inverses of each rank's local panels, and a
//! coarse level that is the same for all.

use std::borrow::Cow;
use std::sync::Arc;

use comm::Group;

use crate::Error;
use crate::collective;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::precondition::clusters::ClusterLevels;

/// The panels of all ranks and their conductors, for a rank that has the near field of the local
/// ones.
#[derive(Clone, Copy)]
pub(crate) struct Distributed<'a> {
    pub(crate) partition: &'a Arc<Partition>,
    pub(crate) all: &'a Panels,
    pub(crate) local: &'a Panels,
    /// The conductor of each of all panels, `None` on interfaces.
    pub(crate) conductor: &'a [Option<u32>],
    /// Clusters of the conductors' panels, if they are known.
    pub(crate) levels: Option<&'a Levels>,
}

/// Clusters of panels on some levels; `None` if there are too few panels for them to help.
pub(crate) type Levels = Arc<Option<ClusterLevels>>;

impl<'a> Distributed<'a> {
    /// The conductor of each local panel, `None` on interfaces.
    pub(crate) fn local_conductor(self) -> Cow<'a, [Option<u32>]> {
        self.partition.local_of(self.conductor)
    }

    /// The clusters of the conductors' panels, on a group of one.
    pub(crate) fn cluster_levels(self) -> Levels {
        let owner: Vec<u32> = self.conductor.iter().flatten().copied().collect();
        if owner.len() == self.conductor.len() {
            return Arc::new(ClusterLevels::new(self.local, &owner));
        }
        let is_metal = |i: &u32| self.conductor[*i as usize].is_some();
        let metal: Vec<u32> = (0..self.conductor.len() as u32).filter(is_metal).collect();
        Arc::new(ClusterLevels::new(&self.local.subset(&metal), &owner))
    }

    /// The conductors' panels of all ranks. `chosen` are the positions, among all local panels, of
    /// the local ones, and `local` are these.
    pub(crate) fn conductors(self, chosen: &[u32], local: &'a Panels) -> Conductors<'a> {
        let Self { partition, all, conductor, levels, .. } = self;
        let owner: Vec<u32> = conductor.iter().flatten().copied().collect();
        if partition.is_whole() {
            return Conductors { levels: levels.cloned(), ..Conductors::whole(local, owner) };
        }
        let is_conductor = |i: &u32| conductor[*i as usize].is_some();
        let conductors: Vec<u32> = (0..conductor.len() as u32).filter(is_conductor).collect();
        let position = |&k: &u32| {
            conductors.binary_search(&(partition.global(k as usize) as u32)).unwrap_or(0) as u32
        };
        let are_some = conductors.len() < all.len();
        Conductors {
            group: Group::clone(partition.group()),
            panels: if are_some { Cow::Owned(all.subset(&conductors)) } else { Cow::Borrowed(all) },
            owner,
            local: chosen.iter().map(position).collect(),
            is_owned: chosen.iter().map(|&k| partition.is_owned(k as usize)).collect(),
            levels: None,
        }
    }
}

/// The conductors' panels of all ranks, and which of them are local to this rank.
pub struct Conductors<'a> {
    group: Group,
    panels: Cow<'a, Panels>,
    /// The conductor of each.
    pub(crate) owner: Vec<u32>,
    /// Positions of the local panels, and whether this rank owns each.
    pub(crate) local: Vec<u32>,
    pub(crate) is_owned: Vec<bool>,
    /// Their clusters, if these are known.
    levels: Option<Levels>,
}

impl<'a> Conductors<'a> {
    /// Panels of a group of one, and the conductor of each.
    pub fn whole(panels: &'a Panels, owner: Vec<u32>) -> Self {
        let local = (0..owner.len() as u32).collect();
        let is_owned = vec![true; owner.len()];
        let (group, panels) = (comm::alone(), Cow::Borrowed(panels));
        Self { group, panels, owner, local, is_owned, levels: None }
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Their clusters. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn levels(&self) -> Result<Levels, Error> {
        let make = || Ok(ClusterLevels::new(&self.panels, &self.owner));
        self.levels.clone().map_or_else(|| collective::once(&*self.group, make), Ok)
    }

    /// Whether this rank has all panels: its group is of one.
    pub(crate) fn are_whole(&self) -> bool {
        self.group.size() == 1
    }

    pub(crate) fn panels(&self) -> &Panels {
        &self.panels
    }

    /// Selects values on the local panels from values on all.
    pub(crate) fn local_of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.local.iter().map(|&i| all[i as usize]).collect()
    }

    /// Weights on the local panels, 0 on those of other ranks.
    pub(crate) fn masked(&self, local: &[f64]) -> Vec<f64> {
        let of_owned = |(weight, owned): (&f64, &bool)| if *owned { *weight } else { 0.0 };
        local.iter().zip(&self.is_owned).map(of_owned).collect()
    }
}
