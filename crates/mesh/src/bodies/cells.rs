//! The cells into which surfaces divide space, from the triangles around every edge.
//!
//! Each triangle has two sides. Around an edge, in the order of their angles, the side of one
//! triangle and the facing side of the next look into the same cell; sides joined in this way are
//! the boundary of one cell. A cell whose boundary has several parts, as a shell has, comes as one
//! closed surface for each part.

use crate::bodies::orient;
use crate::bodies::regions::{Region, enclosed_volume, part};
use crate::surface::Mesh;
use crate::topology::Sides;
use crate::topology::disjoint::DisjointSets;
use crate::vector::{cross, dot, norm, scale, sub};

/// The bounded cells of the surface of the triangles that `keep` selects by index, each by the part
/// of its boundary that encloses it. Surfaces must meet in common edges. A sheet that ends within a
/// cell is no part of its boundary.
pub fn bounded(mesh: &Mesh, keep: impl Fn(usize) -> bool) -> Vec<Region> {
    let triangles: Vec<u32> =
        (0..mesh.triangles.len()).filter(|&t| keep(t)).map(|t| t as u32).collect();
    let kept = part(mesh, &triangles);
    // Side 2 t is that to which the normal of triangle t points, 2 t + 1 the other.
    let mut joined = DisjointSets::new(2 * triangles.len());
    let sides = Sides::of(&kept);
    for around in sides.edges() {
        let Some(first) = around.first() else { continue };
        let edge = [first.low, first.high];
        let [along, _] = kept.directions_at(first.triangle as usize, edge);
        let along = scale(1.0 / norm(along), along);
        // Directions across the edge, by their angles from that of the first triangle.
        let across = |t: u32| {
            let [_, to] = kept.directions_at(t as usize, edge);
            sub(to, scale(dot(to, along), along))
        };
        let zero = across(first.triangle);
        let quarter = cross(along, zero);
        let mut order: Vec<(f64, u32, bool)> = around
            .iter()
            .map(|side| {
                let to = across(side.triangle);
                (dot(to, quarter).atan2(dot(to, zero)), side.triangle, side.forward)
            })
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (k, &(_, t, forward)) in order.iter().enumerate() {
            let (_, next, next_forward) = order[(k + 1) % order.len()];
            // The normal of a triangle that runs along the edge points to where angles grow.
            let growing = 2 * t + u32::from(!forward);
            let falling = 2 * next + u32::from(next_forward);
            joined.join(growing, falling);
        }
    }
    let mut cells: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut index = vec![usize::MAX; 2 * triangles.len()];
    for side in 0..2 * triangles.len() as u32 {
        // Both sides in one cell: a sheet within it.
        if joined.root(side) == joined.root(side ^ 1) {
            continue;
        }
        let root = joined.root(side);
        if index[root as usize] == usize::MAX {
            index[root as usize] = cells.len();
            cells.push((root, Vec::new()));
        }
        cells[index[root as usize]].1.push(side);
    }
    cells.iter().filter_map(|(_, sides)| enclosed(mesh, &kept, &triangles, sides)).collect()
}

/// The space that these sides look into, if it is what they enclose.
fn enclosed(mesh: &Mesh, kept: &Mesh, triangles: &[u32], sides: &[u32]) -> Option<Region> {
    let of_kept: Vec<u32> = sides.iter().map(|side| side / 2).collect();
    let mut own = part(kept, &of_kept);
    // Normals out of the cell.
    let turned: Vec<bool> = sides.iter().map(|side| side % 2 == 0).collect();
    orient::turn(&mut own, &turned);
    let origin = own.corners(0)[0];
    let size = |t: usize| {
        let [a, b, c] = own.corners(t).map(|v| sub(v, origin));
        norm(a) * norm(cross(b, c)) / 6.0
    };
    let all = || 0..own.triangles.len();
    let (signed, absolute) = (enclosed_volume(&own), all().map(size).sum::<f64>());
    let of_mesh: Vec<u32> = sides.iter().map(|side| triangles[(side / 2) as usize]).collect();
    (signed > FLAT * absolute).then(|| Region::of(mesh, &of_mesh, &own, signed))
}

/// A volume below this share of the sum of its terms' sizes is rounding.
const FLAT: f64 = 1e-12;
