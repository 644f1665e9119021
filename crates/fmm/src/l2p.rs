//! L2P: a leaf's local expansion at its targets, `phi(x) = (1/s) sum L(n,m) C(n,m)(x/s)` (docs/math.md, "L2P").

use std::ops::Range;

use crate::harmonics::stride;
use crate::p2m::Tables;
use crate::particles::{PADDING, Particles, split};
use crate::simd::{Real, Simd, Task};
use crate::tree::{Tree, side};
use crate::truncation::Orders;

/// Buffers of one thread.
pub(crate) struct Scratch<V: Simd> {
    harmonics: Vec<V>,
    derivatives: [Vec<V::Scalar>; 3],
}

impl<V: Simd> Scratch<V> {
    pub(crate) fn new(p: usize) -> Self {
        Self {
            harmonics: vec![V::zero(); p * p],
            derivatives: std::array::from_fn(|_| vec![V::Scalar::default(); p * p]),
        }
    }
}

/// Adds potential and, where `gradient` has arrays, gradient of a local expansion with truncation number `p` in a leaf of side
/// `side` at the targets `range`; the outputs hold the leaf's targets only.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename them")]
pub(crate) fn l2p<V: Simd>(
    tables: Tables<'_, V::Scalar>,
    p: usize,
    side: f64,
    range: Range<usize>,
    particles: &Particles<V::Scalar>,
    local: &[V::Scalar],
    potential: &mut [V::Scalar],
    gradient: Option<[&mut [V::Scalar]; 3]>,
    scratch: &mut Scratch<V>,
) {
    let inverse = V::splat(V::Scalar::of(1.0 / side));
    let (begin, count) = (range.start, range.len());
    if gradient.is_some() {
        tables.gradient.differentiate(p, &local[..p * p], &mut scratch.derivatives);
    }
    let mut gradient = gradient;
    for first in range.step_by(V::LANES) {
        let point = particles.lanes::<V>(first).map(|c| c.mul(inverse));
        tables.harmonics.regular(p, point, &mut scratch.harmonics);
        let slot = first - begin;
        let valid = (count - slot).min(V::LANES);
        let sum = dot(&local[..p * p], &scratch.harmonics).mul(inverse);
        add(sum, &mut potential[slot..slot + valid]);
        if let Some(gradient) = &mut gradient {
            let q = p - 1;
            for (component, derivative) in gradient.iter_mut().zip(&scratch.derivatives) {
                let sum = dot(&derivative[..q * q], &scratch.harmonics).mul(inverse).mul(inverse);
                add(sum, &mut component[slot..slot + valid]);
            }
        }
    }
}

/// Sum of coefficients times harmonics, in four chains.
#[inline(always)]
fn dot<V: Simd>(coefficients: &[V::Scalar], harmonics: &[V]) -> V {
    let mut sums = [V::zero(); 4];
    let harmonics = &harmonics[..coefficients.len()];
    let (quads, rest) = coefficients.as_chunks::<4>();
    let (of_quads, of_rest) = harmonics.as_chunks::<4>();
    for (c, h) in quads.iter().zip(of_quads) {
        for i in 0..4 {
            sums[i] = V::splat(c[i]).mul_add(h[i], sums[i]);
        }
    }
    for (&c, &h) in rest.iter().zip(of_rest) {
        sums[0] = V::splat(c).mul_add(h, sums[0]);
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

/// Adds the first lanes of `sum`, as many as `to` has.
#[inline(always)]
pub(crate) fn add<V: Simd>(sum: V, to: &mut [V::Scalar]) {
    if to.len() == V::LANES {
        V::load(to).add(sum).store(to);
        return;
    }
    let mut lanes = [V::Scalar::default(); PADDING];
    sum.store(&mut lanes);
    for (to, lane) in to.iter_mut().zip(lanes) {
        *to += lane;
    }
}

/// Leaves of one L2P job with their pieces of the outputs.
pub(crate) struct Leaves<'a, T> {
    pub(crate) cells: &'a [u32],
    pub(crate) potential: Vec<&'a mut [T]>,
    pub(crate) gradient: Option<[Vec<&'a mut [T]>; 3]>,
}

/// Runs of leaves with their pieces of the outputs.
pub(crate) fn leaves<'a, T>(
    tree: &Tree,
    cells: &'a [u32],
    potential: &'a mut [T],
    gradient: [Option<&'a mut [T]>; 3],
) -> Vec<Leaves<'a, T>> {
    let mut potential = split(tree, cells, potential).into_iter();
    let mut gradient = match gradient {
        [Some(x), Some(y), Some(z)] => Some([x, y, z].map(|g| split(tree, cells, g).into_iter())),
        _ => None,
    };
    cells
        .chunks(crate::families::JOB_CELLS)
        .map(|cells| Leaves {
            cells,
            potential: potential.by_ref().take(cells.len()).collect(),
            gradient: gradient
                .as_mut()
                .map(|g| g.each_mut().map(|axis| axis.by_ref().take(cells.len()).collect())),
        })
        .collect()
}

/// A run of leaves.
pub(crate) struct L2pJob<'a, T> {
    pub(crate) tables: Tables<'a, T>,
    pub(crate) tree: &'a Tree,
    pub(crate) orders: &'a Orders,
    pub(crate) locals: &'a [Vec<T>],
    pub(crate) particles: &'a Particles<T>,
    pub(crate) job: Leaves<'a, T>,
}

impl<T: Real> Task<T> for L2pJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) {
        let p_max = self.orders.local.iter().copied().max().unwrap_or(0);
        let mut scratch = Scratch::<V>::new(p_max);
        let Leaves { cells, potential, mut gradient } = self.job;
        for (i, (&index, potential)) in cells.iter().zip(potential).enumerate() {
            let cell = &self.tree.cells[index as usize];
            let level = cell.level as usize;
            let p = self.orders.local[level];
            if p == 0 {
                continue;
            }
            let stride = stride::<T>(p);
            let begin = (index as usize - self.tree.levels[level].start) * stride;
            l2p(
                self.tables,
                p,
                side(cell.level),
                cell.targets.start as usize..cell.targets.end as usize,
                self.particles,
                &self.locals[level][begin..begin + stride],
                potential,
                gradient.as_mut().map(|g| g.each_mut().map(|axis| std::mem::take(&mut axis[i]))),
                &mut scratch,
            );
        }
    }
}
