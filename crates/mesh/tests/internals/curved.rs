use mesh::curved::{
    CORNERS, bend, fold, folds, is_straight, least_stretch, part, point, reverse, straight,
    tangents,
};
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::internals::curved::{grid, nodes_at_edges};
use mesh::local_refine::{Sizes, around_points};
use mesh::mirror::{Plane, unfolded};
use mesh::orient::{Facing, face};
use mesh::patch::{MAX_ORDER, node_count};
use mesh::vector::{Vector, add, max_norm, norm, scale, sub};
use mesh::{Mesh, Patches, creases, join, refine, split, stitch};

/// A sphere whose nodes lie on it.
fn sphere(order: usize, elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let base = SphereBase::Octahedron;
    let mut mesh = Sphere { radius: 1.5, base, resolution }.build().unwrap();
    let mut patches = Patches::straight(&mesh, order);
    patches.nodes.iter_mut().for_each(|x| *x = scale(1.5 / norm(*x), *x));
    patches.put_corners(&mesh);
    mesh.patches = Some(patches);
    mesh
}

/// Nodes on shared sides are the same for all triangles there, bit by bit.
fn assert_shared(mesh: &Mesh) {
    mesh.validate().unwrap();
    let patches = mesh.patches.as_ref().unwrap();
    let along = |nodes: &[usize]| -> Vec<Vector> {
        nodes.iter().map(|&node| patches.nodes[node]).collect()
    };
    for edge in nodes_at_edges(mesh, patches.order) {
        assert!(edge.iter().all(|nodes| along(nodes) == along(&edge[0])));
    }
}

#[test]
fn parts_are_exact() {
    for order in 2..=MAX_ORDER {
        let mesh = sphere(order, 8);
        let patches = mesh.patches.as_ref().unwrap();
        let nodes = patches.of(0);
        let corners = [[0.5, 0.5, 0.0], [0.1, 0.7, 0.2], [0.3, 0.0, 0.7]];
        let inner = part(order, nodes, corners, order);
        for at in grid(5) {
            let whole = std::array::from_fn(|m| (0..3).map(|k| at[k] * corners[k][m]).sum::<f64>());
            let off = sub(point(order, &inner, at), point(order, nodes, whole));
            assert!(max_norm(off) < 1e-14, "{order} {at:?} {off:?}");
        }
        // Tangents by differences.
        let (at, step) = ([0.3, 0.3, 0.4], 1e-6);
        let [u, v] = tangents(order, nodes, at);
        for (tangent, way) in [(u, [-step, step, 0.0]), (v, [-step, 0.0, step])] {
            let ahead = point(order, nodes, add(at, way));
            let slope = scale(0.5 / step, sub(ahead, point(order, nodes, sub(at, way))));
            assert!(max_norm(sub(slope, tangent)) < 1e-8);
        }
        let mut turned = nodes.to_vec();
        reverse(order, &mut turned);
        let off = sub(point(order, &turned, [0.2, 0.5, 0.3]), point(order, nodes, [0.2, 0.3, 0.5]));
        assert!(max_norm(off) < 1e-14);
        reverse(order, &mut turned);
        assert_eq!(turned, nodes);
        if order < MAX_ORDER {
            let higher = part(order, nodes, CORNERS, order + 1);
            let off = sub(point(order + 1, &higher, at), point(order, nodes, at));
            assert!(max_norm(off) < 1e-14);
        }
    }
}

#[test]
fn straight_patches_and_folds_are_found() {
    let corners = [[0.1, 0.2, 0.3], [1.3, 0.1, 0.3], [0.7, 1.9, 0.3]];
    for order in 2..=MAX_ORDER {
        let mut nodes = straight(order, corners);
        // A coordinate that all share is kept exactly.
        assert!(nodes.iter().all(|x| x[2] == 0.3));
        assert!(is_straight(order, &nodes) && fold(order, &nodes).is_none());
        nodes[3][2] += 0.1;
        assert!(!is_straight(order, &nodes) && fold(order, &nodes).is_none());
        // A node beyond the middle of the triangle.
        nodes[3][1] += 2.0;
        assert!(fold(order, &nodes).is_some());
        for unit in [1e-90, 1e90] {
            let scaled: Vec<Vector> = nodes.iter().map(|&x| scale(unit, x)).collect();
            assert!(fold(order, &scaled).is_some());
            assert!(fold(order, &straight(order, corners.map(|x| scale(unit, x)))).is_none());
        }
    }
    let mut mesh = sphere(3, 72);
    assert!(folds(&mesh).is_empty());
    let patches = mesh.patches.as_mut().unwrap();
    patches.of_mut(17)[9] = [0.0; 3];
    assert_eq!(folds(&mesh).iter().map(|fold| fold.triangle).collect::<Vec<_>>(), [17]);
}

