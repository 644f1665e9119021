//! A plan for a group of any size.

use comm::Group;

use super::{Plan, RankInfo};
use crate::model::{Backend, Densities, Info, Options, Potentials, StageSeconds};
use crate::{Error, Span};

/// A sum over the points of all ranks of a group: of one rank a [`crate::Plan`], with its modes and
/// its arrays on a GPU, of several a [`Plan`].
#[derive(Debug)]
pub enum GroupPlan {
    /// This rank has all points.
    Whole(Box<crate::Plan>),
    /// This rank has some of the points.
    Distributed(Box<Plan>),
}

impl From<crate::Plan> for GroupPlan {
    fn from(plan: crate::Plan) -> Self {
        Self::Whole(Box::new(plan))
    }
}

impl GroupPlan {
    /// Plans the sum over the sources of all ranks at the targets of all; with `None` the targets
    /// are the sources. Collective.
    ///
    /// # Errors
    /// Errors of [`crate::Plan::new`] or [`Plan::new`].
    pub fn new(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, Error> {
        if group.size() == 1 {
            return Ok(crate::Plan::new(sources, targets, options)?.into());
        }
        Ok(Self::Distributed(Box::new(Plan::new(group, sources, targets, options)?)))
    }

    /// As [`crate::Plan::apply`], with this rank's points. Collective.
    ///
    /// # Errors
    /// Errors of [`crate::Plan::apply`] or [`Plan::apply`].
    pub fn apply(
        &mut self,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Whole(plan) => plan.apply(densities, potentials),
            Self::Distributed(plan) => plan.apply(densities, potentials),
        }
    }

    /// What the plan resolved to.
    pub fn info(&self) -> &Info {
        match self {
            Self::Whole(plan) => plan.info(),
            Self::Distributed(plan) => plan.info(),
        }
    }

    /// What it resolved to on this rank; `None` on a group of one.
    pub fn rank_info(&self) -> Option<&RankInfo> {
        match self {
            Self::Whole(_) => None,
            Self::Distributed(plan) => Some(plan.rank_info()),
        }
    }

    /// Seconds of each stage of the last sum.
    pub fn stages(&self) -> &StageSeconds {
        match self {
            Self::Whole(plan) => plan.stages(),
            Self::Distributed(plan) => plan.stages(),
        }
    }

    /// Spans of the last sum.
    pub fn timeline(&self) -> &[Span] {
        match self {
            Self::Whole(plan) => plan.timeline(),
            Self::Distributed(plan) => plan.timeline(),
        }
    }

    /// Whether the sums run on a GPU.
    pub fn is_on_gpu(&self) -> bool {
        match self {
            Self::Whole(plan) => plan.device().is_some(),
            Self::Distributed(plan) => plan.info().backend == Backend::Cuda,
        }
    }
}
