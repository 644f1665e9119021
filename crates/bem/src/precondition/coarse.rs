//! The coarse levels of the preconditioner: the same equation over clusters of panels.
//!
//! A cluster has one charge, distributed evenly over its area, and one potential, the mean over its
//! area. Its matrix is R^T A R, where R distributes the charge
//! ([`entries`](crate::precondition::entries)). Clusters represent a potential by its mean over
//! each of them and, since smooth potentials change from cluster to cluster, by the gradient of the
//! surrounding means ([`gradients`](crate::precondition::gradients)).
//!
//! Up to a few thousand clusters are solved directly. With more, clusters play the role of panels
//! and unions of clusters that of clusters: local inverses below a coarser level.

use parallel::prelude::*;

use crate::Error;
use crate::collective;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::precondition::clusters::Clusters;
use crate::precondition::entries::{Adjacency, Entries, KnownEntries};
use crate::precondition::levels::{CoarseLevels, Level};
use crate::precondition::local_inverse::LocalInverse;
use crate::precondition::shared::Conductors;
use crate::solve::cholesky::Factor;
use crate::solve::linear_operator::LinearOperator;

/// Clusters of panels, or unions of clusters, and the solver for their charges.
pub struct Coarse {
    level: Level,
    inverse: Inverse,
}

enum Inverse {
    /// All clusters at once.
    Dense(Factor),
    /// By a coarser level.
    Levels(Box<TwoLevel>),
}

impl Coarse {
    /// The coarse levels over the conductors' panels of all ranks, from the exact entries of close
    /// pairs of the local ones, for vectors over these. `None` if there are too few panels for a
    /// coarse level to help, or if its matrix is not positive definite. Collective.
    pub fn new(conductors: &Conductors<'_>, near: &Near) -> Result<Option<Self>, Error> {
        let known = KnownEntries::new(near, conductors);
        let levels = conductors.levels()?;
        let Some(levels) = &*levels else { return Ok(None) };
        let (panels, group) = (conductors.panels(), &**conductors.group());
        let entries = |clusters: &Clusters, pairs: Option<&Adjacency>| {
            let entries = Entries::new(panels, clusters, &levels.cells, group);
            match pairs {
                None => entries.of_all(&known),
                Some(pairs) => entries.of_pairs(pairs, &known),
            }
        };
        Ok(CoarseLevels::new(conductors, levels, entries)?.map(Self::of_levels))
    }

    fn of_levels(levels: CoarseLevels) -> Self {
        let CoarseLevels { finest, coarser, factor } = levels;
        let mut inverse = Inverse::Dense(factor);
        if let Some((local, level)) = coarser {
            let coarser = Self { level, inverse };
            inverse = Inverse::Levels(Box::new(TwoLevel::new(local, Some(coarser))));
        }
        Self { level: finest, inverse }
    }

    /// Means of `columns` consecutive potentials over the clusters. Collective where ranks share
    /// them.
    pub(crate) fn means(&self, v: &[f64], columns: usize) -> Result<Vec<f64>, Error> {
        let Level { clusters, cluster, owned_shares, group, .. } = &self.level;
        let n = cluster.len();
        let mut means = vec![0.0; columns * clusters];
        means.par_chunks_mut((*clusters).max(1)).enumerate().for_each(|(column, means)| {
            let v = &v[column * n..(column + 1) * n];
            for ((&c, share), v) in cluster.iter().zip(&**owned_shares).zip(v) {
                means[c as usize] += share * v;
            }
        });
        collective::sum(&**group, &mut means)?;
        Ok(means)
    }

    /// Subtracts from a potential its means and their gradients.
    pub(crate) fn remove_smooth(&self, means: &[f64], v: &mut [f64]) {
        let Level { cluster, gradients, .. } = &self.level;
        let offsets = gradients.offsets();
        let gradients = gradients.of(means);
        for ((&c, offset), v) in cluster.iter().zip(offsets).zip(v) {
            *v -= means[c as usize] + gradients[c as usize].dot(&Vec3::from(offset.map(f64::from)));
        }
    }

    /// Adds to panel charges `x` those that give the clusters these mean potentials, for `columns`
    /// consecutive vectors.
    pub(crate) fn add_solutions(
        &mut self,
        means: Vec<f64>,
        x: &mut [f64],
        columns: usize,
    ) -> Result<(), Error> {
        let charges = match &mut self.inverse {
            Inverse::Dense(factor) => {
                let mut charges = means;
                factor.solve_all(&mut charges);
                charges
            }
            Inverse::Levels(levels) => {
                let mut charges = vec![0.0; means.len()];
                levels.apply(&means, &mut charges, columns)?;
                charges
            }
        };
        let Level { clusters, cluster, shares, .. } = &self.level;
        let charges = charges.par_chunks_exact((*clusters).max(1));
        let vectors = x.par_chunks_exact_mut(cluster.len().max(1)).zip(charges);
        vectors.for_each(|(x, charges)| {
            for ((&c, share), x) in cluster.iter().zip(&**shares).zip(x) {
                *x += share * charges[c as usize];
            }
        });
        Ok(())
    }
}

/// Local inverses S below a coarse level: M v = R A_c^-1 R^T v + S (v - E v), where E v is in each
/// cluster the mean of v there plus the gradient of the surrounding means.
///
/// For smooth potentials the local inverses give far too much charge, since each ignores the charge
/// of other neighbourhoods; E keeps such potentials from them.
pub struct TwoLevel {
    local: LocalInverse,
    coarse: Option<Coarse>,
}

impl TwoLevel {
    /// Local inverses below a coarse level, if there is one.
    pub fn new(local: LocalInverse, coarse: Option<Coarse>) -> Self {
        Self { local, coarse }
    }

    pub(crate) fn coarse(&mut self) -> Option<&mut Coarse> {
        self.coarse.as_mut()
    }
}

impl LinearOperator for TwoLevel {
    fn len(&self) -> usize {
        self.local.len
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let n = self.len().max(1);
        y.fill(0.0);
        let Some(coarse) = &mut self.coarse else {
            let vectors = x.chunks_exact(n).zip(y.chunks_exact_mut(n));
            vectors.for_each(|(x, y)| self.local.add_product(x, y));
            return Ok(());
        };
        let means = coarse.means(x, columns)?;
        let (local, smooth) = (&self.local, &*coarse);
        let of_columns = means.par_chunks_exact((means.len() / columns.max(1)).max(1));
        let vectors = x.par_chunks_exact(n).zip(y.par_chunks_exact_mut(n));
        vectors.zip(of_columns).for_each(|((x, y), means)| {
            let mut rest = x.to_vec();
            smooth.remove_smooth(means, &mut rest);
            local.add_product(&rest, y);
        });
        coarse.add_solutions(means, y, columns)
    }
}
