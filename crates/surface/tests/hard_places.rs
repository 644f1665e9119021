//! Places where a surface touches itself, or is a sheet thinner than its triangles.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use mesh::check::Report;
use mesh::intersect::intersections;
use surface::{Atom, Kind, Options, Surface, molecular};

fn atom(centre: [f64; 3], radius: f64) -> Atom {
    Atom { centre, radius }
}

/// Atoms on a cubic lattice.
fn lattice(side: usize, step: f64, radius: f64) -> Vec<Atom> {
    let place = |k: usize| [k % side, k / side % side, k / side / side].map(|n| step * n as f64);
    (0..side.pow(3)).map(|k| atom(place(k), radius)).collect()
}

/// Atoms on a sphere.
fn shell(radius: f64, count: usize) -> Vec<Atom> {
    let place = |k: usize| {
        let z = 1.0 - (2 * k + 1) as f64 / count as f64;
        let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
        let out = radius * (1.0 - z * z).sqrt();
        [out * cos, out * sin, radius * z]
    };
    (0..count).map(|k| atom(place(k), [1.2, 1.5, 1.7, 1.0][k % 4])).collect()
}

fn sound(atoms: &[Atom], kind: Kind) -> Surface {
    let surface = molecular(atoms, &Options::default().kind(kind)).unwrap();
    let report = Report::of(&surface.mesh).unwrap();
    assert!(report.whole.closed && report.whole.flipped_edges == 0);
    assert!(report.non_manifold_edges.is_empty() && report.defects.is_empty());
    assert_eq!(intersections(&surface.mesh), []);
    assert!(report.quality.min_angle.min >= 15.0, "{:?}", report.quality.min_angle);
    // Few vertices are off the surface.
    let (off, all) = (surface.info.off_surface, surface.mesh.vertices.len());
    assert!(10 * off < all, "{off} of {all}");
    surface
}

/// Probes between eight atoms touch each other.
#[test]
fn exact_cubic_lattices() {
    sound(&lattice(2, 2.7, 1.7), Kind::SolventExcluded);
    sound(&lattice(2, 3.0, 1.5), Kind::VanDerWaals);
}

/// Membranes between atoms that leave holes in them.
#[test]
fn shells_with_holes() {
    sound(&shell(5.85, 40), Kind::SolventExcluded);
}

#[test]
fn tangent_spheres() {
    let row = [0.0, 1.7, 2.9, 4.1, 5.6];
    let mut atoms: Vec<Atom> =
        row.iter().zip([0.9, 0.8, 0.4, 0.8, 0.7]).map(|(x, r)| atom([*x, 0.0, 0.0], r)).collect();
    atoms.push(atom([0.0, 2.4, 0.0], 1.5));
    atoms.push(atom([2.9, 0.0, -1.6], 1.2));
    for kind in [Kind::SolventExcluded, Kind::SolventAccessible, Kind::VanDerWaals] {
        let surface = sound(&atoms, kind);
        if kind == Kind::VanDerWaals {
            // All spheres, less where some overlap.
            let spheres = atoms.iter().map(|a| 4.0 * std::f64::consts::PI * a.radius.powi(2));
            let area: f64 = surface.info.parts.iter().map(|part| part.area).sum();
            assert!((area / spheres.sum::<f64>() - 1.0).abs() < 0.05, "{area}");
        }
    }
}

/// Corners of many spheres, with creases a small part of a triangle apart.
#[test]
fn dense_unions() {
    let atoms: Vec<Atom> = (0..60)
        .map(|k| {
            let t = f64::from(k);
            let wave = |f: f64| 2.4 * (f * t).sin();
            atom([wave(1.3), wave(2.1), wave(3.7)], [1.2, 1.55, 1.7, 1.0][k as usize % 4])
        })
        .collect();
    sound(&atoms, Kind::VanDerWaals);
}

/// Atoms in a plane, with copies, ones within others and ones without radius: thin sheets.
#[test]
fn coplanar_atoms_and_copies() {
    let mut atoms: Vec<Atom> = (0..16)
        .map(|k| {
            let t = f64::from(k);
            atom(
                [6.0 * (1.7 * t).sin(), 6.0 * (2.3 * t).cos(), 0.0],
                [1.2, 1.5, 1.7][k as usize % 3],
            )
        })
        .collect();
    for k in 0..6 {
        atoms.push(atoms[k]);
        atoms.push(Atom { radius: 0.5 * atoms[k].radius, ..atoms[k] });
        atoms.push(Atom { radius: 0.0, ..atoms[k + 6] });
    }
    for kind in [Kind::SolventExcluded, Kind::VanDerWaals] {
        sound(&atoms, kind);
    }
}

/// Results are equal for all numbers of threads, where changes are checked.
#[test]
fn threads_do_not_matter_there() {
    let atoms = lattice(2, 3.0, 1.5);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sound(&atoms, Kind::VanDerWaals))
    };
    assert_eq!(run(1), run(3));
}
