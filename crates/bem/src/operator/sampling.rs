//! Panels, points and unknowns of an operator, and a rank's part of them.

use std::sync::Arc;

use super::far::SeenFar;
use crate::geometry::panels::Panels;
use crate::geometry::share::Share;
use crate::near::RowKind;
use crate::quadrature::rule::Rule;
use crate::space::Dofs;

/// Panels, points and unknowns of an operator.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// Panels, including their images.
    pub panels: Arc<Panels>,
    /// Quadrature rules of the sources and of the targets.
    pub rules: [&'static Rule; 2],
    /// One row kind per panel.
    pub kinds: Arc<[RowKind]>,
    /// The unknowns.
    pub dofs: Dofs,
}

impl Sampling {
    pub(crate) fn has(&self, kind: RowKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The same for some of the panels.
    pub(crate) fn subset(&self, chosen: &[u32]) -> Self {
        let kinds = chosen.iter().map(|&i| self.kinds[i as usize]).collect();
        Self { panels: Arc::new(self.panels.subset(chosen)), kinds, ..self.clone() }
    }

    pub(crate) fn seen_far(&self) -> SeenFar<'_> {
        let Self { panels, rules, kinds, dofs } = self;
        SeenFar { panels, rules: *rules, kinds, dofs }
    }

    /// Lengths of the input and of the result.
    pub(crate) fn len(&self) -> [usize; 2] {
        match &self.dofs {
            Dofs::Charges(density) => [density.modes() * self.panels.len(); 2],
            Dofs::Functions(functions) => [functions.columns.len(), functions.rows.len()],
        }
    }
}

/// A rank's part of an operator that several ranks share.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) share: Arc<Share>,
    /// Over its own panels, whose points are its sources and targets, and over the panels that it
    /// holds.
    pub(crate) own: Sampling,
    pub(crate) held: Sampling,
}

impl Part {
    /// The same with rows of other kinds, one for each of all panels.
    pub(crate) fn with_kinds(&self, kinds: &[RowKind]) -> Self {
        let Self { share, own, held } = self;
        let of = |sampling: &Sampling, panels: &[u32]| {
            let kinds = panels.iter().map(|&i| kinds[i as usize]).collect();
            Sampling { kinds, ..sampling.clone() }
        };
        let (own, held) = (of(own, share.own()), of(held, share.held()));
        Self { share: Arc::clone(share), own, held }
    }
}
