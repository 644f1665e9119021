//! Local refinement: triangles are halved at their longest sides, until they are small enough next to some points.
//!
//! Longest-edge bisection (Rivara, Int. J. Numer. Meth. Engng. 20 (1984) 745): before a side is halved it has to be the longest of all
//! triangles that share it, so triangles around it are halved first. Angles do not fall below half of the smallest one there was, and
//! no vertex comes to lie within a side.

use std::collections::HashMap;

use crate::locate::distance_squared;
use crate::refine::Error;
use crate::surface::Mesh;
use crate::vector::{Vector, norm, sub};

/// A side, the smaller index first.
type Side = [u32; 2];

/// Halves triangles whose longest side is more than `ratio` times their distance from the nearest of `points`, and what has to be
/// halved for the mesh to stay conforming. `floor` is the least distance that counts, so that a point on the surface asks for no
/// more than sides of `ratio * floor`. Groups are inherited; the surface stays as it is.
///
/// The mesh is returned unchanged where nothing needs halving. O(n) expected, for points that are spread like the triangles.
///
/// # Errors
/// [`Error::TooMany`] beyond `most` triangles.
pub fn around_points(
    mesh: &Mesh,
    points: &[[f64; 3]],
    ratio: f64,
    floor: f64,
    most: usize,
) -> Result<Mesh, Error> {
    let mut halving = Halving::new(mesh);
    let near = Points::new(mesh, points, ratio);
    let mut waiting: Vec<(u32, Vec<u32>)> = Vec::new();
    for t in 0..mesh.triangles.len() as u32 {
        let close = near.reaching(halving.corners(t));
        if !close.is_empty() {
            waiting.push((t, close));
        }
    }
    if waiting.is_empty() {
        return Ok(mesh.clone());
    }
    // What is waiting is found again by its place: children take a place of their own, and are looked at in turn.
    while let Some((t, close)) = waiting.pop() {
        let too_long = |halving: &Halving| {
            let corners = halving.corners(t);
            let longest = halving.length(halving.longest(t));
            let reaching = |&k: &u32| {
                let distance = distance_squared(points[k as usize], corners).sqrt();
                longest > ratio * distance.max(floor)
            };
            close.iter().copied().filter(|k| reaching(k)).collect::<Vec<u32>>()
        };
        let close = too_long(&halving);
        if close.is_empty() {
            continue;
        }
        let before = halving.mesh.triangles.len();
        halving.halve(t);
        let after = halving.mesh.triangles.len();
        if after > most {
            return Err(Error::TooMany(after as u64));
        }
        waiting.push((t, close.clone()));
        // All that came of it: their own points are looked for anew, since they may be parts of neighbours.
        for child in before as u32..after as u32 {
            let close = near.reaching(halving.corners(child));
            if !close.is_empty() {
                waiting.push((child, close));
            }
        }
    }
    Ok(halving.mesh)
}

/// A mesh while triangles are halved.
struct Halving {
    mesh: Mesh,
    /// Triangles at each side.
    at: HashMap<Side, Vec<u32>>,
}

fn side(a: u32, b: u32) -> Side {
    [a.min(b), a.max(b)]
}

impl Halving {
    fn new(mesh: &Mesh) -> Self {
        let mut at: HashMap<Side, Vec<u32>> = HashMap::with_capacity(2 * mesh.triangles.len());
        for (t, &[a, b, c]) in (0..).zip(&mesh.triangles) {
            for side in [side(a, b), side(b, c), side(c, a)] {
                at.entry(side).or_default().push(t);
            }
        }
        Self { mesh: mesh.clone(), at }
    }

    fn corners(&self, t: u32) -> [Vector; 3] {
        self.mesh.corners(t as usize)
    }

    fn length(&self, [a, b]: Side) -> f64 {
        norm(sub(self.mesh.vertices[a as usize], self.mesh.vertices[b as usize]))
    }

    /// The longest side of a triangle; of equal ones that of the largest indices, so that triangles that share it agree.
    fn longest(&self, t: u32) -> Side {
        let [a, b, c] = self.mesh.triangles[t as usize];
        let mut longest = side(a, b);
        for other in [side(b, c), side(c, a)] {
            let (one, two) = (self.length(longest), self.length(other));
            if two > one || (two == one && other > longest) {
                longest = other;
            }
        }
        longest
    }

    /// Halves triangle `t` at its longest side, after others around it where that is not theirs.
    fn halve(&mut self, t: u32) {
        let mut path = vec![t];
        while let Some(&last) = path.last() {
            let longest = self.longest(last);
            let sharing = self.at.get(&longest).cloned().unwrap_or_default();
            // Sides grow along the path, so it ends.
            match sharing.iter().find(|&&other| self.longest(other) != longest) {
                Some(&other) => path.push(other),
                None => {
                    self.split(longest, &sharing);
                    path.pop();
                    // The one before has been given time to become the one whose side is halved next: it is looked at again.
                    path.retain(|waiting| !sharing.contains(waiting));
                }
            }
        }
    }

