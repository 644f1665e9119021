//! Capacitances against exact answers, and the two methods against each other.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Workplace, matrix, maxwell, repository};

/// C/(4 pi eps0) of the unit cube: Helsing and Perfekt, On the polarizability and capacitance of
/// the cube (2013).
const CUBE: f64 = 0.660_678_154_099_57;

/// C/(4 pi eps0) of the disk of radius 1: 2/pi.
const DISK: f64 = std::f64::consts::FRAC_2_PI;

/// C11 and C12 over 4 pi eps0 of two unit spheres with centres 3 apart: series of image charges.
const TWO_SPHERES: (f64, f64) = (1.146_287_441_941_130_2, -0.389_083_066_895_122_84);

fn capacitance(place: &Workplace, shape: &str, more: &str) -> f64 {
    place.generate(&format!("{shape} --overwrite"), "mesh.msh");
    place.case("case.toml", "mesh.msh", more);
    maxwell(&place.solve("case.toml"))[0][0]
}

#[test]
fn a_sphere_converges_with_second_order_from_below() {
    let place = Workplace::new("solve_sphere");
    let error = |n: usize| 1.0 - capacitance(&place, &format!("sphere --elements {n}"), "");
    let (coarse, fine) = (error(512), error(2048));
    // bempp-cl's 4.9e-4 at 8,192 triangles, times 4 for each level (facets dominate).
    assert!((0.0..4.0 * 4.9e-4 * 1.1).contains(&fine), "{fine}");
    let order = (coarse / fine).log2();
    assert!((1.9..2.1).contains(&order), "{coarse} {fine} {order}");
}

/// Facets inside and outside of the sphere in equal parts leave little of their error: vertices on
/// the sphere give -1.2e-2.
#[test]
fn facets_of_the_spheres_volume_come_much_closer() {
    let place = Workplace::new("solve_volume");
    let c = capacitance(&place, "sphere --base icosahedron --elements 320 --equal-volume", "");
    assert!((c - 1.0).abs() < 5e-4, "{c}");
}

/// Vertices at 1e9 radii are rounded by 1e-7 of a radius.
#[test]
fn spheres_however_far_apart_take_as_much_memory_and_are_alone() {
    let place = Workplace::new("solve_far");
    let solved = |distance: &str| {
        let shape = "two-spheres --radius 1 --base icosahedron --equal-volume --elements 1280";
        place.generate(&format!("{shape} --distance {distance} --overwrite"), "mesh.msh");
        place.case("case.toml", "mesh.msh", "[solver]\nmethod = \"fmm\"");
        let results = place.solve("case.toml --threads 1 --backend cpu");
        (maxwell(&results), results["memory_bytes"]["peak"].as_f64())
    };
    let (_, near) = solved("10");
    for distance in ["3e7", "1e9"] {
        let (c, far) = solved(distance);
        for i in 0..2 {
            // As of facets of the sphere's volume; the others see 3e-8 of it at most.
            assert!((c[i][i] - 1.0).abs() < 5e-4 && c[i][1 - i].abs() < 1e-6, "{c:?}");
        }
        if let (Some(near), Some(far)) = (near, far) {
            assert!(far < 1.5 * near, "{distance}: {far} bytes for {near}");
        }
    }
}

/// Literature values: the torus to six digits, the cube's polarisability as ZENO gives it, 3.64431
/// eps0 a^3.
#[test]
fn a_torus_and_the_polarisability_of_a_cube() {
    let place = Workplace::new("solve_literature");
    let error = |elements: usize| {
        let torus = format!("torus --ring-radius 4 --tube-radius 1 --elements {elements}");
        capacitance(&place, &torus, "") / 3.72768 - 1.0
    };
    let (coarse, fine) = (error(500), error(2000));
    // Facets inside the surface, of second order.
    assert!(
        (3.0..6.0).contains(&(coarse / fine)) && (-7e-3..0.0).contains(&fine),
        "{coarse} {fine}"
    );
    place.generate("cube --grade 100 --elements 1280", "cube.msh");
    place.case("cube.toml", "cube.msh", "[output]\npolarisability = true");
    let tensor = matrix(&place.solve("cube.toml")["polarisability"]["over_4pi_eps0"]);
    for (i, row) in tensor.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            let exact = if i == j { 3.64431 / (4.0 * std::f64::consts::PI) } else { 0.0 };
            assert!((value - exact).abs() < 1e-3 * 0.29, "{tensor:?}");
        }
    }
}

