use mesh::generate::{
    ConcentricSpheres, Cylinder, Disk, Ellipsoid, Molecule, Resolution, Sphere, SphereBase, Torus,
    TwoSpheres,
};
use mesh::internals::bezier::Bezier;
use mesh::internals::crossing::Part;
use mesh::internals::curved::QUARTERS;
use mesh::intersect::{Intersection, Meeting, intersections};
use mesh::join::joined;
use mesh::lift::smooth;
use mesh::patch::MAX_ORDER;
use mesh::transform::{Motion, moved};
use mesh::vector::{Vector, norm, scale, sub};
use mesh::{Mesh, Patches, curved, refine};

fn sphere(radius: f64, base: SphereBase, elements: usize, order: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let mesh = Sphere { radius, base, resolution }.build_curved(order).unwrap();
    assert_eq!(mesh.triangles.len(), elements);
    mesh
}

fn shifted(mesh: &Mesh, shift: Vector) -> Mesh {
    moved(mesh, |_| true, &Motion::along(shift))
}

fn both(a: &Mesh, b: &Mesh) -> Mesh {
    joined(vec![("a".into(), a.clone()), ("b".into(), b.clone())])
}

/// Pairs of flat triangles after `halvings` halvings.
fn flat_parts(mesh: &Mesh, halvings: usize) -> Vec<Intersection> {
    let mut fine = mesh.clone();
    for _ in 0..halvings {
        fine = refine::uniform(&fine, |_, _| [f64::NAN; 3]).unwrap();
    }
    intersections(&Mesh { patches: None, ..fine })
}

/// A hood over another one of the opposite bend whose corners are in the same plane.
#[test]
fn hoods_that_bend_away_from_each_other_are_apart_whatever_the_unit() {
    for unit in [1e-6, 1e-3, 1.0, 1e3] {
        let hood = |low: f64, high: f64, bend: f64| {
            let corner = |x: f64, y: f64| [unit * x, unit * y, 0.0];
            let mut mesh = Mesh {
                vertices: vec![corner(low, low), corner(high, low), corner(low, high)],
                triangles: vec![[0, 1, 2]],
                membership: vec![0],
                memberships: vec![vec![]],
                ..Mesh::default()
            };
            let mut patches = Patches::straight(&mesh, 2);
            patches.nodes[3..].iter_mut().for_each(|node| node[2] = unit * bend);
            mesh.patches = Some(patches);
            mesh
        };
        let apart = both(&hood(0.0, 1.0, 2e-3), &hood(0.2, 0.4, -1e-3));
        assert_eq!(intersections(&apart), [], "{unit}");
        // One that bends upwards more goes through.
        let through = both(&hood(0.0, 1.0, 2e-3), &hood(0.2, 0.4, 5e-3));
        assert_eq!(intersections(&through).len(), 1, "{unit}");
    }
}

#[test]
fn arcs_that_cross_are_found_where_chords_do_not() {
    for order in 2..=MAX_ORDER {
        for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
            // Eight triangles of order 3 fold.
            if base == SphereBase::Octahedron && order == 3 {
                continue;
            }
            let one = sphere(1.0, base, if base == SphereBase::Octahedron { 8 } else { 20 }, order);
            let way = if base == SphereBase::Octahedron {
                [3f64.sqrt().recip(); 3]
            } else {
                [1.0, 0.0, 0.0]
            };
            for (distance, crosses) in [(1.2, true), (1.5, true), (1.9, true), (2.1, false)] {
                let other = shifted(&one, scale(distance, way));
                let found = intersections(&both(&one, &other));
                // Of order 2 the middle of a large triangle is less far out than its nodes.
                let is_short = order == 2 && base == SphereBase::Octahedron;
                let crosses = crosses && (!is_short || distance < 1.75);
                assert_eq!(!found.is_empty(), crosses, "{order} {base:?} {distance}");
                let half = one.triangles.len() as u32;
                assert!(found.iter().all(|pair| pair.triangles[0] < half
                    && pair.triangles[1] >= half
                    && pair.meeting == Meeting::Crossing));
            }
        }
    }
}

