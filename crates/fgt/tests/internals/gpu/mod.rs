//! Sums on a GPU against direct sums in double precision, and against themselves. They skip with a
//! printed reason where there is no GPU, unless FARAD_REQUIRE_GPU=1.

mod kernels;

use cuda::Device;

use fgt::internals::gpu::{Precision, precision};
use fgt::{Backend, Bandwidths, Grid, Mode, Options, Plan, Sums, Targets, direct};
use samples::{Distribution, Random, mixed_charges};

fn gpu(test: &str) -> bool {
    cuda::testing::device_for(test, || Device::open(0)).unwrap().is_some()
}

/// Largest errors of values and gradients of k densities, relative to the scales of module
/// [`fgt`].
fn errors<const D: usize>(
    sources: &[[f64; D]],
    bandwidths: Bandwidths<'_>,
    targets: Targets<'_, D>,
    options: &Options,
    random: &mut Random,
) -> [f64; 2] {
    let (n, k) = (sources.len(), options.densities);
    let points = match targets {
        Targets::Sources => sources.to_vec(),
        Targets::Points(points) => points.to_vec(),
        Targets::Grid(grid) => grid.points(),
    };
    let m = points.len();
    let plan = Plan::new(sources, bandwidths, targets, options).unwrap();
    assert_eq!(plan.info().backend, Backend::Cuda);
    let slopes = if options.gradient { D } else { 0 };
    let run = |charges: &[f64]| {
        let (mut values, mut gradients) = (vec![f64::NAN; k * m], vec![f64::NAN; k * m * slopes]);
        let out = options.gradient.then_some(&mut gradients[..]);
        plan.apply(charges, Sums { values: Some(&mut values), gradients: out }).unwrap();
        [values, gradients]
    };
    let charges = mixed_charges(k * n, random);
    let found = run(&charges);
    assert_eq!(run(&charges), found, "sums differ from run to run");
    let exact = |charges: &[f64], gradient: bool| {
        let (mut values, mut gradients) =
            (vec![f64::NAN; k * m], vec![f64::NAN; if gradient { k * m * D } else { 0 }]);
        let out = gradient.then_some(&mut gradients[..]);
        let sums = &mut Sums { values: Some(&mut values), gradients: out };
        direct::sum(sources, bandwidths, &points, charges, sums).unwrap();
        [values, gradients]
    };
    let weighted = |weight: &dyn Fn(usize) -> f64| {
        let charges: Vec<f64> =
            charges.iter().enumerate().map(|(i, q)| q.abs() * weight(i % n)).collect();
        exact(&charges, false)[0].iter().fold(0.0f64, |a, &b| a.max(b))
    };
    let of = |j: usize| match bandwidths {
        Bandwidths::Same(one) => one,
        Bandwidths::Each(each) => each[j],
    };
    let scales = [weighted(&|_| 1.0), weighted(&|j| (2.0 / of(j)).sqrt())];
    let exact = exact(&charges, options.gradient);
    std::array::from_fn(|i| {
        let worst = found[i].iter().zip(&exact[i]).fold(0.0f64, |worst, (a, b)| {
            let difference = (a - b).abs();
            if difference.is_nan() { f64::INFINITY } else { worst.max(difference) }
        });
        worst / scales[i]
    })
}

fn options(tolerance: f64, mode: Mode) -> Options {
    Options::default().tolerance(tolerance).mode(mode).gradient(true).backend(Backend::Cuda)
}

fn every_tolerance<const D: usize>(distribution: Distribution) {
    let random = &mut Random::new(7 + D as u64);
    for decade in 2..=12 {
        let tolerance = 10f64.powi(-decade);
        for (mode, length) in [(Mode::Grid, 0.1), (Mode::Pairs, 0.1), (Mode::Auto, 0.03)] {
            let points: Vec<[f64; D]> = distribution.points(1500, random);
            let bandwidths = Bandwidths::Same(length * length);
            let with = |gradient| options(tolerance, mode).gradient(gradient);
            for options in [with(false), with(true)] {
                let [value, slope] =
                    errors(&points, bandwidths, Targets::Sources, &options, random);
                println!("{D} {distribution:?} {mode:?} {tolerance:e}: {value:.1e} {slope:.1e}");
                assert!(value <= tolerance && slope <= tolerance, "{options:?}: {value} {slope}");
            }
        }
    }
}

