//! `farad mesh info`, `check` and `generate`.

use crate::support::{Workplace, maxwell};

#[test]
fn info_describes_a_closed_sphere() {
    let place = Workplace::small("mesh_info");
    let text = place.must("mesh info sphere.msh").stdout;
    for part in [
        "MSH 4.1, ASCII",
        "72 triangles, 38 vertices",
        "bounding box  (-1.00000, -1.00000, -1.00000) to (1.00000, 1.00000, 1.00000)",
        "closed",
        "outward",
        "smallest angle",
        "Non-manifold edges 0, duplicate triangles 0, triangles of zero area 0",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
    assert!(place.must("mesh check sphere.msh").stdout.contains("OK"));
}

#[test]
fn every_shape_is_generated_in_both_encodings_and_passes() {
    let place = Workplace::new("mesh_generate");
    for shape in [
        "sphere --radius 2 --base icosahedron --elements 80",
        "cube --edge 3 --grade 5 --elements 200",
        "plate --width 2 --height 1 --size 0.25",
        "disk --radius 0.5 --elements 96",
        "torus --ring-radius 2 --tube-radius 0.5 --elements 200",
        "two-spheres --radius 1 --distance 3 --elements 144",
        "concentric-spheres --inner-radius 1 --outer-radius 2 --elements 144",
        "bus --bars 2 --elements 400",
        "molecule --atoms 30 --elements 500",
    ] {
        place.generate(&format!("{shape} --overwrite"), "ascii.msh");
        place.generate(&format!("{shape} --binary --overwrite"), "binary.msh");
        let check = |file| {
            let text = place.must(&format!("mesh check {file}")).stdout;
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(check("ascii.msh"), check("binary.msh"), "{shape}");
    }
}

#[test]
fn numbers_of_triangles_may_have_an_exponent() {
    let place = Workplace::new("mesh_exponents");
    place.generate("sphere --elements 1.28e2", "sphere.msh");
    assert!(place.must("mesh info sphere.msh").stdout.contains("128 triangles"));
    // The closest number is used, here one that is more.
    place.generate("sphere --elements 500", "sphere512.msh");
    assert!(place.must("mesh info sphere512.msh").stdout.contains("512 triangles"));
    place.generate("bus --bars 2e0 --elements 4e2", "bus.msh");
    place.generate("molecule --atoms 3e1 --elements 8e1", "molecule.msh");
    place.must("mesh repair sphere.msh --largest-hole 1e1 -o whole.msh");
    place
        .farad("mesh generate sphere --elements 1.5 -o half.msh")
        .fails(2, &["must be a whole number, such as 1000 or 1e6"]);
}

#[test]
fn generate_does_not_overwrite_unasked() {
    let place = Workplace::small("mesh_overwrite");
    let ended = place.farad("mesh generate sphere --elements 8 -o sphere.msh");
    ended.fails(6, &["sphere.msh exists already", "--overwrite"]);
    assert!(place.must("mesh info sphere.msh").stdout.contains("72 triangles"));
}

#[test]
fn shapes_that_cannot_be_made_are_usage_errors() {
    let place = Workplace::new("mesh_impossible");
    let ended = place.farad("mesh generate two-spheres --distance 1.5 --elements 144 -o two.msh");
    ended.fails(2, &["distance", "2"]);
    assert!(!place.path("two.msh").exists());
}

#[test]
fn fewest_triangles_far_beyond_those_asked_for_are_refused_with_their_number() {
    let place = Workplace::new("mesh_fewest");
    let ended = place.farad("mesh generate bus --bars 3 --width 1e-5 --elements 3 -o bus.msh");
    ended.fails(
        2,
        &["3 triangles are requested", "the fewest that this shape can have are 19200168"],
    );
    assert!(!place.path("bus.msh").exists());
    // A few more than asked for are no surprise.
    place.generate("cube --elements 3", "cube.msh");
}

#[test]
fn names_of_other_formats_than_what_is_written_are_refused() {
    let place = Workplace::small("mesh_endings");
    for arguments in [
        "mesh generate molecule --atoms 5 --elements 80 -o m.pqr",
        "mesh generate sphere --elements 8 -o m",
        "mesh convert sphere.msh -o x.stl",
        "mesh refine sphere.msh -o x.vtu --overwrite",
    ] {
        place.farad(arguments).fails(2, &["does not end in .msh"]);
    }
    assert_eq!(place.list(""), ["sphere.msh", "sphere.toml"]);
}

/// `check` writes one file, that of the defects, and overwrites nothing without leave.
#[test]
fn check_writes_over_nothing_unasked_and_never_over_the_mesh() {
    let place = Workplace::new("mesh_check_output");
    place.write("bad.msh", DEFECTIVE);
    place.write("other.vtu", "mine");
    place.write("bad.defects.vtu", "mine too");
    for more in ["-o bad.msh", "-o ./bad.msh --overwrite"] {
        place.farad(&format!("mesh check bad.msh {more}")).fails(2, &["is the mesh itself"]);
    }
    place.farad("mesh check bad.msh -o other.vtu").fails(6, &["other.vtu exists already"]);
    // The verdict is what matters, whether the file can be written or not.
    let parts = ["1 triangle of zero area", "bad.defects.vtu exists already"];
    place.farad("mesh check bad.msh").fails(3, &parts);
    assert_eq!(place.read("bad.msh"), DEFECTIVE);
    assert_eq!(
        (place.read("other.vtu").as_str(), place.read("bad.defects.vtu").as_str()),
        ("mine", "mine too")
    );
    place
        .farad("mesh check bad.msh -o other.vtu --overwrite")
        .fails(3, &["the triangles are in other.vtu"]);
    assert!(place.read("other.vtu").contains("VTKFile"));
}

/// The first signal ends them, with the code of `solve`, and what they would have written is not
/// there.
#[cfg(unix)]
#[test]
fn a_signal_ends_mesh_commands_with_nothing_written() {
    let place = Workplace::new("mesh_signal");
    place.generate("sphere --elements 20000", "fine.msh");
    for (arguments, signal) in [
        ("mesh generate molecule --atoms 20000 --elements 200000 -o m.msh", "-INT"),
        ("mesh generate molecule --atoms 20000 --elements 200000 -o m.msh", "-TERM"),
        ("mesh refine fine.msh --times 5 -o m.msh", "-TERM"),
    ] {
        // Background jobs of shells have it, and what they start.
        if crate::support::is_ignored(signal) {
            println!("{signal} is ignored where this test was started: not tried");
            continue;
        }
        let mut command = place.command(arguments);
        let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        // Long enough for it to begin; it has seconds to go.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success()
        );
        let ended = crate::support::Ended::from(child.wait_with_output().unwrap());
        ended.fails(7, &["interrupted"]);
        assert_eq!(place.list(""), ["fine.msh"], "{arguments}");
    }
}

#[test]
fn info_is_there_as_json() {
    let place = Workplace::small("mesh_info_json");
    let found: serde_json::Value =
        serde_json::from_str(&place.must("mesh info sphere.msh --json").stdout).unwrap();
    assert_eq!(found["schema"], "farad-mesh/1");
    assert_eq!((&found["triangles"], &found["vertices"]), (&72.into(), &38.into()));
    let [group] = found["groups"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(
        (&group["name"], &group["closed"], &group["normals"]),
        (&"sphere".into(), &true.into(), &"outward".into())
    );
    assert_eq!(found["components"][0]["triangles"], 72);
    assert_eq!(found["bounding_box"][1], serde_json::json!([1.0, 1.0, 1.0]));
    assert_eq!(found["defects"]["duplicate_triangles"], 0);
    assert_eq!(found["warnings"], serde_json::json!([]));
}

/// As some programs write them: every facet with three vertices of its own. One body by `check`,
/// `info` and `solve` alike.
#[test]
fn facets_that_share_no_vertices_are_one_body() {
    let place = Workplace::small("mesh_soup");
    let facets = |keep: f64| {
        let mut text = "OFF\n24 8 0\n".to_owned();
        let corners = [
            [0, 2, 4],
            [2, 1, 4],
            [1, 3, 4],
            [3, 0, 4],
            [2, 0, 5],
            [1, 2, 5],
            [3, 1, 5],
            [0, 3, 5],
        ];
        let vertex = |v: usize| {
            let mut x = [0.0; 3];
            x[v / 2] = if v.is_multiple_of(2) { 1.0 } else { -1.0 };
            x
        };
        for face in corners {
            let points = face.map(vertex);
            let centre: [f64; 3] =
                std::array::from_fn(|k| points.iter().map(|p| p[k]).sum::<f64>() / 3.0);
            for p in points {
                let [x, y, z]: [f64; 3] =
                    std::array::from_fn(|k| centre[k] + keep * (p[k] - centre[k]));
                text += &format!("{x} {y} {z}\n");
            }
        }
        (0..8).for_each(|t| text += &format!("3 {} {} {}\n", 3 * t, 3 * t + 1, 3 * t + 2));
        text
    };
    place.write("soup.off", facets(1.0));
    place.case("soup.toml", "soup.off", "");
    let check = place.must("mesh check soup.off").stdout;
    assert!(check.contains("24 edges of the surface were open") && check.contains("OK"), "{check}");
    assert!(!check.contains("warning"), "{check}");
    assert_eq!(
        place.solve("soup.toml")["capacitance"]["conductors"],
        serde_json::json!(["body_1"])
    );
    // Facets that do not meet are refused by both, with the reason, unless the case says that they
    // are one conductor.
    place.write("loose.off", facets(0.99));
    place.case("loose.toml", "loose.off", "");
    let reason = "8 of the 8 bodies are single triangles";
    let loose = format!("the mesh cannot be solved on: {reason}");
    place.farad("mesh check loose.off").fails(3, &[&loose]);
    place.farad("solve loose.toml").fails(3, &[reason]);
    place.case("one.toml", "loose.off", "[[conductor]]\nname = \"all\"\ngroup = \"ungrouped\"");
    assert_eq!(place.solve("one.toml")["capacitance"]["conductors"], serde_json::json!(["all"]));
}

/// Between conductors that touch along a line there is no capacitance, whether they share vertices
/// or not.
#[test]
fn conductors_that_touch_are_an_error_along_a_line_and_a_note_at_a_point() {
    let place = Workplace::new("mesh_contact");
    let asked = |name: &str, shift: [f64; 3], more: &str, options: &str| {
        let mut text = "OFF\n16 24 0\n".to_owned();
        for origin in [[0.0; 3], shift] {
            for corner in 0..8 {
                let [x, y, z]: [f64; 3] =
                    std::array::from_fn(|k| origin[k] + f64::from(u8::from(corner >> k & 1 == 1)));
                text += &format!("{x} {y} {z}\n");
            }
        }
        let faces =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        for first in [0, 8] {
            for [a, b, c, d] in faces.map(|face| face.map(|v| v + first)) {
                text += &format!("3 {a} {b} {c}\n3 {a} {c} {d}\n");
            }
        }
        place.write(&format!("{name}.off"), text);
        place.case(&format!("{name}.toml"), &format!("{name}.off"), more);
        place.farad(&format!("solve {name}.toml{options}"))
    };
    let solved = |name: &str, shift: [f64; 3], more: &str| asked(name, shift, more, "");
    let parts = [
        "\"body_1\"",
        "\"body_2\"",
        "touch along a line or an area, at (1, 1, ",
        "grows with refinement",
    ];
    solved("edge", [1.0, 1.0, 0.0], "").fails(3, &parts);
    // Without a case `check` says in which it can be solved on, and no more.
    let is_reported = |name: &str, parts: &[&str]| {
        let check = place.must(&format!("mesh check {name}.off")).stdout;
        let last = "The mesh can be solved on only in a case in which";
        assert!(check.trim_end().lines().next_back().unwrap().starts_with(last), "{check}");
        assert!(!check.contains("OK:") && parts.iter().all(|part| check.contains(part)), "{check}");
    };
    let touch = "\"body_1\" and \"body_2\" touch along a line or an area, at (";
    is_reported("edge", &[touch, "not of two conductors", "group = \"ungrouped\" makes them one"]);
    // Hanging: no vertices in common.
    solved("hanging", [1.0, 1.0, 0.25], "").fails(3, &parts);
    is_reported("hanging", &[touch]);
    // Faces that lie on each other.
    let covers = "cover each other in a plane";
    solved("faces", [0.25, 0.25, 1.0], "").fails(3, &["conductors go through each other"]);
    is_reported("faces", &[touch, covers, "Of different surfaces:", "of one conductor"]);
    assert!(place.path("faces.defects.vtu").exists());
    let one = "[[conductor]]\nname = \"both\"\ngroup = \"ungrouped\"";
    assert_eq!(solved("joined", [1.0, 1.0, 0.25], one).code, 0);
    let corner = solved("corner", [1.0, 1.0, 1.0], "");
    assert!(corner.stderr.contains("touch at a point, at (1, 1, 1) m"), "{}", corner.stderr);
    assert_eq!(corner.code, 0);
    assert!(place.must("mesh check corner.off").stdout.contains("OK: the mesh can be solved on."));
    // Its solve would take long: many triangles are next to each other.
    let apart = asked("apart", [1.0, 1.000001, 0.25], "", " --dry-run");
    assert!(apart.code == 0 && !apart.stderr.contains("touch"), "{}", apart.stderr);
}

/// A tetrahedron with one face twice, and a triangle without area.
const DEFECTIVE: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n\
    5 0.5 0 0\n$EndNodes\n$Elements\n6\n1 2 2 1 1 1 3 2\n2 2 2 1 1 1 2 4\n3 2 2 1 1 2 3 4\n4 2 2 1 1 1 4 3\n\
    5 2 2 1 1 2 4 3\n6 2 2 1 1 1 5 2\n$EndElements\n";

#[test]
fn defects_load_fail_check_and_stop_solve() {
    let place = Workplace::new("mesh_defects");
    place.write("bad.msh", DEFECTIVE);
    let info = place.must("mesh info bad.msh").stdout;
    assert!(info.contains("duplicate triangles 1, triangles of zero area 1"), "{info}");

    let defects = ["1 triangle of zero area", "1 triangle with the corners of another one"];
    let ended = place.farad("mesh check bad.msh");
    ended.fails(3, &[defects[0], defects[1], "bad.defects.vtu"]);
    assert!(
        place
            .read("bad.defects.vtu")
            .contains("defect (1 zero area, 2 duplicate, 3 intersecting, 4 folded)")
    );

    place.case("bad.toml", "bad.msh", "");
    let ended = place.farad("solve bad.toml");
    ended.fails(3, &[defects[0], defects[1], "farad mesh check"]);
    ended.fails(3, &["the mesh bad.msh cannot be solved on:\n"]);
    place.farad("mesh check bad.msh --overwrite").fails(3, &["the mesh cannot be solved on:\n"]);
    assert!(!place.path("bad.out").exists());
}

/// Of the eight faces of an octahedron one is missing, one there twice and one turned over.
const BROKEN: &str = "OFF\n7 8 0\n1 0 0\n-1 0 0\n0 1 0\n0 -1 0\n0 0 1\n0 0 -1\n9 9 9\n3 0 2 4\n3 2 1 4\n3 1 4 3\n\
    3 3 0 4\n3 3 0 4\n3 2 0 5\n3 1 2 5\n3 3 1 5\n";

#[test]
fn surfaces_are_repaired_with_a_list_of_what_was_done() {
    let place = Workplace::new("mesh_repair");
    place.write("broken.off", BROKEN);
    place.case("broken.toml", "broken.off", "");
    place.farad("solve broken.toml").fails(3, &["farad mesh repair broken.off"]);
    let said = place.must("mesh repair broken.off -o whole.msh").stdout;
    for part in [
        "left out 1 triangle that lay on another (at (0, -1, 0))",
        "turned 1 triangle over",
        "closed 1 hole",
        "8 triangles, 6 vertices",
        "OK: the surface is closed",
    ] {
        assert!(said.contains(part), "no \"{part}\" in\n{said}");
    }
    place.case("whole.toml", "whole.msh", "");
    place.must("solve whole.toml");
    let again = place.must("mesh repair whole.msh -o again.msh").stdout;
    assert!(again.contains("nothing had to be repaired"), "{again}");
    place.farad("mesh repair broken.off -o whole.msh").fails(6, &["exists already"]);
    place.farad("mesh repair broken.off -o x.msh --tolerance 2").fails(2, &["between 0 and 0.5"]);

    place.must("mesh generate plate --elements 400 -o plate.msh");
    let open = ["plate.msh could not be repaired, nothing is written", "the surface is open at"];
    place.farad("mesh repair plate.msh -o no.msh").fails(3, &open);
    assert!(!place.path("no.msh").exists());
}

/// Two triangles of order 2, of which one folds: the middle of a side is beyond its corner.
const FOLDED: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n9\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n\
    5 0.5 2 0\n6 0.5 0.5 0\n7 0 0.5 0\n8 1 0.5 0\n9 0.5 1 0\n$EndNodes\n$Elements\n2\n1 9 2 1 1 1 2 3 5 6 7\n\
    2 9 2 1 1 2 4 3 8 9 6\n$EndElements\n";

#[test]
fn curved_triangles_are_made_described_refined_and_checked() {
    let place = Workplace::new("mesh_curved");
    place.must("mesh generate sphere --order 3 --elements 72 -o sphere.msh");
    let info = place.must("mesh info sphere.msh").stdout;
    assert!(info.contains("72 x 10-node triangle") && info.contains("of order 3"), "{info}");
    // 4 pi is 12.566.
    assert!(info.contains("area 12.57"), "{info}");
    assert!(place.must("mesh check sphere.msh").stdout.contains("OK: the mesh can be solved on."));
    place.must("mesh refine sphere.msh --binary -o fine.msh");
    let info = place.must("mesh info fine.msh").stdout;
    assert!(info.contains("288 x 10-node triangle") && info.contains("area 12.57"), "{info}");
    for shape in ["torus", "ellipsoid --semi-axes 1 2 3", "cylinder", "disk", "two-spheres"] {
        place.must(&format!(
            "mesh generate {shape} --order 2 --elements 200 -o shape.msh --overwrite"
        ));
        assert!(place.must("mesh info shape.msh").stdout.contains("of order 2"), "{shape}");
    }
    let cube = place.must("mesh generate cube --order 2 --elements 12 -o cube.msh");
    assert!(cube.stderr.contains("no effect"), "{}", cube.stderr);
    place
        .farad("mesh generate sphere --order 2 --equal-volume --elements 72 -o no.msh")
        .fails(2, &["--equal-volume is for flat triangles"]);

    place.write("folded.msh", FOLDED);
    place.case("folded.toml", "folded.msh", "");
    let told = "1 curved triangle folds over (first: triangle 0, at (";
    place.farad("mesh check folded.msh").fails(3, &[told, "folded.defects.vtu"]);
    place.farad("solve folded.toml").fails(3, &[told, "farad mesh check"]);
}

#[test]
fn other_formats_are_solved_on_converted_and_refused_with_line_and_reason() {
    let place = Workplace::new("mesh_formats");
    let octahedron = "OFF\n6 8 12\n1 0 0\n-1 0 0\n0 1 0\n0 -1 0\n0 0 1\n0 0 -1\n3 0 2 4\n3 2 1 4\n3 1 3 4\n3 3 0 4\n\
                      3 2 0 5\n3 1 2 5\n3 3 1 5\n3 0 3 5\n";
    place.write("octahedron.off", octahedron);
    place.must("mesh convert octahedron.off -o octahedron.msh");
    place.case("off.toml", "octahedron.off", "");
    place.case("msh.toml", "octahedron.msh", "");
    let (off, msh) = (place.solve("off.toml"), place.solve("msh.toml"));
    assert_eq!(maxwell(&off), maxwell(&msh));
    assert_eq!(off["capacitance"]["conductors"], serde_json::json!(["body_1"]));
    assert!(
        place.must("mesh info octahedron.off").stdout.starts_with("octahedron.off: OFF, ASCII\n")
    );

    // Several surfaces in one mesh: each a group under its file's name, or with its own groups.
    let other = octahedron
        .replace("1 0 0\n-1 0 0", "4 0 0\n2 0 0")
        .replace("0 1 0\n0 -1 0\n0 0 1\n0 0 -1", "3 1 0\n3 -1 0\n3 0 1\n3 0 -1");
    place.write("other.off", other);
    place.must("mesh convert octahedron.off other.off -o two.msh");
    let three = place.must("mesh convert two.msh octahedron.off -o three.msh").stdout;
    assert!(three.contains("groups octahedron, other, octahedron_2"), "{three}");
    place.case("two.toml", "two.msh", "");
    let two = place.solve("two.toml");
    assert_eq!(two["capacitance"]["conductors"], serde_json::json!(["octahedron", "other"]));
    let matrix = maxwell(&two);
    // Mirror images of each other, to the solver's tolerance.
    assert!((matrix[0][0] / matrix[1][1] - 1.0).abs() < 1e-6 && matrix[0][1] < -0.1, "{matrix:?}");

    place.farad("mesh convert octahedron.off -o octahedron.msh").fails(6, &["exists already"]);
    place.write("bad.off", octahedron.replace("3 0 2 4", "3 0 2 9"));
    place.case("bad.toml", "bad.off", "");
    let message = "bad.off: line 9: there is no vertex 9: the 6 vertices are numbered from 0";
    place.farad("solve bad.toml").fails(3, &[message]);
    place.write("a.step", "ISO-10303-21;");
    place.farad("mesh info a.step").fails(3, &["\".step\" is none that is known", ".ply"]);
}

#[test]
fn conductors_that_go_through_each_other_are_an_error_and_parts_of_one_are_not() {
    let place = Workplace::new("mesh_crossing");
    // Two octahedra whose centres are closer than their corners reach.
    let mut text = "OFF\n12 16 24\n".to_owned();
    for shift in [0.0, 1.1] {
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let mut corner = [shift, 0.03 * shift, 0.0];
                corner[axis] += sign;
                text += &format!("{} {} {}\n", corner[0], corner[1], corner[2]);
            }
        }
    }
    let faces =
        [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    for first in [0, 6] {
        for [a, b, c] in faces {
            text += &format!("3 {} {} {}\n", a + first, b + first, c + first);
        }
    }
    place.write("two.off", text);
    place.case("two.toml", "two.off", "");
    let parts =
        ["conductors go through each other", "\"body_1\"", "\"body_2\"", "farad mesh check"];
    place.farad("solve two.toml").fails(3, &parts);
    let text = place.must("mesh check two.off").stdout;
    for part in [
        "Surfaces go through each other (",
        "Of different surfaces: ",
        "of \"body_1\" and triangle ",
        "They are in two.defects.vtu.\nThe mesh can be solved on only in a case in which surfaces that meet so are of one conductor \
         (group = \"ungrouped\")",
    ] {
        assert!(text.contains(part), "no \"{part}\" in {text}");
    }
    assert!(place.path("two.defects.vtu").exists());
    // What the verdict asks for.
    place.case("one.toml", "two.off", "[[conductor]]\nname = \"both\"\ngroup = \"ungrouped\"");
    place.must("solve one.toml");
}

#[test]
fn refining_keeps_groups_and_spheres() {
    let place = Workplace::small("mesh_refine");
    place.must("mesh refine sphere.msh --times 2 --spheres -o fine.msh");
    let text = place.must("mesh info fine.msh").stdout;
    assert!(text.contains("1,152 triangles") && text.contains("sphere"), "{text}");
    place
        .farad("mesh refine sphere.msh --times 16 -o huge.msh")
        .fails(3, &["more than 32-bit indices"]);
}

/// One group of two bodies, as a wrong group makes it; two groups that a case joins are no news.
#[test]
fn a_group_of_separate_pieces_is_noted() {
    let place = Workplace::new("mesh_pieces");
    let mesh = |second: usize| {
        let corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
        let faces = [[1, 3, 2], [1, 2, 4], [2, 3, 4], [3, 1, 4]];
        let mut text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"left\"\n\
                        2 2 \"right\"\n$EndPhysicalNames\n$Nodes\n8\n"
            .to_owned();
        for (n, shift) in [0, 5].into_iter().enumerate() {
            for (k, [x, y, z]) in corners.iter().enumerate() {
                text += &format!("{} {} {y} {z}\n", 4 * n + k + 1, x + shift);
            }
        }
        text += "$EndNodes\n$Elements\n8\n";
        for (n, group) in [1, second].into_iter().enumerate() {
            for (k, face) in faces.iter().enumerate() {
                let [a, b, c] = face.map(|v| v + 4 * n);
                text += &format!("{} 2 2 {group} {group} {a} {b} {c}\n", 4 * n + k + 1);
            }
        }
        text + "$EndElements\n"
    };
    place.write("one.msh", mesh(1));
    place.write("two.msh", mesh(2));
    let note = "note: \"left\" is 2 separate pieces";
    for command in ["info", "check"] {
        let told = place.must(&format!("mesh {command} one.msh")).stdout;
        assert!(told.contains(note), "{told}");
        assert!(!place.must(&format!("mesh {command} two.msh")).stdout.contains("pieces"));
    }
    place.case("one.toml", "one.msh", "");
    let told = place.must("solve one.toml").stderr;
    assert!(told.contains("\"left\" is 2 separate pieces"), "{told}");
    let both = "[[conductor]]\nname = \"both\"\ngroup = [\"left\", \"right\"]";
    place.case("two.toml", "two.msh", both);
    assert!(!place.must("solve two.toml").stderr.contains("pieces"));
}
