//! The promise of the tolerance: relative L2 errors against direct double-precision sums.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fmm::{
    Densities, Kernel, Mode, Options, Plan, Potentials, Precision, Stencil, Truncation, direct,
};
use samples::{ChargeKind, Distribution, Random};

const DISTRIBUTIONS: [Distribution; 4] =
    [Distribution::Cube, Distribution::Sphere, Distribution::Plummer, Distribution::GradedPlate];

/// Relative L2 error.
fn error(found: &[f64], exact: &[f64]) -> f64 {
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = exact.iter().map(|b| b * b).sum();
    if norm == 0.0 { difference.sqrt() } else { (difference / norm).sqrt() }
}

/// What one sum is asked.
#[derive(Clone, Copy)]
struct Case<'a> {
    sources: &'a [[f64; 3]],
    targets: Option<&'a [[f64; 3]]>,
    charges: Option<&'a [f64]>,
    dipoles: Option<&'a [f64]>,
    densities: usize,
    gradient: bool,
}

impl Case<'_> {
    fn plan(&self, options: &Options) -> Plan {
        let options = options
            .clone()
            .gradient(self.gradient)
            .dipoles(self.dipoles.is_some())
            .densities(self.densities);
        Plan::new(self.sources, self.targets, &options).unwrap()
    }
}

/// Direct sums at up to 400 targets.
struct Exact {
    picked: Vec<usize>,
    /// Potentials and gradients of each density.
    sums: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Exact {
    fn of(case: &Case<'_>, kernel: Kernel) -> Self {
        let n = case.sources.len();
        let targets = case.targets.unwrap_or(case.sources);
        let m = targets.len();
        let picked: Vec<usize> = (0..m).step_by(m.div_ceil(400)).collect();
        let at: Vec<[f64; 3]> = picked.iter().map(|&i| targets[i]).collect();
        let sum = |density| {
            let charges = case.charges.map(|q| &q[density * n..(density + 1) * n]);
            let dipoles = case.dipoles.map(|d| &d[density * 3 * n..(density + 1) * 3 * n]);
            let mut potential = vec![0.0; at.len()];
            let mut gradient = vec![0.0; 3 * at.len()];
            let mut potentials =
                Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
            let densities = Densities { charges, dipoles };
            direct::sum(kernel, case.sources, &at, densities, &mut potentials).unwrap();
            (potential, gradient)
        };
        Self { sums: (0..case.densities).map(sum).collect(), picked }
    }

    /// Errors of potential and gradient of a plan's sums, the worst over the densities.
    fn errors(&self, case: &Case<'_>, options: &Options) -> (f64, f64) {
        self.errors_of(case, &mut case.plan(options), 2)
    }

    /// Errors of the last of `applies` applies, none of which may depend on earlier ones.
    fn errors_of(&self, case: &Case<'_>, plan: &mut Plan, applies: usize) -> (f64, f64) {
        let (m, k) = (case.targets.unwrap_or(case.sources).len(), case.densities);
        let mut potential = vec![f64::NAN; k * m];
        let mut gradient = vec![f64::NAN; if case.gradient { 3 * k * m } else { 0 }];
        for _ in 0..applies {
            let densities = Densities { charges: case.charges, dipoles: case.dipoles };
            let potentials = Potentials {
                potential: Some(&mut potential),
                gradient: case.gradient.then_some(&mut gradient[..]),
            };
            plan.apply(densities, potentials).unwrap();
        }
        assert!(potential.iter().chain(&gradient).all(|value| value.is_finite()));
        let mut worst = (0.0f64, 0.0f64);
        for (density, (exact, exact_gradient)) in self.sums.iter().enumerate() {
            let found: Vec<f64> = self.picked.iter().map(|&i| potential[density * m + i]).collect();
            worst.0 = worst.0.max(error(&found, exact));
            if case.gradient {
                let found: Vec<f64> = self
                    .picked
                    .iter()
                    .flat_map(|&i| (0..3).map(move |a| 3 * i + a))
                    .map(|i| gradient[density * 3 * m + i])
                    .collect();
                worst.1 = worst.1.max(error(&found, exact_gradient));
            }
        }
        worst
    }
}

/// Errors of potential and gradient at up to 400 targets, the worst over the densities.
fn measure(case: &Case<'_>, options: &Options) -> (f64, f64) {
    Exact::of(case, options.kernel).errors(case, options)
}

/// How far below the tolerance the worst error of a sum may be: beyond that it takes longer than
/// the caller asked for.
const OVER_ACCURACY: f64 = 30.0;

/// Asserts that the errors of one sum are at most the tolerance, and the worst of them not far
/// below it.
fn assert_keeps(what: &str, errors: &[f64], tolerance: f64) {
    assert_at_most(what, errors, tolerance);
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let times = tolerance / worst;
    assert!(
        times <= OVER_ACCURACY,
        "{what}: {worst:.2e}, {times:.0} times better than {tolerance:.0e}"
    );
}

/// Asserts that the errors of one sum are at most the tolerance, where they may be far smaller: few
/// points, all pairs of which are near; sums with derivatives or dipoles of random strengths, whose
/// norm the closest pairs make up, which are exact to rounding, while truncation numbers are those
/// of the far part; and targets or charges apart from the rest.
fn assert_at_most(what: &str, errors: &[f64], tolerance: f64) {
    for error in errors {
        assert!(*error <= tolerance, "{what}: {error:.2e}, more than {tolerance:.0e}");
    }
}

fn charges_only<'a>(points: &'a [[f64; 3]], charges: &'a [f64]) -> Case<'a> {
    Case {
        sources: points,
        targets: None,
        charges: Some(charges),
        dipoles: None,
        densities: 1,
        gradient: false,
    }
}

#[test]
fn potentials_and_gradients_keep_every_tolerance() {
    for (i, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
        let points = distribution.points(8000, &mut Random::new(1));
        let kinds = [ChargeKind::Mixed, ChargeKind::Positive, ChargeKind::PlaneWave];
        let charges: Vec<f64> =
            kinds.iter().flat_map(|kind| kind.charges(&points, &mut Random::new(2))).collect();
        // The error of the worst kind counts.
        let case = Case { gradient: true, densities: 3, ..charges_only(&points, &charges) };
        let exact = Exact::of(&case, Kernel::Laplace);
        // Each tolerance meets two distributions, one of them applied once and one twice.
        for exponent in (2..=11).filter(|exponent| (i + exponent) % 2 == 0) {
            let tolerance = 10f64.powi(-(exponent as i32));
            let options = Options::default().tolerance(tolerance);
            let applies = 1 + i / 2;
            let (potential, gradient) = exact.errors_of(&case, &mut case.plan(&options), applies);
            let what = format!("{distribution:?} 1e-{exponent}");
            assert_at_most(&what, &[potential, gradient], tolerance);
        }
    }
}

#[test]
fn single_precision_keeps_the_tolerance_down_to_2e_6() {
    for distribution in DISTRIBUTIONS {
        let points = distribution.points(30_000, &mut Random::new(3));
        let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(4));
        for tolerance in [1e-5, 2e-6] {
            let options =
                Options::default().tolerance(tolerance).precision(Some(Precision::Single));
            let case = Case { gradient: true, ..charges_only(&points, &charges) };
            let (potential, gradient) = measure(&case, &options);
            assert_at_most(&format!("{distribution:?}"), &[potential, gradient], tolerance);
        }
    }
}

