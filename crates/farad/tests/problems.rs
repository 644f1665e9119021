//! Problems with closed forms, described and solved without any case file.
//!
//! Meshes have facets of the spheres' volume, so that capacitances, energies and forces of some
//! hundred triangles are right to 1e-4.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

mod common;

use std::f64::consts::PI;
use std::sync::Arc;

use common::{BASE, close, elementary, sphere, two_spheres};
use farad::bem::Density;
use farad::mesh::Mesh;
use farad::mesh::generate::{ConcentricSpheres, Resolution, with_volumes};
use farad::mesh::transform::{Motion, moved};
use farad::units::{ELEMENTARY_CHARGE, farads};
use farad::{
    Conductor, Description, Dielectric, Error, Fault, LengthUnit, Mirror, NoProgress, Note,
    Options, Plane, Probe, ProbePoints, Problem, Setting, Solution, Solver,
};

/// Five times what is found at most.
const FACETS: f64 = 5e-4;

const UNIT: LengthUnit = LengthUnit::Millimetre;

fn shells() -> Mesh {
    shells_of(800)
}

fn shells_of(elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let shells = ConcentricSpheres { inner_radius: 1.0, outer_radius: 2.0, base: BASE, resolution };
    with_volumes(shells.build().unwrap(), &[([0.0; 3], 1.0), ([0.0; 3], 2.0)])
}

fn solved(description: Description, mesh: Mesh) -> Solution {
    let problem = Problem::new(description, mesh).unwrap();
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    assert!(solution.converged());
    assert!(!solution.failed_checks(), "{:?}", solution.warnings);
    solution
}

#[test]
fn floating_conductors_take_the_potential_that_their_charge_asks_for() {
    let conductors = |right| {
        let left = Conductor::new("left").with(Setting::Potential(2.0));
        vec![left, Conductor::new("right").with(right)]
    };
    let describe = |right| Description::default().unit(UNIT).conductors(conductors(right));
    let floating = solved(describe(Setting::Charge(3e-13)), two_spheres(3.0));
    let [left, right] = &floating.state.as_ref().unwrap().conductors[..] else { panic!() };
    assert!(right.floating && !left.floating);
    assert_eq!((left.potential_v, right.charge_c), (2.0, 3e-13));
    // Q = C V, to the solver's tolerance of each.
    let c = floating.matrices().maxwell_farad;
    close(right.potential_v, (3e-13 - c[1][0] * 2.0) / c[1][1], 1e-5);
    close(left.charge_c, c[0][0] * 2.0 + c[0][1] * right.potential_v, 1e-5);
    // Held at that potential it has that charge.
    let held = solved(describe(Setting::Potential(right.potential_v)), two_spheres(3.0));
    close(held.state.unwrap().conductors[1].charge_c, 3e-13, 1e-5);
    // The matrix: symmetric, and in the SPICE form capacitances to each other and to infinity.
    let mutual = floating.matrices().mutual_farad;
    close(mutual[0][1], -c[0][1], 1e-12);
    close(mutual[0][0], c[0][0] + c[0][1], 1e-12);
}

#[test]
fn a_coat_raises_the_capacitance() {
    let description = Description::default()
        .unit(UNIT)
        .relative_permittivity(2.0)
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 6.0)]);
    let solution = solved(description, shells());
    let exact = farads(1.0 / ((1.0 - 0.5) / 6.0 + 0.5 / 2.0), UNIT);
    close(solution.matrices().maxwell_farad[0][0], exact, FACETS);
    assert!(solution.state.is_none());
}

#[test]
fn a_charge_in_a_ball_has_the_energy_of_born() {
    let description = Description::default()
        .unit(LengthUnit::Angstrom)
        .relative_permittivity(80.0)
        .dielectrics(vec![Dielectric::new("sphere", 2.0)])
        .charges(vec![elementary([0.0; 3], 1.0)]);
    let state = solved(description, sphere()).state.unwrap();
    let four_pi_eps0 = farads(1.0, LengthUnit::Angstrom);
    let exact = 0.5 * ELEMENTARY_CHARGE.powi(2) / four_pi_eps0 * (1.0 / 80.0 - 1.0 / 2.0);
    let solvation = state.solvation.unwrap();
    close(solvation.energies.reaction_j, exact, FACETS);
    assert_eq!(solvation.energies.coulomb_j, 0.0);
}

