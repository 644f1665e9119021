use farad_cli::internals::batch::Row;
use farad_cli::internals::difference::parse;

#[test]
fn sums_have_signs_between_blanks() {
    let names = ["com-plex", "a", "b"];
    let found = parse("binding = com-plex - a - b", &names).map_err(|_| ()).unwrap();
    assert_eq!(found.terms, [(1.0, 0), (-1.0, 1), (-1.0, 2)]);
    let found = parse("x=- a+b", &names).map_err(|_| ()).unwrap();
    assert_eq!(found.terms, [(-1.0, 1), (1.0, 2)]);
    for wrong in ["a - b", "x = ", "x = a -", "x = c", "x = a b", "= a", "x = a - - b"] {
        assert!(parse(wrong, &names).is_err(), "{wrong}");
    }
}

#[test]
fn bars_add_up_and_missing_rows_leave_nothing() {
    let row = |name: &str, solvation: Option<f64>| {
        let mut row = Row::pending(name, "x.pqr".to_owned());
        row.solvation_kcal_per_mol = solvation;
        row.solvation_error_kcal_per_mol = solvation.map(|_| 0.5);
        row
    };
    let rows = [row("a", Some(-3.0)), row("b", Some(-1.0)), row("c", None)];
    let names = ["a", "b", "c"];
    let found = parse("d = a - b", &names).map_err(|_| ()).unwrap().of(&rows);
    assert_eq!(found.solvation_kcal_per_mol, Some(-2.0));
    assert_eq!(found.solvation_error_kcal_per_mol, Some(1.0));
    assert_eq!((found.terms.as_str(), found.total_kcal_per_mol), ("a - b", None));
    let found = parse("d = a - c", &names).map_err(|_| ()).unwrap().of(&rows);
    assert_eq!(found.solvation_kcal_per_mol, None);
}
