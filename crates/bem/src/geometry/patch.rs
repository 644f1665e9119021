//! Curved panels: polynomials of two parameters, with the data that integrals over them need.
//!
//! A panel's parameters (s, t) are the second and the third of its barycentric coordinates, so that
//! its corners are (0, 0), (1, 0) and (0, 1). Densities and test functions are polynomials of the
//! parameters, per unit of parameter area: charges of a density m(s, t) are int m ds dt,
//! independent of the stretching of the surface. On flat panels this differs from densities per
//! area only by a factor.

use std::array;
use std::sync::LazyLock;

use mesh::Mesh;
use mesh::patch::{MAX_NODES, MAX_ORDER, node_count, node_places};
use nalgebra::{DMatrix, Matrix3};
use simd::Simd;

use crate::geometry::triangle::Vec3;

/// Parameters of a point.
pub type Parameters = [f64; 2];

/// The corners' parameters.
pub(crate) const CORNERS: [Parameters; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];

/// Powers of s and t in the terms of a polynomial, by total degree.
const POWERS: [[usize; 2]; MAX_NODES] = {
    let mut powers = [[0; 2]; MAX_NODES];
    let (mut at, mut degree) = (0, 0);
    while degree <= MAX_ORDER {
        let mut of_t = 0;
        while of_t <= degree {
            powers[at] = [degree - of_t, of_t];
            at += 1;
            of_t += 1;
        }
        degree += 1;
    }
    powers
};

/// Terms of the derivatives of a polynomial of the highest order.
const DERIVED: usize = node_count(MAX_ORDER - 1);

/// Deviations from flat below this share of the size count as rounding.
const STRAIGHT: f64 = 1e-12;

/// Terms of that degree differ from linear functions by no more: s - s^n at most.
const FROM_LINEAR: [f64; MAX_ORDER + 1] = [0.0, 0.0, 0.25, 0.385, 0.473];

/// For each order, the contribution of each of [`POWERS`], minus the linear function through its
/// corner values, to the control points of Bernstein's form, shape (controls, terms).
static CONTROLS: LazyLock<[Vec<[f64; MAX_NODES]>; MAX_ORDER + 1]> = LazyLock::new(|| {
    array::from_fn(|order| {
        let weights = |&[i, j]: &[usize; 2]| {
            POWERS.map(|[a, b]| {
                if a + b > order {
                    return 0.0;
                }
                // C(i, a) C(j, b) divided by the number of ways to choose a and b from the order.
                let value = choose(i, a) * choose(j, b) / (choose(order, a) * choose(order - a, b));
                let linear = match [a, b] {
                    [_, 0] => i as f64,
                    [0, _] => j as f64,
                    _ => 0.0,
                };
                value - linear / order.max(1) as f64
            })
        };
        POWERS[..node_count(order)].iter().map(weights).collect()
    })
});

/// The binomial coefficient n over k.
fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|m| (n as f64 - m as f64) / (m + 1) as f64).product()
}

/// A curved panel or a part of one: x(s, t) = sum of coefficients times powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    order: usize,
    /// Of [`POWERS`]; zero beyond the order.
    coefficients: [Vec3; MAX_NODES],
}

/// Coefficients of x_s and x_t.
#[derive(Clone, Copy, Debug)]
pub struct Tangents([[Vec3; DERIVED]; 2]);

/// Inverse of the matrix of powers at the nodes of each order.
fn from_nodes(order: usize) -> &'static DMatrix<f64> {
    static INVERSES: LazyLock<Vec<DMatrix<f64>>> = LazyLock::new(|| {
        let inverse = |order: usize| {
            let n = node_count(order);
            let places = places(order);
            let powers = DMatrix::from_fn(n, n, |node, term| all_powers(places[node])[term]);
            powers.try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n))
        };
        (0..=MAX_ORDER).map(inverse).collect()
    });
    &INVERSES[order]
}

/// Parameters of the nodes of this order.
pub fn places(order: usize) -> &'static [Parameters] {
    static PLACES: LazyLock<Vec<Vec<Parameters>>> = LazyLock::new(|| {
        let of = |order: usize| {
            let parameters = |place: [usize; 3]| [1, 2].map(|k| place[k] as f64 / order as f64);
            node_places(order).into_iter().map(parameters).collect()
        };
        (0..=MAX_ORDER).map(of).collect()
    });
    &PLACES[order]
}

/// All [`POWERS`] of s and t.
fn all_powers([s, t]: Parameters) -> [f64; MAX_NODES] {
    let mut powers = [1.0; MAX_NODES];
    for (degree, first) in (1..=MAX_ORDER).map(|degree| (degree, degree * (degree + 1) / 2)) {
        // Each is one of the previous degree times s, the last one times t.
        (0..degree).for_each(|k| powers[first + k] = powers[first + k - degree] * s);
        powers[first + degree] = powers[first - 1] * t;
    }
    powers
}

