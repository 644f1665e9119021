//! Sums of 1/|x - y| and its gradient over the points of a rule on one triangle and of a rule on
//! another, in lanes.

use std::sync::LazyLock;

use simd::{Elementary, Real, Simd, Task};

use crate::geometry::patch::{Patch, Tangents};
use crate::geometry::triangle::Vec3;
use crate::quadrature::modes::{self, MODES};
use crate::quadrature::{self, MAX_TRIANGLE_DEGREE, TriangleNode};

/// A triangle rule, coordinate by coordinate, filled up to whole vectors with points of weight 0.
#[derive(Debug)]
pub(crate) struct Rule {
    degree: usize,
    nodes: &'static [TriangleNode],
    barycentric: [Vec<f64>; 3],
    weights: Vec<f64>,
    /// Values of the modes of linear functions, times the weights.
    modes: [Vec<f64>; MODES],
    /// The points, filled up to whole blocks of [`BLOCK`].
    blocks: Vec<TriangleNode>,
}

/// Points that are evaluated side by side where lanes carry pairs of triangles.
const BLOCK: usize = 3;

impl Rule {
    /// The cheapest rule that is exact to `degree`, as [`quadrature::triangle`] has it.
    pub(crate) fn of_degree(degree: usize) -> &'static Self {
        static RULES: LazyLock<Vec<Rule>> =
            LazyLock::new(|| (0..=MAX_TRIANGLE_DEGREE).map(Rule::filled_up).collect());
        &RULES[degree.min(MAX_TRIANGLE_DEGREE)]
    }

    fn filled_up(degree: usize) -> Self {
        let nodes = quadrature::triangle(degree);
        let length = nodes.len().next_multiple_of(f64::MAX_LANES);
        let mut blocks = nodes.to_vec();
        let none = TriangleNode { barycentric: [1.0 / 3.0; 3], weight: 0.0 };
        blocks.resize(nodes.len().next_multiple_of(BLOCK), none);
        let mut rule = Self {
            degree,
            nodes,
            blocks,
            barycentric: std::array::from_fn(|_| vec![1.0 / 3.0; length]),
            weights: vec![0.0; length],
            modes: modes::weighted(nodes).map(|mut values| {
                values.resize(length, 0.0);
                values
            }),
        };
        for (p, node) in nodes.iter().enumerate() {
            rule.weights[p] = node.weight;
            for k in 0..3 {
                rule.barycentric[k][p] = node.barycentric[k];
            }
        }
        rule
    }

    pub(crate) fn nodes(&self) -> &'static [TriangleNode] {
        self.nodes
    }

    /// The points on a triangle with these vertices, and their weights, which sum to 1.
    pub(crate) fn on(&self, v: &[Vec3; 3]) -> impl Iterator<Item = (Vec3, f64)> {
        self.nodes.iter().map(move |node| {
            let [a, b, c] = node.barycentric;
            (v[0] * a + v[1] * b + v[2] * c, node.weight)
        })
    }

    /// Barycentric coordinates and weights, filled up to whole vectors with weights 0.
    #[inline]
    pub(crate) fn lanes(&self) -> ([&[f64]; 3], &[f64]) {
        (self.barycentric.each_ref().map(Vec::as_slice), &self.weights)
    }

    /// Polynomials up to this degree are integrated exactly.
    pub(crate) fn degree(&self) -> usize {
        self.degree
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// For each mode of linear functions its values at the points, times their weights.
    pub(crate) fn modes(&self) -> [&[f64]; MODES] {
        self.modes.each_ref().map(|values| &values[..self.len()])
    }
}

/// sum_pq v_p m_p w_q l_q k(x_p - y_q) over `outer` points on the triangle `s` and `inner` points
/// on `t`, for all modes m and l of linear functions on the two, shape (modes, modes), with k(r) =
/// 1/|r|, or normal . r / |r|^3 where a normal is given; coincident points contribute nothing.
#[inline]
pub(crate) fn between_modes(
    outer: &Rule,
    s: &[Vec3; 3],
    inner: &Rule,
    t: &[Vec3; 3],
    normal: Option<Vec3>,
) -> [[f64; MODES]; MODES] {
    simd::run(BetweenModes { outer, s, inner, t, normal })
}

