//! Galerkin integrals of a pair of triangles, int_S int_T dS_x dS_y / |x - y|, touching or not.
//!
//! The kernel is homogeneous of degree -1. With o_S in the plane of S, o_T in that of T and
//! c = o_S - o_T, the divergence theorem in the four variables (x - o_S, y - o_T) gives
//!
//! ```text
//! 3 I = sum_i d_i int_(edge i of S) Phi_T ds + sum_j e_j int_(edge j of T) Phi_S ds
//!     + int_S int_T c . grad_x 1/|x - y|
//! ```
//!
//! with d_i (e_j) the signed distances from o_S (o_T) to the lines of the edges and Phi the
//! closed-form potentials. Where the planes meet nearby, o_S = o_T may lie on their line and the
//! last term is gone: a four-fold singular integral has become a few smooth integrals along edges.
//! For triangles that share a vertex, o is that vertex and four of the six edges drop out. Planes
//! that meet far away or nowhere need the last term. Let S lie on one side of T's plane, N be the
//! normal of T towards S, z(x) the height of x along N, and o = o_T any point of T's plane, above
//! which o_S lies. W = int_T ln(z + |x - y|) has dW/dz = Phi_T and is harmonic; integrated over S
//! by parts in the plane of T, twice, it leaves edges alone, and
//!
//! ```text
//! 3 I = sum_i (p_i - o) . m_i int_(edge i) Phi_T ds + sum_j (q_j - o) . n_j int_(edge j) Phi_S dt
//!     + (p - o) . n_S sum_ij ((t_i x N) . n_j) int_(edge i) int_(edge j) ln(z(x) + |x - y|) dt ds
//! ```
//!
//! with p (q) the vertices of S (T), t its unit tangents and m (n) the outward normals of edges in
//! their planes: exact at every angle between the planes, so that nothing depends on whether
//! rounding leaves parallel planes parallel. (For these it is the normal times the distance h in
//! the place of c.) Touching is a matter of geometry here, not of vertex numbers. (The homogeneity
//! argument: Lenoir & Salles, SIAM J. Sci. Comput. 34 (2012) A3057.)

use crate::constants::{IN_PLANE, LEAST_ACCURACY};
use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::edge::{self, EdgeRule};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::rule::Rule;
use crate::quadrature::sums;

/// The point where the planes meet may be this many sizes away: the boundary terms cancel by that
/// factor, and are good to about 1e-15.
pub(crate) const FAR_MEETING: f64 = 1e3;

/// Sizes that differ by less are equal, so that rounding does not decide between them.
pub(crate) const TIE: f64 = 1.0 + 1e-6;

/// Degrees beyond this cost more than the integrals along edges.
pub(crate) const MAX_SMOOTH_DEGREE: f64 = 11.0;

/// Factor between quadrature errors and the bound of [`PairQuadrature::degree`].
pub(crate) const BELOW_BOUND: f64 = 1e-2;

/// A closed-form potential costs as much as this many terms 1/|x - y|.
pub(crate) const POTENTIAL_COST: usize = 25;

/// How pair integrals are computed: their relative accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairQuadrature {
    /// Relative accuracy aimed at.
    accuracy: f64,
    /// Added to the order of every rule.
    increment: usize,
}

impl PairQuadrature {
    /// Integrals to a relative `accuracy` (1e-12 ..= 1e-2), each rule raised by `increment` orders
    /// above that.
    #[must_use]
    pub fn new(accuracy: f64, increment: usize) -> Self {
        Self { accuracy: accuracy.clamp(LEAST_ACCURACY, 1e-2), increment }
    }

    /// The same rule with its accuracy multiplied by `factor`.
    pub(crate) fn tightened(self, factor: f64) -> Self {
        Self { accuracy: (self.accuracy * factor).max(LEAST_ACCURACY), ..self }
    }

    pub(crate) fn accuracy_and_increment(self) -> (f64, usize) {
        (self.accuracy, self.increment)
    }

    /// int_S int_T dS_x dS_y / |x - y|, the cube of a length; symmetric in the two up to rounding.
    #[must_use]
    pub fn single_layer(&self, s: &Triangle, t: &Triangle) -> f64 {
        self.single_layer_with(s, t, &mut WeightedPoints::default())
    }

    /// As [`single_layer`](Self::single_layer), with nodes that many pairs reuse.
    pub(crate) fn single_layer_with(
        &self,
        s: &Triangle,
        t: &Triangle,
        nodes: &mut WeightedPoints,
    ) -> f64 {
        if s.vertices == t.vertices {
            return s.self_integral();
        }
        let (small, large) = if s.radius <= t.radius * TIE { (s, t) } else { (t, s) };
        self.smooth(small, large, nodes).unwrap_or_else(|| self.close(small, large, nodes))
    }

    /// Plain quadrature over one triangle or both, where the potential is smooth enough.
    fn smooth(
        &self,
        small: &Triangle,
        large: &Triangle,
        nodes: &mut WeightedPoints,
    ) -> Option<f64> {
        let between = (small.centroid - large.centroid).norm();
        if between <= large.radius {
            return None;
        }
        let outer = self.degree(small.radius, distance_to(large, &small.centroid));
        let inner = self.degree(large.radius, between - small.radius);
        let outer = Rule::of_degree(outer?);
        if let Some(inner) = inner {
            let inner = Rule::of_degree(inner);
            if inner.len() < POTENTIAL_COST {
                let mean = sums::sum(outer, &small.vertices, inner, &large.vertices);
                return Some(small.area * large.area * mean);
            }
        }
        nodes.clear();
        outer.on(&small.vertices).for_each(|(x, weight)| nodes.push(&x, weight));
        Some(small.area * nodes.sum_potential(large))
    }

