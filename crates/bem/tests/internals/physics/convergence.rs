//! Orders and limits of sequences.

use bem::convergence::{Range, estimate};
use proptest::prelude::*;

fn powers(limit: f64, factor: f64, order: f64, count: i32) -> Vec<f64> {
    (0..count).map(|k| limit + factor * 2f64.powf(-order * f64::from(k))).collect()
}

proptest! {
    #[test]
    fn a_power_is_found_exactly(
        limit in -10.0f64..10.0,
        factor in prop_oneof![-2.0f64..-0.1, 0.1f64..2.0],
        order in 0.5f64..3.4,
        count in 3i32..7,
    ) {
        let values = powers(limit, factor, order, count);
        // Rounding of the values against their smallest difference.
        let rounding = 1e-14 * 2f64.powf(order * f64::from(count)) * 20.0;
        let found = estimate(&values, 0.0).unwrap();
        prop_assert_eq!(found.range, Range::Asymptotic);
        prop_assert!((found.order.unwrap() - order).abs() < rounding.max(1e-12));
        prop_assert!((found.limit - limit).abs() <= rounding.max(1e-12));
    }
}

#[test]
fn the_error_is_not_underestimated_with_a_second_power() {
    // f = 1 + h^2 + h^3 / 2: from three values the correction bounds the error, from more the
    // change does.
    let f = |h: f64| 1.0 + h * h + 0.5 * h.powi(3);
    for count in 3..7 {
        let values: Vec<f64> = (0..count).map(|k| f(0.5f64.powi(k))).collect();
        let found = estimate(&values, 0.0).unwrap();
        assert_eq!(found.range, Range::Asymptotic);
        assert!((found.limit - 1.0).abs() <= found.error.unwrap(), "{found:?}");
    }
}

#[test]
fn what_is_no_power_is_said_to_be_none() {
    let range = |values: &[f64], noise| estimate(values, noise).unwrap().range;
    assert_eq!(range(&[1.0, 2.0, 1.5], 0.0), Range::Oscillating);
    assert_eq!(range(&[1.0, 2.0, 3.0], 0.0), Range::Slow);
    assert_eq!(range(&[1.0, 2.0, 4.0], 0.0), Range::Slow);
    assert_eq!(range(&[1.0, 1.5, 1.5 + 1e-7], 1e-6), Range::Noise);
    assert_eq!(range(&[2.0, 2.0, 2.0], 0.0), Range::Constant);
    // Differences count from four times the uncertainty on.
    assert_eq!(range(&[1.0, 1.5, 1.625], 0.125 / 3.5), Range::Noise);
    assert_eq!(range(&[1.0, 1.5, 1.625], 0.125 / 4.5), Range::Asymptotic);
    // The gap between two plates is far below the size of the elements: that they hardly change
    // says nothing.
    assert_eq!(estimate(&[500.0, 500.000_1, 500.000_2], 1e-3).unwrap().error, None);
    // First order, then third.
    assert_eq!(range(&[1.0, 0.5, 0.25, 0.25 - 1.0 / 32.0], 0.0), Range::Unsettled);
    assert_eq!(range(&[0.0, 1.0, 1.0 + 1e-4], 0.0), Range::Unsettled);
    assert_eq!(estimate(&[1.0, 2.0], 0.0), None);
    assert_eq!(estimate(&[1.0, f64::NAN, 2.0], 0.0), None);
}

/// Values of `farad study` on plates, cubes and spheres in six levels, relative to the limit:
/// the error that a triple gives covers the error of its last value.
#[test]
fn errors_cover_what_is_left() {
    let sequences: [&[f64]; 6] = [
        // The unit cube from 12 triangles on.
        &[-1.80e-2, -1.11e-2, -4.77e-3, -1.97e-3, -8.00e-4, -3.22e-4],
        // A square plate, then two of them at 0.3 and 0.1 of their side: the gap is resolved
        // late.
        &[-5.86e-2, -3.26e-2, -1.74e-2, -9.04e-3, -4.67e-3],
        &[-5.12e-2, -3.03e-2, -1.67e-2, -8.86e-3, -4.62e-3],
        &[-3.86e-2, -2.71e-2, -1.70e-2, -9.74e-3, -5.30e-3],
        // A sphere, then two that nearly touch.
        &[-4.96e-2, -1.31e-2, -3.34e-3, -8.39e-4, -2.10e-4],
        &[-1.89e-1, -6.79e-2, -1.94e-2, -5.08e-3],
    ];
    for sequence in sequences {
        let triples = sequence.windows(3).chain(sequence.windows(4));
        for values in triples {
            let found = estimate(values, 1e-6).unwrap();
            if let Some(error) = found.error {
                assert!(found.limit.abs() <= error, "{values:?} {found:?}");
                // And is of use: below what the last mesh itself is off by, threefold.
                assert!(error < 3.0 * values[values.len() - 1].abs(), "{values:?} {found:?}");
            }
        }
    }
}
