//! Generated meshes: counts, true surfaces, closedness, orientation, grading.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use approx::assert_relative_eq;
use mesh::Mesh;
use mesh::check::Report;
use mesh::generate::*;
use mesh::quality;
use mesh::topology::Orientation;
use std::f64::consts::PI;

fn norm(v: [f64; 3]) -> f64 {
    v[0].hypot(v[1]).hypot(v[2])
}

/// The report of a mesh of sound closed bodies with outward normals.
fn sound(mesh: &Mesh, bodies: usize) -> Report {
    let report = Report::of(mesh).unwrap();
    assert!(report.defects.is_empty(), "{}", report.defects);
    assert_eq!((report.coincident_vertices, report.ungrouped), (0, 0));
    assert_eq!((report.components.len(), report.groups.len()), (bodies, bodies));
    for part in report.components.iter().chain(&report.groups) {
        assert!(part.part.closed);
        assert_eq!(part.part.orientation(), Orientation::Outward);
    }
    report
}

/// The report of an open surface whose normals are all +z.
fn flat(mesh: &Mesh) -> Report {
    let report = Report::of(mesh).unwrap();
    assert!(report.defects.is_empty(), "{}", report.defects);
    assert_eq!((report.components.len(), report.coincident_vertices), (1, 0));
    assert_eq!(report.components[0].part.orientation(), Orientation::Open);
    assert!(quality::normals(mesh).iter().all(|n| n[2] > 0.999));
    report
}

fn sphere(base: SphereBase, elements: usize) -> Mesh {
    Sphere { radius: 2.0, base, resolution: Resolution::Elements(elements) }.build().unwrap()
}

#[test]
fn spheres() {
    use SphereBase::{Icosahedron, Octahedron};
    for (base, asked, made) in [
        (Octahedron, 1, 8),
        (Octahedron, 8192, 8192),
        (Octahedron, 32_768, 32_768),
        (Octahedron, 10_000, 9800),
        (Icosahedron, 20, 20),
        (Icosahedron, 327_680, 327_680),
        (Icosahedron, 5000, 4500),
    ] {
        let mesh = sphere(base, asked);
        assert_eq!(mesh.triangles.len(), made);
        assert_eq!(mesh.vertices.len(), made / 2 + 2);
        assert!(mesh.vertices.iter().all(|v| (norm(*v) - 2.0).abs() < 1e-14));
        let report = sound(&mesh, 1);
        // The polyhedron is inside the sphere, with areas of second order in the edge.
        assert!(report.quality.area < 16.0 * PI);
        if made > 5000 {
            assert_relative_eq!(report.quality.area, 16.0 * PI, max_relative = 40.0 / made as f64);
            let areas = report.quality.triangle_area;
            assert!(areas.max / areas.min < 2.5, "{areas:?}");
        }
    }
}

#[test]
fn no_edge_of_a_sphere_exceeds_its_size() {
    for base in [SphereBase::Octahedron, SphereBase::Icosahedron] {
        for size in (1..40).map(|k| 1.2 / f64::from(k)) {
            let sphere = Sphere { radius: 1.0, base, resolution: Resolution::Size(size) };
            let edges = sound(&sphere.build().unwrap(), 1).quality.edge_length;
            assert!(edges.max <= size && edges.max > 0.4 * size, "{edges:?}");
            assert!(size > 0.06 || edges.max > 0.9 * size, "{edges:?}");
        }
    }
}

#[test]
fn pairs_of_spheres() {
    let resolution = Resolution::Elements(1000);
    let base = SphereBase::Icosahedron;
    let mesh = TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build().unwrap();
    let report = sound(&mesh, 2);
    let labels: Vec<&str> = report.groups.iter().map(|group| group.label.as_str()).collect();
    assert_eq!((mesh.triangles.len(), labels), (1000, vec!["left", "right"]));
    let [low, high] = report.quality.bounding_box;
    assert!(low[0] < -2.4 && low[0] >= -2.5 && high[0] > 2.4);
    let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base, resolution };
    sound(&shells.build().unwrap(), 2);
    let touching = TwoSpheres { radius: 1.0, distance: 2.0, base, resolution };
    assert!(matches!(touching.build(), Err(Error::Intersecting { .. })));
}

