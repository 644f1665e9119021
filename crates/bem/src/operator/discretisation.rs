//! How a boundary operator is made, whatever it is for: accuracy, near field, fast sum, and where all of it is.

use std::sync::Arc;

use super::fast_sum::FastSum;
use super::host::{Host, Sampling};
use crate::device::{DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct, OnDevice};
use crate::geometry::panels::Panels;
use crate::near::accuracy::Accuracy;
use crate::near::functions::FunctionPairs;
use crate::near::pairs::{LayerPairs, RowKind};
use crate::near::{self, Near, Needs};
use crate::precondition::interfaces::Preconditioner;
use crate::solve::backend::Backend;
use crate::space::Dofs;
use crate::{Error, Progress};

/// Panels from which on a GPU pays.
const WORTH_A_GPU: usize = 10_000;

/// Where an operator is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) backend: fmm::Backend,
    /// Which GPU, counted from 0.
    pub(crate) gpu: usize,
}

/// What an operator over some panels needs.
pub(crate) struct Discretisation {
    pub(crate) accuracy: Accuracy,
    pub(crate) sampling: Sampling,
    /// The smallest gap between panels, in sizes of a panel.
    gap: f64,
    target: Target,
    /// The panels on a GPU, if that is to do the whole solve.
    geometry: Option<DeviceGeometry>,
}

/// What near fields are built with.
pub(crate) struct Close<'a> {
    /// What charges in space ask for beyond the panels' own weights.
    pub(crate) needs: Option<&'a Needs>,
    /// May refuse as many entries.
    pub(crate) check: &'a (dyn Fn(usize) -> Result<(), Error> + Sync),
    pub(crate) progress: &'a dyn Progress,
}

impl Discretisation {
    /// For a solver's `tolerance`, every quadrature rule raised by `increment` orders.
    ///
    /// # Errors
    /// The GPU's, where it was asked for.
    pub(crate) fn new(
        panels: &Arc<Panels>,
        kinds: &[RowKind],
        dofs: Dofs,
        tolerance: f64,
        increment: usize,
        target: Target,
    ) -> Result<Self, Error> {
        let accuracy = Accuracy::new(tolerance, increment);
        let geometry = if matches!(dofs, Dofs::Charges) {
            geometry(panels, kinds, target, accuracy.selection.diameters)?
        } else {
            None
        };
        let gap = match &geometry {
            Some(geometry) => geometry.smallest_relative_gap(accuracy.rule)?,
            None => near::smallest_relative_gap(panels, accuracy.rule),
        };
        let accuracy = accuracy.for_gap(gap);
        let rules = [accuracy.rule, dofs.test_rule(accuracy.rule)];
        let sampling = Sampling { panels: Arc::clone(panels), rules, kinds: kinds.into(), dofs };
        Ok(Self { accuracy, sampling, gap, target, geometry })
    }

    /// The same with rows of other kinds, on processor cores.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let sampling = Sampling { kinds: kinds.into(), ..self.sampling.clone() };
        Self { accuracy: self.accuracy.clone(), sampling, geometry: None, ..*self }
    }

    /// The fast sum of products with so many columns at once.
    pub(crate) fn fast_sum(&self, tolerance: f64, columns: usize) -> FastSum {
        let Target { backend, gpu } = self.target;
        let sampling = self.sampling.clone();
        FastSum { sampling, gap: self.gap, tolerance, columns, backend, gpu }
    }

    /// Keeps the near field off the GPU: the fast sum is not there.
    pub(crate) fn leave_device(&mut self) {
        self.geometry = None;
    }

    /// The near field, with a preconditioner where `conductor` is given: that of each panel, `None` on interfaces.
    ///
    /// # Errors
    /// [`Error::Interrupted`], what `close.check` says, and the GPU's where it was asked for.
    pub(crate) fn backend(
        &mut self,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        if let Some(geometry) = self.geometry.take() {
            match self.on_device(geometry, close, conductor) {
                Err(Error::Gpu(error)) if self.target.backend == fmm::Backend::Auto => {
                    tracing::warn!(%error, "the near field is evaluated on the processor");
                }
                other => return other,
            }
        }
        self.on_host(close, conductor)
    }

    fn on_host(
        &self,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let Sampling { panels, kinds, dofs, .. } = &self.sampling;
        let (check, progress) = (close.check, close.progress);
        if let Dofs::Functions(functions) = dofs {
            let pairs = FunctionPairs { panels, kinds, functions, accuracy: &self.accuracy };
            let near = Near::of_functions(&pairs, *precision, check, progress)?;
            return Ok(Box::new(Host::new(self.sampling.clone(), near, None)));
        }
        let entries = LayerPairs::new(panels, kinds, *pairs).with_solid_angles(*solid_angles);
        let exact = entries.with_needs(close.needs);
        let mut near = Near::new(panels, selection, &exact, *precision, check, progress)?;
        let preconditioner =
            conductor.map(|conductor| Box::new(Preconditioner::new(&near, panels, conductor)));
        near.subtract_points(panels, &exact, rule);
        Ok(Box::new(Host::new(self.sampling.clone(), near, preconditioner)))
    }

    fn on_device(
        &self,
        mut geometry: DeviceGeometry,
        close: &Close<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let stream = geometry.device().clone();
        geometry.set_needs(close.needs, *solid_angles)?;
        let (check, progress) = (close.check, close.progress);
        let mut near = DeviceNear::new(geometry, selection, *pairs, *precision, check, progress)?;
        let panels = &self.sampling.panels;
        let preconditioner = conductor
            .map(|conductor| DevicePreconditioner::new(&near, panels, conductor))
            .transpose()?;
        near.subtract_points(rule)?;
        stream.stream().synchronize()?;
        Ok(Box::new(OnDevice::new(DeviceProduct::new(near, rule)?, preconditioner)))
    }
}

/// The panels on the GPU, if that is to do the whole solve.
fn geometry(
    panels: &Panels,
    kinds: &[RowKind],
    target: Target,
    diameters: f64,
) -> Result<Option<DeviceGeometry>, Error> {
    let open = || DeviceGeometry::new(&gpu::Device::open(target.gpu)?, panels, kinds, diameters);
    // Dipoles are not summed there.
    if kinds.contains(&RowKind::Double) {
        return Ok(None);
    }
    match target.backend {
        fmm::Backend::Cuda => Ok(Some(open()?)),
        // Should there be no GPU, the plan says so.
        fmm::Backend::Auto if panels.len() >= WORTH_A_GPU => Ok(open().ok()),
        _ => Ok(None),
    }
}
