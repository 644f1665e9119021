//! Errors of shapes that no surface can be made of.

use farad::LengthUnit;
use mesh::files::Error;
use mesh::outlines::bounds;
use mesh::prisms;

use super::content::Layout;
use super::scene::{Metal, Scene};

/// The error of shapes that no surface can be made of.
pub(super) fn no_surface(layout: &Layout, scene: &Scene, fault: prisms::Fault) -> Error {
    let unit = layout.unit.map_or("", LengthUnit::name);
    // A coordinate in the file's unit, as text.
    let in_unit = |steps: f64| match steps * layout.grid {
        x if x == 0.0 || (1e-3..1e6).contains(&x.abs()) => format!("{}", (1e6 * x).round() / 1e6),
        x => format!("{x:.3e}"),
    };
    match fault {
        prisms::Fault::Meeting { prisms, .. } => meeting(layout, scene, prisms),
        prisms::Fault::Coordinate { prism, value, why } => {
            let value = in_unit(value);
            let Some(metal) = scene.metals.get(prism) else {
                let at = layout.dielectrics.first().map_or(layout.shapes[0].at, |first| first.at);
                let message = format!(
                    "the body of a dielectric has a coordinate of {value} {unit}, which is {why}: check the heights and thicknesses \
                    of dielectrics, and the size of the domain"
                );
                return layout.error(at, message);
            };
            let shape = &layout.shapes[metal.shape];
            let message = format!(
                "this shape of net \"{}\" on {} has a coordinate of {value} {unit}, which is {why}: check its corners, and the \
                heights of its layer",
                scene.nets[metal.net].name, shape.layer
            );
            layout.error(shape.at, message)
        }
        prisms::Fault::Crossings { at: [x, y] } => {
            let is_there = |metal: &&Metal| {
                let ring = layout.shapes[metal.shape].polygon.first();
                let [low, high] = bounds(ring.into_iter().flatten());
                (low[0]..=high[0]).contains(&x) && (low[1]..=high[1]).contains(&y)
            };
            let there = scene.metals.iter().rfind(is_there);
            let shape = &layout.shapes[there.map_or(0, |metal| metal.shape)];
            let message = format!(
                "outlines cross too often, or at too small an angle, around ({}, {}) {unit}, as that of this shape on {} does: move \
                 its corners by a step of the grid, or leave out what other shapes cover",
                in_unit(x),
                in_unit(y),
                shape.layer
            );
            layout.error(shape.at, message)
        }
    }
}

/// The error of two nets that touch, at the later shape.
fn meeting(layout: &Layout, scene: &Scene, prisms: [usize; 2]) -> Error {
    let [a, b] = prisms.map(|k| scene.metals[k.min(scene.metals.len() - 1)]);
    let (former, later) = if a.shape < b.shape { (a, b) } else { (b, a) };
    let [of_former, of_later] = [former, later].map(|metal| &layout.shapes[metal.shape]);
    let message = format!(
        "this shape of net \"{}\" on {} touches or overlaps that of net \"{}\" on {} in {}: leave a gap between them, or give both \
         the same net",
        scene.nets[later.net].name,
        of_later.layer,
        scene.nets[former.net].name,
        of_former.layer,
        of_former.at.place
    );
    layout.error(of_later.at, message)
}