#[test]
fn cubes() {
    for (grade, asked, made) in [
        (1.0, 8112, 8112),
        (1.0, 5, 12),
        (800.0, 7000, 6912),
        (1000.0, 20_000, 19_200),
        (3.0, 400, 300),
    ] {
        let resolution = Resolution::Elements(asked);
        let mesh = Cube { edge: 2.0, grade, resolution }.build().unwrap();
        assert_eq!(mesh.triangles.len(), made);
        let report = sound(&mesh, 1);
        assert_relative_eq!(report.quality.area, 24.0, max_relative = 1e-13);
        assert_relative_eq!(report.components[0].part.signed_volume, 8.0, max_relative = 1e-13);
    }
    let mesh = Cube { edge: 1.0, grade: 100.0, resolution: Resolution::Size(0.1) }.build().unwrap();
    let edges = sound(&mesh, 1).quality.edge_length;
    // Diagonals are longer than the grid lines that the size is for.
    assert!(edges.max <= 0.1 * 2f64.sqrt() * (1.0 + 1e-9));
    assert_relative_eq!(edges.max / edges.min, 100.0 * 2f64.sqrt(), max_relative = 1e-6);
}

#[test]
fn a_cube_with_even_counts_has_the_symmetry_of_the_cube() {
    let resolution = Resolution::Elements(12 * 16);
    let mesh = Cube { edge: 1.0, grade: 10.0, resolution }.build().unwrap();
    let key = |p: [f64; 3]| p.map(|x| (x * 1e12).round() as i64);
    let cells = |image: &dyn Fn([f64; 3]) -> [f64; 3]| {
        let mut cells: Vec<[[i64; 3]; 3]> = (0..mesh.triangles.len())
            .map(|t| {
                let mut corners = mesh.corners(t).map(|p| key(image(p)));
                corners.sort_unstable();
                corners
            })
            .collect();
        cells.sort_unstable();
        cells
    };
    let expected = cells(&|p| p);
    assert_eq!(cells(&|[x, y, z]| [-x, y, z]), expected);
    assert_eq!(cells(&|[x, y, z]| [y, z, x]), expected);
    assert_eq!(cells(&|[x, y, z]| [y, x, z]), expected);
}

#[test]
fn plates() {
    for (width, height, grade, asked, made) in [
        (1.0, 1.0, 1.0, 200, 200),
        (1.0, 1.0, 1e4, 1000, 968),
        (4.0, 1.0, 10.0, 1000, 968),
        (1.0, 1000.0, 1.0, 100, 100),
        (1.0, 1.0, 1.0, 1, 2),
    ] {
        let plate = Plate { width, height, grade, resolution: Resolution::Elements(asked) };
        let mesh = plate.build().unwrap();
        assert_eq!(mesh.triangles.len(), made);
        assert_relative_eq!(flat(&mesh).quality.area, width * height, max_relative = 1e-12);
    }
    let plate = Plate { width: 3.0, height: 1.0, grade: 1.0, resolution: Resolution::Size(0.1) };
    assert_eq!(plate.build().unwrap().triangles.len(), 2 * 30 * 10);
    // Large ones are refused by the number that they have.
    let resolution = Resolution::Elements(400_000);
    let plate = Plate { width: 1.0, height: 1.0, grade: 1.0, resolution };
    assert_eq!(plate.build().unwrap().triangles.len(), 2 * 447 * 447);
}

