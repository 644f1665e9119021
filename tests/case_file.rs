//! The case file: strict, all errors at once with their places, and resolved so that it runs again.

use crate::support::{Workplace, maxwell};

#[test]
fn all_errors_come_at_once_with_line_column_and_advice() {
    let place = Workplace::new("case_errors");
    place.write(
        "bad.toml",
        "format = 1\nunit = \"m\"\n[mesh]\nfile = \"none.msh\"\nunit = \"inch\"\n\
         [medium]\nrelative_permitivity = 2\n[solver]\ntolerance = \"small\"\n",
    );
    place.farad("solve bad.toml").fails(
        3,
        &[
            "5 errors in the case file",
            "bad.toml:2:1",
            "`unit` stands in [mesh]",
            "bad.toml:4:8",
            "none.msh does not exist",
            "bad.toml:5:8",
            "\"m\", \"cm\", \"mm\", \"um\", \"nm\", \"angstrom\"",
            "bad.toml:7:1",
            "did you mean `relative_permittivity`?",
            "bad.toml:9:13",
            "expected a number for tolerance, found a string",
        ],
    );
}

#[test]
fn a_missing_unit_is_an_error() {
    let place = Workplace::small("case_unit");
    place.write("no_unit.toml", "format = 1\n[mesh]\nfile = \"sphere.msh\"\n");
    place.farad("solve no_unit.toml").fails(3, &["no_unit.toml:2:2", "unit is missing in [mesh]"]);
}

#[test]
fn syntax_errors_have_places() {
    let place = Workplace::new("case_syntax");
    place.write("bad.toml", "format = 1\n[mesh]\nfile = \"a.msh\nunit = \"m\"\n");
    place.farad("solve bad.toml").fails(3, &["bad.toml:3:", "not valid TOML"]);
}

#[test]
fn a_mesh_given_as_a_case_is_recognised() {
    let place = Workplace::small("case_is_mesh");
    place
        .farad("solve sphere.msh")
        .fails(3, &["sphere.msh is no case file: it is a mesh", "write a case"]);
    place.write("renamed", place.read("sphere.msh"));
    place.farad("solve renamed").fails(3, &["renamed is no case file: it is a Gmsh mesh"]);
}

/// Whatever is given in place of a case: one message that says what it is and what to do, not what
/// TOML thinks of it.
#[test]
fn files_that_are_no_cases_are_recognised_in_a_few_lines() {
    let place = Workplace::new("case_foreign");
    let base64 = "AAAA".repeat(120_000);
    let vtu =
        format!("<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\">{base64}</VTKFile>\n");
    let geo = "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 1, 1, 1};\n".repeat(20);
    for (name, text, part) in [
        ("a.geo", geo.as_str(), "a.geo is no case file: it is a geometry"),
        ("a.vtu", &vtu, "a.vtu is no case file: it is a VTK file"),
        ("a", &vtu, "a is no case file: it is an XML file"),
        ("a.pdb", "ATOM 1 N ION 1 0 0 0 1 1\n", "pdb2pqr"),
        ("results.json", "{}", "it holds data or results"),
    ] {
        place.write(name, text);
        let ended = place.farad(&format!("solve {name}"));
        ended.fails(3, &[part, "help: "]);
        assert!(
            ended.stderr.len() < 1000 && !ended.stderr.contains("not valid TOML"),
            "{}",
            ended.stderr
        );
    }
    // A case with a line that nobody wants to see, and with more errors than anybody reads.
    place.write("long.toml", format!("format = 1\nx = \"{base64}\"\n"));
    let ended = place.farad("solve long.toml");
    ended.fails(3, &["line 2: unknown key `x`"]);
    assert!(ended.stderr.len() < 2000, "{} bytes", ended.stderr.len());
}

/// 8,000 unknown groups took 40 s and a gigabyte.
#[test]
fn thousands_of_errors_are_counted_and_the_first_shown() {
    let place = Workplace::small("case_many_errors");
    let names: Vec<String> = (0..8000).map(|i| format!("\"g{i}\"")).collect();
    let list = names.join(", ");
    place.case("ignore.toml", "sphere.msh", &format!("ignore = [{list}]"));
    let body = format!(
        "[[dielectric]]\nname = \"d\"\nrelative_permittivity = 2\ngroup = [{list}]\n[external]\nfield = [0, 0, 1]"
    );
    place.case("dielectric.toml", "sphere.msh", &body);
    let keys: String = (0..50_000).map(|i| format!("k{i} = 1\n")).collect();
    place.case("keys.toml", "sphere.msh", &keys);
    let conductors: String = (0..8000)
        .map(|i| format!("[[conductor]]\nname = \"c{i}\"\ngroup = \"sphere\"\n"))
        .collect();
    place.case("conductors.toml", "sphere.msh", &conductors);
    for (case, count) in
        [("ignore", 8000), ("dielectric", 8000), ("keys", 50_000), ("conductors", 7999)]
    {
        let start = std::time::Instant::now();
        let ended = place.farad(&format!("solve {case}.toml"));
        ended.fails(
            3,
            &[&format!("{count} errors in the case file, of which the first 20 are shown")],
        );
        let took = start.elapsed().as_secs_f64();
        // Below a second each on a machine that does nothing else.
        assert!(took < 15.0, "{case}: {took} s");
    }
}

