//! FastCap's list files and panels.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use farad::LengthUnit;
use formats::fastcap::{self, Model};
use mesh::PhysicalGroup;
use mesh::check::Report;
use mesh::files::Error;
use mesh::topology::Orientation;
use proptest::prelude::*;

/// Reads the first of these files, which may name the others.
fn try_read(files: &[(&str, &str)]) -> Result<Model, Error> {
    let load = |path: &Path| {
        let known = files.iter().find(|(name, _)| Path::new(name) == path);
        let missing = || Error::Io { path: path.to_owned(), source: ErrorKind::NotFound.into() };
        known.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(missing)
    };
    fastcap::read(Path::new(files[0].0), load)
}

fn read(files: &[(&str, &str)]) -> Model {
    let model = try_read(files).unwrap();
    assert_eq!(model.mesh.validate(), Ok(()));
    model
}

#[track_caller]
fn refused(files: &[(&str, &str)], parts: &[&str]) {
    let message = try_read(files).unwrap_err().to_string();
    for part in parts {
        assert!(message.contains(part), "no \"{part}\" in {message}");
    }
}

/// The names of the conductors.
fn conductors(model: &Model) -> Vec<&str> {
    model.description.conductors.iter().map(|conductor| conductor.name.as_str()).collect()
}

/// The labels of the mesh's groups.
fn groups(model: &Model) -> Vec<String> {
    model.mesh.groups.iter().map(PhysicalGroup::label).collect()
}

/// The permittivities outside and inside of each group.
fn sides(model: &Model) -> Vec<[f64; 2]> {
    let by_group = model.description.surfaces.iter().zip(groups(model));
    by_group
        .map(|(surface, group)| (assert_eq!(surface.groups, [group]), surface.sides).1)
        .collect()
}

/// How many triangles and quadrangles were read.
fn panels(model: &Model) -> [usize; 2] {
    let count =
        |kind| model.reading.elements.iter().find(|(k, _)| k == kind).map_or(0, |(_, n)| *n);
    ["triangle", "quadrangle"].map(count)
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
    let model = read(&[
        (
            "all.lst",
            "* two fingers of one conductor, another, and one of a group with a name\n\nC cube.qui 2.5 0 0 0 +\n\
                 C cube.qui 2.5 2 0 0\nc cube.qui 2.5 4.0D0 0 0\nG sense\nC cube.qui 2.5 6 0 0\nC ball.qui 2.5 0 5 0\n",
        ),
        ("cube.qui", &cube),
        ("ball.qui", "0 t\nT a 0 0 0 1 0 0 0 1 0\nT a 0 0 0 0 1 0 0 0 1\nN a b\nN b ball\n"),
    ]);
    assert_eq!(conductors(&model), ["1%GROUP1", "1%GROUP2", "1%sense", "ball"]);
    assert_eq!(model.title.as_deref(), Some("a cube"));
    assert_eq!(panels(&model), [2, 24]);
    assert_eq!(model.description.relative_permittivity, 2.5);
    assert_eq!(model.description.surfaces, []);
    assert_eq!(model.description.unit, LengthUnit::Metre);
    let report = Report::of(&model.mesh).unwrap();
    let groups: Vec<(&str, usize)> =
        report.groups.iter().map(|group| (group.label.as_str(), group.part.triangles)).collect();
    assert_eq!(groups, [("1%GROUP1", 24), ("1%GROUP2", 12), ("1%sense", 12), ("ball", 2)]);
    // Shared corners are shared vertices, and the translations are there.
    assert!(report.groups[..3].iter().all(|group| group.part.closed));
    assert_eq!(report.quality.bounding_box, [[0.0; 3], [7.0, 6.0, 1.0]]);
}

