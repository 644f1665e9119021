//! The equations of second kind on all interfaces (A. H. Juffer et al., J. Comput. Phys. 97 (1991)
//! 144): docs/math.md, "Salt".
//!
//! Unknowns are potentials at the points of panels, then normal fluxes eps dphi/dn, of shape
//! (points of a panel, panels) each; rows likewise. Ranks share the panels.

use std::f64::consts::PI;
use std::sync::Arc;

use cuda::Device;
use nalgebra::{Matrix2, Vector2};
use parallel::prelude::*;

use super::close::{self, Source};
use super::memory::Memory;
use super::nodes::{Degree, MOST, Nodes};
use super::pairs::{PointBlock, PointPairs};
use super::regions::Regions;
use super::sum::{self, Layers, Sum};
use crate::device::{self, DeviceScreened, PointPanels};
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::near::{Assembly, Near, Precision, Selection, Stored};
use crate::quadrature::rule::Rule;
use crate::solve::linear_operator::InexactBudget;
use crate::solve::system::LinearSystem;
use crate::solve::vectors::{HostVectors, VectorSpace};
use crate::{Error, Progress, SolveOptions};

/// Error that entries in single precision leave in the equations, relative to the right-hand side,
/// over the ratio of permittivities: where it is large, layers nearly cancel (80 to 4,400: 7e-11 to
/// 4e-10).
const SINGLE: f64 = 4e-10;

/// The local panels, with their points and sides.
pub(super) struct Local<'a> {
    pub(super) panels: &'a Panels,
    pub(super) nodes: &'a Nodes,
    pub(super) regions: &'a Regions,
    pub(super) partition: &'a Arc<Partition>,
    pub(super) memory: Memory,
}

/// Exact integrals minus sums over points, between the points of close panels.
pub(super) enum NearField {
    Constant(Near<PointBlock<1>>),
    Linear(Near<PointBlock<3>>),
    Quadratic(Near<PointBlock<MOST>>),
    /// Of any degree, on a GPU.
    OnDevice(DeviceScreened),
}

/// `$body` with the near field of any degree, or `$there` with that on a GPU.
macro_rules! with {
    ($near:expr, |$name:ident| $body:expr, $there:expr) => {
        match $near {
            NearField::Constant($name) => $body,
            NearField::Linear($name) => $body,
            NearField::Quadratic($name) => $body,
            NearField::OnDevice($name) => $there,
        }
    };
}

impl NearField {
    /// Between panels within `reach` of each other, by integrals of this relative accuracy.
    pub(super) fn new(
        local: &Local<'_>,
        reach: &[f64],
        accuracy: f64,
        options: &SolveOptions,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let (backend, n) = (options.effective_backend()?, local.panels.len());
        // Entries are in single precision there.
        let is_there = n > 0 && precision(local.regions, accuracy) == Precision::Single;
        let device = if is_there { device::chosen(backend, options.gpu, n)? } else { None };
        if let Some(device) = device {
            match on_device(&device, local, reach, accuracy, progress) {
                // The processor has more memory.
                Err(Error::Gpu(error)) if backend == fmm::Backend::Auto => {
                    tracing::info!(%error, "near field on processor cores");
                }
                near => return near.map(Self::OnDevice),
            }
        }
        Ok(match local.nodes.degree {
            Degree::Constant => Self::Constant(assembled(local, reach, accuracy, progress)?),
            Degree::Linear => Self::Linear(assembled(local, reach, accuracy, progress)?),
            Degree::Quadratic => Self::Quadratic(assembled(local, reach, accuracy, progress)?),
        })
    }

    pub(super) fn entries(&self) -> usize {
        with!(self, |near| near.entries(), near.entries())
    }

    /// Adds products, of shape (2, points of a panel, local panels).
    pub(super) fn multiply_add(&self, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
        with!(self, |near| near.multiply_add(x, y), near.multiply_add(x, y)?);
        Ok(())
    }

    /// V, K, K' and T between a point of a panel and itself.
    fn diagonal(&self, panel: usize, point: usize) -> [f64; 4] {
        with!(self, |near| near.diagonal(panel).diagonal(point), near.diagonal(panel, point))
    }
}

/// In which precision entries serve integrals of this accuracy.
fn precision(regions: &Regions, accuracy: f64) -> Precision {
    let is_coarse = accuracy >= SINGLE * regions.contrast();
    if is_coarse { Precision::Single } else { Precision::Double }
}

