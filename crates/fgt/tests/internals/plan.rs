use fgt::internals::tuning::{BLOCKS_PER_BOX, inputs};
use fgt::{Bandwidths, Mode, Options, Plan, Sums, Targets};
use samples::{Distribution, Random, mixed_charges};
use simd::Level;

fn levels_agree<const D: usize>() {
    let random = &mut Random::new(31);
    let points: Vec<[f64; D]> = Distribution::Sphere.points(500, random);
    let lengths: Vec<f64> = (0..500).map(|_| 0.2 + 0.5 * random.uniform()).collect();
    for (tolerance, mode) in
        [(1e-4, Mode::Grid), (1e-10, Mode::Grid), (1e-5, Mode::Pairs), (1e-9, Mode::Direct)]
    {
        // One density at a time on the grid, up to four in pairs.
        let k = if mode == Mode::Grid { 1 } else { 5 };
        let charges = mixed_charges(k * 500, random);
        let options = Options::default().tolerance(tolerance).mode(mode).gradient(true);
        let mut first: Option<(Vec<f64>, Vec<f64>)> = None;
        for level in Level::available() {
            let bandwidths = Bandwidths::Each(&lengths);
            let targets = Targets::Sources;
            let plan = Plan::at_level(&points, bandwidths, targets, &options, level).unwrap();
            let mut values = vec![f64::NAN; k * 500];
            let mut gradients = vec![f64::NAN; k * 500 * D];
            let sums = Sums { values: Some(&mut values), gradients: Some(&mut gradients) };
            plan.apply(&charges, sums).unwrap();
            let (value, gradient) =
                first.get_or_insert_with(|| (values.clone(), gradients.clone()));
            // Rounding of a hundred terms, amplified by the deconvolution up to 100 times, and
            // slopes up to 20; rough exponentials err by 1e-8 of terms at each level alike.
            for (a, b) in values.iter().zip(value.iter()) {
                assert!((a - b).abs() < 1e-11, "{level:?} {options:?}: {a} {b}");
            }
            for (a, b) in gradients.iter().zip(gradient.iter()) {
                assert!((a - b).abs() < 1e-9, "{level:?} {options:?}: {a} {b}");
            }
        }
    }
}

/// Where everything is full it is less, on a surface more, but neither by much.
#[test]
fn what_a_box_adds_to_a_grid_is_guessed_within_a_factor_of_two() {
    let options = Options::default().tolerance(1e-3).mode(Mode::Grid);
    for distribution in [Distribution::Cube, Distribution::Sphere] {
        let points: Vec<[f64; 3]> = distribution.points(4000, &mut Random::new(3));
        let (bandwidths, targets) = (Bandwidths::Same(0.0025), Targets::Sources);
        let plan = Plan::new(&points, bandwidths, targets, &options).unwrap();
        let [reach, side, boxes, all] = plan.first_grid().unwrap();
        let each = 3.0 * BLOCKS_PER_BOX * inputs(reach, side as f64);
        let guess = each * boxes as f64;
        let ratio = guess / all as f64;
        assert!((0.5..2.0).contains(&ratio), "{distribution:?}: {ratio}");
    }
}

#[test]
fn every_level_gives_the_same_sums() {
    levels_agree::<1>();
    levels_agree::<2>();
    levels_agree::<3>();
}
