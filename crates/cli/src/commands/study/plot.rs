//! The plot of a study: how values approach their limits.

use bem::convergence::Range;
use farad::{Entry, Verdict};

use super::results::Results;
use crate::report::plot::{self, Curve, Labels};

/// Curves beyond this make the plot unreadable; the largest entries are drawn.
const MOST_CURVES: usize = 6;

/// The distance from the extrapolated value over the element size, of the largest entries that have
/// one.
pub(super) fn svg(title: &str, results: &Results) -> String {
    let asymptotic = Verdict::Of(Range::Asymptotic);
    let mut drawn: Vec<&Entry> =
        results.entries.iter().filter(|entry| entry.verdict == asymptotic).collect();
    drawn.sort_by(|a, b| b.extrapolated.abs().total_cmp(&a.extrapolated.abs()));
    drawn.truncate(MOST_CURVES);
    let sizes: Vec<f64> = results.meshes.iter().map(|level| level.relative_size).collect();
    let error = |entry: &Entry, value: f64| (value / entry.extrapolated - 1.0).abs();
    let mut curves: Vec<Curve> = drawn
        .iter()
        .map(|entry| Curve {
            label: match entry.order {
                Some(order) => format!("{}, order {order:.2}", entry.key),
                None => entry.key.to_string(),
            },
            points: sizes.iter().zip(&entry.values).map(|(&h, &v)| (h, error(entry, v))).collect(),
            is_guide: false,
        })
        .collect();
    if let Some(first) = drawn.first() {
        let start = error(first, first.values[0]);
        for order in [1, 2] {
            let points = sizes.iter().map(|&h| (h, start * h.powi(order))).collect();
            curves.push(Curve { label: format!("order {order}"), points, is_guide: true });
        }
    }
    let labels = Labels {
        title,
        x: "element size, relative to the first mesh",
        y: "relative distance from the extrapolated value",
    };
    plot::svg(labels, &curves)
}