struct BetweenModes<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
    normal: Option<Vec3>,
}

impl Task<f64> for BetweenModes<'_> {
    type Output = [[f64; MODES]; MODES];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { outer, s, inner, t, normal } = self;
        let mut total = [[V::zero(); MODES]; MODES];
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let mut sums = [V::zero(); MODES];
            for (p, (x, _)) in outer.on(s).enumerate() {
                let (dx, dy, dz) =
                    (V::splat(x.x).sub(y0), V::splat(x.y).sub(y1), V::splat(x.z).sub(y2));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let inverse = r2.rsqrt_or_zero();
                let value = match normal {
                    None => inverse,
                    Some(n) => {
                        let along = dx
                            .mul(V::splat(n.x))
                            .add(dy.mul(V::splat(n.y)))
                            .add(dz.mul(V::splat(n.z)));
                        along.mul(inverse).mul(inverse).mul(inverse)
                    }
                };
                for (sum, mode) in sums.iter_mut().zip(&outer.modes) {
                    *sum = V::splat(mode[p]).mul_add(value, *sum);
                }
            }
            for (row, sum) in total.iter_mut().zip(sums) {
                for (entry, mode) in row.iter_mut().zip(&inner.modes) {
                    *entry = V::load(&mode[at..]).mul_add(sum, *entry);
                }
            }
        }
        total.map(|row| row.map(|entry| entry.sum()))
    }
}

/// The points of a rule on a curved panel, filled up to whole vectors.
#[derive(Debug)]
pub(crate) struct Points {
    rule: &'static Rule,
    /// Coordinate by coordinate, and those of the normals, if there are any.
    values: Vec<f64>,
}

impl Points {
    /// On a patch; with normals, of the length of the area per unit of parameters, of its tangents.
    pub(crate) fn on_patch(
        rule: &'static Rule,
        patch: &Patch,
        tangents: Option<&Tangents>,
    ) -> Self {
        let rows = if tangents.is_some() { 6 } else { 3 };
        let mut points = Self { rule, values: vec![0.0; rows * rule.weights.len()] };
        simd::run(OnPatch { points: &mut points, patch, tangents });
        points
    }

    pub(crate) fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// The points from `at` on, one per lane.
    #[inline(always)]
    pub(crate) fn lanes<V: Elementary>(&self, at: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::load(&self.values[k * n + at..]);
        [row(0), row(1), row(2)]
    }

    /// The normals there.
    #[inline(always)]
    pub(crate) fn normals<V: Elementary>(&self, at: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::load(&self.values[k * n + at..]);
        [row(3), row(4), row(5)]
    }

    /// Three values of a point in all lanes: its coordinates, or from 3 on those of the normal.
    #[inline(always)]
    fn splat<V: Elementary>(&self, at: usize, first: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::splat(self.values[(first + k) * n + at]);
        [row(0), row(1), row(2)]
    }
}

struct OnPatch<'a> {
    points: &'a mut Points,
    patch: &'a Patch,
    tangents: Option<&'a Tangents>,
}

impl Task<f64> for OnPatch<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { points, patch, tangents } = self;
        let [_, s, t] = &points.rule.barycentric;
        for at in (0..s.len()).step_by(V::LANES) {
            let (u, v) = (V::load(&s[at..]), V::load(&t[at..]));
            let x = patch.lanes(u, v);
            for axis in 0..3 {
                x[axis].store(&mut points.values[axis * s.len() + at..]);
            }
            if let Some(tangents) = tangents {
                let normal = tangents.normals(patch.order(), u, v);
                for axis in 0..3 {
                    normal[axis].store(&mut points.values[(axis + 3) * s.len() + at..]);
                }
            }
        }
    }
}

/// [`between_modes`] with k(r) = 1/|r| over any points.
pub(crate) fn potentials_between(first: &Points, second: &Points) -> [[f64; MODES]; MODES] {
    simd::run(PotentialsBetween { first, second })
}

