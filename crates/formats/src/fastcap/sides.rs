//! On which side each medium of metal is whose panels name one medium each.

use std::collections::HashMap;

use mesh::files::{Cause, FormatError};
use mesh::locate::Locator;
use mesh::polygon::area_vector;
use mesh::vector::{cross, dot, norm, sub};

use super::triangles::Triangles;
use crate::roles::Role;

/// Cosine of the angle up to which a neighbour goes on in the same plane.
const LEVEL: f64 = 0.99;

/// Decides for all triangles that are `open`: first by neighbours in the same plane, then by what
/// lies across the space next to them.
pub(super) fn choose_sides(
    triangles: &mut Triangles,
    mut open: Vec<bool>,
) -> Result<(), FormatError> {
    if !open.contains(&true) {
        return Ok(());
    }
    let mut decided: Vec<usize> = (0..open.len()).filter(|&t| !open[t]).collect();
    let neighbours = neighbours(triangles);
    spread(triangles, &neighbours, &mut open, &mut decided);
    if open.contains(&true) {
        look_around(triangles, &mut open, &mut decided);
        spread(triangles, &neighbours, &mut open, &mut decided);
    }
    match open.iter().position(|open| *open) {
        None => Ok(()),
        Some(t) => {
            let message = format!(
                "the panel in {} is metal between two media, and it is not given which is on which side: give it by one B line with a \
                 reference point",
                triangles.place(t)
            );
            Err(Cause::Other(message).on_line(triangles.line(t)))
        }
    }
}

/// Per edge, lower vertex first: its triangles, and whether each runs through it from there.
type Neighbours = HashMap<[u32; 2], Vec<(usize, bool)>>;

/// The edges of a triangle from vertex to vertex.
fn edges(corners: [u32; 3]) -> [[u32; 2]; 3] {
    [0, 1, 2].map(|k| [corners[k], corners[(k + 1) % 3]])
}

fn neighbours(triangles: &Triangles) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for (t, corners) in triangles.mesh.triangles.iter().enumerate() {
        for [a, b] in edges(*corners) {
            neighbours.entry([a.min(b), a.max(b)]).or_default().push((t, a < b));
        }
    }
    neighbours
}

/// Gives open neighbours of decided triangles in their plane the same media on the same sides.
fn spread(
    triangles: &mut Triangles,
    neighbours: &Neighbours,
    open: &mut [bool],
    decided: &mut Vec<usize>,
) {
    while let Some(s) = decided.pop() {
        for [a, b] in edges(triangles.mesh.triangles[s]) {
            for &(t, forth) in &neighbours[&[a.min(b), a.max(b)]] {
                if open[t] && goes_on(triangles, s, t) {
                    let mut sides = triangles.role(s).sides;
                    // Neighbours that face one side run through their edge in opposite directions.
                    if forth == (a < b) {
                        sides.reverse();
                    }
                    triangles.set_role(t, Role { sides, ..triangles.role(t) });
                    open[t] = false;
                    decided.push(t);
                }
            }
        }
    }
}

/// Whether a triangle lies between the same two media as another in its plane.
fn goes_on(triangles: &Triangles, s: usize, t: usize) -> bool {
    let [[a, b], [c, d]] = [s, t].map(|t| triangles.role(t).sides);
    let [n, m] = [s, t].map(|t| area_vector(&triangles.mesh.corners(t)));
    ([a, b] == [c, d] || [b, a] == [c, d]) && dot(n, m).abs() > LEVEL * norm(n) * norm(m)
}

/// Decides by the medium in which a line straight up or down ends.
fn look_around(triangles: &mut Triangles, open: &mut [bool], decided: &mut Vec<usize>) {
    let locator = Locator::new(&triangles.mesh);
    let is_open: Vec<usize> = (0..open.len()).filter(|&t| open[t]).collect();
    for t in is_open {
        let [a, b, c] = triangles.mesh.corners(t);
        let centre = std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0);
        let normal = cross(sub(b, a), sub(c, a));
        let role = triangles.role(t);
        let [x, y] = role.sides;
        // Whether the first medium is in front.
        let straight = [0, 1].into_iter().find_map(|side| {
            let direction = if side == 0 { normal } else { normal.map(|x| -x) };
            let hit = locator.first_hit(centre, direction, t as u32)?;
            let other = hit.triangle as usize;
            let medium = triangles.role(other).sides[usize::from(hit.is_along_normal)];
            let known = !open[other] && (medium == x || medium == y);
            known.then_some((medium == x) == (side == 0))
        });
        if let Some(straight) = straight {
            let sides = if straight { [x, y] } else { [y, x] };
            triangles.set_role(t, Role { sides, ..role });
            open[t] = false;
            decided.push(t);
        }
    }
}
