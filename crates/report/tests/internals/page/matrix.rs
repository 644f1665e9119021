use farad::{Labelled, Unit};
use report::internals::matrix::{STRONGEST, couplings, shares, table};

#[test]
fn couplings_are_shares_of_the_diagonals() {
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let values = vec![vec![4.0, -1.0, 0.0], vec![-1.0, 1.0, f64::NAN], vec![0.0, -0.5, 9.0]];
    let (rows, unit) = (&names, Unit::Farad);
    let all = Labelled { rows, columns: rows, values: &values, bars: None, unit };
    let of_all = shares(all);
    assert!(of_all[0][0].is_nan() && of_all[1][2].is_nan());
    assert_eq!([of_all[0][1], of_all[1][0], of_all[2][1]], [0.5, 0.5, 0.5 / 3.0]);
    // Chosen nets: one column alone.
    let column = vec![vec![-1.0], vec![1.0], vec![-0.5]];
    let of_chosen = shares(Labelled { columns: &names[1..2], values: &column, ..all });
    assert_eq!([of_chosen[0][0], of_chosen[2][0]], [1.0, 0.5]);
    assert!(of_chosen[1][0].is_nan());
}

#[test]
fn many_conductors_have_no_table_but_their_strongest_couplings() {
    for (n, has_table) in [(41, true), (301, false)] {
        let names: Vec<String> = (0..n).map(|i| format!("net{i}")).collect();
        let value = |i: usize, j: usize| if i == j { 1e-12 } else { -1e-15 * (i + j) as f64 };
        let values: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| value(i, j)).collect()).collect();
        let (rows, values, unit) = (&names, &values, Unit::Farad);
        let of = Labelled { rows, columns: rows, values, bars: Some(values), unit };
        assert_eq!(table(of, "file.csv").into_text().contains("<table"), has_table);
        let html = couplings(of).unwrap().into_text();
        assert_eq!(html.matches("<tr>").count(), STRONGEST + 1);
        assert!(html.contains(&format!("net{}", n - 1)));
    }
}
