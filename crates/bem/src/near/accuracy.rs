//! Accuracy of the Galerkin matrix.

use crate::constants::{
    COARSE, COARSE_REACH, FACING, FINE, FINE_REACH, OF_SOLID_ANGLES, SIDE_BY_SIDE, SINGLE,
    SOLID_ANGLES,
};
use crate::integrals::pair::PairQuadrature;
use crate::near::{Precision, Selection};
use crate::quadrature::TriangleRule;
use crate::quadrature::rule::Rule;

/// Below the first number the rules stay and the reach grows: distances grow as this root of the
/// tolerance.
const REACH: (f64, f64) = (1e-7, 1.0 / 7.0);

/// Errors that close pairs may keep, as a share of the solver's tolerance: see
/// [`Selection::error`].
const ERROR_SHARE: f64 = 0.35;

/// Accuracy of integrals over pairs of panels.
#[derive(Clone, Copy, Debug)]
pub struct IntegralAccuracy {
    /// Quadrature of potentials.
    pub pairs: PairQuadrature,
    /// Accuracy of solid angles.
    pub solid_angles: f64,
}

/// Accuracy of the Galerkin matrix.
#[derive(Clone, Debug)]
pub struct Accuracy {
    /// Quadrature points that represent a panel in the fast sum.
    pub rule: &'static Rule,
    /// Selection of the pairs for which the points are not good enough.
    pub selection: Selection,
    /// Quadrature of exact integrals.
    pub pairs: PairQuadrature,
    /// Accuracy of exact solid angles of close pairs.
    pub solid_angles: f64,
    /// The same where all pairs of a row are integrated.
    pub solid_angles_of_rows: f64,
    /// Format of the near field.
    pub(crate) precision: Precision,
}

impl Accuracy {
    /// For a solver's `tolerance`, every rule raised by `increment` orders.
    ///
    /// What rule and selection leave in C at the tolerances where they leave most, measured against
    /// 6 points with 4 diameters: 3 points 1e-6 on spheres and cubes, 2.3e-6 where they are graded
    /// 1:1000 and 2.6e-6 at gaps narrower than a panel, at tolerance 1e-5; 6 points 7e-8 and 5e-7
    /// at 1e-6. Exact pairs ten times less exact change C by less than 1e-8: the bound holds for
    /// the worst of them, and errors differ in sign.
    pub fn new(tolerance: f64, increment: usize) -> Self {
        let rules = TriangleRule::ALL;
        let (rule, diameters, pairs) = if tolerance >= COARSE {
            (1, COARSE_REACH, 1e-4)
        } else if tolerance >= FINE {
            (2, FINE_REACH, 1e-5)
        } else {
            let (from, root) = REACH;
            (4, FINE_REACH * (from / tolerance).max(1.0).powf(root), 10.0 * tolerance)
        };
        let rule = Rule::of_degree(rules[(rule + increment).min(rules.len() - 1)].degree());
        let selection = Selection {
            diameters,
            rules: [rule, Rule::of_degree(rule.degree() + 2)],
            error: ERROR_SHARE * tolerance * 0.1f64.powi(increment as i32),
        };
        let pairs = PairQuadrature::new(pairs, increment);
        let solid_angles_of_rows = SOLID_ANGLES.min(OF_SOLID_ANGLES * tolerance);
        let solid_angles = if tolerance < FINE { solid_angles_of_rows } else { SOLID_ANGLES };
        let precision = if tolerance >= SINGLE { Precision::Single } else { Precision::Double };
        Self { rule, selection, pairs, solid_angles, solid_angles_of_rows, precision }
    }

    /// The accuracy of integrals of close pairs.
    pub fn integrals(&self) -> IntegralAccuracy {
        IntegralAccuracy { pairs: self.pairs, solid_angles: self.solid_angles }
    }

    /// The accuracy for panels whose points come as close to each other as `gap`, in units of panel
    /// size.
    ///
    /// Between sheets that face each other at a distance h, potentials cancel to the share h /
    /// size: entries need that many more digits, and as many again so that errors do not add up
    /// over the sheet (measured: with the first power alone C of two plates changes by 4e-6 at h =
    /// size / 100). Points of adjacent panels are [`SIDE_BY_SIDE`] apart.
    pub(crate) fn for_gap(self, gap: f64) -> Self {
        let share = (gap / SIDE_BY_SIDE).min(1.0).powi(2);
        let selection = Selection { error: self.selection.error * share, ..self.selection };
        let precision = if gap < FACING { Precision::Double } else { self.precision };
        Self { selection, pairs: self.pairs.tightened(share), precision, ..self }
    }
}
