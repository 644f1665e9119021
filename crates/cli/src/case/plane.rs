//! `[[plane]]`: planes in which everything is mirrored.

use super::diagnostics::Located;
use super::document::Section;
use super::schema::{AXES, PLANES};

/// Reads every `[[plane]]`; defects are reported to the document.
pub(super) fn read(top: &Section<'_>) -> Vec<Located<bem::Mirror>> {
    let read = |section: &Section<'_>| {
        let axis = section.choice("axis");
        let at = section.number("at").map_or(0.0, |number| number.value);
        let kind = section.choice("kind");
        let (axis, kind) = (axis?, kind?);
        let index = AXES.iter().position(|known| *known == axis.value).unwrap_or(0);
        let plane = mesh::mirror::Plane { axis: index, at };
        let mirror = bem::Mirror { plane, odd: kind.value == PLANES[0] };
        Some(Located { value: mirror, span: axis.span })
    };
    top.sections("plane").iter().filter_map(read).collect()
}

/// The kind of a plane as the case file names it.
pub(super) fn kind(mirror: &bem::Mirror) -> &'static str {
    PLANES[usize::from(!mirror.odd)]
}
