//! What plans choose and refuse.

use super::sums::against_direct;
use super::{gpu, uneven};
use fmm::internals::gpu::{WORTH_IT, mode};
use fmm::{Backend, Densities, Mode, Options, Plan, Potentials, Precision, Truncation};
use samples::{ChargeKind, Distribution, Random};

#[test]
fn a_sum_too_large_for_the_memory_is_refused() {
    let Some(device) = gpu("a_sum_too_large_for_the_memory_is_refused") else { return };
    let (n, densities) = (2_000_000, 200_000);
    let points = Distribution::Cube.points(n, &mut Random::new(5));
    let options = Options::default().backend(Backend::Cuda).densities(densities);
    let held = device.free_memory().unwrap();
    match Plan::new(&points, None, &options) {
        Err(error @ fmm::Error::GpuMemory { gpu: 0, needed, free, gpus: Some(gpus) }) => {
            // Charges and potentials of that many densities, in double precision, and no more than
            // the GPU has.
            assert!(needed > 16 * (n * densities) as u64 && free <= device.info().memory);
            // Each has its share of that.
            let all = gpus as u64 * device.info().memory;
            assert!(all > needed && all < 3 * needed, "{gpus}");
            let text = error.to_string();
            assert!(
                text.contains("GPU 0") && text.contains(&format!("{gpus} such GPUs")),
                "{text}"
            );
        }
        other => panic!("{:?}", other.map(|plan| plan.info().clone())),
    }
    // Other tests come and go.
    assert!(device.free_memory().unwrap() > held / 2);
}

#[test]
fn clusters_that_no_box_parts_are_left_to_processors() {
    if gpu("clusters_that_no_box_parts_are_left_to_processors").is_none() {
        return;
    }
    // Two whose middles are at corners of boxes, and many points at each of few places.
    let cluster = |n: usize, seed: u64| Distribution::Sphere.points(n, &mut Random::new(seed));
    let mut apart: Vec<[f64; 3]> = cluster(15_000, 7);
    apart.extend(cluster(15_000, 8).into_iter().map(|[x, y, z]| [x + 1e8, y, z]));
    let coincident = (0..30_000).map(|i| [f64::from(i % 8), f64::from(i % 2), 0.0]).collect();
    for points in [&apart, &coincident] {
        let plan = |backend: Backend, mode: Mode| {
            let options = Options::default().tolerance(1e-4).backend(backend).mode(mode);
            Plan::new(points, None, &options)
        };
        for (backend, mode) in [
            (Backend::Cuda, Mode::Fmm),
            (Backend::Cuda, Mode::Treecode),
            (Backend::Cuda, Mode::Direct),
            (Backend::Hybrid, Mode::Fmm),
        ] {
            let text = plan(backend, mode).unwrap_err().to_string();
            assert!(text.starts_with("the points are in clusters that are tiny"), "{text}");
        }
        let info = plan(Backend::Auto, Mode::Fmm).unwrap().info().clone();
        assert_eq!(info.backend, Backend::Cpu);
        assert!(info.fallback.unwrap().contains("use the cpu backend"));
    }
    // One of few points is summed with the rest.
    apart.truncate(15_000);
    let few = cluster(900, 9).into_iter();
    apart.extend(few.map(|x| x.map(|x| 0.2 + 1e-9 * x)));
    let options = Options::default().backend(Backend::Cuda).tolerance(1e-4);
    let errors = against_direct(&apart, None, &options, ChargeKind::Positive, 1);
    assert!(errors[0] < 1e-4, "{errors:?}");
}

#[test]
fn truncation_numbers_are_the_same_in_every_plan() {
    if gpu("truncation_numbers_are_the_same_in_every_plan").is_none() {
        return;
    }
    // Lists come out in another order every time.
    let points = uneven(20_000, 15);
    let options = Options::default().tolerance(1e-9).backend(Backend::Cuda);
    let plan = || {
        let plan = Plan::new(&points, None, &options).unwrap();
        (plan.info().truncation_number, plan.info().mean_truncation_number)
    };
    let first = plan();
    assert!(first.1 > 5.0);
    for _ in 0..4 {
        assert_eq!(plan(), first);
    }
}

