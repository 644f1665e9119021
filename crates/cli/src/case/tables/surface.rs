//! `[[surface]]`: media on both sides of surfaces, given directly instead of by the bodies that
//! they bound.

use std::collections::HashMap;
use std::ops::Range;

use farad::SurfaceMedia;

use super::prelude::*;

table! {
    /// `[[surface]]`.
    SurfaceTable = "surface" repeated;
    group: Names = GROUPS, REQUIRED, "physical groups of the mesh";
    front: f64 = PERMITTIVITY, REQUIRED, "relative permittivity on the side that normals point to";
    back: f64 = PERMITTIVITY, or("that of `front`"), "relative permittivity on the other side";
}

impl SurfaceTable {
    /// The table of the media of surfaces.
    pub(in crate::case) fn of(media: &SurfaceMedia) -> Self {
        let [front, back] = media.sides;
        Self {
            group: (&media.groups).into(),
            front: front.into(),
            back: back.into(),
            ..Self::default()
        }
    }
}

/// Reads every `[[surface]]`; defects are reported to the document.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<(SurfaceMedia, Entry)> {
    let mut owners: HashMap<String, Range<usize>> = HashMap::new();
    let mut surfaces = Vec::new();
    for table in top.tables::<SurfaceTable>() {
        let place = table.place();
        let groups = table.group.or(Names::default());
        for (group, place) in groups.iter() {
            if let Some(first) = owners.insert(group.clone(), place.clone()) {
                let message = format!("group \"{group}\" has its media already");
                let defect = Defect::new(Sort::Value, place.clone(), message);
                top.report(defect.label("again here").first(first));
            }
        }
        let Some(front) = table.front.value else { continue };
        let entry = Entry { name: place, groups: groups.places, ..Entry::default() };
        let sides = [front, table.back.or(front)];
        surfaces.push((SurfaceMedia { groups: groups.items, sides }, entry));
    }
    surfaces
}
