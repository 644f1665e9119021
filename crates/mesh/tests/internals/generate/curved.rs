use mesh::Mesh;
use mesh::curved::folds;
use mesh::generate::{
    ConcentricSpheres, Cylinder, Disk, Ellipsoid, Error, Molecule, Resolution, Sphere, SphereBase,
    Torus, TwoSpheres,
};
use mesh::patch::MAX_ORDER;
use mesh::quality::areas;
use mesh::stitch::stitch;
use mesh::topology::Topology;
use std::f64::consts::PI;

/// Errors of area and volume, relative; of the area alone if there is no volume.
fn errors(mesh: &Mesh, area: f64, volume: f64) -> [f64; 2] {
    mesh.validate().unwrap();
    assert!(folds(mesh).is_empty());
    // All are connected as they are.
    assert_eq!(stitch(&mut mesh.clone()), 0);
    let topology = Topology::of(mesh);
    let found = areas(mesh).iter().sum::<f64>() / area - 1.0;
    if volume == 0.0 {
        return [found.abs(); 2];
    }
    assert!(topology.whole.closed);
    [found.abs(), (topology.whole.signed_volume / volume - 1.0).abs()]
}

/// Both converge with the order given when triangles become half as large.
fn assert_order(
    build: impl Fn(Resolution, usize) -> Mesh,
    counts: [usize; 2],
    area: f64,
    volume: f64,
) {
    for (order, expected) in [(1, 2.0), (2, 3.0), (3, 4.0), (4, 5.0)] {
        let [coarse, fine] = counts.map(|count| {
            let mesh = build(Resolution::Elements(count), order);
            (errors(&mesh, area, volume), mesh.triangles.len() as f64)
        });
        let halvings = (fine.1 / coarse.1).log2() / 2.0;
        for k in 0..2 {
            let rate = (coarse.0[k] / fine.0[k]).log2() / halvings;
            assert!(rate > expected - 0.35, "order {order}: {rate}, {coarse:?} {fine:?}");
        }
    }
}

#[test]
fn areas_and_volumes_converge_with_the_order() {
    let base = SphereBase::Icosahedron;
    let ball = |r: f64| [4.0 * PI * r * r, 4.0 / 3.0 * PI * r.powi(3)];
    let sphere =
        |resolution, order| Sphere { radius: 2.0, base, resolution }.build_curved(order).unwrap();
    assert_order(sphere, [320, 1280], ball(2.0)[0], ball(2.0)[1]);
    let two = |resolution, order| {
        TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }
            .build_curved(3.0, order)
            .unwrap()
    };
    assert_order(two, [640, 2560], 2.0 * ball(1.0)[0], 2.0 * ball(1.0)[1]);
    let concentric = |resolution, order| {
        ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }
            .build_curved(order)
            .unwrap()
    };
    let [inner, outer] = [ball(1.0), ball(2.0)];
    assert_order(concentric, [640, 2560], inner[0] + outer[0], inner[1] + outer[1]);
    let torus = |resolution, order| {
        Torus { ring_radius: 2.0, tube_radius: 0.5, resolution }.build_curved(order).unwrap()
    };
    assert_order(torus, [800, 3200], 4.0 * PI * PI, 2.0 * PI * PI * 0.5);
    let disk = |resolution, order| {
        Disk { radius: 1.5, grade: 1.0, resolution }.build_curved(order).unwrap()
    };
    assert_order(disk, [150, 600], PI * 2.25, 0.0);
    let cylinder = |resolution, order| {
        Cylinder { radius: 1.0, length: 3.0, resolution }.build_curved(order).unwrap()
    };
    assert_order(cylinder, [400, 1600], 8.0 * PI, 3.0 * PI);
    // Prolate, with an area in closed form.
    let (a, c) = (1.0f64, 2.0f64);
    let e = (1.0 - (a / c).powi(2)).sqrt();
    let area = 2.0 * PI * a * a * (1.0 + c / (a * e) * e.asin());
    let ellipsoid = |resolution, order| {
        Ellipsoid { semi_axes: [a, a, c], base, resolution }.build_curved(order).unwrap()
    };
    assert_order(ellipsoid, [320, 1280], area, 4.0 / 3.0 * PI * a * a * c);
}

