//! Chosen nets: only some of the conductors are excited.

use serde_json::json;

use crate::support::{Workplace, matrix};

/// Two bars over two that cross them: bar_x1, bar_x2, bar_y1, bar_y2.
fn bus(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.generate("bus --bars 2 --elements 400", "bus.msh");
    place
}

#[test]
fn chosen_nets_have_the_columns_of_the_whole_matrix() {
    let place = bus("nets");
    for (k, medium) in ["", "[medium]\nrelative_permittivity = 3.9\n"].iter().enumerate() {
        place.case("all.toml", "bus.msh", medium);
        let chosen = format!("{medium}[solver]\nnets = [\"bar_y1\", \"*_x2\"]\n");
        place.case("some.toml", "bus.msh", &chosen);
        let all = place.solve(&format!("all.toml --method fmm --output all{k}"));
        let some = place.solve(&format!("some.toml --method fmm --output some{k}"));
        let of = |results: &serde_json::Value, key: &str| matrix(&results["capacitance"][key]);
        assert_eq!(some["capacitance"]["columns"], json!(["bar_x2", "bar_y1"]));
        assert_eq!(some["capacitance"]["conductors"], all["capacitance"]["conductors"]);
        assert_eq!(all["capacitance"]["columns"], all["capacitance"]["conductors"]);
        let own = of(&all, "maxwell_farad")[0][0];
        for key in ["maxwell_farad", "mutual_farad"] {
            let (all, some) = (of(&all, key), of(&some, key));
            assert_eq!(some.len(), 4);
            for i in 0..4 {
                for (k, j) in [1, 2].into_iter().enumerate() {
                    // Ten tolerances: the whole sum of a column on the diagonal of the mutual form.
                    let off = (some[i][k] - all[i][j]).abs();
                    assert!(off < 1e-5 * own, "{key} {i} {j} {off}");
                }
            }
        }
        let bars = &some["capacitance"]["maxwell_farad_error"];
        let expected = of(&all, "maxwell_farad_error");
        for (k, j) in [1, 2].into_iter().enumerate() {
            assert!(bars[0][k].is_null() && bars[3][k].is_null(), "{bars}");
            for i in [1, 2] {
                let ratio = bars[i][k].as_f64().unwrap() / expected[i][j];
                assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
            }
        }
        assert_eq!(some["warnings"], json!([]));
        let names: Vec<_> =
            some["solves"].as_array().unwrap().iter().map(|s| &s["excitation"]).collect();
        assert_eq!(names, ["bar_x2", "bar_y1"]);
    }
    let table = place.read("some0/capacitance_maxwell.csv");
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with(",bar_x2,bar_y1") && lines[4].starts_with("bar_y2,"), "{table}");
    let surface = place.read("some0/surface.vtu");
    assert!(
        surface.contains("charge density, bar_y1 at 1 V") && !surface.contains("bar_x1 at 1 V")
    );

    // The command line chooses over the file, the resolved case is the same, and so are the other
    // commands.
    let shown = place.must("solve some.toml --nets bar_x1,bar_y1 --output told").stdout;
    assert!(
        shown.contains("Of 4 conductors only these are excited: \"bar_x1\", \"bar_y1\""),
        "{shown}"
    );
    let again = place.solve("told/case.resolved.toml --output again");
    assert_eq!(again["capacitance"]["columns"], json!(["bar_x1", "bar_y1"]));
    let reached = place.solve("some.toml --accuracy 2e-2 --output reached");
    assert_eq!(reached["status"], "complete");
    let number = reached["refinement"]["meshes"][0]["number"].as_str().unwrap();
    assert!(!number.contains("bar_x1") && !number.contains("bar_y2"), "{number}");
    let study = "study some.toml --levels 3 --json";
    let study: serde_json::Value = serde_json::from_str(&place.must(study).stdout).unwrap();
    let entries = study["entries"].as_array().unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    let expected = [
        "C(bar_x1, bar_x2)",
        "C(bar_x1, bar_y1)",
        "C(bar_x2, bar_x2)",
        "C(bar_x2, bar_y1)",
        "C(bar_y1, bar_y1)",
        "C(bar_y2, bar_x2)",
        "C(bar_y2, bar_y1)",
    ];
    assert_eq!(names, expected);
    let bar = |k: usize| &entries[k]["bars"][0];
    assert!(bar(0).is_null() && bar(2).is_number(), "{study}");
    let sweep = "[solver]\nnets = \"bar_x2\"\n[[sweep]]\nname = \"eps\"\nvalues = [1, 2]\nset = \"medium.relative_permittivity\"\n";
    place.case("sweep.toml", "bus.msh", sweep);
    place.must("sweep sweep.toml");
    let swept = place.json("sweep.sweep/results.json");
    assert_eq!(swept["columns"], json!(["bar_x2"]));
    let table = place.read("sweep.sweep/sweep.csv");
    assert!(table.starts_with("\"eps\",triangles,\"C(bar_x1, bar_x2) [F]\","), "{table}");
    assert_eq!(table.lines().next().unwrap().split("\",").count(), 5, "{table}");
}

#[test]
fn what_needs_the_whole_matrix_is_refused() {
    let place = bus("nets_refused");
    let refused = |more: &str, parts: &[&str]| {
        place.case("bus.toml", "bus.msh", &format!("[solver]\nnets = [\"bar_x1\"]\n{more}"));
        place.farad("solve bus.toml").fails(3, parts);
    };
    let reduction = "[[reduce]]\nname = \"r\"\nfloating = \"bar_y1\"\n";
    refused(
        reduction,
        &["bus.toml:6:9", "a reduction needs the whole matrix", "leave out [solver] nets"],
    );
    refused(
        "[external]\nfield = [0, 0, 1]\n",
        &["a state (a potential, a charge or a field) needs"],
    );
    refused("[output]\npolarisability = true\n", &["the polarisability needs the whole matrix"]);
    refused(
        "[diffusion]\ntemperature = 300\nviscosity = 1e-3\n",
        &["diffusion needs the whole matrix"],
    );
    refused(
        "[output]\nformats = \"spice\"\n",
        &["bus.toml:8:11", "\"spice\" needs the whole matrix"],
    );
    place.case("bus.toml", "bus.msh", "[solver]\nnets = [\"bar_z1\", \"clk*\"]\n");
    let parts = [
        "bus.toml:6:9",
        "there is no conductor \"bar_z1\"",
        "did you mean \"bar_x1\"?",
        "no conductor fits \"clk*\"",
    ];
    place.farad("solve bus.toml").fails(3, &parts);
    let parts = ["--nets: there is no conductor \"bar_y\"", "did you mean \"bar_y1\"?"];
    place.farad("solve bus.toml --nets bar_x1,bar_y").fails(3, &parts);
    // An accuracy of an entry without bars.
    let parts = ["no entry C(bar_x1, bar_x2) of conductors that are excited"];
    place
        .command("solve bus.toml --nets bar_x1 --accuracy 1e-2 --accuracy-of")
        .arg("C(bar_x1, bar_x2)")
        .output()
        .map(|output| crate::support::Ended::from(output).fails(3, &parts))
        .unwrap();
}
