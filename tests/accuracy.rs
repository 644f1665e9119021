//! `farad solve --accuracy`: bars in all results, and what ends a refinement.

use crate::support::{Workplace, keys, matrix};

/// The unit cube of twelve triangles.
fn cube(place: &Workplace) {
    place.generate("cube --elements 12", "cube.msh");
    place.case("cube.toml", "cube.msh", "");
}

#[test]
fn an_accuracy_is_reached_and_the_way_there_is_in_the_results() {
    let place = Workplace::new("accuracy_reached");
    cube(&place);
    let ended = place.must("solve cube.toml --accuracy 5e-3");
    let results = place.json("cube.out/results.json");
    assert_eq!(results["status"], "complete");
    let capacitance = &results["capacitance"];
    let of = |key: &str| matrix(&capacitance[key])[0][0];
    let (value, bar) = (of("maxwell_over_4pi_eps0"), of("maxwell_over_4pi_eps0_error"));
    // Helsing & Perfekt 2013.
    let error = (value - 0.660_678_154_099_57).abs();
    assert!(error < bar && bar < 5.0 * error && bar < 5e-3 * value, "{value} +- {bar}");
    assert!((of("maxwell_farad_error") / of("maxwell_farad") / (bar / value) - 1.0).abs() < 1e-12);
    let refinement = &results["refinement"];
    assert_eq!(keys(refinement), ["accuracy", "accuracy_of", "ended", "meshes"]);
    assert_eq!(
        (&refinement["ended"], &refinement["accuracy_of"]),
        (&"reached".into(), &"all".into())
    );
    let meshes = refinement["meshes"].as_array().unwrap();
    let triangles = |mesh: &serde_json::Value| mesh["triangles"].as_u64().unwrap();
    assert_eq!(triangles(&meshes[0]), 12);
    assert!(meshes.windows(2).all(|pair| triangles(&pair[0]) < triangles(&pair[1])));
    assert_eq!(results["mesh"]["triangles"], meshes.last().unwrap()["triangles"]);
    // One line a mesh, and the bar next to the value.
    assert_eq!(ended.stderr.matches("triangles: C = ").count(), meshes.len());
    assert!(ended.stdout.contains(" +- ") && ended.stdout.contains("Accuracy 5.0e-3 asked for"));
    // The resolved case asks for the same.
    let resolved = place.read("cube.out/case.resolved.toml");
    assert!(resolved.contains("accuracy = 0.005\naccuracy_of = \"all\"\n"), "{resolved}");
}

#[test]
fn an_accuracy_that_is_not_reached_marks_the_results() {
    let place = Workplace::new("accuracy_not_reached");
    cube(&place);
    place.farad("solve cube.toml --accuracy 1e-6 --max-time 1e-6").fails(
        4,
        &["the accuracy of 1.0e-6 was not reached", "--max-time", "accuracy_not_reached"],
    );
    let results = place.json("cube.out/results.json");
    assert_eq!(results["status"], "accuracy_not_reached");
    assert_eq!(results["refinement"]["ended"], "time");
    assert!(place.read("cube.out/capacitance_maxwell.csv").contains("ACCURACY NOT REACHED"));
    // What the memory does not hold ends it, too.
    place.case("small.toml", "cube.msh", "[solver]\naccuracy = 1e-4\nmethod = \"dense\"\n");
    place.farad("solve small.toml --max-memory 0.003").fails(4, &["was not reached"]);
    assert_eq!(place.json("small.out/results.json")["refinement"]["ended"], "size");
}

#[test]
fn accuracies_that_make_no_sense_are_refused() {
    let place = Workplace::new("accuracy_refused");
    cube(&place);
    place.farad("solve cube.toml --accuracy 1e-10").fails(2, &["1e-9", "double precision"]);
    place.farad("solve cube.toml --accuracy 1e-2 --accuracy-of forces").fails(2, &["energy"]);
    for (of, what) in [("energy", "no point charge"), ("C(cube,lid)", "no entry C(cube, lid)")] {
        let arguments = format!("solve cube.toml --accuracy 1e-2 --accuracy-of {of}");
        place.farad(&arguments).fails(3, &[what]);
    }
    // A dry run refuses the same, and neither leaves anything.
    let probe = "[[probe]]\nname = \"p\"\nfrom = [0, 0, 2]\nto = [0, 0, 3]\ncount = 2\n[[conductor]]\nname = \"cube\"\n\
                 group = \"cube\"\npotential = 1\n";
    place.case("probed.toml", "cube.msh", probe);
    for (of, what) in [("probe(q)", "no probe q"), ("V(cube)", "no floating conductor cube")] {
        for dry in ["", " --dry-run"] {
            let of = format!("--accuracy 1e-2 --accuracy-of {of}");
            place.farad(&format!("solve probed.toml {of}{dry}")).fails(3, &[what]);
            assert!(!place.path("probed.out").exists(), "{of}{dry}");
        }
    }
    place.must("solve probed.toml --accuracy 1e-1 --accuracy-of probe(p) --dry-run");
    assert!(!place.path("probed.out").exists());
    // What it is of, of nothing.
    place.farad("solve cube.toml --accuracy-of energy").fails(2, &["--accuracy-of", "--accuracy"]);
    place.case("wrong.toml", "cube.msh", "[solver]\naccuracy_of = \"C(a\"\n");
    place.farad("solve wrong.toml").fails(3, &["accuracy_of must be all, energy"]);
}

#[test]
fn bars_are_there_without_an_accuracy_unless_switched_off() {
    let place = Workplace::new("accuracy_bars");
    cube(&place);
    let results = place.solve("cube.toml");
    assert!(results["refinement"].is_null());
    assert!(!results["capacitance"]["maxwell_farad_error"].is_null());
    place.case("bare.toml", "cube.msh", "[solver]\nerror_bars = false\n");
    let results = place.solve("bare.toml");
    assert!(results["capacitance"]["maxwell_farad_error"].is_null());
    assert!(!place.list("bare.out").iter().any(|name| name.contains("error")));
    assert!(!place.must("solve bare.toml --overwrite").stdout.contains("+-"));
}

#[test]
fn a_time_that_is_too_short_is_reported() {
    let place = Workplace::small("accuracy_time");
    let ended = place.farad("solve sphere.toml --accuracy 1e-8 --max-time 0.01");
    ended.fails(4, &["a finer mesh would have taken longer than --max-time allows"]);
    // Bars of a first mesh that are short enough are not believed, which is said.
    let ended = place.farad("solve sphere.toml --accuracy 1e-1 --max-time 1e-6 --overwrite");
    let message = "the accuracy of 1.0e-1 is not confirmed by a finer mesh, though the bars are ";
    ended.fails(4, &[message, "a finer mesh would have taken longer than --max-time allows"]);
    assert!(!ended.stderr.contains("was not reached"), "{}", ended.stderr);
}
