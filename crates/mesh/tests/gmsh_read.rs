//! The reader against files that Gmsh wrote, against hand-written ones, and against faults.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::curved;
use mesh::gmsh::{self, Cause, Encoding, FormatError, Place, ReadReport, Subject};
use mesh::{Mesh, files};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("squares_{name}.msh"))
}

fn read(path: &Path) -> (Mesh, ReadReport) {
    gmsh::parse(&std::fs::read(path).unwrap()).unwrap()
}

fn fault(text: &str) -> FormatError {
    gmsh::parse(text.as_bytes()).unwrap_err()
}

fn fine(text: &str) -> (Mesh, ReadReport) {
    gmsh::parse(text.as_bytes()).unwrap()
}

/// Triangles as points in a canonical order that keeps orientation, with the labels of their
/// groups.
fn content(mesh: &Mesh) -> BTreeSet<String> {
    (0..mesh.triangles.len())
        .map(|t| {
            let corners = mesh.corners(t).map(|p| p.map(|x| (x * 1e9).round() as i64));
            let first = (0..3).min_by_key(|&i| corners[i]).unwrap();
            let turned = [0, 1, 2].map(|i| corners[(first + i) % 3]);
            let mut groups: Vec<String> =
                mesh.groups_of(t).iter().map(|&g| mesh.groups[g as usize].label()).collect();
            groups.sort();
            format!("{turned:?} {groups:?}")
        })
        .collect()
}

#[test]
fn every_format_of_gmsh_gives_the_same_mesh() {
    let (expected, report) = read(&data("v41"));
    assert_eq!(expected.triangles.len(), 28);
    assert_eq!((report.version.as_str(), report.encoding), ("4.1", Encoding::Ascii));
    assert_eq!(report.elements, [("2-node line".into(), 2), ("3-node triangle".into(), 28)]);
    assert_eq!(report.reversed, 14);
    let turned =
        "14 elements are turned over, since their physical groups take them with a negative sign";
    assert_eq!(report.notes, [turned]);
    let expected = content(&expected);
    for name in [
        "v22",
        "v22_binary",
        "v22_parametric",
        "v22_partitioned",
        "v41_binary",
        "v41_parametric",
        "v41_partitioned",
        "v41_second_order",
    ] {
        let (mesh, report) = read(&data(name));
        assert_eq!(content(&mesh), expected, "{name}");
        assert_eq!(report.repeated_for_groups, if name.starts_with("v22") { 28 } else { 0 });
        assert_eq!((report.flattened, report.dropped_vertices), (0, 0));
        assert_eq!(mesh.order(), if name == "v41_second_order" { 2 } else { 1 });
        // Patches of the squares are straight.
        if let Some(patches) = &mesh.patches {
            mesh.validate().unwrap();
            assert!((0..mesh.triangles.len()).all(|t| curved::is_straight(2, patches.of(t))));
        }
    }
    let (mesh, report) = read(&data("v22_quadrangles"));
    assert_eq!((mesh.triangles.len(), report.split_quadrangles), (24, 12));
    assert!((Report::of(&mesh).unwrap().quality.area - 2.0).abs() < 1e-12);
}

#[test]
fn crossed_quadrangles_are_refused_with_their_place() {
    let text = |corners: &str| {
        format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 5 0 0\n2 6 0 0\n3 6 1 0\n4 5 1 0\n$EndNodes\n\
             $Elements\n1\n1 3 2 0 1 {corners}\n$EndElements\n"
        )
    };
    assert_eq!(
        fine(&text("1 2 3 4")).1.notes.join(""),
        "1 quadrangle is split along its shorter diagonal"
    );
    let found = fault(&text("1 3 2 4"));
    assert_eq!(found.cause, Cause::Crossed([5.0, 0.0, 0.0]));
    assert!(found.to_string().contains("(5, 0, 0) cross each other"), "{found}");
}

