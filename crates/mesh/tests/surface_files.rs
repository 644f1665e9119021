//! OFF, PLY, STL and MSMS: what readers accept and refuse, and where, and that no bytes break a
//! reader.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::files::{self, Format, parse_msms};
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};
use mesh::{Mesh, gmsh};
use proptest::prelude::*;
use std::fmt::Write as _;

fn sphere() -> Mesh {
    let resolution = Resolution::Elements(72);
    Sphere { radius: 2.5, base: SphereBase::Octahedron, resolution }.build().unwrap()
}

fn cube() -> Mesh {
    Cube { edge: 3.0, grade: 4.0, resolution: Resolution::Elements(300) }.build().unwrap()
}

fn off(mesh: &Mesh) -> String {
    let mut text = format!("OFF\n{} {} 0\n", mesh.vertices.len(), mesh.triangles.len());
    for [x, y, z] in &mesh.vertices {
        writeln!(text, "{x} {y} {z}").unwrap();
    }
    for [a, b, c] in &mesh.triangles {
        writeln!(text, "3 {a} {b} {c}").unwrap();
    }
    text
}

fn ply_header(mesh: &Mesh, format: &str) -> String {
    format!(
        "ply\nformat {format} 1.0\ncomment made by a test\nelement vertex {}\nproperty double x\nproperty double y\n\
         property double z\nproperty uchar red\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n",
        mesh.vertices.len(),
        mesh.triangles.len()
    )
}

fn ply_text(mesh: &Mesh) -> Vec<u8> {
    let mut text = ply_header(mesh, "ascii");
    for [x, y, z] in &mesh.vertices {
        writeln!(text, "{x} {y} {z} 255").unwrap();
    }
    for [a, b, c] in &mesh.triangles {
        writeln!(text, "3 {a} {b} {c}").unwrap();
    }
    text.into_bytes()
}

fn ply_binary(mesh: &Mesh, big: bool) -> Vec<u8> {
    let format = if big { "binary_big_endian" } else { "binary_little_endian" };
    let mut bytes = ply_header(mesh, format).into_bytes();
    let mut put = |number: &[u8]| {
        let mut number = number.to_vec();
        if big {
            number.reverse();
        }
        bytes.extend(number);
    };
    for point in &mesh.vertices {
        point.iter().for_each(|x| put(&x.to_le_bytes()));
        put(&[255]);
    }
    for corners in &mesh.triangles {
        put(&[3]);
        corners.iter().for_each(|&v| put(&(v as i32).to_le_bytes()));
    }
    bytes
}

fn stl_text(mesh: &Mesh) -> String {
    let mut text = "solid body\n".to_owned();
    for t in 0..mesh.triangles.len() {
        text += "facet normal 0 0 0\n outer loop\n";
        for [x, y, z] in mesh.corners(t) {
            writeln!(text, "  vertex {x:.6e} {y:.6e} {z:.6e}").unwrap();
        }
        text += " endloop\nendfacet\n";
    }
    text + "endsolid body\n"
}

fn stl_binary(mesh: &Mesh) -> Vec<u8> {
    let mut bytes = vec![b's'; 80];
    bytes[..5].copy_from_slice(b"solid");
    bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
    for t in 0..mesh.triangles.len() {
        bytes.extend([0; 12]);
        for x in mesh.corners(t).as_flattened() {
            bytes.extend((*x as f32).to_le_bytes());
        }
        bytes.extend([0; 2]);
    }
    bytes
}

fn msms(mesh: &Mesh, header: bool) -> (String, String) {
    let (mut vert, mut face) = (String::new(), String::new());
    if header {
        write!(
            vert,
            "# MSMS vertices\n#vertex #sphere density probe_r\n{} 60 3.00 1.50\n",
            mesh.vertices.len()
        )
        .unwrap();
        write!(face, "# MSMS faces\n{} 60 3.00 1.50\n", mesh.triangles.len()).unwrap();
    }
    for [x, y, z] in &mesh.vertices {
        writeln!(vert, "{x:10.6} {y:10.6} {z:10.6} 0.1 0.2 0.3  0 12 2").unwrap();
    }
    for [a, b, c] in &mesh.triangles {
        writeln!(face, "{} {} {} 1 17", a + 1, b + 1, c + 1).unwrap();
    }
    (vert, face)
}

fn parse(format: Format, bytes: impl AsRef<[u8]>) -> Mesh {
    files::parse(format, bytes.as_ref()).unwrap().unwrap().0
}

