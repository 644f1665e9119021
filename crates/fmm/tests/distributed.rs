//! Sums over the points of several ranks, against direct double-precision sums and one rank's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use comm::Communicator;
use fmm::distributed::{Plan, RankInfo};
use fmm::samples::{ChargeKind, Distribution, Random};
use fmm::{Densities, Error, Kernel, Options, Potentials, Stencil, Truncation, direct};

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// How points are spread over ranks at first.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// One after the other.
    Cyclic,
    /// In runs of very different lengths.
    Runs,
    /// All on the last rank.
    Last,
}

impl Spread {
    fn of(self, i: usize, n: usize, ranks: usize) -> usize {
        match self {
            Self::Cyclic => i % ranks,
            Self::Runs => ((i as f64 / n as f64).powi(3) * ranks as f64) as usize,
            Self::Last => ranks - 1,
        }
    }
}

/// A sum for all ranks together; shapes (k, n), (k, n, 3).
#[derive(Clone, Debug, Default)]
struct Case {
    sources: Vec<[f64; 3]>,
    targets: Option<Vec<[f64; 3]>>,
    charges: Option<Vec<f64>>,
    dipoles: Option<Vec<f64>>,
    densities: usize,
    gradient: bool,
}

impl Case {
    fn charges(sources: Vec<[f64; 3]>, seed: u64) -> Self {
        let charges = Some(ChargeKind::Mixed.charges(&sources, &mut Random::new(seed)));
        Self { sources, charges, densities: 1, ..Self::default() }
    }

    fn targets(&self) -> &[[f64; 3]] {
        self.targets.as_deref().unwrap_or(&self.sources)
    }
}

/// The rows of (k, n, width) of some points.
fn pick(values: &[f64], some: &[usize], k: usize, width: usize) -> Vec<f64> {
    let n = values.len() / (k * width);
    let of_density = |density| {
        some.iter().flat_map(move |i| {
            let begin = (density * n + i) * width;
            values[begin..begin + width].iter().copied()
        })
    };
    (0..k).flat_map(of_density).collect()
}

/// Potentials and gradients at all targets, by so many ranks.
fn sums(
    case: &Case,
    options: &Options,
    ranks: usize,
    spread: Spread,
) -> (Vec<f64>, Vec<f64>, Vec<RankInfo>) {
    let (n, m, k) = (case.sources.len(), case.targets().len(), case.densities);
    let options = Options {
        gradient: case.gradient,
        dipoles: case.dipoles.is_some(),
        densities: k,
        ..options.clone()
    };
    let own = |rank: usize, count: usize| -> Vec<usize> {
        (0..count).filter(|&i| spread.of(i, count, ranks) == rank).collect()
    };
    let results = comm::run(ranks, |group| {
        let (own_sources, own_targets) = (own(group.rank(), n), own(group.rank(), m));
        let points =
            |of: &[[f64; 3]], own: &[usize]| own.iter().map(|&i| of[i]).collect::<Vec<_>>();
        let sources = points(&case.sources, &own_sources);
        let targets = case.targets.as_ref().map(|targets| points(targets, &own_targets));
        let mut plan = Plan::new(group, &sources, targets.as_deref(), &options).unwrap();
        let charges = case.charges.as_ref().map(|q| pick(q, &own_sources, k, 1));
        let dipoles = case.dipoles.as_ref().map(|d| pick(d, &own_sources, k, 3));
        let mut potential = vec![f64::NAN; k * own_targets.len()];
        let mut gradient = vec![f64::NAN; 3 * k * own_targets.len()];
        // Twice: the second apply must not remember the first.
        for _ in 0..2 {
            plan.apply(
                Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() },
                Potentials {
                    potential: Some(&mut potential),
                    gradient: case.gradient.then_some(&mut gradient[..]),
                },
            )
            .unwrap();
        }
        (own_targets, potential, gradient, plan.rank_info().clone())
    });
    let (mut potential, mut gradient) = (vec![f64::NAN; k * m], vec![0.0; 3 * k * m]);
    let mut infos = Vec::new();
    for (own, of_potential, of_gradient, info) in results {
        for density in 0..k {
            for (slot, &i) in own.iter().enumerate() {
                let from = density * own.len() + slot;
                potential[density * m + i] = of_potential[from];
                gradient[3 * (density * m + i)..][..3]
                    .copy_from_slice(&of_gradient[3 * from..3 * from + 3]);
            }
        }
        infos.push(info);
    }
    (potential, gradient, infos)
}

