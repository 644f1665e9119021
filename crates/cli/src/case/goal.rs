//! How exact results are to be: `solver.accuracy` and what belongs to it.

use farad::{Goal, Of};

use super::Overrides;
use super::diagnostics::{Defect, Sort};
use super::document::Section;

/// What an accuracy is asked of: `all`, `energy`, `C` or `C(a, b)`.
pub(crate) fn parse_of(text: &str) -> Result<Of, String> {
    let text = text.trim();
    match text {
        "all" | "C" => return Ok(Of::All),
        "energy" => return Ok(Of::Energy),
        _ => {}
    }
    let inside = text.strip_prefix("C(").and_then(|rest| rest.strip_suffix(')'));
    match inside.and_then(|inside| inside.split_once(',')) {
        Some((a, b)) => Ok(Of::Entry(a.trim().to_owned(), b.trim().to_owned())),
        None => Err("must be all, energy, or an entry such as C(left, right)".to_owned()),
    }
}

/// The same as text.
pub(crate) fn of(of: &Of) -> String {
    match of {
        Of::All => "all".to_owned(),
        Of::Energy => "energy".to_owned(),
        Of::Entry(a, b) => format!("C({a}, {b})"),
    }
}

/// The goal of a case, with the command line's over the file's.
pub(super) fn read(top: &Section<'_>, overrides: &Overrides) -> Option<Goal> {
    let section = top.section("solver");
    let accuracy = section.number("accuracy").map(|number| number.value);
    let of = section.text("accuracy_of").and_then(|text| match parse_of(&text.value) {
        Ok(of) => Some(of),
        Err(why) => {
            top.report(Defect::new(Sort::Value, text.span, format!("accuracy_of {why}")));
            None
        }
    });
    let max_seconds = section.number("max_time").map(|number| number.value);
    Some(Goal {
        accuracy: overrides.accuracy.or(accuracy)?,
        of: overrides.accuracy_of.clone().or(of).unwrap_or_default(),
        max_seconds: overrides.max_seconds.or(max_seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accuracy_is_of_all_or_of_one_number() {
        let entry = Of::Entry("left plate".to_owned(), "b".to_owned());
        for (text, of) in [
            ("all", Of::All),
            ("C", Of::All),
            ("energy", Of::Energy),
            ("C(left plate, b)", entry.clone()),
            (" C(left plate,b) ", entry),
        ] {
            assert_eq!(parse_of(text), Ok(of), "{text}");
        }
        for text in ["", "C(a)", "c(a,b)", "forces", "C(a,b"] {
            assert!(parse_of(text).is_err(), "{text}");
        }
    }
}