#[test]
fn disks() {
    for grade in [1.0, 5.0, 100.0, 1e4, 1e8] {
        for asked in [1, 100, 1000, 20_000] {
            let disk = Disk { radius: 2.0, grade, resolution: Resolution::Elements(asked) };
            let mesh = disk.build().unwrap();
            assert!(mesh.triangles.len() <= asked.max(6));
            let report = flat(&mesh);
            let rim = mesh.vertices.iter().filter(|v| (norm(**v) - 2.0).abs() < 1e-14).count();
            assert_eq!(report.whole.boundary_edges, rim);
            let polygon = 2.0 * rim as f64 * (2.0 * PI / rim as f64).sin();
            assert_relative_eq!(report.quality.area, polygon, max_relative = 1e-12);
        }
    }
    let disk = Disk { radius: 1.0, grade: 1.0, resolution: Resolution::Size(0.1) };
    let edges = flat(&disk.build().unwrap()).quality.edge_length;
    // Edges across a ring run at up to 45 degrees.
    assert!(edges.max <= 0.1 * 2f64.sqrt() && edges.max >= 0.08, "{edges:?}");
}

#[test]
fn tori() {
    for resolution in [Resolution::Elements(10_000), Resolution::Size(0.1)] {
        let torus = Torus { ring_radius: 2.0, tube_radius: 0.5, resolution };
        let mesh = torus.build().unwrap();
        let report = sound(&mesh, 1);
        assert_relative_eq!(report.quality.area, 4.0 * PI * PI, max_relative = 0.01);
        // Euler's characteristic of a torus is 0.
        assert_eq!(mesh.vertices.len() + mesh.triangles.len(), report.whole.edges);
        assert!((8000..=12_000).contains(&mesh.triangles.len()));
    }
    let spindle = Torus { ring_radius: 0.5, tube_radius: 1.0, resolution: Resolution::Size(0.1) };
    assert!(matches!(spindle.build(), Err(Error::Intersecting { .. })));
}

#[test]
fn buses() {
    let bus =
        |resolution| Bus { bars: 5, width: 1.0, spacing: 1.0, gap: 0.5, grade: 10.0, resolution };
    let mesh = bus(Resolution::Elements(20_000)).build().unwrap();
    assert!((10_000..=20_000).contains(&mesh.triangles.len()), "{}", mesh.triangles.len());
    let report = sound(&mesh, 10);
    assert_eq!(
        (report.groups[0].label.as_str(), report.groups[9].label.as_str()),
        ("bar_x1", "bar_y5")
    );
    for bar in &report.groups {
        assert_relative_eq!(bar.part.signed_volume, 11.0, max_relative = 1e-12);
    }
    sound(&bus(Resolution::Size(0.5)).build().unwrap(), 10);
}

/// Asking for a number that can be had gives it, more give no fewer, and steps are those of a
/// subdivision by one more.
#[test]
fn graded_counts_come_as_near_as_uniform_ones() {
    type Count = Box<dyn Fn(Resolution) -> usize>;
    let made = |mesh: Result<Mesh, Error>| mesh.unwrap().triangles.len();
    for grade in [1.0, 3.0, 30.0, 1000.0] {
        let mut shapes: Vec<Count> = vec![
            Box::new(move |resolution| made(Cube { edge: 1.0, grade, resolution }.build())),
            Box::new(move |resolution| made(Disk { radius: 1.0, grade, resolution }.build())),
        ];
        for width in [1.0, 4.0] {
            shapes.push(Box::new(move |resolution| {
                made(Plate { width, height: 1.0, grade, resolution }.build())
            }));
        }
        for bars in [1, 4] {
            shapes.push(Box::new(move |resolution| {
                made(Bus { bars, width: 1.0, spacing: 1.0, gap: 1.0, grade, resolution }.build())
            }));
        }
        for (shape, count) in shapes.iter().enumerate() {
            let mut least = 0;
            for asked in (0..60).map(|k| (100.0 * 1.1f64.powi(k)) as usize) {
                let found = count(Resolution::Elements(asked));
                assert!(found >= least, "{shape} {grade}: {found} for {asked}, {least} for less");
                assert_eq!(count(Resolution::Elements(found)), found, "{shape} {grade} {asked}");
                // From one cell across a bar to three: two cannot be graded.
                let share = found as f64 / asked as f64;
                assert!(asked < 4000 || share > 0.3, "{shape} {grade}: {found} for {asked}");
                least = found;
            }
        }
    }
    let resolution = Resolution::Elements(4128);
    let bus = Bus { bars: 4, width: 1.0, spacing: 1.0, gap: 1.0, grade: 30.0, resolution };
    assert_eq!(made(bus.build()), 4128);
}

