//! Interfaces between media: their connected parts, and factors of their equations.

use mesh::Mesh;
use mesh::regions::{self, Region};
use parallel::prelude::*;

use super::Media;

/// f of an interface with this permittivity in front and behind.
pub(super) fn factor([front, back]: [f64; 2]) -> f64 {
    (back - front) / (back + front)
}

/// Whether a triangle is of an interface between different media.
pub(super) fn is_interface(media: &Media<'_>, t: usize) -> bool {
    media.conductor[t].is_none() && factor(media.permittivity[t]) != 0.0
}

/// Numbers of conductors and, after them, of interfaces.
pub(super) struct Parts {
    /// The conductor or interface of each panel.
    pub(super) of_panels: Vec<u32>,
    pub(super) count: usize,
    /// Regions that interfaces enclose.
    pub(super) closed: Vec<Region>,
}

impl Parts {
    /// For panels that are these `triangles` of a mesh, which is the first image in `whole`.
    pub(super) fn new(
        whole: &Mesh,
        media: &Media<'_>,
        panel_of: &[u32],
        triangles: &[u32],
    ) -> Self {
        let n = panel_of.len();
        let conductor = |&t: &u32| media.conductor[t as usize].unwrap_or(0);
        let mut of_panels: Vec<u32> = triangles.par_iter().map(conductor).collect();
        let (mut count, mut closed) = (media.conductors, Vec::new());
        let interfaces: Vec<u32> = (0..whole.triangles.len() as u32)
            .filter(|&t| is_interface(media, t as usize % n))
            .collect();
        for (members, region) in regions::parts(whole, &interfaces, media.bodies) {
            let mut own = members.iter().filter_map(|&t| panel_of.get(t as usize)).peekable();
            if own.peek().is_none() {
                continue;
            }
            own.for_each(|&panel| of_panels[panel as usize] = count as u32);
            count += 1;
            closed.extend(region);
        }
        Self { of_panels, count, closed }
    }
}
