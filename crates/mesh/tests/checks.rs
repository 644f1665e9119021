//! Topology, defects and conductors on meshes with known faults, at every scale and far from the
//! origin.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::{Duplicate, Report, Warning};
use mesh::conductors::{Error, Request, UNGROUPED, assign};
use mesh::generate::{Cube, Plate, Resolution, SphereBase, TwoSpheres};
use mesh::topology::Orientation;
use mesh::{InvalidMesh, Mesh, PhysicalGroup};

fn cube(grade: f64) -> Mesh {
    Cube { edge: 1.0, grade, resolution: Resolution::Elements(12 * 64) }.build().unwrap()
}

fn spheres() -> Mesh {
    TwoSpheres {
        radius: 1.0,
        distance: 3.0,
        base: SphereBase::Octahedron,
        resolution: Resolution::Elements(400),
    }
    .build()
    .unwrap()
}

fn surface(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Mesh {
    Mesh {
        vertices: vertices.to_vec(),
        triangles: triangles.to_vec(),
        groups: Vec::new(),
        membership: vec![0; triangles.len()],
        memberships: vec![Vec::new()],
        patches: None,
    }
}

const CORNERS: [[f64; 3]; 5] =
    [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];

/// Every combination of scale and shift that must not matter.
fn moved(mesh: &Mesh) -> Vec<Mesh> {
    let mut all = Vec::new();
    for scale in [1e-9, 1.0, 1e9, 1e-60, 1e60] {
        for shift in [0.0, 1000.0] {
            let mut mesh = mesh.clone();
            for vertex in &mut mesh.vertices {
                *vertex = [0, 1, 2].map(|i| scale * (vertex[i] + shift * [1.0, -0.7, 0.4][i]));
            }
            all.push(mesh);
        }
    }
    all
}

#[test]
fn sound_meshes_are_sound_at_every_scale() {
    for grade in [1.0, 1000.0] {
        for mesh in moved(&cube(grade)) {
            let report = Report::of(&mesh).unwrap();
            assert!(report.defects.is_empty(), "{}", report.defects);
            assert_eq!(report.warnings(), []);
            assert_eq!((report.components.len(), report.coincident_vertices), (1, 0));
            assert_eq!(report.components[0].part.orientation(), Orientation::Outward);
        }
    }
}

#[test]
fn defects_are_found_at_every_scale() {
    let mut mesh = cube(1000.0);
    let count = mesh.triangles.len() as u32;
    // The first triangle again, turned; a copy of the second with vertices of its own; a line; a
    // point.
    let [a, b, c] = mesh.triangles[0];
    let [d, e, f] = mesh.triangles[1].map(|v| mesh.vertices[v as usize]);
    let next = mesh.vertices.len() as u32;
    mesh.vertices.extend([e, f, d, [0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0.7, 1.4, 2.1]]);
    mesh.triangles.extend([[b, a, c], [next, next + 1, next + 2]]);
    mesh.triangles.extend([[next + 3, next + 4, next + 5], [a, a, a], [a, b, a]]);
    mesh.membership.extend([0; 5]);
    for mesh in moved(&mesh) {
        let report = Report::of(&mesh).unwrap();
        assert_eq!(report.defects.zero_area, [count + 2, count + 3, count + 4]);
        assert_eq!(
            report.defects.duplicates,
            [
                Duplicate { triangle: count, original: 0 },
                Duplicate { triangle: count + 1, original: 1 }
            ]
        );
        assert_eq!(report.coincident_vertices, 3);
        let text = report.defects.to_string();
        assert!(text.contains("3 triangles of zero area") && text.lines().count() == 2, "{text}");
    }
}

#[test]
fn orientation_is_reported() {
    let mut mesh = spheres();
    for triangle in &mut mesh.triangles[..200] {
        triangle.reverse();
    }
    let last = mesh.triangles.len() - 1;
    mesh.triangles[last].reverse();
    for mesh in moved(&mesh) {
        let report = Report::of(&mesh).unwrap();
        let label = |label: &str| label.to_string();
        assert_eq!(
            report.warnings(),
            [
                Warning::Inward { label: label("left") },
                Warning::Inconsistent { label: label("right"), edges: 3 }
            ]
        );
        assert!(report.groups.iter().all(|group| group.part.closed));
    }
}

#[test]
fn open_and_branching_surfaces_are_reported() {
    let sheet = surface(&CORNERS, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
    let report = Report::of(&sheet).unwrap();
    assert_eq!(report.non_manifold_edges, [[0, 1]]);
    assert_eq!((report.whole.edges, report.whole.boundary_edges), (7, 6));
    assert!(!report.whole.closed);
    assert!(report.warnings().contains(&Warning::NonManifold { edges: 1 }));
    // Two tetrahedra with a wall between them have no boundary, but three triangles at its sides.
    let walled = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [0, 1, 4], [0, 4, 3], [1, 3, 4]];
    let report = Report::of(&surface(&CORNERS, &walled)).unwrap();
    assert_eq!((report.whole.boundary_edges, report.whole.closed), (0, false));
    let warning = report.warnings()[0].to_string();
    assert!(warning.contains("no boundary but is not closed: three of its triangles"), "{warning}");
    // The tetrahedron is closed, as are two of them that share an edge.
    let tetrahedron = surface(&CORNERS, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]);
    let report = Report::of(&tetrahedron).unwrap();
    assert_eq!(report.whole.orientation(), Orientation::Outward);
    assert!((report.whole.signed_volume - 1.0 / 6.0).abs() < 1e-15);
    assert!((report.quality.area - 1.5 - 0.75f64.sqrt()).abs() < 1e-15);
    assert!((report.quality.min_angle.min - 45.0).abs() < 1e-12);
    assert!((report.quality.aspect_ratio.min - 1.0).abs() < 1e-12);
}