#[test]
fn version_4_0_is_refused_with_the_way_out() {
    let message = files::read(&data("v40")).unwrap_err().to_string();
    assert!(message.contains("squares_v40.msh: line 2: MSH version 4 is not read"), "{message}");
    assert!(message.contains("-format msh41"));
    let cause = fault("$NOD\n1\n1 0 0 0\n$ENDNOD\n").cause;
    assert_eq!(cause, Cause::Version("1".into()));
    assert!(matches!(files::read(Path::new("no.msh")), Err(files::Error::Io { .. })));
}

const TWO: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n\
    40 0 0 1\n$EndNodes\n$Elements\n2\n1 2 2 5 1 10 20 30\n2 2 2 5 1 10 20 40\n$EndElements\n";

const FOUR: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 2 0\n1 0 0 0 1 1 0 1 5 0\n\
    7 0 0 0 1 1 0 0 0\n$EndEntities\n$Nodes\n1 4 10 40\n2 1 0 4\n10\n20\n30\n40\n0 0 0\n1 0 0\n\
    0 1 0\n0 0 1\n$EndNodes\n$Elements\n2 2 1 2\n2 1 2 1\n1 10 20 30\n2 7 2 1\n2 10 20 40\n\
    $EndElements\n";

#[test]
fn the_small_files_of_this_test_are_valid() {
    let (two, _) = fine(TWO);
    let (four, report) = fine(FOUR);
    assert_eq!(two.vertices, four.vertices);
    assert_eq!(two.triangles, [[0, 1, 2], [0, 1, 3]]);
    assert_eq!(two.triangles, four.triangles);
    assert_eq!(
        (two.groups_of(1).len(), four.groups_of(0).len(), four.groups_of(1).len()),
        (1, 1, 0)
    );
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn layout_of_text_is_free_where_it_can_be() {
    let expected = fine(FOUR).0;
    let comments = format!(
        "\u{feff}a remark\r\n$Comments\n1 2 3 $Nodes\n$EndComments\n{}",
        FOUR.replace('\n', "  \r\n").replace(' ', "\t ").replace("$Nodes", "\n\n$Nodes\n")
    );
    assert_eq!(fine(&comments).0, expected);
    assert_eq!(fine(FOUR.trim_end()).0, expected);
    let unknown = FOUR.replace("$Entities", "$Later 2\n1 $ 2\n$EndLater\n$Entities");
    assert_eq!(fine(&unknown).0, expected);
}

#[test]
fn tags_may_be_sparse_huge_and_in_any_order() {
    let huge = FOUR
        .replace("10\n20\n30\n40\n", "18446744073709551615\n2\n1\n9000000000\n")
        .replace("10 20 30", "18446744073709551615 2 1")
        .replace("10 20 40", "18446744073709551615 2 9000000000")
        .replace("\n2 10", "\n77777777777 10");
    assert_eq!(fine(&huge).0, fine(FOUR).0);
}

#[test]
fn repetition_for_another_group_is_no_duplicate() {
    let with = |elements: &str| {
        let count = elements.lines().count();
        let (start, _) = TWO.split_once("$Elements").unwrap();
        fine(&format!("{start}$Elements\n{count}\n{elements}$EndElements\n"))
    };
    // One entity in groups 5 and 6, whose element 10 20 30 really occurs twice.
    let (mesh, report) = with(
        "1 2 2 5 1 10 20 30\n2 2 2 6 1 10 20 30\n3 2 2 5 1 20 30 10\n4 2 2 6 1 10 20 30\n\
         5 2 2 5 1 10 20 40\n",
    );
    assert_eq!((mesh.triangles.len(), report.repeated_for_groups), (3, 2));
    assert_eq!(
        (mesh.groups_of(0), mesh.groups_of(1), mesh.groups_of(2)),
        (&[0, 1][..], &[0, 1][..], &[0][..])
    );
    assert_eq!(Report::of(&mesh).unwrap().defects.duplicates.len(), 1);
    // The other way around in the second group.
    let (_, report) = with("1 2 2 5 1 10 20 30\n2 2 2 6 1 10 30 20\n");
    assert_eq!(
        report.notes,
        [
            "1 element is in one physical group with the surface's orientation and in another against it; the first counts"
        ]
    );
    // Different entities: two surfaces in one place.
    let (mesh, report) = with("1 2 2 5 1 10 20 30\n2 2 2 6 2 10 20 30\n");
    assert_eq!((mesh.triangles.len(), report.repeated_for_groups), (2, 0));
    // Without a group at all.
    let (mesh, _) = with("1 2 2 0 1 10 20 30\n2 2 0 10 20 40\n");
    assert_eq!((mesh.groups.len(), mesh.groups_of(0).len(), mesh.groups_of(1).len()), (0, 0, 0));
}

#[test]
fn geometric_defects_load() {
    let flat = FOUR.replace("1 10 20 30", "1 10 20 20");
    assert_eq!(Report::of(&fine(&flat).0).unwrap().defects.zero_area, [0]);
    let twice = FOUR.replace("2 10 20 40", "2 20 10 30");
    assert_eq!(Report::of(&fine(&twice).0).unwrap().defects.duplicates.len(), 1);
}

/// A file, the text to replace in it, and where the fault must be found.
fn check(file: &str, from: &str, to: &str, line: usize, subject: Option<Subject>) -> Cause {
    assert!(file.contains(from), "{from:?}");
    let error = fault(&file.replacen(from, to, 1));
    assert_eq!((error.place, error.subject), (Place::Line(line), subject), "{error}");
    error.cause
}

#[test]
fn faults_are_named_with_line_and_element() {
    use Cause as P;
    use Subject::{Element, Node};
    let element = Some(Element(2));
    assert_eq!(check(FOUR, "2 10 20 40", "2 10 20 41", 26, element), P::UnknownNode(41));
    assert_eq!(check(TWO, "1 10 20 40", "1 10 20 41", 14, element), P::UnknownNode(41));
    assert!(matches!(check(FOUR, "2 10 20 40", "2 10 20", 26, element), P::Expected { .. }));
    assert!(matches!(check(FOUR, "2 10 20 40", "2 10 20 40 50", 26, element), P::TrailingText(_)));
    assert!(matches!(check(TWO, "2 2 2 5 1", "2 2 3 5 1", 14, element), P::Expected { .. }));
    assert_eq!(check(FOUR, "\n2 10 20", "\n1 10 20", 26, None), P::RepeatedElement(1));
    assert_eq!(check(TWO, "\n2 2 2 5", "\n1 2 2 5", 14, element_one()), P::RepeatedElement(1));
    assert_eq!(check(FOUR, "\n20\n", "\n10\n", 13, None), P::RepeatedNode(10));
    assert_eq!(check(TWO, "\n20 1", "\n10 1", 7, None), P::RepeatedNode(10));
    assert!(matches!(
        check(FOUR, "1 0 0\n0 1", "1 nan 0\n0 1", 17, Some(Node(20))),
        P::Coordinate(_)
    ));
    assert!(matches!(check(TWO, "20 1 0 0", "20 1 1e999 0", 7, Some(Node(20))), P::Coordinate(_)));
    assert!(matches!(check(TWO, "20 1 0 0", "20 1 1e200 0", 7, Some(Node(20))), P::Coordinate(_)));
    assert!(matches!(check(TWO, "20 1 0 0", "20 1 x 0", 7, Some(Node(20))), P::Expected { .. }));
    assert_eq!(check(FOUR, "2 7 2 1", "2 7 999 1", 25, None), P::UnknownType(999));
    assert_eq!(check(TWO, "\n2 2 2 5", "\n2 999 2 5", 14, element), P::UnknownType(999));
    assert_eq!(check(FOUR, "2 7 2 1", "2 8 2 1", 25, None), P::UnknownEntity(8));
    assert!(matches!(check(TWO, "1 10 20 40", "1 -10 20 40", 14, element), P::Tag { .. }));
}

fn element_one() -> Option<Subject> {
    Some(Subject::Element(1))
}

#[test]
fn counts_that_lie_fail_fast() {
    use Cause as P;
    // More than the file could hold: refused before anything is allocated.
    for huge in ["1000", "18446744073709551615"] {
        assert!(matches!(check(TWO, "\n4\n", &format!("\n{huge}\n"), 5, None), P::Count { .. }));
        assert!(matches!(
            check(TWO, "\n2\n1 2", &format!("\n{huge}\n1 2"), 12, None),
            P::Count { .. }
        ));
        assert!(matches!(
            check(FOUR, "1 4 10", &format!("1 {huge} 10"), 10, None),
            P::Count { .. }
        ));
        assert!(matches!(
            check(FOUR, "2 1 0 4", &format!("2 1 0 {huge}"), 11, None),
            P::Count { .. }
        ));
        assert!(matches!(
            check(FOUR, "2 1 2 1", &format!("2 1 2 {huge}"), 23, None),
            P::Count { .. }
        ));
        assert!(matches!(
            check(FOUR, "0 0 2 0", &format!("{huge} 0 2 0"), 5, None),
            P::Count { .. }
        ));
        assert!(matches!(check(FOUR, "1 5 0", &format!("{huge} 5 0"), 6, None), P::Count { .. }));
    }
    // Off by one.
    assert!(matches!(
        check(TWO, "\n4\n", "\n3\n", 9, None),
        P::Expected { expected: "$EndNodes", .. }
    ));
    assert!(matches!(check(TWO, "\n4\n", "\n5\n", 10, None), P::Expected { .. }));
    assert!(matches!(check(TWO, "\n2\n1 2", "\n3\n1 2", 15, None), P::Expected { .. }));
    assert!(matches!(
        check(FOUR, "1 4 10", "1 3 10", 10, None),
        P::Sum { claimed: 3, found: 4, .. }
    ));
    assert!(matches!(
        check(FOUR, "2 2 1 2", "2 1 1 2", 22, None),
        P::Sum { claimed: 1, found: 2, .. }
    ));
}

#[test]
fn structure_faults() {
    use Cause as P;
    assert_eq!(fault("solid stl\n").cause, P::NotGmsh);
    assert_eq!(fault("").cause, P::NotGmsh);
    assert_eq!(fault("$Nodes\n0\n$EndNodes").cause, P::NotGmsh);
    assert_eq!(check(FOUR, "4.1 0 8", "4.1 0", 2, None), P::Header);
    assert_eq!(check(FOUR, "4.1 0 8", "four 0 8", 2, None), P::Header);
    assert_eq!(check(FOUR, "4.1 0 8", "3 0 8", 2, None), P::Version("3".into()));
    assert_eq!(fault("$MeshFormat\n4.1 1 8\n\u{1}\u{1}\u{1}\u{1}").cause, P::ByteOrder);
    assert_eq!(fault("$MeshFormat\n4.1 1 16\n").cause, P::DataSize(16));
    let again = format!("{FOUR}$Nodes\n0 0 0 0\n$EndNodes\n");
    assert_eq!(fault(&again).cause, P::SecondSection("$Nodes"));
    let (head, rest) = TWO.split_once("$Nodes").unwrap();
    let (nodes, elements) = rest.split_once("$Elements").unwrap();
    let early = format!("{head}$Elements{elements}$Nodes{nodes}");
    assert_eq!(fault(&early).cause, P::Order("$Nodes"));
    let lines = "$Elements\n1\n1 1 2 5 1 10 20\n$EndElements\n";
    let error = fault(&format!("{head}$Nodes{nodes}{lines}"));
    assert!(error.to_string().contains("1 of type 2-node line"), "{error}");
    assert!(matches!(fault(&format!("{head}$Nodes{nodes}")).cause, P::NoTriangles { .. }));
    let names = "$PhysicalNames\n2\n2 5 \"a\"\n2 5 \"b\"\n$EndPhysicalNames\n$Nodes";
    assert!(matches!(check(TWO, "$Nodes", names, 7, None), P::SecondName { .. }));
    for (length, _) in TWO.char_indices().filter(|(i, _)| (20..TWO.len() - 14).contains(i)) {
        // Cut anywhere inside, some fault is found; never a shorter mesh.
        assert!(gmsh::parse(&TWO.as_bytes()[..length]).is_err(), "{length}");
    }
    let cut = &TWO[..TWO.find("\n40 0").unwrap()];
    assert_eq!(fault(cut).cause, P::Count { what: "nodes", claimed: 4, room: 3 });
}

/// MSH 2.2 in either order of bytes, which Gmsh writes only on machines of that order.
fn binary_two(big: bool) -> Vec<u8> {
    let int = |file: &mut Vec<u8>, value: i32| {
        file.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    let mut file = b"$MeshFormat\n2.2 1 8\n".to_vec();
    int(&mut file, 1);
    file.extend(b"\n$EndMeshFormat\n$Nodes\n4\n");
    for (tag, point) in [
        (10, [0.0, 0.0, 0.0]),
        (20, [1.0, 0.0, 0.0]),
        (30, [0.0, 1.0, 0.0]),
        (40, [0.0, 0.0, 1.0f64]),
    ] {
        int(&mut file, tag);
        for x in point {
            file.extend(if big { x.to_be_bytes() } else { x.to_le_bytes() });
        }
    }
    file.extend(b"\n$EndNodes\n$Elements\n2\n");
    for value in [2, 2, 2, 1, 5, 1, 10, 20, 30, 2, 5, 1, 10, 20, 40] {
        int(&mut file, value);
    }
    file.extend(b"\n$EndElements\n");
    file
}

#[test]
fn what_only_separates_partitions_is_left_out() {
    // Surface 7 is of a volume, and lies between partitions 1 and 2 of it.
    let interface = "$EndEntities\n$PartitionedEntities\n2\n0\n0 0 2 0\n1 2 1 1 1 0 0 0 1 1 0 1 5 0\n\
                     7 3 1 2 1 2 0 0 0 1 1 0 0 0\n$EndPartitionedEntities";
    let (mesh, report) = fine(&FOUR.replace("$EndEntities", interface));
    assert_eq!((mesh.triangles.len(), report.interfaces), (1, 1));
    let part = "1 element is left out that only separates partitions of a volume";
    assert!(report.notes.iter().any(|note| note.contains(part)), "{:?}", report.notes);
}

#[test]
fn polygons_of_binary_files_are_refused() {
    let mut file = binary_two(false);
    // The type of the elements; a polygon of Gmsh has as many nodes as it likes.
    let at = file.windows(10).position(|w| w == b"$Elements\n").unwrap() + 12;
    file[at..at + 4].copy_from_slice(&34i32.to_le_bytes());
    let error = gmsh::parse(&file).unwrap_err().to_string();
    assert!(error.contains("a polygon has no fixed number of nodes"), "{error}");
}

#[test]
fn both_orders_of_bytes_in_version_2() {
    for big in [false, true] {
        let (mesh, report) = gmsh::parse(&binary_two(big)).unwrap();
        assert_eq!(mesh, fine(TWO).0);
        assert_eq!(report.encoding == Encoding::BigEndian, big);
    }
    let mut file = binary_two(false);
    let at = file.windows(4).rposition(|w| w == 40i32.to_le_bytes()).unwrap();
    file[at] = 41;
    let error = gmsh::parse(&file).unwrap_err();
    assert_eq!(error.place, Place::Byte(at));
    assert_eq!(error.subject, Some(Subject::Element(2)));
    assert_eq!(error.cause, Cause::UnknownNode(41));
}