/// Matrix from coefficients to the corners of the nearest flat triangle, shape (terms, corners).
fn to_nearest_flat() -> &'static [[f64; 3]; MAX_NODES] {
    static MATRIX: LazyLock<[[f64; 3]; MAX_NODES]> = LazyLock::new(|| {
        // Twice the integral of a product of powers: 2 a! b! / (a + b + 2)!.
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        let integral = |[a, b]: [usize; 2], [c, d]: [usize; 2]| {
            let (a, b) = (a + c, b + d);
            2.0 * factorial(a) * factorial(b) / factorial(a + b + 2)
        };
        let gram = Matrix3::from_fn(|k, l| integral(POWERS[k], POWERS[l]));
        let inverse = gram.try_inverse().unwrap_or_else(Matrix3::zeros);
        POWERS.map(|of| {
            let linear = inverse * Vec3::from_fn(|k, _| integral(POWERS[k], of));
            CORNERS.map(|[s, t]| linear[0] + linear[1] * s + linear[2] * t)
        })
    });
    &MATRIX
}

/// A part of the parameters' triangle.
pub struct Part {
    /// Of the part, in the whole.
    pub(crate) corners: [Parameters; 3],
    /// Each of [`POWERS`] as a polynomial of the part's own parameters, by the same powers.
    powers: [[f64; MAX_NODES]; MAX_NODES],
}

/// Parts that panels are cut into.
pub(crate) struct Parts {
    /// Those at the corners between the midpoints of the sides, and the middle one.
    pub(crate) quarters: [Part; 4],
    /// Cut through the middle of the side from corner k to the next.
    pub(crate) halves: [[Part; 2]; 3],
    /// The whole, from corner k on, with the other two in order or exchanged.
    pub(crate) turned: [[Part; 2]; 3],
}

impl Parts {
    pub(crate) fn all() -> &'static Self {
        static PARTS: LazyLock<Parts> = LazyLock::new(|| {
            let [a, b, c] = CORNERS;
            let middle = |[p, q]: [Parameters; 2]| [0, 1].map(|k| 0.5 * (p[k] + q[k]));
            let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(middle);
            let halves = |k: usize| {
                let [a, b, c] = [0, 1, 2].map(|l| CORNERS[(k + l) % 3]);
                let middle = middle([a, b]);
                [[a, middle, c], [middle, b, c]].map(Part::between)
            };
            Parts {
                quarters: [[a, ab, ca], [ab, b, bc], [ca, bc, c], [bc, ca, ab]].map(Part::between),
                halves: [0, 1, 2].map(halves),
                turned: [[[a, b, c], [a, c, b]], [[b, a, c], [b, c, a]], [[c, a, b], [c, b, a]]]
                    .map(|orders| orders.map(Part::between)),
            }
        });
        &PARTS
    }
}

impl Part {
    /// The part between these corners, which become its own.
    pub fn between(corners: [Parameters; 3]) -> Self {
        // s and t as linear functions of the part's parameters.
        let [a, b, c] = corners;
        let linear = [0, 1].map(|k| [a[k], b[k] - a[k], c[k] - a[k]]);
        let mut powers = [[0.0; MAX_NODES]; MAX_NODES];
        powers[0][0] = 1.0;
        for at in 1..MAX_NODES {
            let by = usize::from(POWERS[at][0] == 0);
            let lower = powers[lower(POWERS[at], by)];
            for (&[i, j], value) in POWERS.iter().zip(lower).filter(|(_, value)| *value != 0.0) {
                for (power, factor) in [[i, j], [i + 1, j], [i, j + 1]].into_iter().zip(linear[by])
                {
                    powers[at][term(power)] += factor * value;
                }
            }
        }
        Self { corners, powers }
    }
}

/// The parameters of a point of a part.
pub(crate) fn between([a, b, c]: &[Parameters; 3], [s, t]: Parameters) -> Parameters {
    array::from_fn(|k| a[k] + s * (b[k] - a[k]) + t * (c[k] - a[k]))
}

/// The first [`POWERS`] of s and t.
#[inline(always)]
fn powers<V: Simd<Scalar = f64>, const N: usize>(s: V, t: V) -> [V; N] {
    let mut powers = [V::splat(1.0); N];
    let (mut at, mut degree) = (1, 1);
    while at < N {
        // Each is one of the previous degree times s, the last one times t.
        let before = at - degree;
        for k in 0..degree {
            powers[at + k] = powers[before + k].mul(s);
        }
        powers[at + degree] = powers[at - 1].mul(t);
        at += degree + 1;
        degree += 1;
    }
    powers
}