/// The same of normal derivatives: with k = -n_x . r / |r|^3 tested on the first, and with
/// k = n_y . r / |r|^3 tested on the second, each of shape (modes of the tested, modes of the
/// other). Both must have normals.
pub(crate) fn fields_between(first: &Points, second: &Points) -> [[[f64; MODES]; MODES]; 2] {
    simd::run(FieldsBetween { first, second })
}

struct PotentialsBetween<'a> {
    first: &'a Points,
    second: &'a Points,
}

struct FieldsBetween<'a> {
    first: &'a Points,
    second: &'a Points,
}

#[inline(always)]
fn dot<V: Elementary>(a: &[V; 3], b: &[V; 3]) -> V {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

impl Task<f64> for PotentialsBetween<'_> {
    type Output = [[f64; MODES]; MODES];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { first, second } = self;
        let mut total = [[V::zero(); MODES]; MODES];
        for at in (0..second.rule.weights.len()).step_by(V::LANES) {
            let y = second.lanes::<V>(at);
            let mut sums = [V::zero(); MODES];
            for p in 0..first.rule.len() {
                let x = first.splat::<V>(p, 0);
                let d = [x[0].sub(y[0]), x[1].sub(y[1]), x[2].sub(y[2])];
                let value = dot(&d, &d).rsqrt_or_zero();
                for m in 0..MODES {
                    sums[m] = V::splat(first.rule.modes[m][p]).mul_add(value, sums[m]);
                }
            }
            for m in 0..MODES {
                for l in 0..MODES {
                    total[m][l] =
                        V::load(&second.rule.modes[l][at..]).mul_add(sums[m], total[m][l]);
                }
            }
        }
        summed(&total)
    }
}

impl Task<f64> for FieldsBetween<'_> {
    type Output = [[[f64; MODES]; MODES]; 2];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { first, second } = self;
        let (mut forth, mut back) = ([[V::zero(); MODES]; MODES], [[V::zero(); MODES]; MODES]);
        for at in (0..second.rule.weights.len()).step_by(V::LANES) {
            let (y, of_second) = (second.lanes::<V>(at), second.normals::<V>(at));
            let (mut from, mut to) = ([V::zero(); MODES], [V::zero(); MODES]);
            for p in 0..first.rule.len() {
                let (x, normal) = (first.splat::<V>(p, 0), first.splat::<V>(p, 3));
                // From x to y.
                let d = [y[0].sub(x[0]), y[1].sub(x[1]), y[2].sub(x[2])];
                let inverse = dot(&d, &d).rsqrt_or_zero();
                let cubed = inverse.mul(inverse).mul(inverse);
                let at_first = dot(&normal, &d).mul(cubed);
                let at_second = dot(&of_second, &d).mul(cubed);
                for m in 0..MODES {
                    let mode = V::splat(first.rule.modes[m][p]);
                    from[m] = mode.mul_add(at_first, from[m]);
                    to[m] = mode.mul_add(at_second, to[m]);
                }
            }
            for l in 0..MODES {
                let mode = V::load(&second.rule.modes[l][at..]);
                for m in 0..MODES {
                    forth[m][l] = mode.mul_add(from[m], forth[m][l]);
                    back[l][m] = mode.mul_add(V::zero().sub(to[m]), back[l][m]);
                }
            }
        }
        [summed(&forth), summed(&back)]
    }
}

#[inline(always)]
fn summed<V: Simd<Scalar = f64>>(lanes: &[[V; MODES]; MODES]) -> [[f64; MODES]; MODES] {
    let mut sums = [[0.0; MODES]; MODES];
    for m in 0..MODES {
        for l in 0..MODES {
            sums[m][l] = lanes[m][l].sum();
        }
    }
    sums
}

/// sum_pq v_p w_q / |x_p - y_q| over `outer` points on the triangle `s` and `inner` points on `t`;
/// coincident points contribute nothing.
#[inline]
pub(crate) fn sum(outer: &Rule, s: &[Vec3; 3], inner: &Rule, t: &[Vec3; 3]) -> f64 {
    simd::run(Sum { outer, s, inner, t })
}

/// sum_pq v_p w_q (x_p - y_q) / |x_p - y_q|^3 over the same points: minus the gradient with respect
/// to x.
#[inline]
pub(crate) fn field(outer: &Rule, s: &[Vec3; 3], inner: &Rule, t: &[Vec3; 3]) -> Vec3 {
    simd::run(Field { outer, s, inner, t })
}

