use farad::Of;

#[test]
fn an_accuracy_is_of_all_or_of_one_number() {
    let entry = Of::Entry("left plate".to_owned(), "b".to_owned());
    for (text, of) in [
        ("all", Of::All),
        ("C", Of::All),
        ("energy", Of::Energy),
        ("C(left plate, b)", entry.clone()),
        (" C(left plate,b) ", entry),
        ("polarisability", Of::Polarisability),
        ("V(b (upper))", Of::Potential("b (upper)".to_owned())),
        ("Q( a )", Of::Charge("a".to_owned())),
        ("F(a)", Of::Force("a".to_owned())),
        ("probe(axis)", Of::Probe("axis".to_owned())),
        ("field(axis)", Of::Field("axis".to_owned())),
    ] {
        assert_eq!(text.parse(), Ok(of.clone()), "{text}");
        assert_eq!(of.to_string().parse(), Ok(of), "{text}");
    }
    for text in ["", "C(a)", "c(a,b)", "forces", "C(a,b"] {
        assert!(text.parse::<Of>().is_err(), "{text}");
    }
}
