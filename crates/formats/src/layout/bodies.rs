//! The bodies of a layout as prisms, with labels for what they are made of.

use mesh::prisms::{OUTSIDE, Prism};

use super::content::Layout;
use super::scene::{Claim, Place, Scene};

/// All bodies above the ground plane. Labels of nets are their numbers from 1, labels of
/// dielectrics follow.
pub(super) struct Bodies {
    /// Those that come first count: metal, then dielectrics.
    pub prisms: Vec<Prism>,
    /// The number of nets.
    nets: u32,
    /// The permittivity where no body is.
    background: f64,
    /// The permittivities of labels after those of nets.
    media: Vec<f64>,
}

impl Bodies {
    /// The metal of a layout, and these dielectrics.
    pub(super) fn new(layout: &Layout, scene: &Scene, claims: &[Claim], background: f64) -> Self {
        let metal = scene.metals.iter().map(|metal| Prism {
            rings: layout.shapes[metal.shape].polygon.clone(),
            heights: metal.heights,
            label: 1 + metal.net as u32,
        });
        let nets = scene.nets.len() as u32;
        let mut bodies = Self { prisms: metal.collect(), nets, background, media: Vec::new() };
        let [low, high] = scene.field;
        let field = vec![vec![vec![low, [high[0], low[1]], high, [low[0], high[1]]]]];
        for claim in claims {
            let label = bodies.label(claim.permittivity);
            let [bottom, top] = claim.heights;
            let heights = [scene.ground.map_or(bottom, |ground| bottom.max(ground)), top];
            if heights[0] >= heights[1] {
                continue;
            }
            let region = match &claim.place {
                Place::Field => &field,
                Place::Region(region) => region,
            };
            let prism = |rings: &Vec<_>| Prism { rings: rings.clone(), heights, label };
            bodies.prisms.extend(region.iter().map(prism));
        }
        bodies
    }

    /// The label of a medium, a new one if there is none.
    fn label(&mut self, permittivity: f64) -> u32 {
        if permittivity == self.background {
            return OUTSIDE;
        }
        let known = self.media.iter().position(|own| *own == permittivity);
        let index = known.unwrap_or_else(|| {
            self.media.push(permittivity);
            self.media.len() - 1
        });
        1 + self.nets + index as u32
    }

    /// Whether a label is that of a net.
    pub(super) fn is_net(&self, label: u32) -> bool {
        label != OUTSIDE && label <= self.nets
    }

    /// The relative permittivity of a label that is no net's.
    pub(super) fn permittivity(&self, label: u32) -> f64 {
        label.checked_sub(1 + self.nets).map_or(self.background, |k| self.media[k as usize])
    }
}