/// The message of the error that reading must end in.
#[track_caller]
fn refused(format: Format, bytes: impl AsRef<[u8]>) -> String {
    files::parse(format, bytes.as_ref()).unwrap().unwrap_err().to_string()
}

#[track_caller]
fn same(read: &Mesh, mesh: &Mesh, tolerance: f64) {
    assert_eq!(read.validate(), Ok(()));
    assert_eq!(read.vertices.len(), mesh.vertices.len());
    assert_eq!(read.triangles.len(), mesh.triangles.len());
    assert!(read.groups.is_empty());
    for t in 0..mesh.triangles.len() {
        let (a, b) = (read.corners(t), mesh.corners(t));
        for (x, y) in a.as_flattened().iter().zip(b.as_flattened()) {
            assert!((x - y).abs() <= tolerance, "triangle {t}: {a:?} {b:?}");
        }
    }
}

#[test]
fn every_format_gives_the_mesh_that_was_written() {
    for mesh in [sphere(), cube()] {
        same(&parse(Format::Off, off(&mesh)), &mesh, 0.0);
        same(&parse(Format::Ply, ply_text(&mesh)), &mesh, 0.0);
        same(&parse(Format::Ply, ply_binary(&mesh, false)), &mesh, 0.0);
        same(&parse(Format::Ply, ply_binary(&mesh, true)), &mesh, 0.0);
        // Seven digits, or 24 bits.
        same(&parse(Format::Stl, stl_text(&mesh)), &mesh, 3e-6);
        same(&parse(Format::Stl, stl_binary(&mesh)), &mesh, 3e-7);
        for header in [false, true] {
            let (vert, face) = msms(&mesh, header);
            same(&parse_msms(vert.as_bytes(), face.as_bytes()).unwrap().0, &mesh, 1e-6);
        }
    }
}

#[test]
fn welded_surfaces_are_closed_and_outward() {
    for read in [parse(Format::Stl, stl_text(&cube())), parse(Format::Stl, stl_binary(&cube()))] {
        let whole = Report::of(&read).unwrap().whole;
        assert!(whole.closed);
        assert!((whole.signed_volume - 27.0).abs() < 1e-4);
    }
}

#[test]
fn stl_corners_are_one_within_the_tolerance_and_two_beyond() {
    // Two triangles that share an edge but for a gap; the size is 1, the diagonal the root of 2.
    let pair = |gap: f64| {
        let text = format!(
            "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n\
             facet normal 0 0 1\nouter loop\nvertex {} 0 0\nvertex 1 1 0\nvertex {gap} 1 0\nendloop\nendfacet\nendsolid\n",
            1.0 + gap
        );
        parse(Format::Stl, text).vertices.len()
    };
    let point = "vertex 0 0 0\nvertex 0 0 0\nvertex 1 0 0\n";
    let flat = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n";
    let facets = [flat, point]
        .map(|corners| format!("facet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\n"));
    let text = format!("solid a\n{}endsolid\n", facets.concat());
    let (_, reading) = files::parse(Format::Stl, text.as_bytes()).unwrap().unwrap();
    let note = "1 triangle is left out: two corners are one vertex within 1e-6 of the size";
    assert_eq!(reading.notes, [note]);
    assert_eq!(pair(1e-6), 4);
    assert_eq!(pair(3e-6), 6);
}

/// Marching cubes make such edges: their two ends share a cell of the welding grid, and each has to
/// be found there again.
#[test]
fn ends_of_short_edges_are_two_points_and_the_surface_stays_closed() {
    let mut mesh = sphere();
    // Of its diameter along each axis.
    let diagonal = 5.0 * 3f64.sqrt();
    for length in [1.2e-6, 1.9e-6, 2.9e-6, 4.5e-6] {
        // A new vertex next to one end of an edge splits the two triangles there.
        let [a, b, _] = mesh.triangles[mesh.triangles.len() / 2];
        let next = mesh.vertices.len() as u32;
        let [p, q] = [a, b].map(|v| mesh.vertices[v as usize]);
        let along: [f64; 3] = std::array::from_fn(|k| q[k] - p[k]);
        let step = length * diagonal / along.iter().map(|x| x * x).sum::<f64>().sqrt();
        mesh.vertices.push(std::array::from_fn(|k| p[k] + step * along[k]));
        let mut split = Vec::new();
        for corners in &mut mesh.triangles {
            for k in 0..3 {
                let (from, to) = (corners[k], corners[(k + 1) % 3]);
                if [from.min(to), from.max(to)] == [a.min(b), a.max(b)] {
                    let mut other = *corners;
                    (corners[(k + 1) % 3], other[k]) = (next, next);
                    split.push(other);
                    break;
                }
            }
        }
        assert_eq!(split.len(), 2);
        mesh.triangles.extend(split);
        mesh.membership.resize(mesh.triangles.len(), 0);
    }
    for read in [parse(Format::Stl, stl_binary(&mesh)), parse(Format::Stl, stl_text(&mesh))] {
        let report = Report::of(&read).unwrap();
        assert_eq!(report.triangles, mesh.triangles.len());
        assert!(report.whole.closed, "{} edges are open", report.whole.boundary_edges);
    }
}