#[test]
fn a_charge_next_to_a_grounded_ball_is_drawn_to_its_image() {
    let (d, e) = (3.0f64, ELEMENTARY_CHARGE);
    let description = Description::default()
        .unit(UNIT)
        .charges(vec![elementary([0.0, 0.0, d], 1.0)])
        .conductors(vec![Conductor::new("sphere").with(Setting::Potential(0.0))])
        .forces(true);
    let state = solved(description, sphere()).state.unwrap();
    // The image -e/d at 1/d.
    close(state.conductors[0].charge_c, -e / d, FACETS);
    let energy = -0.5 * e * e / farads(1.0, UNIT) / (d * d - 1.0);
    close(state.solvation.unwrap().energies.reaction_j, energy, FACETS);
    let force = e * e / d / (farads(1.0, UNIT) * 1e-3) / (d - 1.0 / d).powi(2);
    close(state.forces.unwrap()[0].newton[2], force, FACETS);
}

#[test]
fn two_charged_balls_repel_each_other_alike() {
    let charged = |name| Conductor::new(name).with(Setting::Charge(1e-12));
    let description = Description::default()
        .unit(UNIT)
        .conductors(vec![charged("left"), charged("right")])
        .forces(true);
    let state = solved(description, two_spheres(10.0)).state.unwrap();
    let forces = state.forces.unwrap();
    // Coulomb's law but for the spheres' polarisation, 4 (a/r)^3 of it.
    let coulomb = 1e-24 / (farads(1.0, UNIT) * 1e-3) / 100.0;
    close(forces[1].newton[0], (1.0 - 4e-3) * coulomb, FACETS);
    close(forces[0].newton[0], -forces[1].newton[0], 1e-4);
    let balance = state.balance.unwrap();
    assert!(balance.force < 1e-4 && balance.torque < 1e-4, "{balance:?}");
}

#[test]
fn probes_see_the_field_of_a_ball_over_ground() {
    let at = |x: [f64; 3], place: [f64; 3]| {
        (0..3).map(|k| (x[k] - place[k]).powi(2)).sum::<f64>().sqrt()
    };
    let points = vec![[3.0, 0.0, 0.0], [0.0, 4.0, -5.0], [0.0, 0.0, -30.0]];
    let probe = |name: &str, place| Probe::new(name, place);
    let (from, to) = ([2.0, 0.0, 0.0], [4.0, 0.0, 0.0]);
    let description = Description::default()
        .unit(UNIT)
        .conductors(vec![Conductor::new("sphere").with(Setting::Charge(1e-12))])
        .planes(vec![Mirror { plane: Plane { axis: 2, at: -20.0 }, odd: true }])
        .probes(vec![
            probe("points", ProbePoints::Points(points.clone())),
            probe("line", ProbePoints::Line { from, to, count: 3 }),
        ]);
    let state = solved(description.clone(), sphere()).state.unwrap();
    let volts = 1e-12 / farads(1.0, UNIT);
    let [found, line] = &state.probes[..] else { panic!() };
    for (k, x) in points.iter().enumerate().take(2) {
        let exact = volts * (1.0 / at(*x, [0.0; 3]) - 1.0 / at(*x, [0.0, 0.0, -40.0]));
        close(found.potential[k], exact, FACETS);
    }
    // Nothing reaches what is behind the ground.
    assert_eq!((found.potential[2], found.field[2]), (0.0, [0.0; 3]));
    assert_eq!(line.points[1], [3.0, 0.0, 0.0]);
    let exact = volts * 1e3 * (1.0 / 9.0 - 3.0 / (9.0f64 + 1600.0).powf(1.5));
    close(line.field[1][0], exact, FACETS);
    // What does not fit into memory is refused before the solve.
    let problem = Problem::new(description, sphere()).unwrap();
    let options = Options::default().memory_limit(Some(1000));
    let refused = problem.solve(&options, &NoProgress);
    assert!(matches!(refused, Err(Error::Probes { points: 6, available: 1000, .. })));
}

#[test]
fn the_polarisability_of_a_ball_is_its_volume_whatever_the_planes() {
    let description = Description::default().unit(UNIT).polarisability(true);
    let found = solved(description.clone(), sphere()).polarisability.unwrap().over_4pi_eps0;
    for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let exact = f64::from(i == j);
        assert!((found[i][j] - exact).abs() < FACETS, "{found:?}");
    }
    // Two halves of a ball of dielectric, by symmetry.
    let mut half = sphere();
    let keep: Vec<usize> = (0..half.triangles.len())
        .filter(|&t| half.corners(t).iter().all(|x| x[0] > -1e-9))
        .collect();
    half.triangles = keep.iter().map(|&t| half.triangles[t]).collect();
    half.membership = keep.iter().map(|&t| half.membership[t]).collect();
    let planes = vec![Mirror { plane: Plane { axis: 0, at: 0.0 }, odd: false }];
    let cut = solved(description.planes(planes), half).polarisability.unwrap();
    for k in 0..3 {
        close(cut.over_4pi_eps0[k][k], found[k][k], 1e-6);
    }
}

