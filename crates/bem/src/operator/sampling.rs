//! What an operator is over: panels, points and unknowns, and what a rank has of them.

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
    /// Images too.
    pub panels: Arc<Panels>,
    /// Rules of the sources, and of the targets.
    pub rules: [&'static Rule; 2],
    /// One per panel.
    pub kinds: Arc<[RowKind]>,
    /// What is unknown.
    pub dofs: Dofs,
}

impl Sampling {
    pub(crate) fn has(&self, kind: RowKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The same of some of the panels.
    pub(crate) fn subset(&self, chosen: &[u32]) -> Self {
        let kinds = chosen.iter().map(|&i| self.kinds[i as usize]).collect();
        Self { panels: Arc::new(self.panels.subset(chosen)), kinds, ..self.clone() }
    }

    pub(crate) fn seen_far(&self) -> SeenFar<'_> {
        let Self { panels, rules, kinds, dofs } = self;
        SeenFar { panels, rules: *rules, kinds, dofs }
    }

    /// Lengths of what an operator is applied to, and of the result.
    pub(crate) fn len(&self) -> [usize; 2] {
        match &self.dofs {
            Dofs::Charges(density) => [density.modes() * self.panels.len(); 2],
            Dofs::Functions(functions) => [functions.columns.len(), functions.rows.len()],
        }
    }
}

/// What a rank has of an operator that several share.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) share: Arc<Share>,
    /// Over its own panels, whose points it sums over and at, and over those that it holds.
    pub(crate) own: Sampling,
    pub(crate) held: Sampling,
}

impl Part {
    /// The same with rows of other kinds, one for each panel of all.
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
