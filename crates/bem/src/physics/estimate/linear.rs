//! Local problems of linear densities: linear functions on the four children of a panel.

use std::f64::consts::PI;
use std::sync::OnceLock;

use nalgebra::{DMatrix, DVector};

use super::super::system::System;
use super::local::{CHILDREN, ChildFunctions, children, shared};
use super::values::Values;
use crate::geometry::triangle::Triangle;
use crate::integrals::linear_pair::single_layer;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;

/// Accuracy of the integrals between children, and of triangles much longer than wide: there what
/// is added is so nearly none that it would be that of the integrals' errors.
const OF_CHILDREN: f64 = 1e-2;
const OF_NEEDLES: f64 = 1e-5;
const NEEDLE: f64 = 100.0;

/// Corners of a triangle, places on a child and functions on it.
const CORNERS: usize = 3;

/// Functions on all children: one for each of their corners.
const FUNCTIONS: usize = CHILDREN * CORNERS;

/// Number of functions beyond the linear functions on the panel.
const ADDED: usize = FUNCTIONS - CORNERS;

/// Barycentric coordinates in the panel of the children's corners, shape (children, corners, 3).
const AT: [[[f64; 3]; CORNERS]; CHILDREN] = {
    const A: [f64; 3] = [1.0, 0.0, 0.0];
    const B: [f64; 3] = [0.0, 1.0, 0.0];
    const C: [f64; 3] = [0.0, 0.0, 1.0];
    const AB: [f64; 3] = [0.5, 0.5, 0.0];
    const BC: [f64; 3] = [0.0, 0.5, 0.5];
    const CA: [f64; 3] = [0.5, 0.0, 0.5];
    [[A, AB, CA], [AB, B, BC], [CA, BC, C], [AB, BC, CA]]
};

/// Functions at the middles of the sides: the children's corners that lie there.
const AT_SIDES: [[usize; 3]; 3] = [[1, 3, 9], [5, 7, 10], [2, 6, 11]];

/// Barycentric coordinates of a position in a child: near its corner k.
fn near_corner(k: usize) -> [f64; CORNERS] {
    std::array::from_fn(|l| if k == l { 2.0 / 3.0 } else { 1.0 / 6.0 })
}

/// Barycentric coordinates of three places in each child: those of a rule of degree 2.
pub(super) fn places() -> &'static [[f64; 3]] {
    static PLACES: OnceLock<Vec<[f64; 3]>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let place = |corners: &[[f64; 3]; CORNERS], k: usize| {
            let shares = near_corner(k);
            std::array::from_fn(|m| (0..CORNERS).map(|l| shares[l] * corners[l][m]).sum())
        };
        AT.iter().flat_map(|corners| (0..CORNERS).map(move |k| place(corners, k))).collect()
    })
}

/// Charges at the positions in a child that it would carry if its density were everywhere that at
/// one of its corners.
pub(super) fn at_places(corners: [f64; CORNERS]) -> [f64; CORNERS] {
    let share = 1.0 / CORNERS as f64;
    std::array::from_fn(|p| {
        near_corner(p).iter().zip(corners).map(|(at, charge)| share * at * charge).sum()
    })
}

/// A basis of the functions on children that are orthogonal to all linear functions on the panel,
/// shape (functions, functions - 3), whatever its shape.
fn added() -> &'static DMatrix<f64> {
    static ADDED: OnceLock<DMatrix<f64>> = OnceLock::new();
    ADDED.get_or_init(|| {
        // Integrals of linear functions of the panel and those of children.
        let mass = mass();
        let linear = DMatrix::from_fn(FUNCTIONS, CORNERS, |f, m| AT[f / CORNERS][f % CORNERS][m]);
        let projector = projector(&mass, &linear);
        let rest = DMatrix::identity(FUNCTIONS, FUNCTIONS) - projector;
        // Of rank 9: an orthonormal basis of its range.
        let svd = rest.svd(true, false);
        let basis = svd.u.unwrap_or_else(|| DMatrix::identity(FUNCTIONS, FUNCTIONS));
        let mut order: Vec<usize> = (0..FUNCTIONS).collect();
        order.sort_by(|&a, &b| svd.singular_values[b].total_cmp(&svd.singular_values[a]));
        DMatrix::from_fn(FUNCTIONS, FUNCTIONS - CORNERS, |f, k| basis[(f, order[k])])
    })
}

