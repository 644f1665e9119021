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

use std::sync::Arc;

use comm::Group;
use parallel::prelude::*;

use crate::Error;
use crate::collective;
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
    /// Each panel's share of its cluster's area, and the same with 0 on panels of other ranks.
    shares: Arc<[f64]>,
    owned_shares: Arc<[f64]>,
    /// Ranks that share the panels: means are over those of all.
    group: Group,
    gradients: Gradients,
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
        let mut here = vec![u32::MAX; conductors.owner.len()];
        for ((&position, owned), k) in conductors.local.iter().zip(&conductors.is_owned).zip(0..) {
            if *owned {
                here[position as usize] = k;
            }
        }
        let entries = OwnedEntries { near, here, of_all: &conductors.local };
        let coarse = Self::of_entries(conductors, &entries)?;
        Ok(coarse.map(|coarse| coarse.on_local(conductors)))
    }

    /// The coarse levels for vectors over all panels; each rank knows the entries in its own rows.
    /// Collective; all get the same result.
    fn of_entries(
        conductors: &Conductors<'_>,
        near: &impl KnownEntries,
    ) -> Result<Option<Self>, Error> {
        let (panels, conductor) = (conductors.panels(), &conductors.owner[..]);
        let group = &**conductors.group();
        let levels =
            collective::once(group, || Ok::<_, Error>(ClusterLevels::new(panels, conductor)))?;
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
                let shares = clusters.shares_of(unions, union_of);
                let gradients =
                    Gradients::new(panels, unions, conductor, &touching, centres, union_of);
                let coarser = Self::whole(union_of.clone(), shares, gradients, inverse);
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
        Ok(Some(Self::whole(clusters.of.clone(), shares, gradients, inverse)))
    }

    /// For vectors that this rank has whole.
    fn whole(cluster: Vec<u32>, shares: Vec<f64>, gradients: Gradients, inverse: Inverse) -> Self {
        let shares: Arc<[f64]> = shares.into();
        let owned_shares = Arc::clone(&shares);
        Self { cluster, shares, owned_shares, group: comm::alone(), gradients, inverse }
    }

    /// For vectors over the local panels.
    fn on_local(mut self, conductors: &Conductors<'_>) -> Self {
        if conductors.are_whole() {
            return self;
        }
        self.cluster = conductors.local_of(&self.cluster);
        self.shares = conductors.local_of(&self.shares).into();
        self.owned_shares = conductors.masked(&self.shares).into();
        self.gradients.choose(&conductors.local);
        self.group = Group::clone(conductors.group());
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
    pub(crate) fn means(&self, v: &[f64], columns: usize) -> Result<Vec<f64>, Error> {
        let n = self.cluster.len();
        let mut means = vec![0.0; columns * self.len()];
        means.par_chunks_mut(self.len().max(1)).enumerate().for_each(|(column, means)| {
            let v = &v[column * n..(column + 1) * n];
            for ((&c, share), v) in self.cluster.iter().zip(&*self.owned_shares).zip(v) {
                means[c as usize] += share * v;
            }
        });
        collective::sum(&*self.group, &mut means)?;
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
            for ((&c, share), x) in self.cluster.iter().zip(&*self.shares).zip(x) {
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

/// Entries between conductors' panels in the rows that a rank owns, by their positions among those
/// of all ranks.
struct OwnedEntries<'a> {
    near: &'a Near,
    /// Position among the conductors' local panels, `u32::MAX` if another rank owns it.
    here: Vec<u32>,
    /// Position among those of all ranks.
    of_all: &'a [u32],
}

impl KnownEntries for OwnedEntries<'_> {
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
