//! Curved panels: their maps, parts and images.

use std::array;

use bem::internals::geometry::Vec3;
use bem::internals::geometry::patch::{Parameters, Part, Patch, places};
use mesh::patch::MAX_ORDER;
use simd::{One, Simd};

/// A patch of each order that is not flat.
fn bent(order: usize) -> Patch {
    let node = |&[s, t]: &Parameters| {
        Vec3::new(0.3 + s + 0.1 * t * s, 0.2 + t - 0.05 * s * s, 0.1 * (s * s + s * t * t))
    };
    let nodes: Vec<Vec3> = places(order).iter().map(node).collect();
    Patch::through(order, &nodes)
}

#[test]
fn patches_go_through_their_nodes_and_parts_are_parts() {
    for order in 1..=MAX_ORDER {
        let patch = bent(order);
        assert_eq!(patch.is_straight(), order == 1);
        let corners = [[0.1, 0.2], [0.6, 0.1], [0.2, 0.7]];
        let part = patch.part(&Part::between(corners));
        for [s, t] in [[0.0, 0.0], [0.3, 0.4], [1.0, 0.0], [0.5, 0.5]] {
            let at = array::from_fn(|k| {
                corners[0][k]
                    + s * (corners[1][k] - corners[0][k])
                    + t * (corners[2][k] - corners[0][k])
            });
            assert!((part.at([s, t]) - patch.at(at)).norm() < 1e-14);
            // The determinant of the map of parameters.
            let det = 0.5 * 0.5 - 0.1 * -0.1;
            assert!((part.normal([s, t]) - patch.normal(at) * det).norm() < 1e-13);
            let of_lane = |v: One<f64>| v.lanes()[0];
            let (s, t) = (One::splat(at[0]), One::splat(at[1]));
            let x = Vec3::from(patch.lanes(s, t).map(of_lane));
            let n = Vec3::from(patch.tangents().normals(order, s, t).map(of_lane));
            assert!((x - patch.at(at)).norm() < 1e-15);
            assert!((n - patch.normal(at)).norm() < 1e-14);
            // Its image in x = 0.3.
            let image = patch.moved_to(&[-1.0, 1.0, 1.0], &[0.6, 0.0, 0.0], true);
            let mirrored = image.at([at[1], at[0]]);
            let expected = patch.at(at);
            assert!(
                (mirrored - Vec3::new(0.6 - expected.x, expected.y, expected.z)).norm() < 1e-15
            );
            let n = image.normal([at[1], at[0]]);
            let expected = patch.normal(at);
            assert!((n - Vec3::new(-expected.x, expected.y, expected.z)).norm() < 1e-14);
        }
        let differences = patch.nodes().zip(places(order)).map(|(x, &p)| (x - patch.at(p)).norm());
        assert!(differences.fold(0.0, f64::max) < 1e-15);
    }
}
