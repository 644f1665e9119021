//! FastCap's list files: solved as they are, imported, and refused with line and reason.

use std::fmt::Write as _;

use crate::support::{Workplace, matrix, maxwell};

/// Where FastCap's bus generator puts the lines between panels on a unit: narrow panels at the
/// edges.
const UNIT: [f64; 6] = [0.0, 0.08, 0.3, 0.7, 0.92, 1.0];

/// A bar from the origin in quadrilaterals, each unit of length divided alike.
fn bar(units: [usize; 3]) -> String {
    let mut text = "0 a bar\n".to_owned();
    let lines = |axis: usize| -> Vec<f64> {
        let unit = |k: usize| UNIT[..5].iter().map(move |t| k as f64 + t);
        (0..units[axis]).flat_map(unit).chain([units[axis] as f64]).collect()
    };
    for axis in 0..3 {
        let (u, v) = (lines((axis + 1) % 3), lines((axis + 2) % 3));
        for height in [0.0, units[axis] as f64] {
            for (s, t) in u.windows(2).flat_map(|s| v.windows(2).map(move |t| (s, t))) {
                text += "Q 1";
                for (a, b) in [(s[0], t[0]), (s[1], t[0]), (s[1], t[1]), (s[0], t[1])] {
                    let mut corner = [height; 3];
                    (corner[(axis + 1) % 3], corner[(axis + 2) % 3]) = (a, b);
                    write!(text, "  {} {} {}", corner[0], corner[1], corner[2]).unwrap();
                }
                text += "\n";
            }
        }
    }
    text
}

/// Two bars of 1 x 5 x 1 crossing two others, 1 apart.
const BUS: &str = "* 2x2 bus crossing, bars of 1 m\nC bar_y.qui 1.0 1 0 0\nC bar_y.qui 1.0 3 0 0\n\
                   C bar_x.qui 1.0 0 1 2\nC bar_x.qui 1.0 0 3 2\n";

fn bus(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.write("bus.lst", BUS);
    place.write("bar_y.qui", bar([1, 5, 1]));
    place.write("bar_x.qui", bar([5, 1, 1]));
    place
}

#[test]
fn the_published_bus_is_met_within_one_percent() {
    let place = bus("fastcap_bus");
    let results = place.solve("bus.lst --tolerance 1e-4");
    // FastCap User's Guide, 2 x 2 bus crossing with wires of 1 m: picofarads of the first row,
    // about 1 % accurate.
    let published = [248.2, -85.18, -48.61, -48.61];
    let row = &matrix(&results["capacitance"]["maxwell_farad"])[0];
    for (found, published) in row.iter().zip(published) {
        assert!((1e12 * found - published).abs() < 0.01 * 248.2, "{row:?}");
        assert!((1e12 * found / published - 1.0).abs() < 0.01, "{row:?}");
    }
    let names = serde_json::json!(["1%GROUP1", "1%GROUP2", "1%GROUP3", "1%GROUP4"]);
    assert_eq!(results["capacitance"]["conductors"], names);
    assert!(place.list(".").contains(&"bus.out".to_owned()));
}

#[test]
fn an_imported_list_gives_what_the_list_gives() {
    let place = Workplace::new("fastcap_import");
    place.write(
        "lists/pair.lst",
        "G left\nC cube.qui 2.5 0 0 0\nC cube.qui 2.5 3 0 0 +\nC cube.qui 2.5 6 0 0\n",
    );
    place.write("lists/cube.qui", bar([1, 1, 1]));
    let direct = place.solve("lists/pair.lst --tolerance 1e-4 --output direct");
    let text = place.must("import lists/pair.lst").stdout;
    assert!(text.contains("farad solve pair.toml"), "{text}");
    let imported = place.solve("pair.toml --tolerance 1e-4");
    assert_eq!(maxwell(&direct), maxwell(&imported));
    let names = serde_json::json!(["1%left", "1%GROUP2"]);
    assert_eq!(direct["capacitance"]["conductors"], names);
    assert_eq!(imported["capacitance"]["conductors"], names);
    // The resolved case of a list runs again.
    let again = place.solve("direct/case.resolved.toml");
    assert_eq!(maxwell(&again), maxwell(&direct));
    place.farad("import lists/pair.lst").fails(6, &["pair.toml exists already"]);
    place.farad("import pair.msh").fails(3, &["is not called .lst"]);
    assert!(place.must("mesh info lists/pair.lst").stdout.contains("FastCap, ASCII"));
}

