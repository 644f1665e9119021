//! The cells into which surfaces divide space, from the triangles around every edge.
//!
//! Each triangle has two sides. Around an edge, in the order of their angles, the side of one
//! triangle and the facing side of the next look into the same cell; sides joined in this way are
//! the boundary of one cell. A cell whose boundary has several parts, as a shell has, comes as one
//! closed surface for each part.

use crate::disjoint::DisjointSets;
use crate::orient;
use crate::regions::{Region, enclosed_volume, part};
use crate::surface::Mesh;
use crate::topology::Sides;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{ConcentricSpheres, Cube, Resolution, SphereBase};

    /// A cube of edge 2 with a wall in the plane x = 0, on which half of a sheet juts out.
    fn walled() -> Mesh {
        let resolution = Resolution::Elements(48);
        let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
        let vertex = |x: [f64; 3]| {
            mesh.vertices.iter().position(|v| norm(sub(*v, x)) < 1e-9).unwrap() as u32
        };
        let corners = [[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]];
        let middles = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];
        let ring: Vec<u32> =
            (0..4).flat_map(|k| [vertex(corners[k]), vertex(middles[k])]).collect();
        let bottom = vertex([0.0, 0.0, -1.0]);
        mesh.vertices.push([0.0; 3]);
        mesh.vertices.push([0.5, 0.0, -0.5]);
        let centre = mesh.vertices.len() as u32 - 2;
        for k in 0..8 {
            let (a, b) = (ring[k], ring[(k + 1) % 8]);
            // Whichever way round.
            mesh.triangles.push(if k % 2 == 0 { [a, b, centre] } else { [b, a, centre] });
        }
        mesh.triangles.push([bottom, centre, centre + 1]);
        mesh.membership.resize(mesh.triangles.len(), 0);
        mesh
    }

    #[test]
    fn a_wall_makes_two_cells_and_a_sheet_none() {
        let mut mesh = walled();
        mesh.triangles.iter_mut().step_by(3).for_each(|t| t.swap(0, 1));
        let found = bounded(&mesh, |_| true);
        assert_eq!(found.len(), 2);
        for region in &found {
            assert!((region.volume - 4.0).abs() < 1e-12, "{}", region.volume);
            // Five faces, four of them half, and the wall.
            assert_eq!(region.boundary.len(), 24 + 8);
        }
        let inside = |x: f64| -> Vec<bool> {
            found.iter().map(|region| region.contains([x, 0.3, 0.2])).collect()
        };
        let (left, right) = (inside(-0.5), inside(0.5));
        assert!(left != right && left.iter().filter(|is| **is).count() == 1, "{left:?} {right:?}");
        assert_eq!(right.iter().filter(|is| **is).count(), 1);
    }

    /// A lens: two triangles with the same corners and sides, and one through the middle, flat.
    #[test]
    fn triangles_on_the_same_corners_bound_the_space_between_them() {
        let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mut mesh = Mesh {
            vertices: corners.to_vec(),
            triangles: vec![[0, 1, 2]; 3],
            membership: vec![0; 3],
            memberships: vec![vec![]],
            ..Mesh::default()
        };
        let mut patches = crate::surface::Patches::straight(&mesh, 3);
        for (t, height) in [(0, 0.2), (1, -0.1)] {
            patches.of_mut(t)[9][2] = height;
        }
        mesh.patches = Some(patches);
        assert!(crate::check::Defects::of(&mesh).is_empty());
        let mut volumes: Vec<f64> = bounded(&mesh, |_| true).iter().map(|r| r.volume).collect();
        volumes.sort_by(f64::total_cmp);
        // The bubble 27 u v w has an integral of 9 / 40 of the area.
        let expected = [0.1, 0.2].map(|height| height * 0.5 * 9.0 / 20.0);
        assert_eq!(volumes.len(), 2);
        assert!(
            volumes.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12),
            "{volumes:?} {expected:?}"
        );
        let mut same = mesh.clone();
        same.triangles.push([1, 0, 2]);
        same.membership.push(0);
        let patches = same.patches.as_mut().unwrap();
        patches.nodes.extend_from_within(10..20);
        crate::curved::reverse(3, patches.of_mut(3));
        patches.of_mut(3).copy_from_slice(&turned(mesh.patches.as_ref().unwrap().of(1)));
        same.validate().unwrap();
        assert_eq!(crate::check::Defects::of(&same).duplicates.len(), 1);
    }

    /// The nodes of a triangle that begins at the second corner and goes the other way round.
    fn turned(nodes: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let places = crate::patch::node_places(3);
        let from = |place: &[usize; 3]| {
            places.iter().position(|p| *p == [place[1], place[0], place[2]]).unwrap()
        };
        places.iter().map(|place| nodes[from(place)]).collect()
    }

    #[test]
    fn parts_without_common_edges_are_surfaces_of_their_own() {
        let (resolution, base) = (Resolution::Elements(144), SphereBase::Octahedron);
        let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
        let mesh = spheres.build().unwrap();
        let found = bounded(&mesh, |_| true);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|region| region.contains([0.1, 0.2, 0.0])));
        // Open, it encloses nothing.
        assert_eq!(bounded(&mesh, |t| t > 0).len(), 1);
    }
}
