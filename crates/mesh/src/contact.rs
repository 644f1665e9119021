//! Where different conductors touch: along lines, where their mutual capacitance has no bound, or
//! at points.
//!
//! The charge between two conductors at different potentials that meet in a line grows like one
//! over the distance from it, and its integral like the logarithm of the element size: refinement
//! has no limit. At a point that two corners share the integral is finite. Vertices need not be
//! shared: hanging nodes, walls that stand on plates and the like are found too.

use crate::bvh::{Box3, Bvh, MIXED};
use crate::locate::distance_squared;
use crate::surface::Mesh;
use crate::vector::{Vector, add, cross, dot, max_norm, norm, scale, sub};
use crate::weld::ROUNDINGS;
use rayon::prelude::*;

/// Surfaces touch that are closer than this times the size of the smaller triangle, or than
/// coordinates are rounded by.
const TOUCHING: f64 = 1e-9;

/// A contact at least this many times as long as that distance is a line; shorter ones are points
/// where surfaces meet at a flat angle.
const LINE: f64 = 1e4;

/// How two triangles touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// In a line, or in an area that lines bound.
    Line,
    /// In a point.
    Point,
}

/// Two triangles of different conductors that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// How.
    pub touch: Touch,
    /// The triangles, the lower index first.
    pub triangles: [u32; 2],
    /// A place that they share.
    pub place: [f64; 3],
}

/// Finds the contacts between triangles of different conductors of a valid mesh
/// ([`Mesh::validate`]), lines first, each sort in the order of triangles. `conductor_of` has an
/// entry for each triangle, `None` for those that are in no conductor.
///
/// Surfaces that go through each other are not looked for: [`crate::intersect`] does that. O(n log
/// n) for surfaces.
pub fn contacts(mesh: &Mesh, conductor_of: &[Option<u32>]) -> Vec<Contact> {
    let members: Vec<(u32, u32)> =
        (0..).zip(conductor_of).filter_map(|(t, owner)| Some((t, (*owner)?))).collect();
    let Some(&(_, first)) = members.first() else { return Vec::new() };
    if members.iter().all(|(_, owner)| *owner == first) {
        return Vec::new();
    }
    let faces: Vec<Face> = members.par_iter().map(|&(t, _)| Face::of(mesh, t)).collect();
    let boxes: Vec<Box3> = faces.iter().map(Face::bounds).collect();
    let tree = Bvh::new(&boxes);
    let owners = tree.common(|member| members[member as usize].1);
    let mut found = tree.overlapping_leaves_but(
        |a, b| owners[a] == owners[b] && owners[a] != MIXED,
        |a, b, found| {
            let same = a.start == b.start;
            for (i, &s) in tree.members(a).iter().enumerate() {
                let others = tree.members(b);
                for &t in if same { &others[i + 1..] } else { others } {
                    let (s, t) = (s as usize, t as usize);
                    if members[s].1 != members[t].1
                        && boxes[s].overlaps(&boxes[t])
                        && let Some((touch, place)) = faces[s].touches(&faces[t])
                    {
                        let (s, t) = (members[s].0, members[t].0);
                        found.push(Contact { touch, triangles: [s.min(t), s.max(t)], place });
                    }
                }
            }
        },
    );
    found.sort_unstable_by_key(|contact| (contact.touch, contact.triangles));
    found
}

/// A triangle with what it is compared by.
struct Face {
    corners: [Vector; 3],
    /// Longest side.
    size: f64,
    /// What its coordinates are rounded by.
    rounding: f64,
}

impl Face {
    fn of(mesh: &Mesh, triangle: u32) -> Self {
        let corners = mesh.corners(triangle as usize);
        let [a, b, c] = corners;
        let size = norm(sub(b, a)).max(norm(sub(c, b))).max(norm(sub(a, c)));
        let largest = corners.map(max_norm).into_iter().fold(0.0, f64::max);
        Self { corners, size, rounding: ROUNDINGS * f64::EPSILON * largest }
    }

