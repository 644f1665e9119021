//! Convolution of blocks of nodes along one axis.

use parallel::prelude::*;
use simd::{Level, Simd, Task, dispatch};

use crate::axis_kernel::{AxisKernel, PADDING};
use crate::node_blocks::{Layout, Stage};

/// Blocks that one job makes.
const JOB: usize = 8;

/// Outputs along the axis, or rows, that are kept in registers.
const TILE: usize = 8;

/// Fills, or adds to, the blocks of a stage from those before it.
pub(crate) fn convolve(
    level: Level,
    layout: &Layout,
    stage: &Stage,
    kernel: &AxisKernel,
    from: &[f64],
    to: &mut [f64],
    add: bool,
) {
    let nodes = layout.nodes();
    to.par_chunks_mut(JOB * nodes).enumerate().for_each(|(job, to)| {
        dispatch(level, Job { layout, stage, kernel, from, first: job * JOB, to, add });
    });
}

struct Job<'a> {
    layout: &'a Layout,
    stage: &'a Stage,
    kernel: &'a AxisKernel,
    from: &'a [f64],
    first: usize,
    to: &'a mut [f64],
    add: bool,
}

impl Task<f64> for Job<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let nodes = self.layout.nodes();
        for (i, to) in self.to.chunks_exact_mut(nodes).enumerate() {
            if !self.add {
                to.fill(0.0);
            }
            let inputs = self.stage.inputs.row(self.first + i);
            if self.stage.axis < 2 {
                across::<V>(self.layout, self.stage.axis, self.kernel, self.from, inputs, to);
            } else if nodes / self.layout.side() >= TILE {
                along::<V, TILE>(self.layout, self.kernel, self.from, inputs, to);
            } else {
                along::<V, 1>(self.layout, self.kernel, self.from, inputs, to);
            }
        }
    }
}

/// Nodes of a block `step` blocks ahead that outputs `first .. first + count` take from.
#[inline(always)]
fn nodes_within(
    first: usize,
    count: usize,
    step: i32,
    side: usize,
    reach: usize,
) -> std::ops::Range<usize> {
    let shift = first as i64 - i64::from(step) * side as i64;
    let begin = (shift - reach as i64).clamp(0, side as i64);
    let end = (shift + (count + reach) as i64).clamp(begin, side as i64);
    begin as usize..end as usize
}

/// Where K(output - input) of the first output of a tile is in the padded kernel.
#[inline(always)]
fn place(kernel: &AxisKernel, first: usize, input: usize, step: i32, side: usize) -> usize {
    let n = first as i64 - input as i64 - i64::from(step) * side as i64;
    ((PADDING + kernel.reach) as i64 + n) as usize
}

/// Along an axis other than the last: lanes are neighbours along the last.
#[inline(always)]
fn across<V: Simd<Scalar = f64>>(
    layout: &Layout,
    axis: usize,
    kernel: &AxisKernel,
    from: &[f64],
    inputs: &[(u32, i32)],
    to: &mut [f64],
) {
    let (side, nodes) = (layout.side(), layout.nodes());
    let inner: usize = layout.block[axis + 1..].iter().product();
    for outer in 0..nodes / (side * inner) {
        for lane in (0..inner).step_by(V::LANES) {
            let base = outer * side * inner + lane;
            for tile in (0..side).step_by(TILE) {
                let mut sums = [V::zero(); TILE];
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(&to[base + (tile + i) * inner..]);
                }
                for &(block, step) in inputs {
                    let block = &from[block as usize * nodes..(block as usize + 1) * nodes];
                    for j in nodes_within(tile, TILE, step, side, kernel.reach) {
                        let value = V::load(&block[base + j * inner..]);
                        let at = place(kernel, tile, j, step, side);
                        let factors = &kernel.padded[at..at + TILE];
                        for i in 0..TILE {
                            sums[i] = V::splat(factors[i]).mul_add(value, sums[i]);
                        }
                    }
                }
                for (i, sum) in sums.iter().enumerate() {
                    sum.store(&mut to[base + (tile + i) * inner..]);
                }
            }
        }
    }
}

/// Along the last axis: lanes are outputs, `R` rows at a time.
#[inline(always)]
fn along<V: Simd<Scalar = f64>, const R: usize>(
    layout: &Layout,
    kernel: &AxisKernel,
    from: &[f64],
    inputs: &[(u32, i32)],
    to: &mut [f64],
) {
    let (side, nodes) = (layout.side(), layout.nodes());
    for base in (0..nodes).step_by(R * side) {
        for lane in (0..side).step_by(V::LANES) {
            let mut sums = [V::zero(); R];
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(&to[base + r * side + lane..]);
            }
            for &(block, step) in inputs {
                let block = block as usize * nodes + base;
                let rows = &from[block..block + R * side];
                for j in nodes_within(lane, V::LANES, step, side, kernel.reach) {
                    let at = place(kernel, lane, j, step, side);
                    let factors = V::load(&kernel.padded[at..]);
                    for r in 0..R {
                        sums[r] = V::splat(rows[r * side + j]).mul_add(factors, sums[r]);
                    }
                }
            }
            for (r, sum) in sums.iter().enumerate() {
                sum.store(&mut to[base + r * side + lane..]);
            }
        }
    }
}
