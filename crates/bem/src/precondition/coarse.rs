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

use comm::{Alone, Communicator, Group};
use parallel::prelude::*;

use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::share;
use crate::geometry::triangle::Vec3;
use crate::near::Near;
use crate::precondition::clusters::{ClusterLevels, Clusters, touching_unions};
use crate::precondition::entries::{Adjacency, Entries, KnownEntries};
use crate::precondition::gradients::Gradients;
use crate::precondition::local_inverse::LocalInverse;
use crate::precondition::shared::Conductors;
use crate::solve::cholesky::Factor;
use crate::solve::linear_operator::LinearOperator;

/// Clusters of panels, or unions of clusters, and the solver for their charges.
pub struct Coarse {
    /// Cluster of each panel.
    cluster: Vec<u32>,
    /// Each panel's share of its cluster's area.
    shares: Vec<f64>,
    gradients: Gradients,
    inverse: Inverse,
    among: Option<Among>,
}

/// For a rank with only some of the panels: means are over those of all ranks.
struct Among {
    group: Group,
    /// Each panel's share if it is this rank's own, else 0.
    own_shares: Vec<f64>,
}

enum Inverse {
    /// All clusters at once.
    Dense(Factor),
    /// By a coarser level.
    Levels(Box<TwoLevel>),
}

impl Coarse {
    /// From the exact entries of close pairs. `None` if there are too few panels for a coarse level
    /// to help, or if its matrix is not positive definite.
    pub fn new(panels: &Panels, conductor: &[u32], near: &Near) -> Option<Self> {
        // Messages alone fail.
        Self::of_entries((panels, &Alone::default()), conductor, near).ok().flatten()
    }

    /// The coarse levels over the conductors' panels of all ranks, from the near field of the held
    /// ones, for vectors over these. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn of_conductors(
        conductors: &Conductors<'_>,
        near: &Near,
    ) -> Result<Option<Self>, Error> {
        let mut here = vec![u32::MAX; conductors.owner.len()];
        for ((&place, own), k) in conductors.held.iter().zip(&conductors.is_own).zip(0..) {
            if *own {
                here[place as usize] = k;
            }
        }
        let entries = OwnEntries { near, here, of_all: &conductors.held };
        let all = (conductors.panels(), &**conductors.group());
        Ok(Self::of_entries(all, &conductors.owner, &entries)?
            .map(|coarse| coarse.among(conductors)))
    }

    /// The same for the panels of all ranks of a group, each of which knows the entries in its own
    /// rows. Collective; all get the same result.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn of_entries(
        (panels, group): (&Panels, &dyn Communicator),
        conductor: &[u32],
        near: &impl KnownEntries,
    ) -> Result<Option<Self>, Error> {
        let levels = share::once(group, || Ok::<_, Error>(ClusterLevels::new(panels, conductor)))?;
        let Some(levels) = &*levels else { return Ok(None) };
        let ClusterLevels { groups: clusters, unions, cells, touching } = levels;
        let dense = |of: &Clusters, cells: &Clusters| -> Result<Option<Inverse>, Error> {
            let entries = Entries::new(panels, of, cells, group).of_all(near)?;
            // Rows of the upper triangle are columns of the lower one, which is all that the
            // factorisation needs.
            Ok(Factor::of_columns(of.len(), entries).map(Inverse::Dense))
        };
        let inverse = match unions {
            None => {
                let Some(inverse) = dense(clusters, cells)? else { return Ok(None) };
                inverse
            }
            Some((unions, union_of)) => {
                let touching = touching_unions(touching, union_of);
                let centres = &clusters.centres;
                let Some(inverse) = dense(unions, cells)? else { return Ok(None) };
                let coarser = Self {
                    shares: clusters.shares_of(unions, union_of),
                    gradients: Gradients::new(
                        panels, unions, conductor, &touching, centres, union_of,
                    ),
                    cluster: union_of.clone(),
                    inverse,
                    among: None,
                };
                let adjacency = Adjacency::close(clusters);
                let entries = Entries::new(panels, clusters, cells, group);
                let entries = entries.of_pairs(&adjacency, near)?;
                let local = LocalInverse::of_clusters(panels, clusters, &adjacency, &entries);
                Inverse::Levels(Box::new(TwoLevel::new(local, Some(coarser))))
            }
        };
        let (places, of) = (panels.centroids(), &clusters.of);
        let gradients = Gradients::new(panels, clusters, conductor, touching, places, of);
        let shares = clusters.shares(panels);
        let cluster = clusters.of.clone();
        Ok(Some(Self { shares, gradients, cluster, inverse, among: None }))
    }

    /// For vectors over the panels that a rank holds.
    pub(super) fn among(mut self, all: &Conductors<'_>) -> Self {
        self.cluster = all.held_of(&self.cluster);
        self.shares = all.held_of(&self.shares);
        self.gradients.choose(&all.held);
        let (group, own_shares) = (Group::clone(all.group()), all.masked(&self.shares));
        self.among = Some(Among { group, own_shares });
        self
    }

    fn len(&self) -> usize {
        match &self.inverse {
            Inverse::Dense(factor) => factor.len(),
            Inverse::Levels(levels) => levels.len(),
        }
    }

    /// Means of `columns` consecutive potentials over the clusters. Collective where ranks share
    /// them.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn means(&self, v: &[f64], columns: usize) -> Result<Vec<f64>, Error> {
        let n = self.cluster.len();
        let mut means = vec![0.0; columns * self.len()];
        let shares = self.among.as_ref().map_or(&self.shares, |among| &among.own_shares);
        means.par_chunks_mut(self.len().max(1)).enumerate().for_each(|(column, means)| {
            let v = &v[column * n..(column + 1) * n];
            for ((&c, share), v) in self.cluster.iter().zip(shares).zip(v) {
                means[c as usize] += share * v;
            }
        });
        if let Some(Among { group, .. }) = &self.among {
            share::sum(&**group, &mut means)?;
        }
        Ok(means)
    }

    /// Subtracts from a potential its means and their gradients.
    pub(crate) fn remove_smooth(&self, means: &[f64], v: &mut [f64]) {
        let gradients = self.gradients.of(means);
        for ((&c, offset), v) in self.cluster.iter().zip(self.gradients.offsets()).zip(v) {
            *v -= means[c as usize] + gradients[c as usize].dot(&Vec3::from(offset.map(f64::from)));
        }
    }

    /// Adds to panel charges `x` those that give the clusters these mean potentials, for `columns`
    /// consecutive vectors.
    ///
    /// # Errors
    /// Errors of the coarser level.
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
        let vectors = x.chunks_exact_mut(panels.max(1)).zip(charges.chunks_exact(clusters.max(1)));
        vectors.for_each(|(x, charges)| {
            for ((&c, share), x) in self.cluster.iter().zip(&self.shares).zip(x) {
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

/// Entries between conductors' panels in a rank's own rows, by their positions among those of all
/// ranks.
struct OwnEntries<'a> {
    near: &'a Near,
    /// Position among the conductors' panels here, `u32::MAX` if it is not this rank's own.
    here: Vec<u32>,
    /// Position among those of all ranks.
    of_all: &'a [u32],
}

impl KnownEntries for OwnEntries<'_> {
    fn diagonal(&self, i: usize) -> Option<f64> {
        let here = self.here[i];
        (here != u32::MAX).then(|| self.near.diagonal(here as usize))
    }

    fn later(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        let here = self.here[i];
        if here != u32::MAX {
            let of_all = |j: usize| self.of_all[j] as usize;
            self.near.later(here as usize, |j, entry| f(of_all(j), entry));
        }
    }
}
