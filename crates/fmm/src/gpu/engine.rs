//! A plan on the device: geometry once, then one recorded graph for each kind of `apply`.
//!
//! P2P runs on a stream of its own next to the expansions; both add to the same sums, atomically.
//! Points, tree, lists and matrices stay on the device.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use cuda::{Buffer, Device};

use super::buffers::{Buffers, Signature};
use super::close::Close;
use super::coordinates::Coordinates;
use super::device_plan::{DevicePlan, Parts, near_items};
use super::hybrid::{Host, Span};
use super::planning::{FarField, Leaves, Planning};
use super::points::Points;
use super::relative::Relative;
use super::running::{Prepared, Running};
use super::stages::{Recorded, Stage};
use super::tree::Tree;
use super::{estimate, kernels};
use crate::expansions::screened::Screening;
use crate::model::{self, Densities, Info, Potentials, StageSeconds};
use crate::{Backend, Error, Mode, Options, Precision};

/// Everything that `apply` needs.
#[derive(Debug)]
pub struct Engine {
    /// First, so that graphs go before the buffers that they use.
    recorded: HashMap<Signature, Recorded>,
    /// The CPU's part of a hybrid plan.
    host: Option<Host>,
    prepared: Prepared,
    timeline: Vec<Span>,
    /// What is on the device.
    pub plan: DevicePlan,
}

impl Engine {
    /// With `chunk` coordinates are uploaded `chunk` points at a time, however much room there is.
    pub fn new(
        callers: model::Points<'_>,
        options: &Options,
        precision: Precision,
        chunk: Option<usize>,
        info: &mut Info,
    ) -> Result<Self, Error> {
        let model::Points { sources, targets } = callers;
        let device = Device::open(options.gpu)?;
        estimate::check(&device, sources, targets, precision, options)?;
        let source_coordinates = Coordinates::new(&device, sources, chunk)?;
        let of_targets = targets.map(|targets| Coordinates::new(&device, targets, chunk));
        let target_coordinates = of_targets.transpose()?;
        // What is timed as tree and lists starts with points on the device and compiled kernels.
        warm_up(&device)?;
        device.stream().synchronize()?;
        let started = Instant::now();

        let hybrid = info.backend == Backend::Hybrid;
        let Leaves { sizes, occupancy } = Leaves::new(callers, options, precision, hybrid);
        let mut points = Points::new(&device, source_coordinates, target_coordinates, occupancy)?;
        let target_order = points.targets.as_ref().map(|(_, order)| order);
        let tree = Tree::new(&device, &points.root, &points.sources.1, target_order, sizes)?;
        let side = points.root.side;
        let screening = Screening::new(options.kernel, side);
        // The CPU makes boxes of the same keys.
        if !hybrid && !screening.is_some() {
            points.forget_keys(&device)?;
        }
        let relative = Relative::new(&device, precision, &tree, &points)?;
        points.release();
        let planning = Planning {
            device: &device,
            callers,
            points: &points,
            tree: &tree,
            screening,
            options,
            precision,
        };
        let far = planning.far(hybrid)?;
        let lists = planning.lists(&far)?;
        device.stream().synchronize()?;
        let tree_seconds = started.elapsed().as_secs_f64();
        let near = near_items(&tree, &lists, &relative, side);
        let close = Close::find(&device, precision, near, &points, targets.is_none())?;
        let FarField { numbers, expansions, host, treecode, m2p_count } =
            planning.far_field(far, &lists, &relative, sizes[0])?;
        info.m2p_count = m2p_count;

        points.forget_keys(&device)?;
        let direct = options.mode == Mode::Direct;
        let share = None;
        let parts = Parts {
            direct,
            screening,
            points,
            relative,
            close,
            tree,
            lists,
            expansions,
            treecode,
            share,
        };
        let plan = DevicePlan::new(&device, precision, parts, &numbers)?;
        device.stream().synchronize()?;
        plan.describe(&numbers, sizes[0], tree_seconds, info);
        Ok(Self {
            recorded: HashMap::new(),
            host,
            prepared: Prepared::default(),
            timeline: Vec::new(),
            plan,
        })
    }

    /// Sums k densities; the arrays have been checked.
    pub fn apply(
        &mut self,
        k: usize,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
    ) -> Result<StageSeconds, Error> {
        let started = Instant::now();
        let signature = Signature::new(k, &densities, &potentials);
        let plan = &self.plan;
        if k == 0 || plan.targets == 0 || plan.sources == 0 {
            potentials.potential.into_iter().for_each(|out| out.fill(0.0));
            potentials.gradient.into_iter().for_each(|out| out.fill(0.0));
            return Ok(StageSeconds::default());
        }
        if self.host.is_some() {
            return self.apply_hybrid(signature, densities, potentials, started);
        }
        let recorded = Self::recorded(&mut self.recorded, plan, signature)?;
        let buffers = &recorded.buffers;
        buffers.write(densities)?;
        let stream = plan.device.stream();
        let (begin, end) = (plan.device.event()?, plan.device.event()?);
        begin.record(stream)?;
        // SAFETY: the graph's buffers are those of `recorded` and `plan`, which live as long.
        unsafe { recorded.graph.launch(stream)? };
        end.record(stream)?;
        buffers.read(potentials)?;
        let device = begin.seconds_to(&end)?;
        Ok(StageSeconds { device, total: started.elapsed().as_secs_f64(), ..recorded.stages })
    }
}

