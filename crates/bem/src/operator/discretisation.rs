//! Setup that all boundary operators share: accuracy, near field, fast sum, and where each is
//! computed.

use std::sync::Arc;

use comm::{Communicator, Group};

use super::fast_sum::FastSum;
use super::host::OnHost;
use super::layer::Layer;
use crate::collective;
use crate::device::{
    self, DeviceGeometry, DeviceNear, DevicePreconditioner, DeviceProduct, OnDevice,
};
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::integrals::screened::Screening;
use crate::near::RowKind;
use crate::near::accuracy::Accuracy;
use crate::near::functions::FunctionPairs;
use crate::near::modes::ModePairs;
use crate::near::pairs::LayerPairs;
use crate::near::{self, Assembly, Near, Requirements};
use crate::precondition::interfaces::Preconditioner;
use crate::precondition::local_inverse::LocalInverse;
use crate::precondition::shared::Distributed;
use crate::sampling::{Layout, Sampling};
use crate::solve::backend::Backend;
use crate::solve::schedule::PlanSchedule;
use crate::space::{Density, Dofs};
use crate::{Error, Progress};

/// Where an operator is computed.
#[derive(Clone, Debug)]
pub struct Target {
    /// Processor cores, a GPU, or the faster of them.
    pub backend: fmm::Backend,
    /// Which GPU, counted from 0.
    pub gpu: usize,
    /// Ranks that share the panels.
    pub group: Group,
}

/// Data of an operator over some panels.
pub struct Discretisation {
    pub(crate) accuracy: Accuracy,
    /// Panels and points.
    pub layout: Layout,
    /// The smallest gap between panels, in units of panel size.
    gap: f64,
    target: Target,
    /// Inverse of the screening length, in scaled coordinates.
    kappa: f64,
    /// The panels on a GPU, if the GPU does the whole solve.
    geometry: Option<DeviceGeometry>,
}

/// Inputs of near-field assembly.
pub struct NearFieldRequest<'a> {
    /// Accuracy required by charges in space, beyond the panels' own weights.
    pub requirements: Option<&'a Requirements>,
    /// May refuse that number of entries.
    pub check: &'a (dyn Fn(usize) -> Result<(), Error> + Sync),
    /// Receives the number of finished rows.
    pub progress: &'a dyn Progress,
}

impl Discretisation {
    /// For a solver's `tolerance`, every quadrature rule raised by `increment` orders. Collective.
    pub fn new(
        panels: &Arc<Panels>,
        kinds: &[RowKind],
        dofs: Dofs,
        tolerance: f64,
        increment: usize,
        target: Target,
    ) -> Result<Self, Error> {
        let _span = tracing::debug_span!("discretisation").entered();
        let accuracy = Accuracy::new(tolerance, increment);
        let rules = [accuracy.rule, dofs.test_rule(accuracy.rule)];
        let sampling = Sampling { panels: Arc::clone(panels), rules, kinds: kinds.into(), dofs };
        let reach = || reach(&sampling, &accuracy);
        let partition = Partition::new(&target.group, panels, reach)?;
        let layout = Layout::new(sampling, partition);
        let (local, group) = (&layout.local, &*target.group);
        let geometry = on_all(group, geometry(local, &target, accuracy.selection.diameters))?;
        let distances = match &geometry {
            Some(on_gpu) => on_gpu.smallest_relative_gap_and_height(accuracy.rule),
            None => Ok([
                near::smallest_relative_gap(&local.panels, accuracy.rule),
                near::smallest_relative_height(&local.panels, accuracy.rule),
            ]),
        };
        let [gap, height] = collective::agreed(group, distances.map_err(Error::from))?;
        let gap = -collective::largest(group, -gap.min(height))?;
        let accuracy = accuracy.for_gap(gap);
        Ok(Self { accuracy, layout, gap, target, kappa: 0.0, geometry })
    }

    /// Makes exp(-kappa r) / r the kernel, with kappa in scaled coordinates. Columns and rows must
    /// be functions.
    pub(crate) fn screened(mut self, kappa: f64) -> Self {
        // The panels' extent is about 1.
        self.accuracy.selection.error *= Screening::share(kappa, 1.0);
        Self { kappa, ..self }
    }

