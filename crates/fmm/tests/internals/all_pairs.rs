use fmm::internals::all_pairs::AllPairs;
use fmm::{Densities, Kernel, Potentials, direct};
use samples::{ChargeKind, Distribution, Random};
use simd::Level;

/// What a potential and a component of a gradient may be off: inverse distances are good to
/// 1e-13 ([`simd::Simd::inverse_roots`]), and a term takes their first, third or fifth power.
fn bounds(x: &[f64; 3], sources: &[[f64; 3]], densities: Densities<'_>) -> [f64; 2] {
    let mut bounds = [0.0; 2];
    for (j, y) in sources.iter().enumerate() {
        let r = (0..3).map(|axis| (x[axis] - y[axis]).powi(2)).sum::<f64>().sqrt();
        if r == 0.0 {
            continue;
        }
        if let Some(charges) = densities.charges {
            let term = 1e-13 * charges[j].abs() / r;
            bounds[0] += term;
            bounds[1] += 3.0 * term / r;
        }
        if let Some(dipoles) = densities.dipoles {
            let size = dipoles[3 * j..3 * j + 3].iter().map(|d| d * d).sum::<f64>().sqrt();
            let term = 1e-13 * size / (r * r);
            bounds[0] += 3.0 * term;
            bounds[1] += 2.0 * 5.0 * term / r;
        }
    }
    bounds
}

#[test]
fn every_instruction_set_gives_the_oracles_sums() {
    let mut sources: Vec<[f64; 3]> = Distribution::Plummer.points(1100, &mut Random::new(5));
    // Coincident points, and some closer than inverse roots reach.
    sources[7] = sources[900];
    sources[8] = sources[900].map(|x| x + 4e-16 * x);
    sources[9] = [0.0; 3];
    sources[10] = [1e-18, 0.0, 1e-19];
    let mut targets: Vec<[f64; 3]> = Distribution::Cube.points(70, &mut Random::new(6));
    targets[3] = sources[900];
    targets[4] = [0.0, 1e-18, 0.0];
    let charges = ChargeKind::Mixed.charges(&sources, &mut Random::new(7));
    let mut random = Random::new(8);
    let moments: Vec<f64> = (0..3 * sources.len()).map(|_| random.uniform() - 0.5).collect();
    for (targets, size) in [(Some(&targets), 1.0), (None, 1.0), (Some(&targets), 1e-20)] {
        let sized = |points: &[[f64; 3]]| -> Vec<[f64; 3]> {
            points.iter().map(|x| x.map(|x| x * size)).collect()
        };
        let (sources, targets) = (sized(&sources), targets.map(|t| sized(t)));
        let at = targets.as_deref().unwrap_or(&sources);
        let dipoles: Vec<f64> = moments.iter().map(|d| d * size).collect();
        for kappa in [0.0, 2.0 / size] {
            let kernel = Kernel::Yukawa { kappa };
            for dipoles in [None, Some(&dipoles[..])] {
                let densities = Densities { charges: Some(&charges), dipoles };
                let (mut exact, mut slopes) = (vec![0.0; at.len()], vec![0.0; 3 * at.len()]);
                let mut sums =
                    Potentials { potential: Some(&mut exact), gradient: Some(&mut slopes) };
                direct::sum(kernel, &sources, at, densities, &mut sums).unwrap();
                for level in Level::available() {
                    let mut all = AllPairs::new(kernel, level, &sources, targets.as_deref());
                    let (mut found, mut of_slopes) = (exact.clone(), slopes.clone());
                    for gradient in [false, true] {
                        let mut sums = Potentials {
                            potential: Some(&mut found),
                            gradient: gradient.then_some(&mut of_slopes[..]),
                        };
                        all.apply(1, densities, &mut sums).unwrap();
                    }
                    for (i, x) in at.iter().enumerate() {
                        let [of_potential, of_slope] = bounds(x, &sources, densities);
                        let slope = [0, 1, 2].map(|axis| {
                            let at = 3 * i + axis;
                            (of_slopes[at], slopes[at], of_slope)
                        });
                        for (found, exact, bound) in
                            slope.into_iter().chain([(found[i], exact[i], of_potential)])
                        {
                            let what = (level, kappa, i, found, exact, bound);
                            assert!((found - exact).abs() <= bound, "{what:?}");
                        }
                    }
                }
            }
        }
    }
}
