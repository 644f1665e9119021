//! The layer operators of a surface, for users who set up their own equations.
//!
//! The exterior Dirichlet problem by the indirect formulation: V s = g for the potential g on a sphere of a charge inside.
//! The density's total is the charge.
//!
//! ```
//! # use mesh::generate::{Resolution, Sphere, SphereBase};
//! use bem::{GmresParams, OperatorOptions, Surface};
//!
//! # let resolution = Resolution::Elements(320);
//! let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build()?;
//! let surface = Surface::new(&mesh);
//! let mut v = surface.single_layer(&OperatorOptions::default())?;
//! let g = surface.means(|[x, y, z]| {
//!     1.0 / (4.0 * std::f64::consts::PI * (x * x + y * y + (z - 0.4).powi(2)).sqrt())
//! });
//! let (density, info) = v.solve(&g, &GmresParams::default())?;
//! let charge: f64 = density.iter().zip(surface.areas()).map(|(s, a)| s * a).sum();
//! assert!((charge - 1.0).abs() < 1e-2, "{charge} after {} iterations", info.iterations);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::f64::consts::PI;
use std::sync::Arc;

use mesh::Mesh;

use crate::accuracy::Accuracy;
use crate::algebra::Operator;
use crate::gmres::LinearOperator;
use crate::layer::{self, Kernel, Layer, LayerPairs};
use crate::near::{self, Near};
use crate::panels::Panels;
use crate::points::Points;
use crate::product::Rule;
use crate::{Error, Quiet};

/// Degree of the rule that means of given functions are taken by.
const MEAN_DEGREE: usize = 6;

/// Accuracy of the layer operators of a [`Surface`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatorOptions {
    /// Relative L2 error of the fast sums; near-field quadrature follows it.
    pub tolerance: f64,
    /// Vectors that will usually be multiplied together.
    pub columns: usize,
}

impl Default for OperatorOptions {
    fn default() -> Self {
        Self { tolerance: 1e-6, columns: 1 }
    }
}

/// The triangles of a mesh as the domain of layer operators.
///
/// Vectors have one value a triangle, in the mesh's order: a density s that is constant on each triangle goes in, the mean of
/// V s, K s or K' s over each triangle comes out (Galerkin's method with piecewise constants, rows divided by the areas). With G = 1/(4 pi |x - y|), n the normals by
/// the right-hand rule, and lengths in the mesh's unit:
///
/// ```text
/// (V s)(x) = int G s,    (K s)(x) = int dG/dn_y s,    (K' s)(x) = int dG/dn_x s
/// ```
#[derive(Clone, Debug)]
pub struct Surface {
    panels: Arc<Panels>,
    /// Areas in the mesh's order and unit.
    areas: Vec<f64>,
}

impl Surface {
    /// The surface of all triangles of a valid mesh.
    pub fn new(mesh: &Mesh) -> Self {
        let panels = Panels::new(mesh, |_| true);
        let square = panels.scale() * panels.scale();
        let mut areas = vec![0.0; panels.len()];
        for (&t, area) in panels.triangles().iter().zip(panels.areas()) {
            areas[t as usize] = area * square;
        }
        Self { panels: Arc::new(panels), areas }
    }

    /// Number of triangles.
    pub fn len(&self) -> usize {
        self.areas.len()
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.areas.is_empty()
    }

    /// Areas of the triangles.
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// Mean over each triangle of a function of position, by a rule of degree 6.
    pub fn means(&self, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        self.means_with_normal(|x, _| f(x))
    }

    /// Mean over each triangle of a function of position and unit normal, by a rule of degree 6.
    pub fn means_with_normal(&self, f: impl Fn([f64; 3], [f64; 3]) -> f64) -> Vec<f64> {
        let mut means = vec![0.0; self.len()];
        for (i, &t) in self.panels.triangles().iter().enumerate() {
            let normal = self.panels.panel(i).normal.into();
            let points = Rule::of_degree(MEAN_DEGREE).on(self.panels.vertices(i));
            means[t as usize] = points.map(|(x, w)| w * f(self.panels.unscaled(&x), normal)).sum();
        }
        means
    }

    /// V: the potential of a charge density. Symmetric in the inner product weighted by areas; positive definite.
    ///
    /// # Errors
    /// [`Error::Fmm`] when the tolerance is out of range.
    pub fn single_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.layer(Kernel::Single, self.panels.scale(), options)
    }

    /// K: the potential of a density of dipoles along the normals, its principal value on the surface. K 1 = -1/2 on a closed
    /// surface with normals out of what it encloses.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn double_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.layer(Kernel::Double, 1.0, options)
    }

    /// K': the normal derivative of the potential of a charge density, without its jump of -1/2 (+1/2) on the side that the
    /// normal points to (behind).
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn adjoint_double_layer(
        &self,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        self.layer(Kernel::Adjoint, 1.0, options)
    }

    fn layer(
        &self,
        kernel: Kernel,
        length: f64,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        let panels = &self.panels;
        let kernels = vec![kernel; panels.len()];
        let accuracy = Accuracy::new(options.tolerance, 0);
        let closest = near::closest(panels, accuracy.rule);
        let accuracy = accuracy.for_closest(closest);
        let pairs = LayerPairs::new(panels, &kernels, accuracy.pairs);
        let double = near::Precision::Double;
        let mut near = Near::new(panels, &accuracy.selection, &pairs, double, |_| Ok(()), &Quiet)?;
        near.subtract_points(panels, &pairs, accuracy.rule);
        let plan_options = fmm::Options {
            precision: (closest < layer::COINCIDENT).then_some(fmm::Precision::Double),
            ..layer::plan_options(&kernels, options.tolerance, options.columns)
        };
        let plan = fmm::Plan::new(&Points::new(panels, accuracy.rule).all(), None, &plan_options)?;
        let layer = Layer::new(Arc::clone(panels), accuracy.rule, kernels, plan, near);
        Ok(Operator::new(OfDensities {
            panels: Arc::clone(panels),
            layer,
            factor: length / (4.0 * PI),
            charges: Vec::new(),
            values: Vec::new(),
        }))
    }
}

/// A layer in densities instead of charges, in the mesh's order instead of the panels'.
struct OfDensities {
    panels: Arc<Panels>,
    layer: Layer,
    factor: f64,
    charges: Vec<f64>,
    values: Vec<f64>,
}

impl LinearOperator for OfDensities {
    fn len(&self) -> usize {
        self.panels.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let n = self.panels.len().max(1);
        self.charges.resize(x.len(), 0.0);
        self.values.resize(x.len(), 0.0);
        let of_panel = || self.panels.triangles().iter().map(|&t| t as usize);
        for (x, charges) in x.chunks_exact(n).zip(self.charges.chunks_exact_mut(n)) {
            for ((q, t), area) in charges.iter_mut().zip(of_panel()).zip(self.panels.areas()) {
                *q = self.factor * area * x[t];
            }
        }
        self.layer.apply(&self.charges, &mut self.values, columns)?;
        for (values, y) in self.values.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            of_panel().zip(values).for_each(|(t, v)| y[t] = *v);
        }
        Ok(())
    }
}