/// Graded toward each other, spheres with a narrow gap between them need fewer triangles: 1,440 of
/// one size are off by 6e-2 and 9e-2, and by 2e-3 or less if their facets have the spheres' volume,
/// too.
#[test]
fn graded_spheres_resolve_the_gap_between_them() {
    let place = Workplace::new("solve_gap");
    let exact = [1.966_427_55, -1.271_807_11];
    for (shape, allowed) in [
        ("--grade 30 --elements 1440", [0.05, 0.045]),
        ("--grade 10 --elements 1440 --base icosahedron --equal-volume", [2e-3, 2e-3]),
    ] {
        place.generate(&format!("two-spheres --distance 2.02 {shape} --overwrite"), "two.msh");
        place.case("two.toml", "two.msh", "");
        let c = maxwell(&place.solve("two.toml --overwrite"));
        for k in 0..2 {
            assert!((c[0][k] / exact[k] - 1.0).abs() < allowed[k], "{shape}: {c:?}");
        }
    }
}

#[test]
fn a_graded_cube_comes_close_from_below() {
    let place = Workplace::new("solve_cube");
    let error = 1.0 - capacitance(&place, "cube --elements 1200 --grade 30", "") / CUBE;
    assert!((0.0..5e-4).contains(&error), "{error}");
}

#[test]
fn an_open_disk_comes_close_from_below() {
    let place = Workplace::new("solve_disk");
    let error = 1.0 - capacitance(&place, "disk --elements 1000 --grade 30", "") / DISK;
    assert!((0.0..5e-3).contains(&error), "{error}");
}

#[test]
fn two_spheres_give_the_whole_matrix() {
    let place = Workplace::new("solve_two");
    place.generate("two-spheres --elements 1600", "two.msh");
    place.case("two.toml", "two.msh", "[solver]\nmethod = \"fmm\"\ntolerance = 1e-8");
    let results = place.solve("two.toml");
    let matrix = maxwell(&results);
    // Facets make an octahedral sphere of 800 triangles smaller by 4.9e-4 x 8192/800 (bempp-cl's
    // error at 8,192). That enters C11 1.26 times: d ln C11 / d ln a = 1 + (d/a) |f'|/f for C11 = a
    // f(d/a), with f' = -0.1 at d/a = 3.
    for (i, j, exact) in
        [(0, 0, TWO_SPHERES.0), (0, 1, TWO_SPHERES.1), (1, 0, TWO_SPHERES.1), (1, 1, TWO_SPHERES.0)]
    {
        let error = (matrix[i][j] - exact).abs() / TWO_SPHERES.0;
        assert!(error < 1.3 * 4.9e-4 * 8192.0 / 800.0, "C[{i}][{j}]: {error}");
    }
    assert!(results["capacitance"]["relative_asymmetry"].as_f64().unwrap() <= 1e-6);
    assert_eq!(results["solves"][1]["excitation"], "right");
}

#[test]
fn farads_follow_unit_and_permittivity() {
    let place = Workplace::small("solve_units");
    let farads = |unit: &str, permittivity: f64| {
        let text = format!(
            "format = 1\n[mesh]\nfile = \"sphere.msh\"\nunit = \"{unit}\"\n[medium]\n\
             relative_permittivity = {permittivity}\n"
        );
        place.write("units.toml", text);
        let results = place.solve("units.toml");
        let length = maxwell(&results)[0][0];
        (results["capacitance"]["maxwell_farad"][0][0].as_f64().unwrap(), length)
    };
    let (farad, length) = farads("m", 1.0);
    // 4 pi eps0 with eps0 = 8.8541878188e-12 F/m, CODATA 2022.
    let expected = 4.0 * std::f64::consts::PI * 8.854_187_818_8e-12 * length;
    assert!((farad / expected - 1.0).abs() < 1e-14);
    for (unit, metres) in
        [("cm", 1e-2), ("mm", 1e-3), ("um", 1e-6), ("nm", 1e-9), ("angstrom", 1e-10)]
    {
        let (scaled, same) = farads(unit, 2.0);
        assert!((scaled / (2.0 * metres * farad) - 1.0).abs() < 1e-12, "{unit}");
        assert!((same / (2.0 * length) - 1.0).abs() < 1e-12, "{unit}");
    }
}