#[test]
fn whatever_makes_meshes_of_meshes_keeps_their_shape() {
    for order in 2..=MAX_ORDER {
        let mesh = sphere(order, 72);
        assert_shared(&mesh);
        let off = |mesh: &Mesh, steps: usize| -> f64 {
            let points = (0..mesh.triangles.len())
                .flat_map(|t| grid(steps).map(move |at| mesh.point(t, at)));
            points.map(|x| (norm(x) - 1.5).abs()).fold(0.0, f64::max)
        };
        let bound = off(&mesh, 24) * 1.1;
        assert!(bound < 0.05);
        let fine = refine::uniform(&mesh, |_, _| [f64::NAN; 3]).unwrap();
        let finer = refine::uniform(&fine, |_, _| [f64::NAN; 3]).unwrap();
        for fine in [&fine, &finer] {
            assert_shared(fine);
            assert!(off(fine, 3) < bound);
        }
        // A third of the sphere, so that it has creases: its rim.
        let mut open = mesh.clone();
        let left = 24;
        open.triangles.truncate(left);
        open.membership.truncate(left);
        open.patches.as_mut().unwrap().nodes.truncate(left * node_count(order));
        for grading in [0.5, 0.2] {
            for stride in [1, 3] {
                let mut cut = open.clone();
                for _ in 0..3 {
                    let creases = creases::find(&cut, |_| Some(0), 40.0);
                    let all = cut.triangles.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]);
                    let marked: Vec<(u32, u32)> = all.step_by(stride).collect();
                    cut = split::edges(&cut, &creases, &marked, |_| grading).unwrap().mesh;
                    assert_shared(&cut);
                    assert!(off(&cut, 3) < bound, "{order} {grading} {stride}");
                }
            }
        }
        let sizes = Sizes { coarse: 1.0, ratio: 0.7, floor: 1e-6, most: 1 << 20 };
        let near = around_points(&mesh, &[[0.9, 0.9, 0.9]], sizes).unwrap();
        assert!(near.triangles.len() > mesh.triangles.len());
        assert_shared(&near);
        assert!(off(&near, 3) < bound);

        let mut apart = mesh.clone();
        apart.vertices = (0..mesh.triangles.len()).flat_map(|t| mesh.corners(t)).collect();
        apart.triangles =
            (0..mesh.triangles.len() as u32).map(|t| [0, 1, 2].map(|k| 3 * t + k)).collect();
        let shift = 1e-11;
        apart.vertices.iter_mut().step_by(5).for_each(|x| x[0] += shift);
        apart.with_patches(|mesh, patches| {
            patches.put_corners(mesh);
            patches.nodes.iter_mut().step_by(7).for_each(|x| x[1] += shift);
            patches.put_corners(mesh);
        });
        assert!(stitch::stitch(&mut apart) > 0);
        assert_shared(&apart);
    }
}

#[test]
fn turned_joined_and_mirrored_patches_stay_valid() {
    for order in 2..=MAX_ORDER {
        let mesh = sphere(order, 72);
        let mut turned = mesh.clone();
        for t in [0, 5, 6] {
            turned.triangles[t].swap(1, 2);
            reverse(order, turned.patches.as_mut().unwrap().of_mut(t));
        }
        assert_shared(&turned);
        face(&mut turned, Facing::Outward);
        assert_eq!(turned, mesh);

        let flat = Mesh { patches: None, ..mesh.clone() };
        let parts = [&flat, &mesh, &sphere(2, 8)].map(|part| ("a".to_owned(), part.clone()));
        let all = join::joined(parts.to_vec());
        assert_eq!(all.order(), order);
        assert_shared(&all);
        assert!(is_straight(order, all.patches.as_ref().unwrap().of(0)));

        let kept: Vec<usize> =
            (0..72).filter(|&t| mesh.corners(t).iter().all(|x| x[0] > -1e-9)).collect();
        let half = Mesh {
            triangles: kept.iter().map(|&t| mesh.triangles[t]).collect(),
            membership: vec![0; kept.len()],
            patches: Some(Patches {
                order,
                nodes: kept
                    .iter()
                    .flat_map(|&t| mesh.patches.as_ref().unwrap().of(t).to_vec())
                    .collect(),
            }),
            ..mesh.clone()
        };
        let whole = unfolded(&half, &[Plane { axis: 0, at: 0.0 }]);
        assert_shared(&whole);
        assert!(folds(&whole).is_empty() && whole.triangles.len() == 72);
        assert!(nodes_at_edges(&whole, order).iter().all(|edge| edge.len() == 2));
    }
}

/// The stretch of a triangle with one round side that bends into it goes to nothing as it gets
/// twice as high as that: 1 - 2 bend / height; at the other corner of one that bends out it
/// stays 1.
#[test]
fn stretch_and_bend_of_a_round_side() {
    for (bend_of_side, height) in [(0.1, 1.0), (0.1, 0.5), (-0.1, 0.5), (0.1, 0.15)] {
        let nodes = [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.5, height, 0.0],
            [0.5, bend_of_side, 0.0],
            [0.75, 0.5 * height, 0.0],
            [0.25, 0.5 * height, 0.0],
        ];
        assert!((bend(2, &nodes, 0) - bend_of_side.abs()).abs() < 1e-15);
        assert!(bend(2, &nodes, 1) < 1e-15);
        let found = least_stretch(2, &nodes);
        let expected = 1.0 - 2.0 * bend_of_side.max(0.0) / height;
        assert!((found - expected).abs() < 1e-12, "{found}");
        assert_eq!(fold(2, &nodes).is_some(), found <= 0.0);
    }
}