/// The sum of the first `count` of coefficients, each times its power.
#[inline(always)]
fn polynomial<V: Simd<Scalar = f64>>(coefficients: &[Vec3], powers: &[V]) -> [V; 3] {
    let mut sum = [V::zero(); 3];
    for (c, power) in coefficients.iter().zip(powers) {
        for axis in 0..3 {
            sum[axis] = V::splat(c[axis]).mul_add(*power, sum[axis]);
        }
    }
    sum
}

impl Patch {
    /// A triangle of a mesh, curved or flat, in the mesh's coordinates.
    pub(crate) fn of_triangle(mesh: &Mesh, triangle: usize) -> Self {
        match &mesh.patches {
            Some(patches) => {
                let nodes: Vec<Vec3> =
                    patches.of(triangle).iter().copied().map(Vec3::from).collect();
                Self::through(patches.order, &nodes)
            }
            None => Self::flat(&mesh.corners(triangle).map(Vec3::from)),
        }
    }

    /// The patch through the nodes of a triangle of that order.
    pub fn through(order: usize, nodes: &[Vec3]) -> Self {
        let inverse = from_nodes(order);
        let mut coefficients = [Vec3::zeros(); MAX_NODES];
        // Relative to a corner, so that coefficients keep the precision of the panel's size.
        for (term, coefficient) in coefficients[..nodes.len()].iter_mut().enumerate() {
            for (node, x) in nodes.iter().enumerate() {
                *coefficient += (x - nodes[0]) * inverse[(term, node)];
            }
        }
        coefficients[0] = nodes[0];
        Self { order, coefficients }
    }

    /// A flat triangle.
    pub(crate) fn flat(v: &[Vec3; 3]) -> Self {
        Self::through(1, v)
    }

    /// The coefficients up to the order.
    fn terms(&self) -> &[Vec3] {
        &self.coefficients[..node_count(self.order)]
    }

    /// The coefficients of a patch of an order that is at least its own.
    pub(crate) fn coefficients(&self, order: usize) -> &[Vec3] {
        &self.coefficients[..node_count(order)]
    }

    /// Whether it coincides with the flat triangle through its corners.
    pub fn is_straight(&self) -> bool {
        let [_, s, t, higher @ ..] = &self.coefficients;
        let size = s.norm_squared().max(t.norm_squared());
        higher.iter().all(|c| c.norm_squared() <= STRAIGHT * STRAIGHT * size)
    }

    /// The point at these parameters.
    pub fn at(&self, parameters: Parameters) -> Vec3 {
        self.coefficients[0] + self.seen_from_corner(parameters)
    }

    /// The point at these parameters, relative to the first corner.
    fn seen_from_corner(&self, parameters: Parameters) -> Vec3 {
        let terms = self.terms().iter().zip(all_powers(parameters)).skip(1);
        terms.map(|(c, power)| c * power).sum()
    }

    /// The corners.
    pub(crate) fn corners(&self) -> [Vec3; 3] {
        // All powers except those of one parameter are 0 there.
        let [a, mut b, mut c] = [self.coefficients[0]; 3];
        for (coefficient, [of_s, of_t]) in self.terms().iter().zip(&POWERS).skip(1) {
            if *of_t == 0 {
                b += coefficient;
            } else if *of_s == 0 {
                c += coefficient;
            }
        }
        [a, b, c]
    }

    /// x_s cross x_t: along the normal; its length is the area per unit of parameters.
    pub fn normal(&self, parameters: Parameters) -> Vec3 {
        let powers = all_powers(parameters);
        let of = |derived: usize| -> Vec3 {
            let terms = self.terms().iter().zip(&POWERS).filter(|(_, powers)| powers[derived] > 0);
            terms.map(|(c, of)| c * (of[derived] as f64 * powers[lower(*of, derived)])).sum()
        };
        of(0).cross(&of(1))
    }

    /// Points at these parameters, one per lane.
    #[inline(always)]
    pub fn lanes<V: Simd<Scalar = f64>>(&self, s: V, t: V) -> [V; 3] {
        match self.order {
            1 => polynomial(self.terms(), &powers::<V, { node_count(1) }>(s, t)),
            2 => polynomial(self.terms(), &powers::<V, { node_count(2) }>(s, t)),
            3 => polynomial(self.terms(), &powers::<V, { node_count(3) }>(s, t)),
            _ => polynomial(self.terms(), &powers::<V, MAX_NODES>(s, t)),
        }
    }

    /// The polynomials of the tangents.
    pub fn tangents(&self) -> Tangents {
        let mut tangents = [[Vec3::zeros(); DERIVED]; 2];
        for (c, powers) in self.terms().iter().zip(&POWERS) {
            for (derived, coefficients) in tangents.iter_mut().enumerate() {
                if powers[derived] > 0 {
                    coefficients[lower(*powers, derived)] = c * powers[derived] as f64;
                }
            }
        }
        Tangents(tangents)
    }

