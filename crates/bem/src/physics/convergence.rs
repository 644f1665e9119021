//! Limit of a sequence of values on uniformly refined meshes: observed order, extrapolation, error.
//!
//! With f(h) = f + c h^p and element sizes h, h/2, h/4 the differences of successive values fall by
//! 2^p, and the last value lacks d / (2^p - 1) of the limit, d being the last difference (L. F.
//! Richardson, 1911; P. J. Roache, Perspective: a method for uniform reporting of grid refinement
//! studies, 1994).
//! The order that three values show is not yet that of the limit. The error estimate comes from how
//! much it may still change: the value is extrapolated with larger and smaller orders.
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

/// With four or more values it may change by this multiple of its last change from one triple to
/// the next, plus this constant.
const DRIFT: (f64, f64) = (1.25, 0.03);

/// Differences below this multiple of the values' own uncertainty are noise.
const NOISE: f64 = 4.0;

/// Whether the values follow a power of the element size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// They do, as far as the values show.
    Asymptotic,
    /// Differences have fallen to the solver's own errors: no order can be observed.
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

/// Result of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Whether the other fields are reliable.
    pub range: Range,
    /// The exponent of the element size, from the last three values; `None` where there is none.
    pub order: Option<f64>,
    /// The value for elements of size zero; the last value itself unless the range is asymptotic.
    pub limit: f64,
    /// Estimated error of `limit`, absolute; `None` where the values support no estimate.
    pub error: Option<f64>,
}

/// Evaluates values on meshes of which each has half the element size of the one before; `noise` is
/// the absolute error of each value that does not come from the mesh. `None` for fewer than three
/// values, or if one is not finite.
///
/// In the asymptotic range the error is the change of the extrapolated value when the order
/// changes, by as much as three values leave open, or by its change from one triple to the next if
/// there are more values. Where differences have fallen to noise it is the difference before.
#[must_use]
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
