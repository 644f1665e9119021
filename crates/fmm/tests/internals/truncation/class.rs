use fmm::internals::truncation::Class;

#[test]
fn the_worst_case_bound_is_paper_001_eq_24() {
    assert_eq!(Class::new(3, 0, [0, 0, 4]).bound(8), 8);
    // The corner pair of the text: eta = 0.199.
    assert_eq!(Class::new(3, 0, [6, 6, 6]).bound(8), 2);
}
