use mesh::Mesh;
use mesh::cells::bounded;
use mesh::generate::{ConcentricSpheres, Cube, Resolution, SphereBase};
use mesh::vector::{norm, sub};

/// A cube of edge 2 with a wall in the plane x = 0, on which half of a sheet juts out.
fn walled() -> Mesh {
    let resolution = Resolution::Elements(48);
    let mut mesh = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    let vertex =
        |x: [f64; 3]| mesh.vertices.iter().position(|v| norm(sub(*v, x)) < 1e-9).unwrap() as u32;
    let corners = [[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]];
    let middles = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];
    let ring: Vec<u32> = (0..4).flat_map(|k| [vertex(corners[k]), vertex(middles[k])]).collect();
    let bottom = vertex([0.0, 0.0, -1.0]);
    mesh.vertices.push([0.0; 3]);
    mesh.vertices.push([0.5, 0.0, -0.5]);
    let centre = mesh.vertices.len() as u32 - 2;
    for k in 0..8 {
        let (a, b) = (ring[k], ring[(k + 1) % 8]);
        // Whichever way round.
        mesh.triangles.push(if k % 2 == 0 { [a, b, centre] } else { [b, a, centre] });
    }
    mesh.triangles.push([bottom, centre, centre + 1]);
    mesh.membership.resize(mesh.triangles.len(), 0);
    mesh
}

#[test]
fn a_wall_makes_two_cells_and_a_sheet_none() {
    let mut mesh = walled();
    mesh.triangles.iter_mut().step_by(3).for_each(|t| t.swap(0, 1));
    let found = bounded(&mesh, |_| true);
    assert_eq!(found.len(), 2);
    for region in &found {
        assert!((region.volume - 4.0).abs() < 1e-12, "{}", region.volume);
        // Five faces, four of them half, and the wall.
        assert_eq!(region.boundary.len(), 24 + 8);
    }
    let inside = |x: f64| -> Vec<bool> {
        found.iter().map(|region| region.contains([x, 0.3, 0.2])).collect()
    };
    let (left, right) = (inside(-0.5), inside(0.5));
    assert!(left != right && left.iter().filter(|is| **is).count() == 1, "{left:?} {right:?}");
    assert_eq!(right.iter().filter(|is| **is).count(), 1);
}

/// A lens: two triangles with the same corners and sides, and one through the middle, flat.
#[test]
fn triangles_on_the_same_corners_bound_the_space_between_them() {
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let mut mesh = Mesh {
        vertices: corners.to_vec(),
        triangles: vec![[0, 1, 2]; 3],
        membership: vec![0; 3],
        memberships: vec![vec![]],
        ..Mesh::default()
    };
    let mut patches = mesh::Patches::straight(&mesh, 3);
    for (t, height) in [(0, 0.2), (1, -0.1)] {
        patches.of_mut(t)[9][2] = height;
    }
    mesh.patches = Some(patches);
    assert!(mesh::check::Defects::of(&mesh).is_empty());
    let mut volumes: Vec<f64> = bounded(&mesh, |_| true).iter().map(|r| r.volume).collect();
    volumes.sort_by(f64::total_cmp);
    // The bubble 27 u v w has an integral of 9 / 40 of the area.
    let expected = [0.1, 0.2].map(|height| height * 0.5 * 9.0 / 20.0);
    assert_eq!(volumes.len(), 2);
    assert!(
        volumes.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12),
        "{volumes:?} {expected:?}"
    );
    let mut same = mesh.clone();
    same.triangles.push([1, 0, 2]);
    same.membership.push(0);
    let patches = same.patches.as_mut().unwrap();
    patches.nodes.extend_from_within(10..20);
    mesh::curved::reverse(3, patches.of_mut(3));
    patches.of_mut(3).copy_from_slice(&turned(mesh.patches.as_ref().unwrap().of(1)));
    same.validate().unwrap();
    assert_eq!(mesh::check::Defects::of(&same).duplicates.len(), 1);
}

/// The nodes of a triangle that begins at the second corner and goes the other way round.
fn turned(nodes: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let places = mesh::patch::node_places(3);
    let from = |place: &[usize; 3]| {
        places.iter().position(|p| *p == [place[1], place[0], place[2]]).unwrap()
    };
    places.iter().map(|place| nodes[from(place)]).collect()
}

#[test]
fn parts_without_common_edges_are_surfaces_of_their_own() {
    let (resolution, base) = (Resolution::Elements(144), SphereBase::Octahedron);
    let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
    let mesh = spheres.build().unwrap();
    let found = bounded(&mesh, |_| true);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|region| region.contains([0.1, 0.2, 0.0])));
    // Open, it encloses nothing.
    assert_eq!(bounded(&mesh, |t| t > 0).len(), 1);
}