#[test]
fn near_pairs_in_single_precision_keep_the_tolerance() {
    let options = Options::default().tolerance(2e-7);
    for (i, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
        let mut random = Random::new(23);
        let points = distribution.points(9000, &mut random);
        let apart: Vec<[f64; 3]> = points[..6000].iter().map(|x| x.map(|c| c + 1e-3)).collect();
        // As many as pass P2P in groups of eight, of four and alone; the last one's neighbours
        // nearly cancel.
        let mut charges: Vec<f64> =
            (0..12).flat_map(|_| ChargeKind::Mixed.charges(&points, &mut random)).collect();
        let wave = points.iter().map(|x| (200.0 * x[0]).cos() + (200.0 * x[1]).sin());
        charges.extend(wave);
        // At the sources and elsewhere, each with each distribution, of one and of all densities.
        let places = [None, Some(&apart[..])];
        for (densities, targets) in [(1, places[1 - i % 2]), (13, places[i % 2])] {
            let charges = &charges[(13 - densities) * points.len()..];
            let case = Case { targets, densities, ..charges_only(&points, charges) };
            let mut plan = case.plan(&options);
            assert_eq!(plan.info().precision, Some(Precision::Double));
            assert_eq!(plan.info().near_precision, Some(Precision::Single));
            let exact = Exact::of(&case, Kernel::Laplace);
            let (potential, _) = exact.errors_of(&case, &mut plan, 2);
            let what = format!("{distribution:?} {densities} {}", targets.is_some());
            assert_keeps(&what, &[potential], options.tolerance);
        }
    }
}