struct Sum<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
}

struct Field<'a> {
    outer: &'a Rule,
    s: &'a [Vec3; 3],
    inner: &'a Rule,
    t: &'a [Vec3; 3],
}

impl Task<f64> for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> f64 {
        let Self { outer, s, inner, t } = self;
        let mut total = V::zero();
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let mut sum = V::zero();
            for (x, weight) in outer.on(s) {
                let (dx, dy, dz) =
                    (y0.sub(V::splat(x.x)), y1.sub(V::splat(x.y)), y2.sub(V::splat(x.z)));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                sum = V::splat(weight).mul_add(r2.rsqrt_or_zero(), sum);
            }
            total = V::load(&inner.weights[at..]).mul_add(sum, total);
        }
        total.sum()
    }
}

/// For each of `pairs` of triangles with these vertices |L - P| + |R - P|, with P the mean of
/// 1/|x - y| over the points of the first rule on both, L and R with the second rule on the one and
/// on the other. No points may coincide.
pub(crate) fn errors(
    rules: [&Rule; 2],
    vertices: &[[Vec3; 3]],
    pairs: &[[usize; 2]],
    errors: &mut Vec<f64>,
) {
    simd::run(Errors { rules, vertices, pairs, errors });
}

struct Errors<'a> {
    rules: [&'a Rule; 2],
    vertices: &'a [[Vec3; 3]],
    pairs: &'a [[usize; 2]],
    errors: &'a mut Vec<f64>,
}

impl Task<f64> for Errors<'_> {
    type Output = ();

    /// Each lane is a pair.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { rules, vertices, pairs, errors } = self;
        let [rule, finer] = rules;
        let mut points = PointsOfPairs::new(rules);
        for pairs in pairs.chunks(V::LANES) {
            let [xs, ys] = points.of(vertices, pairs);
            let (mut plain, mut left, mut right) = (V::zero(), V::zero(), V::zero());
            for (x, node) in xs[0].iter().zip(rule.nodes) {
                let weight = V::splat(node.weight);
                plain = weight.mul_add(mean_inverse_distance(x, rule, ys[0]), plain);
                right = weight.mul_add(mean_inverse_distance(x, finer, ys[1]), right);
            }
            for (x, node) in xs[1].iter().zip(finer.nodes) {
                let mean = mean_inverse_distance(x, rule, ys[0]);
                left = V::splat(node.weight).mul_add(mean, left);
            }
            let error = left.sub(plain).abs().add(right.sub(plain).abs());
            errors.extend_from_slice(&error.lanes()[..pairs.len()]);
        }
    }
}

/// For each of `pairs` of triangles with these vertices |(L - P) . n| + |(R - P) . n| along the
/// normal n of the first and of the second, with P the mean of (x - y)/|x - y|^3 over the points of
/// the first rule on both, L and R as for [`errors`]. No points may coincide.
pub(crate) fn field_errors(
    rules: [&Rule; 2],
    vertices: &[[Vec3; 3]],
    pairs: &[[usize; 2]],
    errors: &mut Vec<[f64; 2]>,
) {
    simd::run(FieldErrors { rules, vertices, pairs, errors });
}

struct FieldErrors<'a> {
    rules: [&'a Rule; 2],
    vertices: &'a [[Vec3; 3]],
    pairs: &'a [[usize; 2]],
    errors: &'a mut Vec<[f64; 2]>,
}

