//! Sources grouped by bandwidth, and channels of a group.
//!
//! A group has one grid; its sources differ in bandwidth by a factor of 4 at most. Each channel of
//! it has a bandwidth of its own: one for each bandwidth that occurs or, where these are more than
//! interpolation needs, one for each Chebyshev point, at which charges are shares of those of
//! sources. A Gaussian as a function of its logarithmic bandwidth is analytic, so few points are
//! enough.

use std::f64::consts::{FRAC_PI_2, PI};

/// Largest ratio of bandwidths in one group.
const RATIO: f64 = 4.0;

/// Bandwidths of more than this many squared diameters of the whole are one group, however large:
/// Gaussians are then nearly constant.
const WIDE: f64 = 1.0 / 3.0;

/// Sources of one grid.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Indices of the sources, increasing.
    pub(crate) members: Vec<u32>,
    pub(crate) smallest: f64,
    pub(crate) largest: f64,
    /// Bandwidth of each channel.
    pub(crate) channels: Vec<f64>,
    rule: Rule,
}

/// How charges are shared between channels.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// To the channel of the same bandwidth.
    Equal,
    /// By interpolation in the logarithm of the bandwidth.
    Logarithm,
    /// By interpolation in the inverse of the bandwidth.
    Inverse,
}

impl Rule {
    fn variable(self, bandwidth: f64) -> f64 {
        match self {
            Self::Equal => bandwidth,
            Self::Logarithm => bandwidth.ln(),
            Self::Inverse => 1.0 / bandwidth,
        }
    }

    fn bandwidth(self, variable: f64) -> f64 {
        match self {
            Self::Equal => variable,
            Self::Logarithm => variable.exp(),
            Self::Inverse => 1.0 / variable,
        }
    }

    /// Chebyshev points between two bandwidths.
    fn nodes(self, smallest: f64, largest: f64, count: usize) -> Vec<f64> {
        let [a, b] = [smallest, largest].map(|bandwidth| self.variable(bandwidth));
        let node = |i: usize| (PI * (i as f64 + 0.5) / count as f64).cos();
        (0..count).map(|i| self.bandwidth(0.5 * (a + b) + 0.5 * (b - a) * node(i))).collect()
    }
}