/// Of all shapes: as near as the number that does not exceed the one asked for, and where the next
/// one is nearer that.
#[test]
fn closest_numbers_may_be_more() {
    let base = SphereBase::Octahedron;
    let build = |shape: usize, resolution: Resolution| -> usize {
        let mesh = match shape {
            0 => Sphere { radius: 1.0, base, resolution }.build(),
            1 => TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build(),
            2 => Cube { edge: 1.0, grade: 1.0, resolution }.build(),
            3 => Plate { width: 3.0, height: 1.0, grade: 2.0, resolution }.build(),
            4 => Disk { radius: 1.0, grade: 2.0, resolution }.build(),
            5 => Cylinder { radius: 1.0, length: 2.0, resolution }.build(),
            6 => Torus { ring_radius: 1.0, tube_radius: 0.25, resolution }.build(),
            _ => {
                let (width, spacing, gap) = (1.0, 1.0, 1.0);
                Bus { bars: 2, width, spacing, gap, grade: 1.0, resolution }.build()
            }
        };
        mesh.unwrap().triangles.len()
    };
    assert_eq!(build(0, Resolution::Elements(500)), 392);
    assert_eq!(build(0, Resolution::Closest(500)), 512);
    assert_eq!(build(1, Resolution::Closest(1000)), 1024);
    for shape in 0..8 {
        let mut more = 0;
        for asked in (100..1500).step_by(50) {
            let [most, closest] =
                [Resolution::Elements(asked), Resolution::Closest(asked)].map(|r| build(shape, r));
            assert!(closest.abs_diff(asked) <= most.abs_diff(asked), "{shape} {asked}: {closest}");
            more += usize::from(closest > asked);
        }
        assert!(more > 2, "{shape}: {more}");
    }
}

#[test]
fn senseless_requests_are_errors() {
    let cube = |edge, grade, resolution| Cube { edge, grade, resolution }.build().unwrap_err();
    for edge in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(matches!(cube(edge, 1.0, Resolution::Elements(100)), Error::Length { .. }));
    }
    for grade in [0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(cube(1.0, grade, Resolution::Elements(100)), Error::Grade(_)));
    }
    assert!(matches!(cube(1.0, 1.0, Resolution::Size(0.0)), Error::Length { .. }));
    assert_eq!(cube(1.0, 1.0, Resolution::Elements(0)), Error::None("elements"));
    assert_eq!(cube(1.0, 1.0, Resolution::Elements(usize::MAX)), Error::TooMany);
    assert_eq!(cube(1.0, 1.0, Resolution::Size(1e-9)), Error::TooMany);
    assert_eq!(cube(1.0, 1e8, Resolution::Size(1e-90)), Error::TooMany);
    let sphere =
        |resolution| Sphere { radius: 1.0, base: SphereBase::default(), resolution }.build();
    assert_eq!(sphere(Resolution::Size(1e-9)), Err(Error::TooMany));
    let bus = Bus {
        bars: usize::MAX,
        width: 1.0,
        spacing: 1.0,
        gap: 1.0,
        grade: 1.0,
        resolution: Resolution::Elements(10),
    };
    assert_eq!(bus.build(), Err(Error::TooMany));
}

#[test]
fn graded_spheres_are_finest_where_they_are_nearest() {
    let (resolution, base) = (Resolution::Elements(1600), SphereBase::Octahedron);
    let mesh =
        TwoSpheres { radius: 2.0, distance: 5.0, base, resolution }.build_graded(16.0).unwrap();
    let (mut near, mut far) = (f64::MAX, 0.0f64);
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            let centre = if a[0] < 0.0 { -2.5 } else { 2.5 };
            let radius = ((a[0] - centre).powi(2) + a[1].powi(2) + a[2].powi(2)).sqrt();
            assert!((radius - 2.0).abs() < 1e-12);
            let length = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
            // A quarter of the radius from either pole, sizes are as at the poles to a few percent.
            if a[0].abs() < 0.6 {
                near = near.min(length)
            }
            if a[0].abs() > 4.4 {
                far = far.max(length)
            }
        }
    }
    assert!((10.0..20.0).contains(&(far / near)), "{near} {far}");
    assert!(TwoSpheres { radius: 2.0, distance: 5.0, base, resolution }.build_graded(0.5).is_err());
}