#[test]
fn the_table_says_what_a_physicist_wants_to_know() {
    let place = Workplace::small("solve_table");
    let text = place.must("solve sphere.toml --method fmm").stdout;
    for part in [
        "Capacitance",
        "pF",
        "C/(4 pi eps0) =",
        "closed",
        "iterations",
        "converged",
        "FMM tolerance",
        "lower bound",
        "Self-checks passed",
        "Results in sphere.out",
        "ParaView",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
}

#[test]
fn a_coated_sphere_and_a_charge_in_a_sphere_come_close() {
    let place = Workplace::new("solve_media");
    let case = |name: &str| repository().join("cases").join(name).display().to_string();
    let coated = place.solve(&format!("{} --output coated", case("coated_sphere.toml")));
    // 1/C = (1/a - 1/b)/eps + 1/b; 3e-4 at 20,000 triangles, times 20,000 / 1,296 of second order
    // (octahedral facets are half as good again).
    let error = (maxwell(&coated)[0][0] / 1.6 - 1.0).abs();
    assert!(error < 1.5 * 3e-4 * 20_000.0 / 1296.0, "{error}");
    let names: Vec<_> =
        coated["media"].as_array().unwrap().iter().map(|m| m["name"].clone()).collect();
    assert_eq!(names, ["surroundings", "coat"]);

    let charge = place.solve(&format!("{} --output charge", case("charge_in_sphere.toml")));
    // Kirkwood's series with 332.06371 kcal A / (mol e^2); 0.1 % at 20,000 triangles, times
    // 20,000 / 1,280.
    let energy = charge["solvation"]["energy_kcal_per_mol"].as_f64().unwrap();
    assert!((energy / -12.073_903_7 - 1.0).abs() < 1e-3 * 20_000.0 / 1280.0, "{energy}");
    assert!(place.read("charge/reaction_potential.csv").lines().count() == 2);

    // Atoms from a file, without a chain.
    let three = place.solve(&format!("{} --output three", case("kirkwood.toml")));
    let molecule = &three["solvation"]["molecules"][0];
    assert_eq!((&molecule["atoms"], &molecule["charge_e"]), (&Value::from(3), &Value::from(0.5)));
    for energy in [&three["solvation"]["energy_kcal_per_mol"], &molecule["energy_kcal_per_mol"]] {
        let energy = energy.as_f64().unwrap();
        assert!((energy / -27.842_431 - 1.0).abs() < 1e-3 * 20_000.0 / 1280.0, "{energy}");
    }
    let table = place.read("three/reaction_potential.csv");
    assert!(table.lines().nth(3).unwrap().starts_with("molecule,ION 3 Q3,"), "{table}");
}

#[test]
fn conductors_are_held_float_and_answer_to_fields() {
    let place = Workplace::new("solve_state");
    place.generate("two-spheres --elements 400", "two.msh");
    place.case(
        "state.toml",
        "two.msh",
        "[[conductor]]\nname = \"held\"\ngroup = \"left\"\npotential = 2.0\n\
         [[conductor]]\nname = \"free\"\ngroup = \"right\"\ncharge = 1e-12\n\
         [solver]\nmethod = \"fmm\"",
    );
    let results = place.solve("state.toml");
    let matrix = results["capacitance"]["maxwell_farad"].clone();
    let c = |i: usize, j: usize| matrix[i][j].as_f64().unwrap();
    let (held, free) = (&results["charges"][0], &results["charges"][1]);
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap();
    assert_eq!(number(held, "potential_v"), 2.0);
    assert_eq!(free["floating"], true);
    // Q = C V, whatever the accuracy of C.
    let v = number(free, "potential_v");
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    close(number(free, "charge_c"), 1e-12);
    close(c(1, 0) * 2.0 + c(1, 1) * v, 1e-12);
    close(c(0, 0) * 2.0 + c(0, 1) * v, number(held, "charge_c"));
    assert!(results["solvation"].is_null());

    // Uncharged, in a field along x the spheres polarise each other: opposite potentials by
    // symmetry.
    place.case(
        "field.toml",
        "two.msh",
        "[[conductor]]\nname = \"a\"\ngroup = \"left\"\ncharge = 0\n\
         [[conductor]]\nname = \"b\"\ngroup = \"right\"\ncharge = 0\n[external]\nfield = [10, 0, 0]",
    );
    let results = place.solve("field.toml");
    let v = |k: usize| results["charges"][k]["potential_v"].as_f64().unwrap();
    // Centres at x = -1.5 and 1.5, where the field's potential is 15 V and -15 V; the neighbour's
    // dipole takes some away.
    assert!((v(0) + v(1)).abs() < 1e-4 && (12.0..15.0).contains(&v(0)), "{} {}", v(0), v(1));
}

#[test]
fn atoms_in_the_wrong_place_and_crossing_surfaces_are_refused() {
    let place = Workplace::new("solve_atoms");
    place.generate("sphere --radius 4 --base icosahedron --elements 320", "sphere.msh");
    let molecule = "[[dielectric]]\nname = \"m\"\nrelative_permittivity = 2\ngroup = \"sphere\"\n\
                    charges = \"m.pqr\"";
    let write = |text: &str| std::fs::write(place.path("m.pqr"), text).unwrap();
    let case = "format = 1\n[mesh]\nfile = \"sphere.msh\"\nunit = \"angstrom\"\n";
    std::fs::write(place.path("m.toml"), format!("{case}{molecule}")).unwrap();
    place.farad("solve m.toml").fails(3, &["the PQR file m.pqr does not exist", "m.toml:"]);
    write("ATOM 1 C LYS A 7 0 0 5 0.5 1\nATOM 2 N LYS A 7 0 0 1 0.5 1\n");
    place
        .farad("solve m.toml")
        .fails(3, &["1 atom lies outside of molecule \"m\"", "A LYS 7 C (line 1)", "m.toml:"]);
    // The facets of 320 triangles lie up to 0.1 within the sphere.
    write("ATOM 1 C LYS A 7 0 0 3.9 0.5 1\n");
    place.farad("solve m.toml").fails(3, &["within 0.1 angstrom of the surface of molecule"]);
    write("ATOM 1 C LYS A 7 0 0 one 0.5 1\n");
    place.farad("solve m.toml").fails(3, &["m.pqr: line 1: expected z in angstrom, found \"one\""]);
    std::fs::rename(place.path("m.pqr"), place.path("m.txt")).unwrap();
    std::fs::write(place.path("n.toml"), format!("{case}{}", molecule.replace("m.pqr", "m.txt")))
        .unwrap();
    place.farad("solve n.toml").fails(3, &["m.txt: the name does not end in .pqr"]);

    // Two spheres that overlap, one of metal.
    place.generate("two-spheres --distance 3 --elements 200", "two.msh");
    let mesh = place.read("two.msh");
    assert!(mesh.contains("left"));
    place.case(
        "crossing.toml",
        "two.msh",
        "[[dielectric]]\nname = \"oil\"\nrelative_permittivity = 2\ngroup = \"left\"\n\
         [[sweep]]\nname = \"x\"\nmove = \"left\"\nalong = [1, 0.1, 0.07]\nvalues = [1.5]",
    );
    place.farad("sweep crossing.toml").fails(3, &["bodies go through each other", "\"oil\""]);
    // As parts of one body's surface they bound no space that has an inside everywhere.
    let one =
        place.read("crossing.toml").replace("group = \"left\"", "group = [\"left\", \"right\"]");
    place.write("one.toml", one);
    place
        .farad("sweep one.toml")
        .fails(3, &["parts of one body's surface go through each other", "\"oil\""]);
    // A molecular surface may go through itself here and there: an octahedron with its top pulled
    // out through a lower side.
    place.write(
        "self.off",
        "OFF\n6 8 0\n1 0 0\n0 1 0\n-1 0 0\n0 -1 0\n0.9 0.8 -0.5\n0 0 -1\n\
         3 0 1 4\n3 1 2 4\n3 2 3 4\n3 3 0 4\n3 1 0 5\n3 2 1 5\n3 3 2 5\n3 0 3 5\n",
    );
    place.case(
        "self.toml",
        "self.off",
        "[[dielectric]]\nname = \"m\"\nrelative_permittivity = 2\ngroup = \"ungrouped\"\n\
         [[charge]]\nposition = [5, 0, 0]\ncharge = 1\n",
    );
    let ended = place.must("solve self.toml");
    assert!(ended.stderr.contains("the surface of \"m\" goes through itself"), "{}", ended.stderr);
    // These mirror each other, so that sides meet sides.
    let straight = place.read("crossing.toml").replace("[1, 0.1, 0.07]", "[1, 0, 0]");
    place.write("crossing.toml", straight);
    place.farad("sweep crossing.toml").fails(3, &["bodies go through each other", "\"oil\""]);
}

#[test]
fn media_that_are_missing_or_contradict_each_other_are_refused() {
    let place = Workplace::new("solve_media");
    place.generate("concentric-spheres --elements 144", "two.msh");
    let dielectric = |name: &str, eps: f64| {
        format!(
            "[[dielectric]]\nname = \"{name}\"\nrelative_permittivity = {eps}\ngroup = \"outer\"\n"
        )
    };
    place.case(
        "missing.toml",
        "two.msh",
        &(dielectric("a", 2.0) + "[[conductor]]\nname = \"c\"\ngroup = \"outer\""),
    );
    place.farad("solve missing.toml").fails(
        3,
        &[
            "72 triangles",
            "\"inner\"",
            "which no conductor lists",
            "an interface between media",
            "[[dielectric]]",
        ],
    );
    let core = "[[conductor]]\nname = \"c\"\ngroup = \"inner\"\n";
    place.case("twice.toml", "two.msh", &(dielectric("a", 2.0) + &dielectric("b", 3.0) + core));
    place.farad("solve twice.toml").fails(
        3,
        &["dielectrics \"a\" and \"b\" fill the same space", "eps_r 2", "eps_r 3", "twice.toml:"],
    );
    let surface = |group: &str| format!("[[surface]]\ngroup = \"{group}\"\nfront = 1\nback = 3\n");
    place.case("mixed.toml", "two.msh", &(dielectric("a", 2.0) + &surface("outer") + core));
    place
        .farad("solve mixed.toml")
        .fails(3, &["media are given by [[dielectric]] and by [[surface]]"]);
    let charge = "[[charge]]\nposition = [5, 0, 0]\ncharge = 1\n";
    place.case("charge.toml", "two.msh", &(surface("outer") + core + charge));
    place.farad("solve charge.toml").fails(3, &["does not say in which medium a charge lies"]);
    place.case("again.toml", "two.msh", &(surface("outer") + &surface("outer") + core));
    place.farad("solve again.toml").fails(3, &["group \"outer\" has its media already"]);
}

/// A mesh does not tell whether metal is solid.
#[test]
fn charges_within_metal_are_noted() {
    let place = Workplace::small("solve_in_metal");
    let charge = "[[charge]]\nposition = [0, 0.1, 0]\ncharge = 1\nunit = \"e\"\n";
    place.case("inside.toml", "sphere.msh", charge);
    let told = place.must("solve inside.toml").stderr;
    let note = "sphere.msh: the charge at (0, 0.1, 0) m lies within the closed surface of \"sphere\", which is taken as the wall of a cavity";
    assert!(told.contains(note), "{told}");
    place.case("outside.toml", "sphere.msh", &charge.replace("0.1", "3.1"));
    let told = place.must("solve outside.toml").stderr;
    assert!(!told.contains("cavity"), "{told}");
}

/// What has neither a capacitance nor an energy may have something else to be exact about.
#[test]
fn an_accuracy_of_dielectrics_alone_is_of_what_they_have() {
    let place = Workplace::small("solve_polarisable");
    let body = "[[dielectric]]\nname = \"a\"\ngroup = \"sphere\"\nrelative_permittivity = 3\n[output]\npolarisability = true";
    place.case("body.toml", "sphere.msh", body);
    place
        .farad("solve body.toml --accuracy 0.1")
        .fails(3, &["ask for an accuracy of something else: polarisability", "--accuracy-of"]);
    place.must("solve body.toml --accuracy 0.1 --accuracy-of polarisability");
}

#[test]
fn charges_on_metal_and_cases_without_sources_are_refused() {
    let place = Workplace::small("solve_nothing");
    // The octahedron's corners are vertices of the sphere.
    place.case("on.toml", "sphere.msh", "[[charge]]\nposition = [0, 0, 1]\ncharge = 1e-9\n");
    place.farad("solve on.toml").fails(3, &["the charge lies on a surface", "on.toml:"]);
    let glass = "[[dielectric]]\nname = \"glass\"\nrelative_permittivity = 4\ngroup = \"sphere\"\n";
    place.case("bare.toml", "sphere.msh", glass);
    place.farad("solve bare.toml").fails(3, &["there is nothing to solve", "[[charge]]"]);
    place.case("field.toml", "sphere.msh", &format!("{glass}[output]\npolarisability = true\n"));
    place.must("solve field.toml");
}

#[test]
fn surfaces_that_bound_no_dielectric_are_refused() {
    let place = Workplace::new("solve_open");
    place.generate("plate --elements 50", "plate.msh");
    let dielectric = "[[dielectric]]\nname = \"film\"\nrelative_permittivity = 3\ngroup = ";
    place.case("open.toml", "plate.msh", &format!("{dielectric}\"plate\""));
    place
        .farad("solve open.toml")
        .fails(3, &["\"film\" bounds no space", "not closed", "open.toml:"]);
    place.case("unknown.toml", "plate.msh", &format!("{dielectric}\"plait\""));
    place
        .farad("solve unknown.toml")
        .fails(3, &["no physical group \"plait\"", "did you mean \"plate\"?"]);
    place.case(
        "both.toml",
        "plate.msh",
        "[[conductor]]\nname = \"a\"\ngroup = \"plate\"\npotential = 1\ncharge = 0",
    );
    place.farad("solve both.toml").fails(3, &["both a potential and a charge", "both.toml:"]);
}

/// The case files that the README and the documentation send people to.
fn shipped_cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("cases")).unwrap();
    let mut cases: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml" || ending == "lst"))
        .collect();
    cases.sort();
    cases
}

