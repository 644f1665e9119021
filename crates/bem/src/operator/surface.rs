//! The layer operators of a surface, for users who set up their own equations.

use std::f64::consts::PI;
use std::sync::Arc;

use mesh::Mesh;

use super::algebra::Operator;
use super::discretisation::{Discretisation, NearFieldRequest, Target};
use super::fast_sum::FastSum;
use super::layer::Layer;
use crate::constants::TOLERANCE;
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::solve::linear_operator::LinearOperator;
use crate::solve::schedule::PlanSchedule;
use crate::space::{self, Corners, Density, DofMap, Dofs, FunctionSpace, Test, TestTrial};
use crate::{Error, NoProgress};

/// Degree of the rule for means of given functions.
const MEAN_DEGREE: usize = 6;

options::options! {
    /// Accuracy of the layer operators of a [`Surface`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct OperatorOptions {
        /// Relative L2 error of the fast sums; near-field quadrature follows it.
        tolerance: f64 = TOLERANCE,
        /// Number of vectors usually multiplied together.
        columns: usize = 1,
        /// 1/r or exp(-kappa r) / r, kappa in the inverse of the mesh's unit.
        kernel: fmm::Kernel = fmm::Kernel::Laplace,
        /// Where products are computed.
        backend: fmm::Backend = fmm::Backend::default(),
        /// Which GPU, counted from 0.
        gpu: usize = 0,
        /// Ends products early when set off, if given.
        stop: Option<fmm::Stop> = None,
    }
}

/// The triangles of a mesh as the domain of layer operators.
///
/// Vectors are coefficients of a [`FunctionSpace`]: one value per triangle, in the mesh's order, or
/// one per vertex. The input is a density s, the output means of V s, K s or K' s weighted with the
/// test functions: Galerkin's method with each row divided by the integral of its test function.
/// [`Surface::single_layer`] and similar functions use constants on both sides,
/// [`Surface::single_layer_between`] and similar ones any spaces, or collocation. With G = 1/(4 pi
/// |x - y|), or with [`OperatorOptions::kernel`] exp(-kappa |x - y|) times that, n the normals by
/// the right-hand rule, and lengths in the mesh's unit:
///
/// ```text
/// (V s)(x) = int G s,    (K s)(x) = int dG/dn_y s,    (K' s)(x) = int dG/dn_x s
/// ```
///
/// The exterior Dirichlet problem by the indirect formulation: V s = g for the potential g on a
/// sphere of a charge inside. The density's total is the charge.
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
/// The same by the direct formulation, V psi = (K - 1/2) g, in continuous piecewise linear
/// functions: psi is the normal derivative of the potential, whose flux is minus the charge.
///
/// ```
/// # use mesh::generate::{Resolution, Sphere, SphereBase};
/// use bem::{GmresParams, LinearOperator, OperatorOptions, FunctionSpace, Surface};
///
/// # let resolution = Resolution::Elements(1280);
/// # let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution }.build()?;
/// let (surface, options) = (Surface::new(&mesh), OperatorOptions::default());
/// let p1 = FunctionSpace::Linear;
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
#[must_use]
pub struct Surface {
    panels: Arc<Panels>,
    /// Areas in the mesh's order and unit.
    areas: Vec<f64>,
    /// Vertices of the mesh that belong to triangles, in its order.
    vertices: Vec<u32>,
    /// Their coordinates.
    places: Vec<[f64; 3]>,
    /// For each panel, the indices of its vertices among these.
    corners: Vec<[u32; 3]>,
}

impl Surface {
    /// The surface of all triangles of a valid mesh; curved triangles count as flat ones through
    /// their corners.
    pub fn new(mesh: &Mesh) -> Self {
        let flat = mesh.patches.is_some().then(|| Mesh { patches: None, ..mesh.clone() });
        let panels = Panels::of_mesh(flat.as_ref().unwrap_or(mesh));
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
    #[must_use]
    pub fn len(&self) -> usize {
        self.areas.len()
    }

    /// Whether there are no triangles.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.areas.is_empty()
    }