/// Written next to each other in the current folder, and found again wherever the folder goes; a
/// TAB in a title is a blank.
#[test]
fn imported_cases_run_where_they_lie() {
    let place = Workplace::new("fastcap_import_here");
    place.write("a.qui", "0 a\ttitle\nT c 0 0 0  1 0 0  0 1 0\n");
    place.write("a.lst", "C a.qui 1 0 0 0\n");
    assert_eq!(place.solve("a.lst")["capacitance"]["conductors"], serde_json::json!(["c"]));
    place.must("import a.lst");
    let case = place.read("a.toml");
    assert!(case.contains("title = \"a title\"") && case.contains("file = \"a.msh\""), "{case}");
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    for file in ["a.toml", "a.msh"] {
        std::fs::rename(place.path(file), place.path(&format!("elsewhere/{file}"))).unwrap();
    }
    place.must("solve elsewhere/a.toml");
}

/// A sphere of 8 n^2 triangles, every other one facing inward: it is for the list to say which side
/// is which.
fn sphere(radius: f64, n: usize) -> String {
    let mut text = "0 a sphere\n".to_owned();
    for octant in 0..8 {
        let sign = |k: usize| if octant >> k & 1 == 1 { -radius } else { radius };
        let point = |i: usize, j: usize| {
            let x = [i as f64, j as f64, (n - i - j) as f64];
            let r = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            format!(" {} {} {}", sign(0) * x[0] / r, sign(1) * x[1] / r, sign(2) * x[2] / r)
        };
        for (i, j) in (0..n).flat_map(|i| (0..n - i).map(move |j| (i, j))) {
            writeln!(text, "T 1{}{}{}", point(i, j), point(i + 1, j), point(i, j + 1)).unwrap();
            if i + j + 1 < n {
                let last = point(i + 1, j + 1);
                writeln!(text, "T 1{}{}{last}", point(i, j + 1), point(i + 1, j)).unwrap();
            }
        }
    }
    text
}

/// 1/C = (1/a - 1/b)/eps_r + 1/b for a conductor of radius a under a coat out to radius b.
#[test]
fn coated_spheres_by_d_and_b_lines() {
    let place = Workplace::new("fastcap_coated");
    place.write("core.qui", sphere(1.0, 8));
    place.write("coat.qui", sphere(2.0, 8));
    // The reference point is inside, or outside of all panels' planes.
    let outside = "D coat.qui 1.0 4.0 0 0 0  90 90 90\n";
    let inside = "D coat.qui 1.0 4.0 0 0 0  0 0 0 -\n";
    for (name, coat) in [("in", inside), ("out", outside)] {
        place.write(&format!("{name}.lst"), format!("* coated\nC core.qui 4.0 0 0 0\n{coat}"));
    }
    // A reference point is beyond all planes only for surfaces that are seen whole from it.
    let exact: f64 = 1.0 / ((1.0 - 0.5) / 4.0 + 0.5);
    let results = place.solve("in.lst");
    let found = maxwell(&results)[0][0];
    // Facets of 512 triangles take 7.5e-3 of the radius.
    assert!((found / exact - 1.0).abs() < 1e-2, "{found} {exact}");
    assert_eq!(results["media"][1]["relative_permittivity"], 4.0);
    assert!(results["accuracy"]["gauss_defect"].as_f64().is_some());
    let imported = place.must("import in.lst").stdout;
    assert!(imported.contains("farad solve in.toml"), "{imported}");
    for again in ["in.toml", "in.out/case.resolved.toml --output again"] {
        assert_eq!(maxwell(&place.solve(again)), maxwell(&results), "{again}");
    }
    // Half of the panels would have the coat outside.
    place.farad("solve out.lst").fails(3, &["media contradict each other where triangle"]);

    // The coat under a conductor of no thickness, the same as the core by `+`, or another one.
    for (joined, expected) in [("", [[8.0, -8.0], [-8.0, 10.0]]), (" +", [[2.0, 0.0], [0.0, 0.0]])]
    {
        let list = format!("C core.qui 4.0 0 0 0{joined}\nB coat.qui 1.0 4.0 0 0 0  0 0 0 -\n");
        place.write("thin.lst", list);
        let found = maxwell(&place.solve("thin.lst --overwrite"));
        assert_eq!(found.len(), if joined.is_empty() { 2 } else { 1 });
        for (found, expected) in found.iter().zip(expected) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.15, "{found} {expected}");
            }
        }
    }
}

