use mesh::internals::gmsh::kinds::{ElementKind, FIXED, Shape, VARIABLE};

#[test]
fn types_are_found_once_and_named() {
    assert_eq!(ElementKind::of(9).unwrap().name(), "6-node triangle");
    assert_eq!(ElementKind::of(16).unwrap().surface_corners(), Some(4));
    assert_eq!(ElementKind::of(4).unwrap().surface_corners(), None);
    assert_eq!(ElementKind::of(34).unwrap(), ElementKind { shape: Shape::Polygon, nodes: None });
    for bad in [-1, 0, 76, 84, 141, 258, i64::MAX] {
        assert_eq!(ElementKind::of(bad), None);
    }
    let mut all: Vec<u8> = FIXED.iter().flat_map(|(_, types)| *types).map(|t| t.0).collect();
    all.extend(VARIABLE.map(|t| t.0));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}