#[test]
fn derivatives_by_near_pairs_in_single_precision_keep_the_tolerance() {
    for (i, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
        let mut random = Random::new(29);
        let points = distribution.points(5000, &mut random);
        let apart: Vec<[f64; 3]> = points[..3000].iter().map(|x| x.map(|c| c + 1e-3)).collect();
        let kinds = [ChargeKind::Mixed, ChargeKind::Positive, ChargeKind::PlaneWave];
        let mut charges = || -> Vec<f64> {
            kinds.iter().flat_map(|kind| kind.charges(&points, &mut random)).collect()
        };
        let (charges, x, y, z) = (charges(), charges(), charges(), charges());
        // Dipoles that weigh as much as the charges do.
        let length = (points.len() as f64).powf(-1.0 / 3.0);
        let dipoles: Vec<f64> =
            (0..x.len()).flat_map(|i| [x[i], y[i], z[i]].map(|d| length * d)).collect();
        let of_charges = Case { densities: 3, gradient: true, ..charges_only(&points, &charges) };
        let with_dipoles = Case { dipoles: Some(&dipoles), ..of_charges };
        let potential_alone = Case { gradient: false, ..with_dipoles };
        let cases = [(of_charges, 5e-7), (with_dipoles, 1e-6), (potential_alone, 1e-6)];
        for (j, (case, tolerance)) in cases.into_iter().enumerate() {
            // At the sources and elsewhere, each with each distribution and each case.
            let targets = [None, Some(&apart[..])][(i + j) % 2];
            let case = Case { targets, ..case };
            let mut plan = case.plan(&Options::default().tolerance(tolerance));
            assert_eq!(plan.info().near_precision, Some(Precision::Single));
            let exact = Exact::of(&case, Kernel::Laplace);
            let (potential, gradient) = exact.errors_of(&case, &mut plan, 2);
            let what = format!("{distribution:?} {} {tolerance:.0e}", targets.is_some());
            assert_at_most(&what, &[potential, gradient], tolerance);
        }
    }
}

#[test]
fn charges_that_lie_together_keep_the_tolerance() {
    // A lone charge, or some within a hundredth of the plate; where points are sparse too.
    let mut random = Random::new(21);
    let n = 12_000;
    let points = Distribution::GradedPlate.points(n, &mut random);
    for tolerance in [1e-3, 1e-5, 1e-7] {
        let mut plan = Plan::new(&points, None, &Options::default().tolerance(tolerance)).unwrap();
        for place in 0..12 {
            let centre = points[random.below(n)];
            let radius = if place % 2 == 0 { 0.0 } else { 0.01 };
            let within = |x: &[f64; 3]| {
                (0..3).map(|k| (x[k] - centre[k]).powi(2)).sum::<f64>() <= radius * radius
            };
            let here: Vec<usize> = (0..n).filter(|&i| within(&points[i])).collect();
            let strengths: Vec<f64> = here.iter().map(|_| random.uniform() - 0.5).collect();
            let mut charges = vec![0.0; n];
            here.iter().zip(&strengths).for_each(|(&i, q)| charges[i] = *q);
            let mut found = vec![f64::NAN; n];
            let potentials = Potentials { potential: Some(&mut found), gradient: None };
            let densities = Densities { charges: Some(&charges), dipoles: None };
            plan.apply(densities, potentials).unwrap();
            let sources: Vec<[f64; 3]> = here.iter().map(|&i| points[i]).collect();
            let mut exact = vec![f64::NAN; n];
            let mut potentials = Potentials { potential: Some(&mut exact), gradient: None };
            let densities = Densities { charges: Some(&strengths), dipoles: None };
            direct::sum(Kernel::Laplace, &sources, &points, densities, &mut potentials).unwrap();
            let error = error(&found, &exact);
            assert_at_most(&format!("{} charges", here.len()), &[error], tolerance);
        }
    }
}

#[test]
fn a_large_box_next_to_a_tiny_one_leaves_no_trace_in_it() {
    // A cluster 1e-4 of the rest in size: scaled to its boxes, the points that follow in memory are
    // beyond single precision once raised to the truncation number.
    let mut random = Random::new(31);
    let mut points = Distribution::Cube.points(2000, &mut random);
    let cluster = Distribution::Cube.points(2000, &mut random);
    points.extend(cluster.iter().map(|x| x.map(|c| 0.3 + 1e-4 * c)));
    let charges = ChargeKind::Mixed.charges(&points, &mut random);
    for tolerance in [1e-5, 1e-9] {
        let case = Case { gradient: false, ..charges_only(&points, &charges) };
        let (potential, _) = measure(&case, &Options::default().tolerance(tolerance));
        assert_keeps("a cluster in a cube", &[potential], tolerance);
    }
}

