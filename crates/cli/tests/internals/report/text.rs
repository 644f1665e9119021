use farad_cli::internals::text::{
    csv_name, csv_quoted, printable_in_place, printable_json, toml_string,
};
use formats::printable::{acts, printable, printable_line};

const HOSTILE: &str = "a\u{1b}[31m\u{7}\u{9b}0m\u{202e}b\r\n\t\"\\";

#[test]
fn nothing_acts_on_the_terminal() {
    assert_eq!(printable("µ \u{1b}[0m\n\tb"), "µ \\u{1b}[0m\n\tb");
    assert_eq!(printable_line("a\nb\u{9b}"), "a\\nb\\u{9b}");
    let same = printable_in_place(HOSTILE.to_owned());
    assert_eq!(same.len(), HOSTILE.len());
    assert!(!same.chars().any(|c| acts(c) && !matches!(c, '\n' | '\t' | '\r')), "{same:?}");
}

#[test]
fn escapes_are_read_back() {
    let table: toml::Table = format!("x = {}", toml_string(HOSTILE)).parse().unwrap();
    assert_eq!(table["x"].as_str(), Some(HOSTILE));
    let text = printable_json(serde_json::to_string(HOSTILE).unwrap());
    assert!(!text.chars().any(acts), "{text:?}");
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE);
}

#[test]
fn names_are_no_formulas_and_numbers_stay() {
    for (name, field) in [
        ("=1+1", "'=1+1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("-2+3", "'-2+3"),
        ("+a,b", "\"'+a,b\""),
        ("-1.5e-3", "-1.5e-3"),
        ("left", "left"),
        (";=1+1", ";'=1+1"),
        ("  =1", "  '=1"),
        ("a; -1|+2", "a; '-1|'+2"),
        ("a-b", "a-b"),
        ("\u{ff1d}1", "'\u{ff1d}1"),
        ("say \"c\"", "\"say \"\"c\"\"\""),
    ] {
        assert_eq!(csv_name(name), field);
        assert_eq!(csv_quoted(name).trim_matches('"'), field.trim_matches('"'));
    }
    for field in [csv_name(HOSTILE), csv_quoted(HOSTILE)] {
        assert_eq!(field, r#""a\u{1b}[31m\u{7}\u{9b}0m\u{202e}b\r\n\t""\""#);
    }
    assert_eq!(csv_name("\t=1"), "\\t=1");
}