/// Integrals between functions on children of a panel of unit area.
fn mass() -> DMatrix<f64> {
    DMatrix::from_fn(FUNCTIONS, FUNCTIONS, |f, g| {
        let within = if f == g { 2.0 } else { 1.0 };
        if f / CORNERS == g / CORNERS { within / (12.0 * CHILDREN as f64) } else { 0.0 }
    })
}

/// Coefficients on children of the projection to linear functions on the panel.
fn projector(mass: &DMatrix<f64>, linear: &DMatrix<f64>) -> DMatrix<f64> {
    let tested = linear.transpose() * mass;
    let gram = &tested * linear;
    let inverse = gram.try_inverse().unwrap_or_else(|| DMatrix::zeros(CORNERS, CORNERS));
    linear * inverse * tested
}

/// For each side the function that is 1 at its midpoint and 0 at the corners and the other two
/// midpoints, minus its projection to linear functions, shape (functions, sides).
fn along_sides() -> &'static DMatrix<f64> {
    static ALONG: OnceLock<DMatrix<f64>> = OnceLock::new();
    ALONG.get_or_init(|| {
        let hats =
            DMatrix::from_fn(
                FUNCTIONS,
                3,
                |f, side| {
                    if AT_SIDES[side].contains(&f) { 1.0 } else { 0.0 }
                },
            );
        let linear = DMatrix::from_fn(FUNCTIONS, CORNERS, |f, m| AT[f / CORNERS][f % CORNERS][m]);
        &hats - projector(&mass(), &linear) * &hats
    })
}

/// Values at the places of a panel tested with the functions on its children.
fn tested(of_panel: &[f64; FUNCTIONS], area: f64) -> DVector<f64> {
    DVector::from_fn(FUNCTIONS, |f, _| {
        let of_child = &of_panel[f / CORNERS * CORNERS..][..CORNERS];
        let terms = of_child.iter().enumerate().map(|(p, v)| v * near_corner(p)[f % CORNERS]);
        area / FUNCTIONS as f64 * terms.sum::<f64>()
    })
}

/// Coefficients on children of the linear functions through values at the places of a panel.
fn through(of_panel: &[f64; FUNCTIONS]) -> DVector<f64> {
    DVector::from_fn(FUNCTIONS, |f, _| {
        let of_child = &of_panel[f / CORNERS * CORNERS..][..CORNERS];
        // At the places a function is 2/3 of its value at the next corner and 1/6 of the others'.
        2.0 * of_child[f % CORNERS] - of_child.iter().sum::<f64>() / 3.0
    })
}

/// Linear functions on the children of a panel.
pub(super) struct Linears {
    matrix: DMatrix<f64>,
    /// The panel's area.
    area: f64,
}

fn vector(values: &[f64]) -> DVector<f64> {
    DVector::from_column_slice(values)
}

fn array<const N: usize>(values: &DVector<f64>) -> [f64; N] {
    std::array::from_fn(|k| values[k])
}

impl ChildFunctions<FUNCTIONS, ADDED> for Linears {
    fn new(system: &System, i: usize, factor: f64, _: &Values) -> Self {
        let panels = &system.panels;
        Self { matrix: between(panels.vertices(i)) * factor, area: panels.areas()[i] }
    }

    fn missing(&self, held: f64, potential: &[f64; FUNCTIONS]) -> [f64; FUNCTIONS] {
        let of_held = self.area / FUNCTIONS as f64 * held;
        array(&tested(potential, self.area)).map(|value: f64| of_held - value)
    }

    fn against_added(tested: &[f64; FUNCTIONS]) -> [f64; ADDED] {
        array(&added().tr_mul(&vector(tested)))
    }

    fn solve(&self, right: &[[f64; ADDED]]) -> Vec<[f64; ADDED]> {
        // `None` if the matrix of the added functions is not positive definite.
        let factor = added().tr_mul(&(&self.matrix * added())).cholesky();
        let solve = |b: &[f64; ADDED]| {
            factor.as_ref().map_or([0.0; ADDED], |factor| array(&factor.solve(&vector(b))))
        };
        right.iter().map(solve).collect()
    }

    /// Those that children would carry if their densities were everywhere those at their corners.
    fn charges(&self, density: &[f64; ADDED]) -> [f64; FUNCTIONS] {
        array(&(added() * vector(density) * (self.area / CHILDREN as f64)))
    }