/// Relative L2 error.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = exact.iter().map(|b| b * b).sum();
    if norm == 0.0 { difference.sqrt() } else { (difference / norm).sqrt() }
}

/// Asserts that the sums of so many ranks are within the tolerance at up to 800 targets.
fn assert_within(case: &Case, options: &Options, ranks: usize, spread: Spread) -> Vec<RankInfo> {
    let (m, k) = (case.targets().len(), case.densities);
    let (potential, gradient, infos) = sums(case, options, ranks, spread);
    let some: Vec<usize> = (0..m).step_by(m.div_ceil(800).max(1)).collect();
    let at: Vec<[f64; 3]> = some.iter().map(|&i| case.targets()[i]).collect();
    let (mut exact, mut slopes) = (vec![0.0; k * at.len()], vec![0.0; 3 * k * at.len()]);
    let mut to = Potentials { potential: Some(&mut exact), gradient: Some(&mut slopes) };
    let densities =
        Densities { charges: case.charges.as_deref(), dipoles: case.dipoles.as_deref() };
    direct::sum(options.kernel, &case.sources, &at, densities, &mut to).unwrap();
    let found = error(&pick(&potential, &some, k, 1), &exact);
    assert!(found <= options.tolerance, "{ranks} ranks, {spread:?}: {found:e}");
    if case.gradient {
        let found = error(&pick(&gradient, &some, k, 3), &slopes);
        assert!(found <= options.tolerance, "{ranks} ranks, {spread:?}: gradient {found:e}");
    }
    infos
}

fn with_tolerance(tolerance: f64) -> Options {
    Options { tolerance, ..Options::default() }
}

#[test]
fn every_distribution_meets_its_tolerance_on_any_number_of_ranks() {
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let points = distribution.points(5000, &mut Random::new(20 + i as u64));
        let case = Case::charges(points, 7);
        for ranks in RANKS {
            for (tolerance, spread) in
                [(1e-3, Spread::Cyclic), (1e-6, Spread::Runs), (1e-9, Spread::Last)]
            {
                let infos = assert_within(&case, &with_tolerance(tolerance), ranks, spread);
                let sources: u64 = infos.iter().map(|info| info.points[0]).sum();
                assert_eq!(sources, 5000);
                assert!(infos.iter().all(|info| info.imbalance < 1.6), "{infos:?}");
            }
        }
    }
}

/// The sums of one rank by the plan for one.
fn alone(case: &Case, options: &Options) -> (Vec<f64>, Vec<f64>) {
    let (m, k) = (case.targets().len(), case.densities);
    let options = Options {
        gradient: case.gradient,
        dipoles: case.dipoles.is_some(),
        densities: k,
        ..options.clone()
    };
    let mut plan = fmm::Plan::new(&case.sources, case.targets.as_deref(), &options).unwrap();
    let (mut potential, mut gradient) = (vec![0.0; k * m], vec![0.0; 3 * k * m]);
    let potentials = Potentials {
        potential: Some(&mut potential),
        gradient: case.gradient.then_some(&mut gradient[..]),
    };
    let densities =
        Densities { charges: case.charges.as_deref(), dipoles: case.dipoles.as_deref() };
    plan.apply(densities, potentials).unwrap();
    (potential, gradient)
}

/// With few terms truncation errors are large, so that sums agree only if every pair of boxes is
/// settled as on one rank.
#[test]
fn boxes_and_their_pairs_are_those_of_one_rank() {
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        for stencil in [Stencil::Full, Stencil::Reduced, Stencil::Shortest] {
            let mut random = Random::new(40 + i as u64);
            let mut case = Case::charges(distribution.points(4000, &mut random), 3);
            if stencil == Stencil::Reduced {
                case.targets = Some(Distribution::Cube.points(2500, &mut random));
            }
            let options = Options {
                truncation: Truncation::Fixed,
                truncation_number: Some(3),
                stencil: Some(stencil),
                leaf_size: Some(20),
                // With near pairs in single precision and the rest in double no far boxes with few
                // points are summed directly, which a plan for one would do otherwise.
                ..with_tolerance(1e-6)
            };
            let (expected, _) = alone(&case, &options);
            for ranks in RANKS {
                let (found, _, _) = sums(&case, &options, ranks, Spread::Runs);
                let error = error(&found, &expected);
                assert!(error < 1e-7, "{distribution:?} {stencil:?} {ranks}: {error:e}");
            }
        }
    }
}