fn on_device(
    device: &Device,
    local: &Local<'_>,
    reach: &[f64],
    accuracy: f64,
    progress: &dyn Progress,
) -> Result<DeviceScreened, Error> {
    let Nodes { degree, patches, places, normals, weights } = local.nodes;
    let (stencil, q) = (degree.stencil(), degree.points());
    let of_point = |k: usize| [&stencil.parameters(k), &stencil.polynomials[k][..q]].concat();
    let panels = PointPanels {
        panels: local.panels,
        reach,
        patches,
        places,
        normals,
        weights,
        stencil: (0..q).flat_map(of_point).collect(),
        sides: &local.regions.sides,
        media: local.regions.media.iter().map(|of| [of.permittivity, of.kappa]).collect(),
        cutting: close::cutting(accuracy, patches.iter().all(Patch::is_straight)),
    };
    DeviceScreened::new(device, &panels, progress)
}

fn assembled<const Q: usize>(
    local: &Local<'_>,
    reach: &[f64],
    accuracy: f64,
    progress: &dyn Progress,
) -> Result<Near<PointBlock<Q>>, Error>
where
    PointBlock<Q>: Stored,
{
    let Local { panels, nodes, regions, partition, memory } = *local;
    let stencil = nodes.degree.stencil();
    let sources: Vec<Source<'_>> =
        nodes.patches.par_iter().map(|patch| Source::new(patch, stencil)).collect();
    let pairs = PointPairs::<Q> { nodes, regions, sources: &sources, reach, accuracy };
    // Within reach all pairs are close, whatever the error of points.
    let rule = Rule::of_degree(1);
    let selection = Selection { diameters: 0.0, rules: [rule; 2], error: 0.0 };
    let precision = precision(regions, accuracy);
    let size = if precision == Precision::Single { size_of::<f32>() } else { size_of::<f64>() };
    let assembly = Assembly {
        panels,
        partition,
        selection: &selection,
        precision,
        check: &|entries| memory.check(entries * size / size_of::<f32>()),
        progress,
    };
    Near::corrections(&assembly, &pairs, rule)
}

/// Inverses of the two by two blocks of each local point with itself.
pub(super) fn inverses(local: &Local<'_>, near: &NearField) -> Vec<Matrix2<f64>> {
    let m = local.partition.local_len();
    let of_row = |row: usize| {
        let (panel, point) = (row % m, row / m);
        let [mean, inverse] = means(local.regions, panel);
        // Sums have no self-interaction of points.
        let [single, double, adjoint, hypersingular] =
            near.diagonal(panel, point).map(|entry| entry / (4.0 * PI));
        let block = Matrix2::new(mean - double, -single, -hypersingular, inverse - adjoint);
        block.try_inverse().unwrap_or_else(Matrix2::identity)
    };
    (0..local.nodes.len()).into_par_iter().map(of_row).collect()
}

/// Means of the permittivities on both sides of a panel, and of their inverses.
fn means(regions: &Regions, panel: usize) -> [f64; 2] {
    let [a, b] = regions.permittivities(panel);
    [0.5 * (a + b), 0.5 * (1.0 / a + 1.0 / b)]
}

/// What both equations have at a point.
pub(super) struct AtPoint {
    /// Potential and flux.
    pub(super) values: [f64; 2],
    /// Potential and normal derivative of all layers.
    pub(super) layers: [f64; 2],
    /// Defect of a constant double layer.
    pub(super) defect: f64,
}

/// The left-hand sides of both equations at a point of a panel.
pub(super) fn left_hand_sides(regions: &Regions, panel: usize, point: AtPoint) -> [f64; 2] {
    let AtPoint { values: [u, flux], layers: [potential, normal], defect } = point;
    let [mean, inverse] = means(regions, panel);
    let [front, back] = regions.permittivities(panel);
    let (behind, over) = (back - front, 1.0 / back - 1.0 / front);
    let potential = potential - behind * defect * u;
    let normal = normal + over * defect * flux;
    [mean * u - potential / (4.0 * PI), inverse * flux - normal / (4.0 * PI)]
}

/// Values at all points in their order, from the order of unknowns, shape (points of a panel,
/// panels).
pub(super) fn by_panels(values: &[f64], points: usize) -> Vec<f64> {
    let panels = values.len() / points;
    let value = |node: usize| values[node % points * panels + node / points];
    (0..values.len()).map(value).collect()
}

/// As [`by_panels`], in the other direction.
pub(super) fn by_unknowns(values: &[f64], points: usize) -> impl Iterator<Item = f64> {
    (0..points).flat_map(move |point| values.iter().skip(point).step_by(points).copied())
}