impl Task<f64> for FieldErrors<'_> {
    type Output = ();

    /// Each lane is a pair.
    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { rules, vertices, pairs, errors } = self;
        let [rule, finer] = rules;
        let mut points = PointsOfPairs::new(rules);
        for pairs in pairs.chunks(V::LANES) {
            let normals = [0, 1].map(|side| normals_of::<V>(vertices, pairs, side));
            let [xs, ys] = points.of(vertices, pairs);
            let zero = [V::zero(); 3];
            let (mut plain, mut left, mut right) = (zero, zero, zero);
            for (x, node) in xs[0].iter().zip(rule.nodes) {
                add_mean_field(x, node.weight, rule, ys[0], &mut plain);
                add_mean_field(x, node.weight, finer, ys[1], &mut right);
            }
            for (x, node) in xs[1].iter().zip(finer.nodes) {
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

/// The points of two rules on both triangles of as many pairs as there are lanes.
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

    /// By triangle and by rule.
    #[inline(always)]
    fn of(&mut self, vertices: &[[Vec3; 3]], pairs: &[[usize; 2]]) -> [[&[[V; 3]]; 2]; 2] {
        let [first, second] = &mut self.points;
        points_of::<V>(self.rules, vertices, pairs, 0, first);
        points_of::<V>(self.rules, vertices, pairs, 1, second);
        let of_first = self.rules[0].blocks.len();
        self.points.each_ref().map(|points| points.split_at(of_first).into())
    }
}

/// The corners of the first or the second triangle of each pair, a pair per lane.
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
/// a pair per lane.
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

/// sum_q w_q / |x - y_q| over the points of `rule`, filled up to whole blocks.
#[inline(always)]
fn mean_inverse_distance<V: Elementary>(x: &[V; 3], rule: &Rule, ys: &[[V; 3]]) -> V {
    let mut sum = V::zero();
    let (blocks, _) = ys.as_chunks::<BLOCK>();
    let (nodes, _) = rule.blocks.as_chunks::<BLOCK>();
    for (ys, nodes) in blocks.iter().zip(nodes) {
        let mut r2 = [V::zero(); BLOCK];
        for axis in 0..3 {
            for b in 0..BLOCK {
                let d = ys[b][axis].sub(x[axis]);
                r2[b] = d.mul_add(d, r2[b]);
            }
        }
        let inverse = V::rsqrts_or_zero(r2);
        for b in 0..BLOCK {
            sum = V::splat(nodes[b].weight).mul_add(inverse[b], sum);
        }
    }
    sum
}

/// Adds `weight` times sum_q w_q (x - y_q) / |x - y_q|^3 over the points of `rule`, filled up to
/// whole blocks.
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

impl Task<f64> for Field<'_> {
    type Output = Vec3;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Vec3 {
        let Self { outer, s, inner, t } = self;
        let (mut f0, mut f1, mut f2) = (V::zero(), V::zero(), V::zero());
        for at in (0..inner.len()).step_by(V::LANES) {
            let node = |k: usize| V::load(&inner.barycentric[k][at..]);
            let (a, b, c) = (node(0), node(1), node(2));
            let coordinate = |k: usize| coordinate(t, k, [a, b, c]);
            let (y0, y1, y2) = (coordinate(0), coordinate(1), coordinate(2));
            let weights = V::load(&inner.weights[at..]);
            for (x, weight) in outer.on(s) {
                let (dx, dy, dz) =
                    (V::splat(x.x).sub(y0), V::splat(x.y).sub(y1), V::splat(x.z).sub(y2));
                let r2 = dx.mul_add(dx, dy.mul_add(dy, dz.mul(dz)));
                let inverse = r2.rsqrt_or_zero();
                let cube = inverse.mul(inverse).mul(inverse);
                let factor = V::splat(weight).mul(weights).mul(cube);
                f0 = dx.mul_add(factor, f0);
                f1 = dy.mul_add(factor, f1);
                f2 = dz.mul_add(factor, f2);
            }
        }
        Vec3::new(f0.sum(), f1.sum(), f2.sum())
    }
}

