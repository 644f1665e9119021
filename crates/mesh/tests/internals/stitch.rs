use mesh::Mesh;
use mesh::check::Report;
use mesh::generate::{Cube, Plate, Resolution, Sphere, SphereBase};
use mesh::join::joined;
use mesh::stitch::stitch;

const RESOLUTION: Resolution = Resolution::Elements(200);

/// Every triangle with three vertices of its own.
fn apart(mesh: &Mesh) -> Mesh {
    let vertices = (0..mesh.triangles.len()).flat_map(|t| mesh.corners(t)).collect();
    let triangles = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]);
    Mesh { vertices, triangles: triangles.collect(), ..mesh.clone() }
}

#[test]
fn facets_of_their_own_vertices_become_the_surface() {
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution: RESOLUTION };
    let plate = Plate { width: 2.0, height: 1.0, grade: 3.0, resolution: RESOLUTION };
    for whole in [sphere.build().unwrap(), plate.build().unwrap()] {
        let mut mesh = apart(&whole);
        assert!(stitch(&mut mesh) > 0);
        mesh.validate().unwrap();
        let [found, expected] = [&mesh, &whole].map(|mesh| Report::of(mesh).unwrap());
        assert_eq!(found.vertices, expected.vertices);
        assert_eq!(found.whole, expected.whole);
        assert_eq!((found.components.len(), found.coincident_vertices), (1, 0));
        for t in 0..mesh.triangles.len() {
            assert_eq!(mesh.corners(t), whole.corners(t));
        }
        // Once is enough.
        let before = mesh.clone();
        assert_eq!(stitch(&mut mesh), 0);
        assert_eq!(mesh, before);
    }
}

#[test]
fn bodies_that_touch_and_sheets_that_touch_at_corners_stay_apart() {
    let cube = Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap();
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution: RESOLUTION };
    let plate = plate.build().unwrap();
    for (body, shift) in [(cube, [1.0, 0.0, 0.0]), (plate, [1.0, 1.0, 0.0])] {
        let mut other = body.clone();
        for vertex in &mut other.vertices {
            *vertex = std::array::from_fn(|i| vertex[i] + shift[i]);
        }
        let mut both = joined(vec![("a".into(), body), ("b".into(), other)]);
        assert!(Report::of(&both).unwrap().coincident_vertices > 0);
        let before = both.clone();
        assert_eq!(stitch(&mut both), 0);
        assert_eq!(both, before);
    }
}
