use mesh::vector::{Vector, max_norm, sub};
use mesh::weld::first_at;
use proptest::prelude::*;

/// The definition, point by point.
fn slowly(points: &[Vector], tolerance: f64) -> Vec<u32> {
    let mut kept: Vec<u32> = Vec::new();
    let near = |a: u32, b: usize| max_norm(sub(points[a as usize], points[b])) <= tolerance;
    (0..points.len())
        .map(|index| {
            kept.iter().copied().find(|&k| near(k, index)).unwrap_or_else(|| {
                kept.push(index as u32);
                index as u32
            })
        })
        .collect()
}

proptest! {
    /// Points a few tolerances apart share cells, which must not hide one from the other.
    #[test]
    fn points_are_joined_within_the_tolerance_and_only_then(
        grid in prop::collection::vec(prop::array::uniform3(-6i32..6), 1..60),
        step in 0.2f64..1.2,
        shift in -1e3f64..1e3,
    ) {
        let points: Vec<Vector> =
            grid.iter().map(|p| p.map(|i| step * f64::from(i) + shift)).collect();
        let found = first_at(&points, 1.0);
        prop_assert_eq!(&found, &slowly(&points, 1.0));
        for (i, p) in points.iter().enumerate() {
            for (j, q) in points.iter().enumerate() {
                prop_assert!(p != q || found[i] == found[j]);
            }
        }
    }
}
