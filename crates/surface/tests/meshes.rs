//! What every mesh must have, and what options and bad input do.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::intersect::intersections;
use mesh::vector::{dot, norm};
use surface::{Atom, Cavities, Error, Kind, Options, PartKind, Resolution, Surface, molecular};

fn atom(centre: [f64; 3], radius: f64) -> Atom {
    Atom { centre, radius }
}

/// A chain of atoms that folds back on itself.
fn chain(count: usize) -> Vec<Atom> {
    let place = |k: usize| {
        let t = 0.55 * k as f64;
        [2.6 * t.sin() + 0.1 * (7.0 * t).sin(), 2.6 * t.cos(), 0.35 * k as f64]
    };
    (0..count).map(|k| atom(place(k), [1.7, 1.5, 1.2, 1.55][k % 4])).collect()
}

/// Atoms on a sphere, whose inside is a cavity.
fn shell(radius: f64, count: usize) -> Vec<Atom> {
    let place = |k: usize| {
        let z = 1.0 - (2 * k + 1) as f64 / count as f64;
        let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
        let out = radius * (1.0 - z * z).sqrt();
        [out * cos, out * sin, radius * z]
    };
    (0..count).map(|k| atom(place(k), 1.7)).collect()
}

fn check(surface: &Surface) {
    let report = Report::of(&surface.mesh).unwrap();
    assert!(report.whole.closed && report.whole.flipped_edges == 0);
    assert!(report.non_manifold_edges.is_empty() && report.defects.is_empty());
    assert!(report.quality.min_angle.min >= 15.0, "{:?}", report.quality.min_angle);
    assert_eq!(intersections(&surface.mesh), []);
    assert_eq!(surface.normals.len(), surface.mesh.vertices.len());
    assert!(surface.normals.iter().all(|n| (norm(*n) - 1.0).abs() < 1e-9));
    let parts = surface.info.parts.len();
    assert_eq!((report.components.len(), surface.mesh.groups.len()), (parts, parts));
}

#[test]
fn chains_are_sound_with_all_kinds_of_surfaces() {
    for kind in [Kind::SolventExcluded, Kind::SolventAccessible, Kind::Gaussian] {
        for order in [1, 2] {
            let options = Options::default().kind(kind).order(order);
            let surface = molecular(&chain(24), &options).unwrap();
            check(&surface);
            assert_eq!(surface.mesh.order(), order);
        }
    }
}

/// On a surface of two atoms all vertices are on a sphere or a torus, and normals perpendicular.
#[test]
fn vertices_and_middles_are_on_the_surface() {
    let atoms = [atom([0.0; 3], 1.6), atom([2.0, 0.0, 0.0], 1.6)];
    let options = Options::default().order(2);
    let surface = molecular(&atoms, &options).unwrap();
    check(&surface);
    let on = |x: [f64; 3]| {
        let out = x[1].hypot(x[2]);
        // The circle of probe centres is in the plane x = 1.
        let circle = (9.0f64 - 1.0).sqrt();
        let saddle = (out - circle).hypot(x[0] - 1.0) - 1.4;
        let spheres = atoms.map(|a| norm(mesh::vector::sub(x, a.centre)) - 1.6);
        saddle.abs().min(spheres[0].abs()).min(spheres[1].abs())
    };
    assert!(surface.mesh.vertices.iter().all(|x| on(*x) < 1e-7));
    let patches = surface.mesh.patches.as_ref().unwrap();
    assert!(patches.nodes.iter().all(|x| on(*x) < 1e-7));
    // Normals of triangles are about those of their corners.
    for (t, corners) in surface.mesh.triangles.iter().enumerate() {
        let normal = mesh::quality::normals(&surface.mesh)[t];
        for v in corners {
            assert!(dot(normal, surface.normals[*v as usize]) > 0.8);
        }
    }
}

