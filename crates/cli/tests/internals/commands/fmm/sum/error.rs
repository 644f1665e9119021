use farad_cli::internals::exit::{Exit, Failure};
use farad_cli::internals::machine::threads;
use farad_cli::internals::sum::{Input, SAMPLE_SEED, direct_sums, relative_l2, sample};
use fmm::{Densities, Kernel, Mode, Potentials, direct};
use samples::Random;

#[test]
fn samples_are_distinct_and_repeatable() {
    let mut chosen = sample(5000, 1000);
    assert_eq!(chosen, sample(5000, 1000));
    chosen.sort_unstable();
    chosen.dedup();
    assert_eq!(chosen.len(), 1000);
    assert_eq!(sample(3, 1000), [0, 1, 2]);
    // As a shuffle of all has them.
    let (count, mut random) = (1200, Random::new(SAMPLE_SEED));
    let mut all: Vec<usize> = (0..count).collect();
    (0..1000).for_each(|place| all.swap(place, place + random.below(count - place)));
    assert_eq!(sample(count, 1000), all[..1000]);
}

#[test]
fn direct_sums_look_for_signals_between_parts_that_are_those_of_the_whole() {
    let mut random = Random::new(5);
    let (n, m, k) = (60, 41, 2);
    let mut some = |count: usize| -> Vec<f64> { (0..count).map(|_| random.uniform()).collect() };
    let (sources, targets) = (some(3 * n), some(3 * m));
    let (charges, dipoles) = (some(k * n), some(3 * k * n));
    let (sources, targets) = (sources.as_chunks().0, targets.as_chunks().0);
    let densities = Densities { charges: Some(&charges), dipoles: Some(&dipoles) };
    let kernel = Kernel::Yukawa { kappa: 0.7 };
    let (mut potential, mut gradient) = (vec![0.0; k * m], vec![0.0; 3 * k * m]);
    let mut sums = Potentials { potential: Some(&mut potential), gradient: Some(&mut gradient) };
    direct::sum(kernel, sources, targets, densities, &mut sums).unwrap();
    let (count, mode) = (k, Mode::Fmm);
    let input = Input { sources, targets: Some(targets), densities, count, mode };
    let (mut parts, mut slopes) = (vec![0.0; k * m], vec![0.0; 3 * k * m]);
    let mut looks = 0;
    let look = || {
        looks += 1;
        Ok(())
    };
    direct_sums(kernel, &input, targets, &mut parts, &mut slopes, 1, look).unwrap();
    assert_eq!((parts, slopes), (potential, gradient));
    assert_eq!(looks, k * m.div_ceil(threads()));
    // The first signal ends them.
    let mut left = 2;
    let stop = || {
        left -= 1;
        if left > 0 { Ok(()) } else { Err(Failure::interrupted()) }
    };
    let mut sums = vec![0.0; k * m];
    let failure = direct_sums(kernel, &input, targets, &mut sums, &mut [], 1, stop).unwrap_err();
    assert_eq!((failure.exit, left), (Exit::Interrupted, 0));
}

#[test]
fn the_error_is_relative_to_the_exact_values() {
    assert_eq!(relative_l2(&[0.0], &[0.0]), 0.0);
    // Squares of the last two sizes are beyond what doubles hold.
    for size in [1.0, 1e-300, 1e300] {
        let error = relative_l2(&[3.0 * size, 5.0 * size], &[3.0 * size, 4.0 * size]);
        assert!((error - 0.2).abs() < 1e-15, "{size:e}: {error}");
        assert_eq!(relative_l2(&[0.0], &[size]), 1.0);
    }
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(relative_l2(&[bad, 1.0], &[1.0, 1.0]).is_nan());
    }
    assert!(relative_l2(&[0.0, 1.0], &[0.0, 0.0]) > 1e300);
}
