//! FastCap's list files and panels.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::fastcap::{self, Model, Part, Role};
use mesh::topology::Orientation;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A fresh folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fastcap").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn read(name: &str, files: &[(&str, &str)]) -> Model {
    let model = fastcap::read(&folder(name, files).join(files[0].0)).unwrap();
    assert_eq!(model.mesh.validate(), Ok(()));
    model
}

#[track_caller]
fn refused(name: &str, files: &[(&str, &str)], parts: &[&str]) {
    let message = fastcap::read(&folder(name, files).join(files[0].0)).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "no \"{part}\" in {message}");
    }
}

/// The faces of the cube from 0 to 1, with windings as they come.
fn cube(conductor: &str) -> String {
    let mut text = "0 a cube\n* comment\n% another\n# and another\n".to_string();
    for axis in 0..3 {
        for side in [0.0, 1.0] {
            let corner = |u: f64, v: f64| {
                let mut corner = [side; 3];
                corner[(axis + 1) % 3] = u;
                corner[(axis + 2) % 3] = v;
                format!("{} {} {}", corner[0], corner[1], corner[2])
            };
            let corners = [corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
            writeln!(text, "Q {conductor} {}", corners.join("  ")).unwrap();
        }
    }
    text
}

#[test]
fn conductors_are_named_within_their_chain() {
    let cube = cube("1");
    let model = read(
        "chains",
        &[
            (
                "all.lst",
                "* two fingers of one conductor, another, and one of a group with a name\n\nC cube.qui 2.5 0 0 0 +\n\
                 C cube.qui 2.5 2 0 0\nc cube.qui 2.5 4.0D0 0 0\nG sense\nC cube.qui 2.5 6 0 0\nC ball.qui 2.5 0 5 0\n",
            ),
            ("cube.qui", &cube),
            ("ball.qui", "0 t\nT a 0 0 0 1 0 0 0 1 0\nT a 0 0 0 0 1 0 0 0 1\nN a b\nN b ball\n"),
        ],
    );
    assert_eq!(model.conductors, ["1%GROUP1", "1%GROUP2", "1%sense", "ball"]);
    assert_eq!(model.title.as_deref(), Some("a cube"));
    assert_eq!(model.panels, [2, 24]);
    assert_eq!(model.single_medium(), Some(2.5));
    let report = Report::of(&model.mesh).unwrap();
    let groups: Vec<(&str, usize)> =
        report.groups.iter().map(|group| (group.label.as_str(), group.part.triangles)).collect();
    assert_eq!(groups, [("1%GROUP1", 24), ("1%GROUP2", 12), ("1%sense", 12), ("ball", 2)]);
    // Shared corners are shared vertices, and the translations are there.
    assert!(report.groups[..3].iter().all(|group| group.part.closed));
    assert_eq!(report.quality.bounding_box, [[0.0; 3], [7.0, 6.0, 1.0]]);
}

#[test]
fn interfaces_face_their_outer_side() {
    let cube = cube("any");
    let list = "C cube.qui 3 10 0 0\nD cube.qui 1 4 0 0 0 0.5 0.4 0.3 -\n";
    let model = read("interfaces", &[("a.lst", list), ("cube.qui", &cube)]);
    assert_eq!(
        model.parts,
        [
            Part { group: "any".into(), role: Role::Conductor { conductor: 0, outer: 3.0 } },
            Part {
                group: "interface 4|1".into(),
                role: Role::Interface { outer: 1.0, inner: 4.0 }
            },
        ]
    );
    assert_eq!(model.single_medium(), None);
    let report = Report::of(&model.mesh).unwrap();
    // The reference point is inside, where the inner permittivity is.
    assert_eq!(report.groups[1].part.orientation(), Orientation::Outward);
    assert!((report.groups[1].part.signed_volume - 1.0).abs() < 1e-12);
    let turned = list.replace("0.3 -", "0.3");
    let model = read("turned", &[("a.lst", &turned), ("cube.qui", &cube)]);
    let report = Report::of(&model.mesh).unwrap();
    assert_eq!(report.groups[1].part.orientation(), Orientation::Inward);
}

#[test]
fn the_reference_point_is_not_translated_and_panels_may_have_their_own() {
    let square = "0 t\nQ x 0 0 0  1 0 0  1 1 0  0 1 0\nQ x 1 0 0  2 0 0  2 1 0  1 1 0  5 5 -9\n";
    let list = "D s.qui 2 1 0 0 3  0.5 0.5 4\n";
    let model = read("references", &[("a.lst", list), ("s.qui", square)]);
    let up: Vec<bool> = mesh::quality::normals(&model.mesh).iter().map(|n| n[2] > 0.0).collect();
    assert_eq!(up, [true, true, false, false]);
    assert_eq!(model.conductors.len(), 0);
    refused(
        "in_plane",
        &[("a.lst", "D s.qui 2 1 0 0 3  9 9 3\n"), ("s.qui", square)],
        &["s.qui: line 2", "[9.0, 9.0, 3.0]", "line 1 of", "lies in the plane"],
    );
}

#[test]
fn thin_conductors_on_interfaces_belong_to_a_chain() {
    let square = "0 t\nQ x 0 0 0  1 0 0  1 1 0  0 1 0\n";
    let list =
        "C s.qui 2 0 0 0 +\nB s.qui 2 1 2 0 0  2.5 0.5 -4 +-\nB s.qui 2 1 4 0 0  4.5 0.5 4\n";
    let model = read("thin", &[("a.lst", list), ("s.qui", square)]);
    assert_eq!(model.conductors, ["x"]);
    let labels: Vec<&str> = model.parts.iter().map(|part| part.group.as_str()).collect();
    assert_eq!(labels, ["x in 2", "x on 1|2"]);
    assert_eq!(model.parts[1].role, Role::ThinConductor { conductor: 0, outer: 2.0, inner: 1.0 });
    assert!(mesh::quality::normals(&model.mesh).iter().skip(2).all(|n| n[2] > 0.0));
}

#[test]
fn faults_name_file_and_line() {
    let panels = ("p.qui", "0 t\nT x 0 0 0  1 0 0  0 1 0\n");
    let list = |text| [("a.lst", text), panels];
    let cases = [
        ("", "line 1: the list names no surfaces"),
        (
            "* c\nC p.qui 1 0 0\n",
            "line 2: expected the translation, three numbers, found the end of the line",
        ),
        ("C p.qui one 0 0 0\n", "expected the relative permittivity outside, found \"one\""),
        ("C p.qui -1 0 0 0\n", "it must be greater than 0"),
        ("C p.qui 4-j3e6 0 0 0\n", "complex permittivities are not read"),
        ("C p.qui 1 0 0 0 -\n", "expected the end of the line or +, found \"-\""),
        ("D p.qui 1 2 0 0 0 0 0 1 +\n", "expected the end of the line or -"),
        ("D p.qui 1 2 0 0 0 0 0\n", "expected the reference point"),
        ("X p.qui\n", "line 1: expected a line that begins with C, D, B, G"),
        ("Q x 0 0 0\n", "a panel stands in the list"),
        ("File p.qui\n", "panels within the list are not read"),
        ("G\n", "expected the name of a group"),
        (
            "C none.qui 1 0 0 0\n",
            "none.qui does not exist; names in a list are relative to the folder of the list",
        ),
    ];
    for (index, (text, part)) in cases.into_iter().enumerate() {
        refused(&format!("fault_{index}"), &list(text), &["a.lst: line ", part]);
    }
    let panels = |text| [("a.qui", text)];
    let cases = [
        ("T x 0 0 0  1 0 0  0 1 0\n", "line 1: the first line is a title"),
        ("0 t\n", "no triangles"),
        (
            "0 t\nT x 0 0 0  1 0 0  0 1\n",
            "line 2: expected a coordinate, found the end of the line",
        ),
        (
            "0 t\nT x 0 0 0  1 0 0  0 1 0  4\n",
            "line 2: expected a reference point or the end of the line",
        ),
        ("0 t\nT x 0 0 0  1 0 0  0 1 0  4 4 4 4\n", "line 2: expected the end of the line"),
        ("0 t\nS x 0 0\n", "line 2: expected a line that begins with Q, T, N"),
        ("0 t\nC x.qui 1 0 0 0\n", "line 2: a line of a list stands among panels"),
        ("0 t\nN x\n", "line 2: expected its new name"),
    ];
    for (index, (text, part)) in cases.into_iter().enumerate() {
        refused(&format!("panels_{index}"), &panels(text), &["a.qui: ", part]);
    }
}

/// Two squares that touch nowhere, the second of two triangles that share an edge and with a name, in cards as PATRAN writes
/// them: columns without blanks where numbers are negative.
const NEUTRAL: &str = "25       0       0       1\nTwo squares\n\
26       0       0       1       8       3       0       0       0\n01-JAN-92   00:00:00         2.4\n \
1       1       0       2\n-0.100000000E+01-0.100000000E+01-0.100000000E+01\n1G       6       0       0  000000\n \
1       2       0       2\n 0.100000000E+01-0.100000000E+01-0.100000000E+01\n1G       6       0       0  000000\n \
1       3       0       2\n 0.100000000E+01 0.100000000E+01-0.100000000E+01\n1G       6       0       0  000000\n \
1       4       0       2\n-0.100000000E+01 0.100000000E+01-0.100000000E+01\n1G       6       0       0  000000\n \
1       5       0       2\n 0.0 0.0 1.0\n1G\n 1       6       0       2\n 1.0 0.0 1.0\n1G\n \
1       7       0       2\n 1.0 1.0 1.0\n1G\n 1       8       0       2\n 0.0 1.0 1.0\n1G\n \
2       1       4       2\n       4       0       1       0 0.0 0.0 0.0\n       1       2       3       4\n \
2       2       3       2\n       3       0       1       0 0.0 0.0 0.0\n       5       6       7\n \
2       3       3       2\n       3       0       1       0 0.0 0.0 0.0\n       5       7       8\n \
2       4       2       2\n       2       0       1       0 0.0 0.0 0.0\n       5       7\n\
21       1       2       2\nUPPER\n       7       3\n99       0       0       1\n";

#[test]
fn neutral_files_give_conductors_by_connection() {
    let model = read("neutral", &[("a.lst", "C n.neu 1 0 0 0\n"), ("n.neu", NEUTRAL)]);
    assert_eq!(model.conductors, ["1", "UPPER"]);
    assert_eq!(model.title.as_deref(), Some("Two squares"));
    assert_eq!(model.panels, [2, 1]);
    let area: f64 = mesh::quality::areas(&model.mesh).iter().sum();
    assert!((area - 5.0).abs() < 1e-12);
    assert_eq!(model.mesh.vertices[0], [-1.0; 3]);
    assert!(model.notes.iter().any(|note| note.contains("1 elements that are no triangles")));
    // Alone too, without a list.
    let (mesh, reading) =
        mesh::files::read(&folder("alone", &[("n.neu", NEUTRAL)]).join("n.neu")).unwrap();
    assert_eq!(mesh.groups.len(), 2);
    assert_eq!(reading.elements, [("triangle".into(), 2), ("quadrangle".into(), 1)]);

    let wrong = NEUTRAL.replace("       5       7       8", "       5       7       9");
    refused("no_node", &[("n.neu", &wrong)], &["n.neu: line 37: element 3: there is no node 9"]);
    let wrong = NEUTRAL.replace("0.0 1.0 1.0\n", "0.0 1.0 abc\n");
    refused("no_number", &[("n.neu", &wrong)], &["expected a coordinate, found \"abc\""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_bytes_break_the_readers(
        which in 0usize..3,
        at in 0usize..5000,
        cut in 0usize..30,
        put in "[QTNCDBG0-9 .+\\n*-]{0,12}",
    ) {
        let cube = cube("1");
        let texts = ["C a.qui 1 0 0 0 +\nB a.qui 1 2 0 0 0 7 8 9 -\nD n.neu 1 2 1 1 1 9 8 7\n", &cube, NEUTRAL];
        let mut texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let at = at % texts[which].len();
        let end = (at + cut).min(texts[which].len());
        texts[which].splice(at..end, put.bytes());
        let texts: Vec<_> = texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
        let files = [("a.lst", &*texts[0]), ("a.qui", &*texts[1]), ("n.neu", &*texts[2])];
        if let Ok(model) = fastcap::read(&folder("property", &files).join("a.lst")) {
            prop_assert_eq!(model.mesh.validate(), Ok(()));
            prop_assert_eq!(model.mesh.groups.len(), model.parts.len());
        }
    }
}
