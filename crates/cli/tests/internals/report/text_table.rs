use farad_cli::internals::text_table::narrow_tables;

#[test]
fn wide_tables_are_cut_between_columns() {
    let header: Vec<String> = ["", "alpha", "beta", "gamma"].map(str::to_owned).to_vec();
    let row: Vec<String> = ["row", "12345678", "2.5", "-1"].map(str::to_owned).to_vec();
    let text = narrow_tables(&header, &[row], 24);
    assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
    assert_eq!(text.matches("row").count(), 2, "{text}");
    for cell in ["alpha", "beta", "gamma", "12345678", "2.5", "-1"] {
        assert_eq!(text.matches(cell).count(), 1, "{cell} in\n{text}");
    }
}
