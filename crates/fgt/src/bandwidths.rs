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
pub struct Group {
    /// Indices of the sources, increasing.
    pub members: Vec<u32>,
    /// The smallest bandwidth.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// Bandwidth of each channel.
    pub channels: Vec<f64>,
    /// How these are chosen.
    pub rule: Rule,
}

/// How charges are shared between channels.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// To the channel of the same bandwidth.
    Equal,
    /// By interpolation in the logarithm of the bandwidth.
    Logarithm,
    /// By interpolation in the inverse of the bandwidth.
    Inverse,
}

impl Rule {
    /// What is interpolated in, of a bandwidth.
    pub fn variable(self, bandwidth: f64) -> f64 {
        match self {
            Self::Equal => bandwidth,
            Self::Logarithm => bandwidth.ln(),
            Self::Inverse => 1.0 / bandwidth,
        }
    }

    /// The bandwidth of what is interpolated in.
    pub fn bandwidth(self, variable: f64) -> f64 {
        match self {
            Self::Equal => variable,
            Self::Logarithm => variable.exp(),
            Self::Inverse => 1.0 / variable,
        }
    }

    /// Chebyshev points between two bandwidths.
    pub fn nodes(self, smallest: f64, largest: f64, count: usize) -> Vec<f64> {
        let [a, b] = [smallest, largest].map(|bandwidth| self.variable(bandwidth));
        let node = |i: usize| (PI * (i as f64 + 0.5) / count as f64).cos();
        (0..count).map(|i| self.bandwidth(0.5 * (a + b) + 0.5 * (b - a) * node(i))).collect()
    }
}

/// Groups the bandwidths of all sources, `one` or one each. `diameter` bounds the distances of
/// sources and targets, `tolerance` is for the interpolation.
pub fn groups(bandwidths: &[f64], count: usize, diameter: f64, tolerance: f64) -> Vec<Group> {
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
    pub fn shares(&self, bandwidth: f64, shares: &mut [f64]) {
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
pub fn points(rule: Rule, smallest: f64, largest: f64, diameter: f64, tolerance: f64) -> usize {
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

/// The bandwidth of a source.
pub(crate) fn bandwidth_of(bandwidths: &[f64], source: usize) -> f64 {
    if let [one] = *bandwidths { one } else { bandwidths[source] }
}
