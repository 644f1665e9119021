//! The CPU's part of a hybrid sum: M2M, M2L and L2L while the GPU sums near pairs. Only expansions
//! cross the bus.

use std::ops::Range;
use std::time::Instant;

use cuda::{Buffer, Device, Pinned, Stream};

use super::{on_host, points};
use crate::expansions::Expansions;
use crate::geometry::Geometry;
use crate::model::Points;
use crate::model::stages::timed;
use crate::model::stop::Ending;
use crate::stages::translations::Translations;
use crate::tree::MortonOrder;
use crate::tree::lists::Rows;
use crate::truncation::TruncationNumbers;
use crate::{Error, Options, Precision};
use simd::Real;

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

/// The CPU's translations in the plan's format.
#[derive(Debug)]
pub(super) enum Host {
    Single(Box<Staged<f32>>),
    Double(Box<Staged<f64>>),
}

impl Host {
    /// The CPU's lists and tables over the device's tree.
    pub(super) fn new(
        device: &Device,
        points: Points<'_>,
        on_device: &points::Points<'_>,
        leaf_size: usize,
        options: &Options,
        precision: Precision,
    ) -> Result<Self, Error> {
        let (simd, geometry) = on_host::geometry(points, on_device, leaf_size, options, precision)?;
        Ok(Self::over(device, simd, geometry, precision)?)
    }

    /// The CPU's tables for boxes and lists that are there.
    pub(super) fn over(
        device: &Device,
        simd: simd::Level,
        geometry: Geometry,
        precision: Precision,
    ) -> Result<Self, cuda::Error> {
        Ok(match precision {
            Precision::Single => Self::Single(Box::new(Staged::new(device, simd, geometry)?)),
            Precision::Double => Self::Double(Box::new(Staged::new(device, simd, geometry)?)),
        })
    }

    /// The truncation numbers of the expansions.
    pub(super) fn numbers(&self) -> &TruncationNumbers {
        match self {
            Self::Single(staged) => &staged.geometry.numbers,
            Self::Double(staged) => &staged.geometry.numbers,
        }
    }

    /// Brings the multipoles from the device and makes those of all boxes.
    pub(super) fn upward(
        &mut self,
        multipoles: &Buffer<u8>,
        stream: &Stream,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), cuda::Error> {
        match self {
            Self::Single(t) => t.upward(multipoles, stream, started, spans),
            Self::Double(t) => t.upward(multipoles, stream, started, spans),
        }
    }

    /// Translates, and puts the locals on their way back.
    pub(super) fn downward(
        &mut self,
        locals: &Buffer<u8>,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), cuda::Error> {
        match self {
            Self::Single(t) => t.downward(locals, started, spans),
            Self::Double(t) => t.downward(locals, started, spans),
        }
    }

    /// Lets ranks exchange the multipoles of one density.
    pub(super) fn exchange<X: Exchange>(&mut self, exchange: &mut X) -> Result<(), X::Error> {
        match self {
            Self::Single(t) => exchange.run(&mut t.translations.multipoles),
            Self::Double(t) => exchange.run(&mut t.translations.multipoles),
        }
    }

    /// Scalars between two expansions of truncation number `p`, as the CPU stores them.
    pub(super) fn stride(precision: Precision, p: usize) -> usize {
        match precision {
            Precision::Single => crate::expansions::harmonics::stride::<f32>(p),
            Precision::Double => crate::expansions::harmonics::stride::<f64>(p),
        }
    }
}

/// What ranks do with multipole expansions between M2M and M2L.
pub(crate) trait Exchange {
    /// What may go wrong.
    type Error;

    /// Completes the expansions of one density, and brings those of other ranks.
    fn run<T: Real>(&mut self, multipoles: &mut Expansions<T>) -> Result<(), Self::Error>;
}

/// The CPU's translations of one density, with page-locked copies of all expansions.
#[derive(Debug)]
pub(super) struct Staged<T> {
    geometry: Geometry,
    translations: Translations<T>,
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

impl<T: Real + Bytes> Staged<T> {
    fn new(
        device: &Device,
        simd: simd::Level,
        mut geometry: Geometry,
    ) -> Result<Self, cuda::Error> {
        let translations = Translations::new(simd, &geometry);
        // The GPU has the points and their near pairs.
        geometry.lists.near = Rows::default();
        (geometry.source_order, geometry.target_order) = (MortonOrder::default(), None);
        let multipoles = device.pinned(translations.multipoles.bytes_of_one())?;
        let locals = device.pinned(translations.locals.bytes_of_one())?;
        Ok(Self { geometry, translations, multipoles, locals })
    }

    fn upward(
        &mut self,
        multipoles: &Buffer<u8>,
        stream: &Stream,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), cuda::Error> {
        // SAFETY: nobody reads the values before the stream has been waited for, on the next
        // line.
        unsafe { self.multipoles.receive(multipoles)? };
        stream.synchronize()?;
        let Self { geometry, translations, multipoles: from, .. } = self;
        translations.multipoles.load(|level, range| T::load(&from[bytes::<T>(range)], level));
        let begin = started.elapsed().as_secs_f64();
        translations.m2m(geometry, 1, &Ending::default());
        let end = started.elapsed().as_secs_f64();
        spans.push(Span { stage: "M2M", gpu: false, begin, end });
        Ok(())
    }

    fn downward(
        &mut self,
        locals: &Buffer<u8>,
        started: Instant,
        spans: &mut Vec<Span>,
    ) -> Result<(), cuda::Error> {
        let Self { geometry, translations, locals: to, .. } = self;
        let mut at = started.elapsed().as_secs_f64();
        let [mut m2l, mut l2l] = [0.0; 2];
        timed(&mut m2l, || translations.m2l(geometry, 1, &Ending::default()));
        timed(&mut l2l, || translations.l2l(geometry, 1, &Ending::default()));
        for (stage, seconds) in [("M2L", m2l), ("L2L", l2l)] {
            spans.push(Span { stage, gpu: false, begin: at, end: at + seconds });
            at += seconds;
        }
        translations.locals.store(|level, range| T::store(level, &mut to[bytes::<T>(range)]));
        // SAFETY: the staging buffer is not touched again before the next `downward`, before which
        // `upward` waits for the stream.
        unsafe { self.locals.send(locals) }
    }
}

/// The bytes of a range of numbers.
fn bytes<T>(range: Range<usize>) -> Range<usize> {
    range.start * size_of::<T>()..range.end * size_of::<T>()
}
