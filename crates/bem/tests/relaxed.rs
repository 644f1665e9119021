//! Solves whose fast sums get looser as the residual falls, against those whose sums do not.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Conductors, Excitation, Images, Media, Method, NoProgress, PointCharge, SolveOptions,
    StopReason, capacitance, electrostatics,
};
use mesh::Mesh;
use mesh::generate::{Bus, ConcentricSpheres, Molecule, Resolution, SphereBase};

/// Iterations, residual and conductor charges of each excitation, and a number for each that sees
/// every charge.
#[derive(Debug)]
struct Outcome {
    solves: Vec<(usize, f64)>,
    totals: Vec<f64>,
    checks: Vec<f64>,
}

fn options(tolerance: f64, relax: bool) -> SolveOptions {
    let method = Method::Fmm;
    SolveOptions::default().method(method).tolerance(tolerance).relax(relax)
}

/// The residual is that of the tight sums: it holds without relaxing too. Answers agree to the
/// tolerance (times what the operator's inverse makes of it), and differ, or nothing was relaxed.
fn compare(name: &str, tolerance: f64, solve: impl Fn(&SolveOptions) -> Outcome) {
    let [tight, relaxed] = [false, true].map(|relax| solve(&options(tolerance, relax)));
    for (a, b) in tight.solves.iter().zip(&relaxed.solves) {
        assert!(b.0 <= a.0, "{name}: {} iterations in place of {}", b.0, a.0);
        assert!(b.1 <= tolerance, "{name}: {}", b.1);
    }
    for (a, b) in [(&tight.totals, &relaxed.totals), (&tight.checks, &relaxed.checks)] {
        let size = a.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= 10.0 * tolerance * size, "{name}: {a} and {b} of {size}");
        }
    }
    assert_ne!(tight.checks, relaxed.checks, "{name}: no product was relaxed");
}

fn conductors(mesh: &Mesh) -> Vec<Option<u32>> {
    (0..mesh.triangles.len()).map(|t| mesh.groups_of(t).first().copied()).collect()
}

#[test]
fn capacitances_of_many_conductors() {
    let resolution = Resolution::Elements(720);
    let bus = Bus { bars: 5, width: 1.0, spacing: 1.0, gap: 1.0, grade: 1.0, resolution };
    let mesh = bus.build().unwrap();
    let of_triangle = conductors(&mesh);
    for tolerance in [1e-6, 1e-8] {
        compare("bus", tolerance, |options| {
            let conductors = Conductors { of_triangle: &of_triangle, count: 10 };
            let answer = capacitance(&mesh, conductors, options, &NoProgress).unwrap();
            assert!(answer.solves.iter().all(|s| s.reason == StopReason::Converged));
            // The sampled error is that of the tight sums.
            assert!(answer.fmm_error_sampled.unwrap() < answer.fmm_tolerance.unwrap());
            Outcome {
                solves: answer.solves.iter().map(|s| (s.iterations, s.relative_residual)).collect(),
                totals: answer.maxwell.concat(),
                checks: answer.density.iter().map(|d| d.iter().sum()).collect(),
            }
        });
    }
}

/// Charges of surfaces with (conductor, permittivity outside, inside) by group.
fn dielectric(
    mesh: &Mesh,
    groups: &[(Option<u32>, f64, f64)],
    excitations: &[Excitation],
    options: &SolveOptions,
) -> Outcome {
    let of = |t: usize| groups[mesh.groups_of(t)[0] as usize];
    let n = mesh.triangles.len();
    let conductor: Vec<Option<u32>> = (0..n).map(|t| of(t).0).collect();
    let permittivity: Vec<[f64; 2]> = (0..n).map(|t| [of(t).1, of(t).2]).collect();
    let media = Media {
        conductor: &conductor,
        conductors: groups.iter().filter(|g| g.0.is_some()).count(),
        permittivity: &permittivity,
        images: &Images::default(),
        bodies: &[],
    };
    let answer = electrostatics(mesh, media, excitations, options, &NoProgress).unwrap();
    assert!(answer.responses.iter().all(|r| r.reason == StopReason::Converged));
    assert!(answer.fmm_error_sampled.unwrap() < answer.fmm_tolerance.unwrap());
    let dipole = |charge: &[f64]| -> f64 {
        charge.iter().enumerate().map(|(t, q)| q * mesh.corners(t)[0][2]).sum()
    };
    Outcome {
        solves: answer.responses.iter().map(|r| (r.iterations, r.relative_residual)).collect(),
        totals: answer.responses.iter().flat_map(|r| r.conductor_charge.clone()).collect(),
        checks: answer.responses.iter().map(|r| dipole(&r.charge)).collect(),
    }
}

#[test]
fn an_interface_with_a_conductor_and_a_charge() {
    let resolution = Resolution::Elements(720);
    let base = SphereBase::Icosahedron;
    let spheres = ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.5, base, resolution };
    let mesh = spheres.build().unwrap();
    let outside = PointCharge { position: [0.3, 0.4, 2.1], charge: 1.0, permittivity: 1.0 };
    let excitations = [
        Excitation::default().potentials(vec![1.0]),
        Excitation::default().potentials(vec![0.0]).charges(vec![outside]),
    ];
    for tolerance in [1e-6, 1e-8] {
        compare("coated sphere", tolerance, |options| {
            dielectric(&mesh, &[(Some(0), 8.0, 8.0), (None, 1.0, 8.0)], &excitations, options)
        });
    }
}

#[test]
fn a_molecule() {
    let molecule = Molecule { atoms: 60, resolution: Resolution::Elements(1280) };
    let mesh = molecule.build().unwrap();
    let charge = |atom: mesh::generate::Atom| PointCharge {
        position: atom.position,
        charge: atom.charge,
        permittivity: 2.0,
    };
    let charges = molecule.atoms().unwrap().into_iter().map(charge).collect();
    let excitation = Excitation::default().charges(charges);
    for tolerance in [1e-6, 1e-8] {
        compare("molecule", tolerance, |options| {
            dielectric(&mesh, &[(None, 80.0, 2.0)], std::slice::from_ref(&excitation), options)
        });
    }
}
