use mesh::Mesh;
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};
use mesh::mirror::{Error, Plane, place, unfolded};
use mesh::topology::Topology;

/// A cube from 0 to 2, and its part with x < 1 and y < 1, without the faces of the cuts.
fn quarter() -> (Mesh, Mesh) {
    let resolution = Resolution::Elements(192);
    let cube = Cube { edge: 2.0, grade: 1.0, resolution }.build().unwrap();
    let low = cube
        .vertices
        .iter()
        .fold([f64::MAX; 3], |low, v| std::array::from_fn(|k| low[k].min(v[k])));
    let inside =
        |t: &usize| cube.corners(*t).iter().all(|v| (0..2).all(|k| v[k] - low[k] < 1.0 + 1e-9));
    let kept: Vec<usize> = (0..cube.triangles.len()).filter(inside).collect();
    let part = Mesh {
        triangles: kept.iter().map(|&t| cube.triangles[t]).collect(),
        membership: kept.iter().map(|&t| cube.membership[t]).collect(),
        ..cube.clone()
    };
    (cube, part)
}

#[test]
fn images_make_a_quarter_whole() {
    let (cube, part) = quarter();
    assert_eq!(part.triangles.len(), cube.triangles.len() / 4);
    let centre = |axis| Plane {
        axis,
        at: cube.vertices.iter().map(|v| v[axis]).sum::<f64>() / cube.vertices.len() as f64,
    };
    let planes = [centre(0), centre(1)];
    for plane in &planes {
        let placed = place(&part, plane, |_| true).unwrap();
        assert_eq!(placed.side, -1.0);
        assert!(!placed.touching.is_empty() && placed.touching.len() < part.triangles.len());
    }
    let whole = unfolded(&part, &planes);
    whole.validate().unwrap();
    let (expected, found) = (Topology::of(&cube), Topology::of(&whole));
    assert!(found.whole.closed && found.components.len() == 1);
    assert!((found.whole.signed_volume - expected.whole.signed_volume).abs() < 1e-12);
    // Image 3 is mirrored in both planes.
    let n = part.triangles.len();
    for t in 0..n {
        let expected = part.corners(t).map(|x| planes[1].reflect(planes[0].reflect(x)));
        let [a, b, c] = whole.corners(3 * n + t);
        // Two mirrors turn the corners back.
        for (found, expected) in [a, b, c].iter().zip(&expected) {
            assert!((0..3).all(|k| (found[k] - expected[k]).abs() < 1e-12));
        }
    }
}

#[test]
fn surfaces_without_images_say_why() {
    let (cube, part) = quarter();
    let low = cube.vertices.iter().map(|v| v[0]).fold(f64::MAX, f64::min);
    let plane = |at| Plane { axis: 0, at };
    assert!(matches!(place(&part, &plane(low), |_| true), Err(Error::InPlane(_))));
    assert!(matches!(place(&part, &plane(low + 0.3), |_| true), Err(Error::Through(_))));
    assert!(matches!(place(&cube, &plane(low + 1.0), |_| true), Err(Error::BothSides(..))));
    assert_eq!(place(&part, &plane(low - 1.0), |_| true).unwrap().side, 1.0);
    let resolution = Resolution::Elements(72);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution }.build().unwrap();
    assert_eq!(unfolded(&sphere, &[]), sphere);
}
