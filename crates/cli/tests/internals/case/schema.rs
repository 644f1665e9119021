use std::fs;
use std::path::Path;

use farad::units::LengthUnit;
use farad_cli::internals::case::{SCHEMA, UNITS, json_schema, markdown};
use farad_cli::internals::json::text;

/// Fails if a file that follows from the rows of keys is not what they make now, or writes it anew
/// if the environment asks for that.
fn assert_current(name: &str, renewed: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let current = fs::read_to_string(&path).unwrap_or_default();
    let expected = renewed(&current);
    if current == expected {
        return;
    }
    if std::env::var_os("FARAD_RENEW").is_some() {
        return fs::write(&path, expected).unwrap();
    }
    let line = current.lines().zip(expected.lines()).position(|(a, b)| a != b).unwrap_or(0);
    panic!(
        "{name}, line {}: not what the rows in crates/cli/src/case/tables make. \
         Renew it by FARAD_RENEW=1 cargo test -p farad-cli --test internals case::schema",
        line + 1
    );
}

/// docs/case-file.md has a section per table, with a table of its keys.
#[test]
fn the_documentation_has_every_key_as_its_row_says() {
    const HEAD: &str = "| key | value | default | meaning |\n";
    assert_current("docs/case-file.md", |docs| {
        let mut docs = docs.to_owned();
        for table in SCHEMA.all() {
            let title = match table.name {
                "" => "\n## Top of the file\n".to_owned(),
                _ => format!("\n## `{}`\n", table.heading()),
            };
            let section = docs.find(&title);
            let section = section.unwrap_or_else(|| panic!("docs/case-file.md lacks {title}"));
            let start = docs[section..].find(HEAD);
            let start = section + start.unwrap_or_else(|| panic!("{title} lacks a table of keys"));
            let end = start + docs[start..].find("\n\n").unwrap() + 1;
            docs.replace_range(start..end, &markdown(table));
        }
        docs
    });
}

#[test]
fn the_json_schema_in_docs_is_the_one_that_is_printed() {
    assert_current("docs/case.schema.json", |_| text(&json_schema()));
}

#[test]
fn units_are_those_that_can_be_converted() {
    assert_eq!(UNITS, LengthUnit::ALL.map(LengthUnit::name));
}
