//! `[[plane]]`: planes in which everything is mirrored.

use std::ops::Range;

use super::diagnostics::{Defect, Sort};
use super::document::Section;
use super::schema::{AXES, PLANES};

/// One plane.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    pub(crate) mirror: bem::Mirror,
    /// Its place in the case file.
    pub(crate) place: Range<usize>,
}

impl Plane {
    /// The axis that it is perpendicular to.
    pub(crate) fn axis(&self) -> &'static str {
        AXES.get(self.mirror.plane.axis).copied().unwrap_or_default()
    }

    /// Its kind as the case file names it.
    pub(crate) fn kind(&self) -> &'static str {
        PLANES[usize::from(!self.mirror.odd)]
    }

    /// "the ground plane z = 0".
    pub(crate) fn name(&self) -> String {
        let kind = if self.mirror.odd { "ground plane" } else { "plane of symmetry" };
        format!("the {kind} {} = {}", self.axis(), self.mirror.plane.at)
    }
}

/// Reads every `[[plane]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>) -> Vec<Plane> {
    let mut planes: Vec<Plane> = Vec::new();
    for section in top.sections("plane") {
        let axis = section.choice("axis");
        let at = section.number("at").map_or(0.0, |number| number.value);
        let kind = section.choice("kind");
        let (Some(axis), Some(kind)) = (axis, kind) else { continue };
        let index = AXES.iter().position(|known| *known == axis.value).unwrap_or(0);
        if let Some(first) = planes.iter().find(|plane| plane.mirror.plane.axis == index) {
            let message = format!("two planes are perpendicular to {}", axis.value);
            let defect = Defect::new(Sort::Value, axis.span.clone(), message).label("again here");
            let help = "images in parallel planes have images without end; mesh one of the planes";
            top.report(defect.first(first.place.clone()).help(help));
            continue;
        }
        let plane = mesh::mirror::Plane { axis: index, at };
        let mirror = bem::Mirror { plane, odd: kind.value == PLANES[0] };
        planes.push(Plane { mirror, place: axis.span });
    }
    planes
}
