//! Potentials of curved panels at a point: of the modes of linear functions, per unit of parameter
//! area.
//!
//! A panel is cut in four until each part is far enough from the point for a rule, or so flat that
//! the closed form of the triangle through its corners has the required accuracy. Potentials to few
//! digits are those of triangles that touch the panel, and a rule for what these leave, where that
//! is enough.

use std::array;

use simd::{Elementary, Simd, Task};

use crate::geometry::patch::{CORNERS, Parameters, Parts, Patch, between};
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::curved::tangents;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::curved_sums::Points;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::rule::Rule;

/// Cuts after which a part counts as flat.
const CUTS: usize = 30;

/// Degrees of rules on parts that are far.
const DEGREES: [usize; 4] = [4, 6, 9, 13];

/// Factor between the errors of rules on parts and the bound by distance.
const BELOW_BOUND: f64 = 0.1;

/// Wanted values at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// int m / |x - y|.
    Potential,
    /// The same and its gradient at x.
    Gradient,
    /// int m N . (x - y) / |x - y|^3 with N = y_s cross y_t.
    Double,
}

/// Means over a panel's parameters, for each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfModes {
    /// Potential, of charges or of dipoles along the normals.
    pub potential: [f64; MODES],
    /// Gradient of the potential of charges. On the panel its normal component is the mean of both
    /// sides.
    pub gradient: [Vec3; MODES],
}

/// Potentials at `x` of a panel's modes, to about `accuracy` relative to the contribution of near
/// parts.
pub fn at(patch: &Patch, x: &Vec3, wanted: Wanted, accuracy: f64) -> OfModes {
    at_points(patch, &[*x], wanted, accuracy).pop().unwrap_or_default()
}

/// The same at many points, which share the setup of parts.
pub(crate) fn at_points(
    patch: &Patch,
    points: &[Vec3],
    wanted: Wanted,
    accuracy: f64,
) -> Vec<OfModes> {
    // Coordinates relative to a corner have the precision of the panel's size.
    let origin = patch.at(CORNERS[0]);
    let moved = patch.moved(&-origin);
    // Each cut removes three quarters of the bulge. Next to a point in a narrow panel parts as wide
    // as its height contribute alone.
    let flat = Triangle::of(moved.corners());
    let narrow = if wanted == Wanted::Potential { flat.slenderness() } else { 1.0 };
    let flat_enough = accuracy * round(&flat.vertices).1 / narrow;
    let cuts = if moved.is_straight() { 0 } else { CUTS };
    let radii = |degree: usize| (BELOW_BOUND / accuracy).powf(1.0 / degree as f64).max(1.5);
    let mut scan = Scan {
        wanted,
        apart: DEGREES.map(radii),
        flat_enough,
        points: points.iter().map(|x| x - origin).collect(),
        sums: vec![Sums::default(); points.len()],
        nodes: WeightedPoints::default(),
        of_modes: Default::default(),
    };
    let all: Vec<u32> = if wanted == Wanted::Potential && accuracy >= ROUGH && cuts > 0 {
        scan.add_touching(&moved, accuracy)
    } else {
        (0..points.len() as u32).collect()
    };
    scan.add(&Piece { patch: moved, corners: CORNERS, share: 1.0 }, cuts, &all);
    scan.sums.iter().map(of_modes).collect()
}

/// Sums for the linear functions of the panel's corners: potential and gradient.
type Sums = [[f64; 4]; 3];

fn of_modes(sums: &Sums) -> OfModes {
    let [potential, x, y, z] = [0, 1, 2, 3].map(|k| modes::tested(sums.map(|sum| sum[k])));
    OfModes { potential, gradient: array::from_fn(|m| Vec3::new(x[m], y[m], z[m])) }
}

/// Centroid of a triangle, and the largest distance from there.
fn round(corners: &[Vec3; 3]) -> (Vec3, f64) {
    let centre = (corners[0] + corners[1] + corners[2]) / 3.0;
    let largest = corners.iter().map(|v| (v - centre).norm_squared()).fold(0.0, f64::max);
    (centre, largest.sqrt())
}

/// A part of a panel.
struct Piece {
    patch: Patch,
    corners: [Parameters; 3],
    /// Share of the panel's parameters.
    share: f64,
}