/// What a rank has of the equations.
pub(super) struct LocalParts {
    pub(super) partition: Arc<Partition>,
    pub(super) near: NearField,
    /// Of the preconditioner.
    pub(super) inverses: Vec<Matrix2<f64>>,
    /// Defect of constant double layers at each of all points; empty if not corrected.
    pub(super) defects: Vec<f64>,
}

/// The equations and their preconditioner.
pub(super) struct Equations<'a> {
    /// All points, as the sums need them, and their regions.
    pub(super) nodes: &'a Nodes,
    pub(super) regions: &'a Regions,
    pub(super) sums: &'a mut [Sum],
    pub(super) local: LocalParts,
    pub(super) space: HostVectors<'a>,
}

impl Equations<'_> {
    /// Potentials and normal derivatives at all points, by the sums.
    fn of_sums(
        &mut self,
        x: [&[f64]; 2],
        budget: Option<InexactBudget>,
    ) -> Result<Vec<[f64; 2]>, Error> {
        let mut rows = vec![[0.0; 2]; self.nodes.len()];
        for Sum { boundary, plans } in &mut *self.sums {
            let layers = Layers::around(self.regions, self.nodes, boundary, x);
            let count = boundary.nodes.len();
            let (mut potential, mut gradient) = (vec![0.0; count], vec![0.0; 3 * count]);
            sum::apply(plans.for_step(budget, 1)?, &layers, &mut potential, &mut gradient)?;
            plans.finished();
            let permittivity = self.regions.media[boundary.region].permittivity;
            for (k, &node) in boundary.nodes.iter().enumerate() {
                let node = node as usize;
                let gradient = Vec3::from_column_slice(&gradient[3 * k..3 * k + 3]);
                rows[node][0] += permittivity * potential[k];
                rows[node][1] += gradient.dot(&self.nodes.normals[node]);
            }
        }
        Ok(rows)
    }

    /// The product with one vector, of local values.
    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        budget: Option<InexactBudget>,
    ) -> Result<(), Error> {
        let LocalParts { partition, near, .. } = &self.local;
        let (q, m) = (self.nodes.degree.points(), partition.local_len().max(1));
        let mut all = vec![0.0; 2 * self.nodes.len()];
        partition.gather(x, &mut all)?;
        near.multiply_add(&partition.local_of(&all), y)?;
        let (potentials, fluxes) = all.split_at(self.nodes.len());
        let [potentials, fluxes] = [potentials, fluxes].map(|values| by_panels(values, q));
        drop(all);
        let sums = self.of_sums([&potentials, &fluxes], budget)?;
        let (regions, LocalParts { partition, defects, .. }) = (self.regions, &self.local);
        let (of_potentials, of_fluxes) = y.split_at_mut(y.len() / 2);
        let rows = of_potentials.par_iter_mut().zip(of_fluxes);
        rows.enumerate().for_each(|(row, (of_potential, of_flux))| {
            let panel = partition.global(row % m);
            let node = panel * q + row / m;
            let [potential, normal] = sums[node];
            let point = AtPoint {
                values: [potentials[node], fluxes[node]],
                layers: [potential + *of_potential, normal + *of_flux],
                defect: defects.get(node).copied().unwrap_or(0.0),
            };
            [*of_potential, *of_flux] = left_hand_sides(regions, panel, point);
        });
        Ok(())
    }
}

impl LinearSystem<Vec<f64>> for Equations<'_> {
    fn space(&self) -> &dyn VectorSpace<Vec<f64>> {
        &self.space
    }

    fn apply(
        &mut self,
        x: &Vec<f64>,
        columns: usize,
        budget: Option<InexactBudget>,
    ) -> Result<Vec<f64>, Error> {
        let n = x.len() / columns.max(1);
        let mut y = vec![0.0; x.len()];
        // Also on a rank without panels: products are collective.
        for column in 0..columns {
            let values = column * n..(column + 1) * n;
            self.product(&x[values.clone()], &mut y[values], budget)?;
        }
        Ok(y)
    }

    fn precondition(&mut self, x: &Vec<f64>, columns: usize) -> Result<Vec<f64>, Error> {
        let n = (x.len() / columns.max(1)).max(1);
        let mut y = vec![0.0; x.len()];
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            let ((potentials, fluxes), (first, second)) =
                (x.split_at(n / 2), y.split_at_mut(n / 2));
            for (row, inverse) in self.local.inverses.iter().enumerate() {
                let product = inverse * Vector2::new(potentials[row], fluxes[row]);
                [first[row], second[row]] = product.into();
            }
        }
        Ok(y)
    }

    fn measure(&self, _: usize, _: &Vec<f64>, _: &Vec<f64>) -> Result<Option<f64>, Error> {
        Ok(None)
    }
}
