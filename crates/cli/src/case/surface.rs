//! `[[surface]]`: media on both sides of surfaces, given directly instead of by the bodies that they bound.

use std::collections::HashMap;
use std::ops::Range;

use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;

/// Some groups and the media on their sides.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    pub(crate) groups: Vec<Located<String>>,
    /// Relative permittivity on the side that normals point to, and on the other.
    pub(crate) sides: [f64; 2],
}

/// Reads every `[[surface]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>, has_dielectrics: bool) -> Vec<Surface> {
    let mut owners: HashMap<String, Range<usize>> = HashMap::new();
    let mut surfaces = Vec::new();
    for section in top.sections("surface") {
        let groups = section.names("group").unwrap_or_default();
        let front = section.number("front");
        let back = section.number("back");
        if has_dielectrics {
            let message = "media are given by [[dielectric]] and by [[surface]]";
            let defect = Defect::new(Sort::Value, section.span(), message).label("this surface");
            top.report(
                defect.help("give either the bodies or what is on both sides of every surface"),
            );
            return surfaces;
        }
        for group in &groups {
            if let Some(first) = owners.insert(group.value.clone(), group.span.clone()) {
                let message = format!("group \"{}\" has its media already", group.value);
                let defect = Defect::new(Sort::Value, group.span.clone(), message);
                top.report(defect.label("again here").first(first));
            }
        }
        let Some(front) = front else { continue };
        let back = back.map_or(front.value, |back| back.value);
        surfaces.push(Surface { groups, sides: [front.value, back] });
    }
    surfaces
}