    /// Areas of the triangles.
    #[must_use]
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// The mesh's vertices that coefficients of [`FunctionSpace::Linear`] belong to: those of
    /// triangles, in the mesh's order.
    #[must_use]
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    fn panel_corners(&self) -> Corners<'_> {
        Corners { of_panels: &self.corners, vertices: self.vertices.len() }
    }

    fn map(&self, space: FunctionSpace) -> DofMap {
        DofMap::new(space, &self.panels, self.panel_corners())
    }

    fn pairing(&self, test: Test, trial: FunctionSpace) -> TestTrial {
        TestTrial::new(test, trial, &self.panels, self.panel_corners())
    }

    /// Number of coefficients of a function of this space.
    #[must_use]
    pub fn dimension(&self, space: FunctionSpace) -> usize {
        self.map(space).len()
    }

    /// Integrals of the functions that are 1 in one coefficient and 0 in the others: the integral
    /// of a function is the sum of its coefficients times these.
    #[must_use]
    pub fn weights(&self, space: FunctionSpace) -> Vec<f64> {
        let square = self.panels.scale() * self.panels.scale();
        let map = self.map(space);
        let weights: Vec<f64> =
            map.weights(self.panels.areas()).iter().map(|w| w * square).collect();
        map.in_mesh_order(&weights)
    }

    /// The function of a space that interpolates: its values at the vertices, or at the triangles'
    /// centroids.
    pub fn values(&self, space: FunctionSpace, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        match space {
            FunctionSpace::Constant => self.means_with(Test::Centroids, |x, _| f(x)),
            FunctionSpace::Linear => self.places.iter().map(|&x| f(x)).collect(),
        }
    }

    /// L2 norm over the surface of a function of a space.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of coefficients is not that of the space.
    pub fn norm(&self, space: FunctionSpace, coefficients: &[f64]) -> Result<f64, Error> {
        let (map, found) = (self.map(space), coefficients.len());
        if map.len() != found {
            return Err(Error::Length { what: "coefficients", expected: map.len(), found });
        }
        let coefficients = map.in_own_order(coefficients);
        Ok(space::norm(&self.panels, &map, &coefficients) * self.panels.scale())
    }

    /// The right-hand side that a function of position and unit normal gives when tested with
    /// `test`: means weighted with the test functions, by a rule of degree 6, or values at
    /// centroids.
    pub fn means_with(
        &self,
        test: impl Into<Test>,
        f: impl Fn([f64; 3], [f64; 3]) -> f64,
    ) -> Vec<f64> {
        let pairing = self.pairing(test.into(), FunctionSpace::Constant);
        let means = space::means(&self.panels, pairing.test, &pairing.rows, MEAN_DEGREE, f);
        pairing.rows.in_mesh_order(&means)
    }

    /// The mass matrix: a function of `trial` tested with `test`. The identity between constants.
    pub fn mass(&self, test: impl Into<Test>, trial: FunctionSpace) -> Operator<'static> {
        let functions = self.pairing(test.into(), trial);
        let orders = [&functions.columns, &functions.rows].map(|map| map.order().to_vec());
        let weights = functions.rows.weights(self.panels.areas());
        let inverses = weights.into_iter().map(|w| 1.0 / w).collect();
        let factors = [vec![1.0; functions.columns.len()], inverses];
        let mass = Mass { panels: Arc::clone(&self.panels), functions };
        Operator::new(InMeshOrder::new(mass, orders, factors))
    }

    /// Mean over each triangle of a function of position, by a rule of degree 6.
    pub fn means(&self, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        self.means_with_normal(|x, _| f(x))
    }

    /// Mean over each triangle of a function of position and unit normal, by a rule of degree 6.
    pub fn means_with_normal(&self, f: impl Fn([f64; 3], [f64; 3]) -> f64) -> Vec<f64> {
        self.means_with(FunctionSpace::Constant, f)
    }

    /// V: the potential of a charge density. Symmetric in the inner product weighted by areas;
    /// positive definite.
    ///
    /// # Errors
    /// [`Error::Fmm`] when the tolerance or kappa is out of range.
    pub fn single_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.single_layer_between(FunctionSpace::Constant, FunctionSpace::Constant, options)
    }

    /// K: the potential of a density of dipoles along the normals, its principal value on the
    /// surface. K 1 = -1/2 on a closed surface with normals out of what it encloses,
    /// without screening.
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn double_layer(&self, options: &OperatorOptions) -> Result<Operator<'static>, Error> {
        self.double_layer_between(FunctionSpace::Constant, FunctionSpace::Constant, options)
    }

    /// K': the normal derivative of the potential of a charge density, without its jump of -1/2
    /// (+1/2) on the side that the normal points to (behind).
    ///
    /// # Errors
    /// As [`Surface::single_layer`].
    pub fn adjoint_double_layer(
        &self,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        self.adjoint_double_layer_between(FunctionSpace::Constant, FunctionSpace::Constant, options)
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

    /// K' as [`Surface::adjoint_double_layer`] has it, of densities in `trial` and tested with
    /// `test`.
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
        kind: RowKind,
        test: Test,
        trial: FunctionSpace,
        options: &OperatorOptions,
    ) -> Result<Operator<'static>, Error> {
        options.kernel.check()?;
        let (panels, functions) = (&self.panels, self.pairing(test, trial));
        let kappa = options.kernel.kappa() * panels.scale();
        let factor = if kind == RowKind::Single { panels.scale() } else { 1.0 } / (4.0 * PI);
        let constants =
            (test, trial) == (Test::Means(FunctionSpace::Constant), FunctionSpace::Constant);
        // Only sums between functions are screened.
        let are_charges = constants && kappa == 0.0;
        let (of_columns, of_rows) = if are_charges {
            (panels.areas().to_vec(), vec![factor; panels.len()])
        } else {
            let weights = functions.rows.weights(panels.areas()).into_iter();
            (vec![1.0; functions.columns.len()], weights.map(|w| factor / w).collect())
        };
        let orders = [&functions.columns, &functions.rows].map(|map| map.order().to_vec());
        // Products of two linear functions need a rule one degree higher than constants do.
        let increment = usize::from(!constants);
        let dofs = if are_charges {
            Dofs::Charges(Density::Constant)
        } else {
            Dofs::Functions(Arc::new(functions))
        };
        let (target, kinds) = (
            Target { backend: options.backend, gpu: options.gpu, group: comm::alone() },
            vec![kind; panels.len()],
        );
        let mut parts =
            Discretisation::new(panels, &kinds, dofs, options.tolerance, increment, target)?
                .screened(kappa);
        let sum = parts.fast_sum(options.tolerance, options.columns);
        let sum = FastSum { stop: options.stop.clone(), ..sum };
        let plan = sum.plan(options.tolerance)?;
        if !plan.is_on_gpu() {
            parts.leave_device();
        }
        let request =
            NearFieldRequest { requirements: None, check: &|_| Ok(()), progress: &NoProgress };
        let backend = parts.backend(&request, None)?;
        let layer = Layer::new(parts.layout.all, PlanSchedule::fixed(plan), backend);
        Ok(Operator::new(InMeshOrder::new(layer, orders, [of_columns, of_rows])))
    }
}