#[test]
fn errors_are_within_the_tolerance() {
    if gpu("errors_are_within_the_tolerance") {
        every_tolerance::<1>(Distribution::Cube);
        every_tolerance::<2>(Distribution::Sphere);
        every_tolerance::<3>(Distribution::Cube);
        every_tolerance::<3>(Distribution::Plummer);
    }
}

#[test]
fn several_densities_bandwidths_and_sets_of_points() {
    if !gpu("several_densities_bandwidths_and_sets_of_points") {
        return;
    }
    let random = &mut Random::new(3);
    let sources: Vec<[f64; 3]> = Distribution::Cube.points(3000, random);
    let targets: Vec<[f64; 3]> = Distribution::Sphere.points(700, random);
    let grid = Grid { origin: [-0.2; 3], spacing: [0.1, 0.15, 0.2], shape: [12, 9, 8] };
    let each: Vec<f64> = (0..3000).map(|_| 1e-3 * 1e3f64.powf(random.uniform())).collect();
    let few: Vec<f64> = (0..3000).map(|i| [0.01, 0.02, 0.03][i % 3]).collect();
    for bandwidths in [&each, &few] {
        for targets in [Targets::Sources, Targets::Points(&targets), Targets::Grid(&grid)] {
            for (tolerance, densities) in [(1e-3, 1), (1e-6, 5), (1e-10, 2)] {
                for mode in [Mode::Auto, Mode::Grid, Mode::Pairs, Mode::Direct] {
                    let options = options(tolerance, mode).densities(densities);
                    let bandwidths = Bandwidths::Each(bandwidths);
                    let found = errors(&sources, bandwidths, targets, &options, random);
                    let most = if mode == Mode::Direct { 1e-14 } else { tolerance };
                    assert!(found.iter().all(|error| *error <= most), "{options:?}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn crowded_boxes_and_far_coordinates() {
    if !gpu("crowded_boxes_and_far_coordinates") {
        return;
    }
    let random = &mut Random::new(11);
    // Boxes with many more sources than a block of threads takes, far from the origin.
    let mut points: Vec<[f64; 3]> = Distribution::Cube.points(9000, random);
    for (i, point) in points.iter_mut().enumerate() {
        *point = point.map(|x| 1e6 + if i % 3 == 0 { x } else { 1e-3 * x });
    }
    for tolerance in [1e-3, 1e-9] {
        for (mode, length) in [(Mode::Grid, 0.3), (Mode::Pairs, 0.3), (Mode::Auto, 0.01)] {
            let bandwidths = Bandwidths::Same(length * length);
            let options = options(tolerance, mode);
            let found = errors(&points, bandwidths, Targets::Sources, &options, random);
            assert!(found.iter().all(|error| *error <= tolerance), "{options:?}: {found:?}");
        }
    }
    // Few targets of many sources: these are summed in slices.
    let few = Targets::Points(&points[..3]);
    let options = options(1e-8, Mode::Pairs);
    let found = errors(&points, Bandwidths::Same(1.0), few, &options, random);
    assert!(found.iter().all(|error| *error <= 1e-8), "{found:?}");
}

#[test]
fn nothing_to_sum_gives_zeros() {
    if !gpu("nothing_to_sum_gives_zeros") {
        return;
    }
    let options = options(1e-6, Mode::Auto);
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    for (sources, charges) in [(&points[..0], &[][..]), (&points[..], &[0.0, 0.0][..])] {
        let targets = Targets::Points(&points);
        let plan = Plan::new(sources, Bandwidths::Same(1.0), targets, &options).unwrap();
        let mut values = [f64::NAN; 2];
        plan.apply(charges, Sums { values: Some(&mut values), gradients: None }).unwrap();
        assert_eq!(values, [0.0, 0.0]);
    }
}

#[test]
fn the_format_follows_the_tolerance() {
    let of = |tolerance| precision(&Options::default().tolerance(tolerance));
    assert_eq!(of(1e-3), Precision::Single);
    assert_eq!(of(1e-7), Precision::Double);
}
