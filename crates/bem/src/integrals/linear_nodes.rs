//! Closed forms of linear densities at many points, in lanes: the vector twin of
//! [`Triangle::linear_potentials`].

use simd::{Elementary, Simd, Task};

use crate::constants::{ON_EDGE, TOGETHER};
use crate::geometry::triangle::Triangle;
use crate::integrals::linear::Hat;
use crate::integrals::potentials::{self, WeightedPoints};
use crate::quadrature::modes::{self, MODES};

/// Integrals over a pair of triangles: entry k, l between the linear function of vertex k on the
/// first and of vertex l on the second.
pub type Block = [[f64; 3]; 3];

/// Kind of potential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Potential {
    /// int lambda_l / |x - y| dS_y.
    Single,
    /// int lambda_l n . (x - y) / |x - y|^3 dS_y.
    Double,
}

impl WeightedPoints {
    /// sum_p w_p lambda_k(x_p) M_l(x_p) with the barycentric coordinates lambda of `of` and the
    /// potentials M of those of `source`.
    pub fn sum_linear(&mut self, of: &Triangle, source: &Triangle, potential: Potential) -> Block {
        // Padded to whole vectors with points of weight 0.
        self.fill_up(&source.centroid);
        simd::run(SumLinear { nodes: self, of, source, potential })
    }
}

impl WeightedPoints {
    /// Adds `factor` times the potentials int m / |x_p - y| dS_y of the modes m of linear functions
    /// on `source` to the sums of each node.
    pub(crate) fn add_modes(
        &mut self,
        source: &Triangle,
        factor: f64,
        sums: &mut [Vec<f64>; MODES],
    ) {
        let mode = |m: usize| modes::AT_CORNERS.map(|corner| factor * corner[m]);
        self.add_linear(source, &[0, 1, 2].map(mode), sums);
    }

    /// Adds the potentials int d / |x_p - y| dS_y of linear densities d on `source`, given at its
    /// corners, to the sums of each node, one for each density.
    pub fn add_linear<const N: usize>(
        &mut self,
        source: &Triangle,
        densities: &[[f64; 3]; N],
        sums: &mut [Vec<f64>; N],
    ) {
        let count = self.x.len();
        self.fill_up(&source.centroid);
        sums.iter_mut().for_each(|sums| sums.resize(self.x.len(), 0.0));
        simd::run(AddLinear { nodes: self, source, densities, sums });
        sums.iter_mut().for_each(|sums| sums.truncate(count));
    }
}

struct AddLinear<'a, const N: usize> {
    nodes: &'a WeightedPoints,
    source: &'a Triangle,
    densities: &'a [[f64; 3]; N],
    sums: &'a mut [Vec<f64>; N],
}

impl<const N: usize> Task<f64> for AddLinear<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { nodes, source, densities, sums } = self;
        let hats = source.hats();
        for at in (0..nodes.x.len()).step_by(V::LANES) {
            let x = [V::load(&nodes.x[at..]), V::load(&nodes.y[at..]), V::load(&nodes.z[at..])];
            let values = linear(source, &hats, x, Potential::Single);
            for (sums, density) in sums.iter_mut().zip(densities) {
                let mut sum = V::load(&sums[at..]);
                for k in 0..3 {
                    sum = V::splat(density[k]).mul_add(values[k], sum);
                }
                sum.store(&mut sums[at..]);
            }
        }
    }
}

struct SumLinear<'a> {
    nodes: &'a WeightedPoints,
    of: &'a Triangle,
    source: &'a Triangle,
    potential: Potential,
}

impl Task<f64> for SumLinear<'_> {
    type Output = Block;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Block {
        let Self { nodes, of, source, potential } = self;
        let outer = of.hats();
        let inner = source.hats();
        let mut sums = [[V::zero(); 3]; 3];
        for at in (0..nodes.x.len()).step_by(V::LANES) {
            let x = [V::load(&nodes.x[at..]), V::load(&nodes.y[at..]), V::load(&nodes.z[at..])];
            let values = linear(source, &inner, x, potential);
            let weight = V::load(&nodes.weights[at..]);
            for (hat, sums) in outer.iter().zip(&mut sums) {
                let height = height_above(of, hat, &x).mul(weight);
                for l in 0..3 {
                    sums[l] = height.mul_add(values[l], sums[l]);
                }
            }
        }
        sums.map(|row| row.map(|sum| sum.sum()))
    }
}

/// A barycentric coordinate.
#[inline(always)]
fn height_above<V: Elementary>(of: &Triangle, hat: &Hat, x: &[V; 3]) -> V {
    let v = &of.vertices[hat.opposite];
    let seen = [V::splat(v.x).sub(x[0]), V::splat(v.y).sub(x[1]), V::splat(v.z).sub(x[2])];
    potentials::along(&seen, &of.edge_normals[hat.opposite]).mul(V::splat(hat.per_height))
}

/// Equations (43) and (44) of the mathematics, as [`Triangle::linear_potentials`] has them.
#[inline(always)]
fn linear<V: Elementary>(
    source: &Triangle,
    hats: &[Hat; 3],
    x: [V; 3],
    potential: Potential,
) -> [V; 3] {
    let zero = V::zero();
    let (a, r) = potentials::seen_from(source, x);
    let below = potentials::along(&a[0], &source.normal);
    let z = below.abs();
    let z2 = z.mul(z);
    let (mut distance, mut edge, mut length) = ([zero; 3], [zero; 3], [zero; 3]);
    let mut uniform = zero;
    for i in 0..3 {
        let j = (i + 1) % 3;
        let d = potentials::along(&a[i], &source.edge_normals[i]);
        let s = potentials::along(&a[i], &source.tangents[i]);
        let t = potentials::along(&a[j], &source.tangents[i]);
        let rho2 = d.mul_add(d, z2);
        distance[i] = d;
        edge[i] = potentials::edge_potential([s, t], [r[i], r[j]], rho2.add(V::splat(ON_EDGE)));
        let ends = t.mul(r[j]).sub(s.mul(r[i]));
        length[i] = rho2.mul_add(edge[i], ends).mul(V::splat(0.5));
        uniform = d.mul_add(edge[i], uniform);
    }
    let is_in_plane = z.sum() <= TOGETHER * source.radius;
    let angle = if is_in_plane && potential == Potential::Single {
        zero // as between the panels of a flat face
    } else {
        potentials::half_solid_angle(source, &a, &r, z).mul(V::splat(2.0))
    };
    // In the plane the solid angle is its principal value.
    let signed = below.where_above(zero, zero.sub(angle), angle);
    let signed = signed.zero_unless_above(z, zero);
    let uniform = uniform.sub(z.mul(angle));
    let (of, along) =
        if potential == Potential::Single { (uniform, &length) } else { (signed, &edge) };
    // Closures of arrays would be compiled to calls, which do not inherit the features of vector
    // code.
    let mut values = [zero; 3];
    for l in 0..3 {
        let Hat { opposite, per_height, gradient } = &hats[l];
        let here = distance[*opposite].mul(V::splat(*per_height));
        let mut sum = zero;
        for i in 0..3 {
            sum = V::splat(gradient.dot(&source.edge_normals[i])).mul_add(along[i], sum);
        }
        values[l] = match potential {
            Potential::Single => here.mul_add(of, sum),
            // - z sum, with z = -below.
            Potential::Double => here.mul_add(of, below.mul(sum)),
        };
    }
    values
}
