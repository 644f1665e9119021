//! Sums over the points of several ranks that are threads, against direct double-precision sums and
//! one rank's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ranks;

use comm::Group;
use fmm::distributed::{Plan, RankInfo};
use fmm::{Backend, Densities, Error, Kernel, Options, Potentials, Stencil, Truncation};
use samples::{Distribution, Random};

use ranks::{Case, Spread, own_sums, pick, with_tolerance};

const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

fn assert_within(case: &Case, options: &Options, ranks: usize, spread: Spread) -> Vec<RankInfo> {
    comm::run(ranks, |group| ranks::assert_within(group, case, options, spread))
}

/// A case with its exact sums at all targets, which take longer than those of a plan.
struct Summed<'a> {
    case: &'a Case,
    kernel: Kernel,
    exact: [Vec<f64>; 2],
}

impl<'a> Summed<'a> {
    fn new(case: &'a Case, kernel: Kernel) -> Self {
        let all: Vec<usize> = (0..case.targets().len()).collect();
        Self { case, kernel, exact: case.exact(kernel, &all) }
    }

    fn assert_within(&self, options: &Options, ranks: usize, spread: Spread) -> Vec<RankInfo> {
        let Self { case, kernel, exact: [potential, gradient] } = self;
        let options = options.clone().kernel(*kernel);
        let k = case.densities;
        let exact = |some: &[usize]| [pick(potential, some, k, 1), pick(gradient, some, k, 3)];
        comm::run(ranks, |group| ranks::assert_near(group, case, &options, spread, exact))
    }
}

/// Where sums are tested: on cores, on a GPU that all ranks share, if there is one, and on both.
/// Elsewhere that is skipped with a printed reason, unless FARAD_REQUIRE_GPU=1.
fn backends(test: &str) -> Vec<Backend> {
    let gpu = cuda::testing::device_for(test, || cuda::Device::open(0)).unwrap();
    [Backend::Cpu]
        .into_iter()
        .chain(gpu.iter().flat_map(|_| [Backend::Cuda, Backend::Hybrid]))
        .collect()
}

/// Relative L2 error.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = exact.iter().map(|b| b * b).sum();
    if norm == 0.0 { difference.sqrt() } else { (difference / norm).sqrt() }
}

#[test]
fn every_distribution_meets_its_tolerance_on_any_number_of_ranks() {
    let backends = backends("every_distribution");
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let points = distribution.points(5000, &mut Random::new(20 + i as u64));
        let case = Case::charges(points, 7);
        let summed = Summed::new(&case, Kernel::Laplace);
        for &backend in &backends {
            for (j, ranks) in RANKS.into_iter().enumerate() {
                // Each tolerance and each spread meet each distribution, each number of ranks and
                // each other.
                let tolerance = [1e-3, 1e-6, 1e-9][(i + j) % 3];
                let spread = [Spread::Cyclic, Spread::Runs, Spread::Last][(i + 2 * j) % 3];
                let options = with_tolerance(tolerance).backend(backend);
                let infos = summed.assert_within(&options, ranks, spread);
                let sources: u64 = infos.iter().map(|info| info.points[0]).sum();
                assert_eq!(sources, 5000);
                // The large leaves of a GPU cannot be distributed evenly.
                let even = backend != Backend::Cpu || infos.iter().all(|info| info.imbalance < 1.6);
                assert!(even, "{infos:?}");
                // The GPU that all share can copy from itself.
                let through_the_host =
                    std::env::var_os(cuda::PEER_VARIABLE).is_some_and(|value| value == "0");
                let exchanged = backend == Backend::Cuda && ranks > 1;
                let expected = exchanged.then_some(!through_the_host);
                assert!(infos.iter().all(|info| info.between_gpus == expected), "{infos:?}");
            }
        }
    }
}

/// The potentials by the plan for one process.
fn alone(case: &Case, options: &Options) -> Vec<f64> {
    let mut plan = fmm::Plan::new(&case.sources, case.targets.as_deref(), options).unwrap();
    let mut potential = vec![0.0; case.targets().len()];
    let potentials = Potentials { potential: Some(&mut potential), gradient: None };
    plan.apply(Densities { charges: case.charges.as_deref(), dipoles: None }, potentials).unwrap();
    potential
}

/// With few terms truncation errors are large, so that sums agree only if every pair of boxes is
/// settled as on one rank.
#[test]
fn boxes_and_their_pairs_are_those_of_one_rank() {
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        for stencil in [Stencil::Full, Stencil::Reduced, Stencil::Shortest] {
            let mut random = Random::new(40 + i as u64);
            let mut case = Case::charges(distribution.points(2500, &mut random), 3);
            if stencil == Stencil::Reduced {
                case.targets = Some(Distribution::Cube.points(1500, &mut random));
            }
            // With near pairs in single precision and the rest in double no far boxes with few
            // points are summed directly, which a plan for one would do otherwise.
            let options = with_tolerance(1e-6)
                .truncation(Truncation::Fixed)
                .truncation_number(Some(3))
                .stencil(Some(stencil))
                .leaf_size(Some(20));
            let expected = alone(&case, &options);
            for ranks in RANKS {
                let mut found = vec![f64::NAN; expected.len()];
                let sums = |group: &Group| own_sums(group, &case, &options, Spread::Runs);
                for own in comm::run(ranks, sums) {
                    for (&i, &value) in own.targets.iter().zip(&own.potential) {
                        found[i] = value;
                    }
                }
                let error = error(&found, &expected);
                assert!(error < 1e-7, "{distribution:?} {stencil:?} {ranks}: {error:e}");
            }
        }
    }
}

