//! `[stack]` and `[[layer]]`: layers without end.

use bem::{Beyond, Stack, StackLayer};

use crate::case::choices::AxisIndex;

use super::medium::MediumTable;
use super::prelude::*;

table! {
    /// `[stack]`.
    StackTable = "stack";
    axis: AxisIndex = Spec::choice(AxisIndex::WORDS), or("z"),
        "the axis that the layers are perpendicular to";
    at: f64 = QUANTITY, or("0.0"),
        "height of the lowest interface on that axis, in the mesh's unit";
    below: Beyond = HALF_SPACE, or("1.0"),
        "relative permittivity of the half-space below all layers, or a plane at 0 V there";
    above: Beyond = HALF_SPACE, or("1.0"), "the same above all layers";
}

table! {
    /// `[[layer]]`.
    LayerTable = "layer" repeated;
    thickness: f64 = POSITIVE, REQUIRED, "thickness in the mesh's unit";
    relative_permittivity: f64 = PERMITTIVITY, REQUIRED, "permittivity of the layer";
}

/// Images are this much more exact than the solver's tolerance.
pub(in crate::case) const FINER: f64 = 0.1;

/// Reads the layers, if there are any; their images are for solves to this tolerance.
pub(in crate::case) fn read(top: &Section<'_>, solver: f64) -> Option<Located<Stack>> {
    let (stack, layers) = (top.table::<StackTable>(), top.tables::<LayerTable>());
    let has_stack = top.has_table::<StackTable>();
    if !has_stack && layers.is_empty() {
        return None;
    }
    let span = if has_stack { stack.place() } else { layers[0].place() };
    if top.has_table::<MediumTable>() {
        let message = "[medium] and layers both say what surrounds the surfaces";
        let help = "the layer that they are in does: leave [medium] out";
        let defect = Defect::new(Sort::Value, top.section(MediumTable::INFO).span(), message);
        top.report(defect.first(span.clone()).help(help));
    }
    let layer = |layer: LayerTable| {
        let permittivity = layer.relative_permittivity.value?;
        Some(StackLayer { thickness: layer.thickness.value?, permittivity })
    };
    let value = Stack::default()
        .axis(stack.axis.or(AxisIndex(2)).0)
        .at(stack.at.or(0.0))
        .below(stack.below.or(Beyond::Dielectric(1.0)))
        .layers(layers.into_iter().filter_map(layer).collect())
        .above(stack.above.or(Beyond::Dielectric(1.0)))
        .tolerance(FINER * solver);
    Some(Located { value, span })
}

impl StackTable {
    /// The table of a stack.
    pub(in crate::case) fn of(stack: &Stack) -> Self {
        Self {
            axis: AxisIndex(stack.axis).into(),
            at: stack.at.into(),
            below: stack.below.into(),
            above: stack.above.into(),
            ..Self::default()
        }
    }
}

impl LayerTable {
    /// The table of a layer.
    pub(in crate::case) fn of(layer: &StackLayer) -> Self {
        Self {
            thickness: layer.thickness.into(),
            relative_permittivity: layer.permittivity.into(),
            ..Self::default()
        }
    }
}
