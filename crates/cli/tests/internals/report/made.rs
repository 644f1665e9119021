use farad_cli::internals::made::timestamp;

#[test]
fn times_are_written_as_iso_8601_has_them() {
    assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
    assert_eq!(timestamp(951_827_696), "2000-02-29T12:34:56Z");
    assert_eq!(timestamp(1_735_689_599), "2024-12-31T23:59:59Z");
}
