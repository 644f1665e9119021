//! How exact results are to be: `solver.accuracy` and what belongs to it.

use farad::{Goal, ParseTargetError, Target};

use super::choices::Overrides;
use super::diagnostics::{Defect, Sort};
use super::document::Section;

/// The numbers that an accuracy is asked of.
pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: ParseTargetError| error.to_string())
}

/// The goal of a case, with the command line's over the file's.
pub(super) fn read(top: &Section<'_>, overrides: &Overrides) -> Option<Goal> {
    let section = top.section("solver");
    let accuracy = section.number("accuracy").map(|number| number.value);
    let target = section.text("accuracy_of").and_then(|text| match parse_target(&text.value) {
        Ok(target) => Some(target),
        Err(why) => {
            top.report(Defect::new(Sort::Value, text.span, format!("accuracy_of {why}")));
            None
        }
    });
    let max_seconds = section.number("max_time").map(|number| number.value);
    Some(Goal {
        accuracy: overrides.accuracy.or(accuracy)?,
        target: overrides.accuracy_target.clone().or(target).unwrap_or_default(),
        max_seconds: overrides.max_seconds.or(max_seconds),
    })
}