#[test]
fn shells_thinner_than_what_triangles_are_off_from_flat_ones_do_not_cross() {
    for order in 2..=MAX_ORDER {
        let core = sphere(1.0, SphereBase::Icosahedron, 80, order);
        for gap in [0.04, 0.02, 0.01] {
            let coat = sphere(1.0 + gap, SphereBase::Octahedron, 72, order);
            let mesh = both(&core, &coat);
            assert!(!intersections(&Mesh { patches: None, ..mesh.clone() }).is_empty());
            let found = intersections(&mesh);
            // Where curved triangles are that far off from the sphere, their parts tell. Within
            // a coat that is wider than one that none crosses there is no need to.
            if gap < 0.02 || (order == 2 && gap < 0.04) {
                let expected = flat_parts(&mesh, 5);
                assert_eq!(found.is_empty(), expected.is_empty(), "{order} {gap}");
            }
            assert!(order == 2 && gap < 0.02 || found.is_empty(), "{order} {gap} {found:?}");
        }
        let coat = sphere(1.0, SphereBase::Octahedron, 72, order);
        assert!(!intersections(&both(&core, &shifted(&coat, [0.2, 0.1, 0.0]))).is_empty());
    }
}

#[test]
fn sound_curved_surfaces_have_none() {
    let resolution = Resolution::Elements(300);
    let base = SphereBase::Icosahedron;
    for order in 2..=MAX_ORDER {
        let ellipsoid = Ellipsoid { semi_axes: [1.0, 0.1, 3.0], base, resolution };
        let meshes = [
            sphere(1.0, SphereBase::Octahedron, 32, order),
            sphere(1.0, base, 20, order),
            sphere(1.0, base, 320, order),
            Torus { ring_radius: 1.0, tube_radius: 0.9, resolution }.build_curved(order).unwrap(),
            Molecule { atoms: 12, resolution }.build_curved(order).unwrap(),
            Disk { radius: 1.0, grade: 30.0, resolution }.build_curved(order).unwrap(),
            Cylinder { radius: 1.0, length: 2.0, resolution }.build_curved(order).unwrap(),
            ellipsoid.build_curved(order).unwrap(),
            TwoSpheres { radius: 1.0, distance: 2.001, base, resolution }
                .build_curved(3.0, order)
                .unwrap(),
            ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.01, base, resolution }
                .build_curved(order)
                .unwrap(),
        ];
        for (index, mesh) in meshes.iter().enumerate() {
            assert_eq!(intersections(mesh), [], "{order}: {index}");
            // Elsewhere, turned over, and in another unit.
            let motion = Motion {
                axis: [1.0, 2.0, -0.5],
                angle: 0.7,
                shift: [300.0, -20.0, 7.0],
                ..Motion::along([0.0; 3])
            };
            assert_eq!(intersections(&moved(mesh, |_| true, &motion)), [], "{order}: {index}");
        }
    }
}

#[test]
fn curved_bodies_that_share_faces_or_touch_do_not_cross() {
    let resolution = Resolution::Elements(200);
    for order in 2..=MAX_ORDER {
        let cylinder = Cylinder { radius: 1.0, length: 2.0, resolution };
        let cylinder = cylinder.build_curved(order).unwrap();
        // End to end with the same triangles, seen from both sides.
        let on_top = shifted(&cylinder, [0.0, 0.0, 2.0]);
        assert_eq!(intersections(&both(&cylinder, &on_top)), []);
        // Within a plane they do, as the flat triangles there.
        let next = shifted(&cylinder, [0.3, 0.0, 2.0]);
        let found = intersections(&both(&cylinder, &next));
        assert!(found.iter().any(|pair| pair.meeting == Meeting::Overlap), "{order}");
        // One body twice.
        assert_eq!(intersections(&both(&cylinder, &cylinder)), []);
    }
    // At a vertex, where those of order 2 are pointed.
    let ball = sphere(1.0, SphereBase::Octahedron, 32, 2);
    assert_eq!(intersections(&both(&ball, &shifted(&ball, [2.0, 0.0, 0.0]))), []);
}

