use farad::{
    Amount, Charge, Conductor, Description, Dielectric, Diffusion, Fault, Probe, ProbePoints,
    Setting, SurfaceMedia,
};
use mesh::mirror::Plane;

#[test]
fn what_has_no_meaning_is_reported() {
    let ok = Description::default();
    assert_eq!(ok.faults(), []);
    let mirror = |at| bem::Mirror { plane: Plane { axis: 1, at }, odd: false };
    let planes = vec![mirror(0.0), mirror(1.0)];
    let parallel = ok.clone().planes(planes);
    assert_eq!(parallel.faults(), [Fault::ParallelPlanes { planes: [0, 1], axis: "y" }]);
    let surfaces = vec![SurfaceMedia { groups: vec!["a".to_owned()], sides: [1.0, 2.0] }];
    let dielectrics = vec![Dielectric::new("a", 2.0)];
    let charges = vec![Charge { position: [0.0; 3], amount: Amount::Coulomb(1.0) }];
    let by_surfaces = ok.clone().surfaces(surfaces);
    let twice = by_surfaces.clone().dielectrics(dielectrics);
    assert_eq!(twice.faults(), [Fault::MediaTwice]);
    let among = by_surfaces.clone().charges(charges);
    assert_eq!(among.faults(), [Fault::NoMediumOfCharge]);
    let diffusion = Some(Diffusion { temperature: 300.0, viscosity: 1e-3 });
    let diffusing = by_surfaces.diffusion(diffusion);
    assert_eq!(diffusing.faults(), [Fault::DiffusionOfMedia]);
    let place = ProbePoints::Points(vec![[0.0; 3]]);
    let probes = vec![Probe::new("p", place)];
    let probed = ok.probes(probes);
    assert_eq!(probed.faults(), [Fault::NothingToProbe]);
    let held = vec![Conductor::new("a").with(Setting::Potential(0.0))];
    assert_eq!(probed.conductors(held).faults(), []);
}

#[test]
fn numbers_out_of_range_are_reported_before_anything_is_made_of_them() {
    let ok = Description::default();
    let charge = |x, q| Charge { position: [0.0, x, 0.0], amount: Amount::Elementary(q) };
    let mirror = bem::Mirror { plane: Plane { axis: 3, at: 0.0 }, odd: true };
    let all = [
        ok.clone().relative_permittivity(0.0),
        ok.clone().dielectrics(vec![Dielectric::new("a", -1.0)]),
        ok.clone().field([0.0, f64::NAN, 0.0]),
        ok.clone().charges(vec![charge(f64::INFINITY, 1.0)]),
        ok.clone().charges(vec![charge(0.0, f64::NAN)]),
        ok.clone().planes(vec![mirror]),
        ok.conductors(vec![Conductor::new("a").with(Setting::Charge(f64::NAN))]),
    ];
    for description in all {
        let faults = description.faults();
        assert!(matches!(faults[..], [Fault::Number { .. }]), "{faults:?}");
    }
}

#[test]
fn lines_and_grids_have_their_points_from_end_to_end() {
    let (from, to) = ([0.0, 0.0, 1.0], [0.0, 4.0, 1.0]);
    let line = ProbePoints::Line { from, to, count: 3 };
    assert_eq!(line.points(), [from, [0.0, 2.0, 1.0], to]);
    let grid = ProbePoints::Grid { low: [0.0; 3], high: [1.0, 0.0, 4.0], counts: [2, 1, 3] };
    let points = grid.points();
    assert_eq!((points.len(), grid.count(), grid.spacing()), (6, 6, [1.0, 0.0, 2.0]));
    assert_eq!(points[..3], [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]);
    assert_eq!(points[5], [1.0, 0.0, 4.0]);
    // Counts that no case file has, and that must not divide by zero.
    assert_eq!(ProbePoints::Line { from, to, count: 1 }.points(), [from]);
    assert!(ProbePoints::Grid { low: from, high: to, counts: [2, 0, 1] }.points().is_empty());
    let most = [usize::MAX; 3];
    assert_eq!(ProbePoints::Grid { low: from, high: to, counts: most }.count(), usize::MAX);
}
