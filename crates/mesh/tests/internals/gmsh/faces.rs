use mesh::gmsh::ReadReport;
use mesh::internals::gmsh::faces::{Faces, NONE, same_orientation};
use std::collections::HashMap;

#[test]
fn orientation_is_that_of_the_cycle() {
    assert!(same_orientation([1, 2, 3, NONE], [3, 1, 2, NONE]));
    assert!(!same_orientation([1, 2, 3, NONE], [1, 3, 2, NONE]));
    assert!(same_orientation([1, 2, 3, 4], [2, 3, 4, 1]));
    assert!(!same_orientation([1, 2, 3, 4], [4, 3, 2, 1]));
}

#[test]
fn turning_over_keeps_the_first_corner() {
    let mut faces = Faces::default();
    faces.push(&[1, 2, 3], 0, true);
    faces.push(&[1, 2, 3, 4], 0, true);
    assert_eq!(faces.corners, [[1, 3, 2, NONE], [1, 4, 3, 2]]);
}

#[test]
fn quadrangles_are_cut_along_the_shorter_diagonal() {
    let vertices = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut faces = Faces::default();
    faces.push(&[0, 1, 2, 3], 0, false);
    let mesh = faces.into_mesh(&vertices, &HashMap::new(), &mut ReadReport::default());
    assert_eq!(mesh.unwrap().triangles, [[0, 1, 3], [1, 2, 3]]);
}
