use farad::{Amount, Charge, Conductor, Description, Dielectric, Note, Problem};

use crate::testing;

/// The conductors that notes name, with charges at these distances from the middle of two
/// spheres of radius 1 and 2 around it.
fn noted(description: Description, distances: &[f64]) -> Vec<(String, usize)> {
    let charge = |&x: &f64| Charge { position: [x, 0.0, 0.0], amount: Amount::Coulomb(1.0) };
    let charges = distances.iter().map(charge).collect();
    let problem = Problem::new(description.charges(charges), testing::shells());
    let name = |note: &Note| match note {
        Note::InMetal { conductor, charges, .. } => Some((conductor.clone(), *charges)),
        _ => None,
    };
    problem.unwrap().notes().iter().filter_map(name).collect()
}

#[test]
fn charges_are_noted_where_metal_may_be_solid() {
    let spheres = Description::default();
    let in_inner = |charges| vec![("inner".to_owned(), charges)];
    assert_eq!(noted(spheres.clone(), &[0.0, 0.1, 5.0]), in_inner(2));
    // What has another body inside is a shell.
    assert_eq!(noted(spheres.clone(), &[1.5]), []);
    // One with an inner wall of its own: what is within that is not in metal.
    let groups = vec!["inner".to_owned(), "outer".to_owned()];
    let conductors = vec![Conductor::new("shell").groups(groups)];
    let shell = Description::default().conductors(conductors);
    assert_eq!(noted(shell.clone(), &[0.0]), []);
    assert_eq!(noted(shell, &[1.5]), [("shell".to_owned(), 1)]);
    // A medium in it says that it is hollow.
    let filled = spheres.dielectrics(vec![Dielectric::new("inner", 3.0)]);
    let conductors = vec![Conductor::new("inner"), Conductor::new("outer")];
    assert_eq!(noted(filled.conductors(conductors), &[0.0]), []);
}