    /// The discretisation with rows of other kinds, on CPU cores.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let layout = self.layout.with_kinds(kinds);
        let (accuracy, target) = (self.accuracy.clone(), self.target.clone());
        Self { accuracy, layout, gap: self.gap, target, kappa: self.kappa, geometry: None }
    }

    /// The fast sum for products with this number of columns at once.
    pub fn fast_sum(&self, tolerance: f64, columns: usize) -> FastSum {
        let Target { backend, gpu, .. } = self.target;
        let (layout, gap, kappa) = (self.layout.clone(), self.gap, self.kappa);
        FastSum { layout, gap, tolerance, columns, kappa, backend, gpu, stop: None }
    }

    /// The ranks that share the panels.
    pub(crate) fn group(&self) -> &Group {
        &self.target.group
    }

    /// Number of local panels, and the same with images.
    pub(crate) fn local(&self) -> [usize; 2] {
        let panels = &self.layout.local.panels;
        [panels.len(), panels.total()]
    }

    /// The layer with these plans and without a near field.
    pub(crate) fn bare(&self, plans: PlanSchedule) -> Layer {
        Layer::new(self.layout.all.clone(), plans, self.without_near_field())
    }

    /// Products without a near field, which takes no memory.
    pub(crate) fn without_near_field(&self) -> Box<dyn Backend> {
        let [local, _] = self.local();
        Box::new(OnHost::new(self.layout.clone(), Near::none(local), None))
    }

    /// Keeps the near field off the GPU, because the fast sum is not there.
    pub(crate) fn leave_device(&mut self) {
        self.geometry = None;
    }

    /// The near field, and a preconditioner if `conductor` is given: the conductor of each panel,
    /// `None` on interfaces. Collective.
    pub fn backend(
        &mut self,
        request: &NearFieldRequest<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let _span = tracing::debug_span!("near field and preconditioner").entered();
        if let Some(geometry) = self.geometry.take() {
            let found = self.on_device(geometry, request, conductor);
            let is_gpus = matches!(found, Err(Error::Gpu(_)));
            // If one rank cannot keep it there, none does.
            let refused =
                collective::largest(&**self.group(), if is_gpus { 1.0 } else { 0.0 })? > 0.0;
            if !(refused && self.target.backend == fmm::Backend::Auto) {
                return found;
            }
            if let Err(error) = found {
                tracing::warn!(%error, "the near field is evaluated on the processor");
            }
        }
        self.on_host(request, conductor)
    }

    fn on_host(
        &self,
        request: &NearFieldRequest<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let Layout { partition, all, local, .. } = &self.layout;
        let Sampling { panels, kinds, dofs, .. } = local;
        let group = &*self.target.group;
        let NearFieldRequest { check, progress, .. } = *request;
        let functions = selection.for_functions();
        let precision = *precision;
        let assembly = Assembly { panels, partition, selection, precision, check, progress };
        let of_functions = Assembly { selection: &functions, ..assembly };
        if let Dofs::Functions(functions) = dofs {
            let (accuracy, kappa) = (&self.accuracy, self.kappa);
            let pairs = FunctionPairs { panels, kinds, functions, accuracy, kappa };
            let near = Near::of_functions(&of_functions, &pairs)?;
            return Ok(Box::new(OnHost::new(self.layout.clone(), near, None)));
        }
        let requirements =
            request.requirements.map(|all| partition.local_part(all, Requirements::subset));
        let entries = LayerPairs::new(panels, kinds, *pairs).with_solid_angles(*solid_angles);
        let exact = entries.with_requirements(requirements.as_deref());
        if matches!(dofs, Dofs::Charges(Density::Linear)) {
            let integrals = self.accuracy.integrals();
            let pairs = ModePairs { even: &exact, accuracy: &self.accuracy, integrals };
            let mut near = collective::agreed(group, Near::new(&of_functions, &pairs))?;
            let inverse = || {
                let is_conductor = |i: usize| kinds[i] == RowKind::Single;
                let has_conductors = all.has(RowKind::Single);
                has_conductors.then(|| LocalInverse::of_modes(&near, &pairs, &is_conductor))
            };
            let of = |panels| Preconditioner::of_modes(&near.constants(), panels, inverse());
            let preconditioner = self.distributed(conductor).map(of).transpose()?.map(Box::new);
            near.subtract_points(panels, &pairs, rule);
            return Ok(Box::new(OnHost::of_modes(self.layout.clone(), near, preconditioner)));
        }
        let mut near = collective::agreed(group, Near::new(&assembly, &exact))?;
        let of = |panels| Preconditioner::new(&near, panels);
        let preconditioner = self.distributed(conductor).map(of).transpose()?.map(Box::new);
        near.subtract_points(panels, &exact, rule);
        Ok(Box::new(OnHost::new(self.layout.clone(), near, preconditioner)))
    }

    fn on_device(
        &self,
        mut geometry: DeviceGeometry,
        request: &NearFieldRequest<'_>,
        conductor: Option<&[Option<u32>]>,
    ) -> Result<Box<dyn Backend>, Error> {
        let Accuracy { rule, selection, pairs, solid_angles, precision, .. } = &self.accuracy;
        let Layout { partition, local, .. } = &self.layout;
        let (stream, panels) = (geometry.device().clone(), &*local.panels);
        let NearFieldRequest { check, progress, .. } = *request;
        let precision = *precision;
        let assembly = Assembly { panels, partition, selection, precision, check, progress };
        let exact = || -> Result<DeviceNear, Error> {
            let requirements =
                request.requirements.map(|all| partition.local_part(all, Requirements::subset));
            geometry.set_requirements(requirements.as_deref(), *solid_angles)?;
            DeviceNear::new(geometry, *pairs, &assembly)
        };
        let distributed = self.distributed(conductor);
        // Processors find clusters while the device is at work.
        let whole = distributed.filter(|of| of.partition.is_whole());
        let mut levels = None;
        let near = rayon::in_place_scope(|scope| {
            scope.spawn(|_| levels = whole.map(Distributed::cluster_levels));
            exact()
        });
        let mut near = collective::agreed(&**self.group(), near)?;
        let distributed = distributed.map(|of| Distributed { levels: levels.as_ref(), ..of });
        let preconditioner = distributed.map(|of| DevicePreconditioner::new(&near, of));
        let preconditioner = collective::agreed(&**self.group(), preconditioner.transpose())?;
        let subtracted = near.subtract_points(rule).and_then(|()| stream.stream().synchronize());
        collective::agreed(&**self.group(), subtracted.map_err(Error::from))?;
        if !partition.is_whole() {
            let layout = self.layout.clone();
            return Ok(Box::new(OnHost::with_device(layout, near, preconditioner)));
        }
        let product = DeviceProduct::new(near, rule)?.with_far_images(self.layout.clone());
        Ok(Box::new(OnDevice::new(product, preconditioner)))
    }

    /// Data that a preconditioner needs, given the conductor of each of all panels.
    fn distributed<'a>(&'a self, conductor: Option<&'a [Option<u32>]>) -> Option<Distributed<'a>> {
        let Layout { partition, all, local, .. } = &self.layout;
        let [all, local] = [all, local].map(|sampling| &*sampling.panels);
        conductor.map(|conductor| Distributed { partition, all, local, conductor, levels: None })
    }
}