    /// Degree of a rule for a triangle of this radius, if the singularities of the integrand are at
    /// `distance`; `None` if integrals along edges are cheaper.
    ///
    /// On a disk of radius a around x, a function whose singularities are a distance d from x is a
    /// polynomial of degree k up to (a / d)^(k + 1) in the worst case. Means over a triangle of a
    /// potential fall short of that bound by [`BELOW_BOUND`] (measured on random pairs).
    pub(crate) fn degree(&self, radius: f64, distance: f64) -> Option<usize> {
        if distance <= 1.2 * radius {
            return None;
        }
        let needed = (BELOW_BOUND / self.accuracy).ln() / (distance / radius).ln() - 1.0;
        (needed <= MAX_SMOOTH_DEGREE).then(|| needed.max(2.0).ceil() as usize + self.increment)
    }

    /// Integrals along the edges; valid for every pair, meant for touching and close ones.
    #[doc(hidden)]
    pub fn close(&self, s: &Triangle, t: &Triangle, nodes: &mut WeightedPoints) -> f64 {
        let size = s.diameter().max(t.diameter());
        let Origin { at: o, height } = Origin::choose(s, t, size);
        // Distant meeting points give large terms that cancel, and so do the two sides of a sliver.
        let far = (o - s.centroid).norm() / size;
        let thin = s.slenderness().max(t.slenderness());
        let rule = EdgeRule::new(self.accuracy / (far.max(1.0) * thin), self.increment);
        let mut sum = 0.0;
        for (of, source) in [(s, t), (t, s)] {
            nodes.clear();
            for i in 0..3 {
                let d = (of.vertices[i] - o).dot(&of.edge_normals[i]);
                if d.abs() > IN_PLANE * size {
                    edge::push_nodes(of, i, source, d, &rule, nodes);
                }
            }
            sum += nodes.sum_potential(source);
        }
        if height != 0.0 {
            sum += height * edge::layers(s, t, &rule, nodes);
        }
        sum / 3.0
    }
}

/// The point o, which lies in T's plane.
pub(crate) struct Origin {
    pub(crate) at: Vec3,
    /// (p - o) . n_S, the height of the plane of S over o; 0 where the planes meet there.
    pub(crate) height: f64,
}

impl Origin {
    pub(crate) fn choose(s: &Triangle, t: &Triangle, size: f64) -> Self {
        let mut best: Option<(usize, f64, Vec3)> = None;
        for (of, other) in [(s, t), (t, s)] {
            for v in &of.vertices {
                if (v - other.vertices[0]).dot(&other.normal).abs() > IN_PLANE * size
                    && !other.vertices.contains(v)
                {
                    continue;
                }
                // Fewer edges and shorter lever arms mean less work and less cancellation.
                let (mut edges, mut arms) = (0, 0.0);
                for triangle in [s, t] {
                    for i in 0..3 {
                        let d = (triangle.vertices[i] - v).dot(&triangle.edge_normals[i]).abs();
                        edges += usize::from(d > IN_PLANE * size);
                        arms += d;
                    }
                }
                if best.is_none_or(|(e, a, _)| edges < e || (edges == e && arms * TIE < a)) {
                    best = Some((edges, arms, *v));
                }
            }
        }
        if let Some((_, _, at)) = best {
            return Self { at, height: 0.0 };
        }
        // The point on the planes' common line nearest to the smaller triangle. The difference of
        // the normals keeps all digits where they are almost equal; `across` is the component of
        // T's normal in the plane of S, whose length is the sine of the angle.
        let from = if s.area <= t.area { s.centroid } else { t.centroid };
        let facing = if s.normal.dot(&t.normal) < 0.0 { -t.normal } else { t.normal };
        let apart = facing - s.normal;
        let across = apart - s.normal * apart.dot(&s.normal);
        let (above_s, above_t) =
            ((from - s.vertices[0]).dot(&s.normal), (from - t.vertices[0]).dot(&facing));
        let gap = above_s - above_t - 0.5 * apart.norm_squared() * above_s;
        let sine = across.norm();
        if gap.abs() < FAR_MEETING * size * sine {
            let at = from - s.normal * above_s + across * (gap / (sine * sine));
            return Self { at, height: 0.0 };
        }
        let at = s.centroid - t.normal * (s.centroid - t.vertices[0]).dot(&t.normal);
        Self { at, height: (s.centroid - at).dot(&s.normal) }
    }
}

/// Distance from a point to a triangle.
pub(crate) fn distance_to(triangle: &Triangle, x: &Vec3) -> f64 {
    let mut inside = true;
    let mut to_edges = f64::INFINITY;
    for i in 0..3 {
        let a = triangle.vertices[i] - x;
        inside &= a.dot(&triangle.edge_normals[i]) >= 0.0;
        let along = (-a.dot(&triangle.tangents[i])).clamp(0.0, triangle.lengths[i]);
        to_edges = to_edges.min((a + triangle.tangents[i] * along).norm_squared());
    }
    if inside { (triangle.vertices[0] - x).dot(&triangle.normal).abs() } else { to_edges.sqrt() }
}