    /// Halves all triangles at a side.
    fn split(&mut self, [a, b]: Side, sharing: &[u32]) {
        let (p, q) = (self.mesh.vertices[a as usize], self.mesh.vertices[b as usize]);
        self.mesh.vertices.push(std::array::from_fn(|k| f64::midpoint(p[k], q[k])));
        let middle = (self.mesh.vertices.len() - 1) as u32;
        self.at.remove(&[a, b]);
        for &t in sharing {
            let corners = self.mesh.triangles[t as usize];
            let new = self.mesh.triangles.len() as u32;
            // t keeps the half at a, the new one has that at b.
            let half = |from: u32| corners.map(|v| if v == from { middle } else { v });
            self.mesh.triangles[t as usize] = half(b);
            self.mesh.triangles.push(half(a));
            self.mesh.membership.push(self.mesh.membership[t as usize]);
            let apex = corners.into_iter().find(|v| *v != a && *v != b).unwrap_or(middle);
            if let Some(at) = self.at.get_mut(&side(b, apex)) {
                at.iter_mut().filter(|other| **other == t).for_each(|other| *other = new);
            }
            self.at.entry(side(a, middle)).or_default().push(t);
            self.at.entry(side(b, middle)).or_default().push(new);
            self.at.entry(side(middle, apex)).or_default().extend([t, new]);
        }
    }
}

/// Points by cells of a grid.
struct Points<'a> {
    points: &'a [[f64; 3]],
    ratio: f64,
    cell: f64,
    cells: HashMap<[i64; 3], Vec<u32>>,
}

impl<'a> Points<'a> {
    fn new(mesh: &Mesh, points: &'a [[f64; 3]], ratio: f64) -> Self {
        let longest = (0..mesh.triangles.len()).map(|t| longest_side(mesh.corners(t)));
        // A triangle reaches as far as its longest side, and points matter as far as that over the ratio.
        let cell = longest.fold(0.0, f64::max) * (1.0 + 1.0 / ratio);
        let cell = if cell > 0.0 { cell } else { 1.0 };
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        for (k, point) in (0..).zip(points) {
            cells.entry(point.map(|x| (x / cell).floor() as i64)).or_default().push(k);
        }
        Self { points, ratio, cell, cells }
    }

    /// Points next to which a triangle with these corners is too large, if they lie as far away as it seems.
    fn reaching(&self, corners: [Vector; 3]) -> Vec<u32> {
        let longest = longest_side(corners);
        let [x, y, z] = corners[0].map(|x| (x / self.cell).floor() as i64);
        let mut found = Vec::new();
        for (dx, dy, dz) in
            (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| (i, j, k))))
        {
            for &k in self.cells.get(&[x + dx, y + dy, z + dz]).into_iter().flatten() {
                let distance = distance_squared(self.points[k as usize], corners).sqrt();
                if longest > self.ratio * distance {
                    found.push(k);
                }
            }
        }
        found
    }
}

fn longest_side([a, b, c]: [Vector; 3]) -> f64 {
    norm(sub(a, b)).max(norm(sub(b, c))).max(norm(sub(c, a)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cube, Resolution, Sphere, SphereBase};
    use crate::quality;
    use crate::topology::Topology;

    fn smallest_angle(mesh: &Mesh) -> f64 {
        (0..mesh.triangles.len())
            .flat_map(|t| {
                let [a, b, c] = mesh.corners(t);
                [(a, b, c), (b, c, a), (c, a, b)].map(|(a, b, c)| {
                    let (u, v) = (sub(b, a), sub(c, a));
                    (crate::vector::dot(u, v) / (norm(u) * norm(v))).clamp(-1.0, 1.0).acos()
                })
            })
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn triangles_next_to_points_are_small_and_the_surface_is_the_same() {
        let sphere = Sphere {
            radius: 1.0,
            base: SphereBase::Icosahedron,
            resolution: Resolution::Elements(320),
        };
        let cube = Cube { edge: 1.3, grade: 0.5, resolution: Resolution::Elements(432) };
        for mesh in [sphere.build().unwrap(), cube.build().unwrap()] {
            let middle = |t: usize| -> [f64; 3] {
                let [a, b, c] = mesh.corners(t);
                std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0)
            };
            let points =
                [middle(7).map(|x| 1.001 * x), mesh.vertices[20].map(|x| 1.0003 * x), middle(100)];
            let (ratio, floor) = (0.7, 1e-4);
            let fine = around_points(&mesh, &points, ratio, floor, 100_000).unwrap();
            fine.validate().unwrap();
            for t in 0..fine.triangles.len() {
                let corners = fine.corners(t);
                let distance = points
                    .iter()
                    .map(|p| distance_squared(*p, corners).sqrt())
                    .fold(f64::INFINITY, f64::min);
                assert!(longest_side(corners) <= ratio * distance.max(floor), "{t}");
            }
            // Graded: some 60 triangles for each halving of the distance, not thousands.
            let added = fine.triangles.len() - mesh.triangles.len();
            assert!(added > 300 && added < 5000, "{added}");
            let area = |mesh: &Mesh| quality::areas(mesh).iter().sum::<f64>();
            assert!((area(&fine) / area(&mesh) - 1.0).abs() < 1e-12);
            let topology = Topology::of(&fine);
            assert_eq!(topology.components.len(), 1);
            let volume = |mesh: &Mesh| Topology::of(mesh).whole.signed_volume;
            assert!((volume(&fine) / volume(&mesh) - 1.0).abs() < 1e-12);
            assert!(smallest_angle(&fine) > 0.499 * smallest_angle(&mesh));
        }
    }

    #[test]
    fn what_needs_nothing_stays_and_too_much_is_an_error() {
        let cube = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(192) };
        let mesh = cube.build().unwrap();
        assert_eq!(around_points(&mesh, &[[0.0; 3]], 1.0, 1e-9, 1000).unwrap(), mesh);
        assert_eq!(around_points(&mesh, &[], 1.0, 1e-9, 1000).unwrap(), mesh);
        let close = [[0.1, 0.1, 0.5 + 1e-6]];
        assert!(matches!(around_points(&mesh, &close, 1.0, 1e-9, 300), Err(Error::TooMany(_))));
    }
}
