//! Gradients of a potential along sheets, from its means over clusters of panels.
//!
//! They are the gradients of planes through a cluster's own mean that best fit the means of the
//! clusters around it: those that share vertices with it and are roughly parallel. Sheets that face
//! each other share no vertices, and their potentials may be unrelated.

use nalgebra::{Matrix3, SymmetricEigen};
use parallel::prelude::*;

use crate::constants::PARALLEL;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::precondition::clusters::Clusters;

/// Centres must be at least this share of the clusters' radii apart: clusters inside each other
/// give no information on gradients.
const APART: f64 = 0.3;

/// A direction has no gradient if the spread of the neighbours in it (by squares) is less than this
/// share of that in other directions.
const FLAT: f64 = 0.1;

/// For each cluster the weights of its neighbours' means in its gradient, and the positions of its
/// panels.
pub struct Gradients {
    /// Where each cluster's neighbours begin; last, where they end.
    pub starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    /// The gradient if one neighbour's mean is 1 and all others, including its own, are 0.
    pub weights: Vec<Vec3>,
    /// Position of each panel, or cluster, relative to the centre of its cluster, or union.
    pub(crate) offsets: Vec<[f32; 3]>,
}

impl Gradients {
    /// For clusters of panels that touch in these pairs, increasing; `places` are the positions of
    /// panels or clusters, `of` the cluster or union of each.
    pub fn new(
        panels: &Panels,
        clusters: &Clusters,
        conductor: &[u32],
        touching: &[(u32, u32)],
        places: &[Vec3],
        of: &[u32],
    ) -> Self {
        let _span = tracing::debug_span!("gradients of clusters").entered();
        let count = clusters.len();
        let normals: Vec<Vec3> =
            clusters.members.par_iter().map(|own| normal(panels, own)).collect();
        let owner = |c: usize| conductor[clusters.members[c][0] as usize];
        let of_cluster = |c: usize| {
            let at = &clusters.centres[c];
            let first = touching.partition_point(|&(other, _)| (other as usize) < c);
            let own = touching[first..].iter().take_while(|&&(other, _)| other as usize == c);
            let neighbour = |&(_, d): &(u32, u32)| {
                let d = d as usize;
                let distance = (clusters.centres[d] - at).norm();
                let is_on_sheet = distance > APART * (clusters.radii[c] + clusters.radii[d])
                    && owner(d) == owner(c)
                    && normals[c].dot(&normals[d]).abs() > PARALLEL;
                is_on_sheet.then_some((distance, d))
            };
            weights(at, &own.filter_map(neighbour).collect::<Vec<_>>(), clusters)
        };
        let rows: Vec<Vec<(u32, Vec3)>> = (0..count).into_par_iter().map(of_cluster).collect();
        let offset = |(x, &c): (&Vec3, &u32)| {
            (x - clusters.centres[c as usize]).map(|offset| offset as f32).into()
        };
        let offsets =
            places[..of.len()].par_iter().zip(of).with_min_len(1024).map(offset).collect();
        let mut gradients =
            Self { starts: vec![0], neighbours: Vec::new(), weights: Vec::new(), offsets };
        for row in rows {
            gradients.neighbours.extend(row.iter().map(|(d, _)| d));
            gradients.weights.extend(row.iter().map(|(_, weight)| weight));
            gradients.starts.push(gradients.neighbours.len() as u32);
        }
        gradients
    }

    /// Keeps only the offsets of these panels.
    pub(crate) fn choose(&mut self, chosen: &[u32]) {
        self.offsets = chosen.iter().map(|&i| self.offsets[i as usize]).collect();
    }

    /// Position of each panel, or cluster, relative to the centre of its cluster, or union.
    pub fn offsets(&self) -> &[[f32; 3]] {
        &self.offsets
    }

    /// The gradient in each cluster of a potential with these means.
    pub fn of(&self, means: &[f64]) -> Vec<Vec3> {
        let gradient = |(c, ends): (usize, &[u32])| {
            let terms = ends[0] as usize..ends[1] as usize;
            let term = |k: usize| self.weights[k] * (means[self.neighbours[k] as usize] - means[c]);
            terms.map(term).sum()
        };
        self.starts.windows(2).enumerate().map(gradient).collect()
    }
}

/// Mean normal of the panels of a sheet, independent of their orientation.
fn normal(panels: &Panels, members: &[u32]) -> Vec3 {
    let first = panels.normal(members[0] as usize);
    let sum: Vec3 = members
        .iter()
        .map(|&i| {
            let normal = panels.normal(i as usize);
            normal * (panels.areas()[i as usize] * first.dot(&normal).signum())
        })
        .sum();
    sum.try_normalize(0.0).unwrap_or(first)
}

/// Weights of the least-squares plane through a cluster's own mean, each neighbour weighted by its
/// inverse distance squared.
fn weights(at: &Vec3, near: &[(f64, usize)], clusters: &Clusters) -> Vec<(u32, Vec3)> {
    let direction = |&(distance, d): &(f64, usize)| (clusters.centres[d] - at) / distance;
    let moment: Matrix3<f64> =
        near.iter().map(direction).map(|direction| direction * direction.transpose()).sum();
    let eigen = SymmetricEigen::new(moment);
    let most = eigen.eigenvalues.max();
    if near.len() < 2 || most <= 0.0 {
        return Vec::new();
    }
    let mut inverse = Matrix3::zeros();
    for k in 0..3 {
        if eigen.eigenvalues[k] > FLAT * most {
            let direction = eigen.eigenvectors.column(k);
            inverse += direction * direction.transpose() / eigen.eigenvalues[k];
        }
    }
    near.iter().map(|of| (of.1 as u32, inverse * direction(of) / of.0)).collect()
}
