//! The truncation number p' of every batch of translations, from errors measured on the device (docs/math.md, "Truncation").
//!
//! As module `truncation` does it on the CPU, with two differences: errors are measured for every batch on uniformly drawn
//! pairs of its points, far more than the CPU can afford, and a translation costs what a dense product does.

use std::collections::BTreeMap;

use ::gpu::{Arg, Buffer, Device, Error, Grid};

use super::kernels::{self, count, kernel};
use super::lists::{Batch, Lists};
use super::tables;
use super::tree::{Order, Tree};
use crate::truncation::OWN;
use crate::{Options, Truncation};

/// Draws for each batch, at least and at most, and for all together: a level of a full tree has about 300 batches. The batches of a
/// class are judged together, so that it has some thousands of draws.
const SAMPLES: [usize; 3] = [128, 1024, 1 << 19];

/// The same below [`MANY_DIGITS`], where few pairs in the corners of boxes decide.
const MORE_SAMPLES: [usize; 3] = [512, 4096, 1 << 21];

/// Tolerances below this take more draws.
const MANY_DIGITS: f64 = 1e-7;

/// Pairs that a tile of translations works at least.
const QUARTER_TILE: u32 = 32;

/// Share of a level's translations that may not raise what all its boxes store.
const RARE: f64 = 0.04;

/// Threads of a block that measures a batch, one per draw: as many as have room for their harmonics in the 99 KB of shared memory that
/// the smaller GPUs have.
pub(super) fn drawers(degrees: usize) -> usize {
    if degrees > 36 { 32 } else { 64 }
}

/// Draws of a batch, which are at most [`MORE_SAMPLES`] but for chance.
pub(super) const CAPACITY: usize = MORE_SAMPLES[1] + 512;

/// Bytes of dynamic shared memory of such a block: harmonics of one order, sine and cosine, of source and target; what is drawn.
pub(super) fn drawing_shared(degrees: usize) -> u32 {
    (2 * 16 * degrees * drawers(degrees) + 4 * CAPACITY) as u32
}

/// Blocks of 128 draws of near pairs, which the norm of the potential is estimated from.
const NEAR_BLOCKS: usize = 512;

/// Truncation numbers that the measuring kernel is compiled for.
const P_MAX: [usize; 5] = [16, 24, 32, 44, 60];

/// Margin between the tolerance and the predicted error: the sample misses rare pairs, the more the higher the powers of the radius
/// are that decide, and one set of charges may do worse than the mean. Which pairs are drawn changes from run to run. Seen: 2 at
/// 1e-2, 14 at 1e-10, both with few points.
fn safety(tolerance: f64) -> f64 {
    let digits = -tolerance.ln();
    1.3 + 0.1 * digits + 0.018 * digits * digits + (digits - 15.0).max(0.0)
}

/// A child's expansion needs this fraction of its parent's truncation number, and one more (module `truncation` has the reason).
const CHILD_FRACTION: f64 = 0.7;

/// The truncation numbers of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    /// Of each batch.
    pub(super) batches: Vec<usize>,
    /// Of the multipole expansions of each level; 0 = none is needed.
    pub(super) multipole: Vec<usize>,
    /// Of the local expansions of each level; 0 = none is needed.
    pub(super) local: Vec<usize>,
    /// Mean p' over all translations.
    pub(super) mean: f64,
}

impl Orders {
    /// Terms that both expansions of a batch's translations have.
    fn common(&self, batch: &Batch) -> usize {
        self.multipole[batch.source_level as usize].min(self.local[batch.target_level()])
    }

    /// The largest of all.
    pub(super) fn max(&self) -> usize {
        self.multipole.iter().chain(&self.local).copied().max().unwrap_or(0)
    }
}

/// Points on the device: the caller's coordinates and their order.
pub(super) type Points<'a> = (&'a Buffer<f64>, &'a Order);

/// Batches of one target level that are equal up to symmetries of the cube.
type Class = (usize, i32, [i32; 3]);

