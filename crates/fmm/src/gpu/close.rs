//! Close pairs: those whose relative coordinates have lost digits. CPU twin: module `close`.

use cuda::{Buffer, Device, Grid};

use super::kernels::{Kernel, NEAR_WARPS, NearItems, close, count};
use super::layouts::UnresolvedPair;
use super::points::Points;
use super::tree;
use crate::Error;
use crate::Precision;

/// Bytes of a pair with its squared distance.
pub(super) const PAIR_BYTES: u64 = 36;

/// Room for pairs before their number is known: 1024, and this share of the targets. Points spread
/// over surfaces have about as many.
pub(super) const GUESSED: usize = 2;

/// Close pairs of each point at most, so that memory goes by the number of points, and how many are
/// listed of however few points. Points that no box parts may have the square of their number.
const OF_EACH: u64 = 1024;
const OF_FEW: u64 = 1 << 20;

/// Threads of a block that has a pair each.
const THREADS: u32 = 256;

/// All close pairs; the buffers may be longer.
#[derive(Debug)]
pub struct Close {
    pub pairs: Buffer<UnresolvedPair>,
    /// In single precision the squared distance at which P2P counts each of them.
    pub(super) squares: Buffer<f32>,
    pub(super) count: usize,
}

impl Close {
    /// Lists the close pairs; a second time if there are more than was guessed. `itself`: the
    /// targets are sources, and no point is paired with itself.
    pub(super) fn find(
        device: &Device,
        precision: Precision,
        near: NearItems,
        points: &Points<'_>,
        itself: bool,
    ) -> Result<Self, Error> {
        let find = Kernel::with(device, &[precision.as_macro()])?;
        let [(_, source_order), (_, target_order)] = points.ends();
        let found = device.buffer::<u64>(1)?;
        let points_there = source_order.index.len().max(target_order.index.len()) as u64;
        // Kernels count them by 32 bits.
        let most = (OF_EACH * points_there).clamp(OF_FEW, u64::from(u32::MAX));
        let grid = Grid::new((near.count as usize).div_ceil(NEAR_WARPS as usize), 32 * NEAR_WARPS);
        let list = |capacity: usize| -> Result<Self, Error> {
            let (pairs, squares) = (device.buffer(capacity)?, device.buffer(capacity)?);
            found.zero()?;
            let of_items = close::Find {
                near,
                itself,
                source_index: source_order.index.pointer(),
                target_index: target_order.index.pointer(),
                pairs: pairs.pointer(),
                squares: squares.pointer(),
                capacity: count(capacity),
                found: found.pointer(),
                most,
            };
            find.launch(device.stream(), grid, of_items)?;
            let count = found.to_vec()?[0];
            if count > most {
                return Err(Error::GpuCrowds { pairs: most });
            }
            Ok(Self { pairs, squares, count: count as usize })
        };
        let mut all = list(1024 + target_order.index.len() / GUESSED)?;
        if all.count > all.pairs.len() {
            let exactly = all.count;
            drop(all);
            all = list(exactly)?;
        } else if all.count < all.pairs.len() / 4 * 3 {
            // What is not needed goes back.
            all.pairs = tree::grown(device, &all.pairs, all.count, all.count)?;
            all.squares = tree::grown(device, &all.squares, all.count, all.count)?;
        }
        all.resolve(device, precision, points)?;
        Ok(all)
    }

    /// The words of each pair.
    pub fn words(&self) -> Result<Vec<[u32; 8]>, cuda::Error> {
        Ok(self.pairs.to_vec()?[..self.count].iter().map(|pair| pair.0).collect())
    }

    /// The displacements that the caller's coordinates give.
    fn resolve(
        &self,
        device: &Device,
        precision: Precision,
        points: &Points<'_>,
    ) -> Result<(), cuda::Error> {
        if self.count == 0 {
            return Ok(());
        }
        let macros = [precision.as_macro()];
        let displace = Kernel::with(device, &macros)?;
        let displacements = device.buffer::<f64>(3 * self.count)?;
        displacements.zero()?;
        let (pairs, count) = (self.pairs.pointer(), count(self.count));
        let grid = Grid::covering(self.count, THREADS);
        let [sources, targets] = points.ends();
        // Points that are both are visited once.
        let visits = if points.targets.is_some() {
            vec![(sources.0, vec![(false, sources.1)]), (targets.0, vec![(true, targets.1)])]
        } else {
            vec![(sources.0, vec![(false, sources.1), (true, sources.1)])]
        };
        for (coordinates, ends) in visits {
            coordinates.visit(|chunk| {
                let [first, here] = chunk.range();
                ends.iter().try_for_each(|&(of_targets, order)| {
                    let some = close::Displace {
                        pairs,
                        count,
                        of_targets,
                        index: order.index.pointer(),
                        points: chunk.points.pointer(),
                        first,
                        here,
                        displacements: displacements.pointer(),
                    };
                    displace.launch(device.stream(), grid, some)
                })
            })?;
        }
        let side = points.root.side;
        let of_all = close::Resolve { pairs, count, displacements: displacements.pointer(), side };
        Kernel::with(device, &macros)?.launch(device.stream(), grid, of_all)
    }
}
