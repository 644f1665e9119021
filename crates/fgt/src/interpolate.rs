//! Sums at the nodes to targets: each takes psi(target - node) times what a node has.

use std::ops::Range;

use simd::{Level, Simd, Task, dispatch};

use crate::boxes::Boxes;
use crate::node_blocks::Layout;
use crate::window::{MAX_WIDTH, Window};

/// A run of targets of one box and where their sums go.
pub(crate) struct Interpolate<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) window: &'a Window,
    pub(crate) targets: &'a Boxes,
    /// The box.
    pub(crate) index: usize,
    /// The blocks that it spans.
    pub(crate) blocks: &'a [u32],
    pub(crate) range: Range<usize>,
    pub(crate) gradient: bool,
    /// Numbers for each target, and the first of those of this density.
    pub(crate) columns: usize,
    pub(crate) column: usize,
}

impl Interpolate<'_> {
    /// Adds to `sums`, shape (targets of the run, columns), from all `nodes`; `buffer` is scratch.
    pub(crate) fn run(&self, level: Level, nodes: &[f64], buffer: &mut Vec<f64>, sums: &mut [f64]) {
        // Beyond what is reached weights are 0: any finite number will do.
        buffer.resize(self.layout.buffer_nodes(), 0.0);
        dispatch(level, FillBuffer { layout: self.layout, blocks: self.blocks, nodes, buffer });
        dispatch(level, Points { all: self, buffer, sums });
    }
}

/// Copies the blocks of a box to its buffer.
struct FillBuffer<'a> {
    layout: &'a Layout,
    blocks: &'a [u32],
    nodes: &'a [f64],
    buffer: &'a mut [f64],
}

impl Task<f64> for FillBuffer<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { layout, blocks, nodes, buffer } = self;
        let block = layout.nodes();
        for (spanned, &from) in blocks.iter().enumerate() {
            let nodes = &nodes[from as usize * block..(from as usize + 1) * block];
            layout.common(spanned, |node, to, length| {
                let nodes = &nodes[node..node + length];
                let buffer = &mut buffer[to..to + length];
                for lane in (0..length).step_by(V::LANES) {
                    V::load(&nodes[lane..]).store(&mut buffer[lane..]);
                }
            });
        }
    }
}

struct Points<'a> {
    all: &'a Interpolate<'a>,
    buffer: &'a [f64],
    sums: &'a mut [f64],
}

impl Task<f64> for Points<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        match (self.all.window.padded(), self.all.layout.dimensions, self.all.gradient) {
            (8, 3, false) => V::run(Loop::<8, 3, false>(self)),
            (8, 2, false) => V::run(Loop::<8, 2, false>(self)),
            (8, _, false) => V::run(Loop::<8, 1, false>(self)),
            (_, 3, false) => V::run(Loop::<MAX_WIDTH, 3, false>(self)),
            (_, 2, false) => V::run(Loop::<MAX_WIDTH, 2, false>(self)),
            (_, _, false) => V::run(Loop::<MAX_WIDTH, 1, false>(self)),
            (8, 3, true) => V::run(Loop::<8, 3, true>(self)),
            (8, 2, true) => V::run(Loop::<8, 2, true>(self)),
            (8, _, true) => V::run(Loop::<8, 1, true>(self)),
            (_, 3, true) => V::run(Loop::<MAX_WIDTH, 3, true>(self)),
            (_, 2, true) => V::run(Loop::<MAX_WIDTH, 2, true>(self)),
            (_, _, true) => V::run(Loop::<MAX_WIDTH, 1, true>(self)),
        }
    }
}

/// The loop for rows of `P` weights, `D` dimensions, with gradients if `G`.
struct Loop<'a, const P: usize, const D: usize, const G: bool>(Points<'a>);

/// Vectors of a row: of two lanes, or of one.
const VECTORS: usize = crate::window::MAX_VECTORS;

impl<const P: usize, const D: usize, const G: bool> Task<f64> for Loop<'_, P, D, G> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Points { all, buffer, sums } = self.0;
        let Interpolate { layout, window, targets, .. } = *all;
        let corner = targets.corner(&targets.boxes[all.index].key);
        let side = layout.side() as f64;
        let per_unit = side / targets.side;
        let width = window.width();
        let (mut flat, mut steep) = ([[0.0; MAX_WIDTH]; 2], [[0.0; MAX_WIDTH]; 2]);
        for target in all.range.clone() {
            let u = targets.relative(target, &corner, per_unit).map(|u| u.clamp(0.0, side));
            let mut first = [0; 2];
            for axis in 3 - D..2 {
                let (node, t) = window.first(u[axis]);
                first[axis] = node;
                let weights = window.weights::<V, P>(t);
                for v in 0..P / V::LANES {
                    weights[v].store(&mut flat[axis][v * V::LANES..]);
                }
                if G {
                    let slopes = window.slopes::<V, P>(t);
                    for v in 0..P / V::LANES {
                        slopes[v].store(&mut steep[axis][v * V::LANES..]);
                    }
                }
            }
            let (z, t) = window.first(u[2]);
            // Sums of rows with the weights of the axes before the last, and with the slopes of one
            // of them.
            let mut rows = [V::zero(); VECTORS];
            let mut slopes = [[V::zero(); VECTORS]; 2];
            for i in 0..if D == 3 { width } else { 1 } {
                for k in 0..if D >= 2 { width } else { 1 } {
                    let at = ((first[0] + i) * layout.buffer[1] + first[1] + k) * layout.buffer[2];
                    let row = &buffer[at + z..at + z + P];
                    let weight = match D {
                        3 => flat[0][i] * flat[1][k],
                        2 => flat[1][k],
                        _ => 1.0,
                    };
                    let weight = V::splat(weight);
                    let slope = [
                        V::splat(steep[0][i] * flat[1][k]),
                        V::splat(match D {
                            3 => flat[0][i] * steep[1][k],
                            _ => steep[1][k],
                        }),
                    ];
                    for v in 0..P / V::LANES {
                        let nodes = V::load(&row[v * V::LANES..]);
                        rows[v] = nodes.mul_add(weight, rows[v]);
                        if G && D == 3 {
                            slopes[0][v] = nodes.mul_add(slope[0], slopes[0][v]);
                        }
                        if G && D >= 2 {
                            slopes[1][v] = nodes.mul_add(slope[1], slopes[1][v]);
                        }
                    }
                }
            }
            let last = window.weights::<V, P>(t);
            let at = (target - all.range.start) * all.columns + all.column;
            sums[at] += dot::<V, P>(&rows, &last);
            if G {
                if D == 3 {
                    sums[at + 1] += per_unit * dot::<V, P>(&slopes[0], &last);
                }
                if D >= 2 {
                    sums[at + D - 1] += per_unit * dot::<V, P>(&slopes[1], &last);
                }
                sums[at + D] += per_unit * dot::<V, P>(&rows, &window.slopes::<V, P>(t));
            }
        }
    }
}

#[inline(always)]
fn dot<V: Simd<Scalar = f64>, const P: usize>(a: &[V; VECTORS], b: &[V; VECTORS]) -> f64 {
    let mut sum = a[0].mul(b[0]);
    for v in 1..P / V::LANES {
        sum = a[v].mul_add(b[v], sum);
    }
    sum.quick_sum()
}
