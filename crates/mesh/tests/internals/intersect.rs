use mesh::Mesh;
use mesh::generate::{Bus, Cube, Resolution, Sphere, SphereBase, Torus};
use mesh::internals::intersect::{apart, hubs, side};
use mesh::intersect::{Intersection, Meeting, intersections, meet};
use mesh::vector::{Vector, add, scale};
use robust::{Coord3D, orient3d};

const RESOLUTION: Resolution = Resolution::Elements(800);

fn joined(mut mesh: Mesh, other: &Mesh, shift: Vector) -> Mesh {
    let first = mesh.vertices.len() as u32;
    mesh.vertices.extend(other.vertices.iter().map(|v| add(*v, shift)));
    mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    mesh.membership.resize(mesh.triangles.len(), 0);
    mesh
}

fn sphere() -> Mesh {
    Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution: RESOLUTION }.build().unwrap()
}

fn cube() -> Mesh {
    Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap()
}

#[test]
fn sound_surfaces_have_none() {
    let bus =
        Bus { bars: 2, width: 1.0, spacing: 1.0, gap: 1.0, grade: 20.0, resolution: RESOLUTION };
    let torus = Torus { ring_radius: 1.0, tube_radius: 0.3, resolution: RESOLUTION };
    for mesh in [sphere(), cube(), bus.build().unwrap(), torus.build().unwrap()] {
        assert_eq!(intersections(&mesh), []);
    }
}

#[test]
fn bodies_that_touch_do_not_intersect() {
    // Face to face with the same triangles, seen from both sides: those are duplicates, which
    // are found elsewhere.
    let found = intersections(&joined(cube(), &cube(), [0.0, 0.0, 2.0]));
    assert_eq!(found, []);
    let edge_to_edge = joined(cube(), &cube(), [1.0, 1.0, 0.0]);
    assert_eq!(intersections(&edge_to_edge), []);
}

#[test]
fn overlapping_spheres_cross_along_a_circle() {
    let mesh = joined(sphere(), &sphere(), [1.0, 0.1, 0.2]);
    let found = intersections(&mesh);
    assert!(found.len() > 20);
    let half = mesh.triangles.len() as u32 / 2;
    for Intersection { triangles: [a, b], meeting } in found {
        assert_eq!(meeting, Meeting::Crossing);
        assert!(a < half && b >= half);
    }
}

/// Where they meet, sides meet sides, and no side goes through the inside of a triangle.
#[test]
fn spheres_that_mirror_each_other_cross() {
    for base in [SphereBase::Icosahedron, SphereBase::Octahedron] {
        let mut one = Sphere { radius: 1.0, base, resolution: RESOLUTION }.build().unwrap();
        one.vertices.iter_mut().for_each(|v| v[0] += 0.65);
        let mut other = one.clone();
        other.vertices.iter_mut().for_each(|v| v[0] = -v[0]);
        other.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        let found = intersections(&joined(one, &other, [0.0; 3]));
        assert!(found.len() > 20, "{}", found.len());
    }
}

/// Equivalent to sides that go through insides, for triangles in general position.
#[test]
fn crossing_is_piercing() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let coordinates = |[x, y, z]: Vector| Coord3D { x, y, z };
    let sign = |value: f64| i8::from(value > 0.0) - i8::from(value < 0.0);
    let pierces = |edges: [Vector; 3], face: [Vector; 3]| {
        (0..3).any(|i| {
            let (p, q) = (edges[i], edges[(i + 1) % 3]);
            side(face, p) * side(face, q) < 0
                && apart([0, 1, 2].map(|k| {
                    let (u, v) = (face[k], face[(k + 1) % 3]);
                    sign(orient3d(coordinates(p), coordinates(q), coordinates(u), coordinates(v)))
                }))
        })
    };
    let mut count = 0;
    for _ in 0..20_000 {
        let mut triangle = || [0; 3].map(|_| [random(), random(), random()]);
        let (s, t) = (triangle(), triangle());
        let expected = pierces(s, t) || pierces(t, s);
        assert_eq!(meet(s, t).is_some(), expected, "{s:?} {t:?}");
        count += usize::from(expected);
    }
    assert!((2000..18_000).contains(&count), "{count}");
}

