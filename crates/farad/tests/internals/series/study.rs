use bem::convergence::Range;
use farad::{
    Description, Gap, Key, Measured, MeshValues, Mirror, Plane, Problem, Unit, Verdict, entry_name,
    study_entries,
};

use crate::testing::{cube, joined, sphere};

#[test]
fn values_of_second_order_are_extrapolated_to_their_limit() {
    // 3 + h^2 for h = 1, 1/2, 1/4, 1/8, and a value that does not change.
    let value = |k: i32| 3.0 + 0.25f64.powi(k);
    let nets = ["a", "b"].map(str::to_owned);
    let other_bars = [Some(0.2), None, None, Some(0.3)];
    let potential = Key::Potential { conductor: "b".to_owned() };
    let measured = |k, bar| Measured { value: value(k), bar, unit: Unit::Volt };
    let on_mesh = |(k, &bar): (i32, &Option<f64>)| MeshValues {
        names: nets.to_vec(),
        columns: vec![0, 1],
        tolerance: 1e-6,
        matrix: vec![vec![value(k), -1.0], vec![-1.0, 2.0]],
        others: vec![(potential.clone(), measured(k, bar))],
        matrix_bars: vec![vec![0.1 * value(k); 2]; 2],
    };
    let meshes: Vec<MeshValues> = (0..).zip(&other_bars).map(on_mesh).collect();
    let entries = study_entries(&meshes, None);
    let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
    assert_eq!(names, ["C(a, a)", "C(a, b)", "C(b, b)", "V(b)"]);
    for entry in [&entries[0], &entries[3]] {
        assert_eq!(entry.verdict, Verdict::Of(Range::Asymptotic));
        assert!((entry.order.unwrap() - 2.0).abs() < 1e-4, "{entry:?}");
        assert!((entry.extrapolated - 3.0).abs() < 1e-4, "{entry:?}");
    }
    assert_eq!(entries[1].verdict, Verdict::Of(Range::Constant));
    assert_eq!(entries[1].bars, [0, 1, 2, 3].map(|k| Some(0.1 * value(k))));
    assert_eq!((&entries[3].bars[..], entries[3].unit), (&other_bars[..], Unit::Volt));
    // The residual is that of potentials: the coupling has the error of the larger
    // self-capacitance.
    assert_eq!(entries[1].solver_error, 1e-6 * value(3));
    let gap = Some(Gap { width: 1.0, facets: 3.0 });
    let taken_back = &study_entries(&meshes, gap)[0];
    assert_eq!(taken_back.verdict, Verdict::UnresolvedGap);
    assert_eq!((taken_back.extrapolated, taken_back.error), (value(3), None));
    assert_eq!(study_entries(&meshes[..2], None)[0].verdict, Verdict::TooFewMeshes);
    assert!(study_entries(&[], None).is_empty());
    assert_eq!(entry_name(&nets[..1], 0, 0), "C");
}

#[test]
fn gaps_narrower_than_facets_are_found() {
    let gap = |description, mesh| Problem::new(description, mesh).unwrap().unresolved_gap();
    // Facets of a cube of 48 are 1/2 wide, with areas of 1/8.
    let two_cubes = |x| joined([("a", cube([0.0; 3])), ("b", cube([x, 0.0, 0.0]))]);
    assert_eq!(gap(Description::default(), two_cubes(2.0)), None);
    let found = gap(Description::default(), two_cubes(1.1)).unwrap();
    assert!((found.width - 0.1).abs() < 1e-12 && (found.facets - 0.125f64.sqrt()).abs() < 1e-12);
    // Wherever they are.
    let apart = [0.0, 1.1].map(|x| cube([x, 7.0, -5.0]));
    let [a, b] = apart;
    let shifted = gap(Description::default(), joined([("a", a), ("b", b)])).unwrap();
    assert!((shifted.width - 0.1).abs() < 1e-12, "{shifted:?}");
    // A sphere by itself has no gap, but one over ground may.
    assert_eq!(gap(Description::default(), sphere()), None);
    let planes = vec![Mirror { plane: Plane { axis: 2, at: -1.01 }, odd: true }];
    assert!(gap(Description::default().planes(planes), sphere()).is_some());
}