#[test]
fn solves_of_one_geometry_share_what_is_prepared() {
    let description = |eps, conductor: &str| {
        Description::default().unit(UNIT).conductors(vec![Conductor::new(conductor)]).dielectrics(
            vec![Dielectric::new(if conductor == "inner" { "outer" } else { "inner" }, eps)],
        )
    };
    let options = Options::default().method(farad::Method::Fmm);
    let mut solver = Solver::default();
    let mut capacitance = |description: Description, mesh: Mesh, times: usize| {
        let problem = Problem::new(description, mesh).unwrap();
        let shared = solver.solve(&problem, &options, &NoProgress).unwrap();
        let alone = problem.solve(&options, &NoProgress).unwrap();
        assert_eq!(solver.times_prepared(), times);
        let [a, b] = [shared, alone].map(|solution| solution.matrices().maxwell_farad[0][0]);
        close(a, b, 1e-8);
    };
    capacitance(description(2.0, "inner"), shells(), 1);
    capacitance(description(5.0, "inner"), shells(), 1);
    // Another conductor on the same mesh, and the same on a moved mesh, are other geometries.
    capacitance(description(5.0, "outer"), shells(), 2);
    let elsewhere = moved(&shells(), |_| true, &Motion::along([0.0, 1.0, 0.0]));
    capacitance(description(5.0, "outer"), elsewhere, 3);
}

#[test]
fn charges_close_to_surfaces_get_smaller_triangles_and_those_at_one_place_a_warning() {
    let describe = |places: &[[f64; 3]]| {
        Description::default()
            .unit(UNIT)
            .charges(places.iter().map(|&place| elementary(place, 1.0)).collect())
    };
    let given = sphere();
    let problem = Problem::new(describe(&[[0.0, 0.0, 1.1]]), given.clone()).unwrap();
    assert_eq!(problem.given_mesh().triangles, given.triangles);
    let added = problem.added_triangles();
    assert!(added > 0 && problem.notes() == [Note::Split { added }], "{:?}", problem.notes());
    let far = Problem::new(describe(&[[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]]), given).unwrap();
    assert_eq!(far.added_triangles(), 0);
    let solution = far.solve(&Options::default(), &NoProgress).unwrap();
    let [warning] = &solution.warnings[..] else { panic!("{:?}", solution.warnings) };
    assert!(warning.check == "coincident_charges" && warning.is_error);
    assert_eq!(warning.what, "charge 1, charge 2");
    let part =
        "charge 1 and charge 2 are at the same place, where the energy of the pair is infinite";
    assert!(warning.message.contains(part), "{warning:?}");
}

#[test]
fn what_is_not_there_to_solve_is_reported() {
    let dielectrics = vec![Dielectric::new("sphere", 2.0)];
    let nothing = Description::default().dielectrics(dielectrics);
    let refused = Problem::new(nothing, sphere());
    assert!(matches!(refused, Err(Error::Faults(faults)) if faults == [Fault::NothingToSolve]));
    let empty = Problem::new(Description::default(), Mesh::default());
    assert!(matches!(empty, Err(Error::Faults(faults)) if faults == [Fault::NothingToSolve]));
    let mut broken = sphere();
    broken.triangles[3] = [0, 0, 1];
    let Err(Error::Faults(faults)) = Problem::new(Description::default(), broken) else { panic!() };
    assert!(matches!(faults[..], [Fault::Mesh(_) | Fault::Defects(_)]), "{faults:?}");
    let mut outside = sphere();
    outside.triangles[3] = [0, 1, u32::MAX];
    let Err(Error::Faults(faults)) = Problem::new(Description::default(), outside) else {
        panic!()
    };
    assert!(matches!(faults[..], [Fault::Mesh(_)]), "{faults:?}");
}

#[test]
fn the_diffusion_constant_is_that_of_stokes_and_einstein() {
    let diffusion = Some(farad::Diffusion { temperature: 298.15, viscosity: 0.89e-3 });
    let description = Description::default().unit(LengthUnit::Nanometre).diffusion(diffusion);
    let found = solved(description, sphere()).hydrodynamics.unwrap();
    close(found.capacity, 1.0, FACETS);
    // k T / (6 pi eta R) with R = 1 nm.
    close(found.diffusion, 1.380649e-23 * 298.15 / (6.0 * PI * 0.89e-3 * 1e-9), FACETS);
}

