//! A plan, whether one process has it or all ranks.

use fmm::distributed::{self, RankInfo};
use fmm::{Densities, Info, Options, Potentials, Span, StageSeconds};

use crate::machine::ranks::Ranks;

/// A plan for this process, or for all ranks.
pub(super) enum Plan {
    Alone(Box<fmm::Plan>),
    OnRanks(Box<distributed::Plan>),
}

impl Plan {
    pub(super) fn new(
        ranks: &Ranks,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &Options,
    ) -> Result<Self, fmm::Error> {
        if ranks.size() == 1 {
            return Ok(Self::Alone(Box::new(fmm::Plan::new(sources, targets, options)?)));
        }
        let plan = distributed::Plan::new(ranks.group(), sources, targets, options)?;
        Ok(Self::OnRanks(Box::new(plan)))
    }

    pub(super) fn apply(
        &mut self,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        match self {
            Self::Alone(plan) => plan.apply(densities, potentials),
            Self::OnRanks(plan) => plan.apply(densities, potentials),
        }
    }

    pub(super) fn info(&self) -> &Info {
        match self {
            Self::Alone(plan) => plan.info(),
            Self::OnRanks(plan) => plan.info(),
        }
    }

    pub(super) fn rank_info(&self) -> Option<&RankInfo> {
        match self {
            Self::Alone(_) => None,
            Self::OnRanks(plan) => Some(plan.rank_info()),
        }
    }

    pub(super) fn stages(&self) -> &StageSeconds {
        match self {
            Self::Alone(plan) => plan.stages(),
            Self::OnRanks(plan) => plan.stages(),
        }
    }

    pub(super) fn timeline(&self) -> &[Span] {
        match self {
            Self::Alone(plan) => plan.timeline(),
            Self::OnRanks(plan) => plan.timeline(),
        }
    }
}
