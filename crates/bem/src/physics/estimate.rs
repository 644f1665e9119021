//! How far a solution is from the exact one of the same surfaces, by local problems
//! (docs/math.md, "Error estimates").
//!
//! Each panel has four children, one at each corner and one in the middle. On conductors the
//! potential that is missing at their centroids is what densities constant on children could still
//! put right; with all other panels as they are, that is a problem of three unknowns, and what it
//! adds to the energy is the panel's share of the error: two-level estimates of Galerkin's method
//! (Mund, Stephan & Weisse, Computing 60 (1998) 243). On interfaces the jump of the flux that is
//! left counts by how much the potential of the other excitation, which is the solution of the
//! adjoint problem, changes over the panel.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use super::external;
use super::rows::System;
use super::{Excitation, Response};
use crate::Error;
use crate::constants::GROUP;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::near::Sources;
use crate::operator::points::QuadraturePoints;
use crate::quadrature::sums::Rule;

/// Children of a panel.
const CHILDREN: usize = 4;

/// Barycentric coordinates of their centroids: those at the corners, and the one in the middle.
const CENTROIDS: [[f64; 3]; CHILDREN] = [
    [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0],
    [1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
    [1.0 / 6.0, 1.0 / 6.0, 2.0 / 3.0],
    [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
];

/// Relative error of the fast sum. Errors of energies are products of two residuals: one of 1e-5
/// belongs to a capacitance of ten digits.
const TOLERANCE: f64 = 1e-6;

/// Degree of the rule whose points stand for a panel, and within how many radii of its centroid the
/// closed form takes their place: there the rule is off by 1e-4 of what the panel contributes.
const DEGREE: usize = 4;
const NEAR: f64 = 2.5;

/// Accuracy of the integrals between children.
const OF_CHILDREN: f64 = 1e-2;

/// Panels whose targets are looked at together.
const PANELS: usize = 16;

/// Estimated errors of a solution. Energies are products of a charge over 4 pi eps0 and a
/// potential; entry (i, j) of a matrix is that of excitations i and j.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorEstimate {
    /// What is missing of the energy, by conductors: for excitations at 1 V the error of the entry
    /// of the capacitance matrix.
    pub of_conductors: Vec<Vec<f64>>,
    /// The same with all panels' shares positive.
    pub of_conductors_at_most: Vec<Vec<f64>>,
    /// The same by interfaces.
    pub of_interfaces: Vec<Vec<f64>>,
    /// With all panels' shares positive.
    pub of_interfaces_at_most: Vec<Vec<f64>>,
    /// For each excitation and triangle, what of its own energy's error is due to the change of
    /// the density along each side (from corner k to k + 1), shape (excitations, triangles, 3).
    pub sides: Vec<Vec<[f64; 3]>>,
}

/// Potentials and normal derivatives at the centroids of children.
struct AtChildren {
    /// Shape (excitations, panels, children).
    potential: Vec<Vec<[f64; CHILDREN]>>,
    /// Shape (excitations, panels, children), empty without interfaces; 0 on conductors.
    normal_derivative: Vec<Vec<[f64; CHILDREN]>>,
}

/// One panel's shares of all energies, and the sides'.
struct Shares {
    products: Vec<f64>,
    sides: Vec<[f64; 3]>,
}

impl System {
    /// The errors of these answers to these excitations.
    #[tracing::instrument(level = "debug", skip_all, name = "error estimate")]
    pub(super) fn error_estimate(
        &self,
        excitations: &[Excitation],
        responses: &[Response],
    ) -> Result<ErrorEstimate, Error> {
        let (n, count) = (self.panels.len(), excitations.len().min(responses.len()));
        let zeros = || vec![vec![0.0; count]; count];
        let mut estimate = ErrorEstimate {
            of_conductors: zeros(),
            of_conductors_at_most: zeros(),
            of_interfaces: zeros(),
            of_interfaces_at_most: zeros(),
            sides: vec![vec![[0.0; 3]; self.triangles]; count],
        };
        if n == 0 || count == 0 {
            return Ok(estimate);
        }
        let charges: Vec<Vec<f64>> =
            responses[..count].iter().map(|response| self.scaled_charges(response)).collect();
        let at_children = self.at_children(&excitations[..count], &charges)?;
        let of_panel = |i: usize| match self.rows.conductor[i] {
            Some(conductor) => self.of_conductor(
                i,
                |p| {
                    let held = responses[p].potentials[conductor as usize];
                    at_children.potential[p][i].map(|potential| held - potential)
                },
                count,
            ),
            None => self.of_interface(i, &at_children, &charges),
        };
        let shares: Vec<Shares> = (0..n).into_par_iter().map(of_panel).collect();
        let whole = self.panels.scale() * self.images.copies() as f64;
        for (i, shares) in shares.iter().enumerate() {
            let triangle = self.panels.triangles()[i] as usize;
            let [signed, at_most] = match self.rows.conductor[i] {
                Some(_) => [&mut estimate.of_conductors, &mut estimate.of_conductors_at_most],
                None => [&mut estimate.of_interfaces, &mut estimate.of_interfaces_at_most],
            };
            for (k, product) in shares.products.iter().enumerate() {
                signed[k / count][k % count] += whole * product;
                at_most[k / count][k % count] += whole * product.abs();
            }
            for (sides, of_panel) in estimate.sides.iter_mut().zip(&shares.sides) {
                sides[triangle] = of_panel.map(|gain| whole * gain);
            }
        }
        Ok(estimate)
    }

    /// Charges of panels in scaled coordinates.
    fn scaled_charges(&self, response: &Response) -> Vec<f64> {
        let scale = self.panels.scale();
        self.panels.triangles().iter().map(|&t| response.charge[t as usize] / scale).collect()
    }

    /// The shares of a panel of a conductor, given the potential that is missing in excitation p.
    fn of_conductor(
        &self,
        i: usize,
        missing: impl Fn(usize) -> [f64; CHILDREN],
        count: usize,
    ) -> Shares {
        let children = children(self.panels.vertices(i));
        let (matrix, area) = (between(&children), 0.25 * self.panels.areas()[i]);
        let [front, back] = self.rows.permittivity(i);
        let permittivity = 0.5 * (front + back);
        // Against densities that are 1 on one child and -1 on the last: their charge is 0.
        let last = CHILDREN - 1;
        let apart = Matrix3::from_fn(|k, l| {
            matrix[k][l] - matrix[k][last] - matrix[last][l] + matrix[last][last]
        });
        let inverse = apart.try_inverse().unwrap_or_else(Matrix3::zeros);
        let tested: Vec<[f64; CHILDREN]> =
            (0..count).map(|p| missing(p).map(|potential| area * potential)).collect();
        let against = |b: &[f64; CHILDREN]| Vector3::from_fn(|k, _| b[k] - b[last]);
        let right: Vec<Vector3<f64>> = tested.iter().map(against).collect();
        let densities: Vec<Vector3<f64>> = right.iter().map(|b| inverse * b).collect();
        let products = densities
            .iter()
            .flat_map(|density| right.iter().map(move |b| permittivity * density.dot(b)))
            .collect();
        let form = |x: [f64; CHILDREN]| -> f64 {
            (0..CHILDREN)
                .map(|k| (0..CHILDREN).map(|l| x[k] * matrix[k][l] * x[l]).sum::<f64>())
                .sum()
        };
        let gain = |b: &[f64; CHILDREN], x: [f64; CHILDREN]| {
            let work: f64 = b.iter().zip(x).map(|(b, x)| b * x).sum();
            permittivity * work * work / form(x).max(f64::MIN_POSITIVE)
        };
        let of_sides = |b: &[f64; CHILDREN]| {
            let along = [[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0], [-1.0, 0.0, 1.0, 0.0]];
            shared(along.map(|x| gain(b, x)), gain(b, [-1.0, -1.0, -1.0, 3.0]))
        };
        Shares { products, sides: tested.iter().map(of_sides).collect() }
    }

    /// The shares of a panel of an interface.
    fn of_interface(&self, i: usize, at: &AtChildren, charges: &[Vec<f64>]) -> Shares {
        let [front, back] = self.rows.permittivity(i);
        let area = self.panels.areas()[i];
        let without_mean = |values: [f64; CHILDREN]| {
            let mean = values.iter().sum::<f64>() / CHILDREN as f64;
            values.map(|value| value - mean)
        };
        let count = charges.len();
        let jump = |p: usize| {
            let own = 2.0 * PI * (front + back) * charges[p][i] / area;
            without_mean(at.normal_derivative[p][i].map(|d| (front - back) * d - own))
        };
        let jumps: Vec<[f64; CHILDREN]> = (0..count).map(jump).collect();
        // The density that takes the jump away, and its potential: where the permittivity is much
        // larger on one side, that of the solution changes over a panel by little else than error.
        let matrix = between(&children(self.panels.vertices(i)));
        let child = area / CHILDREN as f64;
        let potential = |p: usize| {
            let densities = jumps[p].map(|jump| jump / (2.0 * PI * (front + back)));
            without_mean(std::array::from_fn(|k| {
                let more = (0..CHILDREN).map(|l| matrix[k][l] * densities[l]).sum::<f64>();
                at.potential[p][i][k] + more / child
            }))
        };
        let potentials: Vec<[f64; CHILDREN]> = (0..count).map(potential).collect();
        // A jump of eps du/dn over -4 pi is free charge, which should not be there.
        let jumps: Vec<[f64; CHILDREN]> =
            jumps.into_iter().map(|jump| jump.map(|jump| -jump * child / (4.0 * PI))).collect();
        let product = |u: &[f64; CHILDREN], r: &[f64; CHILDREN]| -> f64 {
            u.iter().zip(r).map(|(u, r)| u * r).sum()
        };
        let products =
            potentials.iter().flat_map(|u| jumps.iter().map(move |r| product(u, r))).collect();
        let of_sides = |(u, r): (&[f64; CHILDREN], &[f64; CHILDREN])| {
            let pair = |k: usize, l: usize| ((u[k] - u[l]) * (r[k] - r[l])).abs() / CHILDREN as f64;
            let rest = (0..3).map(|k| pair(k, CHILDREN - 1)).sum();
            shared([pair(0, 1), pair(1, 2), pair(2, 0)], rest)
        };
        let sides = potentials.iter().zip(&jumps).map(of_sides).collect();
        Shares { products, sides }
    }

    /// What charges and sources make at the centroids of children.
    fn at_children(
        &self,
        excitations: &[Excitation],
        charges: &[Vec<f64>],
    ) -> Result<AtChildren, Error> {
        let panels = &self.panels;
        let n = panels.len();
        let has_interfaces = self.rows.conductor.iter().any(Option::is_none);
        let points: Vec<[f64; 3]> = (0..n)
            .into_par_iter()
            .flat_map_iter(|i| centroids(panels.vertices(i)).map(<[f64; 3]>::from))
            .collect();
        let rule = Rule::of_degree(DEGREE);
        let sources = QuadraturePoints::new(panels, rule);
        let places = sources.with_images().unwrap_or_else(|| sources.all());
        let options = fmm::Options {
            tolerance: TOLERANCE,
            // What points near a target add the closed form takes away again.
            precision: Some(fmm::Precision::Double),
            densities: charges.len().min(GROUP),
            gradient: has_interfaces,
            ..fmm::Options::default()
        };
        let mut plan = fmm::Plan::new(&places, Some(&points), &options)?;
        let (mut potential, mut gradient) = (Vec::new(), Vec::new());
        for group in charges.chunks(GROUP) {
            let mut strengths = vec![0.0; group.len() * places.len()];
            for (strengths, x) in strengths.chunks_exact_mut(places.len()).zip(group) {
                sources.spread(&panels.unfolded(x), strengths);
            }
            let (targets, from) = (group.len() * points.len(), potential.len());
            potential.resize(from + targets, 0.0);
            let of_gradient = if has_interfaces { 3 * targets } else { 0 };
            let from_gradient = gradient.len();
            gradient.resize(from_gradient + of_gradient, 0.0);
            plan.apply(
                fmm::Densities { charges: Some(&strengths), dipoles: None },
                fmm::Potentials {
                    potential: Some(&mut potential[from..]),
                    gradient: has_interfaces.then_some(&mut gradient[from_gradient..]),
                },
            )?;
        }
        let reach: Vec<f64> = (0..panels.total()).map(|i| NEAR * panels.radius(i)).collect();
        let search = Neighbours::new(panels.centroids(), &reach);
        let outside: Vec<Outside> =
            excitations.iter().map(|excitation| Outside::of(self, excitation)).collect();
        let block = |start: usize| {
            let near = Near { system: self, rule, search: &search, charges };
            let own = start..n.min(start + PANELS);
            let of_block = CHILDREN * own.start..CHILDREN * own.end;
            let (mut potentials, mut normals) = near.corrections(own.clone());
            for (p, outside) in outside.iter().enumerate() {
                let (of_outside, field) = outside.at(&points[of_block.clone()], has_interfaces);
                for (t, at) in of_block.clone().enumerate() {
                    let (row, child) = (t / CHILDREN, t % CHILDREN);
                    let far = potential[p * points.len() + at];
                    potentials[p][row][child] += far + of_outside[t];
                    let i = own.start + row;
                    if let (None, Some(normals)) = (self.rows.conductor[i], normals.get_mut(p)) {
                        let of = 3 * (p * points.len() + at);
                        let far = Vec3::from_column_slice(&gradient[of..of + 3]);
                        let near = Vec3::from_column_slice(&field[3 * t..3 * t + 3]);
                        normals[row][child] += (far + near).dot(&panels.normal(i));
                    }
                }
            }
            (potentials, normals)
        };
        let starts: Vec<usize> = (0..n).step_by(PANELS).collect();
        let blocks: Vec<_> = starts.into_par_iter().map(block).collect();
        let mut at = AtChildren {
            potential: vec![Vec::with_capacity(n); charges.len()],
            normal_derivative: if has_interfaces {
                vec![Vec::with_capacity(n); charges.len()]
            } else {
                Vec::new()
            },
        };
        for (potential, normal) in blocks {
            at.potential.iter_mut().zip(potential).for_each(|(all, some)| all.extend(some));
            at.normal_derivative.iter_mut().zip(normal).for_each(|(all, some)| all.extend(some));
        }
        Ok(at)
    }
}

/// Charges and field outside of the surfaces, in scaled coordinates.
struct Outside {
    charges: WeightedPoints,
    field: Vec3,
    /// Where the field's potential is 0.
    origin: Vec3,
}

impl Outside {
    fn of(system: &System, excitation: &Excitation) -> Self {
        let Sources { charges: points, field, .. } = external::sources(system, excitation, 1.0);
        let mut charges = WeightedPoints::default();
        points.iter().for_each(|(y, q)| charges.push(y, *q));
        Self { charges, field, origin: system.panels.scaled(excitation.origin) }
    }

    /// Potentials at some points, and gradients, shape (points, 3), if wanted.
    fn at(&self, points: &[[f64; 3]], with_gradients: bool) -> (Vec<f64>, Vec<f64>) {
        let potential = |x: &[f64; 3]| -self.field.dot(&(Vec3::from(*x) - self.origin));
        let mut potentials: Vec<f64> = points.iter().map(potential).collect();
        let mut gradients = Vec::new();
        if with_gradients {
            let field = points.iter().flat_map(|_| [-self.field.x, -self.field.y, -self.field.z]);
            gradients.extend(field);
        }
        if !self.charges.x.is_empty() {
            let mut charges = self.charges.clone();
            charges.add_inverse_distances(points, &mut potentials);
            if with_gradients {
                charges.add_gradients(points, &mut gradients);
            }
        }
        (potentials, gradients)
    }
}

/// Values at the children of some panels, shape (excitations, panels, children).
type OfBlock = Vec<Vec<[f64; CHILDREN]>>;

/// What closed forms of near panels add to what their points give.
struct Near<'a> {
    system: &'a System,
    rule: &'static Rule,
    search: &'a Neighbours<'a>,
    charges: &'a [Vec<f64>],
}

