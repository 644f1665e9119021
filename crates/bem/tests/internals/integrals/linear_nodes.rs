//! Potentials of linear densities, in lanes and plain.

use bem::Triangle;
use bem::internals::geometry::Vec3;
use bem::internals::integrals::{Potential, WeightedPoints};

#[test]
fn lanes_match_the_scalar_twin() {
    let mut seed = 11u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut nodes = WeightedPoints::default();
    for round in 0..300 {
        let mut triangle = || Triangle::of([0; 3].map(|_| Vec3::new(random(), random(), random())));
        let (of, source) = (triangle(), triangle());
        if of.area().min(source.area()) < 0.02 {
            continue;
        }
        // On the source, too, where rounding decides on which side a point is.
        let [p, q, s] = source.vertices;
        let on = [p, (p + q) * 0.5, (p + q + s) / 3.0];
        let off: Vec<Vec3> =
            (0..11).map(|_| Vec3::new(random(), random(), random()) * 3.0).collect();
        let densities = [(); 2].map(|()| [random(), random(), random()]);
        let mut sums = [vec![0.5; off.len()], vec![0.5; off.len()]];
        nodes.clear();
        off.iter().for_each(|x| nodes.push(x, random()));
        nodes.add_linear(&source, &densities, &mut sums);
        for (density, sums) in densities.iter().zip(&sums) {
            for (x, sum) in off.iter().zip(sums) {
                let values = source.linear_potentials((*x).into()).single_layer;
                let exact: f64 = density.iter().zip(values).map(|(d, value)| d * value).sum();
                let error = (sum - 0.5 - exact).abs();
                assert!(error < 1e-10, "{round}: {error:.1e}");
            }
        }
        for potential in [Potential::Single, Potential::Double] {
            let single = potential == Potential::Single;
            nodes.clear();
            let mut exact = [[0.0; 3]; 3];
            for x in off.iter().chain(on.iter().filter(|_| single)) {
                let weight = random();
                nodes.push(x, weight);
                let of_x = source.linear_potentials((*x).into());
                let values = if single { of_x.single_layer } else { of_x.double_layer };
                let shares = of.barycentric(x);
                for k in 0..3 {
                    (0..3).for_each(|l| exact[k][l] += weight * shares[k] * values[l]);
                }
            }
            let found = nodes.sum_linear(&of, &source, potential);
            for k in 0..3 {
                for l in 0..3 {
                    // Heights above edges of some 0.05 make coordinates up to 60; the rest is
                    // rounding.
                    let error = (found[k][l] - exact[k][l]).abs();
                    assert!(error < 1e-10, "{round} {potential:?}: {error:.1e}");
                }
            }
        }
    }
}
