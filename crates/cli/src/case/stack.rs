//! `[stack]` and `[[layer]]`: layers without end.

use bem::{Beyond, Stack, StackLayer};

use super::diagnostics::{Defect, Located, Sort};
use super::document::Section;
use super::schema::{AXES, GROUND};

/// Images are this much more exact than the solver's tolerance.
pub(super) const FINER: f64 = 0.1;

/// Reads the layers, if there are any; their images are for solves to this tolerance.
pub(super) fn read(top: &Section<'_>, solver: f64) -> Option<Located<Stack>> {
    let (stack, sections) = (top.section("stack"), top.sections("layer"));
    if !top.has("stack") && sections.is_empty() {
        return None;
    }
    let span = if top.has("stack") { stack.span() } else { sections[0].span() };
    if top.has("medium") {
        let message = "[medium] and layers both say what surrounds the surfaces".to_owned();
        let help = "the layer that they are in does: leave [medium] out";
        let defect = Defect::new(Sort::Value, top.section("medium").span(), message);
        top.report(defect.first(span.clone()).help(help));
    }
    let axis = stack.choice("axis").and_then(|axis| AXES.iter().position(|x| *x == axis.value));
    let beyond = |name| match stack.number_or(name) {
        Some(Located { value: Some(eps), .. }) => Beyond::Dielectric(eps),
        Some(Located { value: None, .. }) => Beyond::Ground,
        None => Beyond::Dielectric(1.0),
    };
    let layer = |section: &Section<'_>| {
        let thickness = section.number("thickness");
        let permittivity = section.number("relative_permittivity");
        Some(StackLayer { thickness: thickness?.value, permittivity: permittivity?.value })
    };
    let value = Stack {
        axis: axis.unwrap_or(2),
        at: stack.number("at").map_or(0.0, |at| at.value),
        below: beyond("below"),
        layers: sections.iter().filter_map(layer).collect(),
        above: beyond("above"),
        tolerance: FINER * solver,
    };
    Some(Located { value, span })
}

/// What is beyond all layers, as the case file has it.
pub(super) fn beyond(beyond: Beyond) -> Result<f64, &'static str> {
    match beyond {
        Beyond::Dielectric(eps) => Ok(eps),
        Beyond::Ground => Err(GROUND),
    }
}