/// C/(4 pi eps0) by `farad solve cases/NAME.toml --method dense`, of cases that this takes most of
/// a minute.
const DENSE: &[(&str, &[f64])] = &[
    (
        "bus_in_layers",
        &[
            9.283994309608,
            -2.779876840104,
            -1.641274324280,
            -1.641696593116,
            -2.779876840104,
            9.284137468338,
            -1.641320982947,
            -1.641775600364,
            -1.641274324280,
            -1.641320982947,
            8.218360087331,
            -2.981200292836,
            -1.641696593116,
            -1.641775600364,
            -2.981200292836,
            8.219438891972,
        ],
    ),
    ("cube", &[0.660672813944]),
];

#[test]
fn fmm_and_dense_agree_on_every_shipped_case() {
    let place = Workplace::new("solve_cases");
    let cases = shipped_cases();
    assert!(!cases.is_empty());
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        let fmm = run(&place, &case, name, "fmm");
        let tolerance = fmm["accuracy"]["fmm_tolerance"].as_f64().unwrap();
        let allowed = 10.0 * tolerance;
        let compare = |a: &[f64], b: &[f64]| {
            assert_eq!(a.len(), b.len());
            let largest = b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            for (x, y) in a.iter().zip(b) {
                let difference = (x - y).abs() / largest;
                assert!(difference <= allowed, "{name}: {x} and {y} differ by {difference:.1e}");
            }
        };
        if let Some((_, dense)) = DENSE.iter().find(|(known, _)| *known == name) {
            compare(&maxwell(&fmm).concat(), dense);
            continue;
        }
        let dense = run(&place, &case, name, "dense");
        compare(&maxwell(&fmm).concat(), &maxwell(&dense).concat());
        let charges = |results: &Value| -> Vec<f64> {
            let each = results["charges"].as_array().into_iter().flatten();
            each.map(|conductor| conductor["charge_c"].as_f64().unwrap()).collect()
        };
        compare(&charges(&fmm), &charges(&dense));
        let energy = |results: &Value| results["solvation"]["energy_j"].as_f64();
        assert_eq!(energy(&fmm).is_some(), energy(&dense).is_some());
        if let (Some(a), Some(b)) = (energy(&fmm), energy(&dense)) {
            compare(&[a], &[b]);
        }
    }
}

