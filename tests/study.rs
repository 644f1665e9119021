//! `farad study`: orders and limits against exact answers, and the words for what has none.

use serde_json::Value;

use crate::support::Workplace;

/// 4 pi eps0 in farad per metre, CODATA 2022.
const FOUR_PI_EPS0: f64 = 4.0 * std::f64::consts::PI * 8.854_187_818_8e-12;

/// C/(4 pi eps0) of the unit cube: Helsing and Perfekt, On the polarizability and capacitance of
/// the cube (2013).
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
        "entry,unit,value_72,value_288,value_1152,value_4608,order,extrapolated,error,range,bar_72,\
         bar_288,bar_1152,bar_4608\n"
    ));
    // Each mesh has its own bar.
    let bars: Vec<f64> = (0..4).map(|k| entry["bars"][k].as_f64().unwrap()).collect();
    assert!(bars.is_sorted_by(|a, b| a > b), "{bars:?}");
    assert_eq!(csv.lines().count(), 2);
    assert!(place.read("sphere.study/study.svg").contains("order 2"));
    // A second run replaces the first.
    place.must("study sphere.toml --quiet");
    assert!(place.read("sphere.study/study.csv").contains("value_1152,order"));
}

#[test]
fn graded_meshes_of_a_cube_converge_faster() {
    let place = Workplace::new("study_graded");
    place.generate("cube --edge 1 --elements 48", "cube.msh");
    place.case("cube.toml", "cube.msh", "");
    let exact = CUBE * FOUR_PI_EPS0;
    let [even, graded] = ["", "--graded"].map(|how| {
        let results = study(&place, &format!("cube.toml --density linear --levels 4 {how}"));
        let entry = &results["entries"][0];
        assert_eq!(entry["range"], "asymptotic", "{entry}");
        let off = (number(entry, "extrapolated") - exact).abs();
        assert!(off <= number(entry, "error"), "{off} {entry}");
        assert_eq!(results["refinement"], if how.is_empty() { "flat" } else { "graded" });
        assert_eq!(results["meshes"][3]["triangles"], 48 * 64);
        (number(entry, "order"), number(entry, "error") / exact)
    });
    // Densities go as d^(-1/3): the order is limited to 4/3, and with cuts at 0.3 to 4/3 times the
    // logarithm of that to the base 1/2.
    assert!((even.0 - 4.0 / 3.0).abs() < 0.12, "{even:?}");
    assert!((graded.0 - 4.0 / 3.0 * -0.3f64.log2()).abs() < 0.15, "{graded:?}");
    assert!(graded.1 < 0.2 * even.1 && graded.1 < 1e-4, "{even:?} {graded:?}");
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
    assert!(text.contains("surface as meshed"), "{text}");
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

/// A mesh that fails does not take the others with it.
#[test]
fn levels_before_a_failure_are_reported() {
    let place = Workplace::new("study_incomplete");
    place.generate("sphere --elements 72", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "[solver]\nmethod = \"dense\"");
    // 288 triangles take 0.7 MB, 1,152 take 10.6.
    let ended = place.farad("study sphere.toml --memory-limit 0.005");
    ended.fails(5, &["mesh 1 of 3: 72 triangles", "mesh 3 of 3: 1,152 triangles", "needs"]);
    assert!(ended.stdout.contains("INCOMPLETE: the mesh of 1,152 triangles"), "{}", ended.stdout);
    let results = place.json("sphere.study/results.json");
    assert_eq!(results["status"], "incomplete");
    assert_eq!(results["failed"]["triangles"], 1152);
    assert_eq!(results["meshes"].as_array().unwrap().len(), 2);
    let entry = &results["entries"][0];
    assert_eq!(entry["values"].as_array().unwrap().len(), 2);
    assert!(entry["error"].is_null() && entry["range"] == "too few meshes", "{entry}");
    // If not even the first can be solved there is nothing to report.
    place.farad("study sphere.toml --memory-limit 0.000001 --output none").fails(5, &["needs"]);
    assert!(!place.path("none").exists());
}

/// Two spheres whose gap is a tenth of their facets: values change regularly and say nothing of the
/// gap.
#[test]
fn gaps_that_no_mesh_resolves_have_no_estimate() {
    let place = Workplace::new("study_gap");
    place.generate("two-spheres --distance 2.001 --elements 144", "two.msh");
    place.case("two.toml", "two.msh", "");
    let ended = place.must("study two.toml --spheres");
    assert!(ended.stdout.contains("No estimates: facets of"), "{}", ended.stdout);
    for entry in place.json("two.study/results.json")["entries"].as_array().unwrap() {
        assert!(entry["error"].is_null() && entry["order"].is_null(), "{entry}");
        assert_eq!(entry["range"], "unresolved gap");
    }
}

#[test]
fn tables_of_many_entries_fit_a_terminal() {
    let place = Workplace::new("study_wide");
    place.generate("bus --bars 2 --elements 96", "bus.msh");
    place.case("bus.toml", "bus.msh", "");
    let text = place.must("study bus.toml").stdout;
    let tables: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with("Refinement")).collect();
    assert!(tables.iter().all(|line| line.chars().count() < 80), "{text}");
    for entry in ["C(bar_x1, bar_x1)", "C(bar_y1, bar_y2)"] {
        assert_eq!(text.matches(entry).count(), 1, "{entry} in\n{text}");
    }
}

