//! `farad sweep`: each run gives what `farad solve` gives of the same case, and what does not
//! change is not solved again.

use serde_json::Value;

use crate::support::{Workplace, matrix, maxwell};

fn sweep(place: &Workplace, arguments: &str) -> Value {
    serde_json::from_str(&place.must(&format!("sweep {arguments} --json")).stdout).unwrap()
}

#[test]
fn moved_and_turned_bodies_and_permittivities_are_those_of_single_cases() {
    let place = Workplace::new("sweep_move");
    place.generate("two-spheres --distance 3 --elements 144", "two.msh");
    place.generate("two-spheres --distance 4 --elements 144", "four.msh");
    place.case(
        "case.toml",
        "two.msh",
        "[[sweep]]\nname = \"eps\"\nvalues = [1, 2.5]\nset = \"medium.relative_permittivity\"\n\
         [[sweep]]\nname = \"gap\"\nvalues = [0, 1]\nmove = \"right\"\nalong = [1, 0, 0]\n\
         [[sweep]]\nname = \"angle\"\nvalues = [0, 180]\nturn = [\"left\", \"right\"]\naxis = [0, 0, 1]\n",
    );
    let results = sweep(&place, "case.toml");
    let runs = results["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &results["solved"]), (8, &4.into()));
    assert_eq!(results["parameters"], serde_json::json!(["eps", "gap", "angle"]));
    let farads = |run: &Value| matrix(&run["maxwell_farad"]);
    let single = |file: &str, eps: f64| {
        place.case("single.toml", file, &format!("[medium]\nrelative_permittivity = {eps}"));
        matrix(&place.solve("single.toml")["capacitance"]["maxwell_farad"])
    };
    for run in runs {
        let labels: Vec<f64> =
            run["parameters"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
        let expected = single(if labels[1] == 0.0 { "two.msh" } else { "four.msh" }, labels[0]);
        for (x, y) in farads(run).iter().flatten().zip(expected.iter().flatten()) {
            // The shifted mesh is centred anew and differs in rounding; tolerances are 1e-6.
            assert!((x - y).abs() < 1e-5 * expected[0][0], "{labels:?}: {x} {y}");
        }
    }
    let files = place.list("case.sweep");
    assert!(files.contains(&"sweep.csv".into()) && files.contains(&"surface_0008.vtu".into()));
    assert_eq!(place.read("case.sweep/sweep.pvd").matches("<DataSet").count(), 8);
    let csv = place.read("case.sweep/sweep.csv");
    assert!(csv.starts_with("\"eps\",\"gap\",\"angle\",triangles,\"C(left, left) [F]\""), "{csv}");
    assert_eq!(csv.lines().count(), 9);
    // `solve` leaves the sweep alone, and a second sweep replaces the first.
    assert_eq!(maxwell(&place.solve("case.toml")).len(), 2);
    let text = place.must("sweep case.toml").stdout;
    assert!(text.contains("8 runs, of which 4 were solved"), "{text}");
}

#[test]
fn mesh_files_are_swept_and_must_have_the_same_conductors() {
    let place = Workplace::small("sweep_files");
    place.generate("sphere --radius 2 --elements 72", "large.msh");
    place.generate("torus --elements 72", "torus.msh");
    let files = |names: &str| format!("[[sweep]]\nname = \"mesh\"\nfiles = {names}\n");
    place.case("case.toml", "sphere.msh", &files("[\"sphere.msh\", \"large.msh\"]"));
    let results = sweep(&place, "case.toml");
    let value = |run: usize| matrix(&results["runs"][run]["maxwell_farad"])[0][0];
    assert!((value(1) / value(0) - 2.0).abs() < 1e-5);
    assert_eq!(results["runs"][1]["parameters"][0], "large.msh");
    place.case("other.toml", "sphere.msh", &files("[\"sphere.msh\", \"torus.msh\"]"));
    place
        .farad("sweep other.toml")
        .fails(3, &["mesh = torus.msh", "conductors are torus", "of the first"]);
}

#[test]
fn runs_that_fail_are_reported_by_their_values() {
    let place = Workplace::small("sweep_failed");
    let moved = |name: &str, values: &str| {
        format!(
            "[[sweep]]\nname = \"{name}\"\nvalues = [{values}]\nmove = \"sphere\"\nalong = [1, 0, 0]\n"
        )
    };
    let few = "[solver]\nmethod = \"fmm\"\nmax_iterations = 1\n";
    place.case("few.toml", "sphere.msh", &(moved("x", "0, 1") + few));
    place.farad("sweep few.toml").fails(4, &["the solver did not converge in the run with x = 0"]);
    // The charges of the first run are there to go on from.
    assert!(place.path("few.sweep/.farad-checkpoint/inputs").is_file());
    place
        .farad("study few.toml")
        .fails(4, &["the solver did not converge on the mesh of 72 triangles"]);
    place.case("sweep.toml", "sphere.msh", &moved("x", "0, 1"));
    let ended = place.farad("sweep sweep.toml --memory-limit 1e-6");
    ended.fails(5, &["this was the run with x = 0"]);
    let many = (1..400).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    place.case("many.toml", "sphere.msh", &(moved("x", &many) + &moved("y", &many)));
    place
        .farad("sweep many.toml")
        .fails(3, &["the sweeps of many.toml have more than 100000 combinations"]);
}

#[test]
fn faulty_sweeps_are_shown_in_the_case() {
    let place = Workplace::small("sweep_faults");
    let cases = [
        ("name = \"a\"\nvalues = [1]\n", "exactly one of set, move, turn and files"),
        (
            "name = \"a\"\nvalues = [1]\nset = \"medium.relative_permittivity\"\nmove = \"sphere\"\n",
            "exactly one",
        ),
        ("name = \"a\"\nset = \"medium.relative_permittivity\"\n", "values is missing"),
        ("name = \"a\"\nvalues = [-1]\nset = \"medium.relative_permittivity\"\n", "out of range"),
        (
            "name = \"a\"\nvalues = [1, \"x\"]\nset = \"medium.relative_permittivity\"\n",
            "expected a finite number in values",
        ),
        ("name = \"a\"\nvalues = [1]\nmove = \"sphere\"\n", "along is missing"),
        (
            "name = \"a\"\nvalues = [1]\nmove = \"sphere\"\nalong = [1, 2]\n",
            "expected 3 numbers for along, found 2",
        ),
        ("name = \"a\"\nvalues = [1]\nturn = \"sphere\"\naxis = [0, 0, 0]\n", "axis is zero"),
        ("name = \"a\"\nvalues = [1]\nturn = \"sphere\"\n", "axis is missing"),
        ("name = \"a\"\nfiles = [\"none.msh\"]\n", "none.msh does not exist"),
        (
            "name = \"a\"\nvalues = [1]\nmove = \"shpere\"\nalong = [1, 0, 0]\n",
            "no physical group \"shpere\"",
        ),
    ];
    for (text, part) in cases {
        place.case("case.toml", "sphere.msh", &format!("[[sweep]]\n{text}"));
        place.farad("sweep case.toml").fails(3, &["case.toml:", part]);
    }
    place.case("none.toml", "sphere.msh", "");
    place.farad("sweep none.toml").fails(3, &["varies nothing", "[[sweep]]"]);
}

/// Near field and fast sums are those of the geometry, whatever the media are.
#[test]
fn permittivities_of_dielectrics_are_swept_on_one_geometry() {
    let place = Workplace::new("sweep_dielectric");
    place
        .generate("concentric-spheres --inner-radius 1 --outer-radius 2 --elements 400", "two.msh");
    let case = |eps: f64, more: &str| {
        format!(
            "[[dielectric]]\nname = \"coat\"\nrelative_permittivity = {eps}\ngroup = \"outer\"\n\
             [[conductor]]\nname = \"core\"\ngroup = \"inner\"\n{more}"
        )
    };
    let set = "[[sweep]]\nname = \"eps\"\nvalues = [2, 4, 1, 80]\nset = \"dielectric.coat.relative_permittivity\"\n\
               [[sweep]]\nname = \"x\"\nvalues = [0, 0.25]\nmove = \"inner\"\nalong = [1, 0, 0]\n";
    place.case("case.toml", "two.msh", &case(3.0, set));
    for method in ["dense", "fmm"] {
        let results = sweep(&place, &format!("case.toml --method {method} --overwrite"));
        let runs = results["runs"].as_array().unwrap();
        assert_eq!((runs.len(), &results["solved"]), (8, &8.into()));
        // For each place of the core once, once more without an interface, and again with one.
        assert_eq!(results["prepared"], 6, "{method}");
        for (run, eps) in runs.iter().step_by(2).zip([2.0, 4.0, 1.0, 80.0]) {
            place.case("single.toml", "two.msh", &case(eps, ""));
            let single = place.solve(&format!("single.toml --method {method} --overwrite"));
            let expected = matrix(&single["capacitance"]["maxwell_farad"])[0][0];
            let found = matrix(&run["maxwell_farad"])[0][0];
            assert!((found / expected - 1.0).abs() < 3e-6, "{method} {eps}: {found} {expected}");
        }
    }
    place.case("wrong.toml", "two.msh", &case(3.0, &set.replace("coat.rel", "boat.rel")));
    place.farad("sweep wrong.toml").fails(
        3,
        &["names nothing that a sweep can set", "\"dielectric.coat.relative_permittivity\""],
    );
}

/// The medium of surfaces in layers is that of their layer: runs with others would be the same.
#[test]
fn layers_have_no_medium_to_sweep() {
    let place = Workplace::small("sweep_layers");
    let stack = "[stack]\nat = -2\nbelow = 4\n[[sweep]]\nname = \"x\"\n";
    let medium = format!("{stack}values = [1, 2]\nset = \"medium.relative_permittivity\"\n");
    place.case("medium.toml", "sphere.msh", &medium);
    let parts = ["names nothing that a sweep can set", "layers have no permittivity"];
    place.farad("sweep medium.toml").fails(3, &parts);
    let moved = format!("{stack}values = [0, 1]\nmove = \"sphere\"\nalong = [0, 0, 1]\n");
    place.case("moved.toml", "sphere.msh", &moved);
    let results = sweep(&place, "moved.toml");
    let found = |run: usize| matrix(&results["runs"][run]["maxwell_farad"])[0][0];
    assert!(found(1) < found(0), "{results}");
}

#[test]
fn energies_of_charges_follow_the_medium() {
    let place = Workplace::new("sweep_energy");
    place.generate("sphere --base icosahedron --elements 320", "sphere.msh");
    place.case(
        "born.toml",
        "sphere.msh",
        "[[dielectric]]\nname = \"ion\"\nrelative_permittivity = 1\ngroup = \"sphere\"\n\
         [[charge]]\nposition = [0, 0, 0]\ncharge = 1e-9\n\
         [[sweep]]\nname = \"eps\"\nvalues = [4, 80]\nset = \"medium.relative_permittivity\"\n",
    );
    let results = sweep(&place, "born.toml");
    assert_eq!(results["quantities"], serde_json::json!(["solvation energy [kcal/mol]"]));
    // With a dielectric every permittivity is another problem.
    assert_eq!(results["solved"], 2);
    let energy = |run: usize| results["runs"][run]["quantities"][0].as_f64().unwrap();
    // Born: proportional to 1 - 1/eps; facets are the same in both.
    let ratio = energy(0) / energy(1);
    assert!((ratio / (0.75 / (1.0 - 1.0 / 80.0)) - 1.0).abs() < 1e-3, "{ratio}");
    let table = place.read("born.sweep/sweep.csv");
    assert!(table.starts_with("\"eps\",triangles,\"solvation energy [kcal/mol]\"\n"), "{table}");
}

#[test]
fn atoms_go_where_their_molecule_goes() {
    let place = Workplace::new("sweep_dock");
    place.generate("two-spheres --radius 4 --distance 10 --elements 144", "near.msh");
    place.generate("two-spheres --radius 4 --distance 13 --elements 144", "far.msh");
    // Atoms off the centres of both, which are at half the distance on either side of the origin.
    let atom =
        |x: f64| format!("ATOM 1 N LYS 1 {x} 1.5 -1 1 1.5\nATOM 2 O LYS 1 {x} -2 0 -0.5 1.5\n");
    for (file, x) in
        [("left.pqr", -4.0), ("right.pqr", 6.0), ("far_left.pqr", -5.5), ("far_right.pqr", 7.5)]
    {
        place.write(file, atom(x));
    }
    let case = |name: &str, prefix: &str, mesh: &str, more: &str| {
        let molecule = |name: &str, file: &str| {
            format!(
                "[[dielectric]]\nname = \"{name}\"\nrelative_permittivity = 4\ngroup = \"{name}\"\ncharges = \"{file}\"\n"
            )
        };
        let media = molecule("left", &format!("{prefix}left.pqr"))
            + &molecule("right", &format!("{prefix}right.pqr"));
        let text = format!(
            "format = 1\n[mesh]\nfile = \"{mesh}\"\nunit = \"angstrom\"\n[medium]\nrelative_permittivity = 80\n{media}{more}"
        );
        place.write(name, text);
    };
    let energy =
        |name: &str| place.solve(name)["solvation"]["energy_kcal_per_mol"].as_f64().unwrap();
    case("near.toml", "", "near.msh", "");
    case("far.toml", "far_", "far.msh", "");
    case(
        "case.toml",
        "",
        "near.msh",
        "[[sweep]]\nname = \"gap\"\nvalues = [0, 3]\nmove = \"right\"\nalong = [1, 0, 0]\n\
         [[sweep]]\nname = \"angle\"\nvalues = [0, 130]\nturn = [\"left\", \"right\"]\naxis = [1, 2, 3]\ncentre = [3, 0, 1]\n",
    );
    let results = sweep(&place, "case.toml");
    let expected = [energy("near.toml"), energy("far.toml")];
    // Half a per mille lies between the two, and the solver's tolerance is 1e-6.
    assert!((expected[0] / expected[1] - 1.0).abs() > 1e-4, "{expected:?}");
    for (run, row) in results["runs"].as_array().unwrap().iter().enumerate() {
        let found = row["quantities"][0].as_f64().unwrap();
        assert!((found / expected[run / 2] - 1.0).abs() < 1e-5, "{run}: {found} {expected:?}");
    }
}

#[test]
fn probes_are_those_of_single_cases_and_time_is_the_parameter() {
    let place = Workplace::small("sweep_probes");
    let state = "[external]\nfield = [0, 0, 1]\n[output]\npolarisability = true\n\
         [[probe]]\nname = \"line\"\nfrom = [0, 0, 2]\nto = [0, 0, 3]\ncount = 4\n";
    let medium = |eps: f64| format!("[medium]\nrelative_permittivity = {eps}\n{state}");
    let set =
        "[[sweep]]\nname = \"eps\"\nvalues = [2, 3.5]\nset = \"medium.relative_permittivity\"\n";
    place.case("case.toml", "sphere.msh", &format!("{state}{set}"));
    let ended = place.must("sweep case.toml --json");
    assert_eq!(ended.stderr, "");
    let results: Value = serde_json::from_str(&ended.stdout).unwrap();
    for (run, eps) in [(1, 2.0), (2, 3.5)] {
        place.case("single.toml", "sphere.msh", &medium(eps));
        place.must("solve single.toml");
        let swept = place.read(&format!("case.sweep/probe_line_{run:04}.csv"));
        assert_eq!(swept, place.read("single.out/probe_line.csv"));
        let row = &results["runs"][run - 1];
        assert_eq!(row["parameters"][0], eps);
        let files = [format!("probe_line_{run:04}.csv"), format!("probe_line_{run:04}.vtu")];
        assert_eq!(row["probes"], serde_json::json!(files));
        assert!(files.iter().all(|file| place.path(&format!("case.sweep/{file}")).is_file()));
    }
    let pvd = place.read("case.sweep/sweep.pvd");
    assert!(pvd.contains("timestep=\"2\"") && pvd.contains("timestep=\"3.5\""), "{pvd}");
    let csv = place.read("case.sweep/sweep.csv");
    assert!(csv.contains("polarisability xx/(4 pi eps0) [m^3]"), "{csv}");
}
