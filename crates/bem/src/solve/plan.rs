//! The plan of a fast sum over the points of all ranks.

use std::ops::Range;

use comm::Group;
use fmm::distributed::GroupPlan;

use crate::Error;

/// A plan of sums over the points of all ranks of a group.
pub struct Plan {
    sums: GroupPlan,
    /// Where each of several ranks has all points, densities and sums: what it computes of them.
    replicated: Option<Replicated>,
}

/// Arrays that each rank has whole, and its ranges of them.
struct Replicated {
    group: Group,
    /// Number of sources and of targets in all, and the ranges of this rank.
    points: [usize; 2],
    own: [Range<usize>; 2],
}

/// This rank's range of `count` items.
fn part(count: usize, rank: usize, ranks: usize) -> Range<usize> {
    count * rank / ranks..count * (rank + 1) / ranks
}

impl Replicated {
    fn new(group: &Group, points: [usize; 2]) -> Self {
        let own = points.map(|count| part(count, group.rank(), group.size()));
        Self { group: Group::clone(group), points, own }
    }

    /// Sums this rank's part, and collects those of the others. Collective.
    fn apply(
        &self,
        sums: &mut GroupPlan,
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
        sums.apply(
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
        Self { sums: plan.into(), replicated: None }
    }
}

impl Plan {
    /// If `targets` is `None`, the sources are the targets; each rank has some of either.
    /// Collective.
    pub fn new(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        let sums = GroupPlan::new(group, sources, targets, options)?;
        Ok(Self { sums, replicated: None })
    }

    /// As [`Self::new`], for ranks that each have all points, give and get all values. Collective.
    pub(crate) fn replicated(
        group: &Group,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
        options: &fmm::Options,
    ) -> Result<Self, fmm::Error> {
        if group.size() == 1 {
            return Self::new(group, sources, targets, options);
        }
        let points = [sources.len(), targets.map_or(sources.len(), <[_]>::len)];
        let replicated = Replicated::new(group, points);
        let [of_sources, of_targets] = replicated.own.clone();
        let targets = targets.map(|targets| &targets[of_targets]);
        let sums = GroupPlan::new(group, &sources[of_sources], targets, options)?;
        Ok(Self { sums, replicated: Some(replicated) })
    }

    /// As [`fmm::Plan::apply`]. Collective.
    pub(crate) fn apply(
        &mut self,
        densities: fmm::Densities<'_>,
        potentials: fmm::Potentials<'_>,
    ) -> Result<(), fmm::Error> {
        match &self.replicated {
            None => self.sums.apply(densities, potentials),
            Some(replicated) => replicated.apply(&mut self.sums, densities, potentials),
        }
    }

    /// Description of the plan.
    pub fn info(&self) -> &fmm::Info {
        self.sums.info()
    }

    /// The plan of a group of one, whose GPU may do a whole solve.
    pub(crate) fn whole(&mut self) -> Result<&mut fmm::Plan, Error> {
        match &mut self.sums {
            GroupPlan::Whole(plan) => Ok(plan),
            GroupPlan::Distributed(_) => {
                Err(fmm::Error::NotPlanned { what: "arrays on a GPU" }.into())
            }
        }
    }

    /// Whether the sums, and with them the near field, run on a GPU.
    pub(crate) fn is_on_gpu(&self) -> bool {
        self.replicated.is_none() && self.sums.is_on_gpu()
    }
}