    fn bounds(&self) -> Box3 {
        let margin = TOUCHING * self.size + self.rounding;
        let Box3 { low, high } = Box3::around(&self.corners);
        Box3 { low: low.map(|x| x - margin), high: high.map(|x| x + margin) }
    }

    /// Whether and where this triangle and another touch.
    fn touches(&self, other: &Self) -> Option<(Touch, Vector)> {
        let near = TOUCHING * self.size.min(other.size) + self.rounding.max(other.rounding);
        let sides = |face: &Self| {
            let [a, b, c] = face.corners;
            [[a, b], [b, c], [c, a]]
        };
        let pairs = [(self, other), (other, self)];
        let lines = pairs.into_iter().flat_map(|(face, on)| sides(face).map(|side| (side, on)));
        if let Some(place) = lines.into_iter().find_map(|(side, on)| shared(side, on.corners, near))
        {
            return Some((Touch::Line, place));
        }
        let corners =
            pairs.into_iter().flat_map(|(face, on)| face.corners.map(|corner| (corner, on)));
        let touching =
            |(corner, on): &(Vector, &Self)| distance_squared(*corner, on.corners) <= near * near;
        if let Some((place, _)) = corners.into_iter().find(touching) {
            return Some((Touch::Point, place));
        }
        let crossing = sides(self)
            .into_iter()
            .flat_map(|side| sides(other).map(|across| (side, across)))
            .find_map(|(side, across)| crossing(side, across, near));
        crossing.map(|place| (Touch::Point, place))
    }
}

/// The middle of the part of a segment that lies within `near` of a triangle's plane and sides, if
/// that is a line.
fn shared([p, q]: [Vector; 2], [a, b, c]: [Vector; 3], near: f64) -> Option<Vector> {
    let along = sub(q, p);
    let normal = cross(sub(b, a), sub(c, a));
    let area = norm(normal);
    if area == 0.0 {
        return None;
    }
    let normal = scale(1.0 / area, normal);
    let (mut from, mut to) = (0.0f64, 1.0f64);
    // Keeps of the segment where a linear function of it is -near or more.
    let mut keep = |at_p: f64, slope: f64| {
        let (start, room) = (at_p + near, at_p + near + slope);
        if start < 0.0 && room < 0.0 {
            to = -1.0;
        } else if start < 0.0 {
            from = from.max(-start / slope);
        } else if room < 0.0 {
            to = to.min(-start / slope);
        }
    };
    let height = dot(normal, sub(p, a));
    let climb = dot(normal, along);
    keep(height, climb);
    keep(-height, -climb);
    for (r, s) in [(a, b), (b, c), (c, a)] {
        let side = sub(s, r);
        let inward = scale(1.0 / norm(side), cross(normal, side));
        keep(dot(inward, sub(p, r)), dot(inward, along));
    }
    let length = (to - from) * norm(along);
    (length > LINE * near).then(|| add(p, scale(f64::midpoint(from, to), along)))
}

