//! What estimates of errors leave to points and to fast sums.

use bem::internals::geometry::Vec3;
use bem::internals::physics::estimate::{near_radii, rule, tolerance_of_sum};
use bem::internals::quadrature::modes::{MODES, modes};
use bem::{Density, Triangle};

/// Where points take the place of closed forms they are off by some 2e-4 of a panel's contribution:
/// more would be seen in bars, and less takes time.
#[test]
fn points_serve_from_where_they_are_off_by_a_few_parts_in_ten_thousand() {
    let apexes = [[0.5, 0.866], [0.0, 1.0], [0.5, 0.2]];
    for (density, modes_of) in [(Density::Constant, 1), (Density::Linear, MODES)] {
        let mut most = 0.0f64;
        for [x, y] in apexes {
            let corners = [Vec3::zeros(), Vec3::new(1.0, 0.0, 0.0), Vec3::new(x, y, 0.0)];
            let panel = Triangle::of(corners);
            let centroid = (corners[0] + corners[1] + corners[2]) / 3.0;
            let radius = corners.iter().map(|v| (v - centroid).norm()).fold(0.0, f64::max);
            let distance = near_radii(density) * radius;
            for step in 0..720 {
                let angle = f64::from(step) * std::f64::consts::PI / 360.0;
                let x = centroid + Vec3::new(angle.cos(), angle.sin(), 0.0) * distance;
                let exact = panel.linear_potentials(x.into()).single_layer;
                let unit = |k: usize| modes([0, 1, 2].map(|l| f64::from(u8::from(k == l))));
                for m in 0..modes_of {
                    let exact: f64 = (0..3).map(|k| unit(k)[m] * exact[k] / panel.area()).sum();
                    let by_points: f64 = rule(density)
                        .nodes()
                        .iter()
                        .map(|node| {
                            let [u, v, w] = node.barycentric;
                            let y = corners[0] * u + corners[1] * v + corners[2] * w;
                            node.weight * modes(node.barycentric)[m] / (x - y).norm()
                        })
                        .sum();
                    most = most.max((exact - by_points).abs() * distance);
                }
            }
        }
        assert!((1.4e-4..3e-4).contains(&most), "{density:?}: {most:e}");
    }
}

/// Energies are off by the square of what sums are off by: for a tolerance of 1e-6 sums to 3e-5 add
/// 1e-9. Of few targets sums are the tightest, and none is looser than what single precision makes
/// fast.
#[test]
fn sums_follow_the_root_of_the_tolerance() {
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
    assert!(close(tolerance_of_sum(60_000, 1e-6), 3e-5));
    assert!(close(tolerance_of_sum(60_000, 1e-8), 3e-6));
    assert!(
        close(tolerance_of_sum(60_000, 1e-4), 1e-4) && close(tolerance_of_sum(60_000, 1e-12), 1e-6)
    );
    assert!(close(tolerance_of_sum(50_000, 1e-4), 1e-6));
}
