use farad::units::LengthUnit;
use farad_cli::internals::case::{Absent, KEYS, Key, TABLES, UNITS, heading};

/// docs/case-file.md has a section per table and a row per key, which names the default or says
/// "required".
#[test]
fn the_documentation_lists_every_key() {
    let docs = include_str!("../../../../../docs/case-file.md");
    for Key { table, name, absent, .. } in KEYS {
        let title = match table {
            "" => "## Top of the file".to_owned(),
            _ => format!("## `{}`", heading(table)),
        };
        let section = docs
            .split("\n## ")
            .find(|section| title.ends_with(section.lines().next().unwrap_or("")));
        let section =
            section.unwrap_or_else(|| panic!("docs/case-file.md lacks the section {title}"));
        let row = section.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{title} lacks a row for `{name}`"));
        let expected = match absent {
            Absent::Error => "required",
            Absent::Default(default) => default,
        };
        assert!(row.contains(expected), "{title} `{name}`: no \"{expected}\" in {row}");
    }
}

#[test]
fn units_are_those_that_can_be_converted() {
    assert_eq!(UNITS, LengthUnit::ALL.map(LengthUnit::name));
}

#[test]
fn every_key_is_in_a_known_table() {
    for key in KEYS {
        assert!(key.table.is_empty() || TABLES.contains(&key.table), "{}", key.table);
    }
}
