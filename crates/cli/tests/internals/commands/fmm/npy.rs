use farad_cli::internals::npy::{self, ALIGNMENT, Array, MAGIC, write};
use proptest::prelude::*;

fn parse(bytes: &[u8]) -> Result<Array, String> {
    npy::parse(bytes, bytes.len() as u64).map_err(|error| error.to_string())
}

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
}

#[test]
fn what_is_written_reads_back() {
    for shape in [vec![4], vec![2, 2], vec![0, 3], vec![2, 3, 4]] {
        let data: Vec<f64> = (0..shape.iter().product()).map(|i| i as f64 / 3.0).collect();
        let mut bytes = Vec::new();
        write(&mut bytes, &shape, &data).unwrap();
        assert_eq!((bytes.len() - 8 * data.len()) % ALIGNMENT, 0);
        assert_eq!(parse(&bytes), Ok(Array { shape, data }));
    }
}

#[test]
fn fortran_order_and_big_endian_singles_are_turned() {
    let data: Vec<u8> =
        [1f32, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    let header = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n";
    let array = parse(&file(header, &data)).unwrap();
    assert_eq!(array, Array { shape: vec![2, 3], data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] });
}

#[test]
fn fortran_order_is_turned_in_three_dimensions() {
    // Element (i, j, k) of shape (2, 3, 2) is 100 i + 10 j + k; the first index runs fastest in
    // the file.
    let of = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
    let data: Vec<u8> =
        (0..12).flat_map(|at| of(at % 2, at / 2 % 3, at / 6).to_le_bytes()).collect();
    let header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 2), }\n";
    let expected: Vec<f64> = (0..12).map(|at| of(at / 6, at / 2 % 3, at % 2)).collect();
    assert_eq!(parse(&file(header, &data)).unwrap().data, expected);
}

#[test]
fn version_2_has_a_longer_length() {
    let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    let length = (header.len() as u32).to_le_bytes();
    let bytes = [MAGIC, &[2, 0], &length, header, &1.5f64.to_le_bytes()].concat();
    assert_eq!(parse(&bytes).unwrap().data, [1.5]);
}

#[test]
fn lies_are_found_without_allocating_for_them() {
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 3)}";
    for (bytes, expected) in [
        (file(huge, &[]), "announces shape"),
        (file("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]), "'<i8'"),
        (file("{'descr': '<f8', 'shape': (1,)}", &[0; 8]), "lacks fortran_order"),
        (file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", &[0; 7]), "7 bytes"),
        (file("{'descr': [('x', '<f8')], }", &[]), "records"),
        (file("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &[0; 8]), "0 dimensions"),
        (MAGIC.to_vec(), "ends inside"),
        (b"1 2 3".to_vec(), "not a .npy"),
        (file("{", &[]), "lacks descr"),
        (file("{'descr': f8}", &[]), "of type 'f8"),
    ] {
        let error = parse(&bytes).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    /// Any bytes after a plausible beginning, and any dict of plausible words.
    #[test]
    fn nothing_makes_the_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        header in "[{]('(descr|shape|fortran_order)'|: |'<f8'|True|[(]|[)]|[0-9]{1,20}|, |[}]){0,12}",
    ) {
        let _ = parse(&[MAGIC, &bytes].concat());
        let _ = parse(&file(&header, &bytes));
    }
}