/// N lines name a conductor of the whole chain, as FastCap2 and FasterCap have it: what files
/// before have of it too.
#[test]
fn renames_hold_in_the_chain_of_plus_and_end_with_it() {
    let (first, second) = (cube("c"), cube("c") + "N c NETA\n");
    let files = |list| [("a.lst", list), ("1.qui", first.as_str()), ("2.qui", second.as_str())];
    let model = read(&files("C 1.qui 1 0 0 0 +\nC 2.qui 1 3 0 0\n"));
    assert_eq!(conductors(&model), ["NETA"]);
    assert_eq!(Report::of(&model.mesh).unwrap().groups.len(), 1);
    // Later files of the chain mean it by either name.
    let later = cube("NETA");
    let mut three =
        files("C 1.qui 1 0 0 0 +\nC 2.qui 1 3 0 0 +\nC 1.qui 1 6 0 0 +\nC 3.qui 1 9 0 0\n")
            .to_vec();
    three.push(("3.qui", &later));
    assert_eq!(conductors(&read(&three)), ["NETA"]);
    let model = read(&files("C 1.qui 1 0 0 0\nC 2.qui 1 3 0 0\n"));
    assert_eq!(conductors(&model), ["c", "NETA"]);
    // In several media the parts of one conductor are groups of their own.
    let model = read(&files("C 1.qui 2 0 0 0 +\nC 2.qui 3 3 0 0\n"));
    assert_eq!(conductors(&model), ["NETA"]);
    assert_eq!(groups(&model), ["NETA in 2", "NETA in 3"]);
    assert_eq!(model.description.conductors[0].groups, groups(&model));
    // Two that get one name become one, and their parts one group.
    let merged = cube("x") + "N x c\n";
    let model = read(&[
        ("a.lst", "C 1.qui 1 0 0 0 +\nC 2.qui 1 3 0 0\n"),
        ("1.qui", &first),
        ("2.qui", &merged),
    ]);
    assert_eq!(conductors(&model), ["c"]);
    assert_eq!(model.mesh.groups.len(), 1);
    assert!((0..24).all(|t| model.mesh.groups_of(t) == [0]));
    let wrong = cube("c") + "N d e\n";
    let parts = ["1.qui: line 11: there is no conductor \"d\" to be renamed"];
    refused(&[("a.lst", "C 1.qui 1 0 0 0\n"), ("1.qui", &wrong)], &parts);
}

/// As 40,000 conductors, list lines or N lines are: each in a time that does not grow with those
/// before.
#[test]
fn many_conductors_and_lines_take_linear_time() {
    const COUNT: usize = 40_000;
    let (mut panels, mut list) = ("0 t\n".to_owned(), String::new());
    for i in 0..COUNT {
        writeln!(panels, "T c{i} {i} 0 0 {i}.5 0 0 {i} 1 0").unwrap();
        writeln!(list, "C one.qui {i}.5 {} 0 0", 2 * i).unwrap();
    }
    for i in 0..COUNT {
        writeln!(panels, "N c{i} d{i}").unwrap();
    }
    let start = std::time::Instant::now();
    let model = read(&[("a.lst", "C q.qui 1 0 0 0\n"), ("q.qui", &panels)]);
    assert_eq!(conductors(&model).len(), COUNT);
    assert_eq!(conductors(&model)[COUNT - 1], format!("d{}", COUNT - 1));
    let one = "0 t\nT c 0 0 0 1 0 0 0 1 0\n";
    let model = read(&[("a.lst", &list), ("one.qui", one)]);
    assert_eq!(model.mesh.groups.len(), COUNT);
    // Tenths of a second; with comparisons of each to all it was a minute (release, each on a
    // machine of its own).
    let took = start.elapsed().as_secs_f64();
    assert!(cfg!(debug_assertions) || took < 15.0, "{took} s");
}

#[test]
fn a_short_list_of_a_long_file_is_refused_before_it_is_made() {
    let mut panels = "0 t\n".to_owned();
    for i in 0..5000 {
        writeln!(panels, "T c {i} 0 0 {i}.5 0 0 {i} 1 0").unwrap();
    }
    let list = "D q.qui 1 2 0 0 0 0 0 9\n".repeat(3400);
    let parts = [
        "a.lst: line 3356: with the 5000 panels of q.qui there are 16780000, more than the 16777216",
    ];
    refused(&[("a.lst", &list), ("q.qui", &panels)], &parts);
}

