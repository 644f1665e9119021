//! Charges to the nodes of the grid: each adds psi(node - source) times its charge.

use parallel::prelude::*;
use simd::{Level, Simd, Task, dispatch};

use crate::boxes::Boxes;

use crate::grid_plan::Colour;
use crate::node_blocks::Layout;
use crate::window::{MAX_WIDTH, Window};
use parallel::DisjointSlice;

/// Sources of one box that a buffer takes: more go to several, in parallel.
const CHUNK: usize = 4096;

/// What spreading reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<'a> {
    pub(crate) level: Level,
    pub(crate) layout: &'a Layout,
    pub(crate) window: &'a Window,
    pub(crate) sources: &'a Boxes,
    pub(crate) colours: &'a [Colour],
    /// Charges in sorted order.
    pub(crate) charges: &'a [f64],
}

impl Spread<'_> {
    /// Adds to `nodes`, block by block.
    pub(crate) fn run(&self, nodes: &mut [f64]) {
        let block = self.layout.nodes();
        let shared = DisjointSlice::new(nodes);
        let size = self.layout.buffer_nodes();
        for Colour { cells, runs } in self.colours {
            runs.par_iter().for_each_init(Vec::new, |buffer, &(begin, end)| {
                for cell in begin as usize..end as usize {
                    buffer.clear();
                    buffer.resize(size, 0.0);
                    self.spread_box(cells.boxes[cell] as usize, buffer);
                    for (spanned, &to) in cells.blocks(cell, self.layout).iter().enumerate() {
                        let begin = to as usize * block;
                        // SAFETY: runs of one colour have no block in common, and a run is one job.
                        let nodes = unsafe { shared.slice(begin..begin + block) };
                        dispatch(
                            self.level,
                            AddBuffer { layout: self.layout, spanned, nodes, buffer },
                        );
                    }
                }
            });
        }
    }

    /// The sources of one box, into its buffer.
    fn spread_box(&self, index: usize, buffer: &mut [f64]) {
        let range = self.sources.boxes[index].range();
        let run = |range, buffer: &mut [f64]| {
            dispatch(self.level, Points { spread: self, index, range, buffer });
        };
        if range.len() <= CHUNK {
            return run(range, buffer);
        }
        let size = buffer.len();
        let parts: Vec<Vec<f64>> = (0..range.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|part| {
                let begin = range.start + part * CHUNK;
                let mut own = vec![0.0; size];
                run(begin..(begin + CHUNK).min(range.end), &mut own);
                own
            })
            .collect();
        for part in parts {
            buffer.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
    }
}

/// Adds what a buffer has of a block.
struct AddBuffer<'a> {
    layout: &'a Layout,
    spanned: usize,
    nodes: &'a mut [f64],
    buffer: &'a [f64],
}

impl Task<f64> for AddBuffer<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { layout, spanned, nodes, buffer } = self;
        layout.common(spanned, |node, from, length| {
            let nodes = &mut nodes[node..node + length];
            let buffer = &buffer[from..from + length];
            for lane in (0..length).step_by(V::LANES) {
                V::load(&nodes[lane..]).add(V::load(&buffer[lane..])).store(&mut nodes[lane..]);
            }
        });
    }
}

/// A run of sources of one box.
struct Points<'a> {
    spread: &'a Spread<'a>,
    index: usize,
    range: std::ops::Range<usize>,
    buffer: &'a mut [f64],
}

impl Task<f64> for Points<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        match (self.spread.window.padded(), self.spread.layout.dimensions) {
            (8, 3) => V::run(Loop::<8, 3>(self)),
            (8, 2) => V::run(Loop::<8, 2>(self)),
            (8, _) => V::run(Loop::<8, 1>(self)),
            (_, 3) => V::run(Loop::<MAX_WIDTH, 3>(self)),
            (_, 2) => V::run(Loop::<MAX_WIDTH, 2>(self)),
            _ => V::run(Loop::<MAX_WIDTH, 1>(self)),
        }
    }
}

/// The loop for rows of `P` weights and `D` dimensions.
struct Loop<'a, const P: usize, const D: usize>(Points<'a>);

impl<const P: usize, const D: usize> Task<f64> for Loop<'_, P, D> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Points { spread, index, range, buffer } = self.0;
        let Spread { layout, window, sources, charges, .. } = *spread;
        let corner = sources.corner(&sources.boxes[index].key);
        let side = layout.side() as f64;
        let per_unit = side / sources.side;
        let width = window.width();
        let mut flat = [[0.0; MAX_WIDTH]; 2];
        for j in range {
            if charges[j] == 0.0 {
                continue;
            }
            let u = sources.relative(j, &corner, per_unit).map(|u| u.clamp(0.0, side));
            let (z, t) = window.first(u[2]);
            let mut last = window.weights::<V, P>(t);
            let charge = V::splat(charges[j]);
            for v in 0..P / V::LANES {
                last[v] = last[v].mul(charge);
            }
            let mut first = [0; 2];
            for axis in 3 - D..2 {
                let (node, t) = window.first(u[axis]);
                first[axis] = node;
                let weights = window.weights::<V, P>(t);
                for v in 0..P / V::LANES {
                    weights[v].store(&mut flat[axis][v * V::LANES..]);
                }
            }
            for i in 0..if D == 3 { width } else { 1 } {
                for k in 0..if D >= 2 { width } else { 1 } {
                    let at = ((first[0] + i) * layout.buffer[1] + first[1] + k) * layout.buffer[2];
                    let row = &mut buffer[at + z..at + z + P];
                    let weight = match D {
                        3 => flat[0][i] * flat[1][k],
                        2 => flat[1][k],
                        _ => 1.0,
                    };
                    let weight = V::splat(weight);
                    for v in 0..P / V::LANES {
                        let part = &mut row[v * V::LANES..(v + 1) * V::LANES];
                        last[v].mul_add(weight, V::load(part)).store(part);
                    }
                }
            }
        }
    }
}
