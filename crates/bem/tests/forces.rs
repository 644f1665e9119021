//! Forces that are small compared with what the solver's tolerance is relative to.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Body, Condition, Excitation, Force, Images, Media, Method, NoProgress, PointCharge, Prepared,
    SolveOptions, forces, neutral_dipole_moment,
};
use mesh::Mesh;
use mesh::generate::{Resolution, SphereBase, TwoSpheres};

/// What the second of two spheres is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Second {
    /// Metal without charge.
    Floating,
    /// Of this permittivity.
    Dielectric(f64),
}

/// Two unit spheres in vacuum and the force on each, the first at 1 V; the tolerance is that of the
/// fast method, none is dense.
fn force_on_spheres(distance: f64, second: Second, tolerance: Option<f64>) -> [Force; 2] {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(640));
    let mesh: Mesh = TwoSpheres { radius: 1.0, distance, base, resolution }.build().unwrap();
    let n = mesh.triangles.len();
    let is_first = |t: usize| mesh.groups_of(t)[0] == 0;
    let (others, inside) = match second {
        Second::Floating => (Some(1), 1.0),
        Second::Dielectric(permittivity) => (None, permittivity),
    };
    let conductor: Vec<Option<u32>> =
        (0..n).map(|t| if is_first(t) { Some(0) } else { others }).collect();
    let permittivity: Vec<[f64; 2]> =
        (0..n).map(|t| [1.0, if is_first(t) { 1.0 } else { inside }]).collect();
    let conductors = 1 + usize::from(second == Second::Floating);
    let images = Images::default();
    let media = Media {
        conductor: &conductor,
        conductors,
        permittivity: &permittivity,
        images: &images,
        bodies: &[],
    };
    let options = SolveOptions::default()
        .method(tolerance.map_or(Method::Dense, |_| Method::Fmm))
        .tolerance(tolerance.unwrap_or(1e-6));
    let units: Vec<Excitation> = (0..conductors)
        .map(|k| {
            Excitation::default().potentials((0..conductors).map(|i| f64::from(i == k)).collect())
        })
        .collect();
    let conditions = [Condition::Potential(1.0), Condition::Charge(0.0)];
    let conditions = &conditions[..conductors];
    let mut prepared = Prepared::new(&mesh, media, conductors, &options).unwrap();
    let mut answer = prepared.solve(&units, &NoProgress).unwrap();
    let mut state = answer.state(conditions, None).unwrap();
    let excitation = Excitation::default().potentials(state.potentials.clone());
    if let Some(refined) = prepared.refine(&excitation, &state.charge, &NoProgress).unwrap() {
        let response = refined.response;
        assert!(response.relative_residual <= tolerance.unwrap(), "{}", response.relative_residual);
        answer.responses.push(response);
        state = answer.state(conditions, Some(conductors)).unwrap();
    } else {
        assert!(tolerance.is_none());
    }
    let bodies = [true, false].map(|first| Body {
        triangles: (0..n as u32).filter(|&t| is_first(t as usize) == first).collect(),
        charges: Vec::new(),
        permittivity: 1.0,
        about: [0.0; 3],
    });
    let found = forces(&mesh, &state.charge, &Excitation::default(), &bodies).unwrap();
    [found[0], found[1]]
}

