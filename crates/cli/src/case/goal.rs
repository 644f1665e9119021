//! How exact results are to be: `solver.accuracy` and what belongs to it.

use farad::{Goal, Of};

use super::Overrides;
use super::diagnostics::{Defect, Sort};
use super::document::Section;

/// What may be asked for, as messages have it.
const FORMS: &str = "must be all, energy, polarisability, an entry such as C(left, right), or one of V(conductor), \
                     Q(conductor), F(body), probe(name) and field(name)";

/// What an accuracy is asked of.
pub(crate) fn parse_of(text: &str) -> Result<Of, String> {
    let text = text.trim();
    match text {
        "all" | "C" => return Ok(Of::All),
        "energy" => return Ok(Of::Energy),
        "polarisability" => return Ok(Of::Polarisability),
        _ => {}
    }
    let inside = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
    let Some((kind, inside)) = inside else { return Err(FORMS.to_owned()) };
    let name = || inside.trim().to_owned();
    match kind.trim() {
        "C" => match inside.split_once(',') {
            Some((a, b)) => Ok(Of::Entry(a.trim().to_owned(), b.trim().to_owned())),
            None => Err(FORMS.to_owned()),
        },
        "V" => Ok(Of::Potential(name())),
        "Q" => Ok(Of::Charge(name())),
        "F" => Ok(Of::Force(name())),
        "probe" => Ok(Of::Probe(name())),
        "field" => Ok(Of::Field(name())),
        _ => Err(FORMS.to_owned()),
    }
}

/// The same as text.
pub(crate) fn of(of: &Of) -> String {
    match of {
        Of::All => "all".to_owned(),
        Of::Energy => "energy".to_owned(),
        Of::Polarisability => "polarisability".to_owned(),
        Of::Entry(a, b) => format!("C({a}, {b})"),
        Of::Potential(name) => format!("V({name})"),
        Of::Charge(name) => format!("Q({name})"),
        Of::Force(name) => format!("F({name})"),
        Of::Probe(name) => format!("probe({name})"),
        Of::Field(name) => format!("field({name})"),
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
            ("polarisability", Of::Polarisability),
            ("V(b (upper))", Of::Potential("b (upper)".to_owned())),
            ("Q( a )", Of::Charge("a".to_owned())),
            ("F(a)", Of::Force("a".to_owned())),
            ("probe(axis)", Of::Probe("axis".to_owned())),
            ("field(axis)", Of::Field("axis".to_owned())),
        ] {
            assert_eq!(parse_of(text), Ok(of.clone()), "{text}");
            assert_eq!(parse_of(&super::of(&of)), Ok(of), "{text}");
        }
        for text in ["", "C(a)", "c(a,b)", "forces", "C(a,b"] {
            assert!(parse_of(text).is_err(), "{text}");
        }
    }
}
