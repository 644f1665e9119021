//! Change of sums over the points of a rule when a finer one is used, for many pairs of triangles.

use simd::{Elementary, Real, Simd, Task};

use crate::geometry::triangle::Vec3;
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::{BLOCK, Rule};

/// Pairs of triangles and two rules, of which the second is finer. No points may coincide.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    /// The coarser and the finer one.
    pub rules: [&'a Rule; 2],
    /// Of each triangle.
    pub vertices: &'a [[Vec3; 3]],
    /// Indices of triangles.
    pub pairs: &'a [[usize; 2]],
}

/// For each pair |L - P| + |R - P|, with P the mean of 1/|x - y| over the points of the first rule
/// on both, L and R with the second rule on the one and on the other.
pub fn of_potentials(of: Pairs<'_>, errors: &mut Vec<f64>) {
    simd::run(OfPotentials { of, errors });
}

struct OfPotentials<'a> {
    of: Pairs<'a>,
    errors: &'a mut Vec<f64>,
}

impl Task<f64> for OfPotentials<'_> {
    type Output = ();

    /// One pair per lane.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { of: Pairs { rules, vertices, pairs }, errors } = self;
        let [rule, finer] = rules;
        let mut points = PointsOfPairs::new(rules);
        for pairs in pairs.chunks(V::LANES) {
            let [xs, ys] = points.of(vertices, pairs);
            let (mut plain, mut left, mut right) = (V::zero(), V::zero(), V::zero());
            for (x, node) in xs[0].iter().zip(rule.nodes()) {
                let weight = V::splat(node.weight);
                plain = weight.mul_add(mean_inverse_distance(x, rule, ys[0]), plain);
                right = weight.mul_add(mean_inverse_distance(x, finer, ys[1]), right);
            }
            for (x, node) in xs[1].iter().zip(finer.nodes()) {
                let mean = mean_inverse_distance(x, rule, ys[0]);
                left = V::splat(node.weight).mul_add(mean, left);
            }
            let error = left.sub(plain).abs().add(right.sub(plain).abs());
            errors.extend_from_slice(&error.lanes()[..pairs.len()]);
        }
    }
}

/// As [`of_potentials`], for the means of products of 1/|x - y| and modes of linear functions on
/// both: the largest |L - P| plus the largest |R - P| of all modes.
pub fn of_modes(of: Pairs<'_>, errors: &mut Vec<f64>) {
    simd::run(OfModes { of, errors });
}

struct OfModes<'a> {
    of: Pairs<'a>,
    errors: &'a mut Vec<f64>,
}

impl Task<f64> for OfModes<'_> {
    type Output = ();

    /// One pair per lane.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { of: Pairs { rules, vertices, pairs }, errors } = self;
        let [rule, finer] = rules;
        let mut points = PointsOfPairs::new(rules);
        for pairs in pairs.chunks(V::LANES) {
            let [xs, ys] = points.of(vertices, pairs);
            let zero = [[V::zero(); MODES]; MODES];
            let (mut plain, mut left, mut right) = (zero, zero, zero);
            for (p, x) in xs[0][..rule.len()].iter().enumerate() {
                add_means_with_modes(x, [rule, rule], p, ys[0], &mut plain);
                add_means_with_modes(x, [rule, finer], p, ys[1], &mut right);
            }
            for (p, x) in xs[1][..finer.len()].iter().enumerate() {
                add_means_with_modes(x, [finer, rule], p, ys[0], &mut left);
            }
            // From an entry on, which is NaN if any is.
            let mut largest = [left, right].map(|of| of[0][0].sub(plain[0][0]).abs());
            for m in 0..MODES {
                for l in 0..MODES {
                    largest[0] = largest[0].max(left[m][l].sub(plain[m][l]).abs());
                    largest[1] = largest[1].max(right[m][l].sub(plain[m][l]).abs());
                }
            }
            let error = largest[0].add(largest[1]);
            errors.extend_from_slice(&error.lanes()[..pairs.len()]);
        }
    }
}

/// For each pair |(L - P) . n| + |(R - P) . n| along the normal n of the first and of the second,
/// with P the mean of (x - y)/|x - y|^3 over the points of the first rule on both, L and R as for
/// [`of_potentials`].
pub fn of_fields(of: Pairs<'_>, errors: &mut Vec<[f64; 2]>) {
    simd::run(OfFields { of, errors });
}

struct OfFields<'a> {
    of: Pairs<'a>,
    errors: &'a mut Vec<[f64; 2]>,
}