/// A sphere in a shell next to another sphere: the shell shields it. Meshed with both of its
/// surfaces the shell does so to the tolerance; as one sheet up to what facets leak, of third order
/// in their size.
#[test]
fn a_shell_shields_what_is_inside_of_it() {
    let place = Workplace::new("fastcap_nested");
    let mut leaks = Vec::new();
    for n in [3, 6] {
        place.write("inner.qui", sphere(1.0, n));
        place.write("shell.qui", sphere(2.0, 2 * n));
        place.write("cavity.qui", sphere(1.6, 2 * n));
        for hollow in [false, true] {
            let cavity = if hollow { "C cavity.qui 1.0 0 0 0 +\n" } else { "" };
            let shell = "C shell.qui 1.0 0 0 0\nC inner.qui 1.0 4 0 0\n";
            place.write("nested.lst", format!("C inner.qui 1.0 0 0 0\n{cavity}{shell}"));
            let c = maxwell(&place.solve("nested.lst --tolerance 1e-6 --overwrite"));
            let leak = c[0][2].abs().max((c[0][0] + c[0][1]).abs()) / c[0][0];
            if !hollow {
                leaks.push(leak);
            } else if n == 6 {
                assert!(leak < 1e-6, "{leak}");
            }
        }
    }
    let order = (leaks[0] / leaks[1]).log2();
    assert!((2.5..4.0).contains(&order) && leaks[1] < 5e-5, "{leaks:?}");
}

#[test]
fn metal_in_a_coat_must_name_the_coats_medium() {
    let place = Workplace::new("fastcap_within");
    place.write("core.qui", sphere(1.0, 4));
    place.write("coat.qui", sphere(2.0, 4));
    let list =
        |inside: f64| format!("C core.qui {inside} 0 0 0\nD coat.qui 1.0 4.0 0 0 0  0 0 0 -\n");
    place.write("good.lst", list(4.0));
    place.must("solve good.lst");
    place.write("bad.lst", list(1.0));
    place
        .farad("solve bad.lst")
        .fails(3, &["media contradict each other", "face each other", "interface 4|1"]);
}