#[test]
fn cavities_are_kept_or_filled() {
    let shell = shell(6.0, 120);
    let options = Options::default().resolution(Resolution::Density(2.0));
    let kept = molecular(&shell, &options).unwrap();
    check(&kept);
    let names: Vec<_> = kept.info.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["molecule", "cavity_1"]);
    let cavity = &kept.info.parts[1];
    // A ball of about the distance to the atoms less their radius.
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 4.3f64.powi(3);
    assert!(cavity.kind == PartKind::Cavity && (cavity.volume / ball - 1.0).abs() < 0.2);
    let filled = molecular(&shell, &options.cavities(Cavities::Drop)).unwrap();
    check(&filled);
    assert_eq!((filled.info.parts.len(), filled.info.filled.count), (1, 1));
    assert_eq!(filled.info.parts[0], kept.info.parts[0]);
    let large = options.min_cavity(2.0 * ball);
    assert_eq!(molecular(&shell, &large).unwrap().info.filled.count, 1);
}

#[test]
fn parts_that_do_not_touch_are_named_by_size() {
    let atoms = [atom([0.0; 3], 1.2), atom([20.0, 0.0, 0.0], 1.9)];
    let surface = molecular(&atoms, &Options::default()).unwrap();
    check(&surface);
    let names: Vec<_> = surface.info.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["molecule_1", "molecule_2"]);
    assert!(surface.info.parts[0].volume > surface.info.parts[1].volume);
}

#[test]
fn numbers_of_triangles_are_followed() {
    for elements in [1000, 5000] {
        let resolution = Resolution::Elements(elements);
        let surface = molecular(&chain(20), &Options::default().resolution(resolution)).unwrap();
        check(&surface);
        let ratio = surface.mesh.triangles.len() as f64 / elements as f64;
        assert!((0.9..1.1).contains(&ratio), "{elements} {ratio}");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| molecular(&chain(30), &Options::default()).unwrap())
    };
    assert_eq!(run(1), run(3));
}

/// A molecule elsewhere, turned and in another unit has the same area.
#[test]
fn results_hardly_depend_on_place_and_unit() {
    let atoms = chain(16);
    let first = molecular(&atoms, &Options::default()).unwrap();
    let moved = |scale: f64| -> Vec<Atom> {
        let place =
            |[x, y, z]: [f64; 3]| [scale * (z + 50.3), scale * (x - 7.1), scale * (y + 0.4)];
        atoms.iter().map(|a| atom(place(a.centre), scale * a.radius)).collect()
    };
    for scale in [1.0, 0.1] {
        let options = Options::default()
            .probe(1.4 * scale)
            .resolution(Resolution::Density(4.0 / (scale * scale)));
        let other = molecular(&moved(scale), &options).unwrap();
        check(&other);
        let ratio = other.info.parts[0].area / (scale * scale) / first.info.parts[0].area;
        // Twice what one surface may be off.
        assert!((ratio - 1.0).abs() < 2e-3, "{scale} {ratio}");
    }
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let bad = |atoms: &[Atom], options: Options| molecular(atoms, &options).unwrap_err();
    let good = [atom([0.0; 3], 1.0)];
    let none = Options::default();
    assert_eq!(bad(&[], none), Error::NoAtoms { atoms: 0 });
    assert_eq!(bad(&[atom([0.0; 3], 0.0)], none), Error::NoAtoms { atoms: 1 });
    let nan = [good[0], atom([f64::NAN, 0.0, 0.0], 1.0)];
    assert!(matches!(bad(&nan, none), Error::NotFinite { atom: 1, what: "coordinate", .. }));
    let negative = [good[0], good[0], atom([0.0; 3], -1.0)];
    assert!(matches!(bad(&negative, none), Error::NegativeRadius { atom: 2, .. }));
    for density in [0.0, -1.0, f64::NAN] {
        let resolution = Resolution::Density(density);
        let refused = bad(&good, none.resolution(resolution));
        assert!(matches!(refused, Error::Option { option: "density", .. }));
    }
    let refused = bad(&good, none.probe(-0.1));
    assert!(matches!(refused, Error::Option { option: "probe", .. }));
    let huge = none.resolution(Resolution::Density(1e9));
    assert!(matches!(bad(&good, huge), Error::TooMany { .. }));
    let apart = [good[0], atom([1e8, 1e8, 1e8], 1.0)];
    assert!(matches!(bad(&apart, none), Error::TooMany { .. }));
}
