//! The caller's coordinates, brought to the device as a whole or some points at a time.
//!
//! What a plan keeps of them is their order and what they are relative to their leaves: coordinates
//! themselves are only visited, first for keys, then for places in leaves and close pairs.

use cuda::{Buffer, Device, Error, Event, Pinned};
use parallel::prelude::*;

use super::kernels::count;

/// All coordinates are on the device at once if they take no more than this share of its free
/// memory: next to sorting and boxes they would dominate a plan's memory.
const SHARE: u64 = 8;

/// Otherwise points are visited in `PARTS` parts, of `LEAST` to `MOST` points
/// (1.5 MB to 400 MB).
const PARTS: usize = 8;
const LEAST: usize = 1 << 16;
const MOST: usize = 1 << 24;

/// Points of one page-locked buffer, and how many points pay for making two of them: a tenth of a
/// second at the speed of copies from other memory.
const STAGED: usize = 1 << 20;
const WORTH_STAGING: usize = 1 << 25;

/// Some of the points, on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'b> {
    /// Shape (count, 3); the buffer may be longer.
    pub(super) points: &'b Buffer<f64>,
    /// Number of the first in the caller's order.
    pub(super) first: usize,
    pub(super) count: usize,
}

/// The coordinates of a set of points.
#[derive(Debug)]
pub struct Coordinates<'a> {
    device: Device,
    points: &'a [[f64; 3]],
    /// All of them.
    resident: Option<Buffer<f64>>,
    /// Points of a visit where they are not.
    chunk: usize,
}

impl<'a> Coordinates<'a> {
    /// All on the device if there is plenty of room. `chunk`, if given, points of a visit instead.
    pub fn new(
        device: &Device,
        points: &'a [[f64; 3]],
        chunk: Option<usize>,
    ) -> Result<Self, Error> {
        let mut all = Self {
            device: device.clone(),
            points,
            resident: None,
            chunk: chunk.unwrap_or_else(|| part(points.len())).max(1),
        };
        if chunk.is_none() && are_resident(points.len(), device.free_memory()?) {
            let buffer = device.buffer(3 * points.len())?;
            Uploads::new(device, points.len())?.send(points, &buffer)?;
            all.resident = Some(buffer);
        }
        Ok(all)
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// The caller's.
    pub(super) fn on_host(&self) -> &'a [[f64; 3]] {
        self.points
    }

    /// Gives back what the device holds of them; later visits bring some at a time.
    pub(super) fn release(&mut self) {
        self.resident = None;
    }

    /// Whether all are on the device.
    pub(super) fn are_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// Visits all points, some at a time; what `visit` puts on the main stream sees them.
    pub(super) fn visit(
        &self,
        mut visit: impl FnMut(Chunk<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(points) = &self.resident {
            return visit(Chunk { points, first: 0, count: self.len() });
        }
        let mut uploads = Uploads::new(&self.device, self.len())?;
        let buffer = self.device.buffer(3 * self.chunk.min(self.len()))?;
        for (i, chunk) in self.points.chunks(self.chunk).enumerate() {
            // In the order of the stream: after what the visit before has left there.
            uploads.send(chunk, &buffer)?;
            visit(Chunk { points: &buffer, first: i * self.chunk, count: chunk.len() })?;
        }
        Ok(())
    }
}

/// Whether the coordinates of `n` points are all brought to a device with so much free memory.
pub(super) fn are_resident(n: usize, free: u64) -> bool {
    24 * n as u64 <= free / SHARE
}

/// Points of a visit to `n` points that are not on the device.
fn part(n: usize) -> usize {
    (n / PARTS).clamp(LEAST, MOST)
}

/// Bytes of the coordinates of `n` points on a device with so much free memory, first while they
/// are sorted, then while they are visited again.
pub(super) fn visited_bytes(n: usize, free: u64) -> [u64; 2] {
    let some = part(n).min(n);
    let first = if are_resident(n, free) { n } else { some };
    [first, some].map(|points| 24 * points as u64)
}

impl Chunk<'_> {
    /// Number of the first point and of points, as kernels take them.
    pub(super) fn range(&self) -> [u32; 2] {
        [count(self.first), count(self.count)]
    }
}

/// Copies to the device, through page-locked memory where they are long.
struct Uploads {
    device: Device,
    /// Each with the end of its last copy.
    staged: Vec<(Pinned<f64>, Event)>,
}

impl Uploads {
    /// For copies of `n` points in all.
    fn new(device: &Device, n: usize) -> Result<Self, Error> {
        let buffers = if n >= WORTH_STAGING { 2 } else { 0 };
        let one = |_| Ok((device.pinned(3 * STAGED)?, device.event()?));
        let staged = (0..buffers).map(one).collect::<Result<_, Error>>()?;
        Ok(Self { device: device.clone(), staged })
    }

    /// Copies points to the front of `buffer`, in the order of the main stream; they may change
    /// when this returns.
    fn send(&mut self, points: &[[f64; 3]], buffer: &Buffer<f64>) -> Result<(), Error> {
        if self.staged.is_empty() {
            return buffer.write(points.as_flattened());
        }
        let flat = points.as_flattened();
        for (i, some) in flat.chunks(3 * STAGED).enumerate() {
            let place = i % self.staged.len();
            let (pinned, sent) = &mut self.staged[place];
            sent.synchronize()?;
            let piece = 1 << 16;
            (pinned.par_chunks_mut(piece).zip(some.par_chunks(piece)))
                .for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
            // SAFETY: the values are only written again after `sent`, and `drop` waits for it.
            unsafe { pinned.send_to(buffer, 3 * STAGED * i, some.len())? };
            sent.record(self.device.stream())?;
        }
        Ok(())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        // Whatever failed, page-locked memory must outlive its copies.
        let _ = self.device.stream().synchronize();
    }
}