/// The middles of sides of one are those of the other, and no side goes through an inside.
#[test]
fn curved_spheres_that_mirror_each_other_cross() {
    for order in 2..=MAX_ORDER {
        let mut one = sphere(1.0, SphereBase::Octahedron, 32, order);
        one = shifted(&one, [0.8, 0.0, 0.0]);
        let mut other = one.clone();
        other.vertices.iter_mut().for_each(|x| x[0] = -x[0]);
        let patches = other.patches.as_mut().unwrap();
        patches.nodes.iter_mut().for_each(|x| x[0] = -x[0]);
        assert!(!intersections(&both(&one, &other)).is_empty(), "{order}");
    }
}

#[test]
fn parts_of_a_mesh_made_curved_that_cross_are_found() {
    let flat = sphere(1.0, SphereBase::Octahedron, 32, 1);
    // Facing faces, whose flat triangles are apart.
    let way = [3f64.sqrt().recip(); 3];
    let mesh = both(&flat, &shifted(&flat, scale(1.9, way)));
    assert_eq!(intersections(&mesh), []);
    let lifted = smooth(&mesh, 60.0);
    assert!(!intersections(&lifted).is_empty());
    let apart = smooth(&both(&flat, &shifted(&flat, scale(2.01, way))), 60.0);
    assert_eq!(intersections(&apart), []);
}

/// Two triangles with random nodes, which share nothing, a corner, or a side: as their flat
/// parts.
#[test]
fn random_patches_meet_as_their_parts_do() {
    let mut seed = 3u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let pairs = [[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [0, 3, 4]], [[0, 1, 2], [1, 0, 3]]];
    for triangles in pairs {
        let mut counts = [[0; 2]; 2];
        for trial in 0..400 {
            let order = 2 + trial % 3;
            let mut mesh = Mesh {
                vertices: (0..6).map(|_| [random(), random(), 0.3 * random()]).collect(),
                triangles: triangles.to_vec(),
                membership: vec![0; 2],
                memberships: vec![vec![]],
                ..Mesh::default()
            };
            let mut patches = Patches::straight(&mesh, order);
            for t in 0..2 {
                patches.of_mut(t)[3..].iter_mut().flatten().for_each(|x| *x += 0.1 * random());
            }
            if triangles[1][1] == 0 {
                let side: Vec<Vector> = patches.of(0)[3..order + 2].to_vec();
                let others = patches.of_mut(1)[3..order + 2].iter_mut().rev();
                others.zip(side).for_each(|(to, from)| *to = from);
            }
            mesh.patches = Some(patches);
            mesh.validate().unwrap();
            if !curved::folds(&mesh).is_empty() {
                continue;
            }
            let meets = |pairs: Vec<Intersection>, per: u32| {
                pairs.iter().any(|pair| pair.triangles.map(|t| t / per) == [0, 1])
            };
            let expected = meets(flat_parts(&mesh, 4), 256);
            let found = meets(intersections(&mesh), 1);
            counts[usize::from(expected)][usize::from(found)] += 1;
        }
        // Next to what they share, crossings are smaller than flat parts show; some pairs
        // nearly touch.
        let [[neither, only_found], [missed, both]] = counts;
        assert!(missed <= 2 && only_found <= 6, "{triangles:?}: {counts:?}");
        assert!(neither > 25 && both > 25, "{triangles:?}: {counts:?}");
    }
}

#[test]
fn parts_of_triangles_are_in_the_order_of_their_mesh() {
    let mesh = sphere(1.0, SphereBase::Octahedron, 32, 3);
    let nodes = mesh.patches.as_ref().unwrap().of(0);
    let patch = Part::of(Bezier::of(3, nodes));
    for (part, corners) in patch.quarters().iter().zip(QUARTERS) {
        for (own, at) in part.corners.iter().zip(corners) {
            assert!(norm(sub(*own, curved::point(3, nodes, at))) < 1e-15);
        }
    }
}
