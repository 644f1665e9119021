//! Slopes of a potential along sheets, from its means over clusters of panels.
//!
//! They are those of the planes through a cluster's own mean that fit the means of the clusters next to it on the same sheet best.

use nalgebra::{Matrix3, SymmetricEigen};
use rayon::prelude::*;

use crate::clusters::{Groups, PARALLEL};
use crate::entries::Adjacency;
use crate::panels::Panels;
use crate::triangle::Vec3;

/// Clusters that a slope is taken from at most.
const MOST: usize = 8;

/// Clusters lie on one sheet if they are parallel and no centre is off the other's plane by more than this share of the distance.
const OFF: f64 = 0.5;

/// There is no slope in directions in which neighbours lie spread (by squares) less than this share of what they do in others.
const FLAT: f64 = 0.02;

/// For each cluster what its neighbours' means count in its slope, and where its panels are.
pub(crate) struct Slopes {
    /// Where each cluster's neighbours begin and, at last, where they end.
    pub(crate) starts: Vec<u32>,
    pub(crate) neighbours: Vec<u32>,
    /// The slope if one neighbour's mean is 1 and all others, its own too, are 0.
    pub(crate) weights: Vec<Vec3>,
    /// Place of each panel, or cluster, from the centre of its cluster, or union.
    pub(crate) offsets: Vec<[f32; 3]>,
}

impl Slopes {
    /// Of clusters of panels; `places` of what has potentials, panels or clusters, and the cluster or union that each is part `of`.
    pub(crate) fn new(
        panels: &Panels,
        clusters: &Groups,
        conductor: &[u32],
        places: &[Vec3],
        of: &[u32],
    ) -> Self {
        let count = clusters.len();
        let normals: Vec<Vec3> = clusters.members.iter().map(|own| normal(panels, own)).collect();
        let close = Adjacency::close(clusters);
        let owner = |c: usize| conductor[clusters.members[c][0] as usize];
        let of_cluster = |c: usize| {
            let at = &clusters.centres[c];
            let candidate = |&d: &u32| {
                let d = d as usize;
                let apart = clusters.centres[d] - at;
                let distance = apart.norm();
                let is_on_sheet = distance > 0.0
                    && owner(d) == owner(c)
                    && normals[c].dot(&normals[d]).abs() > PARALLEL
                    && normals[c].dot(&apart).abs() <= OFF * distance
                    && normals[d].dot(&apart).abs() <= OFF * distance;
                is_on_sheet.then_some((distance, d))
            };
            let mut near: Vec<(f64, usize)> = close.row(c).iter().filter_map(candidate).collect();
            if near.len() > MOST {
                near.select_nth_unstable_by(MOST - 1, |a, b| a.0.total_cmp(&b.0));
                near.truncate(MOST);
            }
            near.sort_by_key(|&(_, d)| d);
            weights(at, &near, clusters)
        };
        let rows: Vec<Vec<(u32, Vec3)>> = (0..count).into_par_iter().map(of_cluster).collect();
        let offset = |(x, &c): (&Vec3, &u32)| {
            (x - clusters.centres[c as usize]).map(|offset| offset as f32).into()
        };
        let offsets = places.iter().zip(of).map(offset).collect();
        let mut slopes =
            Self { starts: vec![0], neighbours: Vec::new(), weights: Vec::new(), offsets };
        for row in rows {
            slopes.neighbours.extend(row.iter().map(|(d, _)| d));
            slopes.weights.extend(row.iter().map(|(_, weight)| weight));
            slopes.starts.push(slopes.neighbours.len() as u32);
        }
        slopes
    }

    /// Place of each panel, or cluster, from the centre of its cluster, or union.
    pub(crate) fn offsets(&self) -> &[[f32; 3]] {
        &self.offsets
    }

    /// The slope in each cluster of a potential with these means.
    pub(crate) fn of(&self, means: &[f64]) -> Vec<Vec3> {
        let slope = |(c, ends): (usize, &[u32])| {
            let terms = ends[0] as usize..ends[1] as usize;
            let term = |k: usize| self.weights[k] * (means[self.neighbours[k] as usize] - means[c]);
            terms.map(term).sum()
        };
        self.starts.windows(2).enumerate().map(slope).collect()
    }
}

/// Mean normal of panels of a sheet, whichever way each of them faces.
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

/// Weights of the least-squares plane through a cluster's own mean, each neighbour weighted by its inverse distance squared.
fn weights(at: &Vec3, near: &[(f64, usize)], clusters: &Groups) -> Vec<(u32, Vec3)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clusters::Clusters;
    use crate::testing::sheets;

    #[test]
    fn planes_have_their_slope_along_each_sheet() {
        // Three sheets a third of a triangle apart, each of its own conductor, turned out of the axes.
        let mut mesh = sheets(3, 1200, 0.02);
        let turn = nalgebra::Rotation3::from_euler_angles(0.4, -0.7, 1.1);
        for vertex in &mut mesh.vertices {
            *vertex = (turn * Vec3::from(*vertex)).into();
        }
        let conductor_of = |triangle: u32| mesh.groups_of(triangle as usize)[0];
        let panels = Panels::new(&mesh, |_| true);
        let conductor: Vec<u32> = panels.triangles().iter().map(|&t| conductor_of(t)).collect();
        let clusters = Clusters::new(&panels, &conductor).unwrap().groups;
        let shares = clusters.shares(&panels);
        let slopes = Slopes::new(&panels, &clusters, &conductor, panels.centroids(), &clusters.of);
        let along = Vec3::new(0.3, -1.0, 2.0);
        // A step from sheet to sheet, as their conductors may have it, is none of the slope.
        let v = |i: usize| along.dot(&panels.centroid(i)) + 100.0 * f64::from(conductor[i]);
        let mut means = vec![0.0; clusters.len()];
        (0..panels.len()).for_each(|i| means[clusters.of[i] as usize] += shares[i] * v(i));
        let normal = turn * Vec3::z();
        let in_sheets = along - normal * normal.dot(&along);
        for slope in slopes.of(&means) {
            assert!((slope - in_sheets).norm() < 1e-9, "{slope} for {in_sheets}");
        }
        for (i, offset) in slopes.offsets().iter().enumerate() {
            let c = clusters.of[i] as usize;
            let smooth = means[c] + in_sheets.dot(&Vec3::from(offset.map(f64::from)));
            assert!((v(i) - smooth).abs() < 1e-5);
        }
    }
}
