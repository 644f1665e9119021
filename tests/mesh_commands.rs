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
        place.read("bad.defects.vtu").contains("defect (1 zero area, 2 duplicate, 3 intersecting)")
    );

    place.case("bad.toml", "bad.msh", "");
    let ended = place.farad("solve bad.toml");
    ended.fails(3, &[defects[0], defects[1], "farad mesh check"]);
    assert!(!place.path("bad.out").exists());
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
    assert!(text.contains("Surfaces go through each other"), "{text}");
    assert!(place.path("two.defects.vtu").exists());
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
