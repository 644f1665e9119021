//! The truncation number p' of every batch of translations, from errors measured on the device
//! (docs/math.md, "Truncation").
//!
//! Errors are measured for every batch on uniformly drawn pairs of its points, far more than the
//! CPU can afford; module `truncation` of the CPU chooses from them.

use std::collections::BTreeMap;

use cuda::{Arguments, Device, Error, Grid};

use super::kernels::truncation::{CAPACITY, Far, MORE_SAMPLES, Near, Sampled};
use super::kernels::{Kernel, count};
use super::lists::{Batch, Boxes, Lists};
use super::relative::Relative;
use super::tables;
use crate::truncation::{Class, Method, P_MAX, Rule, Statistics, TruncationNumbers, choose_by};
use crate::{Options, Precision};

/// Draws for each batch, at least and at most, and for all together: a level of a full tree has
/// about 300 batches. The batches of a class are judged together, so that it has some thousands of
/// draws.
const SAMPLES: [usize; 3] = [128, 1024, 1 << 19];

/// Tolerances below this take more draws.
const MANY_DIGITS: f64 = 1e-7;

/// Pairs of a tile of translations at least.
const QUARTER_TILE: u32 = 32;

/// Threads of a block that measures a batch, one per draw: as many as have room for their harmonics
/// in the 99 KB of shared memory that the smaller GPUs have.
pub(super) fn drawers(degrees: usize) -> usize {
    if degrees > 36 { 32 } else { 64 }
}

/// Bytes of dynamic shared memory of such a block: harmonics of one order, sine and cosine, of
/// source and target; what is drawn.
pub(super) fn drawing_shared(degrees: usize) -> u32 {
    (2 * 16 * degrees * drawers(degrees) + 4 * CAPACITY) as u32
}

/// Blocks of 128 draws of near pairs, which the norm of the potential is estimated from.
const NEAR_BLOCKS: usize = 512;

/// Truncation numbers that the measuring kernel is compiled for.
const COMPILED: [usize; 5] = [16, 24, 32, 44, P_MAX];

/// Margin between the tolerance and the predicted error: the sample misses rare pairs, the more the
/// higher the powers of the radius are that decide, and one set of charges may do worse than the
/// mean. Which pairs are drawn changes from run to run. Seen: 2 at 1e-2, 14 at 1e-10, both with few
/// points.
fn margin(tolerance: f64) -> f64 {
    let digits = -tolerance.ln();
    1.3 + 0.1 * digits + 0.018 * digits * digits + (digits - 15.0).max(0.0)
}

/// The truncation numbers of a plan on the device.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Of each batch.
    pub batches: Vec<usize>,
    /// Of the expansions.
    pub numbers: TruncationNumbers,
}

impl Chosen {
    /// From the batches' truncation numbers, in a tree of `levels` levels.
    pub(super) fn new(levels: usize, lists: &Lists, batches: Vec<usize>) -> Self {
        let translations = lists.batches.iter().zip(&batches).zip(lists.begins.windows(2)).map(
            |((batch, &p), begins)| {
                let levels = [batch.source_level as usize, batch.target_level()];
                (levels, p, f64::from(begins[1] - begins[0]))
            },
        );
        let numbers = TruncationNumbers::new(levels, translations);
        Self { batches, numbers }
    }
}

/// Whether errors are to be measured to choose p'.
pub(super) fn is_measured(lists: &Lists, options: &Options) -> bool {
    Rule::given(options).is_none() && !lists.batches.is_empty()
}

/// Chooses p' of every batch, without screening.
pub(super) fn choose(sampler: &Sampler<'_>, options: &Options) -> Result<Chosen, Error> {
    let Boxes { tree, lists } = sampler.boxes;
    let batches: Vec<usize> = match Rule::given(options) {
        Some(rule) => lists.batches.iter().map(|batch| rule.of(&batch.class())).collect(),
        None if lists.batches.is_empty() => Vec::new(),
        None => {
            let chosen =
                choose_by(options, margin(options.tolerance), Method::Dense, |p_max, _| {
                    sampler.measure(options, p_max)
                })?;
            lists.batches.iter().map(|batch| chosen[&batch.class()]).collect()
        }
    };
    Ok(Chosen::new(tree.depth() + 1, lists, batches))
}

/// Measures errors of translations on pairs of points that it draws.
pub struct Sampler<'a> {
    device: &'a Device,
    boxes: Boxes<'a>,
    points: Sampled,
    precision: Precision,
}

impl<'a> Sampler<'a> {
    /// Draws from points of the plan's precision in `boxes`, the root's side being `side`.
    pub fn new(
        device: &'a Device,
        boxes: Boxes<'a>,
        points: &Relative,
        side: f64,
        precision: Precision,
    ) -> Self {
        let points = Sampled {
            cells: boxes.tree.cells.pointer(),
            centres: boxes.tree.centres.pointer(),
            sources: points.sources.pointer(),
            targets: points.targets().pointer(),
            side,
        };
        Self { device, boxes, points, precision }
    }

    fn kernel<A: Arguments>(&self, p_max: usize, degrees: usize) -> Result<Kernel<A>, Error> {
        let precision = self.precision.as_macro();
        let macros = [("P_MAX", p_max), ("THREADS", drawers(degrees)), precision];
        Kernel::with(self.device, &macros)
    }

