use farad::{Labelled, Unit};
use farad_cli::internals::csv::matrix;

#[test]
fn names_with_commas_and_quotes_survive() {
    let mut out = Vec::new();
    let names = ["a,b".to_owned(), "say \"c\"".to_owned()];
    let (rows, values) = (&names, &[vec![1.5, -0.5], vec![-0.5, 1e-12]]);
    let of = Labelled { rows, columns: rows, values, bars: None, unit: Unit::Farad };
    matrix(&mut out, "farad", of).unwrap();
    let expected =
        "farad,\"a,b\",\"say \"\"c\"\"\"\n\"a,b\",1.5e0,-5e-1\n\"say \"\"c\"\"\",-5e-1,1e-12\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
