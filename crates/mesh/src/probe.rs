//! Curved triangles and a point or a line: solid angle, distance, where they meet.
//!
//! What is far away, compared with how far a part is off from its flat triangle, counts as flat;
//! the rest is cut into quarters, each of which is off by a fourth.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::bezier::{Bezier, longest};
use crate::locate::{self, distance_squared};
use crate::vector::{Vector, norm};

/// A part counts as flat from a distance of so many times what it is off.
const FAR: f64 = 4.0;

/// Quarterings, at most: more than digits tell apart.
const DEPTH: u32 = 24;

/// A part is flat for a line that is off by less than this share of the size of its triangle: less
/// than the rims at which lines are not believed.
const FLAT: f64 = 1e-8;

/// Distances are exact to this share of themselves, or of the size of the surface...
const EXACT: f64 = 1e-6;
const ROUNDING: f64 = 1e-14;

/// ... or, where more parts than `MANY` are almost as close, to this share.
const CLOSE: f64 = 1e-3;
const MANY: usize = 200;

/// Parts that are looked at, at most.
const MOST: usize = 100_000;

/// Whether a triangle counts as flat from a point.
pub(crate) fn is_far(point: Vector, corners: [Vector; 3], bulge: f64) -> bool {
    distance_squared(point, corners) > (FAR * bulge) * (FAR * bulge)
}

