//! What a sequence of values on uniformly refined meshes says about the limit: observed order, extrapolation, error.
//!
//! With f(h) = f + c h^p and element sizes h, h/2, h/4 the differences of successive values fall by 2^p, and the last value
//! lacks d / (2^p - 1) of the limit, d being the last difference (L. F. Richardson, 1911; P. J. Roache, Perspective: a method for
//! uniform reporting of grid refinement studies, 1994).

/// Orders of successive triples that differ by more than this do not yet show the power law.
const SETTLED: f64 = 0.35;

/// A lower order than this extrapolates by more than three times the last difference, which no three values support.
const LEAST_ORDER: f64 = 0.4;

/// A higher order than this is a coincidence: no discretisation here has it.
const GREATEST_ORDER: f64 = 8.0;

/// Differences below this times the values' own uncertainty are noise.
const NOISE: f64 = 4.0;

/// Whether the values follow a power of the element size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// They do, as far as they tell.
    Asymptotic,
    /// Differences are no larger than the solver's own errors: there is nothing to see an order in.
    Noise,
    /// Successive differences have different signs.
    Oscillating,
    /// Differences do not fall, or fall too slowly, to extrapolate from.
    Slow,
    /// Orders of successive triples differ, or are higher than any method's.
    Unsettled,
}

/// What a sequence says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Whether the rest may be relied on.
    pub range: Range,
    /// The exponent of the element size, from the last three values; `None` where there is none.
    pub order: Option<f64>,
    /// The value for elements of size zero; the last value itself unless the range is asymptotic.
    pub limit: f64,
    /// Estimated error of `limit`, absolute.
    pub error: f64,
}

/// Judges values on meshes of which each is refined to half the element size of the one before; `noise` is the error of each
/// value that does not come from the mesh, absolute. `None` with fewer than three values, or with one that is not finite.
///
/// The error is the last correction where there are three values, and the change of the extrapolated value from one triple to
/// the next where there are more; never less than the noise. Outside of the asymptotic range it is the largest of the last two
/// differences.
pub fn estimate(values: &[f64], noise: f64) -> Option<Estimate> {
    let [.., a, b, c] = *values else { return None };
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let last = triple(a, b, c, noise);
    let before = match *values {
        [.., z, a, b, _] => Some(triple(z, a, b, noise)),
        _ => None,
    };
    let (first_difference, last_difference) = (b - a, c - b);
    let unreliable = |range, order| Estimate {
        range,
        order,
        limit: c,
        error: first_difference.abs().max(last_difference.abs()).max(noise),
    };
    let (order, limit) = match last {
        Ok(pair) => pair,
        Err(Range::Noise) => {
            let error = NOISE * noise;
            return Some(Estimate { range: Range::Noise, order: None, limit: c, error });
        }
        Err(range) => return Some(unreliable(range, None)),
    };
    let error = match before {
        Some(Ok((order_before, limit_before))) => {
            if (order - order_before).abs() > SETTLED {
                return Some(unreliable(Range::Unsettled, Some(order)));
            }
            (limit - limit_before).abs()
        }
        Some(Err(_)) => return Some(unreliable(Range::Unsettled, Some(order))),
        None => (limit - c).abs(),
    };
    Some(Estimate { range: Range::Asymptotic, order: Some(order), limit, error: error.max(noise) })
}

/// Order and limit of three values.
fn triple(a: f64, b: f64, c: f64, noise: f64) -> Result<(f64, f64), Range> {
    let (first, last) = (b - a, c - b);
    if last.abs() <= NOISE * noise {
        return Err(Range::Noise);
    }
    if first * last <= 0.0 {
        return Err(Range::Oscillating);
    }
    let order = (first / last).log2();
    if order < LEAST_ORDER {
        Err(Range::Slow)
    } else if order > GREATEST_ORDER {
        Err(Range::Unsettled)
    } else {
        Ok((order, c + last / (order.exp2() - 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn powers(limit: f64, factor: f64, order: f64, count: i32) -> Vec<f64> {
        (0..count).map(|k| limit + factor * 2f64.powf(-order * f64::from(k))).collect()
    }

    proptest! {
        #[test]
        fn a_power_is_found_exactly(
            limit in -10.0f64..10.0,
            factor in prop_oneof![-2.0f64..-0.1, 0.1f64..2.0],
            order in 0.5f64..5.0,
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
        // f = 1 + h^2 + h^3 / 2: from three values the correction bounds the error, from more the change does.
        let f = |h: f64| 1.0 + h * h + 0.5 * h.powi(3);
        for count in 3..7 {
            let values: Vec<f64> = (0..count).map(|k| f(0.5f64.powi(k))).collect();
            let found = estimate(&values, 0.0).unwrap();
            assert_eq!(found.range, Range::Asymptotic);
            assert!((found.limit - 1.0).abs() <= found.error, "{found:?}");
        }
    }

    #[test]
    fn what_is_no_power_is_said_to_be_none() {
        let range = |values: &[f64], noise| estimate(values, noise).unwrap().range;
        assert_eq!(range(&[1.0, 2.0, 1.5], 0.0), Range::Oscillating);
        assert_eq!(range(&[1.0, 2.0, 3.0], 0.0), Range::Slow);
        assert_eq!(range(&[1.0, 2.0, 4.0], 0.0), Range::Slow);
        assert_eq!(range(&[1.0, 1.5, 1.5 + 1e-7], 1e-6), Range::Noise);
        assert_eq!(range(&[2.0, 2.0, 2.0], 0.0), Range::Noise);
        // First order, then third.
        assert_eq!(range(&[1.0, 0.5, 0.25, 0.25 - 1.0 / 32.0], 0.0), Range::Unsettled);
        assert_eq!(range(&[0.0, 1.0, 1.0 + 1e-4], 0.0), Range::Unsettled);
        assert_eq!(estimate(&[1.0, 2.0], 0.0), None);
        assert_eq!(estimate(&[1.0, f64::NAN, 2.0], 0.0), None);
    }
}
