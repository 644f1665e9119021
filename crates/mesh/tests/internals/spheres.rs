use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::spheres::find;
use mesh::vector::{add, norm, sub};

#[test]
fn far_spheres_are_found_to_rounding() {
    let resolution = Resolution::Elements(500);
    let sphere = Sphere { radius: 1e-3, base: SphereBase::Octahedron, resolution };
    let mut mesh = sphere.build().unwrap();
    for vertex in &mut mesh.vertices {
        *vertex = add(*vertex, [5.0, -7.0, 9.0]);
    }
    let found = find(&mesh);
    let [Some(mesh::spheres::Sphere { ball, raised: false })] = found.spheres.as_slice() else {
        panic!("{found:?}")
    };
    assert!((ball.radius / 1e-3 - 1.0).abs() < 1e-9);
    assert!(norm(sub(ball.centre, [5.0, -7.0, 9.0])) < 1e-12);
}
