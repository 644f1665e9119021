//! How far sums are from direct sums in double precision.

use std::collections::HashMap;

use fmm::{Densities, Kernel, Potentials, direct};
use samples::Random;

use super::input::Input;
use super::options::Args;
use crate::machine;
use crate::machine::ranks::Ranks;
use crate::terminal::exit::Failure;
use crate::terminal::interrupt;

/// Fixed, so that a repeated run measures the same targets.
pub const SAMPLE_SEED: u64 = 0x5eed;

/// Pairs that direct sums take between two looks for a signal: a fraction of a second.
const AT_ONCE: usize = 100_000_000;

/// How good sums are: relative L2 errors at random targets, against direct sums in double
/// precision, of the worst density.
pub(super) struct Errors {
    pub(super) potential: f64,
    /// `None` without gradients.
    pub(super) gradient: Option<f64>,
    /// How many of all results are no finite numbers.
    pub(super) not_finite: usize,
}

impl Errors {
    /// Collective: each rank sums over its own sources, at the targets that all have drawn.
    pub(super) fn of(
        args: &Args,
        input: &Input<'_>,
        targets: &[[f64; 3]],
        potential: &[f64],
        gradient: &[f64],
        ranks: &Ranks,
    ) -> Result<Self, Failure> {
        let mut all = [targets.len() as f64];
        ranks.sum(&mut all)?;
        let share = args.samples.get() as f64 * targets.len() as f64 / f64::max(all[0], 1.0);
        let chosen = sample(targets.len(), share.ceil() as usize);
        let places: Vec<[f64; 3]> = chosen.iter().map(|&target| targets[target]).collect();
        let places = ranks.gather(&places)?.concat();
        let mut exact = vec![0.0; input.count * places.len()];
        let mut exact_gradient = vec![0.0; if args.gradient { 3 * exact.len() } else { 0 }];
        let kernel = Kernel::Yukawa { kappa: args.kappa };
        let summed = direct_sums(
            kernel,
            input,
            &places,
            &mut exact,
            &mut exact_gradient,
            AT_ONCE,
            interrupt::check,
        );
        ranks.agree(summed)?;
        ranks.sum(&mut exact)?;
        ranks.sum(&mut exact_gradient)?;

        let worst = |values: &[f64], exact: &[f64], width: usize| -> Result<f64, Failure> {
            let mut worst = 0.0;
            for (density, exact) in exact.chunks_exact((width * places.len()).max(1)).enumerate() {
                let row = &values[density * width * targets.len()..];
                let picked = chosen.iter().flat_map(|&t| &row[width * t..width * (t + 1)]);
                let picked: Vec<f64> = picked.copied().collect();
                worst = worse(worst, relative_l2(&ranks.gather(&picked)?.concat(), exact));
            }
            Ok(worst)
        };
        let of_gradient = args.gradient.then(|| worst(gradient, &exact_gradient, 3));
        let mut not_finite =
            [potential.iter().chain(gradient).filter(|v| !v.is_finite()).count() as f64];
        ranks.sum(&mut not_finite)?;
        Ok(Self {
            potential: worst(potential, &exact, 1)?,
            gradient: of_gradient.transpose()?,
            not_finite: not_finite[0] as usize,
        })
    }
}

/// Direct sums of each density at `targets`, in parts of about `at_once` pairs, with a `check`
/// before each; no gradients if `gradient` is empty.
pub fn direct_sums(
    kernel: Kernel,
    input: &Input<'_>,
    targets: &[[f64; 3]],
    potential: &mut [f64],
    gradient: &mut [f64],
    at_once: usize,
    mut check: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (n, m, with_gradient) = (input.sources.len(), targets.len(), !gradient.is_empty());
    // A target for each thread at least.
    let some = (at_once / n.max(1)).max(machine::threads());
    for density in 0..input.count {
        for begin in (0..m).step_by(some) {
            check()?;
            let targets = &targets[begin..m.min(begin + some)];
            let own = |width: usize| {
                let begin = width * (density * m + begin);
                begin..begin + width * targets.len()
            };
            let Densities { charges, dipoles } = input.densities;
            let densities = Densities {
                charges: charges.map(|all| &all[density * n..][..n]),
                dipoles: dipoles.map(|all| &all[3 * density * n..][..3 * n]),
            };
            let mut sums = Potentials {
                potential: Some(&mut potential[own(1)]),
                gradient: with_gradient.then(|| &mut gradient[own(3)]),
            };
            direct::sum(kernel, input.sources, targets, densities, &mut sums)?;
        }
    }
    Ok(())
}

/// Distinct indices below `count`: `samples` random ones, or all. The first of a shuffle, of which
/// only what was moved is stored.
pub fn sample(count: usize, samples: usize) -> Vec<usize> {
    if count <= samples {
        return (0..count).collect();
    }
    let mut random = Random::new(SAMPLE_SEED);
    let mut moved = HashMap::<usize, usize>::new();
    let one = |place: usize| {
        let other = place + random.below(count - place);
        let here = moved.get(&place).copied().unwrap_or(place);
        moved.insert(other, here).unwrap_or(other)
    };
    (0..samples).map(one).collect()
}

/// The larger of two errors; NaN is worse than any.
pub(super) fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Relative to the largest of all, so that squares neither overflow nor vanish; NaN if any value is
/// no finite number.
pub fn relative_l2(values: &[f64], exact: &[f64]) -> f64 {
    let both = values.iter().chain(exact);
    let most = both.fold(0.0, |most, v| worse(most, v.abs()));
    if most == 0.0 {
        return 0.0;
    }
    let norm = |squares: f64| squares.sqrt();
    let squares = |a: f64, b: f64| (a / most - b / most).powi(2);
    let difference = norm(values.iter().zip(exact).map(|(&a, &b)| squares(a, b)).sum());
    let size = norm(exact.iter().map(|&b| squares(b, 0.0)).sum());
    if difference == 0.0 { 0.0 } else { difference / size }
}
