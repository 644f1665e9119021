//! Fringes of gaps much narrower than the triangles at them, which no estimate on a mesh finds.
//!
//! Between two conductors at a distance g the density ends at an edge within about g of it. On
//! triangles much higher than g that is a change of their charge which no residual at their own
//! points shows, since each sees the other side of the gap and no end of it. The missing energy is
//! that of a capacitance per length of the edge, which grows as the logarithm of the triangles'
//! size over g, as the field of an edge in two dimensions does.

use std::f64::consts::PI;

use mesh::Mesh;
use mesh::locate::Locator;
use mesh::quality::areas;
use mesh::vector::{self, Vector};
use parallel::prelude::*;

use crate::problem::{Problem, edges};

/// Capacitance over eps that is missing per length of one conductor's edge, over the logarithm:
/// measured on films of 1 : 1000 to 1 : 10 (docs/validation.md), where bars are to cover it.
const MISSING: f64 = 0.04;

/// Triangles this many gaps high show fringes.
const SHOWN: f64 = 2.0;

/// A side at an edge of a conductor that faces another, or a grounded plane.
struct Fringe {
    triangle: usize,
    side: usize,
    conductors: [Option<u32>; 2],
    energy: f64,
}

/// Adds to an estimate what fringes may hide, and to the sides along which to split for it. Returns
/// it for pairs of the problem's excited conductors, with its sign: charge that moves to edges of
/// both comes from what faces each other.
pub(crate) fn add(problem: &Problem, estimate: &mut bem::ErrorEstimate) -> Vec<Vec<f64>> {
    let all = problem.excited.len();
    let mut between = vec![vec![0.0; all]; all];
    // The excitation of each conductor.
    let mut excitation = vec![None; problem.conductors.names.len()];
    problem.excited.iter().zip(0..).for_each(|(&conductor, k)| excitation[conductor] = Some(k));
    for Fringe { triangle, side, conductors, energy } in fringes(problem) {
        // Each conductor of the two at 1 V has that across the gap.
        let both = || conductors.iter().flatten().filter_map(|c| excitation[*c as usize]);
        for i in both() {
            for j in both() {
                let (i, j): (usize, usize) = (i, j);
                estimate.of_conductors_at_most[i][j] += energy;
                between[i][j] += if i == j { energy } else { -energy };
            }
            // Where meshes are not refined there are none.
            if let Some(sides) = estimate.sides.get_mut(i) {
                for away in [1, 2] {
                    sides[triangle][(side + away) % 3] += 0.5 * energy;
                }
            }
        }
    }
    between
}

/// The lowest and the highest coordinates of the corners of some triangles.
fn bounding_box(mesh: &Mesh, triangles: &[u32]) -> [Vector; 2] {
    let corners = triangles.iter().flat_map(|&t| mesh.corners(t as usize));
    corners.fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], x| {
        [0, 1].map(|end| {
            std::array::from_fn(|k| if end == 0 { low[k].min(x[k]) } else { high[k].max(x[k]) })
        })
    })
}

/// All sides with fringes that the mesh hides.
fn fringes(problem: &Problem) -> Vec<Fringe> {
    let (mesh, owner) = (&problem.mesh, &problem.conductors.of_triangle);
    let grounded = problem.description.grounds();
    let mut parts = vec![Vec::new(); problem.conductors.names.len()];
    for (t, owner) in owner.iter().enumerate() {
        if let Some(part) = owner.and_then(|c| parts.get_mut(c as usize)) {
            part.push(t as u32);
        }
    }
    if parts.len() + grounded.len() < 2 {
        return Vec::new();
    }
    let boxes: Vec<[Vector; 2]> = parts.iter().map(|part| bounding_box(mesh, part)).collect();
    let parts: Vec<Locator> =
        parts.into_par_iter().map(|part| Locator::of_part(mesh, part)).collect();
    let sharp = edges::of(mesh, &edges::surfaces(problem));
    let areas = areas(mesh);
    let of_triangle = |t: usize| -> Vec<Fringe> {
        let Some(own) = owner[t] else { return Vec::new() };
        let corners = mesh.triangles[t];
        let mut found = Vec::new();
        for side in 0..3 {
            let (p, q) = (corners[side], corners[(side + 1) % 3]);
            if !sharp.is_sharp(p, q) {
                continue;
            }
            let [a, b] = [p, q].map(|v| mesh.vertices[v as usize]);
            let length = vector::norm(vector::sub(b, a));
            let height = 2.0 * areas[t] / length;
            let middle = vector::scale(0.5, vector::add(a, b));
            let is_near = |[low, high]: &[Vector; 2]| {
                let off = |k: usize| (low[k] - middle[k]).max(middle[k] - high[k]).max(0.0);
                vector::norm([off(0), off(1), off(2)]) * SHOWN < height
            };
            let to_planes = grounded.iter().map(|p| ((middle[p.axis] - p.at).abs(), None));
            let others = (0..parts.len()).filter(|&c| c as u32 != own && is_near(&boxes[c]));
            let to_others =
                others.filter_map(|c| Some((parts[c].nearest(middle)?.distance, Some(c as u32))));
            let nearest = to_planes.chain(to_others).min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((gap, other)) = nearest.filter(|(gap, _)| SHOWN * gap < height) else {
                continue;
            };
            let eps = match &problem.media {
                Some(media) => 0.5 * media.permittivity[t].iter().sum::<f64>(),
                None => problem.surroundings(t),
            };
            // A gap of nothing is a contact.
            let larger = (height / (SHOWN * gap)).min(1e6).ln();
            let energy = MISSING * larger * eps * length / (4.0 * PI);
            found.push(Fringe { triangle: t, side, conductors: [Some(own), other], energy });
        }
        found
    };
    (0..mesh.triangles.len()).into_par_iter().flat_map_iter(of_triangle).collect()
}
