use farad::units::ELEMENTARY_CHARGE;
use farad::{
    Amount, Atom, Charge, ChargeFault, Description, Dielectric, Error, Fault, LengthUnit,
    Misplaced, Plane, Problem, Source,
};
use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::vector::{add, norm, scale, sub};

use crate::testing;

fn charges(description: Description, places: &[[f64; 3]]) -> Result<Vec<Source>, Vec<Fault>> {
    let amount = Amount::Elementary(1.0);
    let charges = places.iter().map(|&position| Charge { position, amount }).collect();
    let description = description.charges(charges);
    match Problem::new(description, testing::shells()) {
        Ok(problem) => Ok(problem.sources().to_vec()),
        Err(Error::Faults(faults)) => Err(faults),
        Err(other) => panic!("{other}"),
    }
}

fn coat() -> Description {
    let dielectrics = vec![Dielectric::new("outer", 4.0), Dielectric::new("inner", 9.0)];
    Description::default().relative_permittivity(2.0).dielectrics(dielectrics)
}

fn problems(faults: Vec<Fault>) -> Vec<(usize, ChargeFault)> {
    let one = |fault| match fault {
        Fault::Charge { charge, problem } => (charge, problem),
        other => panic!("{other}"),
    };
    faults.into_iter().map(one).collect()
}

#[test]
fn charges_have_the_medium_around_them() {
    let found = charges(coat(), &[[0.0; 3], [0.0, 1.5, 0.0], [5.0, 0.0, 0.0]]).unwrap();
    let media: Vec<f64> = found.iter().map(|source| source.relative_permittivity).collect();
    assert_eq!(media, [9.0, 4.0, 2.0]);
    assert_eq!((found[0].coulomb, found[0].elementary()), (ELEMENTARY_CHARGE, 1.0));
}

#[test]
fn charges_on_surfaces_and_planes_are_reported() {
    let vertex = [0.0, 0.0, 2.0];
    let faults = charges(coat(), &[[0.0; 3], vertex]).unwrap_err();
    assert_eq!(problems(faults), [(1, ChargeFault::OnDielectric)]);
    let faults = charges(Description::default(), &[vertex]).unwrap_err();
    assert!(matches!(problems(faults)[..], [(0, ChargeFault::OnSurface(_))]));
    let planes = vec![bem::Mirror { plane: Plane { axis: 2, at: -3.0 }, odd: true }];
    let ground = Description::default().planes(planes);
    let faults = charges(ground, &[[0.0, 0.0, -3.0], [0.0, 0.0, 4.0], [0.0, 0.0, -4.0]]);
    let name = "the ground plane z = -3".to_owned();
    let expected = [(0, ChargeFault::InGround(name.clone())), (2, ChargeFault::Beyond(name))];
    assert_eq!(problems(faults.unwrap_err()), expected);
}

/// Between the facets of a sphere and its curved triangles, and on the facets.
#[test]
fn charges_are_where_curved_triangles_have_them() {
    let (base, resolution) = (SphereBase::Octahedron, Resolution::Elements(32));
    for order in 2..=4 {
        let mesh = Sphere { radius: 4.0, base, resolution }.build_curved(order).unwrap();
        let centroid = (0..mesh.triangles.len())
            .map(|t| {
                mesh.corners(t).into_iter().fold([0.0; 3], |sum, x| add(sum, scale(1.0 / 3.0, x)))
            })
            .min_by(|a, b| norm(*a).total_cmp(&norm(*b)))
            .unwrap();
        let chord = norm(centroid);
        let toward = |r: f64| centroid.map(|x| x * r / chord);
        let set_up = |charges: &[f64], atoms: &[f64]| {
            let amount = Amount::Elementary(1.0);
            let charge = |&r: &f64| Charge { position: toward(r), amount };
            let atom = |&r: &f64| Atom { name: "A".to_owned(), position: toward(r), charge: 1.0 };
            let dielectric = Dielectric::new("sphere", 4.0).atoms(atoms.iter().map(atom).collect());
            let description = Description::default()
                .unit(LengthUnit::Angstrom)
                .relative_permittivity(80.0)
                .dielectrics(vec![dielectric])
                .charges(charges.iter().map(charge).collect());
            match Problem::new(description, mesh.clone()) {
                Ok(problem) => Ok(problem.sources().to_vec()),
                Err(Error::Faults(faults)) => Err(faults),
                Err(other) => panic!("{other}"),
            }
        };
        let found = set_up(&[chord, chord + 0.2, 4.1], &[chord + 0.3]).unwrap();
        let media: Vec<f64> = found.iter().map(|source| source.relative_permittivity).collect();
        assert_eq!(media, [4.0, 4.0, 80.0, 4.0], "{order}");
        // The curved triangle there is as symmetric as the facet.
        let surface = (0..mesh.triangles.len())
            .map(|t| mesh.point(t, [1.0 / 3.0; 3]))
            .find(|x| norm(sub(scale(1.0 / norm(*x), *x), toward(1.0))) < 1e-9)
            .map(norm)
            .unwrap();
        let faults = set_up(&[surface], &[surface + 0.05, surface - 0.05]).unwrap_err();
        assert!(faults.contains(&Fault::Charge { charge: 0, problem: ChargeFault::OnDielectric }));
        let why: Vec<_> = faults
            .iter()
            .filter_map(|fault| match fault {
                Fault::Atoms { atoms, why, .. } => Some((atoms.clone(), *why)),
                _ => None,
            })
            .collect();
        assert_eq!(why, [(vec![0], Misplaced::Outside), (vec![1], Misplaced::Close)], "{order}");
    }
}

#[test]
fn atoms_belong_into_their_molecule() {
    let atom = |x: f64| Atom { name: format!("A {x}"), position: [x, 0.0, 0.0], charge: -1.0 };
    let molecule = |places: &[f64]| {
        let atoms = places.iter().map(|&x| atom(x)).collect();
        let dielectrics = vec![Dielectric::new("outer", 4.0).atoms(atoms)];
        let (unit, ignore) = (LengthUnit::Angstrom, vec!["inner".to_owned()]);
        charges(Description::default().unit(unit).ignore(ignore).dielectrics(dielectrics), &[])
    };
    let found = molecule(&[0.5, -1.0]).unwrap();
    assert_eq!((found[1].molecule, found[1].atom.as_str()), (Some(0), "A -1"));
    assert_eq!(found[1].coulomb, -ELEMENTARY_CHARGE);
    // The outer sphere's vertex on the x axis is at 2.
    let faults = molecule(&[0.5, 2.5, 1.95, 3.0]).unwrap_err();
    let atoms = |atoms: &[usize], why| {
        let name = "outer".to_owned();
        Fault::Atoms { dielectric: 0, name, atoms: atoms.to_vec(), why }
    };
    assert_eq!(faults, [atoms(&[1, 3], Misplaced::Outside), atoms(&[2], Misplaced::Close)]);
    assert_eq!(faults[0].to_string(), "2 atoms lie outside of molecule \"outer\"");
}