impl Task<f64> for OfFields<'_> {
    type Output = ();

    /// One pair per lane.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { of: Pairs { rules, vertices, pairs }, errors } = self;
        let [rule, finer] = rules;
        let mut points = PointsOfPairs::new(rules);
        for pairs in pairs.chunks(V::LANES) {
            let normals = [0, 1].map(|side| normals_of::<V>(vertices, pairs, side));
            let [xs, ys] = points.of(vertices, pairs);
            let zero = [V::zero(); 3];
            let (mut plain, mut left, mut right) = (zero, zero, zero);
            for (x, node) in xs[0].iter().zip(rule.nodes()) {
                add_mean_field(x, node.weight, rule, ys[0], &mut plain);
                add_mean_field(x, node.weight, finer, ys[1], &mut right);
            }
            for (x, node) in xs[1].iter().zip(finer.nodes()) {
                add_mean_field(x, node.weight, rule, ys[0], &mut left);
            }
            let along = |normal: &[V; 3], field: &[V; 3]| {
                let [x, y, z] = [0, 1, 2].map(|k| field[k].sub(plain[k]));
                normal[0].mul_add(x, normal[1].mul_add(y, normal[2].mul(z))).abs()
            };
            let mut lanes = [[0.0; f64::MAX_LANES]; 2];
            for (lanes, normal) in lanes.iter_mut().zip(&normals) {
                along(normal, &left).add(along(normal, &right)).store(lanes);
            }
            errors.extend((0..pairs.len()).map(|lane| [lanes[0][lane], lanes[1][lane]]));
        }
    }
}

/// The points of two rules on both triangles of one pair per lane.
struct PointsOfPairs<'a, V> {
    rules: [&'a Rule; 2],
    points: [Vec<[V; 3]>; 2],
}