/// The field of the first sphere polarises the second, which is pulled by a force that falls as the
/// fifth power of the distance, far below what a residual relative to the first sphere's potential
/// would leave of it.
#[test]
fn forces_on_what_is_far_away_are_as_exact_as_the_tolerance() {
    for second in [Second::Floating, Second::Dielectric(5.0)] {
        for distance in [10.0, 40.0, 400.0] {
            let dense = force_on_spheres(distance, second, None);
            let polarisability = match second {
                Second::Floating => 1.0,
                Second::Dielectric(permittivity) => (permittivity - 1.0) / (permittivity + 2.0),
            };
            // A charge of 1 and the dipole that it induces; the next term is of second order in
            // 1/distance. Facets take 4 % of the volume, and 1 % of the charge, which counts twice.
            let series = -2.0 * polarisability / f64::powi(distance, 5);
            let ratio = dense[1].force[0] / series;
            assert!((0.92..1.03).contains(&ratio), "{second:?} {distance}: {ratio}");
            for tolerance in [1e-3, 1e-6] {
                let fast = force_on_spheres(distance, second, Some(tolerance));
                for body in [0, 1] {
                    let off = (fast[body].force[0] / dense[body].force[0] - 1.0).abs();
                    println!("{second:?} {distance} {tolerance:.0e} {body}: {off:.1e}");
                    // Charges enter twice, each to the tolerance of what acts on them.
                    assert!(off < 3.0 * tolerance, "{second:?} {distance}: {off:.1e}");
                }
                let sum = (fast[0].force[0] + fast[1].force[0]).abs();
                // The fast sum is good to 1e-6 of the field.
                assert!(sum < 1e-6 * fast[0].force[0].abs(), "{second:?} {distance}: {fast:?}");
            }
        }
    }
}

/// Two unit spheres: of the charges on one next to nothing is left at the other. A net charge is
/// none but an error to ten tolerances, but never more than a hundredth.
#[test]
fn a_body_without_action_has_no_force_and_a_net_charge_is_no_error() {
    let (base, resolution, distance) = (SphereBase::Icosahedron, Resolution::Elements(640), 5.0);
    let mesh: Mesh = TwoSpheres { radius: 1.0, distance, base, resolution }.build().unwrap();
    let n = mesh.triangles.len();
    let body = |second: bool, charges: Vec<usize>| Body {
        triangles: (0..n as u32)
            .filter(|&t| (mesh.groups_of(t as usize)[0] != 0) == second)
            .collect(),
        charges,
        permittivity: 1.0,
        about: [0.0; 3],
    };
    let bodies = |charges| [body(false, Vec::new()), body(true, charges)];
    let each = 2.0 / n as f64;
    let charge = |second: f64| -> Vec<f64> {
        (0..n).map(|t| if mesh.groups_of(t)[0] == 0 { each } else { second * each }).collect()
    };
    let middle = [distance, 0.0, 0.0];
    let source = PointCharge { position: middle, charge: 1.0, permittivity: 1.0 };
    let sources = Excitation::default().charges(vec![source]);
    for (second, own, resolved) in
        [(1e-9, vec![], true), (1e-12, vec![], false), (1e-12, vec![0], true)]
    {
        let found = forces(&mesh, &charge(second), &sources, &bodies(own)).unwrap();
        assert_eq!([found[0].is_resolved, found[1].is_resolved], [true, resolved], "{second}");
        // The field at the surface of a charge of 1, against half of itself everywhere; flat
        // triangles have less area.
        let stress = found[0].stress * 2.0;
        assert!((1.0..1.05).contains(&stress), "{stress}");
    }
    // A charge of 1 on each, of opposite signs.
    for tolerance in [1e-6, 0.1] {
        let moment = neutral_dipole_moment(&mesh, &charge(-1.0), tolerance);
        assert!((moment[0].abs() / distance - 1.0).abs() < 1e-9, "{tolerance}: {moment:?}");
    }
}