/// What the estimates promise, over shapes with exact or much finer answers:
/// `cargo test --release -p farad-cli --test runs coverage -- --ignored
/// --nocapture` prints the table of docs/validation.md.
#[test]
#[ignore = "ten minutes"]
fn coverage_of_error_estimates() {
    let place = Workplace::new("study_coverage");
    let shapes = [
        ("sphere --elements 72", "--spheres", 5),
        ("sphere --base icosahedron --elements 80", "--spheres", 5),
        ("two-spheres --distance 3 --elements 144", "--spheres", 5),
        ("two-spheres --distance 2.2 --elements 144", "--spheres", 5),
        ("two-spheres --distance 2.05 --elements 160", "--spheres", 5),
        ("cube --elements 12", "", 6),
        ("cube --elements 48", "", 6),
        ("cube --elements 108", "", 5),
        ("plate --elements 8", "", 6),
        ("plate --width 4 --height 0.5 --elements 16", "", 6),
        ("disk --elements 24", "", 5),
        ("torus --elements 72", "", 5),
        ("bus --bars 1 --elements 48", "", 5),
        ("bus --bars 2 --gap 0.3 --elements 96", "", 5),
    ];
    // For three and four meshes: sequences, those with an estimate, those covered, bars over
    // errors.
    let mut counts = [(0, 0, 0, Vec::new()), (0, 0, 0, Vec::new())];
    for (index, (shape, flags, levels)) in shapes.into_iter().enumerate() {
        let (mesh, case) = (format!("{index}.msh"), format!("{index}.toml"));
        place.generate(shape, &mesh);
        place.case(&case, &mesh, "[output]\nvtk = \"none\"");
        let results = study(&place, &format!("{case} --levels {levels} {flags}"));
        for entry in results["entries"].as_array().unwrap() {
            let values: Vec<f64> =
                entry["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            let noise = number(entry, "solver_error");
            // The last value lacks less than the bars of the meshes before the one before it can
            // tell.
            let best = bem::convergence::estimate(&values, noise).unwrap().limit;
            for (count, meshes) in counts.iter_mut().zip([3, 4]) {
                for values in values[..values.len() - 1].windows(meshes) {
                    let found = bem::convergence::estimate(values, noise).unwrap();
                    count.0 += 1;
                    let Some(error) = found.error else { continue };
                    let off = (found.limit - best).abs();
                    count.1 += 1;
                    count.2 += usize::from(off <= error);
                    count.3.push(error / off);
                    if off > error {
                        println!("{shape}: {} {values:?} {found:?} {best}", entry["name"]);
                    }
                }
            }
        }
    }
    for (meshes, (all, with, covered, mut ratios)) in [3, 4].into_iter().zip(counts) {
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        println!(
            "{meshes} meshes: {all} sequences, {with} estimates, {covered} cover, median bar/error {median:.1}"
        );
        assert!(covered as f64 >= 0.95 * f64::from(with), "{covered} of {with}");
        assert!(median < 10.0, "{median}");
    }
}
