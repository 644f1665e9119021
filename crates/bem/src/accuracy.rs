//! How exactly the Galerkin matrix is worked.

use crate::pair::PairQuadrature;
use crate::preconditioner::NEIGHBOURS;
use crate::product::Rule;
use crate::quadrature::TriangleRule;

/// Solver tolerances from here on are content with the coarser of two settings.
const COARSE: f64 = 1e-5;

/// Points of regular panels side by side are about this far apart, in sizes of a panel.
const SIDE_BY_SIDE: f64 = 0.1;

/// How exactly the Galerkin matrix is worked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accuracy {
    /// Points that stand for a panel in the fast sum.
    pub(crate) rule: &'static Rule,
    /// Pairs closer than this many diameters of either panel are integrated exactly.
    pub(crate) diameters: f64,
    /// Exact integrals.
    pub(crate) pairs: PairQuadrature,
    /// Panels in a neighbourhood of the preconditioner.
    pub(crate) neighbours: usize,
}

impl Accuracy {
    /// For a solver's `tolerance`, every rule raised by `increment` orders.
    ///
    /// What rule and reach leave in C, measured against 12 points and 4 diameters: 3 points with 2 diameters 2e-6 on spheres
    /// and cubes and 1e-5 at gaps narrower than a panel; 6 points with 1.5 diameters 1e-7 and 4e-7. Exact pairs to 1e-5 leave
    /// 1e-9: the bound holds for the worst of them, and errors differ in sign.
    pub(crate) fn new(tolerance: f64, increment: usize) -> Self {
        let rules = TriangleRule::ALL;
        let (rule, diameters) = if tolerance < COARSE { (2, 1.5) } else { (1, 2.0) };
        Self {
            rule: Rule::of_degree(rules[(rule + increment).min(rules.len() - 1)].degree()),
            diameters,
            pairs: PairQuadrature::new(1e-5, increment),
            neighbours: NEIGHBOURS,
        }
    }

    /// The same for panels whose points come as close to each other as `closest`, in sizes of a panel.
    ///
    /// Between sheets that face each other at a distance h, potentials cancel to the share h / size: entries need that many
    /// more digits, and as many again for errors not to add up over the sheet (measured: with the first power alone C of
    /// two plates moves by 4e-6 at h = size / 100). Points of panels side by side are [`SIDE_BY_SIDE`] apart.
    pub(crate) fn for_closest(self, closest: f64) -> Self {
        let pairs = self.pairs.tightened((closest / SIDE_BY_SIDE).min(1.0).powi(2));
        Self { pairs, ..self }
    }
}
