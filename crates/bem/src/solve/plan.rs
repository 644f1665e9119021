//! The plan of a fast sum, of this process alone or of all ranks.

use comm::Group;

use crate::Error;

/// A plan that this process has alone, or this rank's part of one that all have.
pub(crate) enum Plan {
    Alone(Box<fmm::Plan>),
    Among(Box<fmm::distributed::Plan>),
}

impl From<fmm::Plan> for Plan {
    fn from(plan: fmm::Plan) -> Self {
        Self::Alone(Box::new(plan))
    }
}

impl Plan {
    /// With `targets` none, they are the sources; of a group each rank has some of either.
    /// Collective then.
    ///
    /// # Errors
    /// Those of [`fmm::Plan::new`], or [`fmm::distributed::Plan::new`].
    pub(crate) fn new(
        group: Option<&Group>,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        Ok(match group {
            None => fmm::Plan::new(sources, targets, options)?.into(),
            Some(group) => Self::Among(Box::new(fmm::distributed::Plan::new(
                group, sources, targets, options,
            )?)),
        })
    }

    /// As [`fmm::Plan::apply`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn apply(
        &mut self,
        densities: fmm::Densities<'_>,
        potentials: fmm::Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        match self {
            Self::Alone(plan) => plan.apply(densities, potentials),
            Self::Among(plan) => plan.apply(densities, potentials),
        }
    }

    pub(crate) fn info(&self) -> &fmm::Info {
        match self {
            Self::Alone(plan) => plan.info(),
            Self::Among(plan) => plan.info(),
        }
    }

    /// The plan of this process alone, on whose GPU a whole solve may be.
    pub(crate) fn alone(&mut self) -> Result<&mut fmm::Plan, Error> {
        match self {
            Self::Alone(plan) => Ok(plan),
            Self::Among(_) => Err(fmm::Error::NotPlanned { what: "arrays on a GPU" }.into()),
        }
    }

    /// Whether a whole solve may be on the GPU that it is on.
    pub(crate) fn is_on_gpu_alone(&self) -> bool {
        matches!(self, Self::Alone(plan) if plan.device().is_some())
    }
}
