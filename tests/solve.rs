//! Capacitances against exact answers, and the two methods against each other.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Workplace, maxwell, repository};

/// C/(4 pi eps0) of the unit cube: Helsing and Perfekt, On the polarizability and capacitance of the cube (2013).
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
    // Facets make an octahedral sphere of 800 triangles smaller by 4.9e-4 x 8192/800 (bempp-cl's error at 8,192). That
    // enters C11 1.26 times: d ln C11 / d ln a = 1 + (d/a) |f'|/f for C11 = a f(d/a), with f' = -0.1 at d/a = 3.
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
        "Results in sphere.out",
        "ParaView",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
}

/// The case files that the README and the documentation send people to.
fn shipped_cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("cases")).unwrap();
    let mut cases: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    cases.sort();
    cases
}

#[test]
fn fmm_and_dense_agree_on_every_shipped_case() {
    let place = Workplace::new("solve_cases");
    let cases = shipped_cases();
    assert!(!cases.is_empty());
    for case in cases {
        let name = case.file_stem().unwrap().to_str().unwrap();
        let (fmm, dense) = (run(&place, &case, name, "fmm"), run(&place, &case, name, "dense"));
        let tolerance = fmm["accuracy"]["fmm_tolerance"].as_f64().unwrap();
        let (a, b) = (maxwell(&fmm), maxwell(&dense));
        let largest = b.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
        for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
            let difference = (x - y).abs() / largest;
            assert!(
                difference <= 10.0 * tolerance,
                "{name}: {x} and {y} differ by {difference:.1e}"
            );
        }
    }
}

fn run(place: &Workplace, case: &Path, name: &str, method: &str) -> Value {
    place.solve(&format!("{} --method {method} --output {name}.{method}", case.display()))
}