/// Around a vertex of many triangles as everywhere: the pairs are those of the definition.
#[test]
fn fans_are_searched_by_directions_and_nothing_is_missed() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    // In space, where sectors cross along rays, in a plane, where they overlap, and of slivers
    // and wide triangles; next to them, a few triangles of another place.
    let kinds = [([1.0, 1.0, 1.0], 0.5), ([1.0, 1.0, 0.0], 0.1), ([1.0, 1.0, 1e-3], 4.0)];
    for (flat, spread) in kinds {
        let hub = [300.0, -20.0, 0.0];
        let mut mesh = Mesh { vertices: vec![hub], ..Mesh::default() };
        for triangle in 0..120u32 {
            let near: Vector = std::array::from_fn(|i| random() * flat[i]);
            let size = 2f64.powf(20.0 * random());
            for _ in 0..2 {
                let corner = std::array::from_fn(|i| near[i] + spread * random() * flat[i]);
                mesh.vertices.push(add(hub, scale(size, corner)));
            }
            let first = 2 * triangle + 1;
            let third = if triangle < 100 { 0 } else { first - 2 };
            mesh.triangles.push([first, first + 1, third]);
        }
        mesh.membership = vec![0; mesh.triangles.len()];
        assert_eq!(hubs(&mesh).iter().filter(|hub| **hub == 0).count(), 100);
        let mut expected = Vec::new();
        for t in 0..mesh.triangles.len() {
            for s in 0..t {
                if let Some(meeting) = meet(mesh.corners(s), mesh.corners(t)) {
                    expected.push(Intersection { triangles: [s as u32, t as u32], meeting });
                }
            }
        }
        expected.sort_unstable();
        assert!(expected.len() > 50, "{}", expected.len());
        assert_eq!(intersections(&mesh), expected);
    }
}

/// Every two of their boxes meet, but few of their directions do: 100,000 take a fraction of a
/// second where all pairs take half an hour.
#[test]
fn large_fans_take_no_time_of_pairs() {
    let count = 100_000u32;
    let mut mesh = Mesh { vertices: vec![[0.0; 3]], ..Mesh::default() };
    for k in 0..count {
        let angle = std::f64::consts::TAU * f64::from(k) / f64::from(count);
        mesh.vertices.push([angle.cos(), angle.sin(), 0.3]);
        mesh.triangles.push([0, k + 1, (k + 1) % count + 1]);
    }
    mesh.membership = vec![0; mesh.triangles.len()];
    assert_eq!(intersections(&mesh), []);
}

#[test]
fn boxes_that_share_a_slab_overlap_in_planes() {
    // No side goes through the inside of a face: all meetings are in the common planes.
    let found = intersections(&joined(cube(), &cube(), [0.25, 0.0, 0.0]));
    assert!(found.iter().any(|pair| pair.meeting == Meeting::Overlap));
}

#[test]
fn pairs_in_a_plane() {
    let t = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    let cases = [
        // Next to it along a side, at a corner, and away from it.
        ([[2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]], None),
        ([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [3.0, 1.0, 0.0]], None),
        ([[1.5, 1.5, 0.0], [3.0, 1.5, 0.0], [1.5, 3.0, 0.0]], None),
        // A corner inside; a part with corners on the sides; sides that cut only.
        ([[0.5, 0.5, 0.0], [3.0, 0.5, 0.0], [3.0, 3.0, 0.0]], Some(Meeting::Overlap)),
        ([[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], Some(Meeting::Overlap)),
        ([[-1.0, 0.5, 0.0], [3.0, 0.5, 0.0], [-1.0, 0.6, 0.0]], Some(Meeting::Overlap)),
        // Out of the plane: through the inside, by a side only, at a corner only, and above.
        ([[0.5, 0.5, -1.0], [0.5, 0.5, 1.0], [3.0, 3.0, 1.0]], Some(Meeting::Crossing)),
        ([[0.0, 0.0, -1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]], None),
        ([[0.5, 0.5, 0.0], [0.5, 0.5, 1.0], [3.0, 3.0, 1.0]], None),
        ([[0.5, 0.5, 1e-300], [0.5, 0.6, 1.0], [3.0, 3.0, 1.0]], None),
    ];
    for (other, expected) in cases {
        assert_eq!(meet(t, other), expected, "{other:?}");
        assert_eq!(meet(other, t), expected, "{other:?} first");
    }
}