#[test]
fn unwelded_meshes_are_reported() {
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution: Resolution::Elements(8) };
    let welded = plate.build().unwrap();
    let corners: Vec<[f64; 3]> = (0..8).flat_map(|t| welded.corners(t)).collect();
    let soup: Vec<[u32; 3]> = (0..8).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    for mesh in moved(&surface(&corners, &soup)) {
        let report = Report::of(&mesh).unwrap();
        assert_eq!((report.components.len(), report.coincident_vertices), (8, 24 - 9));
        assert!(report.warnings().contains(&Warning::Coincident { vertices: 15 }));
        assert!(report.loose().is_some());
    }
}

#[test]
fn nothing_is_no_trouble() {
    let report = Report::of(&surface(&[], &[])).unwrap();
    assert!(report.defects.is_empty() && report.components.is_empty() && !report.whole.closed);
    let broken = surface(&CORNERS, &[[0, 1, 9]]);
    assert!(matches!(Report::of(&broken), Err(InvalidMesh::VertexIndex { vertex: 9, .. })));
}

fn request(name: &str, groups: &[&str]) -> Request {
    Request { name: name.into(), groups: groups.iter().map(ToString::to_string).collect() }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn conductors_follow_requests_groups_or_components() {
    let mut mesh = spheres();
    let half = mesh.triangles.len() / 2;
    let both = assign(&mesh, &[], &[]).unwrap();
    assert_eq!(both.names, ["left", "right"]);
    assert!(both.of_triangle[..half].iter().all(|c| *c == Some(0)));
    assert!(both.of_triangle[half..].iter().all(|c| *c == Some(1)));
    let swapped = assign(&mesh, &[request("b", &["right"]), request("a", &["left"])], &[]).unwrap();
    assert_eq!((swapped.names[0].as_str(), swapped.of_triangle[0]), ("b", Some(1)));
    let one = assign(&mesh, &[request("pair", &["left", "right"])], &[]).unwrap();
    assert!(one.of_triangle.iter().all(|c| *c == Some(0)));
    let right = assign(&mesh, &[], &strings(&["left"])).unwrap();
    assert_eq!((right.names, right.of_triangle[0]), (strings(&["right"]), None));
    mesh.groups[1].name = None;
    assert_eq!(assign(&mesh, &[], &[]).unwrap().names, ["left", "group_2"]);
    mesh.groups.clear();
    mesh.memberships.truncate(1);
    mesh.membership.fill(0);
    let bodies = assign(&mesh, &[], &[]).unwrap();
    assert_eq!(bodies.names, ["body_1", "body_2"]);
    assert_eq!((bodies.of_triangle[0], bodies.of_triangle[half]), (Some(0), Some(1)));
}

#[test]
fn what_is_in_no_group_can_be_one_conductor() {
    let mut mesh = spheres();
    let half = mesh.triangles.len() / 2;
    // One of the bodies in a group, the other in none; then both in none, as in a file of another
    // format.
    mesh.membership[half..].fill(0);
    let requests = [request("a", &["left"]), request("b", &[UNGROUPED])];
    let found = assign(&mesh, &requests, &[]).unwrap();
    assert!(found.of_triangle[..half].iter().all(|c| *c == Some(0)));
    assert!(found.of_triangle[half..].iter().all(|c| *c == Some(1)));
    let twice = assign(&mesh, &requests, &strings(&[UNGROUPED])).unwrap_err();
    assert!(
        matches!(&twice[0], Error::GroupTwice { group, .. } if group == UNGROUPED),
        "{twice:?}"
    );
    // All of one body in the groups of both conductors.
    let mut shared = mesh.clone();
    shared.memberships.push(vec![0, 1]);
    shared.membership.fill(shared.memberships.len() as u32 - 1);
    let requests = [request("a", &["left"]), request("b", &["right"])];
    let found = assign(&shared, &requests, &[]).unwrap_err();
    assert!(matches!(found[0], Error::Shared { triangle: 0, .. }), "{found:?}");
    mesh.groups.clear();
    mesh.memberships.truncate(1);
    mesh.membership.fill(0);
    let one = assign(&mesh, &[request("pair", &[UNGROUPED])], &[]).unwrap();
    assert_eq!(one.names, ["pair"]);
    assert!(one.of_triangle.iter().all(|c| *c == Some(0)));
}

#[test]
fn loose_facets_are_no_conductors() {
    let sphere = spheres();
    // Facets shrunk toward their centres: no vertices that could be shared.
    let shrunk = |t: usize| {
        let corners = sphere.corners(t);
        let centre: [f64; 3] =
            std::array::from_fn(|k| corners.iter().map(|c| c[k]).sum::<f64>() / 3.0);
        corners.map(|c| std::array::from_fn(|k| centre[k] + 0.999 * (c[k] - centre[k])))
    };
    let vertices: Vec<[f64; 3]> = (0..40).flat_map(shrunk).collect();
    let triangles: Vec<[u32; 3]> = (0..40).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let mesh = surface(&vertices, &triangles);
    let found = assign(&mesh, &[], &[]).unwrap_err();
    assert!(matches!(found[0], Error::Loose(loose) if loose.facets == 40), "{found:?}");
    let text = found[0].to_string();
    assert!(text.starts_with("40 of the 40 bodies are single triangles"), "{text}");
    // One warning, not one for each facet.
    let warnings = Report::of(&mesh).unwrap().warnings();
    assert!(matches!(warnings[..], [Warning::Loose(_)]), "{warnings:?}");
    // As one conductor, or as groups, they can be computed with.
    assert!(assign(&mesh, &[request("all", &[UNGROUPED])], &[]).is_ok());
}

#[test]
fn all_problems_of_conductors_are_found_and_named() {
    let mut mesh = spheres();
    let requests = [
        request("a", &["Lefft", "right"]),
        request("a", &[]),
        request("b", &["right", "nowhere at all"]),
    ];
    let problems = assign(&mesh, &requests, &strings(&["rigth"])).unwrap_err();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 6, "{texts:#?}");
    assert!(texts[0].contains("\"rigth\" to ignore; did you mean \"right\"?"), "{}", texts[0]);
    assert!(texts[1].contains("conductor \"a\" lists; did you mean \"left\"?"), "{}", texts[1]);
    assert_eq!(problems[2], Error::RepeatedName("a".into()));
    assert_eq!(problems[3], Error::NoGroups("a".into()));
    assert!(texts[4].contains("in conductor \"a\" and in conductor \"b\""), "{}", texts[4]);
    assert!(texts[5].ends_with("it has \"left\" and \"right\""), "{}", texts[5]);

    let missing = assign(&mesh, &[request("a", &["left"])], &[]).unwrap_err();
    let [Error::Unclaimed { count: 200, triangle: 200, groups }] = missing.as_slice() else {
        panic!("{missing:?}");
    };
    assert_eq!(groups, &["right"]);
    assert!(missing[0].to_string().contains("200 triangles are in physical group \"right\""));

    // One triangle in both groups, and two in none.
    mesh.memberships.extend([vec![0, 1]]);
    mesh.membership[7] = 3;
    mesh.membership[8..10].fill(0);
    let problems = assign(&mesh, &[], &[]).unwrap_err();
    let [none, shared] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(none.to_string().contains("2 triangles are in no physical group"), "{none}");
    assert!(none.to_string().contains("\"ungrouped\""), "{none}");
    assert!(shared.to_string().contains("in physical groups \"left\" and \"right\""), "{shared}");
    assert!(shared.to_string().contains("belong to \"left\" and \"right\""), "{shared}");
    mesh.membership[7] = 1;
    assert!(assign(&mesh, &[], &strings(&[UNGROUPED])).is_ok());

    mesh.groups.push(PhysicalGroup { tag: 9, name: Some("left".into()) });
    let problems = assign(&mesh, &[], &strings(&[UNGROUPED])).unwrap_err();
    assert!(problems.contains(&Error::AmbiguousGroup("left".into())));
    mesh.groups[2].name = Some("empty".into());
    let problems = assign(&mesh, &[], &strings(&[UNGROUPED])).unwrap_err();
    assert_eq!(problems, [Error::Empty("empty".into())]);
}
