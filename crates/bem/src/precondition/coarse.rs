//! The coarse levels of the preconditioner: the same equation over clusters of panels.
//!
//! A cluster carries one charge, spread evenly over its area, and sees one potential, the mean over
//! its area. Its matrix is R^T A R with R that spreading
//! ([`entries`](crate::precondition::entries)). What the clusters stand for in a potential is its
//! mean over each of them and, as smooth potentials change from cluster to cluster, the gradient
//! that the means around it have ([`gradients`](crate::precondition::gradients)).
//!
//! A few thousand clusters are solved for at once. Where there are more, they are to unions of them
//! what panels are to clusters: local inverses below a coarser level.

use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::precondition::clusters::{ClusterLevels, Clusters};
use crate::precondition::entries::{Adjacency, Entries};
use crate::precondition::gradients::{Gradients, touching, touching_unions};
use crate::precondition::local_inverse::{LocalInverse, TwoLevel};
use crate::solve::cholesky::Factor;
use crate::solve::gmres::LinearOperator;

/// Clusters of panels, or unions of clusters, and what solves for their charges.
pub(crate) struct Coarse {
    /// Cluster of each panel.
    cluster: Vec<u32>,
    /// Each panel's share of its cluster's area.
    shares: Vec<f64>,
    gradients: Gradients,
    inverse: Inverse,
}

enum Inverse {
    /// Of all clusters at once.
    Dense(Factor),
    /// By a coarser level.
    Levels(Box<TwoLevel>),
}

impl Coarse {
    /// From the exact entries on close pairs. `None` if there are too few panels for a coarse level
    /// to help, or if its matrix is not positive definite.
    pub(crate) fn new(panels: &Panels, conductor: &[u32], near: &Near) -> Option<Self> {
        let ClusterLevels { groups: clusters, unions } = ClusterLevels::new(panels, conductor)?;
        let cells = Clusters::cells(panels, &clusters);
        let touching = touching(panels, &clusters);
        let inverse = match unions {
            None => Inverse::dense(panels, &clusters, &cells, near)?,
            Some((unions, union_of)) => {
                let touching = touching_unions(&touching, &union_of);
                let centres = &clusters.centres;
                let coarser = Self {
                    shares: clusters.shares_of(&unions, &union_of),
                    gradients: Gradients::new(
                        panels, &unions, conductor, &touching, centres, &union_of,
                    ),
                    cluster: union_of,
                    inverse: Inverse::dense(panels, &unions, &cells, near)?,
                };
                let adjacency = Adjacency::close(&clusters);
                let entries = Entries::new(panels, &clusters, &cells).of_pairs(&adjacency, near);
                let local = LocalInverse::of_clusters(panels, &clusters, &adjacency, &entries);
                Inverse::Levels(Box::new(TwoLevel::new(local, Some(coarser))))
            }
        };
        let (places, of) = (panels.centroids(), &clusters.of);
        let gradients = Gradients::new(panels, &clusters, conductor, &touching, places, of);
        Some(Self { shares: clusters.shares(panels), gradients, cluster: clusters.of, inverse })
    }

    fn len(&self) -> usize {
        match &self.inverse {
            Inverse::Dense(factor) => factor.len(),
            Inverse::Levels(levels) => levels.len(),
        }
    }

    /// Means of a potential over the clusters, which are taken out of it together with their
    /// gradients.
    pub(crate) fn remove_smooth(&self, v: &mut [f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.len()];
        for ((&c, share), v) in self.cluster.iter().zip(&self.shares).zip(v.iter()) {
            means[c as usize] += share * v;
        }
        let gradients = self.gradients.of(&means);
        for ((&c, offset), v) in self.cluster.iter().zip(self.gradients.offsets()).zip(v) {
            *v -= means[c as usize] + gradients[c as usize].dot(&Vec3::from(offset.map(f64::from)));
        }
        means
    }

    /// Adds to panel charges `x` those that give the clusters these mean potentials, of `columns`
    /// vectors one after the other.
    ///
    /// # Errors
    /// Those of the coarser level.
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
        let (clusters, panels) = (charges.len() / columns.max(1), self.cluster.len());
        let vectors = x.chunks_exact_mut(panels).zip(charges.chunks_exact(clusters));
        vectors.for_each(|(x, charges)| {
            for ((&c, share), x) in self.cluster.iter().zip(&self.shares).zip(x) {
                *x += share * charges[c as usize];
            }
        });
        Ok(())
    }
}

impl Inverse {
    fn dense(panels: &Panels, clusters: &Clusters, cells: &Clusters, near: &Near) -> Option<Self> {
        let entries = Entries::new(panels, clusters, cells).of_all(near);
        // Rows of the upper triangle are columns of the lower one, which is all that the factor
        // needs.
        Factor::of_columns(clusters.len(), entries).map(Self::Dense)
    }
}