#[test]
fn charges_too_close_for_the_facets_are_reported() {
    let place = Workplace::small("solve_close");
    let body = "[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\npotential = 0\n\
                [[charge]]\nposition = [0, 0, 1.0000001]\ncharge = 1\nunit = \"e\"";
    place.case("close.toml", "sphere.msh", body);
    let ended = place.farad("solve close.toml");
    let part = "m from a surface whose facets are ";
    assert!(ended.code == 4 && ended.stdout.contains(part), "{}", ended.stdout);
}

/// Sound cases pass all self-checks.
fn run(place: &Workplace, case: &Path, name: &str, method: &str) -> Value {
    let results =
        place.solve(&format!("{} --method {method} --output {name}.{method}", case.display()));
    assert_eq!(results["warnings"], serde_json::json!([]), "{name}");
    assert_eq!(results["status"], "complete", "{name}");
    results
}

/// A result that breaks its promise more than tenfold is no success: it ends with exit code 4, and
/// what is written says so.
#[test]
fn broken_promises_are_errors() {
    let place = Workplace::new("solve_promises");
    // A body of 1e-13 next to a plane at 1: its image is far outside of what a sum in double
    // precision resolves.
    place.generate("cube --edge 1e-13 --elements 48", "speck.msh");
    place.case(
        "speck.toml",
        "speck.msh",
        "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 1e-12\ngroup = \"cube\"\n\
         [[plane]]\naxis = \"z\"\nat = 1.0\nkind = \"symmetric\"\n\
         [solver]\ntolerance = 0.1\nmethod = \"fmm\"\nmax_iterations = 50\n[fmm]\ntolerance = 1e-12\n\
         [output]\npolarisability = true\nvtk = \"none\"",
    );
    let ended = place.farad("solve speck.toml --json");
    let results: Value = serde_json::from_str(&ended.stdout).unwrap();
    let error = results["accuracy"]["fmm_error_sampled"].as_f64().unwrap_or(0.0);
    let defect = results["accuracy"]["gauss_defect"].as_f64().unwrap_or(f64::INFINITY);
    let kept = error <= 3e-12 && defect <= 0.1;
    let status = results["status"].as_str().unwrap();
    assert_eq!(ended.code == 0, status == "complete", "{}", ended.stderr);
    assert!(kept || status != "complete", "{error} {defect} {status}");
    if status == "checks_failed" {
        let warnings = results["warnings"].as_array().unwrap();
        let is_error = |w: &&Value| w["severity"] == "error";
        let first = warnings.iter().find(is_error).unwrap();
        for key in ["check", "what", "value", "promise", "message"] {
            assert!(!first.get(key).unwrap().is_null(), "{key} in {first}");
        }
        ended.fails(4, &["the results fail their self-checks:\n", "checks_failed"]);
        let table = place.farad("solve speck.toml").stdout;
        assert!(table.contains("SELF-CHECKS FAILED") && table.contains("ERROR: "), "{table}");
        let csv = place.read("speck.out/capacitance_maxwell.csv");
        assert!(csv.contains("SELF-CHECKS FAILED"), "{csv}");
    }
}