/// An octahedron of metal, half of it sunk into a substrate whose face is a ring around it.
#[test]
fn media_around_an_edge_of_metal_and_an_interface_must_fit() {
    let place = Workplace::new("fastcap_sunk");
    let corners = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)];
    let half = |z: i32| {
        let side = |pair: &[(i32, i32)]| {
            let [(a, b), (c, d)] = [pair[0], pair[1]];
            format!("T 1 {a} {b} 0 {c} {d} 0 0 0 {z}\n")
        };
        "0 half\n".to_owned() + &corners.windows(2).map(side).collect::<String>()
    };
    let ring = |pair: &[(i32, i32)]| {
        let [(a, b), (c, d)] = [pair[0], pair[1]];
        format!("Q 1 {a} {b} 0 {} {} 0 {} {} 0 {c} {d} 0\n", 4 * a, 4 * b, 4 * c, 4 * d)
    };
    place.write("above.qui", half(1));
    place.write("below.qui", half(-1));
    place.write(
        "ring.qui",
        "0 ring\n".to_owned() + &corners.windows(2).map(ring).collect::<String>(),
    );
    let list = |above: f64, below: f64| {
        format!(
            "C above.qui {above} 0 0 0 +\nC below.qui {below} 0 0 0\nD ring.qui 1 3 0 0 0  0 0 9\n"
        )
    };
    place.write("sunk.lst", list(1.0, 3.0));
    assert_eq!(maxwell(&place.solve("sunk.lst")).len(), 1);
    for (name, above, below) in [("a.lst", 2.0, 3.0), ("b.lst", 1.0, 1.0), ("c.lst", 3.0, 1.0)] {
        place.write(name, list(above, below));
        place
            .farad(&format!("solve {name}"))
            .fails(3, &["media contradict each other where triangle", "interface 3|1"]);
    }
}

#[test]
fn lists_that_cannot_be_solved_say_why() {
    let place = bus("fastcap_errors");
    place.write("missing.lst", "* one\nC bar_y.qui 1.0 1 0 0\nC bar_z.qui 1.0 1 0 0\n");
    let parts = ["missing.lst: line 3: the file bar_z.qui does not exist"];
    place.farad("solve missing.lst").fails(3, &parts);
    place.write("coat.qui", sphere(1.0, 2));
    place.write("bare.lst", "D coat.qui 1 2 0 0 0 0 0 0 -\n");
    place.farad("solve bare.lst").fails(3, &["bare.lst cannot be solved: it has no conductor"]);
    place.farad("solve none.lst").fails(6, &["none.lst: cannot be read"]);
    place.write("bad.lst", "C bar_y.qui one 1 0 0\n");
    place
        .farad("import bad.lst")
        .fails(3, &["bad.lst: line 1: expected the relative permittivity"]);
}

/// A list is a case itself: `check` refuses what `solve` does.
#[test]
fn check_judges_lists_as_solve_does() {
    let place = Workplace::new("fastcap_check");
    let square = |name: &str, x: f64| {
        let y = x + 1.0;
        format!("0 square\nQ {name} {x} {x} 0 {y} {x} 0 {y} {y} 0 {x} {y} 0\n")
    };
    place.write("a.qui", square("a", 0.0));
    place.write("b.qui", square("b", 0.5));
    place.write("far.qui", square("b", 2.0));
    place.write("overlap.lst", "C a.qui 1 0 0 0\nC b.qui 1 0 0 0\n");
    place.write("touch.lst", "C a.qui 1 0 0 0\nC a.qui 1 1 0 0\n");
    place.write("one.lst", "C a.qui 1 0 0 0 +\nC a.qui 1 1 0 0\n");
    place.write("apart.lst", "C a.qui 1 0 0 0\nC far.qui 1 0 0 0\n");
    for (list, part) in [("overlap", "go through each other"), ("touch", "touch along a line")] {
        for command in ["mesh check", "solve"] {
            let ended = place.farad(&format!("{command} {list}.lst"));
            ended.fails(3, &[part]);
            assert!(!ended.stdout.contains("can be solved on"), "{}", ended.stdout);
        }
    }
    for list in ["one", "apart"] {
        let ended = place.must(&format!("mesh check {list}.lst"));
        assert!(ended.stdout.contains("OK: the mesh can be solved on."), "{}", ended.stdout);
        place.must(&format!("solve {list}.lst"));
    }
    // Of one quadrangle in the singular.
    let note = "1 quadrangle is split along its shorter diagonal";
    assert!(place.must("mesh info a.qui").stdout.contains(note));
}