#[test]
fn unknown_groups_are_shown_in_the_case_with_the_nearest_name() {
    let place = Workplace::small("case_group");
    place.case("wrong.toml", "sphere.msh", "[[conductor]]\nname = \"a\"\ngroup = \"shpere\"");
    place
        .farad("solve wrong.toml")
        .fails(3, &["wrong.toml:7:9", "\"shpere\"", "did you mean \"sphere\"?"]);
}

#[test]
fn a_triangle_in_no_conductor_is_an_error_unless_ignored() {
    let place = Workplace::new("case_unclaimed");
    place.generate("two-spheres --elements 144", "two.msh");
    let left = "[[conductor]]\nname = \"a\"\ngroup = \"left\"";
    place.case("unclaimed.toml", "two.msh", left);
    place
        .farad("solve unclaimed.toml")
        .fails(3, &["72 triangles", "\"right\"", "which no conductor lists"]);

    place.case("ignored.toml", "two.msh", &format!("ignore = [\"right\"]\n{left}"));
    place.case("alone.toml", "alone.msh", "");
    place.generate("sphere --elements 72", "alone.msh");
    let (ignored, alone) =
        (maxwell(&place.solve("ignored.toml")), maxwell(&place.solve("alone.toml")));
    // The same sphere in another place.
    assert!((ignored[0][0] - alone[0][0]).abs() < 1e-9, "{ignored:?} {alone:?}");
}

#[test]
fn conductors_follow_the_case_and_may_join_groups() {
    let place = Workplace::new("case_conductors");
    place.generate("two-spheres --elements 144", "two.msh");
    let two = "[[conductor]]\nname = \"b\"\ngroup = \"right\"\n[[conductor]]\nname = \"a\"\ngroup = \"left\"";
    place.case("two.toml", "two.msh", two);
    let results = place.solve("two.toml");
    assert_eq!(results["capacitance"]["conductors"], serde_json::json!(["b", "a"]));
    place.case(
        "one.toml",
        "two.msh",
        "[[conductor]]\nname = \"both\"\ngroup = [\"left\", \"right\"]",
    );
    let joined = maxwell(&place.solve("one.toml"));
    let sum: f64 = maxwell(&results).iter().flatten().sum();
    // Both at 1 V hold the charge that the matrix's entries add up to.
    assert!((joined[0][0] - sum).abs() < 1e-5 * sum, "{joined:?} {sum}");
}

#[test]
fn the_resolved_case_runs_again_and_gives_the_same() {
    let place = Workplace::new("case_resolved");
    std::fs::create_dir(place.path("meshes")).unwrap();
    place.generate("two-spheres --elements 144", "meshes/two.msh");
    place.case("cases/two.toml", "../meshes/two.msh", "[solver]\nmethod = \"fmm\"");
    let first = place.solve("cases/two.toml --tolerance 1e-8 --output out/deep");
    let resolved = place.read("out/deep/case.resolved.toml");
    for line in [
        "file = \"../../meshes/two.msh\"",
        "directory = \".\"",
        "tolerance = 1e-8",
        "title = \"two\"",
        "group = [\"left\"]",
    ] {
        assert!(resolved.contains(line), "no {line} in\n{resolved}");
    }
    // As it is, from anywhere, into its own folder.
    let again = place.solve("out/deep/case.resolved.toml");
    assert_eq!(first["files"], again["files"]);
    let (a, b) = (maxwell(&first), maxwell(&again));
    for (x, y) in a.iter().flatten().zip(b.iter().flatten()) {
        // The order in which threads sum may differ by rounding.
        assert!((x - y).abs() <= 1e-12 * a[0][0], "{a:?} {b:?}");
    }
    assert_eq!(place.read("out/deep/case.resolved.toml"), resolved);
}

#[test]
fn the_command_line_wins_over_the_file() {
    let place = Workplace::small("case_overrides");
    place.case("loose.toml", "sphere.msh", "[solver]\ntolerance = 1e-2\nmethod = \"dense\"");
    let results = place.solve("loose.toml --tolerance 1e-7 --method fmm");
    assert_eq!(results["accuracy"]["solver_tolerance"], 1e-7);
    assert_eq!(results["accuracy"]["fmm_tolerance"], 0.3 * 1e-7);
    assert_eq!(results["solver"]["method"], "fmm");
}
