//! Areas and volumes of curved triangles, by quadrature.
//!
//! Gauss's rule in both directions of a square that is collapsed to the triangle: exact for
//! volumes, whose integrand is a polynomial of degree 3 p - 2, and of order 12 in the size of
//! triangles for areas.

use std::sync::OnceLock;

use crate::patch::{self, MAX_ORDER};
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, cross, dot, norm, sub};

/// Points in each direction: exact up to degree 11, one more than volumes of order 4 need, since
/// collapsing takes one.
const POINTS: usize = 6;

/// Polynomials of the nodes and their derivatives at a point, with its weight.
struct Sample {
    weight: f64,
    shapes: Vec<[f64; 3]>,
}

/// Gauss's rule from 0 to 1: Newton's method on the Legendre polynomial.
fn gauss(count: usize) -> Vec<[f64; 2]> {
    let n = count as f64;
    let legendre = |x: f64| {
        let (mut before, mut value) = (1.0, x);
        for k in 2..=count {
            let k = k as f64;
            (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
        }
        (value, n * (x * value - before) / (x * x - 1.0))
    };
    let point = |k: usize| {
        let mut x = (std::f64::consts::PI * (k as f64 + 0.75) / (n + 0.5)).cos();
        for _ in 0..10 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        let (_, slope) = legendre(x);
        [0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope)]
    };
    (0..count).map(point).collect()
}

/// The rule of an order; weights add up to one half.
fn samples(order: usize) -> &'static [Sample] {
    static RULES: OnceLock<Vec<Vec<Sample>>> = OnceLock::new();
    let rule = |order: usize| -> Vec<Sample> {
        let line = gauss(POINTS);
        let pairs = line.iter().flat_map(|u| line.iter().map(move |v| (u, v)));
        pairs
            .map(|(&[u, of_u], &[v, of_v])| {
                let (b, c) = (u, (1.0 - u) * v);
                let shapes = patch::shapes(order, [1.0 - b - c, b, c]);
                Sample { weight: of_u * of_v * (1.0 - u), shapes }
            })
            .collect()
    };
    &RULES.get_or_init(|| (0..=MAX_ORDER).map(rule).collect())[order]
}

/// The sum over a patch of a function of point and area vector, times their weights.
fn sum(patches: &Patches, triangle: usize, of: impl Fn(Vector, Vector) -> f64) -> f64 {
    let nodes = patches.of(triangle);
    let origin = nodes[0];
    let at = |sample: &Sample| {
        let mut values = [[0.0; 3]; 3];
        for (node, shape) in nodes.iter().zip(&sample.shapes) {
            let x = sub(*node, origin);
            for (value, shape) in values.iter_mut().zip(shape) {
                (0..3).for_each(|i| value[i] += shape * x[i]);
            }
        }
        let [x, u, v] = values;
        sample.weight * of(x, cross(u, v))
    };
    samples(patches.order).iter().map(at).sum()
}

/// The area of a curved triangle.
pub(crate) fn area(patches: &Patches, triangle: usize) -> f64 {
    sum(patches, triangle, |_, normal| norm(normal))
}

impl Mesh {
    /// The centre of area of a triangle, of its patch if it is curved.
    pub fn centre_of_area(&self, triangle: usize) -> Vector {
        let Some(patches) = &self.patches else {
            return self.point(triangle, [1.0 / 3.0; 3]);
        };
        let area = area(patches, triangle);
        let origin = patches.of(triangle)[0];
        let moment = |i: usize| sum(patches, triangle, |x, normal| x[i] * norm(normal));
        std::array::from_fn(|i| origin[i] + if area > 0.0 { moment(i) / area } else { 0.0 })
    }
}

/// The volume, with its sign, of the cone from a point over a curved triangle.
pub(crate) fn cone(patches: &Patches, triangle: usize, apex: Vector) -> f64 {
    let arm = sub(patches.of(triangle)[0], apex);
    let height =
        |x: Vector, normal: Vector| dot(std::array::from_fn(|i| arm[i] + x[i]), normal) / 3.0;
    sum(patches, triangle, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curved;
    use crate::generate::{Resolution, Sphere, SphereBase};
    use crate::quality::areas;
    use crate::topology::Topology;

    #[test]
    fn centres_of_area_are_those_of_finer_triangles() {
        let resolution = Resolution::Elements(32);
        let sphere = Sphere { radius: 2.0, base: SphereBase::Octahedron, resolution };
        let mesh = sphere.build_curved(2).unwrap();
        let mut fine = mesh.clone();
        for _ in 0..4 {
            fine = crate::refine::uniform(&fine, |_, x| x).unwrap();
        }
        fine.patches = None;
        let (of_fine, children) = (areas(&fine), 256);
        for t in 0..mesh.triangles.len() {
            let (mut sum, mut total) = ([0.0; 3], 0.0);
            for child in children * t..children * (t + 1) {
                let x = fine.centre_of_area(child);
                (0..3).for_each(|i| sum[i] += of_fine[child] * x[i]);
                total += of_fine[child];
            }
            let found = mesh.centre_of_area(t);
            assert!(norm(sub(found, sum.map(|s| s / total))) < 1e-3, "{found:?} {sum:?} {total}");
        }
    }

    #[test]
    fn the_rule_integrates_powers_on_the_triangle() {
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        for order in 1..=MAX_ORDER {
            for a in 0..=6 {
                for b in 0..=4 {
                    let places = patch::node_places(order);
                    let found: f64 = samples(order)
                        .iter()
                        .map(|sample| {
                            let at = |m: usize| {
                                let terms = sample.shapes.iter().zip(&places);
                                terms.map(|(s, p)| s[0] * p[m] as f64).sum::<f64>() / order as f64
                            };
                            sample.weight * at(1).powi(a as i32) * at(2).powi(b as i32)
                        })
                        .sum();
                    let exact = factorial(a) * factorial(b) / factorial(a + b + 2);
                    assert!((found - exact).abs() < 1e-14, "{a} {b}");
                }
            }
        }
    }

    /// Nodes on the sphere: area and volume converge with order p + 1, or p + 2 where p is even.
    #[test]
    fn spheres_converge() {
        for (order, expected) in [(2, 4.0), (3, 4.0), (4, 6.0)] {
            let errors = [8 * 9, 8 * 36].map(|elements| {
                let resolution = Resolution::Elements(elements);
                let base = SphereBase::Octahedron;
                let mut mesh = Sphere { radius: 1.0, base, resolution }.build().unwrap();
                assert_eq!(mesh.triangles.len(), elements);
                let mut patches = Patches::straight(&mesh, order);
                let flat: f64 = areas(&mesh).iter().sum();
                mesh.patches = Some(patches.clone());
                assert!((areas(&mesh).iter().sum::<f64>() - flat).abs() < 1e-13);
                for t in 0..elements {
                    for x in &mut patches.of_mut(t)[3..] {
                        *x = x.map(|c| c / norm(*x));
                    }
                }
                mesh.patches = Some(patches);
                assert!(curved::folds(&mesh).is_empty());
                let pi = std::f64::consts::PI;
                let area = areas(&mesh).iter().sum::<f64>() / (4.0 * pi) - 1.0;
                let volume = Topology::of(&mesh).whole.signed_volume / (4.0 / 3.0 * pi) - 1.0;
                [area.abs(), volume.abs()]
            });
            for k in 0..2 {
                let rate = (errors[0][k] / errors[1][k]).log2();
                assert!(rate > expected - 0.3, "order {order}: {rate} {errors:?}");
            }
        }
    }
}