/// The solid angle under which a point sees a curved triangle, but for narrow strips between its
/// sides and those of flat parts, which triangles that share a side see from both sides.
pub(crate) fn solid_angle(point: Vector, patch: Bezier) -> f64 {
    let mut sum = 0.0;
    let mut open = vec![(patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let corners = patch.corners();
        if depth == DEPTH || is_far(point, corners, patch.bulge()) {
            sum += locate::solid_angle(point, corners);
        } else {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
    sum
}

/// Whether a point is within a distance of a curved triangle.
pub(crate) fn is_on(point: Vector, patch: &Bezier, near: f64) -> bool {
    let mut open = vec![(*patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let distance = distance_squared(point, patch.corners()).sqrt();
        let bulge = patch.bulge();
        if distance + bulge <= near {
            return true;
        }
        if distance - bulge <= near && depth < DEPTH {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
    false
}

/// Visits flat parts of a curved triangle, corners in its order, that a line from a point may meet.
pub(crate) fn meetings(
    from: Vector,
    direction: Vector,
    patch: Bezier,
    mut visit: impl FnMut([Vector; 3]),
) {
    let flat = FLAT * longest(patch.corners());
    let mut open = vec![(patch, 0)];
    while let Some((patch, depth)) = open.pop() {
        let mut bounds = patch.bounds();
        // Flat ones are no thicker than rounding.
        let margin = flat
            + ROUNDING * bounds.low.iter().chain(&bounds.high).fold(0.0f64, |m, x| m.max(x.abs()));
        bounds.low.iter_mut().for_each(|x| *x -= margin);
        bounds.high.iter_mut().for_each(|x| *x += margin);
        if !bounds.is_met_by(from, direction, f64::INFINITY) {
            continue;
        }
        if depth == DEPTH || patch.bulge() <= flat {
            visit(patch.corners());
        } else {
            open.extend(patch.quarters().map(|part| (part, depth + 1)));
        }
    }
}

/// A part whose distance is to be found.
struct Part {
    triangle: u32,
    /// No point of it is closer.
    least: f64,
    patch: Bezier,
    depth: u32,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    /// The closest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.least.total_cmp(&self.least)
    }
}

/// The search for the nearest of many curved triangles.
pub(crate) struct Search {
    point: Vector,
    /// Size of the surface.
    size: f64,
    open: BinaryHeap<Part>,
    /// A distance at which there is a point, and its triangle.
    found: f64,
    triangle: Option<u32>,
}

impl Search {
    /// From a point to a surface of some size.
    pub fn new(point: Vector, size: f64) -> Self {
        Self { point, size, open: BinaryHeap::new(), found: f64::INFINITY, triangle: None }
    }

    /// What is not closer than this needs not be added.
    pub fn most(&self) -> f64 {
        self.found
    }

    /// Adds a triangle that is off by `bulge` from a flat one at some distance.
    pub fn add(&mut self, triangle: u32, distance: f64, bulge: f64, patch: impl Fn() -> Bezier) {
        let least = (distance - bulge).max(0.0);
        if least >= self.found {
            return;
        }
        if bulge == 0.0 {
            (self.found, self.triangle) = (distance, Some(triangle));
            return;
        }
        let patch = patch();
        self.reach(triangle, &patch, distance + bulge);
        self.open.push(Part { triangle, least, patch, depth: 0 });
    }

    /// Takes in that a part has a point within a distance.
    fn reach(&mut self, triangle: u32, patch: &Bezier, within: f64) {
        let corner = patch.corners().map(|x| norm(crate::vector::sub(x, self.point)));
        let within = corner.into_iter().fold(within, f64::min);
        if within < self.found {
            (self.found, self.triangle) = (within, Some(triangle));
        }
    }

    /// The nearest triangle and its distance.
    pub fn finish(mut self) -> Option<(u32, f64)> {
        let mut seen = 0;
        while let Some(part) = self.open.pop() {
            seen += 1;
            let share = if seen > MANY { CLOSE } else { EXACT };
            let exact = (share * self.found).max(ROUNDING * self.size);
            if part.least >= self.found - exact || part.depth == DEPTH || seen > MOST {
                break;
            }
            for patch in part.patch.quarters() {
                let distance = distance_squared(self.point, patch.corners()).sqrt();
                let bulge = patch.bulge();
                let least = (distance - bulge).max(part.least);
                if least < self.found {
                    self.reach(part.triangle, &patch, distance + bulge);
                    let depth = part.depth + 1;
                    self.open.push(Part { triangle: part.triangle, least, patch, depth });
                }
            }
        }
        Some((self.triangle?, self.found))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::curved;
    use crate::generate::{Ellipsoid, Resolution, Sphere, SphereBase, Torus};
    use crate::locate::Locator;
    use crate::patch::MAX_ORDER;
    use crate::refine;
    use crate::surface::Mesh;
    use crate::vector::{add, dot, scale, sub};

    fn random(mut seed: u64) -> impl FnMut() -> f64 {
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn meshes(order: usize) -> Vec<Mesh> {
        let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(32));
        let fine = Resolution::Elements(80);
        let sphere = |base, resolution| {
            Sphere { radius: 1.3, base, resolution }.build_curved(order).unwrap()
        };
        vec![
            sphere(base, resolution),
            sphere(SphereBase::Icosahedron, fine),
            Ellipsoid { semi_axes: [1.0, 0.4, 2.0], base, resolution: Resolution::Elements(128) }
                .build_curved(order)
                .unwrap(),
            Torus { ring_radius: 1.0, tube_radius: 0.6, resolution: Resolution::Elements(128) }
                .build_curved(order)
                .unwrap(),
        ]
    }

    #[test]
    fn points_next_to_curved_triangles_are_inside_or_outside_of_them() {
        let mut random = random(5);
        for order in 2..=MAX_ORDER {
            for (index, mesh) in meshes(order).iter().enumerate() {
                let locator = Locator::new(mesh);
                let patches = mesh.patches.as_ref().unwrap();
                for t in (0..mesh.triangles.len()).cycle().take(120) {
                    let bulge = Bezier::of(order, patches.of(t)).bulge();
                    let (u, v) = (random(), random());
                    let [b, c] = if u + v > 1.0 { [1.0 - u, 1.0 - v] } else { [u, v] };
                    // Within, on sides, and at corners.
                    for at in [[1.0 - b - c, b, c], [1.0 - b, b, 0.0]] {
                        let x = mesh.point(t, at);
                        let normal = curved::area_normal(order, patches.of(t), at);
                        let normal = scale(1.0 / norm(normal), normal);
                        for (height, inside) in
                            [(-1e-3, true), (1e-3, false), (-0.1, true), (0.1, false)]
                        {
                            let point = add(x, scale(height * bulge, normal));
                            let found = locator.winding_number(point);
                            assert!(
                                (found - if inside { 1.0 } else { 0.0 }).abs() < 0.3,
                                "{order} {index}: {t} {at:?} {height} {found}"
                            );
                            let near = locator.nearest(point).unwrap().distance;
                            let least = 0.9 * height.abs() * bulge;
                            assert!(near <= height.abs() * bulge * (1.0 + 2e-6), "{near}");
                            assert!(
                                at[2] == 0.0 || height.abs() > 0.01 || near > least,
                                "{order} {index}"
                            );
                        }
                        assert!(locator.nearest(x).unwrap().distance < 1e-13);
                    }
                }
            }
        }
    }

    /// As the 64 flat parts of each triangle, but for what these are off.
    #[test]
    fn distances_windings_and_lines_are_those_of_many_flat_parts() {
        let mut random = random(9);
        for order in 2..=MAX_ORDER {
            for mesh in meshes(order) {
                let mut fine = mesh.clone();
                for _ in 0..3 {
                    fine = refine::uniform(&fine, |_, _| [f64::NAN; 3]).unwrap();
                }
                let patches = fine.patches.as_ref().unwrap();
                let off = (0..fine.triangles.len())
                    .map(|t| Bezier::of(order, patches.of(t)).bulge())
                    .fold(0.0, f64::max);
                let flat = Locator::new(&Mesh { patches: None, ..fine });
                let locator = Locator::new(&mesh);
                let (mut lines, mut beside) = (0, 0);
                for _ in 0..300 {
                    let mut point = || std::array::from_fn(|_| 4.0 * random() - 2.0);
                    let (x, y): (Vector, Vector) = (point(), point());
                    let (near, expected) = (locator.nearest(x).unwrap(), flat.nearest(x).unwrap());
                    let distance = expected.distance;
                    assert!((near.distance - distance).abs() <= off + 1.1e-3 * distance);
                    if distance > off {
                        assert_eq!(locator.contains(x), flat.contains(x), "{order} {x:?}");
                    }
                    let way = sub(y, x);
                    let (hit, other) =
                        (locator.first_hit(x, way, u32::MAX), flat.first_hit(x, way, u32::MAX));
                    let (Some(hit), Some(other)) = (hit, other) else { continue };
                    let cosine = {
                        let [a, b, c] = mesh.corners(hit.triangle as usize);
                        let normal = crate::vector::cross(sub(b, a), sub(c, a));
                        (dot(normal, way) / norm(normal) / norm(way)).abs()
                    };
                    if cosine > 0.5 {
                        lines += 1;
                        let gap = (hit.along - other.along).abs() * norm(way);
                        // Next to a side, and where the line grazes the surface, flat parts may be
                        // others.
                        let is_same = hit.triangle == other.triangle / 64 && gap <= 4.0 * off;
                        beside += usize::from(!is_same);
                    }
                }
                assert!(lines > 50 && beside <= lines / 20, "{lines} {beside}");
            }
        }
    }

    /// From the centre of a sphere all parts are as far.
    #[test]
    fn distances_from_a_centre_take_no_time() {
        let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(1280));
        let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(2).unwrap();
        let locator = Locator::new(&mesh);
        for _ in 0..100 {
            let near = locator.nearest([0.0; 3]).unwrap().distance;
            assert!((near - 1.0).abs() < 2e-3, "{near}");
        }
    }
}