/// Where two segments come within `near` of each other, if they do and are not parallel.
fn crossing([p, q]: [Vector; 2], [r, s]: [Vector; 2], near: f64) -> Option<Vector> {
    let (u, v, w) = (sub(q, p), sub(s, r), sub(p, r));
    let (uu, vv, uv) = (dot(u, u), dot(v, v), dot(u, v));
    let (uw, vw) = (dot(u, w), dot(v, w));
    let determinant = uu * vv - uv * uv;
    if determinant <= 1e-12 * uu * vv {
        return None;
    }
    let on_first = ((uv * vw - uw * vv) / determinant).clamp(0.0, 1.0);
    let on_second = ((uv * on_first + vw) / vv).clamp(0.0, 1.0);
    let place = add(p, scale(on_first, u));
    (norm(sub(place, add(r, scale(on_second, v)))) <= near).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cube, Plate, Resolution};
    use crate::join::joined;

    /// Two bodies, the second moved, as two conductors; and the same at other sizes and places,
    /// where nothing may change.
    fn touches(first: &Mesh, second: &Mesh, shift: Vector) -> Option<Touch> {
        let mut other = second.clone();
        for vertex in &mut other.vertices {
            *vertex = add(*vertex, shift);
        }
        let both = joined(vec![("a".into(), first.clone()), ("b".into(), other)]);
        let owner = |t: usize| Some(u32::from(t >= first.triangles.len()));
        let owners: Vec<_> = (0..both.triangles.len()).map(owner).collect();
        let mut found = Vec::new();
        for (factor, origin) in [(1.0, 0.0), (1e-9, 0.0), (1e9, 3.0), (1.0, -700.0)] {
            let mut mesh = both.clone();
            for vertex in &mut mesh.vertices {
                *vertex = vertex.map(|x| factor * (x + origin));
            }
            found.push(contacts(&mesh, &owners).first().map(|contact| contact.touch));
            // In one conductor there are none, whatever touches.
            assert_eq!(contacts(&mesh, &vec![Some(3); mesh.triangles.len()]), []);
        }
        assert!(found.iter().all(|touch| *touch == found[0]), "{shift:?}: {found:?}");
        found[0]
    }

    fn cube(edge: f64, elements: usize) -> Mesh {
        Cube { edge, grade: 1.0, resolution: Resolution::Elements(elements) }.build().unwrap()
    }

    #[test]
    fn lines_and_points_of_contact_are_found_with_and_without_common_vertices() {
        // 2 x 2, 3 x 3 and 5 x 5 squares a face: no vertices in common but at corners.
        let (two, three, five) = (cube(1.0, 48), cube(1.0, 108), cube(0.5, 300));
        let along_an_edge = [1.0, 1.0, 0.0];
        assert_eq!(touches(&two, &two, along_an_edge), Some(Touch::Line));
        assert_eq!(touches(&two, &three, along_an_edge), Some(Touch::Line));
        assert_eq!(touches(&two, &three, [1.0, 1.0, 0.37]), Some(Touch::Line));
        assert_eq!(touches(&two, &three, [1.0, 1.0, 1.0]), Some(Touch::Point));
        // An edge on a face, and a face on a face, which shares no corner with it.
        assert_eq!(touches(&two, &five, [0.1, 0.75, 0.05]), Some(Touch::Line));
        // The same with a gap of 1e-6, and apart.
        assert_eq!(touches(&two, &two, [1.000001, 1.0, 0.0]), None);
        assert_eq!(touches(&two, &three, [1.0, 1.000001, 0.37]), None);
        assert_eq!(touches(&two, &five, [0.1, 0.750001, 0.05]), None);
        assert_eq!(touches(&two, &two, [3.0, 0.0, 0.0]), None);
    }

    #[test]
    fn walls_on_plates_and_crossing_edges_are_found() {
        let plate = |width: f64, height: f64, elements: usize| {
            let resolution = Resolution::Elements(elements);
            Plate { width, height, grade: 1.0, resolution }.build().unwrap()
        };
        let floor = plate(2.0, 2.0, 32);
        // Upright, its lower side in the floor or above it.
        let mut wall = plate(0.7, 1.0, 18);
        for vertex in &mut wall.vertices {
            *vertex = [vertex[0], 0.01, vertex[1] + 0.5];
        }
        assert_eq!(touches(&floor, &wall, [0.03, 0.0, 0.0]), Some(Touch::Line));
        assert_eq!(touches(&floor, &wall, [0.03, 0.0, 1e-7]), None);
        // On a corner of its own; by an edge across the floor's edge.
        let mut tilted = wall.clone();
        for vertex in &mut tilted.vertices {
            let [x, y, z] = *vertex;
            let (x, z) = (0.8 * (x + 0.35) - 0.6 * z, 0.6 * (x + 0.35) + 0.8 * z);
            *vertex = [x, y, z];
        }
        assert_eq!(touches(&floor, &tilted, [0.0; 3]), Some(Touch::Point));
        let mut lower = wall.clone();
        for vertex in &mut lower.vertices {
            *vertex = [0.2 - vertex[2], 1.0 + vertex[0], -vertex[0]];
        }
        assert_eq!(touches(&floor, &lower, [0.01, 0.0, 0.0]), Some(Touch::Line));
    }
}
