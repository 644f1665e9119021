use mesh::generate::{Ellipsoid, Resolution, Sphere, SphereBase, Torus};
use mesh::internals::bezier::Bezier;
use mesh::locate::Locator;
use mesh::patch::MAX_ORDER;
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use mesh::{Mesh, curved, refine};

fn random(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn meshes(order: usize) -> Vec<Mesh> {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(32));
    let fine = Resolution::Elements(80);
    let sphere =
        |base, resolution| Sphere { radius: 1.3, base, resolution }.build_curved(order).unwrap();
    vec![
        sphere(base, resolution),
        sphere(SphereBase::Icosahedron, fine),
        Ellipsoid { semi_axes: [1.0, 0.4, 2.0], base, resolution: Resolution::Elements(128) }
            .build_curved(order)
            .unwrap(),
        Torus { ring_radius: 1.0, tube_radius: 0.6, resolution: Resolution::Elements(128) }
            .build_curved(order)
            .unwrap(),
    ]
}

#[test]
fn points_next_to_curved_triangles_are_inside_or_outside_of_them() {
    let mut random = random(5);
    for order in 2..=MAX_ORDER {
        for (index, mesh) in meshes(order).iter().enumerate() {
            let locator = Locator::new(mesh);
            let patches = mesh.patches.as_ref().unwrap();
            for t in (0..mesh.triangles.len()).cycle().take(120) {
                let bulge = Bezier::of(order, patches.of(t)).bulge();
                let (u, v) = (random(), random());
                let [b, c] = if u + v > 1.0 { [1.0 - u, 1.0 - v] } else { [u, v] };
                // Within, on sides, and at corners.
                for at in [[1.0 - b - c, b, c], [1.0 - b, b, 0.0]] {
                    let x = mesh.point(t, at);
                    let normal = curved::area_normal(order, patches.of(t), at);
                    let normal = scale(1.0 / norm(normal), normal);
                    for (height, inside) in
                        [(-1e-3, true), (1e-3, false), (-0.1, true), (0.1, false)]
                    {
                        let point = add(x, scale(height * bulge, normal));
                        let found = locator.winding_number(point);
                        assert!(
                            (found - if inside { 1.0 } else { 0.0 }).abs() < 0.3,
                            "{order} {index}: {t} {at:?} {height} {found}"
                        );
                        let near = locator.nearest(point).unwrap().distance;
                        let least = 0.9 * height.abs() * bulge;
                        assert!(near <= height.abs() * bulge * (1.0 + 2e-6), "{near}");
                        assert!(
                            at[2] == 0.0 || height.abs() > 0.01 || near > least,
                            "{order} {index}"
                        );
                    }
                    assert!(locator.nearest(x).unwrap().distance < 1e-13);
                }
            }
        }
    }
}

/// As the 64 flat parts of each triangle, but for what these are off.
#[test]
fn distances_windings_and_lines_are_those_of_many_flat_parts() {
    let mut random = random(9);
    for order in 2..=MAX_ORDER {
        for mesh in meshes(order) {
            let mut fine = mesh.clone();
            for _ in 0..3 {
                fine = refine::uniform(&fine, |_, _| [f64::NAN; 3]).unwrap();
            }
            let patches = fine.patches.as_ref().unwrap();
            let off = (0..fine.triangles.len())
                .map(|t| Bezier::of(order, patches.of(t)).bulge())
                .fold(0.0, f64::max);
            let flat = Locator::new(&Mesh { patches: None, ..fine });
            let locator = Locator::new(&mesh);
            let (mut lines, mut differing) = (0, 0);
            for _ in 0..300 {
                let mut point = || std::array::from_fn(|_| 4.0 * random() - 2.0);
                let (x, y): (Vector, Vector) = (point(), point());
                let (near, expected) = (locator.nearest(x).unwrap(), flat.nearest(x).unwrap());
                let distance = expected.distance;
                assert!((near.distance - distance).abs() <= off + 1.1e-3 * distance);
                if distance > off {
                    assert_eq!(locator.contains(x), flat.contains(x), "{order} {x:?}");
                }
                let way = sub(y, x);
                let (hit, other) =
                    (locator.first_hit(x, way, u32::MAX), flat.first_hit(x, way, u32::MAX));
                let (Some(hit), Some(other)) = (hit, other) else { continue };
                let cosine = {
                    let [a, b, c] = mesh.corners(hit.triangle as usize);
                    let normal = mesh::vector::cross(sub(b, a), sub(c, a));
                    (dot(normal, way) / norm(normal) / norm(way)).abs()
                };
                if cosine > 0.5 {
                    lines += 1;
                    let gap = (hit.along - other.along).abs() * norm(way);
                    // Next to a side, and where the line grazes the surface, flat parts may be
                    // others.
                    let is_same = hit.triangle == other.triangle / 64 && gap <= 4.0 * off;
                    differing += usize::from(!is_same);
                }
            }
            assert!(lines > 50 && differing <= lines / 20, "{lines} {differing}");
        }
    }
}

/// From the centre of a sphere all parts are as far.
#[test]
fn distances_from_a_centre_take_no_time() {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(1280));
    let mesh = Sphere { radius: 1.0, base, resolution }.build_curved(2).unwrap();
    let locator = Locator::new(&mesh);
    for _ in 0..100 {
        let near = locator.nearest([0.0; 3]).unwrap().distance;
        assert!((near - 1.0).abs() < 2e-3, "{near}");
    }
}
