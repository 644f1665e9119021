use std::path::Path;

use farad_cli::internals::case::{FORMAT, Overrides, SCHEMA, VtkMode, parse};
use proptest::prelude::*;

/// The messages of all defects, in order of place.
fn messages(text: &str) -> Vec<String> {
    let failure = match parse(Path::new("case.toml"), text, &Overrides::default()) {
        Ok(_) => return Vec::new(),
        Err(failure) => failure,
    };
    let report = failure.report.unwrap();
    report.related().unwrap().map(|defect| defect.to_string()).collect()
}

fn good() -> String {
    // Cargo.toml stands for the mesh: reading it is not this module's business.
    format!("format = {FORMAT}\n[mesh]\nfile = \"Cargo.toml\"\nunit = \"mm\"\n")
}

#[test]
fn the_shortest_case_has_the_documented_defaults() {
    let case =
        parse(Path::new("two.toml"), &good(), &Overrides::default()).map_err(|_| ()).unwrap();
    assert_eq!(case.title, "two");
    assert_eq!(case.directory, Path::new("two.out"));
    assert_eq!(case.options.tolerance, 1e-6);
    assert_eq!(case.options.fmm_tolerance, None);
    assert_eq!(case.vtk, VtkMode::Compressed);
    assert_eq!((case.options.restart, case.options.max_iterations), (60, 200));
}

#[test]
fn all_defects_come_at_once_in_order_of_place() {
    let text = "format = 2\nunit = \"mm\"\n[mesh]\nfile = \"none.msh\"\nunits = \"mm\"\n\
                [medium]\nrelative_permittivity = -1\n[solver]\ntolerance = \"small\"\nmethod = \"fast\"\n";
    assert_eq!(
        messages(text),
        [
            "format is out of range",
            "unknown key `unit` at the top of the file",
            "unit is missing in [mesh]",
            "the mesh none.msh does not exist",
            "unknown key `units` in [mesh]",
            "relative_permittivity is out of range",
            "expected a number for tolerance, found a string",
            "method = \"fast\" is not one of \"auto\", \"fmm\", \"dense\"",
        ]
    );
}

#[test]
fn conductors_and_groups_are_named_once() {
    let text = good()
        + "ignore = \"wall\"\n[[conductor]]\nname = \"a\"\ngroup = [\"g\", \"h\"]\n\
           [[conductor]]\nname = \"a\"\ngroup = [\"h\", \"wall\"]\n[[conductor]]\ngroup = 3\n";
    assert_eq!(
        messages(&text),
        [
            "two conductors are called \"a\"",
            "group \"h\" is in conductor \"a\" already",
            "group \"wall\" is in [mesh] ignore already",
            "name is missing in [[conductor]]",
            "expected text in quotes for group, found an integer",
        ]
    );
}

#[test]
fn syntax_errors_do_not_hide_the_rest_nor_cause_echoes() {
    let text = "format = 1\n[mesh\nfile = \"none.msh\"\n[solver]\ntolerances = 1e-6\n";
    let found = messages(text);
    assert!(found[0].starts_with("not valid TOML: "), "{found:?}");
    assert!(found.iter().any(|message| message.contains("tolerances")), "{found:?}");
    assert!(!found.iter().any(|message| message.contains("is missing")), "{found:?}");
}

#[test]
fn numbers_may_be_whole_and_have_underscores() {
    let text = good() + "[medium]\nrelative_permittivity = 8_1\n[solver]\nmax_iterations = 1_000\n";
    let case = parse(Path::new("a.toml"), &text, &Overrides::default()).map_err(|_| ()).unwrap();
    assert_eq!(case.description.relative_permittivity, 81.0);
    assert_eq!(case.options.max_iterations, 1000);
}

#[test]
fn nan_and_infinity_are_out_of_range() {
    for value in ["nan", "inf", "-inf", "1e400"] {
        let text = good() + &format!("[solver]\ntolerance = {value}\n");
        assert_eq!(messages(&text), ["tolerance is out of range"], "{value}");
    }
}

#[test]
fn every_key_of_the_schema_can_be_written() {
    let keys = SCHEMA.all().flat_map(|table| table.keys.iter().map(move |key| (table, key.name)));
    for (table, key) in keys {
        let head = match table.name {
            "" => String::new(),
            _ => format!("{}\n", table.heading()),
        };
        // No key has a date for its value.
        let found = messages(&format!("{head}{key} = 2000-01-01\n"));
        let unknown = found.iter().any(|message| message.starts_with("unknown key"));
        assert!(!unknown, "{head}{key}: {found:?}");
        let read = found.iter().any(|m| m.contains(key) && m.starts_with("expected"));
        assert!(read, "{head}{key} is never read: {found:?}");
    }
}

proptest! {
    /// Whatever is cut out of a case, put in, or said twice: an error at worst, and one that
    /// can be shown.
    #[test]
    fn no_text_makes_the_reader_panic(at in 0usize..600, cut in 0usize..40, put in "[\\[\\]=\"\\n.,0-9a-zµ ]{0,8}") {
        let case = good() + "ignore = [\"w\"]\n[[conductor]]\nname = \"a\"\ngroup = \"g\"\n[solver]\ntolerance = 1e-6\n";
        let chars: Vec<char> = case.chars().collect();
        let at = at % chars.len();
        let end = (at + cut).min(chars.len());
        let text: String = chars[..at].iter().copied().chain(put.chars()).chain(chars[end..].iter().copied()).collect();
        if let Err(failure) = parse(Path::new("case.toml"), &text, &Overrides::default()) {
            let shown = format!("{:?}", failure.report.unwrap());
            prop_assert!(shown.contains("case.toml"), "{shown}");
        }
    }
}
