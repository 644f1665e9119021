//! The case file: strict, all errors at once with their places, and resolved so that it runs again.

use crate::support::{Ended, Workplace, maxwell};

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

/// Each mistake once, however often its table is read; and names that only the mesh can tell to be
/// wrong with those that need none, in all tables.
#[test]
fn mistakes_are_reported_once_and_at_once() {
    let place = Workplace::new("case_at_once");
    place.generate("two-spheres --elements 144", "two.msh");
    place.case("once.toml", "two.msh", "[solver]\ntolerence = 1e-5\naccuracy = \"fine\"");
    place.farad("solve once.toml").fails(
        3,
        &[
            "2 errors in the case file",
            "did you mean `tolerance`?",
            "expected a number for accuracy",
        ],
    );
    let wrong = "ignore = \"rest\"\n[[conductor]]\nname = \"a\"\ngroup = \"lift\"\n\
                 [[dielectric]]\nname = \"b\"\ngroup = \"rihgt\"\nrelative_permittivity = -2\n\
                 [[sweep]]\nname = \"gap\"\nvalues = [0, 1]\nmove = \"lefft\"\nalong = [0, 0, 1]\n\
                 [[sweep]]\nname = \"eps\"\nvalues = [1]\nset = \"medium.relative_permitivity\"\n";
    place.case("many.toml", "two.msh", wrong);
    let all = [
        "5 errors in the case file",
        "many.toml:5:10",
        "no physical group \"rest\"",
        "no physical group \"lift\"",
        "did you mean \"left\"?",
        "relative_permittivity is out of range",
        "no physical group \"lefft\"",
        "names nothing that a sweep can set",
    ];
    for command in ["solve", "sweep", "study"] {
        place.farad(&format!("{command} many.toml")).fails(3, &all);
    }
    // Without a fault of its own, all names of the mesh at once.
    let right = wrong.replace("-2", "2").replace("permitivity", "permittivity");
    place.case("names.toml", "two.msh", &right);
    let names =
        ["4 errors", "\"rest\"", "\"lift\"", "\"rihgt\"", "did you mean \"right\"?", "\"lefft\""];
    place.farad("sweep names.toml").fails(3, &names);
    place.farad("solve names.toml").fails(3, &["3 errors", names[1], names[2], names[3]]);
    // What is right is no mistake because of what is wrong.
    place.case("one.toml", "two.msh", "[[conductor]]\nname = \"a\"\ngruop = \"left\"\n");
    place
        .farad("solve one.toml")
        .fails(3, &["2 errors", "group is missing", "did you mean `group`?"]);
}