#[test]
fn titles_and_names_hold_no_control_characters() {
    let panel = "T c 0 0 0 1 0 0 0 1 0\n";
    let model = read(&[("t.qui", &format!("0 a\ttab and\u{7} a bell\n{panel}"))]);
    assert_eq!(model.title.as_deref(), Some("a tab and a bell"));
    let named = panel.replace('c', "c\u{1b}[31m");
    let parts = ["t.qui: line 2: expected the name of a conductor, without control characters"];
    refused(&[("t.qui", &format!("0 t\n{named}"))], &parts);
}

#[test]
fn interfaces_face_their_outer_side() {
    let cube = cube("any");
    let list = "C cube.qui 3 10 0 0\nD cube.qui 1 4 0 0 0 0.5 0.4 0.3 -\n";
    let model = read(&[("a.lst", list), ("cube.qui", &cube)]);
    assert_eq!(groups(&model), ["any", "interface 4|1"]);
    assert_eq!(conductors(&model), ["any"]);
    assert_eq!(sides(&model), [[3.0, 3.0], [1.0, 4.0]]);
    let report = Report::of(&model.mesh).unwrap();
    // The reference point is inside, where the inner permittivity is.
    assert_eq!(report.groups[1].part.orientation(), Orientation::Outward);
    assert!((report.groups[1].part.signed_volume - 1.0).abs() < 1e-12);
    let turned = list.replace("0.3 -", "0.3");
    let model = read(&[("a.lst", &turned), ("cube.qui", &cube)]);
    let report = Report::of(&model.mesh).unwrap();
    assert_eq!(report.groups[1].part.orientation(), Orientation::Inward);
}

#[test]
fn the_reference_point_is_not_translated_and_panels_may_have_their_own() {
    let square = "0 t\nQ x 0 0 0  1 0 0  1 1 0  0 1 0\nQ x 1 0 0  2 0 0  2 1 0  1 1 0  5 5 -9\n";
    let list = "D s.qui 2 1 0 0 3  0.5 0.5 4\n";
    let model = read(&[("a.lst", list), ("s.qui", square)]);
    let up: Vec<bool> = mesh::quality::normals(&model.mesh).iter().map(|n| n[2] > 0.0).collect();
    assert_eq!(up, [true, true, false, false]);
    assert_eq!(conductors(&model).len(), 0);
    refused(
        &[("a.lst", "D s.qui 2 1 0 0 3  9 9 3\n"), ("s.qui", square)],
        &["s.qui: line 2", "[9.0, 9.0, 3.0]", "line 1 of", "lies in the plane"],
    );
}

#[test]
fn thin_conductors_on_interfaces_belong_to_a_chain() {
    let square = "0 t\nQ x 0 0 0  1 0 0  1 1 0  0 1 0\n";
    let list =
        "C s.qui 2 0 0 0 +\nB s.qui 2 1 2 0 0  2.5 0.5 -4 +-\nB s.qui 2 1 4 0 0  4.5 0.5 4\n";
    let model = read(&[("a.lst", list), ("s.qui", square)]);
    assert_eq!(conductors(&model), ["x"]);
    assert_eq!(groups(&model), ["x in 2", "x on 1|2"]);
    assert_eq!(model.description.conductors[0].groups, groups(&model));
    assert_eq!(sides(&model), [[2.0, 2.0], [2.0, 1.0]]);
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
        ("Q x 0 0 0\n", "there is a panel in the list"),
        ("File p.qui\nEnd\n", "the file has no triangles or quadrangles"),
        ("File p.qui\nQ x 0 0\n", "expected a coordinate"),
        ("C p.qui 1 0 0 0 0xfg\n", "expected the end of the line or +, found \"0xfg\""),
        ("G\n", "expected the name of a group"),
        (
            "C none.qui 1 0 0 0\n",
            "none.qui does not exist; names in a list are relative to the folder of the list",
        ),
    ];
    for (text, part) in cases {
        refused(&list(text), &["a.lst: line ", part]);
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
        ("0 t\nS x 0 0\n", "line 2: this is no line of a file of panels"),
        ("0 t\nC x.qui 1 0 0 0\n", "line 2: a line of a list stands among panels"),
        ("0 t\nN x\n", "line 2: expected its new name"),
    ];
    for (text, part) in cases {
        refused(&panels(text), &["a.qui: ", part]);
    }
}

