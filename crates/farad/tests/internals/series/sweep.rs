use farad::{Atom, Change, Description, Dielectric, combinations};

use crate::testing;

#[test]
fn the_last_value_varies_fastest() {
    let all = combinations(&[2, 3], 6).unwrap();
    assert_eq!(all.len(), 6);
    assert_eq!(all[..4], [[0, 0], [0, 1], [0, 2], [1, 0]]);
    assert_eq!(combinations(&[2, 3], 5), None);
    assert_eq!(combinations(&[usize::MAX, 3], usize::MAX), None);
    assert_eq!(combinations(&[4, 0], 5), Some(vec![]));
}

#[test]
fn bodies_take_their_atoms_along() {
    let atom = Atom { name: "A".to_owned(), position: [0.5, 0.0, 0.0], charge: 1.0 };
    let molecule = Dielectric::new("inner", 2.0).atoms(vec![atom]);
    let description = Description::default().dielectrics(vec![molecule]);
    let turn = |groups: &[&str]| Change::Turn {
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        axis: [0.0, 0.0, 3.0],
        centre: [0.0; 3],
        values: vec![0.0, 90.0],
    };
    let mut turned = description.clone();
    turn(&["inner"]).describe(1, &mut turned);
    let [x, y, z] = turned.dielectrics[0].atoms[0].position;
    assert!(x.abs() < 1e-15 && (y - 0.5).abs() < 1e-15 && z == 0.0, "{x} {y} {z}");
    let mut same = description.clone();
    turn(&["outer"]).describe(1, &mut same);
    assert_eq!(same, description);
    let mesh = testing::shells();
    let move_outer = Change::Move {
        groups: vec!["outer".to_owned()],
        along: [1.0, 0.0, 0.0],
        values: vec![5.0],
    };
    let placed = move_outer.place(0, mesh.clone()).unwrap();
    for t in 0..mesh.triangles.len() {
        let shift = if mesh.groups_of(t) == [1] { 5.0 } else { 0.0 };
        let (before, after) = (mesh.corners(t)[0], placed.corners(t)[0]);
        assert_eq!(after, [before[0] + shift, before[1], before[2]]);
    }
    let unknown = turn(&["inner", "innr"]).place(0, mesh).unwrap_err();
    assert_eq!((unknown.index, unknown.available.len()), (1, 2));
}

#[test]
fn permittivities_are_those_of_a_dielectric_or_of_all_around() {
    let dielectrics = vec![Dielectric::new("a", 2.0), Dielectric::new("b", 3.0)];
    let mut description = Description::default().dielectrics(dielectrics);
    let change = |dielectric: Option<&str>| Change::Permittivity {
        dielectric: dielectric.map(str::to_owned),
        values: vec![1.0, 7.0],
    };
    change(Some("b")).describe(1, &mut description);
    let eps = |d: &Description| d.dielectrics.iter().map(|d| d.relative_permittivity).collect();
    let all: Vec<f64> = eps(&description);
    assert_eq!((all, description.relative_permittivity), (vec![2.0, 7.0], 1.0));
    change(None).describe(1, &mut description);
    assert_eq!(description.relative_permittivity, 7.0);
    assert!(!change(None).is_of_geometry());
}
