//! Integrals between the children of a triangle.

use bem::internals::geometry::Vec3;
use bem::internals::physics::estimate::between;
use bem::{PairQuadrature, Triangle};

/// Gains of densities on children, by these integrals and by exact ones.
fn gains(corners: [Vec3; 3], densities: [f64; 4]) -> [f64; 2] {
    let [a, b, c] = corners;
    let (ab, bc, ca) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
    let children = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].map(Triangle::of);
    let exact = PairQuadrature::new(1e-8, 0);
    let found = between(&corners);
    let gain = |of: &dyn Fn(usize, usize) -> f64| {
        let all = (0..4).flat_map(|k| (0..4).map(move |l| (k, l)));
        all.map(|(k, l)| densities[k] * of(k, l) * densities[l]).sum::<f64>()
    };
    [gain(&|k, l| found[k][l]), gain(&|k, l| exact.single_layer(&children[k], &children[l]))]
}

/// From equilateral triangles to slivers, in the plane and out of it: what densities without charge
/// gain is right to one per cent, which estimates need. Heights of more than a tenth of the longest
/// side are those of one rule.
#[test]
fn gains_of_children_are_right_to_a_per_cent() {
    let apexes = [[0.5, 0.87], [0.0, 1.0], [0.4, 0.33], [0.9, 0.2], [0.3, 0.101], [0.3, 0.01]];
    let densities = [
        [1.0, 0.0, 0.0, -1.0],
        [0.0, 1.0, 0.0, -1.0],
        [0.0, 0.0, 1.0, -1.0],
        [1.0, -1.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, -3.0],
    ];
    for [s, t] in apexes {
        let turned =
            |s: f64, t: f64| Vec3::new(1.0 + 0.6 * s, 0.8 * s - 0.5 * t, 0.75_f64.sqrt() * t);
        let corners = [turned(0.0, 0.0), turned(1.0, 0.0), turned(s, t)];
        for of in densities {
            let [found, exact] = gains(corners, of);
            assert!((found / exact - 1.0).abs() < 1e-2, "{s} {t} {of:?}: {found} for {exact}");
        }
    }
}