#[test]
fn ranks_that_share_excitations_find_what_one_solve_does() {
    let charge = elementary([0.0, 1.5, 0.0], 100.0);
    let description = Description::default()
        .unit(UNIT)
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 3.0)])
        .charges(vec![charge])
        .field([0.0, 0.0, 1e-3])
        .polarisability(true);
    let problem = Problem::new(description, shells_of(320)).unwrap();
    assert_eq!(problem.shared_excitations(), 5);
    for (method, density, tolerance) in [
        (farad::Method::Dense, Density::Constant, 1e-10),
        (farad::Method::Fmm, Density::Constant, 1e-5),
        (farad::Method::Fmm, Density::Linear, 1e-5),
    ] {
        let options = Options::default().method(method).density(density);
        let numbers = |solution: &Solution| {
            let polarisability = solution.polarisability.as_ref().unwrap().over_4pi_eps0;
            let own = (0..3).map(|k| polarisability[k][k]);
            let bars = &solution.bars.as_ref().unwrap().maxwell;
            let all = solution.matrices().maxwell_farad.concat().into_iter();
            all.chain(bars.concat()).chain(own).collect::<Vec<f64>>()
        };
        let expected = problem.solve(&options, &NoProgress).unwrap();
        for ranks in [2, 7] {
            let mut found = farad_on(ranks, &problem, &options).into_iter();
            let first = found.next().flatten().unwrap();
            assert!(found.all(|other| other.is_none()));
            assert_eq!(first.warnings.len(), expected.warnings.len());
            for (found, expected) in numbers(&first).into_iter().zip(numbers(&expected)) {
                close(found, expected, tolerance);
            }
        }
        // The same where they share panels, and all have the solution; bars are as good as theirs.
        let shared = comm::run(3, |group| {
            let ranks = farad::Ranks(group.clone());
            problem.solve(&options.clone().ranks(ranks), &NoProgress).unwrap()
        });
        for solution in shared {
            assert_eq!(solution.warnings.len(), expected.warnings.len());
            let matrix = |of: &Solution| of.matrices().maxwell_farad.concat();
            for (found, expected) in matrix(&solution).into_iter().zip(matrix(&expected)) {
                close(found, expected, tolerance);
            }
            // Bars of another sum, to a tolerance of their own.
            for (found, expected) in numbers(&solution).into_iter().zip(numbers(&expected)) {
                close(found, expected, tolerance.max(1e-3));
            }
        }
    }
}

/// Two groups of two ranks: each group solves for some of the excitations, by parts of the panels.
#[test]
fn groups_of_ranks_share_excitations_and_panels() {
    let description = Description::default()
        .unit(UNIT)
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", 3.0)])
        .polarisability(true);
    let problem = Problem::new(description, shells_of(320)).unwrap();
    let options = Options::default().method(farad::Method::Fmm);
    let expected = problem.solve(&options, &NoProgress).unwrap();
    let mut panels = [0, 1].map(|_| comm::threads(2).into_iter());
    let mut excitations = [0, 1].map(|_| comm::threads(2).into_iter());
    let found: Vec<Option<Solution>> = std::thread::scope(|scope| {
        let mut ranks = Vec::new();
        for panels in &mut panels {
            for excitations in &mut excitations {
                let panels: comm::Group = Arc::new(panels.next().unwrap());
                let excitations: comm::Group = Arc::new(excitations.next().unwrap());
                let ranks_of_panels = farad::Ranks(panels);
                let options = options.clone().ranks(ranks_of_panels);
                let problem = &problem;
                ranks.push(scope.spawn(move || {
                    Solver::default()
                        .solve_on(&excitations, problem, &options, &NoProgress)
                        .unwrap()
                }));
            }
        }
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    let [Some(first), Some(second), None, None] = &found[..] else { panic!("{found:?}") };
    for solution in [first, second] {
        let matrices = [solution, &expected].map(|of| of.matrices().maxwell_farad.concat());
        // Sums over parts of the panels are others, to the tolerance.
        close(matrices[0][0], matrices[1][0], 1e-5);
        let along = [solution, &expected].map(|of| of.polarisability.as_ref().unwrap());
        close(along[0].over_4pi_eps0[0][0], along[1].over_4pi_eps0[0][0], 1e-4);
    }
}

fn farad_on(ranks: usize, problem: &Problem, options: &Options) -> Vec<Option<Solution>> {
    comm::run(ranks, |group| {
        Solver::default().solve_on(group, problem, options, &NoProgress).unwrap()
    })
}
