//! An interface of layers around the metal that lies in it (docs/math.md, "Films").
//!
//! Over a half-space with all metal in its plane the tension of the field on that plane is zero as
//! a whole, so the integral of the square of the field along the plane, which grows toward edges of
//! metal, is that of the field through it: on metal by the charges, and between it, where it is
//! bounded at edges, by sums over points.

use mesh::locate::Locator;
use mesh::mirror::Plane;
use mesh::vector::Vector;
use parallel::prelude::*;

use crate::problem::Problem;

/// Points along each axis, more where they are too few; those in the middle of three by three of
/// them are enough for an estimate of the error.
const POINTS: [usize; 3] = [48, 96, 192];

/// Points are enough where a ninth of them differs by no more than this share of the integral over
/// the metal.
const ENOUGH: f64 = 5e-3;

/// Points that are no farther than this from metal, relative to its size, lie on it.
const ON_METAL: f64 = 1e-9;

/// The part of the plane that is no metal.
#[derive(Debug)]
pub(super) struct Gap {
    /// Permittivity of the half-space.
    pub(super) half_space: f64,
    plane: Plane,
    cutoff: f64,
    /// Whether a field goes through it.
    is_crossed: bool,
}

/// A point of the plane.
#[derive(Debug)]
struct Point {
    at: Vector,
    /// Its area among all points, and among the few in the middle of others.
    areas: [f64; 2],
    /// Whether it is beyond the cutoff.
    is_beyond: bool,
}

/// An integral over the plane next to metal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Through {
    pub(super) all: f64,
    /// Over what is beyond the cutoff.
    pub(super) beyond: f64,
}

impl Gap {
    /// The gap in this plane, for a half-space of this permittivity and a cutoff.
    pub(super) fn new(problem: &Problem, plane: Plane, half_space: f64, cutoff: f64) -> Self {
        // Between two half-spaces no field goes through the plane there.
        let stack = problem.description.stack.as_ref();
        let is_crossed = stack.is_none_or(|stack| !stack.layers.is_empty());
        Self { half_space, plane, cutoff, is_crossed }
    }

    /// The integral of the square of the displacement through the plane in a medium of this
    /// permittivity, by all points and by few, from the `field` at points. It is compared with
    /// `of_metal`, a part of that over the metal.
    pub(super) fn integral<E>(
        &self,
        problem: &Problem,
        permittivity: f64,
        of_metal: f64,
        field: impl Fn(&[Vector]) -> Result<Vec<Vector>, E>,
    ) -> Result<[Through; 2], E> {
        let mut sums = [Through::default(); 2];
        for count in POINTS.into_iter().filter(|_| self.is_crossed) {
            let points = points(problem, self.plane, self.cutoff, count);
            let places: Vec<Vector> = points.iter().map(|point| point.at).collect();
            sums = self.sums(&points, &field(&places)?, permittivity);
            let [found, roughly] = sums;
            if (found.all - roughly.all).abs() <= ENOUGH * of_metal {
                break;
            }
        }
        Ok(sums)
    }

    fn sums(&self, points: &[Point], fields: &[Vector], permittivity: f64) -> [Through; 2] {
        let mut sums = [Through::default(); 2];
        for (point, field) in points.iter().zip(fields) {
            let square = (permittivity * field[self.plane.axis]).powi(2);
            for (sum, area) in sums.iter_mut().zip(point.areas) {
                sum.all += area * square;
                sum.beyond += if point.is_beyond { area * square } else { 0.0 };
            }
        }
        sums
    }
}

/// Points of the plane: half of them are as near as the metal is large, the others
/// beyond, as far as there is a field.
fn points(problem: &Problem, plane: Plane, cutoff: f64, points: usize) -> Vec<Point> {
    let Plane { axis, at: height } = plane;
    let symmetry = &problem.symmetry;
    let whole = symmetry.whole(&problem.mesh);
    let count = problem.mesh.triangles.len();
    let metal = (0..whole.triangles.len() as u32)
        .filter(|&t| problem.conductors.of_triangle[t as usize % count].is_some());
    let metal = Locator::of_part(whole, metal.collect());
    let [low, high] = mesh::quality::bounding_box(whole);
    let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    let middle = |k: usize| 0.5 * (low[k] + high[k]);
    let half = |k: usize| 0.5 * (high[k] - low[k]);
    let size = half(u).max(half(v));
    let place = |index: usize, k: usize| {
        let t = (2 * index + 1) as f64 / points as f64 - 1.0;
        let left = 1.0 - t * t;
        let width = half(k).max(0.1 * size);
        (middle(k) + width * t / left, width * (1.0 + t * t) / (left * left) * 2.0 / points as f64)
    };
    let copies = symmetry.images.copies() as f64;
    let of = |index: usize| {
        let [i, j] = [index / points, index % points];
        let ((at_u, du), (at_v, dv)) = (place(i, u), place(j, v));
        let mut x = [height; 3];
        (x[u], x[v]) = (at_u, at_v);
        let distance = metal.nearest(x).map_or(f64::INFINITY, |nearest| nearest.distance);
        if distance <= ON_METAL * size || symmetry.is_behind_ground(x) {
            return None;
        }
        // The metal of one copy is counted.
        let area = du * dv / copies;
        let of_few = if i % 3 == 1 && j % 3 == 1 { 9.0 * area } else { 0.0 };
        Some(Point { at: x, areas: [area, of_few], is_beyond: distance > cutoff })
    };
    (0..points * points).into_par_iter().filter_map(of).collect()
}
