use mesh::files::{Lines, parse_real};
use mesh::internals::files::lines::vertex;

#[test]
fn lines_are_counted_and_comments_passed_over() {
    let mut lines = Lines::new(b"# a\r\n\n 1 2 # b\n#\n3");
    let mut line = lines.next_content(b"#", true).unwrap();
    assert_eq!((line.number(), line.count()), (3, 2));
    assert_eq!(line.real("x").unwrap(), 1.0);
    assert_eq!(line.size("n").unwrap(), 2);
    assert_eq!(line.end(), Ok(()));
    let mut line = lines.next_content(b"#", true).unwrap();
    assert_eq!(line.number(), 5);
    assert_eq!(line.real("x").unwrap(), 3.0);
    let error = line.real("a height").unwrap_err();
    assert_eq!(error.to_string(), "line 5: expected a height, found the end of the line");
    assert!(lines.next_content(b"#", true).is_none());
}

#[test]
fn numbers_are_those_of_text_files() {
    for (word, value) in [("1", 1.0), ("-2.5e-3", -2.5e-3), ("1.0D+02", 100.0), (".5", 0.5)] {
        assert_eq!(parse_real(word.as_bytes()), Some(value));
    }
    for word in ["", "nan", "inf", "1,5", "0x1", "d", "1e999"] {
        assert_eq!(parse_real(word.as_bytes()), None, "{word}");
    }
}

#[test]
fn vertices_are_numbered_from_the_first() {
    assert_eq!(vertex(1, 3, 1), Ok(0));
    assert!(vertex(0, 3, 1).is_err());
    assert!(vertex(4, 3, 1).is_err());
    assert!(vertex(-1, 3, 0).is_err());
    assert!(vertex(i64::MIN, 3, 1).is_err());
}
