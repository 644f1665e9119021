//! Bounds of what rules leave.

use bem::internals::geometry::Vec3;
use bem::internals::quadrature::{Remainder, Rule, sums};

/// Differences at random points around random triangles, thin ones among them.
#[test]
fn no_difference_is_larger_than_its_bound() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    for degrees in [[1, 2], [2, 4], [4, 6], [6, 8], [8, 23]] {
        let rules = degrees.map(Rule::of_degree);
        let remainder = Remainder::between(rules);
        let mut closest = [0.0f64; 2];
        for round in 0..3000 {
            let thin = [1.0, 0.3, 0.01][round % 3];
            let mut corners = [0; 3].map(|_| Vec3::new(random(), thin * random(), thin * random()));
            let centroid = (corners[0] + corners[1] + corners[2]) / 3.0;
            corners.iter_mut().for_each(|v| *v -= centroid);
            let radius = corners.iter().map(|v| v.norm()).fold(0.0, f64::max);
            let direction = Vec3::new(random(), random(), random()).normalize();
            let distance = radius * (1.05 + 4.0 * (random() + 0.5).powi(2));
            let x = [direction * distance; 3];
            let point = Rule::of_degree(1);
            let [a, b] = rules.map(|rule| sums::sum(point, &x, rule, &corners));
            let [f, g] = rules.map(|rule| sums::field(point, &x, rule, &corners));
            let shares = [
                ((a - b).abs() - 1e-14 / distance) / remainder.of_potentials(radius, distance),
                ((f - g).norm() - 1e-13 / distance.powi(2)) / remainder.of_fields(radius, distance),
            ];
            for (closest, share) in closest.iter_mut().zip(shares) {
                assert!(share <= 1.0, "{degrees:?} {round}: {share}");
                *closest = closest.max(share);
            }
        }
        // Bounds that are not far away are of use.
        println!("{degrees:?}: at most {closest:.3?} of the bounds");
        assert!(closest[0] > 0.05 && closest[1] > 0.02, "{degrees:?} {closest:?}");
    }
}

#[test]
fn reaches_are_where_bounds_are_met() {
    let remainder = Remainder::of(Rule::of_degree(4));
    for [charge, slope] in [[1.0, 0.0], [0.0, 2.0], [0.7, 0.1]] {
        let bound = |distance: f64| {
            charge * remainder.of_potentials(0.1, distance)
                + slope * remainder.of_mode_potentials(0.1, distance)
        };
        for error in [1e-3, 1e-6, 1e-9] {
            let distance = remainder.reach(0.1, [charge, slope], error);
            assert!(bound(distance) <= error);
            // Steps of tables lie between.
            assert!(bound(0.9 * distance) > error, "{error}: {distance}");
        }
        assert!(remainder.reach(0.1, [charge, slope], 0.0) == f64::INFINITY);
    }
}
