//! Panels, points and unknowns of an operator, of all ranks and of this one.
//!
//! - `points`: the quadrature points of panels; `far`: distant images, as seen from panels;
//!   `drawn`: panels at which equations are checked.

pub(crate) mod drawn;
pub(crate) mod far;
pub(crate) mod points;

use std::sync::Arc;

use self::far::SeenFar;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::near::RowKind;
use crate::quadrature::rule::Rule;
use crate::space::Dofs;

/// Panels, points and unknowns of an operator.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// Panels, including their images.
    pub panels: Arc<Panels>,
    /// Quadrature rules of the sources and of the targets.
    pub rules: [&'static Rule; 2],
    /// One row kind per panel.
    pub kinds: Arc<[RowKind]>,
    /// The unknowns.
    pub dofs: Dofs,
}

impl Sampling {
    pub(crate) fn has(&self, kind: RowKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The layout of some of the panels.
    fn subset(&self, chosen: &[u32]) -> Self {
        let kinds = chosen.iter().map(|&i| self.kinds[i as usize]).collect();
        Self { panels: Arc::new(self.panels.subset(chosen)), kinds, ..self.clone() }
    }

    pub(crate) fn seen_far(&self) -> SeenFar<'_> {
        let Self { panels, rules, kinds, dofs } = self;
        SeenFar { panels, rules: *rules, kinds, dofs }
    }

    /// Lengths of the input and of the result.
    pub(crate) fn len(&self) -> [usize; 2] {
        match &self.dofs {
            Dofs::Charges(density) => [density.modes() * self.panels.len(); 2],
            Dofs::Functions(functions) => [functions.columns.len(), functions.rows.len()],
        }
    }
}

/// The sampling of an operator distributed over ranks: on a group of one all three are the same.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) partition: Arc<Partition>,
    /// Over the panels of all ranks.
    pub all: Sampling,
    /// Over this rank's own panels, whose points are its sources and targets.
    pub(crate) owned: Sampling,
    /// Over the local panels, which vectors have values on.
    pub(crate) local: Sampling,
}

impl Layout {
    pub(crate) fn new(all: Sampling, partition: Partition) -> Self {
        let owned = partition.owned_part(&all, Sampling::subset).into_owned();
        let local = partition.local_part(&all, Sampling::subset).into_owned();
        Self { partition: Arc::new(partition), all, owned, local }
    }

    /// The layout of a group of one.
    pub fn whole(all: Sampling) -> Self {
        let partition = Partition::whole(all.panels.len());
        Self::new(all, partition)
    }

    /// The layout with rows of other kinds, one for each of all panels.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let chosen = |_: &Arc<[RowKind]>, panels: &[u32]| -> Arc<[RowKind]> {
            panels.iter().map(|&i| kinds[i as usize]).collect()
        };
        let Self { partition, all, owned, local } = self.clone();
        let kinds = Arc::from(kinds);
        let of_owned = partition.owned_part(&kinds, chosen).into_owned();
        let of_local = partition.local_part(&kinds, chosen).into_owned();
        let owned = Sampling { kinds: of_owned, ..owned };
        let local = Sampling { kinds: of_local, ..local };
        Self { partition, all: Sampling { kinds, ..all }, owned, local }
    }
}