#[test]
fn files_of_a_list_are_found_next_to_it_on_the_disk() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fastcap");
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    std::fs::write(folder.join("p.qui"), "0 t\nT x 0 0 0  1 0 0  0 1 0\n").unwrap();
    let read = |text: &str| {
        std::fs::write(folder.join("a.lst"), text).unwrap();
        fastcap::read(&folder.join("a.lst"), mesh::files::load).map_err(|error| error.to_string())
    };
    assert_eq!(conductors(&read("C p.qui 1 0 0 0\n").unwrap()), ["x"]);
    let message = read("* c\nC empty 1 0 0 0\n").unwrap_err();
    assert!(
        message.contains("a.lst: line 2: the file ") && message.contains("is a folder"),
        "{message}"
    );
}

/// Two squares that touch nowhere, the second of two triangles that share an edge and with a name,
/// in cards as PATRAN writes them: columns without blanks where numbers are negative.
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
    let model = read(&[("a.lst", "C n.neu 1 0 0 0\n"), ("n.neu", NEUTRAL)]);
    assert_eq!(conductors(&model), ["1", "UPPER"]);
    assert_eq!(model.title.as_deref(), Some("Two squares"));
    assert_eq!(panels(&model), [2, 1]);
    let area: f64 = mesh::quality::areas(&model.mesh).iter().sum();
    assert!((area - 5.0).abs() < 1e-12);
    assert_eq!(model.mesh.vertices[0], [-1.0; 3]);
    assert!(model.reading.notes.iter().any(|note| note.contains("1 element that is no triangle")));
    // Alone too, without a list.
    let alone = read(&[("n.neu", NEUTRAL)]);
    assert_eq!((alone.mesh.groups.len(), panels(&alone)), (2, [2, 1]));

    let wrong = NEUTRAL.replace("       5       7       8", "       5       7       9");
    refused(&[("n.neu", &wrong)], &["n.neu: line 37: element 3: there is no node 9"]);
    let (head, tail) = NEUTRAL.split_at(NEUTRAL.rfind("99 ").unwrap());
    let node = " 1       1       0       2\n 0.0 0.0 0.0\n1G\n";
    let wrong = format!("{head}{node}{tail}");
    refused(&[("n.neu", &wrong)], &["node 1 occurs a second time; numbers must be unique"]);
    let wrong = NEUTRAL.replace("0.0 1.0 1.0\n", "0.0 1.0 abc\n");
    refused(&[("n.neu", &wrong)], &["expected a coordinate, found \"abc\""]);
}

/// Three patches of a quadrilateral each, as PATRAN meshes them: with nodes of their own. Two share
/// a grid point, or two grid points at one place; the third lies apart.
fn patches(second_grid: &str) -> String {
    let mut text = "25       0       0       1\nPatches\n26       0       0       1      12       3\n01-JAN-92\n".to_owned();
    for (k, x) in [0, 1, 5].into_iter().enumerate() {
        for (i, (dx, y)) in [(0, 0), (1, 0), (1, 1), (0, 1)].into_iter().enumerate() {
            let id = 4 * k + i + 1;
            write!(text, " 1{id:8}       0       2\n {}.0 {y}.0 0.0\n1G\n", x + dx).unwrap();
        }
        let (id, n) = (k + 1, 4 * k);
        write!(text, " 2{id:8}       4       2\n       4       0       1       0 0.0 0.0 0.0\n")
            .unwrap();
        writeln!(text, "{:8}{:8}{:8}{:8}", n + 1, n + 2, n + 3, n + 4).unwrap();
    }
    // Names list patches, and entities of other types; what has no name is numbered.
    text += "21       1       6       2\nLEFT\n       1       1       3       1       5       4\n";
    for (id, place) in
        [(1, "0.0"), (2, "1.0"), (3, second_grid), (4, "2.0"), (5, "5.0"), (6, "6.0")]
    {
        writeln!(text, "31{id:8}       0       1\n {place} 0.0 0.0").unwrap();
    }
    text += "32       1       0       1\n whatever a line is\n";
    for (id, corners) in [(1, [1, 2, 2, 1]), (2, [3, 4, 4, 3]), (3, [5, 6, 6, 5])] {
        writeln!(text, "33{id:8}       0      10").unwrap();
        text +=
            &"-0.476837158E-06-0.357627869E-06 0.724226084E-07 0.724226084E-07-0.564259949E-06\n"
                .repeat(9);
        text += " 0.268220901E-06-0.555912538E-05-0.691413879E-05";
        corners.iter().for_each(|corner| write!(text, "{corner:8}").unwrap());
        writeln!(
            text,
            "\n45{id:8}       1       3\n       3{id:8}       4       1       8      14"
        )
        .unwrap();
        writeln!(text, "       2       4       4       0       3{id:8}       0       0").unwrap();
        writeln!(text, "       1       2       3       4{:8}", -id).unwrap();
    }
    text + "99       0       0       1\n"
}

