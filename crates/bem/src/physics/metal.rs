//! Metal on closed surfaces, and which of it has its free charge found from the normal derivatives
//! on its sides (docs/math.md, "Gauss's law").

use super::closed::Closed;

/// Closed surfaces that metal takes part in.
#[derive(Clone)]
pub(super) struct Metal {
    /// Bodies partly covered by metal.
    pub(super) covered: Vec<Closed>,
    /// Groups of bodies that share walls, partly covered by metal.
    pub(super) grouped: Vec<Closed>,
    /// Metal with nothing inside, touched by several media or covering a body.
    pub(super) solid: Vec<Closed>,
}

impl Metal {
    /// Marks the panels whose free charge is computed from the normal derivatives: all metal of
    /// bodies that it partly covers, where eps times the charge amplifies errors that Gauss's law
    /// does not have; and, with any panel of a piece of metal, the whole piece, so that charge that
    /// leaves it on one side is missing on the other.
    pub(super) fn mark(&self, marked: &mut [bool], conductor: &[Option<u32>], media: &[[f64; 2]]) {
        let metal = self.covered.iter().flat_map(|surface| &surface.members);
        let metal = metal.map(|m| m.panel as usize).filter(|&i| conductor[i].is_some());
        metal.for_each(|i| marked[i] = true);
        for surface in &self.solid {
            let panels = || surface.members.iter().map(|m| m.panel as usize);
            let mut outside =
                surface.members.iter().map(|m| media[m.panel as usize][1 - m.inner()]);
            let first = outside.next();
            if outside.any(|medium| Some(medium) != first) || panels().any(|i| marked[i]) {
                panels().for_each(|i| marked[i] = true);
            }
        }
    }
}
