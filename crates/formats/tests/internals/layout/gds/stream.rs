use formats::internals::gds::stream::{ENDEL, Ends, Library, MAG, Path, Record, Shape};

use super::testing::{Writer, cell_of};

#[test]
fn numbers_with_exponents_of_sixteen_are_exact() {
    for value in [1.0, -1.0, 0.5, 1e-9, 90.0, 2.5, 1e-3, 270.0, 0.0] {
        let bytes = Writer::real(value);
        let record = Record { at: 0, is: MAG, data: &bytes };
        let found = record.real().unwrap();
        assert!((found - value).abs() <= 1e-16 * value.abs(), "{value} {found}");
    }
}

#[test]
fn elements_have_what_their_records_say() {
    let mut file = Writer::new();
    file.begin("a");
    file.polygon((68, 20), &[[0, 0], [4, 0], [4, 2], [0, 2]]);
    file.path((68, 20), 4, -6, &[[0, 0], [10, 0]], Some([3, -2]));
    file.text((68, 5), "net", [1, 1]);
    file.end();
    file.begin("b");
    file.sref("a", [7, 8], Some((true, 2.0, 90.0)));
    file.aref("a", [3, 2], [[0, 0], [30, 0], [0, 40]]);
    // Properties and whatever else are skipped.
    file.record(0x2B, 2, &[0, 1]);
    file.end();
    let library = Library::parse(&file.finish()).unwrap();
    assert!((library.unit - 1e-9).abs() < 1e-24);
    let [a, b] = library.cells.as_slice() else { panic!("{library:?}") };
    assert_eq!((a.name.as_str(), a.shapes.len(), b.references.len()), ("a", 2, 2));
    let path = Path {
        points: vec![[0.0, 0.0], [10.0, 0.0]],
        width: 6.0,
        is_absolute: true,
        ends: Ends::Square([3.0, -2.0]),
    };
    assert_eq!(a.shapes[1], ((68, 20), Shape::Path(path)));
    assert_eq!((a.labels[0].layer, a.labels[0].text.as_str()), ((68, 5), "net"));
    assert!(b.references[0].is_mirrored && b.references[0].angle == 90.0);
    assert_eq!(b.references[1].array, [(3, [10.0, 0.0]), (2, [0.0, 20.0])]);
}

#[test]
fn faults_name_the_byte() {
    let whole = cell_of(|file| file.polygon((1, 0), &[[0, 0], [4, 0], [4, 2], [0, 2]]));
    let message = |bytes: &[u8]| Library::parse(bytes).unwrap_err().to_string();
    for length in 0..whole.len() {
        let found = message(&whole[..length]);
        assert!(found.starts_with("byte "), "{length}: {found}");
    }
    assert!(message(&whole[..whole.len() - 2]).contains("truncated"));
    assert!(message(b"SEMI-OASIS\r\n").contains("no GDSII file"));
    let at = whole.windows(4).position(|head| head[2] == ENDEL).unwrap();
    let mut without = whole.clone();
    without[at + 2] = 0x2B;
    assert!(message(&without).contains("ENDEL is missing"), "{}", message(&without));
    without[at] = 0;
    without[at + 1] = 2;
    assert!(message(&without).contains(&format!("byte {at}: a record says")));
}
