//! Orders of rules over pairs of triangles.

use bem::internals::integrals::WeightedPoints;
use bem::internals::quadrature::{self, Rule, sums};
use bem::{PairQuadrature, Triangle};

/// Orders as they are chosen against integrals along edges, or where these cancel against a
/// rule of high order.
#[test]
fn orders_follow_distance_and_size() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let highest = Rule::of_degree(quadrature::MAX_TRIANGLE_DEGREE);
    for accuracy in [1e-5, 1e-6, 1e-8, 1e-10] {
        let rule = PairQuadrature::new(accuracy, 0);
        for distance in [0.6, 0.9, 1.3, 2.0, 3.0, 5.0, 20.0] {
            let mut left = 100;
            while left > 0 {
                let mut near = |x: f64, size: f64| {
                    Triangle::new(
                        [0; 3].map(|_| [x + size * random(), size * random(), size * random()]),
                    )
                };
                let (s, t) = (near(0.0, 1.0), near(distance, 0.5));
                if s.area() < 0.02 || t.area() < 0.005 {
                    continue;
                }
                left -= 1;
                let exact = if distance < 2.0 {
                    PairQuadrature::new(1e-12, 0).close(&s, &t, &mut WeightedPoints::default())
                } else {
                    s.area() * t.area() * sums::sum(highest, &s.vertices, highest, &t.vertices)
                };
                let error = (rule.single_layer(&s, &t) / exact - 1.0).abs();
                assert!(error < 2.0 * accuracy, "{accuracy} at {distance}: {error:.1e}");
            }
        }
    }
}
