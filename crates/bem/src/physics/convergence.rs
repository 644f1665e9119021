//! What a sequence of values on uniformly refined meshes says about the limit: observed order,
//! extrapolation, error.
//!
//! With f(h) = f + c h^p and element sizes h, h/2, h/4 the differences of successive values fall by
//! 2^p, and the last value lacks d / (2^p - 1) of the limit, d being the last difference (L. F.
//! Richardson, 1911; P. J. Roache, Perspective: a method for uniform reporting of grid refinement
//! studies, 1994).
//!
//! The order that three values show is not yet that of the limit. What it may still change by is
//! what the error is made of: the extrapolated value is taken with orders above and below.
//! docs/validation.md has the share of errors that these bars cover.

/// Orders of successive triples that differ by more than this do not yet show the power law.
const SETTLED: f64 = 0.5;

/// A lower order than this extrapolates by more than three times the last difference, which no
/// three values support. Edges and corners of conductors have orders from 2/3 on.
const LEAST_ORDER: f64 = 0.4;

/// A higher order than this is a coincidence: smooth surfaces have orders up to 3, facets have 2.
const GREATEST_ORDER: f64 = 3.5;

/// The order that three values show may rise by this, as gaps and edges come to be resolved, ...
const RISE: f64 = 0.5;

/// ... or fall by this, ...
const FALL: f64 = 0.25;

/// ... and by more where it is above what facets have.
const USUAL_ORDER: f64 = 1.75;

/// With four values and more it may change by this many times what it did from one triple to the
/// next, and this.
const DRIFT: (f64, f64) = (1.25, 0.03);

/// Differences below this times the values' own uncertainty are noise.
const NOISE: f64 = 4.0;

/// Whether the values follow a power of the element size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// They do, as far as they tell.
    Asymptotic,
    /// Differences have fallen to the solver's own errors: there is nothing to see an order in.
    Noise,
    /// No difference was ever larger than the solver's own errors: the values are exact, or the
    /// meshes miss what matters.
    Constant,
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
    /// Estimated error of `limit`, absolute; `None` where the values support no estimate.
    pub error: Option<f64>,
}

/// Judges values on meshes of which each is refined to half the element size of the one before;
/// `noise` is the error of each value that does not come from the mesh, absolute. `None` with fewer
/// than three values, or with one that is not finite.
///
/// There is an error in the asymptotic range: how far the extrapolated value moves when the order
/// is another, by as much as three values leave open, or by what it changed from one triple to the
/// next where there are more. Where differences have fallen to noise it is the difference before.
pub fn estimate(values: &[f64], noise: f64) -> Option<Estimate> {
    let [.., a, b, c] = *values else { return None };
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let none = |range, order| Some(Estimate { range, order, limit: c, error: None });
    let order = match order(a, b, c, noise) {
        Ok(order) => order,
        Err(Range::Noise) => {
            let is_constant =
                values.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= NOISE * noise);
            if is_constant {
                return none(Range::Constant, None);
            }
            let error = Some((b - a).abs().max(NOISE * noise));
            return Some(Estimate { range: Range::Noise, order: None, limit: c, error });
        }
        Err(range) => return none(range, None),
    };
    let (rise, fall) = match *values {
        [.., z, a, b, _] => match self::order(z, a, b, noise) {
            Ok(before) if (order - before).abs() <= SETTLED => {
                let onward = DRIFT.0 * (order - before).abs() + DRIFT.1;
                if order >= before { (onward, 0.5 * onward) } else { (0.5 * onward, onward) }
            }
            _ => return none(Range::Unsettled, Some(order)),
        },
        _ => (RISE, FALL.max(order - USUAL_ORDER)),
    };
    let last = c - b;
    let correction = |order: f64| last / (order.exp2() - 1.0);
    let here = correction(order);
    // Orders of a half of the least one: that far down nothing is known.
    let low = correction((order - fall).max(0.5 * LEAST_ORDER));
    let high = correction(order + rise);
    let by_order = (low - here).abs().max((here - high).abs());
    // The noise of three values in the correction, and that of the last.
    let ratio = order.exp2();
    let by_noise = noise * (1.0 + 2.0 * (ratio + 1.0) / (ratio - 1.0).powi(2));
    let error = Some(by_order + by_noise);
    Some(Estimate { range: Range::Asymptotic, order: Some(order), limit: c + here, error })
}

/// Order of three values.
fn order(a: f64, b: f64, c: f64, noise: f64) -> Result<f64, Range> {
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
        Ok(order)
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
    /// what a triple says covers what is left.
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
}