/// Lists in micrometres, and lists with faults that are solved as they are.
#[test]
fn lists_have_a_unit_and_may_be_solved_leniently() {
    let place = Workplace::new("fastcap_lenient");
    place.write("cube.qui", bar([1, 1, 1]));
    place.write("one.lst", "C cube.qui 1 0 0 0\n");
    let metres = place.solve("one.lst");
    let micro = place.solve("one.lst --unit um --output um");
    let farad =
        |results: &serde_json::Value| matrix(&results["capacitance"]["maxwell_farad"])[0][0];
    assert!((1e6 * farad(&micro) / farad(&metres) - 1.0).abs() < 1e-12);
    place.farad("solve one.lst --unit inch").fails(2, &["must be one of m, cm, mm, um"]);
    place.must("import one.lst --unit um -o one.toml");
    assert!(place.read("one.toml").contains("unit = \"um\""));
    place.farad("solve one.toml --unit um").fails(2, &["--unit is for FastCap's files"]);
    place.write("mesh.msh", "$MeshFormat\n");
    place.farad("solve mesh.msh --unit um").fails(3, &["mesh.msh is no case file: it is a mesh"]);

    // Two bodies through each other: where they are, and what to do.
    place.write("two.lst", "C cube.qui 1 0 0 0\nC cube.qui 1 0.5 0.4 0.3\n");
    let parts = ["go through each other", "(line 2 of the list)", "with --lenient"];
    place.farad("solve two.lst").fails(3, &parts);
    let solved = place.solve("two.lst --lenient");
    // Most charge is where they touch, and the residual is sampled there too.
    let warnings = solved["warnings"].as_array().unwrap();
    let geometry = warnings.iter().find(|warning| warning["check"] == "geometry").unwrap();
    assert!(warnings.iter().all(|warning| warning["severity"] == "warning"), "{warnings:?}");
    assert!(geometry["message"].as_str().unwrap().contains("go through each other"));
    // The key of a case does the same, and is kept.
    place.must("import two.lst --lenient");
    let case = place.read("two.toml");
    assert!(case.contains("lenient = true"), "{case}");
    assert_eq!(maxwell(&place.solve("two.toml --output again")), maxwell(&solved));
    assert!(place.read("again/case.resolved.toml").contains("lenient = true"));
    place.write("strict.toml", case.replace("lenient = true", "lenient = false"));
    place
        .farad("solve strict.toml")
        .fails(3, &["go through each other", "lenient = true in [mesh]"]);
}

#[test]
fn lists_without_sense_are_reported_in_their_words() {
    let place = Workplace::new("fastcap_words");
    let square = "1 0 0 1 1 0 0 1 0";
    place.write("a.qui", format!("0 a\nQ a 0 0 0 {square}\n"));
    place.write("flat.qui", format!("0 a\nQ a 0 0 0 {square}\nT b 0 0 0 1 0 0 2 0 0\n"));
    place.write("same.lst", "D a.qui 2 2 0 0 0 9 9 9\n");
    let part = "all panels are interfaces with the same permittivity on both sides";
    place.farad("mesh info same.lst").fails(3, &[part]);
    place.farad("mesh info flat.qui").fails(3, &["no panel of conductor \"b\" has an area"]);
    let faces = "D a.qui 2 1 0 0 0 0 0 9\nD a.qui 3 1 0 0 0 0 0 9\nC a.qui 1 5 5 5\n";
    place.write("faces.lst", faces);
    let part = "lie on each other, but have different media, ";
    place.farad("solve faces.lst --dry-run").fails(3, &[part]);
    place.write("none.lst", "D a.qui 1 2 0 0 0 9 9 9.5\n");
    let text = place.must("mesh info none.lst").stdout;
    assert!(text.contains("there is no conductor in it"), "{text}");
}
