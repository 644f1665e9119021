use crate::bezier::of_control_points;
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::internals::bezier::Bezier;
use mesh::internals::sheet::Sheet;
use mesh::patch::MAX_ORDER;
use mesh::vector::{Vector, cross, dot, norm, scale, sub};
use mesh::{Mesh, Patches};

#[test]
fn sheets_go_through_triangles_that_are_not_seen_edge_on() {
    for unit in [1e-3, 1.0, 1e3] {
        let through = |third: Vector| {
            let corners = [[0.0; 3], [unit, 0.0, 0.0], scale(unit, third)];
            let mesh =
                Mesh { vertices: corners.to_vec(), triangles: vec![[0, 1, 2]], ..Mesh::default() };
            let patch = Bezier::of(2, Patches::straight(&mesh, 2).of(0));
            Sheet::through(&patch, [0.0, 0.0, 1.0])
        };
        let sheet = through([0.0, 1.0, 0.5]).unwrap();
        assert_eq!((sheet.bend, sheet.plane), ([0.0; 3], [0.0, 0.0, 0.5]));
        assert!(through([0.0, 0.0, 1.0]).is_none() && through([2.0, 0.0, 1.0]).is_none());
    }
}

#[test]
fn heights_are_within_their_bounds_which_go_with_the_third_power_of_the_size() {
    for order in 2..=MAX_ORDER {
        let mut last = f64::INFINITY;
        for elements in [320, 1280, 5120] {
            let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(elements));
            let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(order).unwrap();
            let patch = Bezier::of(order, mesh.patches.as_ref().unwrap().of(7));
            let [a, b, c] = patch.corners();
            let normal = cross(sub(b, a), sub(c, a));
            let normal = scale(1.0 / norm(normal), normal);
            let sheet = Sheet::through(&patch, normal).unwrap();
            let seen = sheet.seen(&patch);
            for at in [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8]] {
                let [x, y, z] =
                    sheet.axes.map(|axis| dot(axis, sub(of_control_points(&patch, at), a)));
                let height = z - sheet.plane[1] * x - sheet.plane[2] * y - sheet.bent(x, y);
                let [low, high] = seen.heights;
                assert!(low - 1e-15 <= height && height <= high + 1e-15);
                let flat: f64 = (0..3).map(|k| at[k] * seen.corners[k][2]).sum();
                assert!((height - flat).abs() <= seen.off[1] + 1e-15);
            }
            let width = seen.heights[1] - seen.heights[0];
            assert!(width < last / 6.0 && width < 0.1 * patch.bulge(), "{order}: {width} {last}");
            last = width;
        }
    }
}
