//! Unusual inputs: none, many at one place, very large and small coordinates; and refusals.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{errors, exact, largest_difference};
use fgt::{Bandwidths, Error, Grid, Mode, Options, Plan, Sums, Targets, direct};
use samples::{Distribution, Random, mixed_charges};

#[test]
fn nothing_sums_to_nothing() {
    let one = [[0.5, 0.5]];
    let none: [[f64; 2]; 0] = [];
    for mode in [Mode::Auto, Mode::Pairs, Mode::Grid, Mode::Direct] {
        let options = Options::default().mode(mode).gradient(true);
        let same = Bandwidths::Same(1.0);
        let plan = Plan::new(&none, same, Targets::Points(&one), &options).unwrap();
        let (mut values, mut gradients) = ([7.0], [7.0; 2]);
        let sums = Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
        plan.apply(&[], sums).unwrap();
        assert_eq!((values, gradients), ([0.0], [0.0; 2]));
        let plan = Plan::new(&one, same, Targets::Points(&none), &options).unwrap();
        let sums = Sums { values: Some(&mut []), gradients: Some(&mut []) };
        plan.apply(&[1.0], sums).unwrap();
        let plan = Plan::new(&none, Bandwidths::Each(&[]), Targets::Sources, &options).unwrap();
        plan.apply(&[], Sums::default()).unwrap();
        let grid = Grid { origin: [0.0; 2], spacing: [1.0; 2], shape: [3, 0] };
        assert!(grid.is_empty());
        let plan = Plan::new(&one, same, Targets::Grid(&grid), &options).unwrap();
        assert_eq!(plan.info().pairs, 0);
    }
}

#[test]
fn points_at_one_place_add_up() {
    let points = [[0.1, 0.2, 0.3]; 5000];
    let charges = vec![0.5; 5000];
    for mode in [Mode::Auto, Mode::Grid, Mode::Pairs] {
        for length in [1e-8, 1.0, 1e8] {
            let options = Options::default().tolerance(1e-9).mode(mode).gradient(true);
            let same = Bandwidths::Same(length * length);
            let plan = Plan::new(&points, same, Targets::Sources, &options).unwrap();
            let (mut values, mut gradients) = (vec![0.0; 5000], vec![1.0; 15000]);
            let sums = Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
            plan.apply(&charges, sums).unwrap();
            assert!(largest_difference(&values, &vec![2500.0; 5000]) <= 2500e-9);
            let scale = 2500.0 * 2f64.sqrt() / length;
            assert!(gradients.iter().all(|g| g.abs() <= 1e-9 * scale));
        }
    }
}

#[test]
fn coordinates_of_any_size_keep_the_tolerance() {
    let random = &mut Random::new(21);
    let unit: Vec<[f64; 3]> = Distribution::Sphere.points(400, random);
    let charges = mixed_charges(400, random);
    for size in [1e-140, 1e-30, 1e-9, 1e9, 1e30, 1e140] {
        let points: Vec<[f64; 3]> = unit.iter().map(|x| x.map(|x| size * x)).collect();
        for length in [1e-3, 0.3, 100.0] {
            let same = Bandwidths::Same((length * size).powi(2));
            let exact = exact(&points, same, &points, &charges);
            for (tolerance, mode) in [(1e-6, Mode::Auto), (1e-11, Mode::Auto), (1e-8, Mode::Grid)] {
                if mode == Mode::Grid && length < 0.1 {
                    continue;
                }
                let options = Options::default().tolerance(tolerance).mode(mode).gradient(true);
                let plan = Plan::new(&points, same, Targets::Sources, &options).unwrap();
                let [error, slope] = errors(&plan, &charges, &exact, true);
                assert!(
                    error <= tolerance && slope <= tolerance,
                    "{size:e} {length} {options:?}: {error:.2e} {slope:.2e}"
                );
            }
        }
    }
}