/// Groups the bandwidths of all sources, `one` or one each. `diameter` bounds the distances of
/// sources and targets, `tolerance` is for the interpolation.
pub(crate) fn groups(
    bandwidths: &[f64],
    count: usize,
    diameter: f64,
    tolerance: f64,
) -> Vec<Group> {
    if let [one] = *bandwidths {
        let members = (0..count as u32).collect();
        return vec![Group::new(members, bandwidths, one, one, Rule::Equal, diameter, tolerance)];
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by(|&a, &b| bandwidths[a as usize].total_cmp(&bandwidths[b as usize]));
    let wide = WIDE * diameter * diameter;
    let mut groups = Vec::new();
    let mut rest = &order[..];
    while let Some(&first) = rest.first() {
        let smallest = bandwidths[first as usize];
        let rule = if smallest >= wide { Rule::Inverse } else { Rule::Logarithm };
        let end = match rule {
            Rule::Inverse => rest.len(),
            _ => rest.partition_point(|&i| bandwidths[i as usize] <= RATIO * smallest),
        };
        let (these, others) = rest.split_at(end);
        rest = others;
        let largest = bandwidths[these[these.len() - 1] as usize];
        let mut members = these.to_vec();
        members.sort_unstable();
        groups.push(Group::new(members, bandwidths, smallest, largest, rule, diameter, tolerance));
    }
    groups
}

impl Group {
    fn new(
        members: Vec<u32>,
        bandwidths: &[f64],
        smallest: f64,
        largest: f64,
        rule: Rule,
        diameter: f64,
        tolerance: f64,
    ) -> Self {
        let count = points(rule, smallest, largest, diameter, tolerance);
        let mut distinct: Vec<f64> = Vec::new();
        if bandwidths.len() == 1 {
            distinct.push(smallest);
        } else {
            for &i in &members {
                let bandwidth = bandwidths[i as usize];
                if !distinct.contains(&bandwidth) {
                    distinct.push(bandwidth);
                }
                if distinct.len() > count {
                    break;
                }
            }
        }
        if distinct.len() <= count {
            distinct.sort_by(f64::total_cmp);
            return Self { members, smallest, largest, channels: distinct, rule: Rule::Equal };
        }
        let channels = rule.nodes(smallest, largest, count);
        Self { members, smallest, largest, channels, rule }
    }

    /// Shares of a charge of `bandwidth` in each channel, by the barycentric formula.
    pub(crate) fn shares(&self, bandwidth: f64, shares: &mut [f64]) {
        if let Some(own) = self.channels.iter().position(|&channel| channel == bandwidth) {
            shares.fill(0.0);
            shares[own] = 1.0;
            return;
        }
        let x = self.rule.variable(bandwidth);
        let n = self.channels.len();
        let mut total = 0.0;
        for (i, share) in shares.iter_mut().enumerate() {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let weight = sign * (PI * (i as f64 + 0.5) / n as f64).sin();
            *share = weight / (x - self.rule.variable(self.channels[i]));
            total += *share;
        }
        for share in shares {
            *share /= total;
        }
    }
}

/// Chebyshev points that make the error of interpolation at most `tolerance`.
///
/// With a function of modulus at most 1 in the Bernstein ellipse of parameter rho the interpolant
/// of degree n errs by at most 4 rho^-n / (rho - 1).
fn points(rule: Rule, smallest: f64, largest: f64, diameter: f64, tolerance: f64) -> usize {
    if smallest == largest {
        return 1;
    }
    let bound =
        |rho: f64, modulus: f64, n: usize| 4.0 * modulus * rho.powi(1 - n as i32) / (rho - 1.0);
    let error = |n: usize| match rule {
        // exp(-r^2 exp(-s)) has modulus 1 at most for |Im s| <= pi / 2.
        Rule::Equal | Rule::Logarithm => {
            let height = FRAC_PI_2 / (0.5 * (largest / smallest).ln());
            bound(height + (1.0 + height * height).sqrt(), 1.0, n)
        }
        // exp(-r^2 t): t may leave its interval, at the side of 0, by (rho + 1 / rho) / 2 - 1 of
        // half its length.
        Rule::Inverse => {
            let half = 0.5 * diameter * diameter * (1.0 / smallest - 1.0 / largest);
            (1..40)
                .map(|i| 1.0 + 0.5 * f64::from(i))
                .map(|rho| bound(rho, (half * (0.5 * (rho + 1.0 / rho) - 1.0)).exp(), n))
                .fold(f64::INFINITY, f64::min)
        }
    };
    (2..64).find(|&n| error(n) <= tolerance).unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPANS: [(Rule, [f64; 2]); 6] = [
        (Rule::Logarithm, [1.0, 1.3]),
        (Rule::Logarithm, [1.0, 2.0]),
        (Rule::Logarithm, [1.0, 4.0]),
        (Rule::Inverse, [0.34, 0.5]),
        (Rule::Inverse, [0.34, 1.0]),
        (Rule::Inverse, [0.34, 1e6]),
    ];

    /// The largest error of Gaussians between so many channels, at distances up to 1, or to the end
    /// of those that fall off earlier.
    fn largest_error(rule: Rule, [smallest, largest]: [f64; 2], count: usize) -> f64 {
        let channels = rule.nodes(smallest, largest, count);
        let group = Group { members: Vec::new(), smallest, largest, channels, rule };
        let farthest = if matches!(rule, Rule::Inverse) { 1.0 } else { 6.0 * largest.sqrt() };
        let [a, b] = [smallest, largest].map(|bandwidth| rule.variable(bandwidth));
        let mut shares = vec![0.0; count];
        let mut worst = 0.0f64;
        for share in (0..=40).map(|i| f64::from(i) / 40.0) {
            let bandwidth = rule.bandwidth(a + share * (b - a));
            group.shares(bandwidth, &mut shares);
            for square in (0..=60).map(|i| (farthest * f64::from(i) / 60.0).powi(2)) {
                let terms =
                    shares.iter().zip(&group.channels).map(|(s, c)| s * (-square / c).exp());
                worst = worst.max((terms.sum::<f64>() - (-square / bandwidth).exp()).abs());
            }
        }
        worst
    }

    #[test]
    fn there_are_as_many_channels_as_interpolation_needs_and_hardly_more() {
        for (rule, span) in SPANS {
            for tolerance in [5e-4, 5e-6, 5e-8, 5e-10, 5e-12] {
                let count = points(rule, span[0], span[1], 1.0, tolerance);
                let error = largest_error(rule, span, count);
                assert!(error <= tolerance, "{rule:?} {span:?} {tolerance:e}: {error:.1e}");
                // Each costs a convolution.
                let fewer = count.saturating_sub(3);
                let error = if fewer < 1 { 1.0 } else { largest_error(rule, span, fewer) };
                assert!(error > tolerance, "{rule:?} {span:?} {tolerance:e}: {fewer} are enough");
            }
        }
    }

    #[test]
    fn bandwidths_no_more_than_interpolation_needs_have_channels_of_their_own() {
        let own: Vec<f64> = (0..10).map(|i| 1.0 + 0.3 * f64::from(i)).collect();
        let many: Vec<f64> = (0..30).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
        let channels = |bandwidths: &[f64]| {
            let twice = [bandwidths, bandwidths].concat();
            let groups = groups(&twice, twice.len(), 100.0, 5e-10);
            assert_eq!(groups.len(), 1);
            groups[0].channels.clone()
        };
        assert_eq!(channels(&own), own);
        assert!((10..30).contains(&channels(&many).len()));
    }
}
