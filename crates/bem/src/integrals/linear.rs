//! Closed forms of a linear density on one triangle: the potentials of the three barycentric
//! coordinates.
//!
//! With the notation of `triangle`, lambda_k the barycentric coordinate of vertex k, extended to
//! space so that it does not change along the normal, g_k its gradient, and L_i, R_i the integrals
//! of 1/|x - y| and |x - y| along edge i:
//!
//! ```text
//! int_T lambda_k / |x - y| dS_y                = lambda_k(x) Phi(x) + sum_i (g_k . m_i) R_i
//! int_T lambda_k n . (x - y) / |x - y|^3 dS_y  = lambda_k(x) Omega(x) - z sum_i (g_k . m_i) L_i
//! R_i = ((t |a_(i+1)| - s |a_i|) + rho^2 L_i) / 2
//! ```
//!
//! with s = a_i . t_i, t = a_(i+1) . t_i and rho the distance from the line (Wilton et al., IEEE
//! Trans. Antennas Propag. 32 (1984) 276; Graglia, IEEE Trans. Antennas Propag. 41 (1993) 1448.) No
//! factor 1/(4 pi).

use crate::geometry::triangle::{Triangle, Vec3};

/// Potentials at one point of the three linear densities that are 1 at one vertex and 0 at the
/// others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearPotentials {
    /// int_T lambda_k / |x - y| dS_y, a length.
    pub single_layer: [f64; 3],
    /// int_T lambda_k n . (x - y) / |x - y|^3 dS_y, positive on the normal's side; 0 (the principal
    /// value) in the plane.
    pub double_layer: [f64; 3],
    /// Gradient of `single_layer` with respect to x; its normal part is the principal value 0 in
    /// the plane.
    pub gradient: [[f64; 3]; 3],
}

/// Data of the linear function that is 1 at one vertex and 0 at the others: the edge on which it
/// vanishes, 1 over the vertex's height above that edge, and its gradient.
pub(crate) struct Hat {
    pub(crate) opposite: usize,
    pub(crate) per_height: f64,
    pub(crate) gradient: Vec3,
}

impl Triangle {
    /// The barycentric coordinates.
    pub(crate) fn hats(&self) -> [Hat; 3] {
        std::array::from_fn(|k| {
            let opposite = (k + 1) % 3;
            let per_height = self.lengths[opposite] / (2.0 * self.area);
            Hat { opposite, per_height, gradient: self.edge_normals[opposite] * -per_height }
        })
    }

    /// Barycentric coordinates of a point, extended along the normal.
    #[doc(hidden)]
    #[must_use]
    pub fn barycentric(&self, x: &Vec3) -> [f64; 3] {
        self.hats().map(|Hat { opposite, per_height, .. }| {
            (self.vertices[opposite] - x).dot(&self.edge_normals[opposite]) * per_height
        })
    }

    /// Closed forms for a density that is linear on the triangle, one for each vertex; see
    /// [`LinearPotentials`].
    #[must_use]
    pub fn linear_potentials(&self, x: [f64; 3]) -> LinearPotentials {
        self.rounded_linear_potentials(x, &[0.0; 3])
    }

    /// [`linear_potentials`](Self::linear_potentials), with gradients as in
    /// [`Triangle::rounded_gradient_at`].
    pub(crate) fn rounded_linear_potentials(
        &self,
        x: [f64; 3],
        rounding: &[f64; 3],
    ) -> LinearPotentials {
        let x = Vec3::from(x);
        let (a, r) = self.seen_from(&x);
        let z = -self.normal.dot(&a[0]);
        let (phi, omega) = (self.potential_at(&x), self.solid_angle_at(&x));
        let uniform = self.rounded_gradient_at(&x, rounding);
        let mut along = [0.0; 3];
        let mut length_along = [0.0; 3];
        let mut gradient_along = [Vec3::zeros(); 3];
        for i in 0..3 {
            let j = (i + 1) % 3;
            let (s, t) = (a[i].dot(&self.tangents[i]), a[j].dot(&self.tangents[i]));
            let d = a[i].dot(&self.edge_normals[i]);
            let rho2 = d * d + z * z;
            along[i] = self.edge_potential(i, &a, &r, rho2);
            length_along[i] = 0.5 * (t * r[j] - s * r[i] + rho2 * along[i]);
            let from_line = self.tangents[i] * s - a[i];
            gradient_along[i] = from_line * along[i] - self.tangents[i] * (r[j] - r[i]);
        }
        let mut potentials = LinearPotentials {
            single_layer: [0.0; 3],
            double_layer: [0.0; 3],
            gradient: [[0.0; 3]; 3],
        };
        for (k, Hat { opposite, per_height, gradient }) in self.hats().into_iter().enumerate() {
            let here = a[opposite].dot(&self.edge_normals[opposite]) * per_height;
            let (mut single, mut double) = (here * phi, here * omega);
            let mut of_single = gradient * phi + uniform * here;
            for i in 0..3 {
                let across = gradient.dot(&self.edge_normals[i]);
                single += across * length_along[i];
                double -= z * across * along[i];
                of_single += gradient_along[i] * across;
            }
            potentials.single_layer[k] = single;
            potentials.double_layer[k] = double;
            potentials.gradient[k] = of_single.into();
        }
        potentials
    }
}
