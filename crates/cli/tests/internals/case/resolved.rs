use farad_cli::internals::text::toml_string;

#[test]
fn strings_are_escaped() {
    for name in ["left", "say \"hi\"", "back\\slash", "µ"] {
        let table: toml::Table = format!("x = {}", toml_string(name)).parse().unwrap();
        assert_eq!(table["x"].as_str(), Some(name));
    }
}