#[test]
fn graded_disks_and_molecules_do_not_fold() {
    for order in 1..=MAX_ORDER {
        let resolution = Resolution::Elements(2000);
        let disk = Disk { radius: 1.0, grade: 1000.0, resolution }.build_curved(order).unwrap();
        let [error, _] = errors(&disk, PI, 0.0);
        assert!(error < if order == 1 { 0.01 } else { 1e-5 }, "{error}");
        let molecule = Molecule { atoms: 20, resolution }.build_curved(order).unwrap();
        molecule.validate().unwrap();
        assert!(folds(&molecule).is_empty());
    }
    let sphere =
        Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution: Resolution::Elements(8) };
    assert!(matches!(sphere.build_curved(5), Err(Error::Order(5))));
    assert_eq!(sphere.build_curved(1), sphere.build());
}
/// Whatever is made does not fold, and if it would, the number named does not.
#[test]
fn few_elements_fold_nothing_or_are_refused_with_a_number_that_does_not() {
    type Build = Box<dyn Fn(Resolution, usize) -> Result<Mesh, Error>>;
    let mut shapes: Vec<Build> = Vec::new();
    for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
        shapes.push(Box::new(move |resolution, order| {
            Sphere { radius: 1.0, base, resolution }.build_curved(order)
        }));
        shapes.push(Box::new(move |resolution, order| {
            ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution }
                .build_curved(order)
        }));
        for grade in [1.0, 10.0, 100.0] {
            shapes.push(Box::new(move |resolution, order| {
                TwoSpheres { radius: 1.0, distance: 2.1, base, resolution }
                    .build_curved(grade, order)
            }));
        }
        for semi_axes in [[1.0, 1.0, 2.0], [1.0, 1.0, 10.0], [10.0, 10.0, 1.0]] {
            shapes.push(Box::new(move |resolution, order| {
                Ellipsoid { semi_axes, base, resolution }.build_curved(order)
            }));
        }
    }
    for tube_radius in [0.02, 0.25, 0.8, 0.98] {
        shapes.push(Box::new(move |resolution, order| {
            Torus { ring_radius: 1.0, tube_radius, resolution }.build_curved(order)
        }));
    }
    for grade in [1.0, 30.0, 1e4] {
        shapes.push(Box::new(move |resolution, order| {
            Disk { radius: 1.0, grade, resolution }.build_curved(order)
        }));
    }
    for length in [0.1, 2.0, 20.0] {
        shapes.push(Box::new(move |resolution, order| {
            Cylinder { radius: 1.0, length, resolution }.build_curved(order)
        }));
    }
    for atoms in [2, 30] {
        shapes.push(Box::new(move |resolution, order| {
            Molecule { atoms, resolution }.build_curved(order)
        }));
    }
    let mut refused = 0;
    // Any two of shape, order and number of elements meet.
    let counts = [1, 8, 32, 50, 100, 200];
    for (shape, build) in shapes.iter().enumerate() {
        for (order, count) in
            (2..=MAX_ORDER).flat_map(|order| (0..counts.len()).map(move |i| (order, i)))
        {
            if !(shape + order + count).is_multiple_of(3) {
                continue;
            }
            let elements = counts[count];
            match build(Resolution::Elements(elements), order) {
                Ok(mesh) => assert_eq!(folds(&mesh), [], "{shape} {order} {elements}"),
                Err(Error::Folds { least: Some(least), triangles, .. }) => {
                    refused += 1;
                    let mesh = build(Resolution::Elements(least), order).unwrap();
                    assert!(folds(&mesh).is_empty() && mesh.triangles.len() > triangles);
                }
                Err(error) => panic!("{shape} {order} {elements}: {error}"),
            }
        }
    }
    assert!(refused > 20, "{refused}");
    let sphere =
        Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution: Resolution::Elements(8) };
    let message = sphere.build_curved(3).unwrap_err().to_string();
    assert_eq!(
        message,
        "8 triangles are too few for order 3: some would fold over; ask for 32 elements, or try a lower order"
    );
}