#[test]
fn points_far_from_the_origin_and_clusters_far_apart_keep_the_tolerance() {
    let random = &mut Random::new(22);
    let one: Vec<[f64; 3]> = Distribution::Cube.points(300, random);
    let other: Vec<[f64; 3]> = Distribution::Sphere.points(300, random);
    for exponent in [0, 3, 6, 9, 12] {
        let apart = 10f64.powi(exponent);
        for whole in [false, true] {
            let mut points = other.clone();
            points.extend(one.iter().map(|x| [x[0] + apart, x[1] - 0.3 * apart, x[2]]));
            if whole {
                points = one.iter().map(|x| x.map(|x| x - apart)).collect();
            }
            let charges = mixed_charges(points.len(), random);
            for length in [0.05, 0.5, 1e3] {
                let same = Bandwidths::Same(length * length);
                // Of the coordinates after rounding next to `apart`.
                let exact = exact(&points, same, &points, &charges);
                for (tolerance, mode) in [(1e-5, Mode::Auto), (1e-12, Mode::Auto)] {
                    let options = Options::default().tolerance(tolerance).mode(mode).gradient(true);
                    let plan = Plan::new(&points, same, Targets::Sources, &options).unwrap();
                    let [error, slope] = errors(&plan, &charges, &exact, true);
                    assert!(
                        error <= tolerance && slope <= tolerance,
                        "{apart:e} {length} {options:?}: {error:.2e} {slope:.2e}"
                    );
                }
            }
        }
    }
}

#[test]
fn bandwidths_of_any_size_give_finite_sums() {
    let points = [[0.0], [1e-3], [1.0], [1e3]];
    let bandwidths = [1e-300, 1e-30, 1e30, 1e300];
    let charges = [1.0, 2.0, 3.0, 4.0];
    for mode in [Mode::Auto, Mode::Pairs, Mode::Direct] {
        let options = Options::default().mode(mode);
        let plan =
            Plan::new(&points, Bandwidths::Each(&bandwidths), Targets::Sources, &options).unwrap();
        let mut values = [0.0; 4];
        plan.apply(&charges, Sums { values: Some(&mut values), gradients: None }).unwrap();
        // The wide ones are felt everywhere, the narrow ones at home.
        assert!(largest_difference(&values, &[8.0, 9.0, 7.0, 7.0]) <= 9e-6, "{values:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let points = [[0.0, 1.0], [2.0, 3.0]];
    let options = Options::default();
    let same = Bandwidths::Same(1.0);
    fn plan(points: &[[f64; 2]], bandwidths: Bandwidths<'_>, options: &Options) -> Error {
        Plan::new(points, bandwidths, Targets::Sources, options).map(|_| ()).unwrap_err()
    }
    for bad in [f64::NAN, f64::INFINITY] {
        let error = plan(&[[0.0, 0.0], [bad, 0.0]], same, &options);
        assert!(matches!(error, Error::NotFinite { what: "source", index: 1, .. }), "{error}");
    }
    let error = plan(&[[0.0, 0.0], [1e151, 0.0]], same, &options);
    assert!(matches!(error, Error::TooLarge { index: 1, .. }), "{error}");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
        let error = plan(&points, Bandwidths::Same(bad), &options);
        assert!(matches!(error, Error::Bandwidth { index: 0, .. }), "{error}");
        let error = plan(&points, Bandwidths::Each(&[1.0, bad]), &options);
        assert!(matches!(error, Error::Bandwidth { index: 1, .. }), "{error}");
    }
    let error = plan(&points, Bandwidths::Each(&[1.0]), &options);
    assert!(matches!(error, Error::Length { what: "bandwidths", expected: 2, found: 1 }));
    for tolerance in [0.0, 1e-13, 0.1, f64::NAN] {
        let error = plan(&points, same, &options.clone().tolerance(tolerance));
        assert!(matches!(error, Error::Option { option: "tolerance", .. }), "{error}");
    }
    let plan = Plan::new(&points, same, Targets::Sources, &options).unwrap();
    let (mut values, mut gradients) = ([0.0; 2], [0.0; 4]);
    let error = plan
        .apply(&[1.0, 2.0], Sums { values: None, gradients: Some(&mut gradients) })
        .unwrap_err();
    assert!(matches!(error, Error::NotPlanned));
    let error = plan
        .apply(&[1.0, f64::NAN], Sums { values: Some(&mut values), gradients: None })
        .unwrap_err();
    assert!(matches!(error, Error::Charge { density: 0, index: 1, .. }), "{error}");
    let error =
        plan.apply(&[1.0], Sums { values: Some(&mut values), gradients: None }).unwrap_err();
    assert!(matches!(error, Error::Length { what: "charges", .. }), "{error}");
    let error =
        plan.apply(&[1.0; 4], Sums { values: Some(&mut values), gradients: None }).unwrap_err();
    assert!(matches!(error, Error::Length { what: "values", expected: 4, found: 2 }), "{error}");
    let sums = &mut Sums { values: Some(&mut values), gradients: None };
    let error = direct::sum(&points, same, &[[f64::NAN, 0.0], [0.0, 0.0]], &[1.0; 2], sums);
    assert!(matches!(error, Err(Error::NotFinite { what: "target", index: 0, .. })));
}