struct Scan {
    wanted: Wanted,
    /// Number of radii that each rule needs for its accuracy.
    apart: [f64; DEGREES.len()],
    /// Parts with a smaller deviation count as flat.
    flat_enough: f64,
    points: Vec<Vec3>,
    sums: Vec<Sums>,
    /// Scratch space for points evaluated together on flat parts.
    nodes: WeightedPoints,
    of_modes: [Vec<f64>; MODES],
}

/// From this accuracy on triangles that touch are tried first.
const ROUGH: f64 = 1e-6;

/// Degrees of two rules for what they leave, and others for points where these differ by more than
/// this share of the accuracy.
const OF_REST: [[usize; 2]; 2] = [[4, 6], [9, 13]];
const AGREE: f64 = 0.3;

impl Scan {
    /// Adds the potentials of the triangles that touch a panel where it is nearest to the points,
    /// and by rules what they leave; returns the points where these do not agree.
    fn add_touching(&mut self, patch: &Patch, accuracy: f64) -> Vec<u32> {
        let mut left: Vec<u32> = (0..self.points.len() as u32).collect();
        for degrees in OF_REST {
            self.nodes.clear();
            left.iter().for_each(|&x| self.nodes.push(&self.points[x as usize], 1.0));
            self.nodes.fill_up(&patch.at(CORNERS[0]));
            let values = tangents::at_points(patch, &self.nodes, degrees);
            let mut still = Vec::new();
            for (k, &point) in left.iter().enumerate() {
                let [a, b, c, change] = values.each_ref().map(|values| values[k]);
                if change <= AGREE * accuracy * (a + b + c) {
                    let sums = &mut self.sums[point as usize];
                    sums.iter_mut().zip([a, b, c]).for_each(|(sum, value)| sum[0] = value);
                } else {
                    still.push(point);
                }
            }
            left = still;
        }
        left
    }

    /// Adds the contribution of a part at some of the points.
    fn add(&mut self, part: &Piece, cuts: usize, points: &[u32]) {
        let flat = part.patch.corners();
        let (bulge, (centre, radius)) = (part.patch.bulge(), round(&flat));
        let radius = radius + bulge;
        let mut by_rules: [Option<Points>; DEGREES.len()] = Default::default();
        // The normal includes the area of the part.
        let factor = if self.wanted == Wanted::Double { 1.0 } else { part.share };
        let mut near = Vec::new();
        for &point in points {
            let x = &self.points[point as usize];
            let Some(k) = self.rule(radius, (x - centre).norm()) else {
                near.push(point);
                continue;
            };
            let nodes = by_rules[k].get_or_insert_with(|| {
                let with_normals = self.wanted == Wanted::Double;
                let tangents = with_normals.then(|| part.patch.tangents());
                Points::on_patch(Rule::of_degree(DEGREES[k]), &part.patch, tangents.as_ref())
            });
            let values = match self.wanted {
                Wanted::Potential => simd::run(Means::<false, false> { nodes, x }),
                Wanted::Gradient => simd::run(Means::<true, false> { nodes, x }),
                Wanted::Double => simd::run(Means::<false, true> { nodes, x }),
            };
            collect(part, factor, &values, &mut self.sums[point as usize]);
        }
        if near.is_empty() {
            return;
        }
        // The error of a flat part is its bulge over its size, relative to the contribution of
        // parts of its size.
        if cuts == 0 || bulge <= self.flat_enough {
            return self.add_flat(part, &flat, bulge, &near);
        }
        for quarter in &Parts::all().quarters {
            let patch = part.patch.part(quarter);
            let corners = quarter.corners.map(|corner| between(&part.corners, corner));
            self.add(&Piece { patch, corners, share: 0.25 * part.share }, cuts - 1, &near);
        }
    }

    /// The rule that is accurate enough for a part of this radius at this distance.
    fn rule(&self, radius: f64, distance: f64) -> Option<usize> {
        self.apart.iter().position(|&radii| distance > radii * radius)
    }

