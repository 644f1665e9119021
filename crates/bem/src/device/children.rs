//! Potentials and normal derivatives at places on each panel, on the device: a fast sum over points
//! that stand for panels, and closed forms of near ones.

use cuda::{Buffer, Device};

use super::geometry::DeviceGeometry;
use super::kernels::children::{Correct, Integrals};
use super::kernels::{Kernel, THREADS, count, vectors};
use crate::Error;
use crate::geometry::panels::Panels;
use crate::near::RowKind;
use crate::quadrature::rule::Rule;

/// Most of a triangle's diameter that a corner is away from its centroid.
const RADIUS: f64 = 2.0 / 3.0;

/// Places on panels, and what values there need beyond a plan of the fast sum.
pub(crate) struct DeviceChildren {
    geometry: DeviceGeometry,
    rule: &'static Rule,
    /// Their barycentric coordinates, and a weight that is not used.
    places: Buffer<[f64; 4]>,
    /// Number of radii within which closed forms replace points.
    near: f64,
    spread: Kernel<vectors::Spread>,
    correct: Kernel<Correct>,
    integrals: Kernel<Integrals>,
}

/// Values of some columns, shape (columns, panels, places).
pub(crate) struct ChildValues {
    pub(crate) potential: Vec<f64>,
    /// Means of both sides on interfaces; empty without any.
    pub(crate) normal: Vec<f64>,
}

impl DeviceChildren {
    /// Brings panels with rows of these kinds to the device, whose points are those of `rule`.
    pub(crate) fn new(
        device: &Device,
        panels: &Panels,
        kinds: &[RowKind],
        rule: &'static Rule,
        barycentric: &[[f64; 3]],
        near: f64,
    ) -> Result<Self, cuda::Error> {
        let geometry = DeviceGeometry::new(device, panels, kinds, RADIUS * near)?;
        let places: Vec<[f64; 4]> = barycentric.iter().map(|&[a, b, c]| [a, b, c, 0.0]).collect();
        Ok(Self {
            rule,
            places: device.upload(&places)?,
            near,
            spread: Kernel::new(device, &[], vectors::THREADS)?,
            correct: Kernel::new(device, geometry.rows.macros(), THREADS)?,
            integrals: Kernel::new(device, geometry.rows.macros(), THREADS)?,
            geometry,
        })
    }

    /// Single-layer integrals between the children of each panel, as
    /// constant densities' estimates take them: 0 of slivers.
    pub(crate) fn integrals(&self, wide: f64, rule: &Rule) -> Result<Vec<[f32; 7]>, cuda::Error> {
        let g = &self.geometry;
        let integrals = g.device.buffer(g.panels)?;
        let arguments = Integrals {
            vertices: g.vertices.pointer(),
            n: count(g.panels),
            wide,
            rule: g.rules.nodes(rule),
            nodes_of_rule: count(rule.len()),
            integrals: integrals.pointer(),
        };
        self.integrals.over(g.panels, 1, arguments)?;
        integrals.to_vec()
    }

    /// Values that the charges `x` of panels make, shape (columns, panels), by a plan from all
    /// points to all places on this device.
    pub(crate) fn values(
        &self,
        plan: &mut fmm::Plan,
        x: &[f64],
        columns: usize,
    ) -> Result<ChildValues, Error> {
        let Self { geometry: g, rule, places, .. } = self;
        let (device, n) = (&g.device, g.panels);
        let (points, targets) = (n * rule.len() * g.rows.image_count(), n * places.len());
        let panels = device.upload(x)?;
        let charges = device.buffer(columns * points)?;
        let spread = vectors::Spread {
            n: count(n),
            nodes: count(rule.len()),
            rule: g.rules.nodes(rule),
            factors: g.rows.factors(),
            image_count: count(g.rows.image_count()),
            panels: panels.pointer(),
            points: charges.pointer(),
        };
        self.spread.over(points, columns, spread)?;
        // The plan has a stream of its own.
        device.stream().synchronize()?;
        let has_slopes = g.rows.has_fields;
        let sums = device.buffer::<f64>(columns * targets)?;
        let length = if has_slopes { columns * targets } else { 0 };
        let (gradient, normal) = (device.buffer(3 * length)?, device.buffer::<f64>(length)?);
        normal.zero()?;
        plan.apply_on_device(columns, &charges, Some(&sums), has_slopes.then_some(&gradient))?;
        drop(charges);
        let correct = Correct {
            vertices: g.vertices.pointer(),
            centroids: g.centroids.pointer(),
            tree: g.search.tree(),
            n: count(n),
            near: self.near,
            places: places.pointer(),
            place_count: count(places.len()),
            rule: g.rules.nodes(rule),
            nodes_of_rule: count(rule.len()),
            x: panels.pointer(),
            gradient: gradient.pointer(),
            sums: sums.pointer(),
            normal: normal.pointer(),
            rows: g.rows.pointer(),
        };
        self.correct.over(targets, columns, correct)?;
        Ok(ChildValues { potential: sums.to_vec()?, normal: normal.to_vec()? })
    }
}