/// A charge close to a face of a grounded cube sees a plane: its energy is that of its image,
/// however large the facets are that the mesh came with, and nothing is warned of, by either
/// method. Of a dielectric cube the image is smaller by (eps - 1)/(eps + 1).
#[test]
fn a_charge_close_to_a_surface_has_the_energy_of_its_image() {
    let place = Workplace::new("solve_near_charge");
    place.generate("cube --edge 2 --elements 108", "cube.msh");
    let cube = |medium: &str| format!("{medium}group = \"cube\"\n[output]\nvtk = \"none\"\n");
    let metal = cube("[[conductor]]\nname = \"c\"\npotential = 0\n");
    let dielectric = cube("[[dielectric]]\nname = \"c\"\nrelative_permittivity = 4\n");
    for (body, image) in [(metal, 1.0), (dielectric, 0.6)] {
        for height in [1e-2, 1e-5] {
            let energies = ["dense", "fmm"].map(|method| {
                let charge = format!(
                    "[[charge]]\nposition = [0.21, 0.13, {}]\ncharge = 1e-10\n[solver]\nmethod = {method:?}\n",
                    1.0 + height
                );
                place.case("near.toml", "cube.msh", &format!("{body}{charge}"));
                let ended = place.farad("solve near.toml --json --overwrite");
                assert_eq!(ended.code, 0, "{image} {height} {method}: {}", ended.stderr);
                let results: Value = serde_json::from_str(&ended.stdout).unwrap();
                assert_eq!(results["warnings"], serde_json::json!([]), "{image} {height} {method}");
                results["solvation"]["energy_j"].as_f64().unwrap()
            });
            let exact =
                -image * 1e-20 / (16.0 * std::f64::consts::PI * 8.854_187_818_8e-12 * height);
            // Other faces count by the height over the edge; constant densities on triangles as
            // long as 0.7 of their distance give 1 %.
            let error = (energies[0] / exact - 1.0).abs();
            assert!(error < 1e-2 + 2.0 * height, "{image} {height}: {energies:?} {exact}");
            // Both solve the same equations to 1e-6.
            let apart = (energies[1] / energies[0] - 1.0).abs();
            assert!(apart < 2e-6, "{image} {height}: {energies:?}");
        }
    }
}