    /// Errors of all classes, for truncation numbers up to `degrees`.
    fn measure(
        &self,
        options: &Options,
        degrees: usize,
    ) -> Result<BTreeMap<Class, Statistics>, Error> {
        let lists = self.boxes.lists;
        let p_max = COMPILED.into_iter().find(|&p| p >= degrees).unwrap_or(P_MAX);
        let width = p_max + 3;
        let [least, most, all] =
            if options.tolerance < MANY_DIGITS { MORE_SAMPLES } else { SAMPLES };
        let samples = (all / lists.batches.len()).clamp(least, most);
        let mut measured = self.far(samples, p_max, degrees)?;
        // Where all points of a box coincide, a term of the potential may vanish at the one angle
        // between them, though not its gradient: more terms do not make the error larger.
        for errors in measured.chunks_exact_mut(width) {
            for p in (1..degrees).rev() {
                errors[p] = errors[p].max(errors[p + 1]);
            }
        }
        let near_sums = self.near(p_max, degrees)?;
        // Sums of 1/r^2 and 1/r^4 over all pairs; that of 1/r^6 is at least as large as Cauchy's
        // inequality says.
        let sums: [f64; 2] = std::array::from_fn(|i| {
            near_sums[i] + measured.chunks_exact(width).map(|m| m[p_max + 1 + i]).sum::<f64>()
        });
        let norms = [sums[0], sums[1], sums[1] * sums[1] / sums[0].max(f64::MIN_POSITIVE)];
        let mut classes = BTreeMap::<Class, Statistics>::new();
        let mut potentials = BTreeMap::<Class, f64>::new();
        for (i, (batch, measured)) in
            lists.batches.iter().zip(measured.chunks_exact(width)).enumerate()
        {
            let of = classes.entry(batch.class()).or_default();
            of.error2.resize(degrees + 1, 0.0);
            of.own2.resize(degrees + 1, 0.0);
            *potentials.entry(batch.class()).or_default() += measured[p_max + 1];
            let pairs = lists.begins[i + 1] - lists.begins[i];
            of.count += f64::from(pairs.next_multiple_of(QUARTER_TILE));
            for p in 1..=degrees {
                of.error2[p] += relative(batch, p, measured[p], norms, options);
                of.own2[p] += measured[p];
            }
        }
        for (of, potential) in classes.values_mut().zip(potentials.into_values()) {
            let potential = potential.max(f64::MIN_POSITIVE);
            of.own2.iter_mut().for_each(|error2| *error2 /= potential);
        }
        Ok(classes)
    }

    /// For every batch, in rows of `p_max + 3`, the squared error of 1/r by p' up to `degrees`,
    /// from `samples` draws, then the sums of 1/r^2 and 1/r^4.
    pub fn far(&self, samples: usize, p_max: usize, degrees: usize) -> Result<Vec<f64>, Error> {
        let (device, lists) = (self.device, self.boxes.lists);
        let (batches, width) = (lists.batches.len(), p_max + 3);
        let out = device.buffer::<f64>(batches * width)?;
        let factors = device.upload(&tables::coaxial(degrees))?;
        let recurrence = device.upload(&tables::recurrence(degrees))?;
        let shared = drawing_shared(degrees);
        let draw = self.kernel(p_max, degrees)?;
        draw.allow_shared(shared)?;
        let grid = Grid { shared, ..Grid::new(batches, drawers(degrees) as u32) };
        let far = Far {
            points: self.points,
            pairs: lists.far.pointer(),
            begins: lists.device_begins.pointer(),
            samples: count(samples),
            degrees: count(degrees),
            factors: factors.pointer(),
            recurrence: recurrence.pointer(),
            out: out.pointer(),
        };
        draw.launch(device.stream(), grid, far)?;
        out.to_vec()
    }

    /// The sums of 1/r^2 and 1/r^4 over near pairs.
    fn near(&self, p_max: usize, degrees: usize) -> Result<Vec<f64>, Error> {
        let (device, Boxes { tree, lists }) = (self.device, self.boxes);
        let sums = device.upload(&[0f64; 2])?;
        if !lists.entries.is_empty() {
            let near = Near {
                points: self.points,
                begins: lists.near_begins.pointer(),
                entries: lists.entries.pointer(),
                boxes: count(tree.len()),
                count: count(lists.entries.len()),
                out: sums.pointer(),
            };
            let grid = Grid::new(NEAR_BLOCKS, 128);
            self.kernel(p_max, degrees)?.launch(device.stream(), grid, near)?;
        }
        sums.to_vec()
    }
}

/// The largest of the squared relative errors of a batch, for a squared error of 1/r with
/// truncation number `p`; `norms`: sums of 1/r^2, 1/r^4 and 1/r^6 over all pairs.
fn relative(batch: &Batch, p: usize, error2: f64, norms: [f64; 3], options: &Options) -> f64 {
    let side = |level: usize| f64::from(-(level as i32)).exp2();
    // A derivative multiplies the error of the last degree by about 2p/s.
    let by_gradient = (2.0 * p as f64 / side(batch.target_level())).powi(2);
    let by_dipoles = (2.0 * p as f64 / side(batch.source_level as usize)).powi(2);
    let mut worst = error2 / norms[0];
    if options.gradient {
        worst = worst.max(error2 * by_gradient / norms[1]);
    }
    if options.dipoles {
        worst = worst.max(error2 * by_dipoles / norms[1]);
    }
    if options.gradient && options.dipoles {
        worst = worst.max(error2 * by_gradient * by_dipoles / norms[2]);
    }
    worst
}
