use farad::internals::conductors::assign;
use farad::{Conductor, Description, Dielectric, Fault, Problem, Summary};
use mesh::{Mesh, conductors};

use crate::testing;

fn names(description: Description, mesh: Mesh) -> Vec<(String, usize, bool)> {
    let problem = Problem::new(description, mesh).unwrap();
    let summary = |s: &Summary| (s.name.clone(), s.triangles, s.closed);
    problem.conductors().summaries.iter().map(summary).collect()
}

#[test]
fn groups_are_conductors_unless_they_are_interfaces_or_left_out() {
    let expected = |name: &str| (name.to_owned(), 72, true);
    let all = Description::default();
    assert_eq!(names(all.clone(), testing::shells()), [expected("inner"), expected("outer")]);
    let ignore = vec!["inner".to_owned()];
    assert_eq!(names(all.clone().ignore(ignore), testing::shells()), [expected("outer")]);
    let dielectrics = vec![Dielectric::new("outer", 2.0)];
    let coated = all.clone().dielectrics(dielectrics);
    assert_eq!(names(coated, testing::shells()), [expected("inner")]);
    let conductors = vec![Conductor::new("inner").name("both".to_owned())];
    let unclaimed = all.conductors(conductors);
    let faults = assign(&unclaimed, &testing::shells()).unwrap_err();
    assert!(matches!(
        faults[..],
        [Fault::Conductors(conductors::Error::Unclaimed { count: 72, .. })]
    ));
}

#[test]
fn components_are_conductors_without_groups() {
    let mut mesh = testing::shells();
    (mesh.groups, mesh.memberships) = (vec![], vec![vec![]]);
    mesh.membership.fill(0);
    assert_eq!(names(Description::default(), mesh).len(), 2);
}
