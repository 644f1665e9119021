//! `[[surface]]`: media on both sides of surfaces, given directly instead of by the bodies that
//! they bound.

use std::collections::HashMap;
use std::ops::Range;

use farad::SurfaceMedia;

use super::diagnostics::{Defect, Sort};
use super::document::Section;
use super::places::{self, Entry};

/// Reads every `[[surface]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>) -> Vec<(SurfaceMedia, Entry)> {
    let mut owners: HashMap<String, Range<usize>> = HashMap::new();
    let mut surfaces = Vec::new();
    for section in top.sections("surface") {
        let groups = section.names("group").unwrap_or_default();
        let front = section.number("front");
        let back = section.number("back");
        for group in &groups {
            if let Some(first) = owners.insert(group.value.clone(), group.span.clone()) {
                let message = format!("group \"{}\" has its media already", group.value);
                let defect = Defect::new(Sort::Value, group.span.clone(), message);
                top.report(defect.label("again here").first(first));
            }
        }
        let Some(front) = front else { continue };
        let back = back.map_or(front.value, |back| back.value);
        let (groups, places) = places::split(groups);
        let entry = Entry { name: section.span(), groups: places, ..Entry::default() };
        surfaces.push((SurfaceMedia { groups, sides: [front.value, back] }, entry));
    }
    surfaces
}
