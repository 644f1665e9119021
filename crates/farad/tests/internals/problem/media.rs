use farad::{
    Amount, Charge, Conductor, Description, Dielectric, Error, Fault, Plane, Problem, SurfaceMedia,
};

use crate::testing;

fn on_shells(description: Description) -> Result<Problem, Vec<Fault>> {
    Problem::new(description, testing::shells()).map_err(|error| match error {
        Error::Faults(faults) => faults,
        other => panic!("{other}"),
    })
}

/// The media on both sides of the first triangle of a group; all of the group have the same.
fn sides(problem: &Problem, group: u32) -> [f64; 2] {
    let media = &problem.media().unwrap().permittivity;
    let own: Vec<[f64; 2]> = (0..media.len())
        .filter(|&t| problem.mesh().groups_of(t) == [group])
        .map(|t| media[t])
        .collect();
    assert!(own.iter().all(|sides| *sides == own[0]), "{own:?}");
    own[0]
}

fn coat(groups: &[&str]) -> Dielectric {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    Dielectric::new("coat", 4.0).groups(groups)
}

#[test]
fn bodies_give_the_media_on_both_sides() {
    let field = [1.0, 0.0, 0.0];
    let dielectrics = vec![Dielectric::new("outer", 4.0), Dielectric::new("inner", 9.0)];
    let nested = Description::default().dielectrics(dielectrics).field(field);
    let problem = on_shells(nested.clone()).unwrap();
    // Normals point outward.
    assert_eq!((sides(&problem, 0), sides(&problem, 1)), ([4.0, 9.0], [1.0, 4.0]));
    // Which is listed first makes no difference, nor which way normals point.
    let mut turned = testing::shells();
    turned.triangles.iter_mut().for_each(|corners| corners.swap(0, 1));
    let reversed = nested.dielectrics.iter().rev().cloned().collect();
    let problem = Problem::new(nested.dielectrics(reversed), turned).unwrap();
    assert_eq!((sides(&problem, 0), sides(&problem, 1)), ([9.0, 4.0], [4.0, 1.0]));
    let names: Vec<_> = problem.media().unwrap().summaries.iter().map(|m| m.name.clone()).collect();
    assert_eq!(names, ["surroundings", "inner", "outer"]);
}

#[test]
fn solid_metal_has_the_medium_around_it_on_both_sides() {
    let conductors = vec![Conductor::new("inner")];
    for dielectric in [coat(&["outer"]), coat(&["outer", "inner"])] {
        let dielectrics = vec![dielectric];
        let conductors = conductors.clone();
        let problem =
            on_shells(Description::default().conductors(conductors).dielectrics(dielectrics))
                .unwrap();
        assert_eq!((sides(&problem, 0), sides(&problem, 1)), ([4.0, 4.0], [1.0, 4.0]));
    }
    // A charge in the cavity makes a shell of it, with the surroundings inside.
    let amount = Amount::Coulomb(1e-9);
    let charges = vec![Charge { position: [0.0; 3], amount }];
    let dielectrics = vec![coat(&["outer", "inner"])];
    let hollow =
        Description::default().conductors(conductors).dielectrics(dielectrics).charges(charges);
    let problem = on_shells(hollow).unwrap();
    assert_eq!(sides(&problem, 0), [4.0, 1.0]);
    assert_eq!(problem.sources()[0].relative_permittivity, 1.0);
}

#[test]
fn surfaces_give_media_directly() {
    let surface = |group: &str, sides| SurfaceMedia { groups: vec![group.to_owned()], sides };
    let description = |inner| {
        Description::default()
            .surfaces(vec![surface("outer", [1.0, 4.0]), surface("inner", inner)])
            .field([0.0, 0.0, 1.0])
    };
    let problem = on_shells(description([4.0, 2.0])).unwrap();
    assert_eq!((sides(&problem, 0), sides(&problem, 1)), ([4.0, 2.0], [1.0, 4.0]));
    let faults = on_shells(description([3.0, 2.0])).unwrap_err();
    assert!(matches!(&faults[..], [Fault::Contradiction { meet: false, surface: Some(0), .. }]));
}

#[test]
fn surfaces_that_bound_nothing_are_reported() {
    let field = [1.0, 0.0, 0.0];
    let of = |dielectrics| on_shells(Description::default().dielectrics(dielectrics).field(field));
    let faults = of(vec![coat(&["outer"]), coat(&["outer"]), coat(&["inner"])]).unwrap_err();
    assert!(matches!(faults[..], [Fault::SameSpace { dielectrics: [0, 1], .. }]), "{faults:?}");
    let faults = of(vec![coat(&["inner"]), coat(&["outer", "outr"])]).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("no physical group \"outr\""), "{}", faults[0]);
    // Half a sphere is open, but with its image it is closed.
    let mut half = testing::sphere();
    let keep: Vec<usize> = (0..half.triangles.len())
        .filter(|&t| half.corners(t).iter().all(|x| x[2] > -1e-9))
        .collect();
    half.triangles = keep.iter().map(|&t| half.triangles[t]).collect();
    half.membership = keep.iter().map(|&t| half.membership[t]).collect();
    let dielectrics = vec![Dielectric::new("sphere", 3.0)];
    let open = Description::default().dielectrics(dielectrics).field(field);
    let Err(Error::Faults(faults)) = Problem::new(open.clone(), half.clone()) else { panic!() };
    assert!(matches!(faults[..], [Fault::NoSpace { dielectric: 0, .. }]), "{faults:?}");
    let planes = vec![bem::Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: false }];
    let problem = Problem::new(open.planes(planes), half).unwrap();
    assert_eq!(sides(&problem, 0), [1.0, 3.0]);
}