/// Every facet with vertices of its own, in the formats that number vertices: the same surface as
/// with shared ones.
#[test]
fn surfaces_whose_facets_share_no_vertices_are_joined() {
    let whole = sphere();
    let mut soup = whole.clone();
    soup.vertices = (0..whole.triangles.len()).flat_map(|t| whole.corners(t)).collect();
    soup.triangles =
        (0..whole.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("soup");
    std::fs::create_dir_all(&folder).unwrap();
    let (vert, face) = msms(&soup, true);
    let mut msh = Vec::new();
    gmsh::write(&soup, gmsh::Encoding::LittleEndian, &mut msh).unwrap();
    let files = [
        ("a.off", off(&soup).into_bytes()),
        ("a.ply", ply_binary(&soup, false)),
        ("a.vert", vert.into_bytes()),
        ("a.face", face.into_bytes()),
        ("a.msh", msh),
    ];
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    for (name, _) in files {
        let (mesh, reading) = files::read(&folder.join(name)).unwrap();
        let report = Report::of(&mesh).unwrap();
        assert_eq!(mesh.vertices.len(), whole.vertices.len(), "{name}");
        assert!(report.whole.closed && report.components.len() == 1, "{name}");
        assert_eq!(report.warnings(), [], "{name}");
        let note = "178 vertices that lie on others are joined with them: 216 edges of the surface were open there";
        assert_eq!(reading.notes, [note], "{name}");
    }
}

/// NanoShaper's files have the count alone where MSMS has four numbers.
#[test]
fn nanoshapers_header_is_read() {
    let mesh = sphere();
    let (vert, face) = msms(&mesh, false);
    let vert = format!("# File created by NanoShaper\n#vertex\n{}\n{vert}", mesh.vertices.len());
    let head = "# File created by NanoShaper\n#faces\n";
    let file = format!("{head}{}\n{face}", mesh.triangles.len());
    let (read, _) = parse_msms(vert.as_bytes(), file.as_bytes()).unwrap();
    assert_eq!(read.triangles, mesh.triangles);
    let wrong = format!("{head}{}\n{face}", mesh.triangles.len() + 1);
    let message = parse_msms(vert.as_bytes(), wrong.as_bytes()).unwrap_err().to_string();
    assert!(message.contains("73 faces are announced, but there are 72"), "{message}");
}

/// Normals stay with their vertices, whatever becomes of these.
#[test]
fn normals_of_msms_are_kept() {
    let mesh = sphere();
    let (vert, face) = msms(&mesh, true);
    let (_, reading) = parse_msms(vert.as_bytes(), face.as_bytes()).unwrap();
    assert_eq!(reading.normals, Some(vec![[0.1, 0.2, 0.3]; mesh.vertices.len()]));
    // A vertex that no face uses goes; normals that are not there or no numbers are zero.
    let vert = "0 0 0\n9 9 9 0 1 0\n1 0 0 0 0 1 0 17 2\n0 1 0 nan 0 1\n0 0 1\n";
    let face = "1 3 4 1 1\n1 4 5 1 1\n1 5 3 1 1\n3 5 4 1 1\n";
    let (_, reading) = parse_msms(vert.as_bytes(), face.as_bytes()).unwrap();
    let none = [0.0; 3];
    assert_eq!(reading.normals, Some(vec![none, [0.0, 0.0, 1.0], none, none]));
    let bare = vert.replace(" 0 1 0\n", "\n").replace(" 0 0 1 0 17 2", "").replace("nan 0 1", "");
    assert_eq!(parse_msms(bare.as_bytes(), face.as_bytes()).unwrap().1.normals, None);

    // Vertices that are stitched: their mean.
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let vert = "0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 1\n1 0 0 0 1 0\n1 1 0 1 0 0\n0 1 0 0 0 1\n";
    std::fs::write(place.join("normals.vert"), vert).unwrap();
    std::fs::write(place.join("normals.face"), "1 2 3\n4 5 6\n").unwrap();
    let (mesh, reading) = files::read(&place.join("normals.vert")).unwrap();
    assert_eq!(mesh.vertices.len(), 4);
    let up = [0.0, 0.0, 1.0];
    assert_eq!(reading.normals, Some(vec![up, [0.0, 0.5, 0.5], up, [1.0, 0.0, 0.0]]));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless");
    std::fs::create_dir_all(&folder).unwrap();
    for ending in ["msh", "off", "ply", "stl", "vert", "face"] {
        let link = folder.join(format!("x.{ending}"));
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    }
    for ending in ["msh", "off", "ply", "stl"] {
        let message = files::read(&folder.join(format!("x.{ending}"))).unwrap_err().to_string();
        assert!(message.contains("is not a file but a device or a pipe"), "{message}");
    }
    assert!(files::read(&folder.join("x.vert")).is_err());
    let of_folder = folder.join("folder.stl");
    std::fs::create_dir_all(&of_folder).unwrap();
    let message = files::read(&of_folder).unwrap_err().to_string();
    let part = "is not a file but a folder; surfaces and atoms are read from files alone";
    assert!(message.contains(part), "{message}");
}

#[test]
fn solids_of_a_text_file_are_groups() {
    let text = stl_text(&cube()) + &stl_text(&sphere()).replace("solid body", "solid the ball");
    let mesh = parse(Format::Stl, text);
    let labels: Vec<String> = mesh.groups.iter().map(mesh::PhysicalGroup::label).collect();
    assert_eq!(labels, ["body", "the ball"]);
    assert_eq!(mesh.groups_of(0), [0]);
    assert_eq!(mesh.groups_of(mesh.triangles.len() - 1), [1]);
}

#[test]
fn off_allows_what_programs_write() {
    let tetrahedron = "# a comment\nCOFF 4 4 6 # counts\n0 0 0 255 0 0\n\n1 0 0 1 1 1\n0 1 0 1 1 1\n0 0 1 1 1 1\n\
                       3 0 2 1 255 0 0\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";
    let mesh = parse(Format::Off, tetrahedron);
    assert!((Report::of(&mesh).unwrap().whole.signed_volume - 1.0 / 6.0).abs() < 1e-15);
    // Without the keyword, with a quadrangle whose other diagonal is shorter, a line and a vertex
    // that nothing uses.
    let (mesh, reading) =
        files::parse(Format::Off, b"5 2 0\n0 0 0\n3 0 0\n3 1 0\n1 1 0\n9 9 9\n4 0 1 2 3\n2 0 1\n")
            .unwrap()
            .unwrap();
    assert_eq!(mesh.triangles, [[0, 1, 3], [1, 2, 3]]);
    assert_eq!(mesh.vertices.len(), 4);
    assert_eq!(reading.elements, [("quadrangle".into(), 1), ("line or point".into(), 1)]);
    assert_eq!(
        reading.notes,
        [
            "1 quadrangle is split along its shorter diagonal",
            "1 face of less than three corners is left out"
        ]
    );
}

/// Contents of a format and parts of the messages that refuse them.
#[track_caller]
fn all_refused(format: Format, cases: &[(&str, &str)]) {
    for (text, part) in cases {
        let message = refused(format, text);
        assert!(message.contains(part), "{text:?}: {message}");
    }
}

#[test]
fn errors_in_off_name_the_line_and_what_was_expected() {
    let cases = [
        ("OOF\n1 1 1\n", "line 1: expected OFF, the first word of the format, found \"OOF\""),
        ("4OFF\n1 1 1\n", "line 1: points of four or more coordinates"),
        ("OFF BINARY\n", "line 1: binary OFF is not read"),
        ("OFF\n3 one 0\n", "line 2: expected the number of faces, found \"one\""),
        (
            "OFF\n3 1 0\n0 0 0\n1 0\n0 1 0\n3 0 1 2\n",
            "line 4: expected a coordinate, found the end of the line",
        ),
        (
            "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 nan\n3 0 1 2\n",
            "line 5: expected a coordinate, found \"nan\"",
        ),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 1e101\n3 0 1 2\n", "line 5: the coordinate"),
        (
            "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n",
            "line 6: there is no vertex 3: the 3 vertices are numbered from 0",
        ),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n5 0 1 2 0 1\n", "line 6: a face has 5 corners"),
        (
            "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
            "line 6: the file ends where a face should come",
        ),
        (
            "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1 2\n",
            "line 7: expected the end of the file",
        ),
        ("OFF\n0 0 0\n", "no triangles"),
        ("OFF\n4000000000 1 0\n0 0 0\n", "line 2: 4000000000 vertices are announced"),
        ("", "line 1: the file ends"),
    ];
    all_refused(Format::Off, &cases);
}

#[test]
fn errors_in_ply_name_the_line_and_what_was_expected() {
    let cases = [
        ("plx\n", "line 1: this is no PLY file"),
        ("ply\nformat ascii 2.0\n", "line 2: expected version 1.0"),
        (
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty real x\n",
            "line 4: expected a number type",
        ),
        (
            "ply\nformat ascii 1.0\nelement vertex 1\nend_header\n",
            "these are points without a surface",
        ),
        (
            "ply\nformat ascii 1.0\nproperty int x\n",
            "line 3: expected an element before its properties",
        ),
        (
            "ply\nformat ascii 1.0\nelement tristrips 1\nend_header\n",
            "line 3: triangle strips are not read",
        ),
        ("ply\nelement vertex 1\n", "line 2: the file ends"),
        ("ply\nelement vertex 1\nend_header\n", "the header has no line \"format ...\""),
        ("ply\nformat ascii 1.0\nend_header\n", "there is no element \"vertex\""),
        (
            "ply\nformat ascii 1.0\nelement face 1\nelement vertex 3\nend_header\n",
            "the faces come before the vertices, which must come first",
        ),
        (
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nelement face 1\nend_header\n",
            "the element \"vertex\" must have one property \"y\" that is a number",
        ),
        (
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
             element face 1\nproperty int vertex_indices\nend_header\n",
            "the element \"face\" must have one list of whole numbers \"vertex_indices\"",
        ),
    ];
    all_refused(Format::Ply, &cases);
    let endless = format!("ply\nformat ascii 1.0\n{}", "comment\n".repeat(200_000));
    let message = refused(Format::Ply, endless);
    assert!(message.contains("the header does not end; it must have a line"), "{message}");
}

#[test]
fn errors_in_stl_name_the_line_and_what_was_expected() {
    let cases = [
        ("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n", "line 4: expected a coordinate"),
        (
            "solid a\nfacet normal 0 0 1\nouter loop\nvertx 0 0 0\n",
            "line 4: expected vertex, found \"vertx\"",
        ),
        ("solid a\nendsolid a\n", "no triangles"),
        ("nothing", "byte 0: this is no STL file"),
    ];
    all_refused(Format::Stl, &cases);
}

#[test]
fn binary_errors_name_the_byte() {
    let whole = ply_binary(&sphere(), false);
    let message = refused(Format::Ply, &whole[..whole.len() - 1]);
    let end = format!("byte {}: the file ends where the number of a vertex", whole.len() - 1);
    assert!(message.starts_with(&end), "{message}");
    let text = String::from_utf8_lossy(&whole[..300]).replacen("vertex 38", "vertex 4000000000", 1);
    let message = refused(Format::Ply, text.as_bytes());
    assert!(
        message.starts_with("line 4: 4000000000 records of an element are announced"),
        "{message}"
    );
    let mut wrong = whole.clone();
    let last = wrong.len() - 4;
    wrong[last..].copy_from_slice(&1000i32.to_le_bytes());
    assert!(
        refused(Format::Ply, &wrong).starts_with(&format!("byte {last}: there is no vertex 1000"))
    );

    let mut stl = stl_binary(&sphere());
    stl[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    stl[0] = b'x';
    assert!(refused(Format::Stl, &stl).starts_with("byte 80: 4294967295 triangles are announced"));
    let mut stl = stl_binary(&sphere());
    let place = 84 + 12;
    stl[place..place + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(refused(Format::Stl, &stl).starts_with(&format!("byte {place}: the coordinate NaN")));
    stl.push(0);
    assert!(
        refused(Format::Stl, &stl).contains("line 1")
            || refused(Format::Stl, &stl).contains("byte")
    );
}

#[test]
fn msms_counts_are_checked_and_the_partner_is_looked_for() {
    let (vert, face) = msms(&sphere(), true);
    let short = vert.lines().take(vert.lines().count() - 1).collect::<Vec<_>>().join("\n");
    let message = parse_msms(short.as_bytes(), face.as_bytes()).unwrap_err().to_string();
    assert_eq!(message, "line 3: 38 vertices are announced, but there are 37");
    let bad = face.replacen("1 17", "1 17\n1 2 x 1 17", 1);
    let message = parse_msms(vert.as_bytes(), bad.as_bytes()).unwrap_err().to_string();
    assert!(message.contains("expected the number of a vertex, found \"x\""), "{message}");

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("msms");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ball.vert"), &vert).unwrap();
    let _ = std::fs::remove_file(folder.join("ball.face"));
    let message = files::read(&folder.join("ball.vert")).unwrap_err().to_string();
    assert!(message.contains("ball.face is not there"), "{message}");
    std::fs::write(folder.join("ball.face"), &face).unwrap();
    for name in ["ball.vert", "ball.face"] {
        let (mesh, reading) = files::read(&folder.join(name)).unwrap();
        same(&mesh, &sphere(), 1e-6);
        assert_eq!(reading.format, "MSMS, ASCII");
    }
}

#[test]
fn the_ending_chooses_the_format() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("endings");
    std::fs::create_dir_all(&folder).unwrap();
    let mesh = sphere();
    let mut msh = Vec::new();
    gmsh::write(&mesh, gmsh::Encoding::Ascii, &mut msh).unwrap();
    let all = [
        ("a.msh", msh, "MSH 4.1, ASCII"),
        ("a.OFF", off(&mesh).into_bytes(), "OFF, ASCII"),
        ("a.ply", ply_binary(&mesh, true), "PLY, binary, big-endian"),
        ("a.stl", stl_binary(&mesh), "STL, binary"),
    ];
    for (name, bytes, format) in all {
        std::fs::write(folder.join(name), bytes).unwrap();
        let (read, reading) = files::read(&folder.join(name)).unwrap();
        assert_eq!(read.triangles.len(), 72);
        assert_eq!(reading.format, format);
        assert_eq!(reading.elements.iter().map(|(_, n)| n).sum::<usize>(), 72);
    }
    let message = files::read(&folder.join("a.step")).unwrap_err().to_string();
    assert!(
        message.contains("\".step\" is none that is known") && message.contains(".stl"),
        "{message}"
    );
    let message = files::read(&folder.join("a")).unwrap_err().to_string();
    assert!(message.contains("this name has none"), "{message}");
    let message = files::read(&folder.join("none.off")).unwrap_err().to_string();
    assert!(message.contains("none.off: cannot be read"), "{message}");
}

fn samples() -> Vec<(Format, Vec<u8>)> {
    let mesh = sphere();
    vec![
        (Format::Off, off(&mesh).into_bytes()),
        (Format::Ply, ply_text(&mesh)),
        (Format::Ply, ply_binary(&mesh, false)),
        (Format::Ply, ply_binary(&mesh, true)),
        (Format::Stl, stl_text(&mesh).into_bytes()),
        (Format::Stl, stl_binary(&mesh)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is cut out, put in or changed: a valid mesh or an error.
    #[test]
    fn no_bytes_break_a_reader(
        sample in 0usize..6,
        at in 0usize..100_000,
        cut in 0usize..30,
        put in prop::collection::vec(any::<u8>(), 0..12),
        early in any::<bool>(),
    ) {
        let (format, bytes) = samples().swap_remove(sample);
        // Half of the changes go where the counts are.
        let at = at % if early { bytes.len().min(300) } else { bytes.len() };
        let end = (at + cut).min(bytes.len());
        let changed = [&bytes[..at], &put, &bytes[end..]].concat();
        if let Ok((mesh, _)) = files::parse(format, &changed).unwrap() {
            prop_assert_eq!(mesh.validate(), Ok(()));
        }
        let (vert, face) = msms(&sphere(), early);
        let at = at % vert.len();
        let changed = [&vert.as_bytes()[..at], &put, &vert.as_bytes()[(at + cut).min(vert.len())..]].concat();
        if let Ok((mesh, _)) = parse_msms(&changed, face.as_bytes()) {
            prop_assert_eq!(mesh.validate(), Ok(()));
        }
    }
}
