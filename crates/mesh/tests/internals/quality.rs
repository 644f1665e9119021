use mesh::generate::{Cube, Resolution, Sphere, SphereBase};
use mesh::quality::sagittas;
use mesh::vector::{add, norm, scale};

#[test]
fn sagittas_are_those_of_the_curved_surface() {
    let resolution = Resolution::Elements(1280);
    let sphere = Sphere { radius: 2.0, base: SphereBase::Icosahedron, resolution };
    let mesh = sphere.build().unwrap();
    let all: Vec<u32> = (0..mesh.triangles.len() as u32).step_by(7).collect();
    for (&t, found) in all.iter().zip(sagittas(&mesh, &all)) {
        let [a, b, c] = mesh.corners(t as usize);
        let exact = 2.0 - norm(scale(1.0 / 3.0, add(add(a, b), c)));
        assert!(found > 0.9 * exact && found < 1.5 * exact, "{t}: {found} for {exact}");
    }
    let cube = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(48) };
    let mesh = cube.build().unwrap();
    assert!(sagittas(&mesh, &[0, 5, 40]).iter().all(|&s| s < 1e-9));
}

/// On spheres of each order, against the largest distance of points of a triangle from it.
#[test]
fn sagittas_of_curved_triangles_are_their_distances_from_the_surface() {
    for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
        for (order, elements) in [(2, 32), (2, 320), (3, 80), (4, 80), (4, 320)] {
            let resolution = Resolution::Elements(elements);
            let sphere = Sphere { radius: 2.0, base, resolution };
            let mesh = sphere.build_curved(order).unwrap();
            let triangles: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
            for (t, found) in sagittas(&mesh, &triangles).into_iter().enumerate() {
                let places = (0..=8).flat_map(|i| (0..=8 - i).map(move |j| [8 - i - j, i, j]));
                let off = places.map(|at| norm(mesh.point(t, at.map(|k| k as f64 / 8.0))) - 2.0);
                let off = off.fold(0.0, |most: f64, off| most.max(off.abs()));
                assert!(
                    0.5 * off < found && found < 2.0 * off,
                    "{base:?} {order} {elements}: {found:e} {off:e}"
                );
            }
        }
    }
}