impl<'a, V: Elementary> PointsOfPairs<'a, V> {
    #[inline(always)]
    fn new(rules: [&'a Rule; 2]) -> Self {
        let count = rules[0].blocks.len() + rules[1].blocks.len();
        Self { rules, points: [Vec::with_capacity(count), Vec::with_capacity(count)] }
    }

    /// Indexed by triangle and by rule.
    #[inline(always)]
    fn of(&mut self, vertices: &[[Vec3; 3]], pairs: &[[usize; 2]]) -> [[&[[V; 3]]; 2]; 2] {
        let [first, second] = &mut self.points;
        points_of::<V>(self.rules, vertices, pairs, 0, first);
        points_of::<V>(self.rules, vertices, pairs, 1, second);
        let of_first = self.rules[0].blocks.len();
        self.points.each_ref().map(|points| points.split_at(of_first).into())
    }
}

/// The corners of the first or the second triangle of each pair, one pair per lane.
#[inline(always)]
fn corners_of<V: Elementary>(
    vertices: &[[Vec3; 3]],
    pairs: &[[usize; 2]],
    side: usize,
) -> [[V; 3]; 3] {
    let mut lanes = [[[0.0; f64::MAX_LANES]; 3]; 3];
    for lane in 0..V::LANES {
        // Lanes without a pair repeat the last.
        let triangle = &vertices[pairs[lane.min(pairs.len() - 1)][side]];
        for k in 0..3 {
            for axis in 0..3 {
                lanes[k][axis][lane] = triangle[k][axis];
            }
        }
    }
    let mut corners = [[V::zero(); 3]; 3];
    for k in 0..3 {
        for axis in 0..3 {
            corners[k][axis] = V::load(&lanes[k][axis]);
        }
    }
    corners
}

/// The unit normals of the same triangles.
#[inline(always)]
fn normals_of<V: Elementary>(vertices: &[[Vec3; 3]], pairs: &[[usize; 2]], side: usize) -> [V; 3] {
    let [a, b, c] = corners_of::<V>(vertices, pairs, side);
    let edge = |end: &[V; 3]| [0, 1, 2].map(|k| end[k].sub(a[k]));
    let (u, v) = (edge(&b), edge(&c));
    let component = |k: usize| {
        let (l, m) = ((k + 1) % 3, (k + 2) % 3);
        u[l].mul(v[m]).sub(u[m].mul(v[l]))
    };
    let [x, y, z] = [component(0), component(1), component(2)];
    let length = x.mul_add(x, y.mul_add(y, z.mul(z))).sqrt();
    [x.div(length), y.div(length), z.div(length)]
}

/// The points of both rules, one after the other, on the first or the second triangle of each pair,
/// one pair per lane.
#[inline(always)]
fn points_of<V: Elementary>(
    rules: [&Rule; 2],
    vertices: &[[Vec3; 3]],
    pairs: &[[usize; 2]],
    side: usize,
    points: &mut Vec<[V; 3]>,
) {
    let corners = corners_of::<V>(vertices, pairs, side);
    points.clear();
    for rule in rules {
        for node in &rule.blocks {
            let [a, b, c] = node.barycentric;
            let (a, b, c) = (V::splat(a), V::splat(b), V::splat(c));
            let mut point = [V::zero(); 3];
            for axis in 0..3 {
                let [u, v, w] = [corners[0][axis], corners[1][axis], corners[2][axis]];
                point[axis] = a.mul_add(u, b.mul_add(v, c.mul(w)));
            }
            points.push(point);
        }
    }
}

/// 1 / |x - y| for the points of a block.
#[inline(always)]
fn inverse_distances<V: Elementary>(x: &[V; 3], ys: &[[V; 3]; BLOCK]) -> [V; BLOCK] {
    let mut r2 = [V::zero(); BLOCK];
    for axis in 0..3 {
        for b in 0..BLOCK {
            let d = ys[b][axis].sub(x[axis]);
            r2[b] = d.mul_add(d, r2[b]);
        }
    }
    V::rsqrts_or_zero(r2)
}

/// sum_q w_q / |x - y_q| over the points of `rule`, padded to whole blocks.
#[inline(always)]
fn mean_inverse_distance<V: Elementary>(x: &[V; 3], rule: &Rule, ys: &[[V; 3]]) -> V {
    let mut sum = V::zero();
    let (blocks, _) = ys.as_chunks::<BLOCK>();
    let (nodes, _) = rule.blocks.as_chunks::<BLOCK>();
    for (ys, nodes) in blocks.iter().zip(nodes) {
        let inverse = inverse_distances(x, ys);
        for b in 0..BLOCK {
            sum = V::splat(nodes[b].weight).mul_add(inverse[b], sum);
        }
    }
    sum
}

/// Adds w_p m_p sum_q w_q l_q / |x - y_q| for all modes m and l, with x the point `p` of the first
/// rule and y_q those of the second, padded to whole blocks.
#[inline(always)]
fn add_means_with_modes<V: Elementary>(
    x: &[V; 3],
    [outer, inner]: [&Rule; 2],
    p: usize,
    ys: &[[V; 3]],
    means: &mut [[V; MODES]; MODES],
) {
    let mut sums = [V::zero(); MODES];
    let (blocks, _) = ys.as_chunks::<BLOCK>();
    for (first, ys) in (0..).step_by(BLOCK).zip(blocks) {
        let inverse = inverse_distances(x, ys);
        for b in 0..BLOCK {
            for l in 0..MODES {
                sums[l] = V::splat(inner.modes[l][first + b]).mul_add(inverse[b], sums[l]);
            }
        }
    }
    for m in 0..MODES {
        for l in 0..MODES {
            means[m][l] = V::splat(outer.modes[m][p]).mul_add(sums[l], means[m][l]);
        }
    }
}

/// Adds `weight` times sum_q w_q (x - y_q) / |x - y_q|^3 over the points of `rule`, padded to whole
/// blocks.
#[inline(always)]
fn add_mean_field<V: Elementary>(
    x: &[V; 3],
    weight: f64,
    rule: &Rule,
    ys: &[[V; 3]],
    field: &mut [V; 3],
) {
    let (blocks, _) = ys.as_chunks::<BLOCK>();
    let (nodes, _) = rule.blocks.as_chunks::<BLOCK>();
    for (ys, nodes) in blocks.iter().zip(nodes) {
        let (mut r2, mut d) = ([V::zero(); BLOCK], [[V::zero(); 3]; BLOCK]);
        for axis in 0..3 {
            for b in 0..BLOCK {
                d[b][axis] = x[axis].sub(ys[b][axis]);
                r2[b] = d[b][axis].mul_add(d[b][axis], r2[b]);
            }
        }
        let inverse = V::rsqrts_or_zero(r2);
        for b in 0..BLOCK {
            let cube = inverse[b].mul(inverse[b]).mul(inverse[b]);
            let factor = V::splat(weight * nodes[b].weight).mul(cube);
            for axis in 0..3 {
                field[axis] = d[b][axis].mul_add(factor, field[axis]);
            }
        }
    }
}
