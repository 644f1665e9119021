use farad::Target;

#[test]
fn an_accuracy_is_of_all_or_of_one_number() {
    let entry = Target::Entry("left plate".to_owned(), "b".to_owned());
    for (text, target) in [
        ("all", Target::All),
        ("C", Target::All),
        ("energy", Target::Energy),
        ("C(left plate, b)", entry.clone()),
        (" C(left plate,b) ", entry),
        ("polarisability", Target::Polarisability),
        ("V(b (upper))", Target::Potential("b (upper)".to_owned())),
        ("Q( a )", Target::Charge("a".to_owned())),
        ("F(a)", Target::Force("a".to_owned())),
        ("probe(axis)", Target::Probe("axis".to_owned())),
        ("field(axis)", Target::Field("axis".to_owned())),
        ("films", Target::Films),
        ("film(oxide)", Target::Film("oxide".to_owned())),
    ] {
        assert_eq!(text.parse(), Ok(target.clone()), "{text}");
        assert_eq!(target.to_string().parse(), Ok(target), "{text}");
    }
    for text in ["", "C(a)", "c(a,b)", "forces", "C(a,b"] {
        assert!(text.parse::<Target>().is_err(), "{text}");
    }
}
