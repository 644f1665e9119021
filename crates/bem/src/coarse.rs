//! The coarse level of the preconditioner: the same equation over clusters of panels.
//!
//! A cluster carries one charge, spread evenly over its area, and sees one potential, the mean over its area. Its matrix is
//! R^T A R with R that spreading. Being part of a preconditioner it may be rough: far clusters are points to each other, near
//! ones sum over cells of a few panels, and only pairs in the near-field matrix are taken as they are.
//!
//! A cluster lies on one sheet of one conductor. The faces of a plate carry charges of their own, and an even charge over both would leave
//! to GMRES what sets them apart.
//!
//! What the clusters stand for in a potential is its mean over each of them and, as smooth potentials change from cluster to cluster, the
//! slope that the means around it have (`slopes`).
//!
//! Cells may lie over each other, as on the two sides of a thin plate, and their centres as close as rounding has it. So a cell is no
//! point but a cloud of charge of its own spread: the energy of two Gaussian clouds of variances u and v whose centres are a
//! distance r apart is erf(r / sqrt(2 (u + v))) / r, which is 1/r from a few spreads on, finite at r = 0 and, whatever the spreads, a
//! positive definite matrix.

use std::ops::Range;

use nalgebra::DMatrix;
use rayon::prelude::*;

use crate::cholesky::Factor;
use crate::near::Near;
use crate::panels::Panels;
use crate::slopes::Slopes;
use crate::triangle::Vec3;

/// Boxes at most.
const MOST_BOXES: usize = 2048;

/// Clusters at most, unless a single box has more: their matrix is dense and factorised.
const MOST_CLUSTERS: usize = 2560;

/// Panels in a box at least, about what a neighbourhood of the fine level holds; twice as many where a box has several clusters.
const LEAST_PANELS: usize = 24;

/// Panels are of one sheet if the product of their normals is larger than this,
pub(crate) const PARALLEL: f64 = 0.25;

/// unless along the normal there is a gap between them of more than this share of their extent, which curved sheets do not have,
const GAP: f64 = 0.25;

/// and of more than this times a panel's radius: closer sheets are as good as one.
const APART: f64 = 0.2;

/// Panels in a cell at most.
const CELL: usize = 8;

/// Clusters farther apart than this many times their radii together are points to each other.
const FAR: f64 = 1.5;

/// Variance of the cloud that stands for a group, as a share of the mean square of the distances from its centre: a disk has the
/// energy of its cloud, 16 / (3 pi radius).
const CLOUD: f64 = 2.0 / 9.0;

/// Distances of this many spreads and more are those of points.
const POINTS: f64 = 4.0;

/// Mean inverse distance of two clouds with variances that sum to `variance`, `r2` the square of the distance of their centres.
pub(crate) fn of_clouds(r2: f64, variance: f64) -> f64 {
    if r2 >= POINTS * POINTS * variance {
        return if r2 > 0.0 { 1.0 / r2.sqrt() } else { 0.0 };
    }
    let x = (0.5 * r2 / variance).sqrt();
    if x < 1e-3 {
        // erf(x) / x at 0, where its quotient would lose digits.
        return (1.0 - x * x / 3.0) * (2.0 / (std::f64::consts::PI * variance)).sqrt();
    }
    erf(x) / r2.sqrt()
}

