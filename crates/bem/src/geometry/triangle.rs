//! One flat triangle with uniform density: geometry, closed-form potential, solid angle, self
//! integral.
//!
//! With a_i = v_i - x the vertices seen from the point x, edge i from v_i to v_(i+1) with unit
//! tangent t_i, in-plane outward normal m_i and length l_i, z the height of x above the plane and A
//! the area:
//!
//! ```text
//! Phi(x) = int_T dS_y / |x - y| = sum_i d_i L_i - |z| |Omega|,             d_i = a_i . m_i
//! L_i    = int_(edge i) ds / |x - y| = ln (|a_i| + |a_(i+1)| + l_i) / (|a_i| + |a_(i+1)| - l_i)
//! tan(Omega / 2) = 2 A z / (abc + (a.b) c + (b.c) a + (c.a) b)
//! grad Phi(x) = - sum_i m_i L_i - n Omega,                                 Omega of the sign of z
//! ```
//!
//! (Wilton et al., IEEE Trans. Antennas Propag. 32 (1984) 276; Van Oosterom & Strackee, IEEE Trans.
//! Biomed. Eng. 30 (1983) 125.) No factor 1/(4 pi).

use nalgebra::Vector3;

use crate::constants::ON_EDGE;

/// A point or a direction.
pub type Vec3 = Vector3<f64>;

/// A flat triangle with precomputed data for its integrals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Vertices, counter-clockwise seen from where the normal points.
    #[doc(hidden)]
    pub vertices: [Vec3; 3],
    /// Unit tangent of the edge from vertex i to vertex i + 1.
    #[doc(hidden)]
    pub tangents: [Vec3; 3],
    /// Length of that edge.
    #[doc(hidden)]
    pub lengths: [f64; 3],
    /// Unit normal of that edge in the triangle's plane, outward.
    #[doc(hidden)]
    pub edge_normals: [Vec3; 3],
    /// Unit normal by the right-hand rule.
    #[doc(hidden)]
    pub normal: Vec3,
    /// Area.
    pub(crate) area: f64,
    /// Centre of mass.
    #[doc(hidden)]
    pub centroid: Vec3,
    /// Distance from the centroid to the farthest vertex.
    #[doc(hidden)]
    pub radius: f64,
}

fn edges(v: &[Vec3; 3]) -> [Vec3; 3] {
    [v[1] - v[0], v[2] - v[1], v[0] - v[2]]
}

/// Twice the area along the normal, from the two shorter edges, which span the plane with the least
/// cancellation.
fn twice_area(edges: &[Vec3; 3]) -> Vec3 {
    let squares = edges.map(|e| e.norm_squared());
    let longest = (0..3).fold(0, |k, i| if squares[i] > squares[k] { i } else { k });
    edges[(longest + 1) % 3].cross(&edges[(longest + 2) % 3])
}

/// The normal alone.
pub(crate) fn normal(v: &[Vec3; 3]) -> Vec3 {
    twice_area(&edges(v)).normalize()
}

/// Mean of the corners.
pub(crate) fn centroid([a, b, c]: &[Vec3; 3]) -> Vec3 {
    (a + b + c) / 3.0
}

impl Triangle {
    /// Triangle with the given vertices, shape (3, 3); the normal follows the right-hand rule.
    ///
    /// A triangle without area has no normal; its integrals are NaN.
    pub fn new(vertices: [[f64; 3]; 3]) -> Self {
        Self::of(vertices.map(Vec3::from))
    }

    #[doc(hidden)]
    pub fn of(v: [Vec3; 3]) -> Self {
        let edges = edges(&v);
        let lengths = edges.map(|e| e.norm());
        let cross = twice_area(&edges);
        let twice_area = cross.norm();
        let normal = cross / twice_area;
        let tangents = std::array::from_fn(|i| edges[i] / lengths[i]);
        let centroid = (v[0] + v[1] + v[2]) / 3.0;
        Self {
            vertices: v,
            tangents,
            lengths,
            edge_normals: tangents.map(|t: Vec3| t.cross(&normal)),
            normal,
            area: 0.5 * twice_area,
            centroid,
            radius: v.iter().map(|p| (p - centroid).norm()).fold(0.0, f64::max),
        }
    }

    /// Area, in the square of the vertices' unit.
    #[must_use]
    pub fn area(&self) -> f64 {
        self.area
    }

    /// Longest edge.
    pub(crate) fn diameter(&self) -> f64 {
        self.lengths.iter().copied().fold(0.0, f64::max)
    }

    /// Longest edge over twice the height above it, no less than 1: 1 for all but slivers.
    pub(crate) fn slenderness(&self) -> f64 {
        let longest = self.diameter();
        (longest * longest / (4.0 * self.area)).max(1.0)
    }

    /// Potential of unit density: int_T dS_y / |x - y|, a length. Valid everywhere, on the triangle
    /// too.
    #[inline]
    #[must_use]
    pub fn potential(&self, x: [f64; 3]) -> f64 {
        self.potential_at(&Vec3::from(x))
    }

    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn potential_at(&self, x: &Vec3) -> f64 {
        let (a, r) = self.seen_from(x);
        let z = self.normal.dot(&a[0]).abs();
        let mut sum = 0.0;
        for i in 0..3 {
            let d = a[i].dot(&self.edge_normals[i]);
            sum += d * self.edge_potential(i, &a, &r, d * d + z * z);
        }
        sum - z * self.solid_angle_magnitude(&a, &r, z)
    }