#[test]
fn suggestions_are_near_or_there_are_none() {
    let place = Workplace::small("case_suggestions");
    for (text, help) in [
        (
            "[[plane]]\naxis = \"z\"\nkind = \"ground\"\nat = -3\nnormal = 1\n",
            "keys here: axis, at, kind",
        ),
        ("[medium]\npermittivity = 2\n", "did you mean `relative_permittivity`?"),
        ("[external]\npermittivity = 2\n", "did you mean `relative_permittivity` in [medium]?"),
        ("[solver]\niterations = 2\n", "did you mean `max_iterations`?"),
    ] {
        place.case("case.toml", "sphere.msh", text);
        place.farad("solve case.toml").fails(3, &["1 error", help]);
    }
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
    // The folder is shown without the "." of the resolved case.
    let text = place.must("solve out/deep/case.resolved.toml").stdout;
    assert!(text.contains("Results in out/deep: "), "{text}");
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

/// One mistake each, and what is said of it.
#[test]
fn each_mistake_is_reported_in_its_words() {
    let place = Workplace::small("case_words");
    place.generate("concentric-spheres --elements 144", "shells.msh");
    place.must("mesh generate cube --elements 48 -o cube.msh");
    place.must("mesh generate sphere --radius 0.3 --elements 72 -o small.msh");
    place.must("mesh convert cube.msh small.msh -o filled.msh");
    place.write("empty.txt", "x y z\n");
    place.write("deep.txt", "0 0 -9\n");
    place.write("ball.pqr", "ATOM 1 C MET 1 0 0 0 1.0 2.0\n");
    let told = |part: &str| place.farad("solve wrong.toml").fails(3, &[part]);
    // Two tetrahedra that share an edge.
    place.write(
        "edge.off",
        "OFF\n6 8 0\n0 0 0\n0 0 1\n1 0 0.5\n0 1 0.5\n-1 0 0.5\n0 -1 0.5\n3 0 1 2\n3 0 3 1\n3 0 2 3\n\
         3 1 3 2\n3 0 1 4\n3 0 5 1\n3 0 4 5\n3 1 5 4\n",
    );
    for (mesh, body, part) in [
        (
            "edge.off",
            "[external]\nfield = [0, 0, 1]\n[[dielectric]]\nname = \"d\"\ngroup = \"ungrouped\"\nrelative_permittivity = 2",
            "its triangles cannot all face one side: it meets itself along an edge",
        ),
        (
            "filled.msh",
            "[stack]\nbelow = 4\nat = -0.5\n[[dielectric]]\nname = \"d\"\ngroup = \"cube\"\nrelative_permittivity = 3\n[[conductor]]\nname = \"p\"\ngroup = \"sphere\"",
            "of a dielectric lies in an interface of layers",
        ),
        (
            "shells.msh",
            "[stack]\nbelow = 4\nat = 0\n[[conductor]]\nname = \"a\"\ngroup = \"inner\"\n[[dielectric]]\nname = \"d\"\ngroup = \"outer\"\nrelative_permittivity = 3",
            "dielectric bodies cannot be given together with surfaces in several layers",
        ),
        (
            "shells.msh",
            "[[conductor]]\nname = \"m\"\ngroup = \"inner\"\npotential = 1\n[[surface]]\ngroup = \"outer\"\nfront = 1\nback = 4\n[[surface]]\ngroup = \"inner\"\nfront = 4\nback = 4\n[[film]]\nname = \"a\"\non = \"m\"\nthickness = 1e-3\nrelative_permittivity = 4\nmedium = \"x\"",
            "media by surfaces have no names that a film could be next to",
        ),
    ] {
        place.case("wrong.toml", mesh, body);
        told(part);
    }
    for (body, part) in [
        (
            "[[film]]\nname = \"f\"\nthickness = 1\nrelative_permittivity = 2\non = \"sphere\"\ninterface = 0",
            "on and interface both say where the film is",
        ),
        (
            "[[reduce]]\nname = \"r\"",
            "nothing is reduced: there is neither floating, grounded, group nor between",
        ),
        (
            "[[reduce]]\nname = \"a b\"\ngrounded = \"sphere\"",
            "the name of a reduction becomes that of a file: letters, digits, _ and -",
        ),
        (
            "[medium]\nkappa = 1\nionic_strength = 1",
            "the medium has both a kappa and an ionic_strength",
        ),
        ("[medium]\nionic_strength = 0.1", "ionic_strength needs a temperature"),
        ("[output]\ndirectory = \"\"", "directory is empty"),
        (
            "[[sensitivity]]\nname = \"s\"\nshift = \"sphere\"\nlayer = 1",
            "shift and layer both say what changes",
        ),
        (
            "[[sensitivity]]\nname = \"s\"\nshift = \"sphere\"\nof = \"thickness\"",
            "`of` says what of a layer changes, and there is no layer",
        ),
        (
            "[medium]\nrelative_permittivity = 2\n[stack]\nbelow = \"ground\"",
            "[medium] and layers both say what surrounds the surfaces",
        ),
        (
            "[[sweep]]\nname = \"s\"\nmove = \"sphere\"\nvalues = [1]",
            "along is missing in [[sweep]]",
        ),
        (
            "[[sweep]]\nname = \"s\"\nmove = \"sphere\"\nvalues = [1]",
            "add along = [x, y, z]: groups move by each value times this vector",
        ),
        (
            "[[sweep]]\nname = \"s\"\nturn = \"sphere\"\nvalues = [1]",
            "add axis = [x, y, z]: groups turn about it by each value in degrees",
        ),
        (
            "[[sweep]]\nname = \"s\"\nmove = []\nvalues = [1]\nalong = [1, 0, 0]",
            "expected at least one name for move, found none",
        ),
        (
            "[[sweep]]\nname = \"s\"\nmove = \"sphere\"\nvalues = [1]\nalong = [1, 0, 0]\n[[sweep]]\nname = \"s\"\nmove = \"sphere\"\nvalues = [1]\nalong = [1, 0, 0]",
            "two sweeps are called \"s\"",
        ),
        (
            "[external]\nfield = [0, 0, 1]\n[[probe]]\nname = \"p\"\nlow = [0, 0, 0]\nhigh = [1, 1, 1]\ncounts = [1, 2, 2]",
            "one point along x needs low and high to be the same",
        ),
        (
            "[external]\nfield = [0, 0, 1]\n[[probe]]\nname = \"p\"\nfile = \"empty.txt\"",
            "empty.txt: the file has no points",
        ),
        (
            "[external]\nfield = [0, 0, 1]\n[[dielectric]]\nname = \"d\"\ngroup = \"sphere\"\nrelative_permittivity = 2\n[[dielectric]]\nname = \"d\"\ngroup = \"sphere\"\nrelative_permittivity = 2",
            "two dielectrics are called \"d\"",
        ),
        (
            "[external]\nfield = [0, 0, 1]\n[[dielectric]]\nname = \"surroundings\"\ngroup = \"sphere\"\nrelative_permittivity = 2",
            "\"surroundings\" is the name of [medium]",
        ),
        ("[external]\nfield = [0, 1]", "expected three numbers [x, y, z] for field, found 2"),
        (
            "[external]\nfield = [0, 0, 1]\n[[probe]]\nname = \"p\"\nlow = [0, 0, 0]\nhigh = [1, 1, 1]\ncounts = [1, 2]",
            "expected 3 numbers for counts, found 2",
        ),
        (
            "[stack]\nbelow = \"ground\"\nabove = \"ground\"",
            "there is no layer between the grounds below and above",
        ),
        (
            "[stack]\nbelow = 4\nat = -2\n[[plane]]\naxis = \"z\"\nat = -3\nkind = \"ground\"",
            "a plane lies along the layers, which are not mirrored in it",
        ),
        (
            "[stack]\nbelow = 4\nat = -2\n[external]\nfield = [0, 0, 1]",
            "an external field cannot be given together with layers",
        ),
        (
            "[stack]\nbelow = \"ground\"\nat = -3\n[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\npotential = 1\n[[probe]]\nname = \"p\"\nfile = \"deep.txt\"",
            "a probe at -9 is in the ground of the layers",
        ),
        (
            "[stack]\nbelow = 4\nat = -2\n[[film]]\nname = \"a\"\non = \"sphere\"\nthickness = 1e-3\nrelative_permittivity = 4\nlayer = 9",
            "there is no layer 9; layers are counted from 0, what is below all, to 1",
        ),
        (
            "[stack]\nbelow = 4\nat = -2\n[[film]]\nname = \"a\"\ninterface = 0\nthickness = 1e-3\nrelative_permittivity = 4",
            "the fields next to interface 0 are not known",
        ),
        (
            "[[surface]]\ngroup = \"sphere\"\nfront = 1\nback = 4\n[external]\nfield = [0, 0, 1]\n[[sensitivity]]\nname = \"s\"\npermittivity = \"x\"",
            "media by surfaces have no names that a permittivity could be changed by",
        ),
        (
            "[[plane]]\naxis = \"z\"\nat = -1.0\nkind = \"ground\"",
            "a conductor touches the ground plane z = -1, which is at 0 V: triangle",
        ),
        (
            "[medium]\nkappa = 1\n[solver]\naccuracy = 1e-2\n[[dielectric]]\nname = \"d\"\ngroup = \"sphere\"\nrelative_permittivity = 2\n[[charge]]\nposition = [0, 0, 0]\ncharge = 1\nunit = \"e\"",
            "with ions (kappa, ionic_strength) an accuracy needs surfaces that are made of atoms",
        ),
        ("[solver]\naccuracy = 1e-2\naccuracy_of = \"probe(p)\"", "there is no probe p"),
        (
            "[solver]\naccuracy = 1e-2\naccuracy_of = \"polarisability\"",
            "no polarisability with bars is computed: it needs output.polarisability = true",
        ),
        (
            "[solver]\naccuracy = 1e-2\naccuracy_of = \"height\"",
            "accuracy_of must be all, energy, polarisability, films, an entry such as C(left, right)",
        ),
    ] {
        place.case("wrong.toml", "sphere.msh", body);
        told(part);
    }
    for (body, part) in [
        (
            "[[conductor]]\nname = \"m\"\ngroup = \"inner\"\n[[dielectric]]\nname = \"d\"\ngroup = \"outer\"\nrelative_permittivity = 1\n[[sensitivity]]\nname = \"s\"\npermittivity = \"d\"",
            "on both sides of a part of the surface of \"d\" the permittivity is the same",
        ),
        (
            "[stack]\nbelow = 4\nat = -3\n[[conductor]]\nname = \"m\"\ngroup = \"inner\"\n[[dielectric]]\nname = \"d\"\ngroup = \"outer\"\nrelative_permittivity = 2\n[[sensitivity]]\nname = \"s\"\nlayer = 1",
            "layer 1 surrounds dielectrics: its permittivity cannot be changed",
        ),
    ] {
        place.case("wrong.toml", "shells.msh", body);
        told(part);
    }
    for (body, part) in [
        (
            "[mesh]\nsmooth = 20\n[[molecule]]\npqr = \"ball.pqr\"",
            "smooth is of a mesh's file, and [mesh] names none",
        ),
        (
            "[[molecule]]\npqr = \"ball.pqr\"\nname = \"surroundings\"",
            "\"surroundings\" is not a name that a molecule may have",
        ),
        (
            "[[molecule]]\npqr = \"ball.pqr\"\n[[probe]]\nname = \"potential\"\nfile = \"deep.txt\"\n[output]\ndx = 1",
            "\"potential\" is the name of the probe that `dx` and `viewers` add",
        ),
        (
            "[[molecule]]\npqr = \"ball.pqr\"\n[output]\ndx = 0.01",
            "a map with a spacing of 0.01 angstrom around all atoms has more than 1e8 points",
        ),
        (
            "[[molecule]]\npqr = \"ball.pqr\"\nname = \"a\"\n[[molecule]]\npqr = \"ball.pqr\"\nname = \"b\"",
            "overlap: the surfaces go through each other",
        ),
    ] {
        place.write("wrong.toml", format!("format = 1\n{body}\n"));
        told(part);
    }
}

#[test]
fn texts_that_are_no_cases_are_reported_by_what_they_are() {
    let place = Workplace::new("case_kinds");
    for (name, text, part) in [
        ("x.obj", "", "it looks like a mesh of a format that is not read"),
        ("x.cif", "", "it has a molecule's atoms without charges"),
        ("x.oas", "", "it is an OASIS layout, which is not read"),
        ("f1", "ply\n", "it is a PLY mesh"),
        ("f3", "OFF\n", "it is an OFF mesh"),
        ("f4", "solid x", "it is an STL mesh"),
        ("f5", "{\"a\": 1}", "it is a JSON file"),
    ] {
        place.write(name, text);
        place.farad(&format!("solve {name}")).fails(3, &[part]);
    }
    place.write("long", "#".repeat(5 << 20));
    place.farad("solve long").fails(3, &["long is no case file: it is longer than 4 MiB"]);
    place.write("bytes", b"a = 1\n\xff\n");
    place.farad("solve bytes").fails(3, &["line 2 is not UTF-8 text"]);
    place.case("one.toml", "none.msh", "");
    place.farad("solve one.toml").fails(3, &["one.toml: 1 error in the case file"]);
    // A case that is made of a file must be able to name it.
    place.write("two\nlines.pqr", "ATOM 1 C MET 1 0 0 0 1.0 2.0\n");
    let mut command = place.command("solve --dry-run");
    let ended = Ended::from(command.arg("two\nlines.pqr").output().unwrap());
    let part = "a case file cannot name \"two\\nlines.pqr\": it has a line break or another control character";
    ended.fails(3, &[part]);
    place.generate("sphere --elements 72 --order 2", "curved.msh");
    place.case("curved.toml", "curved.msh", "smooth = 60");
    let ended = place.must("solve curved.toml --dry-run");
    let note = "curved.msh: its triangles are curved, [mesh] smooth has no effect";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}