    fn add_flat(&mut self, part: &Piece, flat: &[Vec3; 3], bulge: f64, points: &[u32]) {
        let triangle = Triangle::of(*flat);
        if triangle.area.is_nan() || triangle.area <= 0.0 {
            return;
        }
        if self.wanted == Wanted::Potential {
            return self.add_flat_potentials(part, &triangle, points);
        }
        let along = triangle.normal;
        for &point in points {
            let x = self.points[point as usize];
            let height = along.dot(&(flat[0] - x)).abs();
            // Points on the panel are within its bulge of the flat part: on it.
            let is_on = height <= 4.0 * bulge + 1e-14 * triangle.radius;
            let linear = triangle.linear_potentials(x.into());
            let values: Sums = array::from_fn(|k| {
                let gradient = Vec3::from(linear.gradient[k]);
                let gradient =
                    if is_on { gradient - along * along.dot(&gradient) } else { gradient };
                let potential = match self.wanted {
                    Wanted::Double if is_on => 0.0,
                    // Per unit of parameters: twice the area.
                    Wanted::Double => 2.0 * triangle.area * linear.double_layer[k],
                    _ => linear.single_layer[k],
                };
                [potential, gradient.x, gradient.y, gradient.z]
            });
            let factor = if self.wanted == Wanted::Double { 1.0 } else { part.share };
            let sums = &mut self.sums[point as usize];
            collect(part, factor / triangle.area, &values, sums);
        }
    }

    fn add_flat_potentials(&mut self, part: &Piece, triangle: &Triangle, points: &[u32]) {
        self.nodes.clear();
        points.iter().for_each(|&point| self.nodes.push(&self.points[point as usize], 1.0));
        self.of_modes.iter_mut().for_each(Vec::clear);
        self.nodes.add_modes(triangle, part.share / triangle.area, &mut self.of_modes);
        // Functions that are 1 at a corner of the part, expressed in its modes.
        let hats = CORNER_VALUES.map(modes::of_corners);
        for (k, &point) in points.iter().enumerate() {
            let at = |m: usize| self.of_modes[m][k];
            let values =
                hats.map(|hat| [(0..MODES).map(|m| hat[m] * at(m)).sum::<f64>(), 0.0, 0.0, 0.0]);
            collect(part, 1.0, &values, &mut self.sums[point as usize]);
        }
    }
}

/// Values at the corners of the functions that are 1 at one of them.
const CORNER_VALUES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Adds values of a part's corners to those of the panel's.
fn collect(part: &Piece, factor: f64, values: &Sums, sums: &mut Sums) {
    for ([s, t], values) in part.corners.iter().zip(values) {
        for (sum, at) in sums.iter_mut().zip([1.0 - s - t, *s, *t]) {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * at * value);
        }
    }
}

/// Means over a part's points, against the functions of its corners.
struct Means<'a, const GRADIENT: bool, const DOUBLE: bool> {
    nodes: &'a Points,
    x: &'a Vec3,
}

impl<const GRADIENT: bool, const DOUBLE: bool> Task<f64> for Means<'_, GRADIENT, DOUBLE> {
    type Output = Sums;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Sums {
        let Self { nodes, x } = self;
        let x = [V::splat(x.x), V::splat(x.y), V::splat(x.z)];
        let mut sums = [[V::zero(); 4]; 3];
        let (hats, weights) = nodes.rule().lanes();
        for at in (0..weights.len()).step_by(V::LANES) {
            let y = nodes.lanes::<V>(at);
            let y = [y[0].sub(x[0]), y[1].sub(x[1]), y[2].sub(x[2])];
            let r2 = y[0].mul_add(y[0], y[1].mul_add(y[1], y[2].mul(y[2])));
            let inverse = r2.rsqrt_or_zero();
            let weighted = V::load(&weights[at..]).mul(inverse);
            let cubed = weighted.mul(inverse).mul(inverse);
            let potential = if DOUBLE {
                let n = nodes.normals::<V>(at);
                let along = n[0].mul_add(y[0], n[1].mul_add(y[1], n[2].mul(y[2])));
                V::zero().sub(along.mul(cubed))
            } else {
                weighted
            };
            for k in 0..3 {
                let hat = V::load(&hats[k][at..]);
                sums[k][0] = hat.mul_add(potential, sums[k][0]);
                if GRADIENT {
                    // The gradient at the point is along y, which is seen from there.
                    let factor = hat.mul(cubed);
                    for axis in 0..3 {
                        sums[k][axis + 1] = factor.mul_add(y[axis], sums[k][axis + 1]);
                    }
                }
            }
        }
        let mut values = Sums::default();
        for k in 0..3 {
            for l in 0..if GRADIENT { 4 } else { 1 } {
                values[k][l] = sums[k][l].sum();
            }
        }
        values
    }
}