const ELEMENTARY: f64 = 1.602_176_634e-19;

/// e^2 / (4 pi eps0 angstrom) in kcal/mol.
fn unit_energy() -> f64 {
    ELEMENTARY.powi(2) / (4.0 * std::f64::consts::PI * 8.854_187_818_8e-12 * 1e-10)
        * 6.022_140_76e23
        / 4184.0
}

fn kilocalories(energies: &Value) -> f64 {
    energies["energy_kcal_per_mol"].as_f64().unwrap()
}

/// Two charges in a sphere: the Coulomb energy in its medium is exact, the reaction energy is
/// Kirkwood's series, and both add up.
#[test]
fn energies_of_two_charges_in_a_sphere_add_up() {
    let place = Workplace::new("solve_energies");
    place.generate("sphere --radius 4 --base icosahedron --elements 320 --equal-volume", "s.msh");
    let (inside, outside, radius) = (4.0, 80.0, 4.0);
    let charges = [([1.0, 0.5, -0.5], 1.0), ([-1.5, 0.0, 1.0], -2.0)];
    let mut text = format!(
        "format = 1\n[mesh]\nfile = \"s.msh\"\nunit = \"angstrom\"\n[medium]\nrelative_permittivity = {outside}\n\
         [[dielectric]]\nname = \"m\"\nrelative_permittivity = {inside}\ngroup = \"sphere\"\n"
    );
    for (place, charge) in charges {
        text += &format!("[[charge]]\nposition = {place:?}\ncharge = {charge:?}\nunit = \"e\"\n");
    }
    place.write("two.toml", text);
    let solvation = place.solve("two.toml")["solvation"].clone();
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut reaction = 0.0;
    for (x, p) in charges {
        for (y, q) in charges {
            let (r, s) = (dot(x, x).sqrt(), dot(y, y).sqrt());
            let (cosine, t) = (dot(x, y) / (r * s), r * s / (radius * radius));
            let (mut before, mut legendre, mut sum) = (0.0, 1.0, 0.0);
            for n in 0..60 {
                let k = f64::from(n);
                let factor = (inside - outside) * (k + 1.0) / (outside * (k + 1.0) + inside * k);
                sum += factor * t.powi(n) * legendre;
                let next = ((2.0 * k + 1.0) * cosine * legendre - k * before) / (k + 1.0);
                (before, legendre) = (legendre, next);
            }
            reaction += 0.5 * p * q * sum / (inside * radius) * unit_energy();
        }
    }
    let apart: [f64; 3] = std::array::from_fn(|k| charges[0].0[k] - charges[1].0[k]);
    let coulomb = -2.0 / (inside * dot(apart, apart).sqrt()) * unit_energy();
    let found = [&solvation["coulomb"], &solvation, &solvation["total"]].map(kilocalories);
    assert!((found[0] / coulomb - 1.0).abs() < 1e-9, "{found:?} {coulomb}");
    // 0.1 % at 20,000 triangles is 6 % at 320, of second order; facets of the sphere's volume leave
    // a tenth of that.
    assert!((found[1] / reaction - 1.0).abs() < 1e-2, "{found:?} {reaction}");
    assert!((found[2] - found[0] - found[1]).abs() < 1e-12 * coulomb.abs(), "{found:?}");
}

