//! `farad fmm bench` and `eval`.

use serde_json::Value;

use crate::support::{Ended, Workplace, keys};

const FIELDS: &str = "apply_s backend depth distribution fallback first_apply_s gpu gradient_l2_error leaf_size m2l_count m2l_per_box mean_p_prime n near_precision p p2p_pairs \
    peak_memory_bytes plan_memory_bytes potential_l2_error precision relative_l2_error setup_s simd stages threads tolerance \
    working_memory_bytes";

fn object(ended: &Ended) -> Value {
    let value: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(keys(&value), FIELDS.split_whitespace().collect::<Vec<_>>());
    assert_eq!(keys(&value["stages"]), ["l2l", "l2p", "m2l", "m2m", "p2m", "p2p"]);
    value
}

#[test]
fn bench_reports_one_object_and_meets_the_tolerance() {
    let place = Workplace::new("fmm_bench");
    for (distribution, options) in [
        ("cube", "--charges mixed"),
        ("sphere", "--charges positive --gradient"),
        ("plummer", "--densities 3"),
        ("graded-plate", "--precision double --repeat 1"),
    ] {
        let tolerance = 1e-4;
        let report = object(&place.must(&format!(
            "fmm bench --n 3000 --distribution {distribution} --tolerance {tolerance} --seed 3 --json {options}"
        )));
        assert_eq!(report["n"], 3000);
        assert_eq!(report["distribution"], distribution);
        assert_eq!(report["backend"], "cpu");
        let error = report["relative_l2_error"].as_f64().unwrap();
        assert!(error <= tolerance, "{distribution}: {error}");
    }
    let text = place.must("fmm bench --n 100 --distribution cube --tolerance 1e-3").stdout;
    assert!(text.contains("100 points (cube)"), "{text}");
}

/// A .npy file, version 1.0.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The header and the numbers of a file that the program wrote.
fn read(place: &Workplace, name: &str) -> (String, Vec<f64>) {
    let bytes = std::fs::read(place.path(name)).unwrap();
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8(bytes[10..end].to_vec()).unwrap();
    (
        header,
        bytes[end..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
    )
}

#[test]
fn eval_sums_two_charges_by_hand() {
    let place = Workplace::new("fmm_eval");
    // Charges 2 and 3 at distance 2 along z; two densities, the second with the signs changed.
    place.write("points.npy", npy("<f8", false, "(2, 3)", &doubles(&[0., 0., 0., 0., 0., 2.])));
    place.write("charges.npy", npy("<f8", false, "(2, 2)", &doubles(&[2., 3., -2., -3.])));
    place.must("fmm eval points.npy charges.npy --tolerance 1e-10 -o out.npy");
    let (header, values) = read(&place, "out.npy");
    assert!(header.contains("'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)"), "{header}");
    for (value, exact) in values.iter().zip([1.5, 1.0, -1.5, -1.0]) {
        assert!((value - exact).abs() < 1e-10, "{values:?}");
    }

    // The same points in Fortran order and single precision; one density; a target at x = 1 beside the first charge.
    let singles: Vec<u8> =
        [0f32, 0., 0., 0., 0., 2.].iter().flat_map(|x| x.to_le_bytes()).collect();
    place.write("fortran.npy", npy("<f4", true, "(2, 3)", &singles));
    place.write("one.npy", npy("<f8", false, "(2,)", &doubles(&[2., 0.])));
    place.write("target.npy", npy("<f8", false, "(1, 3)", &doubles(&[1., 0., 0.])));
    let report = object(&place.must(
        "fmm eval fortran.npy one.npy --targets target.npy --gradient --tolerance 1e-10 -o g.npy --json",
    ));
    assert_eq!(report["distribution"], Value::Null);
    let (header, values) = read(&place, "g.npy");
    assert!(header.contains("'shape': (1, 4)"), "{header}");
    for (value, exact) in values.iter().zip([2.0, -2.0, 0.0, 0.0]) {
        assert!((value - exact).abs() < 1e-9, "{values:?}");
    }
}

#[test]
fn eval_adds_dipoles() {
    let place = Workplace::new("fmm_eval_dipoles");
    // A charge of 2 at the origin with the moment (0, 0, 3), and a point without strengths at distance 2 along z:
    // 2 / 2 + 3 * 2 / 8. The second density has the moment's sign changed.
    place.write("points.npy", npy("<f8", false, "(2, 3)", &doubles(&[0., 0., 0., 0., 0., 2.])));
    place.write("charges.npy", npy("<f8", false, "(2, 2)", &doubles(&[2., 0., 2., 0.])));
    let moments = [0., 0., 3., 0., 0., 0., 0., 0., -3., 0., 0., 0.];
    place.write("dipoles.npy", npy("<f8", false, "(2, 2, 3)", &doubles(&moments)));
    place
        .must("fmm eval points.npy charges.npy --dipoles dipoles.npy --tolerance 1e-10 -o out.npy");
    let (_, values) = read(&place, "out.npy");
    for (value, exact) in values.iter().zip([0.0, 1.75, 0.0, 0.25]) {
        assert!((value - exact).abs() < 1e-9, "{values:?}");
    }
    place.write("flat.npy", npy("<f8", false, "(2, 3)", &doubles(&[0.; 6])));
    let eval = |dipoles: &str| {
        place.farad(&format!(
            "fmm eval points.npy charges.npy --dipoles {dipoles} --tolerance 1e-3 -o no.npy"
        ))
    };
    eval("flat.npy").fails(3, &["flat.npy has shape (2, 3), expected (2, 2, 3)"]);
    place.write("nan.npy", npy("<f8", false, "(2, 2, 3)", &doubles(&[f64::NAN; 12])));
    eval("nan.npy").fails(3, &["component 0 of density 0 is NaN"]);
}

#[test]
fn eval_refuses_what_does_not_fit() {
    let place = Workplace::new("fmm_eval_errors");
    place.write("points.npy", npy("<f8", false, "(2, 3)", &doubles(&[0.; 6])));
    place.write("flat.npy", npy("<f8", false, "(6,)", &doubles(&[0.; 6])));
    place.write("charges.npy", npy("<f8", false, "(2,)", &doubles(&[1., f64::NAN])));
    place.write("three.npy", npy("<f8", false, "(3,)", &doubles(&[1.; 3])));
    place.write("whole.npy", npy("<i8", false, "(2,)", &doubles(&[1.; 2])));
    let eval = |files: &str| place.farad(&format!("fmm eval {files} --tolerance 1e-3 -o out.npy"));
    eval("flat.npy charges.npy").fails(3, &["flat.npy has shape (6), expected (n, 3)"]);
    eval("points.npy three.npy").fails(3, &["three.npy has shape (3), expected (2) or (k, 2)"]);
    eval("points.npy charges.npy").fails(3, &["charge 1 of density 0 is NaN"]);
    eval("points.npy whole.npy").fails(3, &["'<i8'", "float64 or float32"]);
    place.write("out.npy", "mine");
    eval("points.npy charges.npy").fails(6, &["out.npy exists already", "--overwrite"]);
    assert_eq!(place.read("out.npy"), "mine");
}