/// The reach of each panel: those within it are its neighbours.
fn reach(sampling: &Sampling, accuracy: &Accuracy) -> Vec<f64> {
    let selection = match sampling.dofs {
        Dofs::Charges(Density::Linear) => &accuracy.selection.for_functions(),
        _ => &accuracy.selection,
    };
    selection.reach(&sampling.panels)
}

/// A rank's value if all ranks of its group have one, else `None`. Collective.
fn on_all<T>(group: &dyn Communicator, own: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
    let own = collective::agreed(group, own)?;
    let lacking = collective::largest(group, if own.is_some() { 0.0 } else { 1.0 })?;
    Ok(own.filter(|_| lacking == 0.0))
}

/// The panels on the GPU, if it computes their near field.
fn geometry(
    of: &Sampling,
    target: &Target,
    diameters: f64,
) -> Result<Option<DeviceGeometry>, Error> {
    let Sampling { panels, kinds, dofs, .. } = of;
    // Pairs with curved panels or in several layers are integrated on processors, and dipoles are
    // summed there.
    let is_there = matches!(dofs, Dofs::Charges(Density::Constant))
        && !panels.are_curved()
        && panels.regions() == 1
        && !kinds.contains(&RowKind::Double);
    if !is_there || panels.len() == 0 && target.group.size() > 1 {
        return Ok(None);
    }
    let Some(device) = device::chosen(target.backend, target.gpu, panels.len())? else {
        return Ok(None);
    };
    let geometry = DeviceGeometry::new(&device, panels, kinds, diameters);
    if target.backend == fmm::Backend::Auto { Ok(geometry.ok()) } else { Ok(Some(geometry?)) }
}