    /// A part of it, whose corners become its corners.
    pub fn part(&self, part: &Part) -> Self {
        let mut image = Self { order: self.order, coefficients: [Vec3::zeros(); MAX_NODES] };
        image.coefficients[0] = self.coefficients[0];
        let terms = self.terms().iter().zip(&part.powers).zip(&POWERS).skip(1);
        for ((c, powers), [a, b]) in terms {
            let below = image.coefficients.iter_mut().zip(powers).take(node_count(a + b));
            below.for_each(|(sum, power)| *sum += c * *power);
        }
        image
    }

    /// The corners of the nearest flat triangle: the one with the least mean square distance
    /// between points of the same parameters, so that the mean distance is 0 in every direction.
    pub(crate) fn nearest_flat(&self) -> [Vec3; 3] {
        let seen = self.terms().iter().zip(to_nearest_flat()).skip(1);
        let corner = |k: usize| seen.clone().map(|(c, to)| c * to[k]).sum::<Vec3>();
        [0, 1, 2].map(|k| self.coefficients[0] + corner(k))
    }

    /// Translated by this vector.
    pub(crate) fn moved(mut self, by: &Vec3) -> Self {
        self.coefficients[0] += by;
        self
    }

    /// x_k becomes `scale[k]` x_k + `shift[k]`; the orientation is reversed, starting from the
    /// first corner, if `is_turned`.
    pub fn moved_to(&self, scale: &[f64; 3], shift: &[f64; 3], is_turned: bool) -> Self {
        let mut image = *self;
        for (term, c) in image.coefficients.iter_mut().enumerate() {
            let at = if is_turned { swapped(term) } else { term };
            *c = Vec3::from_fn(|k, _| match term {
                0 => scale[k] * self.coefficients[0][k] + shift[k],
                _ => scale[k] * self.coefficients[at][k],
            });
        }
        image
    }

    /// Upper bound of the distance of its points from those of the flat triangle with the same
    /// parameters: the smaller of a bound of each term and of the largest control point
    /// (Bernstein's form).
    pub(crate) fn bulge(&self) -> f64 {
        let terms = self.terms().iter().zip(&POWERS).skip(3);
        let of_terms: f64 = terms.map(|(c, [a, b])| FROM_LINEAR[a + b] * c.norm()).sum();
        if self.order <= 2 || of_terms == 0.0 {
            return of_terms;
        }
        let control = |weights: &[f64; MAX_NODES]| {
            let mut from_flat = Vec3::zeros();
            for (c, weight) in self.terms().iter().zip(weights).skip(3) {
                from_flat += *weight * c;
            }
            from_flat.norm_squared()
        };
        let most = CONTROLS[self.order].iter().map(control).fold(0.0, f64::max);
        of_terms.min(most.sqrt())
    }

    /// The nodes of the patch.
    pub fn nodes(&self) -> impl Iterator<Item = Vec3> {
        places(self.order).iter().map(|&place| self.at(place))
    }
}

/// The index of these powers among the terms.
fn term([a, b]: [usize; 2]) -> usize {
    (a + b) * (a + b + 1) / 2 + b
}

/// The term with s and t exchanged.
fn swapped(of: usize) -> usize {
    let [a, b] = POWERS[of];
    term([b, a])
}

/// The term with one power less of s or of t.
fn lower(mut powers: [usize; 2], derived: usize) -> usize {
    powers[derived] -= 1;
    term(powers)
}

impl Tangents {
    /// x_s and x_t at points with these parameters, one per lane.
    #[inline(always)]
    pub(crate) fn lanes<V: Simd<Scalar = f64>>(&self, order: usize, s: V, t: V) -> [[V; 3]; 2] {
        let powers = powers::<V, DERIVED>(s, t);
        let count = node_count(order - 1);
        // Closures of arrays are compiled to calls here, and vectors do not stay in registers
        // across them.
        let u = polynomial(&self.0[0][..count], &powers);
        let v = polynomial(&self.0[1][..count], &powers);
        [u, v]
    }

    /// x_s cross x_t at points with these parameters, one per lane.
    #[inline(always)]
    pub fn normals<V: Simd<Scalar = f64>>(&self, order: usize, s: V, t: V) -> [V; 3] {
        let [u, v] = self.lanes(order, s, t);
        [
            u[1].mul(v[2]).sub(u[2].mul(v[1])),
            u[2].mul(v[0]).sub(u[0].mul(v[2])),
            u[0].mul(v[1]).sub(u[1].mul(v[0])),
        ]
    }
}

impl Patch {
    /// Order of its polynomials.
    pub(crate) fn order(&self) -> usize {
        self.order
    }
}
