use mesh::internals::gmsh::scan::{excerpt, int_of_text, size_of_text};

#[test]
fn integers_have_exact_limits() {
    assert_eq!(size_of_text(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(size_of_text(b"18446744073709551616"), None);
    assert_eq!(size_of_text(b"-1"), None);
    assert_eq!(int_of_text(b" -9223372036854775808\n"), Some(i64::MIN));
    assert_eq!(int_of_text(b"9223372036854775808"), None);
    assert_eq!(int_of_text(b"+7 8"), Some(7));
    for bad in ["", "-", "1.5", "0x10", "1_000", "99999999999999999999999", "\n3"] {
        assert_eq!(int_of_text(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn messages_quote_briefly() {
    assert_eq!(excerpt(b"$EndNodes\n"), "\"$EndNodes\"");
    assert_eq!(excerpt(b"\n1"), "the end of the line");
    assert_eq!(excerpt(&[b'a'; 100]), format!("\"{}...\"", "a".repeat(24)));
    assert_eq!(excerpt(b"a\x1b[0m"), "\"a\\u{1b}[0m\"");
}