impl Near<'_> {
    /// For the children of some panels: corrections to potentials and, where there are interfaces,
    /// to normal derivatives.
    fn corrections(&self, own: std::ops::Range<usize>) -> (OfBlock, OfBlock) {
        let (panels, rows) = (&self.system.panels, &self.system.rows);
        let n = panels.len();
        let count = self.charges.len();
        let has_interfaces = own.clone().any(|i| rows.conductor[i].is_none());
        let zeros = || vec![vec![[0.0; CHILDREN]; own.len()]; count];
        let mut potential = zeros();
        let any_interface = rows.conductor.iter().any(Option::is_none);
        let mut normal = if any_interface { zeros() } else { Vec::new() };
        let targets: Vec<Vec3> = own.clone().flat_map(|i| centroids(panels.vertices(i))).collect();
        let nothing = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let around = |(low, high): (Vec3, Vec3), x: &Vec3| (low.inf(x), high.sup(x));
        let (low, high) = targets.iter().fold(nothing, around);
        let mut found = Vec::new();
        self.search.around_box(&low, &high, &mut found);
        let (mut points, mut near) = (WeightedPoints::default(), WeightedPoints::default());
        let (mut chosen, mut places) = (Vec::new(), Vec::new());
        let (mut exact, mut by_points) = (Vec::new(), Vec::new());
        let signs: Vec<f64> = panels.signs().collect();
        for j in found.into_iter().map(|j| j as usize) {
            let (panel, area) = (panels.panel(j), panels.areas()[j % n]);
            let reach = NEAR * panels.radius(j);
            near.clear();
            chosen.clear();
            places.clear();
            for (t, x) in targets.iter().enumerate() {
                if (x - panel.centroid).norm_squared() < reach * reach {
                    near.push(x, 1.0);
                    chosen.push(t);
                    places.push(<[f64; 3]>::from(*x));
                }
            }
            if chosen.is_empty() {
                continue;
            }
            points.clear();
            self.rule.on(panels.vertices(j)).for_each(|(y, weight)| points.push(&y, weight));
            exact.clear();
            near.add_potentials(&panel, 1.0 / area, &mut exact);
            by_points.clear();
            by_points.resize(chosen.len(), 0.0);
            points.add_inverse_distances(&places, &mut by_points);
            for (k, &t) in chosen.iter().enumerate() {
                let (row, child) = (t / CHILDREN, t % CHILDREN);
                let difference = exact[k] - by_points[k];
                for (potential, charges) in potential.iter_mut().zip(self.charges) {
                    potential[row][child] += signs[j / n] * charges[j % n] * difference;
                }
            }
            if !has_interfaces {
                continue;
            }
            for &t in &chosen {
                let (row, child, i) = (t / CHILDREN, t % CHILDREN, own.start + t / CHILDREN);
                if rows.conductor[i].is_some() {
                    continue;
                }
                let own_normal = panels.normal(i);
                let own_part =
                    if i == j { 0.0 } else { panel.gradient_at(&targets[t]).dot(&own_normal) };
                let mut difference = own_part / area;
                for (y, weight) in self.rule.on(panels.vertices(j)) {
                    let r = targets[t] - y;
                    let r2 = r.norm_squared();
                    if r2 > 0.0 {
                        difference += weight * r.dot(&own_normal) / (r2 * r2.sqrt());
                    }
                }
                for (normal, charges) in normal.iter_mut().zip(self.charges) {
                    normal[row][child] += signs[j / n] * charges[j % n] * difference;
                }
            }
        }
        (potential, normal)
    }
}

