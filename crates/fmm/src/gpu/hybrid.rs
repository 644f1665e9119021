//! The CPU's part of a hybrid sum: M2M, M2L and L2L while the GPU sums near pairs. Only expansions cross the bus.

use std::ops::Range;
use std::time::Instant;

use ::gpu::{Buffer, Device, Pinned};

use super::orders::Orders;
use super::tree;
use crate::plan::{Geometry, work_out_lists};
use crate::simd::{self, Real};
use crate::tree::{Order, Root};
use crate::{Error, Options, Precision, engine};

/// When a part of a hybrid sum ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Name of the stage.
    pub stage: &'static str,
    /// Whether it ran on the GPU.
    pub gpu: bool,
    /// Seconds from the start of `apply`.
    pub begin: f64,
    /// Seconds from the start of `apply`.
    pub end: f64,
}

/// Engine and staging buffers in the plan's format.
#[derive(Debug)]
pub(super) enum Host {
    Single(Box<Translations<f32>>),
    Double(Box<Translations<f64>>),
}

impl Host {
    /// The CPU's lists and tables over the device's tree. Returns the truncation numbers too.
    pub(super) fn new(
        device: &Device,
        root: &Root,
        points: (&[[f64; 3]], Option<&[[f64; 3]]>),
        orders: (&tree::Order, Option<&tree::Order>),
        leaf_size: usize,
        options: &Options,
        precision: Precision,
    ) -> Result<(Self, Orders), Error> {
        let download = |order: &tree::Order| -> Result<Order, ::gpu::Error> {
            Ok(Order { keys: order.keys.to_vec()?, index: order.index.to_vec()? })
        };
        let geometry = Geometry {
            root: *root,
            source_order: download(orders.0)?,
            target_order: orders.1.map(download).transpose()?,
            leaf_size,
            // The GPU sums the pairs that its own lists leave.
            direct: 0,
        };
        let (sources, targets) = points;
        let mut info = crate::Info::default();
        let parts = work_out_lists(
            geometry,
            sources,
            targets,
            options,
            precision,
            simd::check()?,
            &mut info,
        );
        let orders = Orders {
            batches: Vec::new(),
            multipole: parts.orders.multipole.clone(),
            local: parts.orders.local.clone(),
            mean: parts.orders.mean,
        };
        let host = match precision {
            Precision::Single => {
                Self::Single(Box::new(Translations::new(device, parts, sources, targets)?))
            }
            Precision::Double => {
                Self::Double(Box::new(Translations::new(device, parts, sources, targets)?))
            }
        };
        Ok((host, orders))
    }

    /// Brings the multipoles from the device, translates, and puts the locals on their way back.
    pub(super) fn translate(
        &mut self,
        multipoles: &Buffer<u8>,
        locals: &Buffer<u8>,
        synchronize: impl FnOnce() -> Result<(), ::gpu::Error>,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), ::gpu::Error> {
        match self {
            Self::Single(t) => t.run(multipoles, locals, synchronize, started, spans),
            Self::Double(t) => t.run(multipoles, locals, synchronize, started, spans),
        }
    }

    /// Scalars between two expansions of truncation number `p`, as the CPU stores them.
    pub(super) fn stride(precision: Precision, p: usize) -> usize {
        match precision {
            Precision::Single => crate::harmonics::stride::<f32>(p),
            Precision::Double => crate::harmonics::stride::<f64>(p),
        }
    }
}

/// The CPU's engine, of which only the translations are used, with page-locked copies of all expansions.
#[derive(Debug)]
pub(super) struct Translations<T> {
    engine: engine::Engine<T>,
    multipoles: Pinned<u8>,
    locals: Pinned<u8>,
}

/// Numbers from and to their bytes.
pub(super) trait Bytes: Copy {
    fn load(from: &[u8], to: &mut [Self]);
    fn store(from: &[Self], to: &mut [u8]);
}

macro_rules! bytes {
    ($type:ty, $size:literal) => {
        impl Bytes for $type {
            fn load(from: &[u8], to: &mut [Self]) {
                for (to, from) in to.iter_mut().zip(from.as_chunks::<$size>().0) {
                    *to = Self::from_ne_bytes(*from);
                }
            }

            fn store(from: &[Self], to: &mut [u8]) {
                for (to, from) in to.as_chunks_mut::<$size>().0.iter_mut().zip(from) {
                    *to = from.to_ne_bytes();
                }
            }
        }
    };
}

bytes!(f32, 4);
bytes!(f64, 8);

impl<T: Real + Bytes> Translations<T> {
    fn new(
        device: &Device,
        parts: engine::Parts,
        sources: &[[f64; 3]],
        targets: Option<&[[f64; 3]]>,
    ) -> Result<Self, ::gpu::Error> {
        let engine = engine::Engine::new(parts, sources, targets);
        let [multipoles, locals] = engine.expansion_bytes();
        Ok(Self { engine, multipoles: device.pinned(multipoles)?, locals: device.pinned(locals)? })
    }

    fn run(
        &mut self,
        multipoles: &Buffer<u8>,
        locals: &Buffer<u8>,
        synchronize: impl FnOnce() -> Result<(), ::gpu::Error>,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), ::gpu::Error> {
        // SAFETY: nobody looks at the values before the stream has been waited for, on the next line.
        unsafe { self.multipoles.receive(multipoles)? };
        synchronize()?;
        let Self { engine, multipoles: from, locals: to } = self;
        let begin = started.elapsed().as_secs_f64();
        let seconds = engine.translate(
            |level, range: Range<usize>| {
                let bytes = size_of::<T>();
                T::load(&from[range.start * bytes..range.end * bytes], level);
            },
            |level, range: Range<usize>| {
                let bytes = size_of::<T>();
                T::store(level, &mut to[range.start * bytes..range.end * bytes]);
            },
        );
        let mut at = begin;
        for (stage, seconds) in ["M2M", "M2L", "L2L"].into_iter().zip(seconds) {
            spans.push(Span { stage, gpu: false, begin: at, end: at + seconds });
            at += seconds;
        }
        // SAFETY: the staging buffer is not touched again before the next `run`, which waits for the stream first.
        unsafe { self.locals.send(locals) }
    }
}
