//! The plan of a fast sum, of this process alone or of all ranks.

use std::ops::Range;

use comm::Group;

use crate::Error;

/// A plan of this process alone, or this rank's part of a plan of all ranks.
pub enum Plan {
    /// In one process.
    Alone(Box<fmm::Plan>),
    /// Distributed over ranks.
    Among(Box<fmm::distributed::Plan>),
    /// All ranks have all points, all densities and all sums.
    Dealt(Box<Dealt>),
}

/// A plan for ranks that have everything; each computes a part of the sums.
pub struct Dealt {
    group: Group,
    plan: fmm::distributed::Plan,
    /// Number of sources and of targets in all, and the ranges of this rank.
    points: [usize; 2],
    own: [Range<usize>; 2],
}

/// This rank's range of `count` items.
fn part(count: usize, rank: usize, ranks: usize) -> Range<usize> {
    count * rank / ranks..count * (rank + 1) / ranks
}

impl Dealt {
    fn new(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        let points = [sources.len(), targets.map_or(sources.len(), <[_]>::len)];
        let own = points.map(|count| part(count, group.rank(), group.size()));
        let of_own = targets.map(|targets| &targets[own[1].clone()]);
        let sources = &sources[own[0].clone()];
        let plan = fmm::distributed::Plan::new(group, sources, of_own, options)?;
        Ok(Self { group: Group::clone(group), plan, points, own })
    }

    fn apply(
        &mut self,
        densities: fmm::Densities<'_>,
        potentials: fmm::Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        let [n, m] = self.points;
        let k =
            [densities.charges.map_or(0, <[_]>::len), densities.dipoles.map_or(0, |d| d.len() / 3)];
        let k = k[0].max(k[1]).checked_div(n).unwrap_or(0);
        let of = |values: &[f64], width: usize| -> Vec<f64> {
            let own = width * self.own[0].start..width * self.own[0].end;
            (0..k).flat_map(|j| &values[j * width * n..][own.clone()]).copied().collect()
        };
        let charges = densities.charges.map(|values| of(values, 1));
        let dipoles = densities.dipoles.map(|values| of(values, 3));
        let count = k * self.own[1].len();
        let asked = [potentials.potential.is_some(), potentials.gradient.is_some()];
        let mut own = [
            vec![0.0; if asked[0] { count } else { 0 }],
            vec![0.0; if asked[1] { 3 * count } else { 0 }],
        ];
        let [potential, gradient] = &mut own;
        self.plan.apply(
            fmm::Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() },
            fmm::Potentials {
                potential: asked[0].then_some(&mut potential[..]),
                gradient: asked[1].then_some(&mut gradient[..]),
            },
        )?;
        let all = [(potentials.potential, 1), (potentials.gradient, 3)];
        for ((all, width), own) in all.into_iter().zip(&own) {
            let Some(all) = all else { continue };
            let messages = comm::all_gather(&*self.group, own)?;
            for (rank, message) in messages.iter().enumerate() {
                let there = part(m, rank, messages.len());
                let rows = message.chunks_exact((width * there.len()).max(1));
                for (row, all) in rows.zip(all.chunks_exact_mut((width * m).max(1))) {
                    all[width * there.start..width * there.end].copy_from_slice(row);
                }
            }
        }
        Ok(())
    }
}

impl From<fmm::Plan> for Plan {
    fn from(plan: fmm::Plan) -> Self {
        Self::Alone(Box::new(plan))
    }
}

impl Plan {
    /// If `targets` is `None`, the sources are the targets; in a group each rank has some of
    /// either. Collective then.
    ///
    /// # Errors
    /// Errors of [`fmm::Plan::new`], or [`fmm::distributed::Plan::new`].
    pub fn new(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        if group.size() == 1 {
            return Ok(fmm::Plan::new(sources, targets, options)?.into());
        }
        let plan = fmm::distributed::Plan::new(group, sources, targets, options)?;
        Ok(Self::Among(Box::new(plan)))
    }

    /// The same for ranks that each have all points, and give and get all values. Collective.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn dealt(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        if group.size() == 1 {
            return Self::new(group, sources, targets, options);
        }
        Ok(Self::Dealt(Box::new(Dealt::new(group, sources, targets, options)?)))
    }

    /// As [`fmm::Plan::apply`].
    ///
    /// # Errors
    /// As for [`fmm::Plan::apply`].
    pub(crate) fn apply(
        &mut self,
        densities: fmm::Densities<'_>,
        potentials: fmm::Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        match self {
            Self::Alone(plan) => plan.apply(densities, potentials),
            Self::Among(plan) => plan.apply(densities, potentials),
            Self::Dealt(dealt) => dealt.apply(densities, potentials),
        }
    }

    /// Description of the plan.
    pub fn info(&self) -> &fmm::Info {
        match self {
            Self::Alone(plan) => plan.info(),
            Self::Among(plan) => plan.info(),
            Self::Dealt(dealt) => dealt.plan.info(),
        }
    }

    /// The plan of this process alone, whose GPU may do a whole solve.
    pub(crate) fn alone(&mut self) -> Result<&mut fmm::Plan, Error> {
        match self {
            Self::Alone(plan) => Ok(plan),
            Self::Among(_) | Self::Dealt(_) => {
                Err(fmm::Error::NotPlanned { what: "arrays on a GPU" }.into())
            }
        }
    }

    /// Whether the sums, and with them the near field, run on a GPU.
    pub(crate) fn is_on_gpu(&self) -> bool {
        match self {
            Self::Alone(plan) => plan.device().is_some(),
            Self::Among(plan) => plan.info().backend == fmm::Backend::Cuda,
            Self::Dealt(_) => false,
        }
    }
}
