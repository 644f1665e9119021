//! An interface of layers around the metal that lies in it (docs/math.md, "Films").
//!
//! Over a half-space with all metal in its plane the tension of the field on that plane is zero as
//! a whole, so the integral of the square of the field along the plane, which grows toward edges of
//! metal, is that of the field through it: on metal by the charges, and between it, where it is
//! bounded at edges, by sums over points.

use mesh::locate::Locator;
use mesh::vector::Vector;
use rayon::prelude::*;

use crate::problem::Problem;

/// Points along each axis; those in the middle of three by three of them are enough for an
/// estimate of the error.
const POINTS: usize = 192;

/// Points that are no farther than this from metal, relative to its size, lie on it.
const ON_METAL: f64 = 1e-9;

/// The part of the plane that is no metal.
#[derive(Debug)]
pub(super) struct Gap {
    /// Permittivity of the half-space.
    pub(super) half_space: f64,
    axis: usize,
    /// Points, with what each counts among all and among the few in the middle of others.
    points: Vec<(Vector, [f64; 2])>,
}

impl Gap {
    /// Of the plane at this height.
    pub(super) fn new(problem: &Problem, axis: usize, height: f64, half_space: f64) -> Self {
        let points = match &problem.description.stack {
            // Between two half-spaces no field goes through the plane there.
            Some(stack) if stack.layers.is_empty() => Vec::new(),
            _ => points(problem, axis, height),
        };
        Self { half_space, axis, points }
    }

    pub(super) fn points(&self) -> Vec<Vector> {
        self.points.iter().map(|(x, _)| *x).collect()
    }

    /// The integral of the square of the displacement through the plane, from fields at the points
    /// in a medium of this permittivity, by all points and by few.
    pub(super) fn integral(&self, fields: &[Vector], permittivity: f64) -> [f64; 2] {
        let pairs = self.points.iter().zip(fields);
        pairs.fold([0.0; 2], |[all, few], ((_, [weight, of_few]), field)| {
            let square = (permittivity * field[self.axis]).powi(2);
            [all + weight * square, few + of_few * square]
        })
    }
}

/// Points of the plane with their areas: half of them are as near as the metal is large, the others
/// beyond, as far as there is a field.
fn points(problem: &Problem, axis: usize, height: f64) -> Vec<(Vector, [f64; 2])> {
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
        let t = (2 * index + 1) as f64 / POINTS as f64 - 1.0;
        let left = 1.0 - t * t;
        let width = half(k).max(0.1 * size);
        (middle(k) + width * t / left, width * (1.0 + t * t) / (left * left) * 2.0 / POINTS as f64)
    };
    let copies = symmetry.images.copies() as f64;
    let of = |index: usize| {
        let [i, j] = [index / POINTS, index % POINTS];
        let ((at_u, du), (at_v, dv)) = (place(i, u), place(j, v));
        let mut x = [height; 3];
        (x[u], x[v]) = (at_u, at_v);
        let is_metal = metal.nearest(x).is_some_and(|nearest| nearest.distance <= ON_METAL * size);
        if is_metal || symmetry.is_behind_ground(x) {
            return None;
        }
        // The metal of one copy is counted.
        let area = du * dv / copies;
        let of_few = if i % 3 == 1 && j % 3 == 1 { 9.0 * area } else { 0.0 };
        Some((x, [area, of_few]))
    };
    (0..POINTS * POINTS).into_par_iter().filter_map(of).collect()
}