/// An operator on coefficients in the mesh's order instead of its own, with factors for its columns
/// and rows.
struct InMeshOrder<O> {
    operator: O,
    /// Indices in the mesh's order, and factors, of columns and of rows.
    orders: [Vec<u32>; 2],
    factors: [Vec<f64>; 2],
    x: Vec<f64>,
    y: Vec<f64>,
}

impl<O> InMeshOrder<O> {
    fn new(operator: O, orders: [Vec<u32>; 2], factors: [Vec<f64>; 2]) -> Self {
        Self { operator, orders, factors, x: Vec::new(), y: Vec::new() }
    }
}

impl<O: LinearOperator> LinearOperator for InMeshOrder<O> {
    fn len(&self) -> usize {
        self.orders[1].len()
    }

    fn inputs(&self) -> usize {
        self.orders[0].len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let [inputs, rows] = [0, 1].map(|k| self.orders[k].len());
        if inputs == 0 || rows == 0 {
            return Ok(());
        }
        self.x.resize(x.len(), 0.0);
        self.y.resize(y.len(), 0.0);
        for (x, own) in x.chunks_exact(inputs).zip(self.x.chunks_exact_mut(inputs)) {
            let columns = self.orders[0].iter().zip(&self.factors[0]);
            own.iter_mut()
                .zip(columns)
                .for_each(|(own, (&k, factor))| *own = factor * x[k as usize]);
        }
        self.operator.apply(&self.x, &mut self.y, columns)?;
        for (y, own) in y.chunks_exact_mut(rows).zip(self.y.chunks_exact(rows)) {
            let rows = self.orders[1].iter().zip(&self.factors[1]);
            own.iter().zip(rows).for_each(|(own, (&k, factor))| y[k as usize] = factor * own);
        }
        Ok(())
    }
}

/// The mass matrix: integrals of products of functions.
struct Mass {
    panels: Arc<Panels>,
    functions: TestTrial,
}

impl LinearOperator for Mass {
    fn len(&self) -> usize {
        self.functions.rows.len()
    }

    fn inputs(&self) -> usize {
        self.functions.columns.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        let TestTrial { rows, columns, .. } = &self.functions;
        let mass = self.functions.mass();
        y.fill(0.0);
        for (x, y) in x.chunks_exact(columns.len()).zip(y.chunks_exact_mut(rows.len())) {
            for (panel, area) in self.panels.areas().iter().enumerate() {
                let values = columns.values(panel, x);
                let tested =
                    mass.map(|row| area * row.iter().zip(values).map(|(m, x)| m * x).sum::<f64>());
                rows.add(panel, tested, y);
            }
        }
        Ok(())
    }
}