/// Coordinate `k` of points on a triangle.
#[inline(always)]
fn coordinate<V: Elementary>(t: &[Vec3; 3], k: usize, [a, b, c]: [V; 3]) -> V {
    let [u, v, w] = [V::splat(t[0][k]), V::splat(t[1][k]), V::splat(t[2][k])];
    // Without fused operations, as `on` does it: coincident points must coincide.
    u.mul(a).add(v.mul(b)).add(w.mul(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_many_pairs_are_those_of_each() {
        let (vertices, pairs) = scattered();
        for degrees in [[1, 2], [2, 4], [4, 6], [5, 7]] {
            let rules = degrees.map(Rule::of_degree);
            let mut largest = 0.0f64;
            for count in [0, 1, 3, 8, pairs.len()] {
                let mut found = Vec::new();
                errors(rules, &vertices, &pairs[..count], &mut found);
                assert_eq!(found.len(), count);
                for (&[i, j], found) in pairs.iter().zip(found) {
                    let of =
                        |p: usize, q: usize| sum(rules[p], &vertices[i], rules[q], &vertices[j]);
                    let exact = (of(1, 0) - of(0, 0)).abs() + (of(0, 1) - of(0, 0)).abs();
                    // Differences of sums that are each good to 2e-13.
                    assert!((found - exact).abs() < 1e-12 * of(0, 0), "{i} {j}: {found} {exact}");
                    largest = exact.max(largest);
                }
            }
            assert!(largest > 1e-9, "{degrees:?}: {largest:e}");
        }
    }

    #[test]
    fn errors_of_fields_of_many_pairs_are_those_of_each() {
        let (vertices, pairs) = scattered();
        for degrees in [[1, 2], [2, 4], [4, 6], [5, 7]] {
            let rules = degrees.map(Rule::of_degree);
            let mut largest = 0.0f64;
            for count in [0, 1, 3, 8, pairs.len()] {
                let mut found = Vec::new();
                field_errors(rules, &vertices, &pairs[..count], &mut found);
                assert_eq!(found.len(), count);
                for (&[i, j], found) in pairs.iter().zip(found) {
                    let of =
                        |p: usize, q: usize| field(rules[p], &vertices[i], rules[q], &vertices[j]);
                    let (left, right) = (of(1, 0) - of(0, 0), of(0, 1) - of(0, 0));
                    for (k, found) in [i, j].into_iter().zip(found) {
                        let normal = crate::geometry::triangle::Triangle::of(vertices[k]).normal;
                        let exact = left.dot(&normal).abs() + right.dot(&normal).abs();
                        assert!((found - exact).abs() < 3e-12 * of(0, 0).norm(), "{i} {j}");
                        largest = exact.max(largest);
                    }
                }
            }
            assert!(largest > 1e-9, "{degrees:?}: {largest:e}");
        }
    }

    /// Twelve triangles in a row, and some pairs of them.
    fn scattered() -> (Vec<[Vec3; 3]>, Vec<[usize; 2]>) {
        let mut seed = 5u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let vertices: Vec<[Vec3; 3]> = (0..12)
            .map(|i| [0; 3].map(|_| Vec3::new(2.0 * i as f64 + random(), random(), random())))
            .collect();
        let pairs: Vec<[usize; 2]> = (0..11)
            .flat_map(|i| [[i, i + 1], [11 - i, (i + 4) % 11]])
            .filter(|p| p[0] != p[1])
            .collect();
        (vertices, pairs)
    }

    #[test]
    fn lanes_match_the_plain_sum() {
        let s = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(1.0, 0.1, 0.0), Vec3::new(0.2, 0.9, 0.3)];
        let t = s.map(|v| v * 1.3 + Vec3::new(0.3, -0.7, 0.9));
        for (p, q) in [(1, 1), (2, 2), (4, 6), (5, 4), (6, 9), (23, 2)] {
            let (outer, inner) = (Rule::of_degree(p), Rule::of_degree(q));
            assert!(inner.len() == quadrature::triangle(q).len());
            for t in [&s, &t] {
                let (mut exact, mut gradient, mut size) = (0.0, Vec3::zeros(), 0.0);
                for (x, v) in outer.on(&s) {
                    for (y, w) in inner.on(t) {
                        let r = (x - y).norm();
                        if r > 0.0 {
                            exact += v * w / r;
                            gradient += (x - y) * (v * w / r.powi(3));
                            size += v * w / (r * r);
                        }
                    }
                }
                let found = sum(outer, &s, inner, t);
                // Positive terms, each as good as its inverse root.
                assert!((found - exact).abs() <= 2e-13 * exact, "{p} {q}: {found} {exact}");
                // Three inverse roots a term.
                let found = field(outer, &s, inner, t);
                assert!((found - gradient).norm() <= 5e-13 * size, "{p} {q}: {found} {gradient}");
            }
        }
    }
}
