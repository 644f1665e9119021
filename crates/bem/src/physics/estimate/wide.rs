//! Single-layer integrals between the children of a triangle that is no sliver. GPU twin:
//! kernels/bem/children.cu.

use simd::Real;

use crate::geometry::triangle::{Triangle, Vec3};
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::rule::Rule;

/// Degree of the rule for children at different corners, on triangles whose height is
/// at least this share of their longest side: what added functions gain is right to 0.9 % there.
pub(super) const DEGREE: usize = 2;
pub(super) const WIDE: f64 = 0.1;

/// Integrals between children of a triangle that is no sliver, all of which are alike: the middle
/// one turned by half a turn about the middle of one of its sides is the child beyond that side.
pub(super) struct Wide {
    /// Of a child with itself.
    own: f64,
    /// Of the middle child with those at the corners.
    adjacent: [f64; 3],
    /// Of the children at corners k and k + 1.
    apart: [f64; 3],
}

impl Wide {
    /// `None` of slivers.
    pub(super) fn new(&[a, b, c]: &[Vec3; 3]) -> Option<Self> {
        let (ab, bc, ca) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
        let middle = Triangle::of([ab, bc, ca]);
        let [l, m, n] = middle.lengths;
        let longest = l.max(m).max(n);
        let is_wide = 2.0 * middle.area >= WIDE * longest * longest;
        if !is_wide {
            return None;
        }
        let own = middle.self_integral();
        // Two children on a side are a parallelogram.
        let adjacent = [[l, m, n], [m, n, l], [n, l, m]]
            .map(|[p, q, side]| 0.5 * of_parallelogram(2.0 * middle.area, [p, q], side) - own);
        // The next corner's child is seen from this one's as the middle from that one turned about
        // the middle of their side.
        let next = [[ab, b, bc], [bc, c, ca], [ca, a, ab]];
        let twice_their_side = [ca + ab, ab + bc, bc + ca];
        let rule = Rule::of_degree(DEGREE);
        let mut at = WeightedPoints::with_capacity(3 * rule.len());
        for (next, twice) in next.iter().zip(twice_their_side) {
            rule.on(next).for_each(|(x, weight)| at.push(&(twice - x), weight));
        }
        let mut potentials = Vec::with_capacity((3 * rule.len()).next_multiple_of(f64::MAX_LANES));
        at.add_potentials(&middle, middle.area, &mut potentials);
        let mut apart = [0.0; 3];
        let values = potentials.iter().zip(&at.weights).map(|(value, weight)| value * weight);
        values.enumerate().for_each(|(k, value)| apart[k / rule.len()] += value);
        // All of them are the integral over the whole, eight times a child's.
        let right = (2.0 * own - adjacent.iter().sum::<f64>()) / apart.iter().sum::<f64>();
        Some(Self { own, adjacent, apart: apart.map(|integral| right * integral) })
    }

    /// From integrals over the power 3/2 of a child's area; `None` if they are 0.
    pub(super) fn of_share(integrals: &[f32; 7], area: f64) -> Option<Self> {
        let integrals = integrals.map(|share| f64::from(share) * area * area.sqrt());
        let [own, p, q, r, ab, bc, ca] = integrals;
        (own > 0.0).then_some(Self { own, adjacent: [p, q, r], apart: [ab, bc, ca] })
    }

    pub(super) fn matrix(&self) -> [[f64; 4]; 4] {
        let (&Self { own, adjacent: [p, q, r], .. }, [ab, bc, ca]) = (self, self.apart);
        [[own, ab, ca, p], [ab, own, bc, q], [ca, bc, own, r], [p, q, r, own]]
    }
}

/// The integral of 1/r over pairs of points of a parallelogram with this area, these sides and this
/// diagonal. With points u a + v b, only differences count:
/// 2 area^2 int_0^1 int_0^1 (1 - u) (1 - v) (1 / |u a + v b| + 1 / |u a - v b|) du dv,
/// in which radii from 0 are integrated first.
fn of_parallelogram(area: f64, [a, b]: [f64; 2], diagonal: f64) -> f64 {
    let other = (2.0 * (a * a + b * b) - diagonal * diagonal).sqrt();
    let across = [diagonal, other].map(|d| toward(a, b, d) + toward(b, a, d));
    2.0 * area * area * (across[0] + across[1])
}

/// int_0^1 (1/2 - t/6) / |a + t b| dt, by the lengths of a, b and a + b.
fn toward(a: f64, b: f64, sum: f64) -> f64 {
    let inverse = ((a + sum + b) / (a + sum - b)).ln() / b;
    let along = 0.5 * (sum * sum - a * a - b * b);
    0.5 * inverse - (sum - a - along * inverse) / (6.0 * b * b)
}
