use report::internals::matrix::{Matrix, STRONGEST, couplings, table};

#[test]
fn couplings_are_shares_of_the_diagonals() {
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let values = vec![vec![4.0, -1.0, 0.0], vec![-1.0, 1.0, f64::NAN], vec![0.0, -0.5, 9.0]];
    let all = Matrix { rows: &names, columns: &names, values: &values, bars: None };
    let shares = all.shares();
    assert!(shares[0][0].is_nan() && shares[1][2].is_nan());
    assert_eq!([shares[0][1], shares[1][0], shares[2][1]], [0.5, 0.5, 0.5 / 3.0]);
    // Chosen nets: one column alone.
    let column = vec![vec![-1.0], vec![1.0], vec![-0.5]];
    let chosen = Matrix { columns: &names[1..2], values: &column, ..all };
    let shares = chosen.shares();
    assert_eq!([shares[0][0], shares[2][0]], [1.0, 0.5]);
    assert!(shares[1][0].is_nan());
}

#[test]
fn many_conductors_have_no_table_but_their_strongest_couplings() {
    for (n, has_table) in [(41, true), (301, false)] {
        let names: Vec<String> = (0..n).map(|i| format!("net{i}")).collect();
        let value = |i: usize, j: usize| if i == j { 1e-12 } else { -1e-15 * (i + j) as f64 };
        let values: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| value(i, j)).collect()).collect();
        let of = Matrix { rows: &names, columns: &names, values: &values, bars: Some(&values) };
        assert_eq!(table(of, "file.csv").into_text().contains("<table"), has_table);
        let html = couplings(of).unwrap().into_text();
        assert_eq!(html.matches("<tr>").count(), STRONGEST + 1);
        assert!(html.contains(&format!("net{}", n - 1)));
    }
}
