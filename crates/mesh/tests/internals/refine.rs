use mesh::Mesh;
use mesh::check::Report;
use mesh::generate::{Cube, Plate, Resolution, SphereBase, Torus, TwoSpheres};
use mesh::quality::areas;
use mesh::refine::{on_spheres, uniform};
use mesh::vector::{norm, scale};

const RESOLUTION: Resolution = Resolution::Elements(500);

#[test]
fn a_flat_surface_keeps_area_volume_groups_and_shape() {
    let cube = Cube { edge: 2.0, grade: 7.0, resolution: RESOLUTION }.build().unwrap();
    let fine = uniform(&cube, |_, point| point).unwrap();
    let (before, after) = (Report::of(&cube).unwrap(), Report::of(&fine).unwrap());
    assert_eq!(after.triangles, 4 * before.triangles);
    // Euler: V - E + F = 2, with 3 F = 2 E.
    assert_eq!(after.vertices, after.triangles / 2 + 2);
    assert!(after.whole.closed && after.defects.is_empty());
    assert!((after.whole.signed_volume - 8.0).abs() < 1e-12);
    assert_eq!(after.groups[0].label, "cube");
    assert!((after.quality.min_angle.min - before.quality.min_angle.min).abs() < 1e-9);
    let (coarse, fine) = (areas(&cube), areas(&fine));
    for (t, area) in coarse.iter().enumerate() {
        for child in 0..4 {
            assert!((fine[4 * t + child] - area / 4.0).abs() < 1e-12);
        }
    }
}

#[test]
fn spheres_stay_spheres_and_others_as_they_are() {
    let base = SphereBase::Icosahedron;
    let two =
        TwoSpheres { radius: 1.5, distance: 4.0, base, resolution: RESOLUTION }.build().unwrap();
    let fine = on_spheres(&two).unwrap();
    assert_eq!(fine.flat, []);
    for [x, y, z] in &fine.mesh.vertices {
        let off = [(x.abs() - 2.0), *y, *z];
        assert!((norm(off) - 1.5).abs() < 1e-12);
    }
    for mesh in [
        Torus { ring_radius: 1.0, tube_radius: 0.3, resolution: RESOLUTION }.build().unwrap(),
        Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
        Plate { width: 1.0, height: 2.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
    ] {
        let fine = on_spheres(&mesh).unwrap();
        assert_eq!(fine.mesh, uniform(&mesh, |_, point| point).unwrap());
    }
}

/// From 32 triangles each on; refined as often as anyone can, what comes out must be what is
/// made at once.
#[test]
fn coarse_spheres_and_those_of_equal_volume_are_refined_as_spheres() {
    let base = SphereBase::Octahedron;
    let two = |elements| TwoSpheres {
        radius: 1.0,
        distance: 3.0,
        base,
        resolution: Resolution::Elements(elements),
    };
    let volume = |mesh: &Mesh| {
        let parts = Report::of(mesh).unwrap().groups;
        parts.iter().map(|group| group.part.signed_volume).collect::<Vec<_>>()
    };
    for grade in [1.0, 3.0] {
        for elements in [64, 256] {
            let fine = on_spheres(&two(elements).build_graded(grade).unwrap()).unwrap();
            assert_eq!(fine.flat, []);
            for [x, y, z] in &fine.mesh.vertices {
                let r = norm([x.abs() - 1.5, *y, *z]);
                assert!((r - 1.0).abs() < 1e-9, "{elements} {grade}: {r}");
            }
            let mut equal = two(elements).build_with_volumes(grade).unwrap();
            for _ in 0..2 {
                let fine = on_spheres(&equal).unwrap();
                assert_eq!(fine.flat, [], "{elements} {grade}");
                equal = fine.mesh;
            }
            for volume in volume(&equal) {
                let exact = 4.0 / 3.0 * std::f64::consts::PI;
                assert!((volume / exact - 1.0).abs() < 1e-9, "{elements} {grade}: {volume}");
            }
            // Facets of 16 times as many are above the sphere by no more than they are below
            // it.
            let most = equal.vertices.iter().map(|[x, y, z]| norm([x.abs() - 1.5, *y, *z]));
            let most = most.fold(0.0, f64::max);
            assert!(most > 1.0 && most < 1.06, "{elements} {grade}: {most}");
        }
    }
}

/// Polyhedra whose corners lie on a sphere are refined flat, and the caller gets a note where
/// that is not obvious.
#[test]
fn polyhedra_are_refined_flat_and_reported() {
    let base = SphereBase::Octahedron;
    // A prism of 24 sides, all corners at the two ends.
    let ring = |z: f64| {
        (0..24).map(move |k| {
            let angle = std::f64::consts::TAU * f64::from(k) / 24.0;
            [angle.cos(), angle.sin(), z]
        })
    };
    let mut prism = Mesh { vertices: ring(0.0).chain(ring(1.0)).collect(), ..Mesh::default() };
    for k in 0..24u32 {
        let next = (k + 1) % 24;
        prism.triangles.extend([[k, next, next + 24], [k, next + 24, k + 24]]);
    }
    for k in 1..23 {
        prism.triangles.extend([[0, k + 1, k], [24, k + 24, k + 25]]);
    }
    prism.membership = vec![0; prism.triangles.len()];
    prism.memberships = vec![vec![]];
    let resolution = |n| Resolution::Elements(n);
    let octahedron = mesh::generate::Sphere { radius: 1.0, base, resolution: resolution(8) };
    let bumpy = mesh::generate::Sphere { resolution: resolution(72), ..octahedron };
    let mut bumpy = bumpy.build().unwrap();
    bumpy.vertices[9] = scale(1.01, bumpy.vertices[9]);
    for (mesh, part) in [
        // Flat faces: plainly no spheres.
        (Cube { edge: 1.0, grade: 1.0, resolution: resolution(12) }.build().unwrap(), None),
        (prism, None),
        (octahedron.build().unwrap(), Some("it may be a polyhedron")),
        (bumpy, Some("off a sphere")),
    ] {
        let fine = on_spheres(&mesh).unwrap();
        assert_eq!(fine.mesh, uniform(&mesh, |_, point| point).unwrap());
        let found: Vec<String> = fine.flat.iter().map(ToString::to_string).collect();
        match (found.as_slice(), part) {
            ([], None) => {}
            ([note], Some(part)) => {
                assert!(note.contains("refined flat") && note.contains(part), "{note}");
            }
            _ => panic!("{found:?}"),
        }
    }
}
