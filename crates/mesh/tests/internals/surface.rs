use mesh::{InvalidMesh, Mesh, Patches, PhysicalGroup};

fn triangle() -> Mesh {
    Mesh {
        vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        triangles: vec![[0, 1, 2]],
        membership: vec![0],
        memberships: vec![vec![]],
        ..Mesh::default()
    }
}

#[test]
fn validation_finds_each_kind_of_fault() {
    assert_eq!(triangle().validate(), Ok(()));
    let mut mesh = triangle();
    mesh.triangles[0][1] = 3;
    assert!(matches!(mesh.validate(), Err(InvalidMesh::VertexIndex { vertex: 3, .. })));
    let mut mesh = triangle();
    mesh.vertices[2][1] = f64::NAN;
    assert!(matches!(mesh.validate(), Err(InvalidMesh::Coordinate { vertex: 2, .. })));
    let mut mesh = triangle();
    mesh.membership.clear();
    assert!(matches!(mesh.validate(), Err(InvalidMesh::Membership { .. })));
    let mut mesh = triangle();
    mesh.memberships[0].push(0);
    assert!(matches!(mesh.validate(), Err(InvalidMesh::GroupIndex { .. })));
    let mut mesh = triangle();
    mesh.patches = Some(Patches { order: 2, nodes: Vec::new() });
    assert!(matches!(mesh.validate(), Err(InvalidMesh::Patches { triangles: 1 })));
    // A node between corners is named by a vertex of its triangle.
    let mut mesh = triangle();
    mesh.vertices.push([1.0, 1.0, 0.0]);
    mesh.triangles.push([3, 2, 1]);
    mesh.membership.push(0);
    let mut patches = Patches::straight(&mesh, 2);
    patches.of_mut(1)[4][2] = f64::INFINITY;
    mesh.patches = Some(patches);
    assert!(matches!(mesh.validate(), Err(InvalidMesh::Coordinate { vertex: 3, .. })));
}

/// A mesh made by hand, without the arrays of groups: not valid, but no reason to panic.
#[test]
fn triangles_that_no_array_mentions_are_in_no_group() {
    let bare = Mesh { membership: vec![], memberships: vec![], ..triangle() };
    assert!(bare.groups_of(0).is_empty());
    assert_eq!(mesh::topology::Topology::of(&bare).components.len(), 1);
}

#[test]
fn unnamed_groups_are_called_by_their_tag() {
    assert_eq!(PhysicalGroup { tag: 7, name: None }.label(), "group_7");
    assert_eq!(PhysicalGroup { tag: 7, name: Some("gate".into()) }.label(), "gate");
}
