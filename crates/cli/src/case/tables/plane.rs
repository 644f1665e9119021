//! `[[plane]]`: planes in which everything is mirrored.

use bem::Mirror;
use mesh::mirror::Plane;

use crate::case::choices::AxisIndex;

use super::prelude::*;

/// The sign of image charges: opposite, or the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::case) enum PlaneKind {
    Ground,
    Symmetric,
}

words!(PlaneKind { "ground" = Self::Ground, "symmetric" = Self::Symmetric });

table! {
    /// `[[plane]]`.
    PlaneTable = "plane" repeated;
    axis: AxisIndex = Spec::choice(AxisIndex::WORDS), REQUIRED,
        "the axis that the plane is perpendicular to";
    at: f64 = QUANTITY, or("0.0"), "the plane's coordinate on that axis, in the mesh's unit";
    kind: PlaneKind = Spec::choice(PlaneKind::WORDS), REQUIRED,
        "`ground`: the plane is at 0 V; `symmetric`: what lies on the other side is the mirror image";
}

/// Reads every `[[plane]]`; defects are reported to the document.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<Located<Mirror>> {
    let read = |table: PlaneTable| {
        let (axis, kind) = (table.axis.located()?, table.kind.value?);
        let plane = Plane { axis: axis.value.0, at: table.at.or(0.0) };
        let mirror = Mirror { plane, odd: kind == PlaneKind::Ground };
        Some(Located { value: mirror, span: axis.span })
    };
    top.tables().into_iter().filter_map(read).collect()
}

impl PlaneTable {
    /// The table of a plane.
    pub(in crate::case) fn of(mirror: &Mirror) -> Self {
        let kind = if mirror.odd { PlaneKind::Ground } else { PlaneKind::Symmetric };
        Self {
            axis: AxisIndex(mirror.plane.axis).into(),
            at: mirror.plane.at.into(),
            kind: kind.into(),
            ..Self::default()
        }
    }
}
