//! The layer operators of a surface, for users who set up their own equations.

use std::f64::consts::PI;
use std::sync::Arc;

use mesh::Mesh;

use crate::geometry::panels::Panels;
use crate::near::accuracy::Accuracy;
use crate::near::pairs::{LayerPairs, RowKind};
use crate::near::{self, Near};
use crate::operator::algebra::Operator;
use crate::operator::layer::{self, Correction, Layer};
use crate::operator::points::QuadraturePoints;
use crate::operator::schedule::PlanSchedule;
use crate::operator::space_layer::{Mass, SpaceLayer};
use crate::solve::gmres::LinearOperator;
use crate::space::{self, DofMap, FunctionSpace, Test, TestTrial};
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
/// Vectors are coefficients of a [`FunctionSpace`]: one value a triangle, in the mesh's order, or one a vertex. A density s goes in, means of
/// V s, K s or K' s come out, weighted with the test functions: Galerkin's method with its rows divided by the integrals of these.
/// [`Surface::single_layer`] and its like have constants on both sides, [`Surface::single_layer_between`] and its like any
/// spaces, or collocation. With G = 1/(4 pi |x - y|), n the normals by the right-hand rule, and lengths in the mesh's unit:
///
/// ```text
/// (V s)(x) = int G s,    (K s)(x) = int dG/dn_y s,    (K' s)(x) = int dG/dn_x s
/// ```
///
/// The exterior Dirichlet problem by the indirect formulation: V s = g for the potential g on a sphere of a charge inside.
/// The density's total is the charge.
///
/// ```
/// # use mesh::generate::{Resolution, Sphere, SphereBase};
/// use bem::{GmresParams, OperatorOptions, Surface};
///
/// # let resolution = Resolution::Elements(320);
/// let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build()?;
/// let surface = Surface::new(&mesh);
/// let mut v = surface.single_layer(&OperatorOptions::default())?;
/// let g = surface.means(|[x, y, z]| {
///     1.0 / (4.0 * std::f64::consts::PI * (x * x + y * y + (z - 0.4).powi(2)).sqrt())
/// });
/// let (density, info) = v.solve(&g, &GmresParams::default())?;
/// let charge: f64 = density.iter().zip(surface.areas()).map(|(s, a)| s * a).sum();
/// assert!((charge - 1.0).abs() < 1e-2, "{charge} after {} iterations", info.iterations);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The same by the direct formulation, V psi = (K - 1/2) g, in continuous piecewise linear functions: psi is the normal
/// derivative of the potential, whose flux is minus the charge.
///
/// ```
/// # use mesh::generate::{Resolution, Sphere, SphereBase};
/// use bem::{GmresParams, LinearOperator, OperatorOptions, FunctionSpace, Surface};
///
/// # let resolution = Resolution::Elements(1280);
/// # let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build()?;
/// let (surface, p1, options) = (Surface::new(&mesh), FunctionSpace::Linear, OperatorOptions::default());
/// let g = surface.values(p1, |[x, y, z]| {
///     1.0 / (4.0 * std::f64::consts::PI * (x * x + y * y + (z - 0.4).powi(2)).sqrt())
/// });
/// let mut v = surface.single_layer_between(p1, p1, &options)?;
/// let k = surface.double_layer_between(p1, p1, &options)?;
/// let mut right = vec![0.0; v.len()];
/// (k - 0.5 * surface.mass(p1, p1)).apply(&g, &mut right, 1)?;
/// let (psi, info) = v.solve(&right, &GmresParams::default())?;
/// let flux: f64 = psi.iter().zip(surface.weights(p1)).map(|(psi, w)| psi * w).sum();
/// assert!((flux + 1.0).abs() < 5e-3, "{flux} after {} iterations", info.iterations);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Surface {
    panels: Arc<Panels>,
    /// Areas in the mesh's order and unit.
    areas: Vec<f64>,
    /// Vertices of the mesh that triangles have, in its order.
    vertices: Vec<u32>,
    /// Where these are.
    places: Vec<[f64; 3]>,
    /// Numbers, among them, of the vertices of each panel.
    corners: Vec<[u32; 3]>,
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
        let mut number = vec![u32::MAX; mesh.vertices.len()];
        mesh.triangles.iter().flatten().for_each(|&v| number[v as usize] = 0);
        let mut vertices = Vec::new();
        for (v, number) in number.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = vertices.len() as u32;
            vertices.push(v as u32);
        }
        let of = |&t: &u32| mesh.triangles[t as usize].map(|v| number[v as usize]);
        let corners = panels.triangles().iter().map(of).collect();
        let places = vertices.iter().map(|&v| mesh.vertices[v as usize]).collect();
        Self { panels: Arc::new(panels), areas, vertices, places, corners }
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

    /// The mesh's vertices that coefficients of [`FunctionSpace::Linear`] belong to: those of triangles, in the mesh's order.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    fn map(&self, space: FunctionSpace) -> DofMap {
        DofMap::new(space, &self.panels, (&self.corners, self.vertices.len()))
    }

    fn pairing(&self, test: Test, trial: FunctionSpace) -> TestTrial {
        TestTrial::new(test, trial, &self.panels, (&self.corners, self.vertices.len()))
    }

    /// How many coefficients functions of a space have.
    pub fn dimension(&self, space: FunctionSpace) -> usize {
        self.map(space).len()
    }

    /// Integrals of the functions that are 1 in one coefficient and 0 in the others: the integral of a function is the sum of its
    /// coefficients times these.
    pub fn weights(&self, space: FunctionSpace) -> Vec<f64> {
        let square = self.panels.scale() * self.panels.scale();
        self.map(space).weights(self.panels.areas()).iter().map(|w| w * square).collect()
    }

    /// The function of a space that interpolates: its values at the vertices, or at the triangles' centroids.
    pub fn values(&self, space: FunctionSpace, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        match space {
            FunctionSpace::Constant => self.means_with(Test::Centroids, |x, _| f(x)),
            FunctionSpace::Linear => self.places.iter().map(|&x| f(x)).collect(),
        }
    }

    /// L2 norm over the surface of a function of a space.
    ///
    /// # Errors
    /// [`Error::Length`] if it has not as many coefficients as the space.
    pub fn norm(&self, space: FunctionSpace, coefficients: &[f64]) -> Result<f64, Error> {
        let (map, found) = (self.map(space), coefficients.len());
        if map.len() != found {
            return Err(Error::Length { what: "coefficients", expected: map.len(), found });
        }
        Ok(space::norm(&self.panels, &map, coefficients) * self.panels.scale())
    }

    /// A function of position and unit normal as an equation tested with `test` has it: means weighted with the test functions, by
    /// a rule of degree 6, or values at centroids.
    pub fn means_with(
        &self,
        test: impl Into<Test>,
        f: impl Fn([f64; 3], [f64; 3]) -> f64,
    ) -> Vec<f64> {
        let pairing = self.pairing(test.into(), FunctionSpace::Constant);
        space::means(&self.panels, pairing.test, &pairing.rows, MEAN_DEGREE, f)
    }

    /// The mass matrix: a function of `trial` tested with `test`. The identity between constants.
    pub fn mass(&self, test: impl Into<Test>, trial: FunctionSpace) -> Operator<'static> {
        Operator::new(Mass::new(Arc::clone(&self.panels), self.pairing(test.into(), trial)))
    }

    /// Mean over each triangle of a function of position, by a rule of degree 6.
    pub fn means(&self, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        self.means_with_normal(|x, _| f(x))
    }

    /// Mean over each triangle of a function of position and unit normal, by a rule of degree 6.
    pub fn means_with_normal(&self, f: impl Fn([f64; 3], [f64; 3]) -> f64) -> Vec<f64> {
        self.means_with(FunctionSpace::Constant, f)
    }

    /// V: the potential of a charge density. Symmetric in the inner product weighted by areas; positive definite.
    ///
    /// # Errors
    /// [`Error::Fmm`] when the tolerance is out of range.
    pub fn single_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.layer(RowKind::Single, self.panels.scale(), options)
    }

    /// K: the potential of a density of dipoles along the normals, its principal value on the surface. K 1 = -1/2 on a closed
    /// surface with normals out of what it encloses.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn double_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.layer(RowKind::Double, 1.0, options)
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
        self.layer(RowKind::Adjoint, 1.0, options)
    }

    /// V as [`Surface::single_layer`] has it, of densities in `trial` and tested with `test`.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn single_layer_between(
        &self,
        test: impl Into<Test>,
        trial: FunctionSpace,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        self.between(RowKind::Single, test.into(), trial, options)
    }

    /// K as [`Surface::double_layer`] has it, of densities in `trial` and tested with `test`.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn double_layer_between(
        &self,
        test: impl Into<Test>,
        trial: FunctionSpace,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        self.between(RowKind::Double, test.into(), trial, options)
    }

    /// K' as [`Surface::adjoint_double_layer`] has it, of densities in `trial` and tested with `test`.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn adjoint_double_layer_between(
        &self,
        test: impl Into<Test>,
        trial: FunctionSpace,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        self.between(RowKind::Adjoint, test.into(), trial, options)
    }

    fn between(
        &self,
        kernel: RowKind,
        test: Test,
        trial: FunctionSpace,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        let length = if kernel == RowKind::Single { self.panels.scale() } else { 1.0 };
        if (test, trial) == (Test::Means(FunctionSpace::Constant), FunctionSpace::Constant) {
            return self.layer(kernel, length, options);
        }
        let (panels, pairing) = (Arc::clone(&self.panels), self.pairing(test, trial));
        Ok(Operator::new(SpaceLayer::new(panels, kernel, pairing, length, options)?))
    }

    fn layer(
        &self,
        kernel: RowKind,
        length: f64,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        let panels = &self.panels;
        let kinds = vec![kernel; panels.len()];
        let accuracy = Accuracy::new(options.tolerance, 0);
        let closest = near::closest(panels, accuracy.rule);
        let accuracy = accuracy.for_closest(closest);
        let pairs = LayerPairs::new(panels, &kinds, accuracy.pairs);
        let double = near::Precision::Double;
        let mut near = Near::new(panels, &accuracy.selection, &pairs, double, |_| Ok(()), &Quiet)?;
        near.subtract_points(panels, &pairs, accuracy.rule);
        let plan_options = fmm::Options {
            precision: (closest < layer::COINCIDENT).then_some(fmm::Precision::Double),
            ..layer::plan_options(&kinds, options.tolerance, options.columns)
        };
        let plan = fmm::Plan::new(
            &QuadraturePoints::new(panels, accuracy.rule).all(),
            None,
            &plan_options,
        )?;
        let (plans, correction) = (PlanSchedule::fixed(plan), Correction::Host(near));
        let layer = Layer::new(Arc::clone(panels), accuracy.rule, kinds, plans, correction);
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