#[test]
fn facets_can_have_the_volume_of_the_sphere() {
    let (resolution, base) = (Resolution::Elements(400), SphereBase::Icosahedron);
    let build = ConcentricSpheres { inner_radius: 1.0, outer_radius: 3.0, base, resolution };
    let mesh = with_volumes(build.build().unwrap(), &[([0.0; 3], 1.0), ([0.0; 3], 3.0)]);
    let ball = 4.0 / 3.0 * PI;
    for (part, radius) in mesh::topology::Topology::of(&mesh).groups.iter().zip([1.0f64, 3.0]) {
        assert!((part.signed_volume / (ball * radius.powi(3)) - 1.0).abs() < 1e-12);
    }
}

/// Fine facets are raised as little as fine facets need, however coarse the mesh is elsewhere:
/// scaled as a whole, these spheres would reach into each other.
#[test]
fn facets_of_the_spheres_volume_leave_gaps_open() {
    let (resolution, base) = (Resolution::Elements(640), SphereBase::Icosahedron);
    let shape = |distance| TwoSpheres { radius: 1.0, distance, base, resolution };
    let mesh = shape(2.02).build_with_volumes(100.0).unwrap();
    let ball = 4.0 / 3.0 * PI;
    for group in &mesh::topology::Topology::of(&mesh).groups {
        assert!((group.signed_volume / ball - 1.0).abs() < 1e-12);
    }
    let raised = |near: bool| {
        let chosen = mesh.vertices.iter().filter(|x| (x[0].abs() < 0.02) == near);
        chosen.map(|x| norm([x[0].abs() - 1.01, x[1], x[2]]) - 1.0).fold(0.0f64, f64::max)
    };
    // Edges of some 0.03 and 1 there: L / 24 is 1e-4 and 0.1.
    assert!(raised(true) < 1e-3 && raised(false) > 0.1, "{} {}", raised(true), raised(false));
    // Uniform facets of this size would reach into each other, too.
    assert!(matches!(shape(2.005).build_with_volumes(1.0), Err(Error::Intersecting { .. })));
}

/// One surface at all resolutions, good triangles, atoms inside of it and apart from each
/// other.
#[test]
fn molecules() {
    for (count, elements) in [(1, 320), (30, 2000), (300, 8000), (1000, 20_480)] {
        let molecule = Molecule { atoms: count, resolution: Resolution::Elements(elements) };
        let atoms = molecule.atoms().unwrap();
        assert_eq!(atoms.len(), count);
        let mesh = molecule.build().unwrap();
        let report = sound(&mesh, 1);
        assert_eq!(report.groups[0].label, "molecule");
        let angle = report.quality.min_angle;
        assert!(angle.min > 10.0 && angle.median > 35.0, "{count}: {angle:?}");
        for (i, a) in atoms.iter().enumerate() {
            let apart = |b: [f64; 3]| norm(std::array::from_fn(|k| b[k] - a.position[k]));
            assert!(atoms[..i].iter().all(|b| apart(b.position) > 1.0));
            // An atom's own Gaussian is above the level out to its radius.
            assert!(mesh.vertices.iter().all(|v| apart(*v) > 0.999 * a.radius));
        }
    }
    let coarse = Molecule { atoms: 30, resolution: Resolution::Elements(500) }.build().unwrap();
    let fine = Molecule { atoms: 30, resolution: Resolution::Elements(2000) }.build().unwrap();
    let shared = |v: &[f64; 3]| {
        fine.vertices.iter().any(|w| norm(std::array::from_fn(|k| v[k] - w[k])) < 1e-9)
    };
    assert!(coarse.vertices.iter().all(shared));
    let none = Molecule { atoms: 0, resolution: Resolution::Elements(500) };
    assert_eq!(none.build(), Err(Error::None("atoms")));
}
