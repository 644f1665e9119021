//! Texts of units.

use farad::{LengthUnit, Unit, UnknownUnit};

#[test]
fn units_are_read_from_their_texts() {
    let texts: Vec<&str> = Unit::all().map(Unit::as_str).collect();
    assert_eq!(texts[..9], ["F", "F/m", "V", "C", "J", "kcal/mol", "N", "V/m", "1"]);
    let lengths = ["m", "cm", "mm", "um", "nm", "angstrom"];
    assert_eq!(texts[9..].len(), 2 * lengths.len());
    for (length, texts) in lengths.into_iter().zip(texts[9..].chunks(2)) {
        assert_eq!(texts, [length, &format!("{length}^3")]);
    }
    for unit in Unit::all() {
        assert_eq!(unit.to_string(), unit.as_str());
        assert_eq!(unit.as_str().parse(), Ok(unit));
        let json = serde_json::to_string(&unit).unwrap();
        assert_eq!(json, format!("\"{unit}\""));
        assert_eq!(serde_json::from_str::<Unit>(&json).unwrap(), unit);
    }
    assert_eq!("nm^3".parse(), Ok(Unit::Cubed(LengthUnit::Nanometre)));
    for text in ["", "f", "inch", "F ", "pF"] {
        assert_eq!(text.parse::<Unit>(), Err(UnknownUnit), "{text}");
    }
    assert_eq!(UnknownUnit.to_string(), "not a unit of results");
    let error = serde_json::from_str::<Unit>("\"inch^3\"").unwrap_err();
    assert!(error.to_string().starts_with("not a unit of results"), "{error}");
}