/// Error function of x >= 0 to 1.5e-7 (Abramowitz & Stegun, Handbook of Mathematical Functions, 7.1.26).
fn erf(x: f64) -> f64 {
    const A: [f64; 5] =
        [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    1.0 - A.iter().rev().fold(0.0, |sum, a| (sum + a) * t) * (-x * x).exp()
}

/// Clusters of panels and the factor of their matrix.
pub(crate) struct Coarse {
    /// Cluster of each panel.
    cluster: Vec<u32>,
    /// Each panel's share of its cluster's area.
    shares: Vec<f64>,
    slopes: Slopes,
    factor: Factor,
}

impl Coarse {
    /// Clusters within sheets of conductors, from the exact entries on close pairs. `None` if there are too few panels for a coarse
    /// level to help, or if its matrix is not positive definite.
    pub(crate) fn new(panels: &Panels, conductor: &[u32], near: &Near) -> Option<Self> {
        let clusters = Groups::clusters(panels, conductor)?;
        let cells = Groups::cells(panels, &clusters);
        let shares = clusters.shares(panels);
        let matrix = matrix(panels, &clusters, &cells, &shares, near);
        let slopes = Slopes::new(panels, &clusters, conductor);
        Some(Self { cluster: clusters.of, shares, slopes, factor: Factor::new(matrix)? })
    }

    /// Means of a potential over the clusters, which are taken out of it together with their slopes.
    pub(crate) fn remove_smooth(&self, v: &mut [f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.factor.len()];
        for ((&c, share), v) in self.cluster.iter().zip(&self.shares).zip(v.iter()) {
            means[c as usize] += share * v;
        }
        let slopes = self.slopes.of(&means);
        for ((&c, offset), v) in self.cluster.iter().zip(self.slopes.offsets()).zip(v) {
            *v -= means[c as usize] + slopes[c as usize].dot(&Vec3::from(offset.map(f64::from)));
        }
        means
    }

    /// Adds to panel charges `x` those that give the clusters these mean potentials.
    pub(crate) fn add_solution(&self, mut means: Vec<f64>, x: &mut [f64]) {
        self.factor.solve(&mut means);
        for ((&c, share), x) in self.cluster.iter().zip(&self.shares).zip(x) {
            *x += share * means[c as usize];
        }
    }
}

/// Panels in compact groups.
pub(crate) struct Groups {
    /// Group of each panel.
    pub(crate) of: Vec<u32>,
    /// Panels of each group.
    pub(crate) members: Vec<Vec<u32>>,
    areas: Vec<f64>,
    pub(crate) centres: Vec<Vec3>,
    /// Distance from the centre to the farthest centroid, and no less than from a centroid to a vertex.
    pub(crate) radii: Vec<f64>,
    /// Variances of the clouds that stand for the groups.
    pub(crate) variances: Vec<f64>,
}

/// Variance of the cloud that stands for a panel.
pub(crate) fn variance_of_panel(panels: &Panels, i: usize) -> f64 {
    let [a, b, c] = panels.vertices(i);
    let squares = (b - a).norm_squared() + (c - b).norm_squared() + (a - c).norm_squared();
    CLOUD * squares / 36.0
}

impl Groups {
    /// The clusters; `None` if there are too few panels for a coarse level to help.
    pub(crate) fn clusters(panels: &Panels, conductor: &[u32]) -> Option<Self> {
        let n = panels.len();
        let parts = |range: Range<usize>| -> Vec<Vec<u32>> {
            let of_conductors = parted(range, |i| conductor[i as usize]);
            of_conductors.into_iter().flat_map(|members| sheets(panels, members)).collect()
        };
        let mut most = MOST_BOXES;
        loop {
            let whole = |range: &Range<usize>| {
                // What is parted may be twice as large.
                let is_small = |times: usize| {
                    range.len() / 2 < times * LEAST_PANELS || times * n / range.len() >= most
                };
                is_small(1) || (is_small(2) && parts(range.clone()).len() > 1)
            };
            let members: Vec<Vec<u32>> =
                boxes(0..n, &whole).into_par_iter().flat_map_iter(parts).collect();
            if members.len() <= MOST_CLUSTERS || most == 1 {
                return (members.len() >= 2).then(|| Self::new(panels, members));
            }
            most /= 2;
        }
    }

    /// Cells of a few panels; each lies in one of the clusters.
    pub(crate) fn cells(panels: &Panels, clusters: &Self) -> Self {
        let cells = boxes(0..panels.len(), &|range| range.len() <= CELL).into_par_iter();
        let part = |range| parted(range, |i| clusters.of[i as usize]);
        Self::new(panels, cells.flat_map_iter(part).collect())
    }

    /// Each panel's share of its group's area.
    pub(crate) fn shares(&self, panels: &Panels) -> Vec<f64> {
        let share = |(&group, area): (&u32, &f64)| area / self.areas[group as usize];
        self.of.iter().zip(panels.areas()).map(share).collect()
    }

    fn new(panels: &Panels, members: Vec<Vec<u32>>) -> Self {
        let mut of = vec![0; panels.len()];
        for (group, members) in members.iter().enumerate() {
            members.iter().for_each(|&i| of[i as usize] = group as u32);
        }
        let work = |members: &Vec<u32>| {
            let members = || members.iter().map(|&i| i as usize);
            let area: f64 = members().map(|i| panels.areas()[i]).sum();
            let moment: Vec3 = members().map(|i| panels.centroid(i) * panels.areas()[i]).sum();
            let centre = moment / area;
            let distance = |i: usize| (panels.centroid(i) - centre).norm().max(panels.radius(i));
            let variance = |i: usize| {
                let square = (panels.centroid(i) - centre).norm_squared();
                panels.areas()[i] / area * (CLOUD * square + variance_of_panel(panels, i))
            };
            let radius = members().map(distance).fold(0.0, f64::max);
            ((area, centre), (radius, members().map(variance).sum::<f64>()))
        };
        let ((areas, centres), (radii, variances)) =
            members.par_iter().with_min_len(64).map(work).unzip();
        Self { of, members, areas, centres, radii, variances }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Mean inverse distance, summed over images.
    fn inverse_distance(&self, panels: &Panels, a: usize, b: usize) -> f64 {
        let variance = self.variances[a] + self.variances[b];
        let of_clouds = |r2| of_clouds(r2, variance);
        panels.over_distances(&self.centres[a], &self.centres[b], of_clouds)
    }
}

/// Ranges of the tree, which are halved until they are `whole`.
fn boxes(
    range: Range<usize>,
    whole: &(impl Fn(&Range<usize>) -> bool + Sync),
) -> Vec<Range<usize>> {
    if range.len() <= 1 || whole(&range) {
        return vec![range];
    }
    let middle = range.start + range.len() / 2;
    let (first, second) = (range.start..middle, middle..range.end);
    let (mut found, others) = rayon::join(|| boxes(first, whole), || boxes(second, whole));
    found.extend(others);
    found
}

/// Panels of a range by their owner.
fn parted(range: Range<usize>, owner: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
    let mut members: Vec<u32> = range.map(|i| i as u32).collect();
    members.sort_by_key(|&i| owner(i));
    members.chunk_by(|&i, &j| owner(i) == owner(j)).map(<[u32]>::to_vec).collect()
}

/// Panels of a box and a conductor by the sheets that they lie on: panels of about one normal, up to its sign, where their places
/// along it leave no gap.
fn sheets(panels: &Panels, mut members: Vec<u32>) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    while let Some(&first) = members.first() {
        let normal = panels.normal(first as usize);
        let is_parallel =
            |&i: &u32| i == first || normal.dot(&panels.normal(i as usize)).abs() > PARALLEL;
        let (parallel, others) = members.into_iter().partition::<Vec<u32>, _>(is_parallel);
        members = others;
        let height = |&i: &u32| (normal.dot(&panels.centroid(i as usize)), i);
        let mut heights: Vec<(f64, u32)> = parallel.iter().map(height).collect();
        heights.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let extent = heights[heights.len() - 1].0 - heights[0].0;
        let gap = (GAP * extent).max(APART * panels.radius(first as usize));
        let sheets = heights.chunk_by(|a, b| b.0 - a.0 <= gap);
        found.extend(sheets.map(|sheet| sheet.iter().map(|&(_, i)| i).collect()));
    }
    found
}

fn matrix(
    panels: &Panels,
    clusters: &Groups,
    cells: &Groups,
    shares: &[f64],
    near: &Near,
) -> DMatrix<f64> {
    let count = clusters.len();
    let far = |c: usize, d: usize| {
        let distance = panels.nearest_distance(&clusters.centres[c], &clusters.centres[d]);
        c != d && distance > FAR * (clusters.radii[c] + clusters.radii[d])
    };
    let mut cells_of = vec![Vec::new(); count];
    for (cell, members) in cells.members.iter().enumerate() {
        let share: f64 = members.iter().map(|&i| shares[i as usize]).sum();
        let cluster = clusters.of[members[0] as usize];
        cells_of[cluster as usize].push((cell, share));
    }
    // What a pair of panels counts unless the near-field matrix has it.
    let rough = |i: usize, j: usize| {
        let (a, b) = (cells.of[i] as usize, cells.of[j] as usize);
        if a == b {
            let variance = variance_of_panel(panels, i) + variance_of_panel(panels, j);
            let of_clouds = |r2| of_clouds(r2, variance);
            panels.over_distances(&panels.centroid(i), &panels.centroid(j), of_clouds)
        } else {
            cells.inverse_distance(panels, a, b)
        }
    };
    let mut matrix = DMatrix::zeros(count, count);
    matrix.as_mut_slice().par_chunks_mut(count).enumerate().for_each(|(c, column)| {
        for (d, entry) in column.iter_mut().enumerate() {
            if far(c, d) {
                *entry = clusters.inverse_distance(panels, c, d);
                continue;
            }
            for &(a, share_a) in &cells_of[c] {
                for &(b, share_b) in &cells_of[d] {
                    if a != b {
                        *entry += share_a * share_b * cells.inverse_distance(panels, a, b);
                        continue;
                    }
                    for &i in &cells.members[a] {
                        for &j in &cells.members[a] {
                            let (i, j) = (i as usize, j as usize);
                            *entry += shares[i] * shares[j] * rough(i, j);
                        }
                    }
                }
            }
        }
    });
    // What the near field adds in the rows of a cluster: on the diagonal, and to each of few others what pairs of panels count once.
    let of_pairs = |(c, members): (usize, &Vec<u32>)| {
        let (mut own, mut others) = (0.0, Vec::<(usize, f64)>::new());
        for i in members.iter().map(|&i| i as usize) {
            own += shares[i] * shares[i] * (near.diagonal(i) - rough(i, i));
            near.later(i, |j, exact| {
                let d = clusters.of[j] as usize;
                let known = others.iter_mut().find(|other| other.0 == d);
                if known.is_none() && far(c, d) {
                    return;
                }
                let more = shares[i] * shares[j] * (exact - rough(i, j));
                match known {
                    Some(other) => other.1 += more,
                    None => others.push((d, more)),
                }
            });
        }
        (own, others)
    };
    let of_pairs: Vec<_> = clusters.members.par_iter().enumerate().map(of_pairs).collect();
    for (c, (own, others)) in of_pairs.into_iter().enumerate() {
        matrix[(c, c)] += own;
        for (d, more) in others {
            matrix[(c, d)] += more;
            matrix[(d, c)] += more;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use nalgebra::SymmetricEigen;

    use super::*;

    #[test]
    fn clouds_are_points_far_away_and_positive_definite_together() {
        // By the series of erf; the approximation is good to 1.5e-7.
        for (x, exact) in [(0.1, 0.112_462_916), (0.5, 0.520_499_878), (1.5, 0.966_105_146)] {
            let r: f64 = 0.3;
            let variance = 0.5 * (r / x) * (r / x);
            assert!((of_clouds(r * r, variance) * r - exact).abs() < 2e-7, "{x}");
        }
        // Where the quotient is replaced, from where on an error of 1e-8 counts over x, and where clouds become points.
        for (x, step) in [(1e-3, 2e-5), (POINTS / std::f64::consts::SQRT_2, 1e-4)] {
            let variance = |x: f64| 0.5 / (x * x);
            let (before, after) =
                (of_clouds(1.0, variance(x * 0.999_999)), of_clouds(1.0, variance(x * 1.000_001)));
            assert!((before / after - 1.0).abs() < step + 3e-6, "{x}: {before} {after}");
        }
        assert_eq!(of_clouds(0.0, 0.0), 0.0);
        // Pairs of clouds that all but coincide, of spreads 1 to 100.
        let place = |i: usize| {
            let k = (i / 2) as f64;
            Vec3::new((7.0 * k).sin(), (5.0 * k).cos(), 1e-14 * (i % 2) as f64)
        };
        let variance = |i: usize| 1e-4 * 1.5f64.powi((i % 12) as i32);
        let gram = DMatrix::from_fn(40, 40, |i, j| {
            of_clouds((place(i) - place(j)).norm_squared(), variance(i) + variance(j))
        });
        let least = SymmetricEigen::new(gram).eigenvalues.min();
        // Errors of the approximation against entries up to 80.
        assert!(least > -1e-4, "{least}");
    }
}