/// A charge and its opposite under the surface of a sphere: at a distance fields are a small part
/// of what triangles add up, whose integrals have to be that much better for the sphere that is
/// there.
#[test]
fn what_triangles_take_from_each_other_is_left_exactly_on_weak_bodies() {
    let (base, resolution, distance) = (SphereBase::Icosahedron, Resolution::Elements(640), 4.0);
    let mesh: Mesh = TwoSpheres { radius: 1.0, distance, base, resolution }.build().unwrap();
    let n = mesh.triangles.len();
    let first = mesh.corners((0..n).find(|&t| mesh.groups_of(t)[0] == 0).unwrap())[0];
    let side = (first[0] / distance).round() * distance;
    let conductor = vec![None; n];
    let permittivity: Vec<[f64; 2]> =
        (0..n).map(|t| [78.5, if mesh.groups_of(t)[0] == 0 { 1.0 } else { 1.5 }]).collect();
    let images = Images::default();
    let media = Media {
        conductor: &conductor,
        conductors: 0,
        permittivity: &permittivity,
        images: &images,
        bodies: &[],
    };
    let charge =
        |z: f64, charge: f64| PointCharge { position: [side, 0.85, z], charge, permittivity: 1.0 };
    let excitation = Excitation::default().charges(vec![charge(0.01, 1.0), charge(-0.01, -1.0)]);
    for tolerance in [1e-3, 1e-4, 1e-5] {
        let options = SolveOptions::default().method(Method::Fmm).tolerance(tolerance);
        let mut prepared = Prepared::new(&mesh, media, 1, &options).unwrap();
        let answer = prepared.solve(std::slice::from_ref(&excitation), &NoProgress).unwrap();
        let charge = &answer.responses[0].charge;
        let left = prepared.refine(&excitation, charge, &NoProgress).unwrap().unwrap().residual;
        println!("{tolerance:.0e}: {:.1e} of what acts", left.relative);
        assert!(left.relative < 3.0 * tolerance, "{tolerance:.0e}: {:.1e}", left.relative);
    }
}

/// Over triangles next to other charges the field is not smooth: what the rule leaves is reported.
/// Splitting all triangles, with their charge, changes nothing else.
#[test]
fn what_is_left_of_the_field_over_triangles_near_others_is_reported() {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(640));
    for gap in [1.0, 0.1, 0.03, 0.01, 1e-3] {
        let distance = 2.0 + gap;
        let mut mesh: Mesh =
            TwoSpheres { radius: 1.0, distance, base, resolution }.build().unwrap();
        let is_first = |mesh: &Mesh, t: usize| mesh.groups_of(t)[0] == 0;
        // As much as two spheres at opposite potentials draw to where they are closest.
        let density = |t: usize| {
            let [a, b, c] = mesh.corners(t);
            let across = (a[1] + b[1] + c[1]).hypot(a[2] + b[2] + c[2]) / 3.0;
            let facing = (a[0] + b[0] + c[0]).abs() < 1.5 * distance;
            let far = if facing { 0.0 } else { 1.0 };
            let sign = if is_first(&mesh, t) { 1.0 } else { -1.0 };
            sign / (0.05 + across * across + far)
        };
        let mut charge: Vec<f64> = (0..mesh.triangles.len()).map(density).collect();
        let mut found = Vec::new();
        for _ in 0..3 {
            let n = mesh.triangles.len();
            let body = |first: bool| Body {
                triangles: (0..n as u32)
                    .filter(|&t| is_first(&mesh, t as usize) == first)
                    .collect(),
                charges: Vec::new(),
                permittivity: 1.0,
                about: [0.0; 3],
            };
            let bodies = [body(true), body(false)];
            found.push(forces(&mesh, &charge, &Excitation::default(), &bodies).unwrap());
            mesh = mesh::refine::uniform(&mesh, |_, x| x).unwrap();
            charge = charge.iter().flat_map(|q| [q / 4.0; 4]).collect();
        }
        for body in 0..2 {
            let of = |level: usize| found[level][body];
            let norm = |f: [f64; 3]| f.iter().map(|x| x * x).sum::<f64>().sqrt();
            let size = norm(of(2).force);
            let off = |level: usize| {
                norm(std::array::from_fn(|k| of(level).force[k] - of(2).force[k])) / size
            };
            for level in [0, 1] {
                let (off, reported) = (off(level), of(level).quadrature_error / size);
                println!("{gap}, level {level}: {off:.1e}, reported {reported:.1e}");
                assert!(
                    off < reported + 1e-8,
                    "{gap}, level {level}: {off:.1e}, reported {reported:.1e}"
                );
            }
            let (off, reported) = (off(0), of(0).quadrature_error / size);
            assert!(reported < 20.0 * off, "{gap}: {off:.1e}, reported {reported:.1e}");
        }
    }
}
