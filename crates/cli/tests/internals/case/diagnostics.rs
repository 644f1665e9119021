use farad_cli::internals::case::nearest;

#[test]
fn near_names_are_found_and_far_ones_are_not() {
    let keys = ["file", "unit", "ignore"];
    assert_eq!(nearest("units", keys), Some("unit"));
    assert_eq!(nearest("Fiel", keys), Some("file"));
    assert_eq!(nearest("permittivity", keys), None);
    assert_eq!(nearest("normal", ["format", "formats"]), None);
    assert_eq!(nearest("grounded", ["ground", "symmetric"]), Some("ground"));
    assert_eq!(nearest("float", ["group", "floating"]), Some("floating"));
    // Of one letter each is as near as the other.
    assert_eq!(nearest("w", ["x", "y", "z"]), None);
}