impl Engine {
    fn recorded<'a>(
        all: &'a mut HashMap<Signature, Recorded>,
        plan: &DevicePlan,
        signature: Signature,
    ) -> Result<&'a mut Recorded, Error> {
        Ok(match all.entry(signature) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(plan.record(signature)?),
        })
    }

    /// The device, unless cores take part.
    pub(crate) fn whole_device(&self) -> Option<Device> {
        self.host.is_none().then(|| self.plan.device.clone())
    }

    /// Potentials, gradients or both of k densities of charges, all on the device; the lengths have
    /// been checked.
    pub(crate) fn apply_on_device(
        &mut self,
        k: usize,
        charges: &Buffer<f64>,
        potential: Option<&Buffer<f64>>,
        gradient: Option<&Buffer<f64>>,
    ) -> Result<(), Error> {
        let (n, m) = (self.plan.sources, self.plan.targets);
        if self.host.is_some() {
            return Err(Error::NotPlanned { what: "device" });
        }
        let sums = [potential.map(|out| (out, k * m)), gradient.map(|out| (out, 3 * k * m))];
        if k == 0 || n == 0 || m == 0 {
            return Ok(sums.iter().flatten().try_for_each(|(out, _)| out.zero())?);
        }
        let signature = Signature {
            densities: k,
            charges: true,
            dipoles: false,
            potential: potential.is_some(),
            gradient: gradient.is_some(),
        };
        let recorded = Self::recorded(&mut self.recorded, &self.plan, signature)?;
        let stream = self.plan.device.stream();
        let Buffers { charges_in, potential_out, gradient_out, .. } = &recorded.buffers;
        let Some(input) = charges_in else {
            return Err(Error::NotPlanned { what: "device" });
        };
        input.copy_from(charges, k * n)?;
        // SAFETY: the graph's buffers are those of `recorded` and `plan`, which live as long.
        unsafe { recorded.graph.launch(stream)? };
        for (from, to) in [potential_out, gradient_out].into_iter().zip(sums) {
            if let (Some(from), Some((to, count))) = (from, to) {
                from.copy_to(to, count)?;
            }
        }
        Ok(stream.synchronize()?)
    }

    /// When the parts of the last hybrid `apply` ran.
    pub(crate) fn timeline(&self) -> &[Span] {
        &self.timeline
    }

    /// P2P on a stream of its own while the CPU translates what P2M made; L2P when the locals are
    /// back.
    fn apply_hybrid(
        &mut self,
        signature: Signature,
        densities: Densities<'_>,
        potentials: Potentials<'_>,
        started: Instant,
    ) -> Result<StageSeconds, Error> {
        let Self { host: Some(host), prepared, timeline, plan, .. } = self else {
            return Ok(StageSeconds::default());
        };
        let apply = prepared.get(plan, signature)?;
        apply.buffers.write(densities)?;
        let mut running = Running::begin(apply, &[Stage::Largest, Stage::Gather], started)?;
        for k in 0..signature.densities {
            running.upward(host, k)?;
            running.downward(host, k)?;
        }
        let device;
        (*timeline, device) = running.finish(potentials)?;
        let total = started.elapsed().as_secs_f64();
        Ok(StageSeconds { device, total, ..stage_seconds(timeline) })
    }
}

/// Sums of a timeline by stage.
pub(crate) fn stage_seconds(timeline: &[Span]) -> StageSeconds {
    let of = |stage: &str| -> f64 {
        timeline.iter().filter(|s| s.stage == stage).map(|s| s.end - s.begin).sum()
    };
    StageSeconds {
        p2m: of("P2M"),
        m2m: of("M2M"),
        m2l: of("M2L"),
        l2l: of("L2L"),
        l2p: of("L2P"),
        p2p: of("P2P"),
        ..StageSeconds::default()
    }
}

/// Compiles the kernels that planning uses.
fn warm_up(device: &Device) -> Result<(), cuda::Error> {
    use kernels::{lists, morton, scan, tree};
    for source in [scan::SOURCE, morton::SOURCE, tree::SOURCE, lists::SOURCE] {
        device.module(&source, &[])?;
    }
    super::primitives::Sort::of_points(device)?;
    super::primitives::Sort::of_pairs(device)?;
    Ok(())
}
