use farad::internals::names::fits;

#[test]
fn a_star_stands_for_any_characters() {
    for (pattern, name, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("", "", true),
        ("*", "", true),
        ("*", "any", true),
        ("fill_*", "fill_", true),
        ("fill_*", "fill_12", true),
        ("fill_*", "afill_12", false),
        ("*_n", "clk_n", true),
        ("*_n", "clk_np", false),
        ("a*b*c", "a1b2c", true),
        ("a*b*c", "abbc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("a**a", "aa", true),
        ("µ*µ", "µxµ", true),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}
