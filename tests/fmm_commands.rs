//! `farad fmm bench` and `eval`.

use samples::{Distribution, Random};
use serde_json::Value;

use crate::support::{Ended, Workplace, keys};

const FIELDS: &str = "apply_s backend depth distribution fallback first_apply_s gpu gradient_l2_error leaf_size m2l_count m2l_per_box m2p_count mean_p_prime mode n near_precision not_finite p p2p_pairs \
    peak_memory_bytes plan_memory_bytes potential_l2_error precision relative_l2_error setup_s simd stages targets threads tolerance warnings \
    working_memory_bytes";

fn object(ended: &Ended) -> Value {
    let value: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(keys(&value), FIELDS.split_whitespace().collect::<Vec<_>>());
    assert_eq!(keys(&value["stages"]), ["l2l", "l2p", "m2l", "m2m", "m2p", "p2m", "p2p"]);
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
            "fmm bench --points 3000 --distribution {distribution} --tolerance {tolerance} --seed 3 --json {options}"
        )));
        assert_eq!(report["n"], 3000);
        assert_eq!(report["distribution"], distribution);
        assert_eq!(report["backend"], "cpu");
        let error = report["relative_l2_error"].as_f64().unwrap();
        assert!(error <= tolerance, "{distribution}: {error}");
    }
    for (targets, mode, chosen) in [
        (4, "auto", "direct"),
        (900, "auto", "treecode"),
        (4, "treecode", "treecode"),
        (900, "direct", "direct"),
        (900, "fmm", "fmm"),
    ] {
        let report = object(&place.must(&format!(
            "fmm bench --points 4e4 --targets {targets} --distribution cube --tolerance 1e-3 --backend cpu --mode {mode} --json"
        )));
        assert_eq!((&report["mode"], &report["targets"]), (&chosen.into(), &targets.into()));
        assert_eq!(report["m2p_count"].as_u64() > Some(0), chosen == "treecode");
    }
    place
        .farad("fmm bench --points 9 --distribution cube --tolerance 1e-3 --mode fmm --direct")
        .fails(2, &["--mode", "--direct"]);
    let text = place.must("fmm bench --points 1e2 --distribution cube --tolerance 1e-3").stdout;
    assert!(text.contains("100 points (cube)"), "{text}");
    for n in ["0", "1.5", "-3", "many"] {
        place
            .farad(&format!("fmm bench --n={n} --distribution cube --tolerance 1e-3"))
            .fails(2, &["--points", if n == "0" { "1 or greater" } else { "such as 1000 or 1e6" }]);
    }
}

/// A .npy file, version 1.0.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

