//! The coarse levels in numbers, of which processor cores ([`coarse`](super::coarse)) and GPUs make
//! their solvers.

use std::sync::Arc;

use comm::Group;

use crate::Error;
use crate::precondition::clusters::{ClusterLevels, Clusters, touching_unions};
use crate::precondition::entries::Adjacency;
use crate::precondition::gradients::Gradients;
use crate::precondition::local_inverse::LocalInverse;
use crate::precondition::shared::Conductors;
use crate::solve::cholesky::Factor;

/// Clusters of panels, or unions of clusters, as vectors over the panels see them.
pub(crate) struct Level {
    /// Number of clusters.
    pub(crate) clusters: usize,
    /// Cluster of each panel.
    pub(crate) cluster: Vec<u32>,
    /// Each panel's share of its cluster's area, and the same with 0 on panels of other ranks.
    pub(crate) shares: Arc<[f64]>,
    pub(crate) owned_shares: Arc<[f64]>,
    /// Ranks that share the panels: means are over those of all.
    pub(crate) group: Group,
    pub(crate) gradients: Gradients,
}

impl Level {
    /// For vectors that this rank has whole.
    fn whole(clusters: usize, cluster: Vec<u32>, shares: Vec<f64>, gradients: Gradients) -> Self {
        let shares: Arc<[f64]> = shares.into();
        let owned_shares = Arc::clone(&shares);
        Self { clusters, cluster, shares, owned_shares, group: comm::alone(), gradients }
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
}

/// The coarse levels over the conductors' panels of all ranks, for vectors over the local ones.
pub(crate) struct CoarseLevels {
    pub(crate) finest: Level,
    /// If clusters are too many to be solved directly: local inverses over them, and their unions.
    pub(crate) coarser: Option<(LocalInverse, Level)>,
    /// The factor of the coarsest level's matrix.
    pub(crate) factor: Factor,
}

impl CoarseLevels {
    /// From the entries of some pairs of clusters: all of which c <= d, in rows, or those of an
    /// adjacency. `None` if a matrix is not positive definite. Collective.
    ///
    /// # Errors
    /// The error of `entries`.
    pub(crate) fn new(
        conductors: &Conductors<'_>,
        levels: &ClusterLevels,
        entries: impl Fn(&Clusters, Option<&Adjacency>) -> Result<Vec<f64>, Error>,
    ) -> Result<Option<Self>, Error> {
        let (panels, conductor) = (conductors.panels(), &conductors.owner[..]);
        let ClusterLevels { groups: clusters, unions, touching, .. } = levels;
        let solved = unions.as_ref().map_or(clusters, |(unions, _)| unions);
        // Rows of the upper triangle are columns of the lower one, which is all that the
        // factorisation needs.
        let matrix = entries(solved, None)?;
        let Some(factor) = Factor::of_columns(solved.len(), matrix) else { return Ok(None) };
        let coarser = match unions {
            None => None,
            Some((unions, union_of)) => {
                let touching = touching_unions(touching, union_of);
                let places = &clusters.centres;
                let gradients =
                    Gradients::new(panels, unions, conductor, &touching, places, union_of);
                let shares = clusters.shares_of(unions, union_of);
                let level = Level::whole(unions.len(), union_of.clone(), shares, gradients);
                let adjacency = Adjacency::close(clusters);
                let entries = entries(clusters, Some(&adjacency))?;
                Some((LocalInverse::of_clusters(panels, clusters, &adjacency, &entries), level))
            }
        };
        let (places, of) = (panels.centroids(), &clusters.of);
        let gradients = Gradients::new(panels, clusters, conductor, touching, places, of);
        let finest = Level::whole(clusters.len(), of.clone(), clusters.shares(panels), gradients);
        Ok(Some(Self { finest: finest.on_local(conductors), coarser, factor }))
    }
}