#[test]
fn patches_of_neutral_files_are_joined_by_their_grid_points() {
    // The sphere of eight patches of FastCap's own examples is one conductor by this rule, not
    // eight.
    let model = read(&[("p.neu", &patches("1.5"))]);
    assert_eq!(conductors(&model), ["LEFT", "1", "2"]);
    for place in ["1.0", "1.000000001"] {
        let model = read(&[("p.neu", &patches(place))]);
        assert_eq!(conductors(&model), ["LEFT", "1"], "{place}");
        assert_eq!(panels(&model), [0, 3]);
    }
    let wrong = patches("1.0").replace(
        "       1       2       3       4      -2",
        "       1       2       3       x      -2",
    );
    refused(&[("p.neu", &wrong)], &["expected the number of an element, found \"x\""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_bytes_break_the_readers(
        which in 0usize..4,
        at in 0usize..5000,
        cut in 0usize..30,
        put in "[QTNCDBG0-9 .+\\n*-]{0,12}",
    ) {
        let (cube, patches) = (cube("1") + "N 1 2\n", patches("1.0"));
        let texts = ["C a.qui 1 0 0 0 +\nB a.qui 1 2 0 0 0 7 8 9 -\nD n.neu 1 2 1 1 1 9 8 7\nC p.neu 1 5 5 5\n", &cube, NEUTRAL, &patches];
        let mut texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let at = at % texts[which].len();
        let end = (at + cut).min(texts[which].len());
        texts[which].splice(at..end, put.bytes());
        let texts: Vec<_> = texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
        let files = [("a.lst", &*texts[0]), ("a.qui", &*texts[1]), ("n.neu", &*texts[2]), ("p.neu", &*texts[3])];
        if let Ok(model) = try_read(&files) {
            prop_assert_eq!(model.mesh.validate(), Ok(()));
            let surfaces = &model.description.surfaces;
            prop_assert!(surfaces.is_empty() || surfaces.len() == model.mesh.groups.len());
        }
    }
}

/// No diagonal cuts such a panel in two: half of its area would count twice, the other half not at
/// all.
#[test]
fn crossed_quadrangles_are_refused_with_their_line() {
    let bowtie = "0 x\nQ c 0 0 0 1 0 0 1 1 0 0 1 0\nQ c 0 0 5 1 1 5 1 0 5 0 1 5\n";
    let parts = ["a.qui: line 3: the sides of this quadrangle cross each other", "in their order"];
    refused(&[("a.qui", bowtie)], &parts);
    // A notched one is cut inside, though its other diagonal is the shorter.
    let arrow = read(&[("a.qui", "0 x\nQ c 0 10 0 -1 0 0 0 5 0 1 0 0\n")]);
    let area = mesh::quality::areas(&arrow.mesh).iter().sum::<f64>();
    assert!((area - 5.0).abs() < 1e-12, "{area}");
}