pub fn doubles(values: &[f64]) -> Vec<u8> {
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

    // The same points in Fortran order and single precision; one density; a target at x = 1 next to
    // the first charge.
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
    // A charge of 2 at the origin with the moment (0, 0, 3), and a point without strengths at
    // distance 2 along z: 2 / 2 + 3 * 2 / 8. The second density has the moment's sign changed.
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

/// Random points of a cube and charges, as files.
pub fn cloud(place: &Workplace, count: usize) -> Vec<f64> {
    let mut random = Random::new(61);
    let points = Distribution::Cube.points::<3>(count, &mut random);
    place.write(
        "points.npy",
        npy("<f8", false, &format!("({count}, 3)"), &doubles(points.as_flattened())),
    );
    (0..count).map(|_| random.uniform() - 0.5).collect()
}

#[test]
fn eval_takes_charges_of_any_size() {
    let place = Workplace::new("fmm_eval_sizes");
    let charges = cloud(&place, 500);
    for size in [1.0, 1e-50, 1e39, 1e-200, 1e200] {
        let scaled: Vec<f64> = charges.iter().map(|q| q * size).collect();
        place.write("charges.npy", npy("<f8", false, "(500,)", &doubles(&scaled)));
        let report = object(&place.must(
            "fmm eval points.npy charges.npy --tolerance 1e-4 --mode fmm -o out.npy --overwrite --json",
        ));
        assert_eq!(report["precision"], "single");
        let error = report["relative_l2_error"].as_f64().unwrap();
        assert!(error > 0.0 && error <= 1e-4, "{size:e}: {error:e}");
        assert_eq!(report["warnings"], Value::Array(Vec::new()));
    }
    // Next to charges of 1 those of 1e-50 have an error of their own.
    let both: Vec<f64> = charges.iter().copied().chain(charges.iter().map(|q| 1e-50 * q)).collect();
    place.write("charges.npy", npy("<f8", false, "(2, 500)", &doubles(&both)));
    place.must("fmm eval points.npy charges.npy --tolerance 1e-4 -o out.npy --overwrite");
    let (_, values) = read(&place, "out.npy");
    let (one, other) = values.split_at(500);
    let squares = |of: &mut dyn Iterator<Item = f64>| of.map(|v| v * v).sum::<f64>();
    let difference = squares(&mut one.iter().zip(other).map(|(a, b)| 1e50 * b - a));
    // Charges are rounded to single precision, each density by itself.
    assert!((difference / squares(&mut one.iter().copied())).sqrt() < 1e-6);
}

#[test]
fn eval_says_what_is_wrong_with_its_sums() {
    let place = Workplace::new("fmm_eval_judged");
    let charges = cloud(&place, 500);
    let huge: Vec<f64> = charges.iter().map(|q| 1e308 * q).collect();
    place.write("charges.npy", npy("<f8", false, "(500,)", &doubles(&huge)));
    // Potentials of hundreds of such charges are beyond what a double holds.
    let ended = place.farad("fmm eval points.npy charges.npy --tolerance 1e-4 -o out.npy");
    ended.fails(4, &["out.npy is written, but do not trust it", "no finite numbers"]);
    assert!(ended.stdout.contains("warning"), "{}", ended.stdout);
    let (_, values) = read(&place, "out.npy");
    assert!(values.len() == 500 && values.iter().any(|v| !v.is_finite()));
    let ended = place.farad("fmm eval points.npy charges.npy --tolerance 1e-4 -o json.npy --json");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(ended.code == 4 && report["warnings"].as_array().unwrap().len() == 1);
    assert!(report["not_finite"].as_u64().unwrap() > 0);

    // Charges that cancel to all the digits that single precision has: no relative error can be
    // kept far away.
    let count = 400;
    let mut random = Random::new(62);
    let points = Distribution::Cube.points(count / 2, &mut random);
    let twins = points.iter().map(|x| [x[0], x[1], x[2] + 1e-9]);
    let points: Vec<[f64; 3]> = points.iter().copied().chain(twins).collect();
    let charges: Vec<f64> = (0..count).map(|i| if i < count / 2 { 1.0 } else { -1.0 }).collect();
    let shape = format!("({count}, 3)");
    place.write("points.npy", npy("<f8", false, &shape, &doubles(points.as_flattened())));
    place.write("charges.npy", npy("<f8", false, &format!("({count},)"), &doubles(&charges)));
    place.write("far.npy", npy("<f8", false, "(2, 3)", &doubles(&[3., 0., 0., 0., 4., 0.])));
    let eval = |more: &str| {
        let files = "fmm eval points.npy charges.npy --targets far.npy";
        place.farad(&format!("{files} --tolerance 1e-4 -o far-out.npy --overwrite {more}"))
    };
    eval("--mode fmm").fails(4, &["far-out.npy is written", "times the tolerance", "--direct"]);
    assert_eq!(eval("--direct").code, 0);
    // So few pairs are summed directly anyway.
    assert_eq!(eval("").code, 0);
}

#[test]
fn eval_keeps_digits_of_clusters_far_apart() {
    let place = Workplace::new("fmm_eval_far");
    let mut random = Random::new(63);
    let cluster = Distribution::Cube.points(300, &mut random);
    let other = cluster.iter().map(|x| [x[0] + 1e12, x[1], x[2]]);
    let points: Vec<[f64; 3]> = cluster.iter().copied().chain(other).collect();
    let charges: Vec<f64> = (0..600).map(|_| random.uniform() - 0.5).collect();
    place.write("points.npy", npy("<f8", false, "(600, 3)", &doubles(points.as_flattened())));
    place.write("charges.npy", npy("<f8", false, "(600,)", &doubles(&charges)));
    for tolerance in ["1e-6", "1e-8", "1e-11"] {
        for mode in ["fmm", "treecode", "auto"] {
            let report = object(&place.must(&format!(
                "fmm eval points.npy charges.npy --gradient --tolerance {tolerance} --mode {mode} -o out.npy --overwrite --json"
            )));
            // What doubles of the input allow.
            let error = report["relative_l2_error"].as_f64().unwrap();
            assert!(error < 1e-11, "{mode} {tolerance}: {error:e}");
        }
    }
}

#[test]
fn the_environment_chooses_the_instruction_set() {
    let place = Workplace::new("simd");
    let farad = |arguments: &str, level: Option<&str>| {
        let mut command = place.command(arguments);
        command.env_remove("FARAD_SIMD").envs(level.map(|level| ("FARAD_SIMD", level)));
        Ended::from(command.output().unwrap())
    };
    let info = |level: Option<&str>| farad("info --json", level);
    let of = |ended: &Ended| -> Value { serde_json::from_str(&ended.stdout).unwrap() };
    let plain = of(&info(None));
    assert_eq!(
        keys(&plain),
        [
            "available_memory_bytes",
            "commit",
            "gpus",
            "no_gpu",
            "processor",
            "simd",
            "threads",
            "version"
        ]
    );
    assert_eq!(plain["simd"]["used"], plain["simd"]["best"]);
    let names = [("baseline", "baseline"), ("avx2", "AVX2"), ("avx512", "AVX-512")];
    let best = names.iter().position(|(_, name)| plain["simd"]["best"] == *name).unwrap();
    for (i, (level, name)) in names.into_iter().enumerate() {
        let ended = info(Some(level));
        if i > best {
            ended.fails(2, &["FARAD_SIMD", name, "lacks"]);
            continue;
        }
        assert_eq!((ended.code, of(&ended)["simd"]["used"].as_str()), (0, Some(name)));
        let text = farad("info", Some(level)).stdout;
        assert!(text.contains(&format!("simd       {name} (chosen by FARAD_SIMD")), "{text}");
        let bench =
            "fmm bench --points 2000 --distribution cube --tolerance 1e-5 --repeat 1 --json";
        let report = of(&farad(bench, Some(level)));
        assert_eq!(report["simd"], name);
        assert!(report["relative_l2_error"].as_f64().unwrap() <= 1e-5);
    }
    info(Some("sse2")).fails(2, &["FARAD_SIMD", "\"sse2\"", "baseline, avx2 or avx512"]);
}

#[test]
fn arrays_that_cannot_be_read_are_reported_in_their_words() {
    let place = Workplace::new("eval_words");
    let file = |version: u8, header: &[u8]| {
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY", &[version, 0][..], &length, header].concat()
    };
    let refused = |bytes: &[u8], part: &str| {
        place.write("points.npy", bytes);
        place
            .farad("fmm eval points.npy points.npy --tolerance 1e-3 -o sums.npy")
            .fails(3, &[part, "write it with numpy.save"]);
    };
    for (descr, fortran, shape, part) in [
        (
            "[('x', '<f8')]",
            "False",
            "(1, 3)",
            "the elements are records, expected float64 or float32",
        ),
        ("'<f8'", "False", "(1, 1, 1, 3)", "the array has 4 dimensions, expected 1 to 3"),
        ("'<f8'", "Maybe", "(1, 3)", "fortran_order is neither True nor False"),
        ("'<f8'", "False", "7", "the shape is not a tuple"),
        ("'<f8'", "False", "(x, 3)", "'x' is no size"),
    ] {
        let header =
            format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
        refused(&file(1, header.as_bytes()), part);
    }
    let header = b"{'descr': '<f8', 'shape': (1, 3), }";
    refused(&file(1, header), "the header lacks fortran_order");
    refused(&file(1, header)[..20], "the file ends inside its header");
    refused(&file(9, header), "version 9 of the .npy format is not read");
    refused(&file(1, b"\xff\xfe"), "the header is not text");
    refused(b"hello world", "this is not a .npy file");
}
