//! Quadrature rules on the unit interval and on triangles.
//!
//! Weights sum to 1, so a rule gives means: int f = length (area) times sum w f.

pub(crate) mod curved_sums;
pub(crate) mod errors;
pub(crate) mod modes;
pub(crate) mod remainder;
pub(crate) mod rule;
pub(crate) mod sums;

use std::sync::LazyLock;

/// Largest number of points of a rule of [`line()`].
pub const MAX_LINE_POINTS: usize = 24;

/// Highest degree of a rule of [`triangle`].
pub const MAX_TRIANGLE_DEGREE: usize = 2 * MAX_CONICAL - 1;

const MAX_CONICAL: usize = 12;

/// A node in (0, 1) and its weight.
#[derive(Clone, Copy, Debug)]
pub struct LineNode {
    pub at: f64,
    pub weight: f64,
}

/// A node in barycentric coordinates and its weight.
#[derive(Clone, Copy, Debug)]
pub struct TriangleNode {
    /// Position in the triangle.
    pub barycentric: [f64; 3],
    /// The weights of a rule sum to 1.
    pub weight: f64,
}

/// Gauss-Legendre rule of `points` points (at most [`MAX_LINE_POINTS`]), exact to degree 2
/// points - 1.
pub fn line(points: usize) -> &'static [LineNode] {
    static RULES: LazyLock<Vec<Vec<LineNode>>> =
        LazyLock::new(|| (1..=MAX_LINE_POINTS).map(gauss_legendre).collect());
    &RULES[points.clamp(1, MAX_LINE_POINTS) - 1]
}

/// The cheapest available rule that is exact at least to `degree` (at most
/// [`MAX_TRIANGLE_DEGREE`]).
///
/// Above degree 6 rules are conical about vertex 1: they also suit functions that are smooth in the
/// direction and the distance from there.
pub fn triangle(degree: usize) -> &'static [TriangleNode] {
    static CONICAL: LazyLock<Vec<Vec<TriangleNode>>> =
        LazyLock::new(|| (1..=MAX_CONICAL).map(conical).collect());
    match degree {
        0..=6 => TriangleRule::of_degree(degree).nodes(),
        _ => &CONICAL[degree.min(MAX_TRIANGLE_DEGREE) / 2],
    }
}

/// Fully symmetric rules with positive weights and inner points, used for the operator's points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TriangleRule {
    /// The centroid, degree 1.
    Points1,
    /// Degree 2.
    Points3,
    /// Degree 4.
    Points6,
    /// Degree 5.
    Points7,
    /// Degree 6.
    Points12,
}

impl TriangleRule {
    /// All rules, cheapest first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Points1, Self::Points3, Self::Points6, Self::Points7, Self::Points12];

    /// Number of points.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Points1 => 1,
            Self::Points3 => 3,
            Self::Points6 => 6,
            Self::Points7 => 7,
            Self::Points12 => 12,
        }
    }

    /// Polynomials up to this degree are integrated exactly.
    pub(crate) fn degree(self) -> usize {
        match self {
            Self::Points1 => 1,
            Self::Points3 => 2,
            Self::Points6 => 4,
            Self::Points7 => 5,
            Self::Points12 => 6,
        }
    }

    /// The cheapest rule of at least this degree, or the last.
    pub(crate) fn of_degree(degree: usize) -> Self {
        Self::ALL.into_iter().find(|rule| rule.degree() >= degree).unwrap_or(Self::Points12)
    }

    pub(crate) fn nodes(self) -> &'static [TriangleNode] {
        static RULES: LazyLock<Vec<Vec<TriangleNode>>> =
            LazyLock::new(|| TriangleRule::ALL.map(symmetric).into());
        &RULES[self as usize]
    }
}

/// Dunavant, Int. J. Numer. Methods Eng. 21 (1985) 1129.
fn symmetric(rule: TriangleRule) -> Vec<TriangleNode> {
    let mut nodes = Vec::with_capacity(rule.len());
    // The orbit of (1 - 2a, a, a) has three points, that of (1 - a - b, a, b) six.
    let orbit = |nodes: &mut Vec<TriangleNode>, a: f64, b: f64, weight: f64| {
        let c = 1.0 - a - b;
        let all = [[c, a, b], [a, b, c], [b, c, a], [c, b, a], [b, a, c], [a, c, b]];
        let distinct = if a == b { 3 } else { 6 };
        nodes.extend(
            all[..distinct].iter().map(|&barycentric| TriangleNode { barycentric, weight }),
        );
    };
    let centre = |weight| TriangleNode { barycentric: [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], weight };
    match rule {
        TriangleRule::Points1 => nodes.push(centre(1.0)),
        TriangleRule::Points3 => orbit(&mut nodes, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 3.0),
        TriangleRule::Points6 => {
            let (a, b) = (0.445_948_490_915_964_9, 0.091_576_213_509_770_74);
            orbit(&mut nodes, a, a, 0.223_381_589_678_011_47);
            orbit(&mut nodes, b, b, 0.109_951_743_655_321_87);
        }
        TriangleRule::Points7 => {
            let root = 15f64.sqrt();
            let (a, b) = ((6.0 + root) / 21.0, (6.0 - root) / 21.0);
            nodes.push(centre(0.225));
            orbit(&mut nodes, a, a, (155.0 + root) / 1200.0);
            orbit(&mut nodes, b, b, (155.0 - root) / 1200.0);
        }
        TriangleRule::Points12 => {
            let (a, b) = (0.249_286_745_170_910_42, 0.063_089_014_491_502_23);
            orbit(&mut nodes, a, a, 0.116_786_275_726_379_37);
            orbit(&mut nodes, b, b, 0.050_844_906_370_206_82);
            let (a, b) = (0.053_145_049_844_816_95, 0.310_352_451_033_784_4);
            orbit(&mut nodes, a, b, 0.082_851_075_618_373_58);
        }
    }
    nodes
}