    fn sides(
        &self,
        permittivity: f64,
        tested: &[f64; FUNCTIONS],
        right: &[f64; ADDED],
        density: &[f64; ADDED],
    ) -> [f64; 3] {
        let (along, tested) = (along_sides(), vector(tested));
        let gain = |side: usize| {
            let x = along.column(side);
            let (work, form) = (tested.dot(&x), x.dot(&(&self.matrix * x)));
            permittivity * work * work / form.max(f64::MIN_POSITIVE)
        };
        let all = permittivity * vector(density).dot(&vector(right));
        let gains = [0, 1, 2].map(gain);
        shared(gains, (all - gains.iter().sum::<f64>()).max(0.0))
    }

    fn jump(
        system: &System,
        i: usize,
        x: &[f64],
        normal_derivative: &[f64; FUNCTIONS],
    ) -> [f64; FUNCTIONS] {
        let [front, back] = system.rows.permittivity(i);
        let (n, area) = (system.panels.len(), system.panels.areas()[i]);
        let both = 2.0 * PI * (front + back);
        let of_modes: Vec<f64> = (0..3).map(|m| x[m * n + i] / area).collect();
        let density = |place: &[f64; 3]| -> f64 {
            let modes = crate::quadrature::modes::modes(*place);
            modes.iter().zip(&of_modes).map(|(mode, x)| mode * x).sum()
        };
        let places = places();
        let values = std::array::from_fn(|k| {
            (front - back) * normal_derivative[k] - both * density(&places[k])
        });
        array(&without_linear(through(&values)))
    }

    fn with_potential_of(
        &self,
        densities: &[f64; FUNCTIONS],
        potential: &[f64; FUNCTIONS],
    ) -> [f64; FUNCTIONS] {
        array(&(tested(potential, self.area) + &self.matrix * vector(densities)))
    }

    fn free_charge(&self, jump: &[f64; FUNCTIONS]) -> [f64; FUNCTIONS] {
        jump.map(|jump| -1.0 / (4.0 * PI) * jump)
    }

    fn sides_of_interface(
        &self,
        potential: &[f64; FUNCTIONS],
        jump: &[f64; FUNCTIONS],
    ) -> [f64; 3] {
        let (along, u, jump) = (along_sides(), vector(potential), vector(jump));
        let part = |side: usize| {
            let x = along.column(side);
            (u.dot(&x) * jump.dot(&x)).abs() / (4.0 * PI * x.norm_squared())
        };
        let parts = [0, 1, 2].map(part);
        let (u, jump) = (added().tr_mul(&u), added().tr_mul(&jump));
        let all: f64 = u.iter().zip(&jump).map(|(u, jump)| (u * jump).abs()).sum();
        shared(parts, (all / (4.0 * PI) - parts.iter().sum::<f64>()).max(0.0))
    }
}

/// A function on children minus its projection to linear functions.
fn without_linear(coefficients: DVector<f64>) -> DVector<f64> {
    static REST: OnceLock<DMatrix<f64>> = OnceLock::new();
    let rest = REST.get_or_init(|| {
        let linear = DMatrix::from_fn(FUNCTIONS, CORNERS, |f, m| AT[f / CORNERS][f % CORNERS][m]);
        DMatrix::identity(FUNCTIONS, FUNCTIONS) - projector(&mass(), &linear)
    });
    rest * coefficients
}

/// Single-layer integrals between linear functions on the children of a triangle.
fn between(vertices: &[crate::geometry::triangle::Vec3; 3]) -> DMatrix<f64> {
    let children: [Triangle; CHILDREN] = children(vertices);
    let is_needle = children[0].slenderness() > NEEDLE;
    let rule = PairQuadrature::new(if is_needle { OF_NEEDLES } else { OF_CHILDREN }, 0);
    let mut nodes = WeightedPoints::default();
    let mut matrix = DMatrix::zeros(FUNCTIONS, FUNCTIONS);
    for k in 0..CHILDREN {
        for l in 0..=k {
            let block = single_layer(&children[k], &children[l], &rule, &mut nodes);
            for (a, row) in block.iter().enumerate() {
                for (b, &value) in row.iter().enumerate() {
                    matrix[(CORNERS * k + a, CORNERS * l + b)] = value;
                    matrix[(CORNERS * l + b, CORNERS * k + a)] = value;
                }
            }
        }
    }
    matrix
}
