use mesh::Mesh;
use mesh::coarsen::coarsened;
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::topology::Topology;

#[test]
fn spheres_stay_spheres_of_fewer_triangles() {
    for elements in [80, 320, 1280] {
        let resolution = Resolution::Elements(elements);
        let mesh = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
        let mesh = mesh.build().unwrap();
        let (coarse, kept) = coarsened(&mesh, 0.25);
        assert_eq!(coarse.triangles.len(), kept.len());
        let count = coarse.triangles.len() as f64 / mesh.triangles.len() as f64;
        assert!((0.24..0.3).contains(&count), "{elements}: {count}");
        coarse.validate().unwrap();
        let topology = Topology::of(&coarse);
        let [part] = &topology.components[..] else { panic!("one part") };
        // Four times what the area of the sphere misses, and twice that for their shapes.
        let volume = |mesh: &Mesh| Topology::of(mesh).components[0].signed_volume;
        let full = 4.0 / 3.0 * std::f64::consts::PI;
        let [fine, missing] = [volume(&mesh), part.signed_volume].map(|volume| full - volume);
        assert!((2.5..8.0).contains(&(missing / fine)), "{elements}: {}", missing / fine);
    }
}