/// What the middle child has that corners have not belongs to the sides along which corners differ.
fn shared(sides: [f64; 3], middle: f64) -> [f64; 3] {
    let total: f64 = sides.iter().sum();
    if total > f64::MIN_POSITIVE {
        // Where corners are alike, rounding alone would tell sides apart.
        let even = middle / 3.0;
        sides.map(|side| side + if total > 1e-3 * middle { side / total * middle } else { even })
    } else {
        [middle / 3.0; 3]
    }
}

/// Centroids of the children of a triangle.
fn centroids(v: &[Vec3; 3]) -> [Vec3; CHILDREN] {
    CENTROIDS.map(|[a, b, c]| v[0] * a + v[1] * b + v[2] * c)
}

/// The children of a triangle, in the order of [`CENTROIDS`].
fn children(v: &[Vec3; 3]) -> [Triangle; CHILDREN] {
    let [a, b, c] = *v;
    let (ab, bc, ca) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
    [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].map(Triangle::of)
}

/// Single-layer integrals between the children of a triangle.
fn between(children: &[Triangle; CHILDREN]) -> [[f64; CHILDREN]; CHILDREN] {
    let rule = PairQuadrature::new(OF_CHILDREN, 0);
    let mut nodes = WeightedPoints::default();
    let mut matrix = [[0.0; CHILDREN]; CHILDREN];
    for k in 0..CHILDREN {
        matrix[k][k] = children[k].self_integral();
        for l in 0..k {
            matrix[k][l] = rule.single_layer_with(&children[k], &children[l], &mut nodes);
            matrix[l][k] = matrix[k][l];
        }
    }
    matrix
}
