use farad::{Amount, Charge, Conductor, Description, LengthUnit, Problem, Setting, Warning, units};
use mesh::Mesh;
use mesh::generate::{Sphere, SphereBase};

use crate::testing;

/// A grounded sphere of radius 1, with a charge at this distance from it: energy relative to
/// the exact one, and warnings.
fn charge_at(distance: f64) -> (f64, Vec<Warning>) {
    charge_next_to(testing::sphere(), distance)
}

fn charge_next_to(sphere: Mesh, distance: f64) -> (f64, Vec<Warning>) {
    let direction = [0.48, 0.6, 0.64];
    let position = direction.map(|u| u * (1.0 + distance));
    let conductor = Conductor::new("sphere").setting(Some(Setting::Potential(0.0)));
    let description = Description::default()
        .conductors(vec![conductor])
        .charges(vec![Charge { position, amount: Amount::Coulomb(1e-10) }]);
    let problem = Problem::new(description, sphere).unwrap();
    let solution = problem.solve(&bem::SolveOptions::default(), &bem::NoProgress).unwrap();
    let energy = solution.state.unwrap().solvation.unwrap().energies.reaction_j;
    let image = 1.0 / ((1.0 + distance).powi(2) - 1.0);
    let exact = -0.5 * 1e-20 * image / units::farads(1.0, LengthUnit::Metre);
    (energy / exact, solution.warnings)
}

#[test]
fn charges_closer_to_a_curved_surface_than_its_facets_follow_it_are_reported_with_how_much() {
    for distance in [0.3, 0.1, 0.03] {
        let (energy, warnings) = charge_at(distance);
        let found = warnings.iter().find(|w| w.check == "charge_near_curved_surface").unwrap();
        let off = (energy - 1.0).abs();
        assert!(off < found.value && found.value < 3.0 * off, "{distance}: {energy}, {found:?}");
        assert_eq!(found.is_error, found.value > 1.0, "{distance}");
        let part = "the energy of charges near curved surfaces is off by about";
        assert!(found.message.contains(part), "{found:?}");
    }
    let (energy, warnings) = charge_at(1.5);
    assert!((energy - 1.0).abs() < 0.1 && warnings.is_empty(), "{energy}, {warnings:?}");
}

#[test]
fn charges_next_to_coarse_curved_triangles_are_reported_alike() {
    let sphere = |elements| {
        let (base, resolution) =
            (SphereBase::Octahedron, mesh::generate::Resolution::Elements(elements));
        Sphere { radius: 1.0, base, resolution }.build_curved(2).unwrap()
    };
    for distance in [0.05, 0.03] {
        let (energy, warnings) = charge_next_to(sphere(32), distance);
        let found = warnings.iter().find(|w| w.check == "charge_near_curved_surface").unwrap();
        let off = (energy - 1.0).abs();
        assert!(
            off < 2.0 * found.value && found.value < 3.0 * off,
            "{distance}: {energy}, {found:?}"
        );
    }
    let (energy, warnings) = charge_next_to(sphere(512), 0.1);
    assert!((energy - 1.0).abs() < 0.01 && warnings.is_empty(), "{energy}, {warnings:?}");
}