#[test]
fn other_truncation_rules_and_small_plans() {
    if gpu("other_truncation_rules_and_small_plans").is_none() {
        return;
    }
    let points = Distribution::Cube.points(8000, &mut Random::new(8));
    for truncation in [Truncation::Fixed, Truncation::WorstCaseBound] {
        for truncation_number in [None, Some(12)] {
            let options = Options::default()
                .tolerance(1e-3)
                .truncation(truncation)
                .truncation_number(truncation_number)
                .backend(Backend::Cuda)
                .leaf_size(Some(40));
            let [error, _] = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
            assert!(error < 1e-3, "{truncation:?} {truncation_number:?}: {error:e}");
        }
    }
    let options = Options::default().backend(Backend::Cuda).tolerance(1e-5);
    for count in [1, 2, 33, 500] {
        let [error, _] = against_direct(
            &points[..count],
            Some(&points[3000..3100]),
            &options,
            ChargeKind::Mixed,
            2,
        );
        assert!(error < 1e-6, "{count} points: {error:e}");
    }
    // Nothing in, nothing out.
    for (sources, targets) in [(&points[..0], &points[..3]), (&points[..3], &points[..0])] {
        let mut plan = Plan::new(sources, Some(targets), &options).unwrap();
        let charges = vec![1.0; sources.len()];
        let mut potential = vec![f64::NAN; targets.len()];
        let densities = Densities { charges: Some(&charges), dipoles: None };
        let potentials = Potentials { potential: Some(&mut potential), gradient: None };
        plan.apply(densities, potentials).unwrap();
        assert!(potential.iter().all(|&v| v == 0.0));
    }
}

#[test]
fn the_mode_is_chosen_by_the_sizes() {
    let options = Options::default().mode(Mode::Auto).backend(Backend::Cuda).tolerance(1e-5);
    let at = |n: f64, m: f64| mode(&options, n as usize, m as usize);
    assert_eq!(at(1e5, 1e3), Mode::Direct);
    assert_eq!(at(1e6, 1e3), Mode::Direct);
    assert_eq!(at(1e6, 4e4), Mode::Treecode);
    assert_eq!(at(1e6, 1e6), Mode::Fmm);
    // Rounding of all pairs in single precision would be too much.
    let exact = options.clone().tolerance(3e-6);
    assert_eq!(mode(&exact, 1_000_000, 1000), Mode::Treecode);
    let hybrid = options.clone().backend(Backend::Hybrid);
    assert_eq!(mode(&hybrid, 1_000_000, 1000), Mode::Fmm);
    let given = options.mode(Mode::Treecode);
    assert_eq!(mode(&given, 1000, 1000), Mode::Treecode);
}

#[test]
fn direct_mode_and_auto() {
    let points = Distribution::Cube.points(300, &mut Random::new(8));
    // Small sums stay on the CPU, with or without a GPU, and give no reason.
    let options = Options::default().backend(Backend::Auto);
    let plan = Plan::new(&points, None, &options).unwrap();
    assert_eq!(plan.info().backend, Backend::Cpu);
    assert_eq!(plan.info().fallback, None);
    let many = Distribution::Cube.points(WORTH_IT, &mut Random::new(8));
    let options = Options::default().backend(Backend::Auto).tolerance(1e-2);
    let plan = Plan::new(&many, None, &options).unwrap();
    let there = gpu("direct_mode_and_auto").is_some();
    assert_eq!(plan.info().backend == Backend::Cuda, there);
    assert_eq!(plan.info().fallback.is_none(), there);
    if there {
        let options = Options::default().backend(Backend::Cuda).mode(Mode::Direct);
        let [error, _] = against_direct(&points, None, &options, ChargeKind::Mixed, 1);
        assert!(error < 1e-6, "{error:e}");
        // Few targets: large leaves.
        let options = options.precision(Some(Precision::Single));
        let [error, _] = against_direct(&many, Some(&points), &options, ChargeKind::Mixed, 1);
        assert!(error < 3e-6, "{error:e}");
    }
}

/// The points of a lattice may all be at corners of their boxes: more terms are needed than points
/// anywhere else would ask for.
#[test]
fn lattices_and_points_that_coincide() {
    if gpu("lattices_and_points_that_coincide").is_none() {
        return;
    }
    let mut random = Random::new(9);
    let lattice = (0..4096).map(|i| [i % 16, i / 16 % 16, i / 256].map(f64::from)).collect();
    let places = (0..4000).map(|_| std::array::from_fn(|_| random.below(3) as f64)).collect();
    let sets: [Vec<[f64; 3]>; 2] = [lattice, places];
    // Of places with 150 points each, rounding in single precision leaves 1.5e-5.
    let cases = [(0, 1e-3), (0, 1e-5), (0, 1e-7), (1, 1e-3), (1, 1e-4), (1, 1e-7)];
    for (points, tolerance) in cases.map(|(set, tolerance)| (&sets[set], tolerance)) {
        let options = Options::default()
            .tolerance(tolerance)
            .gradient(true)
            .backend(Backend::Cuda)
            .mode(Mode::Fmm);
        let errors = against_direct(points, None, &options, ChargeKind::Mixed, 1);
        let within = errors.iter().all(|&error| error <= tolerance);
        assert!(within, "{} points, {tolerance:e}: {errors:?}", points.len());
    }
}
