//! Triangles of next to no area, removed while the surface stays closed.

use super::report::{List, What};
use super::steps;
use super::triangles::{is_flat, lengths, retain};
use super::web::Web;
use crate::geometry::quality::relative_height;
use crate::surface::Mesh;
use crate::topology::disjoint::DisjointSets;
use crate::vector::Vector;

/// Passes over the remaining triangles.
const PASSES: usize = 20;

/// A side is drawn together if it is less than this times the longest.
const SHORT: f64 = 0.6;

/// Removes triangles that are lower than `tolerance` times their longest side: a short side is
/// drawn together, a long one swapped for the other diagonal.
pub(super) fn remove(mesh: &mut Mesh, tolerance: f64, list: &mut List) {
    let is_sliver = |corners: [Vector; 3]| relative_height(corners) < tolerance || is_flat(corners);
    let mut web = Web::new(mesh);
    let [mut collapsed, mut swapped]: [Vec<Vector>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..PASSES {
        let mut thin: Vec<(f64, u32)> = (0..web.alive.len())
            .filter(|&t| web.alive[t] && is_sliver(web.mesh.corners(t)))
            .map(|t| (web.height(t as u32), t as u32))
            .collect();
        thin.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut changed = false;
        for (_, t) in thin {
            let corners = web.mesh.corners(t as usize);
            if !web.alive[t as usize] || !is_sliver(corners) {
                continue;
            }
            match fix(&mut web, t, tolerance) {
                Some(What::Collapsed) => collapsed.push(corners[0]),
                Some(_) => swapped.push(corners[0]),
                None => continue,
            }
            changed = true;
        }
        if !changed {
            break;
        }
    }
    let alive = std::mem::take(&mut web.alive);
    if alive.contains(&false) {
        retain(mesh, &alive);
        mesh.drop_unused();
    }
    for (what, places) in [(What::Collapsed, collapsed), (What::Swapped, swapped)] {
        list.add(what, places.len(), places.first().copied().unwrap_or_default());
    }
    steps::drop_flat_parts(mesh, list);
}

/// Makes one vertex of the ends of sides that are shorter than `tolerance` times the others of
/// their triangle and could not be drawn together, since the surface touches itself there: the
/// caller has then to part its sheets. Whether there were any.
pub(super) fn weld(mesh: &mut Mesh, tolerance: f64, list: &mut List) -> bool {
    let mut sets = DisjointSets::new(mesh.vertices.len());
    let (mut count, mut place) = (0, [0.0; 3]);
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        if relative_height(corners) >= tolerance {
            continue;
        }
        let [a, b, c] = mesh.triangles[t];
        let lengths = lengths(corners);
        let longest = lengths.into_iter().fold(0.0, f64::max);
        for ((a, b), length) in [(a, b), (b, c), (c, a)].into_iter().zip(lengths) {
            if length < tolerance * longest && sets.root(a) != sets.root(b) {
                sets.join(a, b);
                count += 1;
                place = corners[0];
            }
        }
    }
    mesh.triangles.iter_mut().flatten().for_each(|v| *v = sets.root(*v));
    list.add(What::Collapsed, count, place);
    count > 0
}

/// Removes one by the change that leaves the surface most nearly where it was; what was done.
fn fix(web: &mut Web<'_>, t: u32, least: f64) -> Option<What> {
    let [a, b, c] = web.mesh.triangles[t as usize];
    let lengths = lengths(web.mesh.corners(t as usize));
    let longest = lengths.into_iter().fold(0.0, f64::max);
    let mut changes = Vec::with_capacity(9);
    for ((a, b), length) in [(a, b), (b, c), (c, a)].into_iter().zip(lengths) {
        if length < SHORT * longest {
            changes.push((web.cost_of_collapse(a, b), What::Collapsed, a, b));
            changes.push((web.cost_of_collapse(b, a), What::Collapsed, b, a));
        } else {
            changes.push((web.cost_of_swap(a, b), What::Swapped, a, b));
        }
    }
    changes.sort_by(|p, q| p.0.total_cmp(&q.0));
    let done = changes.into_iter().find(|&(_, what, a, b)| match what {
        What::Collapsed => web.collapse(a, b, least),
        _ => web.swap(a, b),
    });
    done.map(|(_, what, ..)| what)
}