/// Two like ions far apart in water repel each other by q^2/(eps d); the solvation energy alone has
/// them attract each other.
#[test]
fn like_ions_repel() {
    let place = Workplace::new("solve_ions");
    let distance = 20.0;
    place.generate(
        "two-spheres --radius 2 --distance 20 --elements 640 --base icosahedron",
        "t.msh",
    );
    let ion = |x: f64| format!("ATOM 1 N ION 1 {x} 0 0 1 1.5\n");
    place.write("a.pqr", ion(-distance / 2.0));
    place.write("b.pqr", ion(distance / 2.0));
    let body = |group: &str, file: &str| {
        format!(
            "[[dielectric]]\nname = \"{group}\"\nrelative_permittivity = 4\ngroup = \"{group}\"\ncharges = \"{file}\"\n"
        )
    };
    let case = |ignore: &str, bodies: &str| {
        format!(
            "format = 1\n[mesh]\nfile = \"t.msh\"\nunit = \"angstrom\"\nignore = [{ignore}]\n\
             [medium]\nrelative_permittivity = 80\n{bodies}"
        )
    };
    place.write("one.toml", case("\"right\"", &body("left", "a.pqr")));
    place.write("two.toml", case("", &(body("left", "a.pqr") + &body("right", "b.pqr"))));
    let one = place.solve("one.toml")["solvation"].clone();
    let two = place.solve("two.toml")["solvation"].clone();
    assert_eq!(kilocalories(&one["coulomb"]), 0.0);
    let binding = kilocalories(&two["total"]) - 2.0 * kilocalories(&one["total"]);
    let exact = unit_energy() / (80.0 * distance);
    // Each displaces water in the other's field: (R/d)^3 of the monopoles, 5e-4. Facets and the
    // solver's tolerance of -39 kcal/mol count the same in both.
    assert!((binding / exact - 1.0).abs() < 2e-3, "{binding} {exact}");
    // Each molecule's parts add up to the whole, and the way from atom to surface is what tells a
    // wrong unit.
    let molecules = two["molecules"].as_array().unwrap();
    let sum: f64 = molecules.iter().map(|m| kilocalories(&m["total"])).sum();
    assert!((sum / kilocalories(&two["total"]) - 1.0).abs() < 1e-12, "{sum}");
    let distance = molecules[0]["least_distance_m"].as_f64().unwrap();
    assert!((1.8e-10..2.0e-10).contains(&distance), "{distance}");
    let table = place.must("solve two.toml").stdout;
    for part in ["Coulomb energy", "Solvation energy", "Total", "atom to surface / angstrom"] {
        assert!(table.contains(part), "no \"{part}\" in\n{table}");
    }
}

/// An octahedron becomes a sphere by the normals of its .vert file, but for one that is unusable.
#[test]
fn normals_of_the_file_make_triangles_curved() {
    let place = Workplace::new("solve_normals");
    let face = "1 3 5\n3 2 5\n2 4 5\n4 1 5\n3 1 6\n2 3 6\n4 2 6\n1 4 6\n";
    place.write("ball.face", face);
    let corners = ["1 0 0", "-1 0 0", "0 1 0", "0 -1 0", "0 0 1", "0 0 -1"];
    let normals = ["1 0 0", "-1 0 0", "0 1 0", "0 0 0", "0 0 1", "0 0 -1"];
    let lines = corners.iter().zip(normals).map(|(x, n)| format!("{x} {n} 0 1 0\n"));
    place.write("ball.vert", lines.collect::<String>());
    let case = "format = 1\n[mesh]\nfile = \"ball.vert\"\nunit = \"m\"\nsmooth = 100\n";
    place.write("ball.toml", case);
    let ended = place.must("solve ball.toml --json");
    let note = "1 of the file's normals does not fit the triangles at its vertex";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let results: Value = serde_json::from_str(&ended.stdout).unwrap();
    place.write("flat.toml", case.replace("smooth = 100\n", ""));
    let [flat, round] = [&place.solve("flat.toml"), &results].map(|r| maxwell(r)[0][0]);
    assert!(round < 1.0 && 1.0 - round < 0.4 * (1.0 - flat), "{flat} {round}");
    let ended = place.must("mesh convert ball.vert -o ball.msh");
    assert!(ended.stderr.contains("its normals are not written"), "{}", ended.stderr);
}
