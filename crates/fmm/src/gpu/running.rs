//! An `apply` under way whose stages are started one by one, with other work between them:
//! messages of ranks, translations by the CPU. P2P runs on a stream of its own meanwhile.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Instant;

use cuda::Event;

use super::buffers::{Buffers, Signature};
use super::device_plan::DevicePlan;
use super::hybrid::{Host, Span};
use super::stages::{Apply, Kernels, Stage};
use crate::Error;
use crate::model::Potentials;

/// Kernels and buffers of each kind of `apply`.
#[derive(Debug, Default)]
pub(super) struct Prepared(HashMap<Signature, (Kernels, Buffers)>);

impl Prepared {
    /// The kernels and buffers of `signature`, made at the first request.
    pub(super) fn get<'a>(
        &'a mut self,
        plan: &'a DevicePlan,
        signature: Signature,
    ) -> Result<Apply<'a>, cuda::Error> {
        let (kernels, buffers) = match self.0.entry(signature) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert((plan.kernels(signature)?, plan.buffers(signature)?))
            }
        };
        Ok(Apply { plan, signature, kernels, buffers })
    }
}

/// An `apply` under way.
#[derive(Debug)]
pub(super) struct Running<'a> {
    apply: Apply<'a>,
    started: Instant,
    /// When the device began, and seconds from the start of `apply` to that.
    origin: Event,
    offset: f64,
    near: [Event; 2],
    marks: Vec<(&'static str, [Event; 2])>,
    /// When the CPU translated.
    on_host: Vec<Span>,
}

impl<'a> Running<'a> {
    /// Starts the stages `first`, by which strengths are in order, and P2P.
    pub(super) fn begin(
        apply: Apply<'a>,
        first: &[Stage],
        started: Instant,
    ) -> Result<Self, cuda::Error> {
        let plan = apply.plan;
        let event = || plan.device.event();
        let (origin, gathered, near) = (event()?, event()?, [event()?, event()?]);
        let stream = plan.device.stream();
        origin.record(stream)?;
        // The device's clock starts here.
        let offset = started.elapsed().as_secs_f64();
        for &stage in first {
            apply.stage(stage, stream)?;
        }
        gathered.record(stream)?;
        plan.near_stream.wait(&gathered)?;
        near[0].record(&plan.near_stream)?;
        apply.stage(Stage::P2p, &plan.near_stream)?;
        near[1].record(&plan.near_stream)?;
        Ok(Self { apply, started, origin, offset, near, marks: Vec::new(), on_host: Vec::new() })
    }

    /// What is on the device.
    pub(super) fn plan(&self) -> &'a DevicePlan {
        self.apply.plan
    }

    /// Starts one stage.
    pub(super) fn stage(&mut self, name: &'static str, stage: Stage) -> Result<(), cuda::Error> {
        let device = &self.apply.plan.device;
        let marks = [device.event()?, device.event()?];
        marks[0].record(device.stream())?;
        self.apply.stage(stage, device.stream())?;
        marks[1].record(device.stream())?;
        self.marks.push((name, marks));
        Ok(())
    }

    /// Makes the multipole expansions of density `k`: those of leaves here, the others by `host`.
    pub(super) fn upward(&mut self, host: &mut Host, k: usize) -> Result<(), cuda::Error> {
        self.stage("P2M", Stage::P2m(k))?;
        let plan = self.apply.plan;
        let from = &plan.expansions.multipoles.values;
        host.upward(from, plan.device.stream(), self.started, &mut self.on_host)
    }

    /// Translates by `host`, and adds what that gives at the targets.
    pub(super) fn downward(&mut self, host: &mut Host, k: usize) -> Result<(), cuda::Error> {
        let to = &self.apply.plan.expansions.locals.values;
        host.downward(to, self.started, &mut self.on_host)?;
        self.stage("L2P", Stage::L2p(k))
    }

    /// Brings the sums back: when its parts ran, and seconds from the device's begin to its end.
    pub(super) fn finish(self, potentials: Potentials<'_>) -> Result<(Vec<Span>, f64), Error> {
        let Self { apply, origin, offset, near, marks, on_host: mut spans, .. } = self;
        let stream = apply.plan.device.stream();
        stream.wait(&near[1])?;
        apply.stage(Stage::Scatter, stream)?;
        let end = apply.plan.device.event()?;
        end.record(stream)?;
        apply.buffers.read(potentials)?;
        for (stage, [begin, end]) in std::iter::once(("P2P", near)).chain(marks) {
            let [begin, end] = [origin.seconds_to(&begin)?, origin.seconds_to(&end)?];
            spans.push(Span { stage, gpu: true, begin: offset + begin, end: offset + end });
        }
        Ok((spans, origin.seconds_to(&end)?))
    }
}