    /// Gradient of [`Triangle::potential`] at x: -sum_i m_i L_i - n Omega. In the triangle's plane
    /// the normal part is the principal value 0; on an edge the tangential part is infinite, and
    /// finite but arbitrary here.
    #[must_use]
    pub fn potential_gradient(&self, x: [f64; 3]) -> [f64; 3] {
        self.gradient_at(&Vec3::from(x)).into()
    }

    #[inline]
    pub(crate) fn gradient_at(&self, x: &Vec3) -> Vec3 {
        self.rounded_gradient_at(x, &[0.0; 3])
    }

    /// [`Self::potential_gradient`] with the fold at edge i rounded by a radius whose square is
    /// `rounding[i]`: closer to the edge's line, L_i keeps its value at that distance.
    #[inline]
    pub(crate) fn rounded_gradient_at(&self, x: &Vec3, rounding: &[f64; 3]) -> Vec3 {
        let (a, r) = self.seen_from(x);
        let z = -self.normal.dot(&a[0]);
        let mut gradient = Vec3::zeros();
        for i in 0..3 {
            let d = a[i].dot(&self.edge_normals[i]);
            let rho2 = d * d + z * z;
            let missing = (rounding[i] - rho2).max(0.0);
            let along = if missing > 0.0 {
                let r = r.map(|r| (r * r + missing).sqrt());
                self.edge_potential(i, &a, &r, rho2 + missing)
            } else {
                self.edge_potential(i, &a, &r, rho2)
            };
            gradient -= self.edge_normals[i] * along;
        }
        if z != 0.0 {
            gradient -= self.normal * self.solid_angle_magnitude(&a, &r, z.abs()).copysign(z);
        }
        gradient
    }

    /// The vertices seen from x, and their distances.
    #[inline]
    pub(crate) fn seen_from(&self, x: &Vec3) -> ([Vec3; 3], [f64; 3]) {
        let a = [self.vertices[0] - x, self.vertices[1] - x, self.vertices[2] - x];
        (a, [a[0].norm(), a[1].norm(), a[2].norm()])
    }

    /// L_i, and the squared distance of the point from the edge's line.
    #[inline]
    pub(crate) fn edge_potential(&self, i: usize, a: &[Vec3; 3], r: &[f64; 3], rho2: f64) -> f64 {
        let j = (i + 1) % 3;
        let rho2 = rho2 + ON_EDGE;
        // r_i + s_i and r_j - s_j without cancellation: their product with the conjugate is rho^2.
        let (s, t) = (a[i].dot(&self.tangents[i]), a[j].dot(&self.tangents[i]));
        let (ri, rj) = (r[i] + s.abs(), r[j] + t.abs());
        let before = if s >= 0.0 { ri } else { rho2 / ri };
        let after = if t <= 0.0 { rj } else { rho2 / rj };
        ((r[i] + r[j] + self.lengths[i]) / (before + after)).ln()
    }

    /// Solid angle that the triangle fills seen from x: int_T n . (x - y) / |x - y|^3 dS_y,
    /// positive on the normal's side and 0 (the principal value) in the plane.
    #[must_use]
    pub fn solid_angle(&self, x: [f64; 3]) -> f64 {
        self.solid_angle_at(&Vec3::from(x))
    }

    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn solid_angle_at(&self, x: &Vec3) -> f64 {
        let (a, r) = self.seen_from(x);
        let z = -self.normal.dot(&a[0]);
        if z == 0.0 {
            return 0.0;
        }
        self.solid_angle_magnitude(&a, &r, z.abs()).copysign(z)
    }

    #[inline]
    fn solid_angle_magnitude(&self, a: &[Vec3; 3], r: &[f64; 3], z: f64) -> f64 {
        let denominator = r[0] * r[1] * r[2]
            + a[0].dot(&a[1]) * r[2]
            + a[1].dot(&a[2]) * r[0]
            + a[2].dot(&a[0]) * r[1];
        2.0 * (2.0 * self.area * z).atan2(denominator)
    }

    /// int_T int_T dS_x dS_y / |x - y|, the cube of a length: 4/3 A^2 sum_i ln(P / (P - 2
    /// l_i)) / l_i, P the perimeter.
    pub fn self_integral(&self) -> f64 {
        let [a, b, c] = self.lengths;
        let perimeter = a + b + c;
        // P - 2 a = (b + c) - a would cancel for needles; Heron: (P - 2a) = 16 A^2 / (P (P - 2b)
        // (P - 2c)).
        let mut sides = [a, b, c];
        sides.sort_unstable_by(f64::total_cmp);
        let [short, middle, long] = sides;
        let (q_short, q_middle) = (perimeter - 2.0 * short, perimeter - 2.0 * middle);
        let q_long = 16.0 * self.area * self.area / (perimeter * q_short * q_middle);
        let term = |l: f64, q: f64| (perimeter / q).ln() / l;
        4.0 / 3.0
            * self.area
            * self.area
            * (term(short, q_short) + term(middle, q_middle) + term(long, q_long))
    }
}
