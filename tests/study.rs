//! `farad study`: orders and limits against exact answers, and the words for what has none.

use serde_json::Value;

use crate::support::Workplace;

/// 4 pi eps0 in farad per metre, CODATA 2022.
const FOUR_PI_EPS0: f64 = 4.0 * std::f64::consts::PI * 8.854_187_818_8e-12;

/// C/(4 pi eps0) of the unit cube: Helsing and Perfekt, On the polarizability and capacitance of the cube (2013).
const CUBE: f64 = 0.660_678_154_099_57;

fn study(place: &Workplace, arguments: &str) -> Value {
    let ended = place.must(&format!("study {arguments} --json"));
    serde_json::from_str(&ended.stdout).unwrap()
}

fn number(entry: &Value, key: &str) -> f64 {
    entry[key].as_f64().unwrap()
}

#[test]
fn a_sphere_has_second_order_and_its_exact_limit() {
    let place = Workplace::new("study_sphere");
    place.generate("sphere --elements 72", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let results = study(&place, "sphere.toml --spheres --levels 4");
    let entry = &results["entries"][0];
    assert_eq!((&entry["name"], &entry["range"]), (&"C".into(), &"asymptotic".into()));
    assert!((number(entry, "order") - 2.0).abs() < 0.1, "{entry}");
    let (limit, error) = (number(entry, "extrapolated"), number(entry, "error"));
    assert!((limit - FOUR_PI_EPS0).abs() <= error, "{limit} {error}");
    assert!(error < 3e-4 * FOUR_PI_EPS0, "{error}");
    let triangles: Vec<u64> = results["meshes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["triangles"].as_u64().unwrap())
        .collect();
    assert_eq!(triangles, [72, 288, 1152, 4608]);
    assert_eq!(place.list("sphere.study"), ["results.json", "study.csv", "study.svg"]);
    let csv = place.read("sphere.study/study.csv");
    assert!(csv.starts_with(
        "entry,unit,value_72,value_288,value_1152,value_4608,order,extrapolated,error,range\n"
    ));
    assert_eq!(csv.lines().count(), 2);
    assert!(place.read("sphere.study/study.svg").contains("order 2"));
    // A second run replaces the first.
    place.must("study sphere.toml --quiet");
    assert!(place.read("sphere.study/study.csv").contains("value_1152,order"));
}

#[test]
fn a_flat_refinement_of_a_sphere_goes_to_the_polyhedron() {
    let place = Workplace::small("study_polyhedron");
    let entry = &study(&place, "sphere.toml")["entries"][0];
    let limit = number(entry, "extrapolated");
    // Between the inscribed and the circumscribed sphere of 72 facets.
    assert!(limit < 0.99 * FOUR_PI_EPS0 && limit > 0.85 * FOUR_PI_EPS0, "{limit}");
}

#[test]
fn a_cube_converges_as_its_edges_allow() {
    let place = Workplace::new("study_cube");
    place.generate("cube --elements 108", "cube.msh");
    place.case("cube.toml", "cube.msh", "");
    let results = study(&place, "cube.toml --levels 4");
    let entry = &results["entries"][0];
    let exact = CUBE * FOUR_PI_EPS0;
    // Charge density behaves as r^(-1/3) at an edge: its energy converges as h^(4/3).
    assert!((number(entry, "order") - 4.0 / 3.0).abs() < 0.2, "{entry}");
    assert!((number(entry, "extrapolated") / exact - 1.0).abs() < 2e-4, "{entry}");
    assert!(
        (number(entry, "extrapolated") - exact).abs() < 3.0 * number(entry, "error"),
        "{entry}"
    );
}

#[test]
fn what_shows_no_order_is_said_in_words() {
    let place = Workplace::small("study_noise");
    let text = place.must("study sphere.toml --tolerance 0.1 --method fmm").stdout;
    assert!(
        text.contains("noise") || text.contains("no change beyond the solver's error"),
        "{text}"
    );
    assert!(text.contains("--levels 4"), "{text}");
    place.farad("study sphere.toml --levels 2").fails(2, &["--levels"]);
}

#[test]
fn energies_are_studied_too() {
    let place = Workplace::new("study_energy");
    place.generate("sphere --radius 4 --base icosahedron --elements 80", "sphere.msh");
    place.write(
        "charge.toml",
        "format = 1\n[mesh]\nfile = \"sphere.msh\"\nunit = \"angstrom\"\n[medium]\nrelative_permittivity = 80\n\
         [[dielectric]]\nname = \"m\"\nrelative_permittivity = 4\ngroup = \"sphere\"\n\
         [[charge]]\nposition = [1, 1, 1]\ncharge = 1\nunit = \"e\"\n",
    );
    let results = study(&place, "charge.toml --spheres");
    let entries = results["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!((&entry["name"], &entry["unit"]), (&"solvation energy".into(), &"kcal/mol".into()));
    // Flat facets: second order in h.
    assert!((1.7..2.3).contains(&number(entry, "order")), "{entry}");
    let error = number(entry, "extrapolated") + 12.073_903_7;
    assert!(error.abs() < number(entry, "error"), "{entry}");
}