#[test]
fn any_number_of_points_from_none_to_1e5() {
    for n in [1, 2, 10, 100, 1000, 100_000] {
        for (i, distribution) in DISTRIBUTIONS.into_iter().enumerate() {
            let points = distribution.points(n, &mut Random::new(n as u64));
            let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(5));
            let case = charges_only(&points, &charges);
            let exact = Exact::of(&case, Kernel::Laplace);
            for (j, tolerance) in [1e-4, 1e-8].into_iter().enumerate() {
                // Many take long: each tolerance with two distributions.
                if n == 100_000 && (i + j) % 2 == 0 {
                    continue;
                }
                let options = Options::default().tolerance(tolerance);
                let (potential, _) = exact.errors(&case, &options);
                let what = format!("{distribution:?} {n}");
                if n < 100_000 {
                    assert_at_most(&what, &[potential], tolerance);
                } else {
                    assert_keeps(&what, &[potential], tolerance);
                }
            }
        }
    }
    let mut plan = Plan::new(&[], None, &Options::default()).unwrap();
    let potentials = Potentials { potential: Some(&mut []), gradient: None };
    plan.apply(Densities { charges: Some(&[]), dipoles: None }, potentials).unwrap();
}

#[test]
fn dipoles_and_several_densities_share_a_plan() {
    let points = Distribution::Sphere.points(3000, &mut Random::new(7));
    let mut random = Random::new(8);
    for (i, densities) in [1, 3, 5, 8].into_iter().enumerate() {
        let charges: Vec<f64> =
            (0..densities * points.len()).map(|_| random.uniform() - 0.5).collect();
        let dipoles: Vec<f64> =
            (0..3 * densities * points.len()).map(|_| 0.02 * (random.uniform() - 0.5)).collect();
        let kinds = [(true, false), (false, true), (true, true)];
        for (j, (with_charges, with_dipoles)) in kinds.into_iter().enumerate() {
            let case = Case {
                sources: &points,
                targets: None,
                charges: with_charges.then_some(&charges[..]),
                dipoles: with_dipoles.then_some(&dipoles[..]),
                densities,
                gradient: false,
            };
            let exact = Exact::of(&case, Kernel::Laplace);
            for (k, gradient) in [false, true].into_iter().enumerate() {
                let case = Case { gradient, ..case };
                // Each tolerance meets all that is asked, at every other number of densities.
                let tolerance = [1e-4, 1e-9][(i + j + k) % 2];
                let options = Options::default().tolerance(tolerance);
                let (potential, of_gradient) = exact.errors(&case, &options);
                let what = format!("{densities} {with_charges} {with_dipoles} {tolerance:e}");
                assert_at_most(&what, &[potential, of_gradient], tolerance);
            }
        }
    }
}

#[test]
fn targets_apart_from_the_sources() {
    let sources = Distribution::Sphere.points(20_000, &mut Random::new(9));
    let charges = ChargeKind::Mixed.charges(&sources, &mut Random::new(10));
    let line: Vec<[f64; 3]> = (0..500).map(|i| [-2.0 + 0.008 * f64::from(i), 0.1, 0.2]).collect();
    let mut cube = Distribution::Cube.points(30_000, &mut Random::new(11));
    // Some targets at the very place of sources, which contribute nothing there.
    cube[..1000].copy_from_slice(&sources[..1000]);
    let far: Vec<[f64; 3]> = (0..10).map(|i| [50.0 + f64::from(i), 0.0, 0.0]).collect();
    // Far away mixed charges' potentials cancel but for a few numbers; charges of one sign add up.
    let positive = ChargeKind::Positive.charges(&sources, &mut Random::new(10));
    for (targets, charges) in [
        (&line[..], &charges),
        (&cube, &charges),
        (&far, &charges),
        (&far, &positive),
        (&sources[..1], &charges),
    ] {
        for tolerance in [1e-3, 1e-7] {
            let case =
                Case { targets: Some(targets), gradient: true, ..charges_only(&sources, charges) };
            let options = Options::default().tolerance(tolerance);
            let (potential, gradient) = measure(&case, &options);
            let what = format!("{} targets", targets.len());
            assert_at_most(&what, &[potential, gradient], tolerance);
        }
    }
}