#[test]
fn dipoles_gradients_densities_targets_and_screening() {
    let mut random = Random::new(5);
    let sources = Distribution::Sphere.points(3000, &mut random);
    let targets = Distribution::Plummer.points(2000, &mut random);
    let k = 3;
    let charges = (0..k).flat_map(|_| ChargeKind::Mixed.charges(&sources, &mut random)).collect();
    let dipoles = (0..3 * k * sources.len()).map(|_| 0.1 * (random.uniform() - 0.5)).collect();
    let all = Case {
        sources,
        targets: Some(targets),
        charges: Some(charges),
        dipoles: Some(dipoles),
        densities: k,
        gradient: true,
    };
    let without_charges = Case { charges: None, ..all.clone() };
    let on_themselves = Case { targets: None, ..all.clone() };
    for (i, case) in [all, without_charges, on_themselves].into_iter().enumerate() {
        for (j, kappa) in [0.0, 3.0].into_iter().enumerate() {
            for (l, tolerance) in [1e-4, 1e-7].into_iter().enumerate() {
                let kernel = Kernel::Yukawa { kappa };
                let options = Options { kernel, ..with_tolerance(tolerance) };
                let spread = [Spread::Cyclic, Spread::Runs, Spread::Last][(i + j) % 3];
                assert_within(&case, &options, [2, 3, 7][(i + j + l) % 3], spread);
            }
        }
    }
}

#[test]
fn few_points_and_coincident_ones() {
    let mut random = Random::new(9);
    let some = Distribution::Cube.points(3, &mut random);
    let one_place = vec![[0.25, -3.0, 1e6]; 500];
    // Many points at each of a few places, which part of the curve falls into whatever is cut.
    let places: Vec<[f64; 3]> =
        (0..4000).map(|_| std::array::from_fn(|_| random.below(3) as f64)).collect();
    // A cluster of a millionth of the size, with the rest of the points far away.
    let cluster: Vec<[f64; 3]> = (0..4000)
        .map(|i| {
            let size = if i % 10 == 0 { 1.0 } else { 1e-6 };
            std::array::from_fn(|_| 0.3 + size * random.uniform())
        })
        .collect();
    for points in [Vec::new(), vec![[1.0; 3]], some, one_place, places, cluster] {
        let case = Case { gradient: true, ..Case::charges(points, 2) };
        for ranks in RANKS {
            // Places at corners of boxes need more terms than there are beyond this tolerance.
            for tolerance in [1e-3, 1e-7] {
                assert_within(&case, &with_tolerance(tolerance), ranks, Spread::Cyclic);
            }
        }
    }
}

#[test]
fn what_is_wrong_on_one_rank_ends_all() {
    let points = Distribution::Cube.points(300, &mut Random::new(1));
    let failures = comm::run(3, |group| {
        let mut own = points.clone();
        if group.rank() == 1 {
            own[7][2] = f64::NAN;
        }
        Plan::new(group, &own, None, &Options::default()).unwrap_err().to_string()
    });
    let cause = "source 7 has a coordinate that is not a finite number";
    assert!(failures[1].starts_with(cause), "{failures:?}");
    for rank in [0, 2] {
        assert!(failures[rank].starts_with(&format!("rank 1: {cause}")), "{failures:?}");
    }

    let failures = comm::run(2, |group| {
        let options = with_tolerance([1e-3, 1e-4][group.rank()]);
        Plan::new(group, &points, None, &options).unwrap_err().to_string()
    });
    assert!(failures.iter().all(|f| f.contains("ranks differ in their options")), "{failures:?}");

    comm::run(2, |group| {
        let mut plan = Plan::new(group, &points, None, &Options::default()).unwrap();
        let mut potential = vec![0.0; points.len()];
        let charges = vec![1.0; points.len() - group.rank()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let sums = Potentials { potential: Some(&mut potential), gradient: None };
        let failure = plan.apply(densities, sums).unwrap_err();
        assert_eq!(matches!(failure, Error::Length { .. }), group.rank() == 1, "{failure}");
        // The plan is still good.
        let charges = vec![1.0; points.len()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let sums = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, sums).unwrap();
        assert!(potential.iter().all(|value| value.is_finite()));
    });
}
