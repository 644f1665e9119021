//! Forces that are small beside what the solver's tolerance is relative to.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Body, CapacitanceOptions, Condition, Excitation, Force, Images, Media, Method, Prepared, Quiet,
    forces,
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

/// Two unit spheres in vacuum and the force on each, the first at 1 V; the tolerance is that of the fast method, none is dense.
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
    let options = CapacitanceOptions {
        method: tolerance.map_or(Method::Dense, |_| Method::Fmm),
        tolerance: tolerance.unwrap_or(1e-6),
        ..CapacitanceOptions::default()
    };
    let units: Vec<Excitation> = (0..conductors)
        .map(|k| Excitation {
            potentials: (0..conductors).map(|i| f64::from(i == k)).collect(),
            ..Excitation::default()
        })
        .collect();
    let conditions = [Condition::Potential(1.0), Condition::Charge(0.0)];
    let conditions = &conditions[..conductors];
    let mut prepared = Prepared::new(&mesh, media, conductors, &options, &Quiet).unwrap();
    let mut answer = prepared.solve(&units, &Quiet).unwrap();
    let mut state = answer.state(conditions, None).unwrap();
    let excitation = Excitation { potentials: state.potentials.clone(), ..Excitation::default() };
    if let Some(refined) = prepared.refine(&excitation, &state.charge, &Quiet).unwrap() {
        assert!(refined.relative_residual <= tolerance.unwrap(), "{}", refined.relative_residual);
        answer.responses.push(refined);
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

/// The field of the first sphere polarises the second, which is pulled by a force that falls as the fifth power of the distance, far
/// below what a residual relative to the first sphere's potential would leave of it.
#[test]
fn forces_on_what_is_far_away_are_as_exact_as_the_tolerance() {
    for second in [Second::Floating, Second::Dielectric(5.0)] {
        for distance in [10.0, 40.0, 400.0] {
            let dense = force_on_spheres(distance, second, None);
            let polarisability = match second {
                Second::Floating => 1.0,
                Second::Dielectric(permittivity) => (permittivity - 1.0) / (permittivity + 2.0),
            };
            // A charge of 1 and the dipole that it induces; the next term is of second order in 1/distance. Facets take 4 %
            // of the volume, and 1 % of the charge, which counts twice.
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