#[test]
fn coincident_points_contribute_nothing_to_each_other() {
    let mut points = Distribution::Cube.points(3000, &mut Random::new(12));
    let copies: Vec<_> = points[..1500].to_vec();
    points.extend(copies);
    points.extend(vec![[0.5, 0.25, 0.125]; 500]);
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(13));
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let options = Options::default().tolerance(tolerance);
        let (potential, _) = measure(&charges_only(&points, &charges), &options);
        assert_keeps("coincident points", &[potential], tolerance);
    }
}

#[test]
fn sizes_and_places_do_not_matter() {
    let unit = Distribution::Cube.points(5000, &mut Random::new(14));
    let charges = ChargeKind::Mixed.charges(&unit, &mut Random::new(15));
    for (scale, shift) in [(1e-9, 0.0), (1e9, 0.0), (1.0, 1000.0)] {
        let points: Vec<[f64; 3]> = unit.iter().map(|x| x.map(|c| scale * (c + shift))).collect();
        for tolerance in [1e-4, 1e-9] {
            let options = Options::default().tolerance(tolerance);
            let case = Case { gradient: true, ..charges_only(&points, &charges) };
            let (potential, gradient) = measure(&case, &options);
            assert_at_most(&format!("{scale:e} {shift}"), &[potential, gradient], tolerance);
        }
    }
}

#[test]
fn every_stencil_and_truncation_keeps_the_tolerance() {
    let points = Distribution::Cube.points(20_000, &mut Random::new(16));
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(17));
    for stencil in [Stencil::Full, Stencil::Reduced, Stencil::Shortest] {
        for truncation in [Truncation::Fixed, Truncation::WorstCaseBound, Truncation::Measured] {
            let options =
                Options::default().tolerance(1e-5).stencil(Some(stencil)).truncation(truncation);
            let (potential, _) = measure(&charges_only(&points, &charges), &options);
            assert_keeps(&format!("{stencil:?} {truncation:?}"), &[potential], 1e-5);
        }
    }
}

#[test]
fn misuse_is_an_error_that_names_what_is_wrong() {
    let points = Distribution::Cube.points(10, &mut Random::new(18));
    let mut plan = Plan::new(&points, None, &Options::default()).unwrap();
    let mut potential = vec![0.0; 10];
    let short = plan.apply(
        Densities { charges: Some(&[1.0; 9]), dipoles: None },
        Potentials { potential: Some(&mut potential), gradient: None },
    );
    assert!(matches!(short, Err(fmm::Error::Length { .. })), "{short:?}");
    let mut gradient = vec![0.0; 30];
    let unplanned = plan.apply(
        Densities { charges: Some(&[1.0; 10]), dipoles: None },
        Potentials { potential: None, gradient: Some(&mut gradient) },
    );
    assert!(matches!(unplanned, Err(fmm::Error::NotPlanned { what: "gradient" })));
    let nan = Plan::new(&[[0.0, f64::NAN, 0.0]], None, &Options::default());
    assert!(matches!(nan, Err(fmm::Error::NotFinite { index: 0, .. })));
    let silly = Plan::new(&points, None, &Options::default().tolerance(0.0));
    assert!(matches!(silly, Err(fmm::Error::Option { option: "tolerance", .. })));
}

/// Many points at each of a few places, which are all at corners of their boxes: more terms are
/// needed than points anywhere else would ask for.
#[test]
fn places_at_corners_of_boxes() {
    let mut random = Random::new(9);
    let sources: Vec<[f64; 3]> =
        (0..4000).map(|_| std::array::from_fn(|_| random.below(3) as f64)).collect();
    let charges = ChargeKind::Mixed.charges(&sources, &mut random);
    let case = Case {
        sources: &sources,
        targets: None,
        charges: Some(&charges),
        dipoles: None,
        densities: 1,
        gradient: true,
    };
    for tolerance in [1e-3, 1e-5, 1e-7] {
        for mode in [Mode::Fmm, Mode::Treecode] {
            let options = Options::default().tolerance(tolerance).mode(mode);
            let (potential, gradient) = measure(&case, &options);
            assert!(
                potential <= tolerance && gradient <= tolerance,
                "{mode:?} {tolerance:e}: {potential:e} {gradient:e}"
            );
        }
    }
}
