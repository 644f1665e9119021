//! The order of points in space, and connected parts of meshes.

use mesh::Mesh;
use mesh::disjoint::SharedSets;
use parallel::prelude::*;

use crate::geometry::triangle::Vec3;

/// Panels per leaf of the tree.
pub(crate) const LEAF: usize = 8;

/// Ranges of panels below this are sorted and searched by one thread.
pub(super) const SEQUENTIAL: usize = 4096;

/// Numbers the connected parts of a mesh (connected by vertices): the number for each of
/// `triangles`.
pub(crate) fn connected(mesh: &Mesh, triangles: &[u32]) -> Vec<u32> {
    let sets = SharedSets::new(mesh.vertices.len());
    triangles.par_iter().for_each(|&t| {
        let [a, b, c] = mesh.triangles[t as usize];
        sets.join(a, b);
        sets.join(a, c);
    });
    let first = |&t: &u32| mesh.triangles[t as usize][0];
    sets.labels(triangles.par_iter().map(first)).0
}

/// Orders points so that repeated halving of the range is a balanced k-d tree.
pub(crate) fn sorted(mut points: Vec<(u32, Vec3)>) -> Vec<u32> {
    fn sort(points: &mut [(u32, Vec3)]) {
        if points.len() <= LEAF {
            return;
        }
        let (mut low, mut high) = (points[0].1, points[0].1);
        for (_, x) in points.iter() {
            (low, high) = (low.inf(x), high.sup(x));
        }
        let axis = (high - low).imax();
        let middle = points.len() / 2;
        points.select_nth_unstable_by(middle, |a, b| {
            a.1[axis].total_cmp(&b.1[axis]).then(a.0.cmp(&b.0))
        });
        let (left, right) = points.split_at_mut(middle);
        if left.len() > SEQUENTIAL {
            rayon::join(|| sort(left), || sort(right));
        } else {
            sort(left);
            sort(right);
        }
    }
    sort(&mut points);
    points.into_iter().map(|(i, _)| i).collect()
}