/// Conical product of n Gauss-Jacobi and n Gauss-Legendre points, degree 2n - 1.
///
/// Stroud, Approximate Calculation of Multiple Integrals (1971), section 2.4.
fn conical(n: usize) -> Vec<TriangleNode> {
    let across = gauss_legendre(n);
    let mut nodes = Vec::with_capacity(n * n);
    for along in gauss_jacobi(n) {
        for node in &across {
            let v = node.at * (1.0 - along.at);
            nodes.push(TriangleNode {
                barycentric: [1.0 - along.at - v, along.at, v],
                weight: along.weight * node.weight,
            });
        }
    }
    nodes
}

/// Product rule of n^2 points that cluster, as cubes, toward vertex 1 and toward the edge from
/// vertex 0 to it: for functions like x ln x there.
pub fn graded(n: usize) -> &'static [TriangleNode] {
    static RULES: LazyLock<Vec<Vec<TriangleNode>>> =
        LazyLock::new(|| (1..=MAX_LINE_POINTS).map(graded_product).collect());
    &RULES[n.clamp(1, MAX_LINE_POINTS) - 1]
}

fn graded_product(n: usize) -> Vec<TriangleNode> {
    let line = gauss_legendre(n);
    let cube = |node: &LineNode| {
        let u = node.at;
        (u * u * u, 3.0 * u * u * node.weight)
    };
    let mut nodes = Vec::with_capacity(n * n);
    for (distance, along) in line.iter().map(cube) {
        for (share, across) in line.iter().map(cube) {
            let v = share * distance;
            nodes.push(TriangleNode {
                barycentric: [distance - v, 1.0 - distance, v],
                // The area grows with the distance; weights are shares of it.
                weight: 2.0 * distance * along * across,
            });
        }
    }
    nodes
}

/// Legendre polynomials P_n(x) and P_(n-1)(x).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut p, mut before) = (1.0, 0.0);
    for k in 1..=n {
        let k = k as f64;
        (p, before) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k, p);
    }
    (p, before)
}

/// Roots of `f` in (-1, 1) that are at least 1e-3 apart, by bisection to the last bit.
fn roots(f: impl Fn(f64) -> f64) -> Vec<f64> {
    const CELLS: usize = 4001; // odd: no cell ends at 0, where odd polynomials vanish
    // Half a cell short of 1: `f` may have an unwanted root at the end itself.
    let at = |k: usize| -1.0 + 2.0 * k as f64 / CELLS as f64 - if k == CELLS { 1e-4 } else { 0.0 };
    let mut found = Vec::new();
    for k in 0..CELLS {
        let (mut a, mut b) = (at(k), at(k + 1));
        if (f(a) > 0.0) == (f(b) > 0.0) {
            continue;
        }
        loop {
            let middle = 0.5 * (a + b);
            if middle <= a || middle >= b {
                break;
            }
            if (f(a) > 0.0) == (f(middle) > 0.0) { a = middle } else { b = middle }
        }
        found.push(0.5 * (a + b));
    }
    found
}

fn gauss_legendre(n: usize) -> Vec<LineNode> {
    let node = |x: f64| {
        // On [-1, 1] the weights are 2 (1 - x^2) / (n P_(n-1)(x))^2.
        let derivative = n as f64 * legendre(n, x).1;
        LineNode { at: 0.5 * (1.0 + x), weight: (1.0 - x * x) / (derivative * derivative) }
    };
    roots(|x| legendre(n, x).0).into_iter().map(node).collect()
}

/// n points for the weight 2 (1 - u) on (0, 1).
///
/// They are the free nodes of the (n + 1)-point Radau rule with a node at u = 1, roots of
/// P_n - P_(n+1).
fn gauss_jacobi(n: usize) -> Vec<LineNode> {
    let node = |x: f64| {
        let p = (n + 1) as f64 * legendre(n, x).0;
        LineNode { at: 0.5 * (1.0 + x), weight: 0.5 * (1.0 + x) * (1.0 - x) / (p * p) }
    };
    let polynomial = |x: f64| {
        let (next, this) = legendre(n + 1, x);
        this - next
    };
    roots(polynomial).into_iter().map(node).collect()
}