#[test]
fn dipoles_gradients_densities_targets_and_screening() {
    let all = Case::of_everything(3);
    let without_charges = Case { charges: None, ..all.clone() };
    let on_themselves = Case { targets: None, ..all.clone() };
    let backends = backends("dipoles_gradients_densities_targets_and_screening");
    for (i, case) in [&all, &without_charges, &on_themselves].into_iter().enumerate() {
        for (j, kappa) in [0.0, 3.0].into_iter().enumerate() {
            // Each tolerance meets each case and each kappa, and each number of ranks meets each
            // tolerance and each kappa.
            let options = with_tolerance([1e-4, 1e-7][(i + j) % 2]);
            let ranks = [2, 3, 7][if j == 0 { i } else { 2 - i }];
            let spread = [Spread::Cyclic, Spread::Runs, Spread::Last][(i + j) % 3];
            let summed = Summed::new(case, Kernel::Yukawa { kappa });
            for &backend in &backends {
                let options = options.clone().backend(backend);
                summed.assert_within(&options, ranks, spread);
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
        (0..2500).map(|_| std::array::from_fn(|_| random.below(3) as f64)).collect();
    // A cluster of a millionth of the size, with the rest of the points far away.
    let cluster: Vec<[f64; 3]> = (0..2500)
        .map(|i| {
            let size = if i % 10 == 0 { 1.0 } else { 1e-6 };
            std::array::from_fn(|_| 0.3 + size * random.uniform())
        })
        .collect();
    // What 500 points at one place add to each other is taken off again by a GPU in single
    // precision, which leaves rounding errors of 2e-3 of what is zero.
    let all = [(Vec::new(), 1e-3), (vec![[1.0; 3]], 1e-3), (some, 1e-3), (one_place, 1e-7)];
    for (points, on_gpu) in all.into_iter().chain([(places, 1e-3), (cluster, 1e-3)]) {
        let case = Case { gradient: true, ..Case::charges(points, 2) };
        let summed = Summed::new(&case, Kernel::Laplace);
        for backend in backends("few_points_and_coincident_ones") {
            for ranks in RANKS {
                let loose = if backend != Backend::Cpu { on_gpu } else { 1e-3 };
                // Places at corners of boxes need more terms than there are beyond this tolerance.
                for tolerance in [loose, 1e-7] {
                    let options = with_tolerance(tolerance).backend(backend);
                    summed.assert_within(&options, ranks, Spread::Cyclic);
                }
            }
        }
    }
}

/// Boxes on a rank without targets are deeper than those that other ranks know of them.
#[test]
fn many_sources_and_few_targets_or_the_reverse() {
    let mut random = Random::new(11);
    let many = Distribution::Plummer.points(1500, &mut random);
    for count in [1, 2, 30] {
        let few = Distribution::Cube.points(count, &mut random);
        for (sources, targets) in [(&many, &few), (&few, &many)] {
            let case = Case { targets: Some(targets.clone()), ..Case::charges(sources.clone(), 2) };
            for backend in backends("many_sources_and_few_targets_or_the_reverse") {
                for ranks in RANKS {
                    for leaf_size in [None, Some(7)] {
                        let options = with_tolerance(1e-6).leaf_size(leaf_size).backend(backend);
                        assert_within(&case, &options, ranks, Spread::Last);
                    }
                }
            }
        }
    }
}

/// Cores translate while the GPU sums near pairs.
#[test]
fn stages_of_a_hybrid_sum_overlap() {
    let test = "stages_of_a_hybrid_sum_overlap";
    if cuda::testing::device_for(test, || cuda::Device::open(0)).unwrap().is_none() {
        return;
    }
    let case = Case::charges(Distribution::Cube.points(200_000, &mut Random::new(4)), 5);
    let options = with_tolerance(1e-6).backend(Backend::Hybrid);
    for timeline in comm::run(2, |group| own_sums(group, &case, &options, Spread::Cyclic).timeline)
    {
        let of = |stage: &str, gpu: bool| {
            *timeline.iter().find(|span| span.stage == stage && span.gpu == gpu).unwrap()
        };
        let (near, far) = (of("P2P", true), of("M2L", false));
        assert!(near.begin < far.end && of("M2M", false).end <= far.begin, "{timeline:?}");
        assert!(of("P2M", true).end <= far.begin && far.end <= of("L2P", true).end, "{timeline:?}");
    }
}

#[test]
fn clusters_far_apart_are_summed_by_the_ranks_that_hold_them() {
    let mut random = Random::new(6);
    let mut points = Distribution::Sphere.points(900, &mut random);
    let more = Distribution::Cube.points::<3>(700, &mut random).into_iter();
    points.extend(more.map(|x| [x[0] + 1e9, x[1], x[2] - 3e8]));
    let case = Case { gradient: true, ..Case::charges(points, 8) };
    for ranks in [1, 2, 3] {
        assert_within(&case, &with_tolerance(1e-5), ranks, Spread::Cyclic);
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