fn class(batch: &Batch) -> Class {
    let mut offset = batch.offset.map(i32::abs);
    offset.sort_unstable();
    (batch.target_level(), batch.finer_source, offset)
}

/// What is known of a class.
#[derive(Clone, Debug, Default)]
struct Statistics {
    /// Translations, those that fill a batch's last tile included.
    count: f64,
    /// Largest share of any measure's squared relative error, by p'.
    error2: Vec<f64>,
    /// Squared error of potentials by p', and sum of their squares: their ratio is the error of the class alone.
    own: (Vec<f64>, f64),
}

impl Statistics {
    /// The least truncation number up to `p_max` with which the class alone errs by no more than `own2`.
    fn least(&self, own2: f64, p_max: usize) -> usize {
        let (error2, norm) = &self.own;
        (1..p_max).find(|&p| error2[p] <= own2 * norm).unwrap_or(p_max)
    }
}

/// Chooses p' of every batch.
pub(super) fn choose(
    device: &Device,
    tree: &Tree,
    lists: &Lists,
    side: f64,
    [sources, targets]: [Points<'_>; 2],
    options: &Options,
) -> Result<Orders, Error> {
    let by_rule = |p: usize| -> Vec<usize> {
        let of = |batch: &Batch| match options.truncation {
            Truncation::WorstCaseBound => bound(batch, p),
            _ => p,
        };
        lists.batches.iter().map(of).collect()
    };
    if let Some(p) = options.truncation_number
        && options.truncation != Truncation::Measured
    {
        return Ok(assign(tree, lists, by_rule(p)));
    }
    if lists.batches.is_empty() {
        return Ok(assign(tree, lists, Vec::new()));
    }
    let wanted = options.truncation_number.unwrap_or_else(|| guess(options));
    let p_max = P_MAX.into_iter().find(|&p| p >= wanted).unwrap_or(P_MAX[P_MAX.len() - 1]);
    let p_last = wanted.min(p_max);
    let classes = measure(device, tree, lists, side, [sources, targets], options, [p_last, p_max])?;
    let budget = (options.tolerance / safety(options.tolerance)).powi(2);
    let chosen: Vec<usize> = if options.truncation == Truncation::Measured {
        let chosen = optimise(&classes, budget, |_| p_last);
        let chosen = capped(&classes, budget, p_last, chosen);
        let of = |batch: &Batch| chosen[&class(batch)];
        let stored = assign(tree, lists, lists.batches.iter().map(of).collect());
        let own2 = (OWN * options.tolerance).powi(2);
        let raised = |batch: &Batch| {
            let least = classes[&class(batch)].least(own2, p_last);
            least.min(stored.common(batch)).max(of(batch))
        };
        lists.batches.iter().map(raised).collect()
    } else {
        let error = |p: usize| -> f64 {
            let of = |batch: &Batch| match options.truncation {
                Truncation::WorstCaseBound => bound(batch, p),
                _ => p,
            };
            let mut seen = BTreeMap::new();
            lists.batches.iter().for_each(|b| {
                seen.insert(class(b), of(b));
            });
            classes.iter().map(|(c, s)| s.error2[seen[c]]).sum()
        };
        by_rule((1..p_last).find(|&p| error(p) <= budget).unwrap_or(p_last))
    };
    Ok(assign(tree, lists, chosen))
}

/// A truncation number that hardly any class exceeds at this tolerance.
fn guess(options: &Options) -> usize {
    let derivatives = usize::from(options.gradient) + usize::from(options.dipoles);
    (options.tolerance.ln() / 0.6f64.ln()).ceil() as usize + 6 + 3 * derivatives
}

/// Half diagonals of source and target and distance, in sides of the smaller box; then the sides.
fn spheres(batch: &Batch) -> ([f64; 2], f64, [f64; 2]) {
    let ratio = f64::from(batch.finer_source.abs()).exp2();
    let sides = if batch.finer_source >= 0 { [1.0, ratio] } else { [ratio, 1.0] };
    let distance = batch.offset.iter().map(|&o| f64::from(o).powi(2)).sum::<f64>().sqrt();
    (sides.map(|s| 0.5 * 3f64.sqrt() * s), 0.5 * distance, sides)
}

/// Paper 001, eq. 24.
fn bound(batch: &Batch, p: usize) -> usize {
    let ([source, target], distance, _) = spheres(batch);
    let eta = source.max(target) / (distance - source.min(target));
    let standard = 3f64.sqrt() / (4.0 - 3f64.sqrt());
    ((p as f64 * standard.ln() / eta.ln()).ceil() as usize).clamp(1, p)
}

/// Relative time of one translation: a dense product in whole rows of eight, and the adding to its target.
fn cost(p: usize) -> f64 {
    let p2 = (p * p) as f64;
    (p2 + 4.0) * (p2 + 30.0)
}

/// Errors of all classes, for truncation numbers up to `degrees`; the kernel is compiled for up to `p_max`.
fn measure(
    device: &Device,
    tree: &Tree,
    lists: &Lists,
    side: f64,
    [sources, targets]: [Points<'_>; 2],
    options: &Options,
    [degrees, p_max]: [usize; 2],
) -> Result<BTreeMap<Class, Statistics>, Error> {
    let macros = [("P_MAX", p_max), ("THREADS", drawers(degrees)), ("CAPACITY", CAPACITY)];
    let width = p_max + 3;
    let batches = lists.batches.len();
    let out = device.buffer::<f64>(batches * width)?;
    let factors = device.upload(&tables::coaxial(degrees))?;
    let recurrence = device.upload(&tables::recurrence(degrees))?;
    let points = [
        tree.cells.arg(),
        tree.centres.arg(),
        sources.0.arg(),
        sources.1.index.arg(),
        targets.0.arg(),
        targets.1.index.arg(),
        Arg::F64(side),
    ];
    let [least, most, all] = if options.tolerance < MANY_DIGITS { MORE_SAMPLES } else { SAMPLES };
    let samples = (all / batches).clamp(least, most);
    let far = [
        lists.far.arg(),
        lists.device_begins.arg(),
        count(samples),
        count(degrees),
        factors.arg(),
        recurrence.arg(),
        out.arg(),
    ];
    let shared = drawing_shared(degrees);
    let draw = kernel(device, &kernels::TRUNCATION, &macros, "truncation_far")?;
    draw.allow_shared(shared)?;
    let grid = Grid { shared, ..Grid::new(batches, drawers(degrees) as u32) };
    draw.launch(device.stream(), grid, &[&points[..], &far].concat())?;
    let near_sums = device.upload(&[0f64; 2])?;
    if lists.near_count > 0 {
        let near = [lists.near.arg(), count(lists.near_count), near_sums.arg()];
        kernel(device, &kernels::TRUNCATION, &macros, "truncation_near")?.launch(
            device.stream(),
            Grid::new(NEAR_BLOCKS, 128),
            &[&points[..], &near].concat(),
        )?;
    }
    let measured = out.to_vec()?;
    let near_sums = near_sums.to_vec()?;
    // Sums of 1/r^2 and 1/r^4 over all pairs; that of 1/r^6 is at least as large as Cauchy's inequality says.
    let sums: [f64; 2] = std::array::from_fn(|i| {
        near_sums[i] + measured.chunks_exact(width).map(|m| m[p_max + 1 + i]).sum::<f64>()
    });
    let norms = [sums[0], sums[1], sums[1] * sums[1] / sums[0].max(f64::MIN_POSITIVE)];
    let mut classes = BTreeMap::<Class, Statistics>::new();
    for (i, batch) in lists.batches.iter().enumerate() {
        let of = classes.entry(class(batch)).or_default();
        of.error2.resize(degrees + 1, 0.0);
        of.own.0.resize(degrees + 1, 0.0);
        of.own.1 += measured[i * width + p_max + 1];
        let pairs = lists.begins[i + 1] - lists.begins[i];
        of.count += f64::from(pairs.next_multiple_of(QUARTER_TILE));
        let target_side = f64::from(-(batch.target_level() as i32)).exp2();
        let source_side = f64::from(-(batch.source_level as i32)).exp2();
        for p in 1..=degrees {
            let error2 = measured[i * width + p];
            // A derivative multiplies the error of the last degree by about 2p/s.
            let by_gradient = (2.0 * p as f64 / target_side).powi(2);
            let by_dipoles = (2.0 * p as f64 / source_side).powi(2);
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
            of.error2[p] += worst;
            of.own.0[p] += error2;
        }
    }
    Ok(classes)
}

/// The cheapest truncation numbers up to `p_max` whose summed squared error is at most `budget`, or the most exact ones.
fn optimise(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    p_max: impl Fn(&Class) -> usize,
) -> BTreeMap<Class, usize> {
    let best = |class: &Class, s: &Statistics, lambda: f64| {
        let p_max = p_max(class);
        let objective = |p: usize| s.count * cost(p) + lambda * s.error2[p];
        (1..=p_max).min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap_or(p_max)
    };
    let error =
        |lambda: f64| -> f64 { classes.iter().map(|(c, s)| s.error2[best(c, s, lambda)]).sum() };
    let work: f64 = classes.iter().map(|(c, s)| s.count * cost(p_max(c))).sum();
    let (mut low, mut high) = (work * 1e-6 / budget, work * 1e12 / budget);
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if error(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    classes.iter().map(|(class, s)| (*class, best(class, s, high))).collect()
}

/// As `chosen`, but without the few translations of a level that would make all its boxes store, and all its points expand, more
/// than the others need; the rest makes up for their errors.
fn capped(
    classes: &BTreeMap<Class, Statistics>,
    budget: f64,
    p_max: usize,
    chosen: BTreeMap<Class, usize>,
) -> BTreeMap<Class, usize> {
    // Levels that a class reads from and writes to.
    let levels = |class: &Class| [class.0, (class.0 as i32 + class.1) as usize];
    let depth = classes.keys().flat_map(levels).max().map_or(0, |l| l + 1);
    let mut of_level = vec![Vec::new(); depth];
    for (class, s) in classes {
        for level in levels(class) {
            of_level[level].push((chosen[class], s.count));
        }
    }
    let caps: Vec<usize> = of_level
        .iter_mut()
        .map(|orders| {
            orders.sort_unstable_by_key(|&(p, _)| std::cmp::Reverse(p));
            let mut left = RARE * orders.iter().map(|o| o.1).sum::<f64>();
            let common = orders.iter().find(|&&(_, count)| {
                left -= count;
                left < 0.0
            });
            common.map_or(p_max, |&(p, _)| p)
        })
        .collect();
    for more in 0..p_max {
        let cap = |class: &Class| {
            levels(class).iter().map(|&l| caps[l] + more).min().unwrap_or(p_max).min(p_max)
        };
        let within = optimise(classes, budget, cap);
        let error: f64 = classes.iter().map(|(c, s)| s.error2[within[c]]).sum();
        if error <= budget {
            return within;
        }
    }
    chosen
}

/// Derives the truncation numbers of the stored expansions.
fn assign(tree: &Tree, lists: &Lists, batches: Vec<usize>) -> Orders {
    let levels = tree.depth() + 1;
    let mut orders =
        Orders { batches, multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
    let mut translations = 0.0;
    for (i, (batch, &p)) in lists.batches.iter().zip(&orders.batches).enumerate() {
        let (source, target) = (batch.source_level as usize, batch.target_level());
        orders.multipole[source] = orders.multipole[source].max(p);
        orders.local[target] = orders.local[target].max(p);
        let pairs = f64::from(lists.begins[i + 1] - lists.begins[i]);
        orders.mean += p as f64 * pairs;
        translations += pairs;
    }
    orders.mean /= f64::max(translations, 1.0);
    for level in 1..levels {
        for stored in [&mut orders.multipole, &mut orders.local] {
            let above = stored[level - 1];
            if above > 0 {
                let inherited = (CHILD_FRACTION * above as f64).ceil() as usize + 1;
                stored[level] = stored[level].max(inherited.min(above));
            }
        }
    }
    orders
}
