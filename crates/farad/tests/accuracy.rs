//! Solves to an accuracy: what bars promise, and how refinement ends.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::sync::atomic::{AtomicBool, Ordering};

use farad::bem::{Beyond, Density, Method, Stack, StackLayer};
use farad::{
    Amount, Attained, Charge, CompletedLevel, Conductor, Description, Dielectric, Diffusion, Error,
    Goal, LengthUnit, Mirror, NoProgress, Note, Options, Outcome, Plane, Probe, ProbePoints,
    Problem, Refinement, RefinementObserver, Setting, Target, density_for, refine,
};
use mesh::Mesh;
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};
use mesh::transform::{Motion, moved};

/// C/(4 pi eps0) of the unit cube (Helsing & Perfekt 2013).
const CUBE: f64 = 0.660_678_154_099_57;

/// A box of twelve triangles, its corners moved by `place`.
fn cube(place: impl Fn([f64; 3]) -> [f64; 3]) -> Mesh {
    let corner = |k: u32| [0, 1, 2].map(|axis| f64::from(k >> axis & 1) - 0.5);
    let faces =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    Mesh {
        vertices: (0..8).map(corner).map(place).collect(),
        triangles: faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect(),
        membership: vec![0; 12],
        memberships: vec![Vec::new()],
        ..Mesh::default()
    }
}

fn goal(accuracy: f64) -> Goal {
    Goal { accuracy, target: Target::All, max_seconds: None }
}

fn attained(description: Description, mesh: Mesh, goal: &Goal) -> Result<Attained, Error> {
    let problem = Problem::new(description, mesh)?;
    refine(problem, goal, &Options::default(), &NoProgress, &mut |_, _| ())
}

/// Turned, shifted and scaled, the cube takes about as many triangles, and bars hold everywhere on
/// the way.
#[test]
fn bars_of_a_cube_hold_on_every_mesh_however_it_lies() {
    let turned = |[x, y, z]: [f64; 3]| {
        let (s, c) = 0.7f64.sin_cos();
        let [x, y, z] = [c * x - s * y, s * x + c * y, z];
        let [x, y, z] = [x, c * y - s * z, s * y + c * z];
        [3.0 * x + 11.0, 3.0 * y - 5.0, 3.0 * z + 2.0]
    };
    let mut counts = Vec::new();
    for (size, mesh) in [(1.0, cube(|x| x)), (3.0, cube(turned))] {
        let problem = Problem::new(Description::default(), mesh).unwrap();
        let farad = farad::units::farads(size * CUBE, LengthUnit::Metre);
        let mut check = |level: &farad::Level, _: &farad::Solution| {
            let error = (level.value - farad).abs();
            assert!(error < level.bar, "{level:?}: {error:e}");
            // The first mesh, two triangles a face, says the least.
            assert!(level.bar < 5.0 * error, "{level:?}: {error:e}");
        };
        let found = refine(problem, &goal(2e-3), &Options::default(), &NoProgress, &mut check);
        let found = found.unwrap();
        assert_eq!(found.outcome, Outcome::Reached);
        let bars = found.solution.matrix_bars().unwrap();
        let value = found.solution.matrices().maxwell_farad[0][0];
        let bar = bars.maxwell_farad[0][0];
        assert!(bar <= 2e-3 * value && (value - farad).abs() < bar, "{value:e} +- {bar:e}");
        assert_eq!(bars.mutual_farad, bars.maxwell_farad);
        counts.push(found.levels.last().unwrap().triangles as f64);
    }
    // Uniform meshes take 3,072 to an error of 8e-4.
    assert!(counts.iter().all(|&n| n < 1000.0), "{counts:?}");
    assert!((counts[1] / counts[0]).ln().abs() < 0.3, "{counts:?}");
}

/// Two cubes, one of which floats next to a charge: charges, potentials and energies have bars
/// that hold against a finer solve.
#[test]
fn bars_of_states_hold_against_finer_solves() {
    let far = cube(|[x, y, z]| [x + 1.7, y + 0.2, z]);
    let mut mesh = cube(|x| x);
    mesh.triangles.extend(far.triangles.iter().map(|t| t.map(|v| v + 8)));
    mesh.vertices.extend(far.vertices);
    mesh.membership.extend(far.membership);
    mesh.memberships.extend([vec![0], vec![1]]);
    for (t, set) in mesh.membership.iter_mut().enumerate() {
        *set = if t < 12 { 1 } else { 2 };
    }
    let group = |tag: i64, name: &str| mesh::PhysicalGroup { tag, name: Some(name.to_owned()) };
    mesh.groups = vec![group(1, "a"), group(2, "b")];
    let charge = Charge { position: [0.8, 0.9, 0.6], amount: Amount::Coulomb(1e-11) };
    let description = Description::default()
        .conductors(vec![
            Conductor::new("a").with(Setting::Potential(2.0)),
            Conductor::new("b").with(Setting::Charge(5e-12)),
        ])
        .charges(vec![charge]);
    let solve = |accuracy: f64| {
        let found = attained(description.clone(), mesh.clone(), &goal(accuracy)).unwrap();
        assert_eq!(found.outcome, Outcome::Reached);
        found.solution
    };
    let (coarse, fine) = (solve(2e-2), solve(2e-3));
    let numbers = |solution: &farad::Solution| {
        let state = solution.state.as_ref().unwrap();
        let [a, b] = &state.conductors[..] else { panic!() };
        let solvation = state.solvation.as_ref().unwrap();
        [
            ("Q(a)", a.charge_c, a.charge_error_c.unwrap()),
            ("V(b)", b.potential_v, b.potential_error_v.unwrap()),
            ("energy", solvation.energies.reaction_j, solvation.reaction_error_j.unwrap()),
        ]
    };
    for ((name, value, bar), (_, better, its_bar)) in
        numbers(&coarse).into_iter().zip(numbers(&fine))
    {
        let off = (value - better).abs();
        assert!(off < bar + its_bar, "{name}: {value:e} +- {bar:e}, {better:e} +- {its_bar:e}");
        assert!(its_bar < 0.5 * bar, "{name}: {bar:e}, {its_bar:e}");
    }
    let state = coarse.state.unwrap();
    assert_eq!(state.conductors[0].potential_error_v, Some(0.0));
    assert_eq!(state.conductors[1].charge_error_c, Some(0.0));
}

/// Polarisabilities of a metal and a dielectric box among each other, against a finer mesh.
#[test]
fn bars_of_polarisabilities_hold_against_finer_meshes() {
    let box_of_glass = cube(|[x, y, z]| [x + 1.3, y + 0.2, 0.5 * z]);
    let mut mesh = cube(|x| x);
    mesh.triangles.extend(box_of_glass.triangles.iter().map(|t| t.map(|v| v + 8)));
    mesh.vertices.extend(box_of_glass.vertices);
    mesh.membership = (0..24).map(|t| if t < 12 { 1 } else { 2 }).collect();
    mesh.memberships.extend([vec![0], vec![1]]);
    let group = |tag: i64, name: &str| mesh::PhysicalGroup { tag, name: Some(name.to_owned()) };
    mesh.groups = vec![group(1, "metal"), group(2, "glass")];
    let glass = Dielectric::new("glass", 5.0).groups(vec!["glass".to_owned()]);
    let description = Description::default()
        .conductors(vec![Conductor::new("metal")])
        .dielectrics(vec![glass])
        .polarisability(true);
    let mut found = Vec::new();
    for level in 0..5 {
        let problem = Problem::new(description.clone(), mesh.clone()).unwrap();
        let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
        let polarisability = solution.polarisability.unwrap();
        found.push((polarisability.over_4pi_eps0, polarisability.over_4pi_eps0_error.unwrap()));
        if level < 4 {
            mesh = mesh::refine::uniform(&mesh, |_, x| x).unwrap();
        }
    }
    let (best, rest) = found.split_last().unwrap();
    for (value, bars) in &rest[1..3] {
        for (i, j) in [(0, 0), (1, 1), (2, 2), (0, 1)] {
            let off = (value[i][j] - best.0[i][j]).abs();
            assert!(off < bars[i][j] + best.1[i][j], "{i} {j}: {off:e}, {:e}", bars[i][j]);
            // Off the diagonal shares of panels cancel, in bars they do not.
            assert!(i != j || bars[i][j] < 8.0 * off, "{i} {j}: {off:e}, {:e}", bars[i][j]);
        }
    }
}

#[test]
fn an_accuracy_of_one_number_refines_for_that() {
    let dielectric = Dielectric::new("box", 4.0).groups(vec!["box".to_owned()]);
    let mut mesh = cube(|x| x);
    mesh.groups = vec![mesh::PhysicalGroup { tag: 1, name: Some("box".to_owned()) }];
    mesh.memberships.push(vec![0]);
    mesh.membership = vec![1; 12];
    let charge = Charge { position: [0.1, 0.0, 0.2], amount: Amount::Elementary(1.0) };
    let description = Description::default().dielectrics(vec![dielectric]).charges(vec![charge]);
    let of_energy = Goal { target: Target::Energy, ..goal(2e-2) };
    let found = attained(description, mesh, &of_energy).unwrap();
    assert_eq!(found.outcome, Outcome::Reached);
    let level = found.levels.last().unwrap();
    assert_eq!((level.name().as_str(), level.unit()), ("solvation energy", "J"));
    assert!(level.bar <= 2e-2 * level.value.abs());
}

#[test]
fn polarisabilities_are_reached_by_linear_densities() {
    let mut mesh = cube(|x| x);
    mesh.groups = vec![mesh::PhysicalGroup { tag: 1, name: Some("box".to_owned()) }];
    mesh.memberships.push(vec![0]);
    mesh.membership = vec![1; 12];
    let of = |density: Density| {
        let dielectric = Dielectric::new("box", 4.0).groups(vec!["box".to_owned()]);
        let description = Description::default().dielectrics(vec![dielectric]).polarisability(true);
        let goal = Goal { target: Target::Polarisability, ..goal(1e-2) };
        let problem = Problem::new(description, mesh.clone()).unwrap();
        let options = Options::default().density(density);
        let found = refine(problem, &goal, &options, &NoProgress, &mut |_, _| ()).unwrap();
        assert_eq!(found.outcome, Outcome::Reached, "{density:?}");
        found.levels.last().unwrap().triangles
    };
    let chosen = density_for(1e-2, &Target::Polarisability);
    let (chosen, other) = match chosen {
        Density::Linear => (3 * of(chosen), of(Density::Constant)),
        _ => (of(chosen), 3 * of(Density::Linear)),
    };
    assert!(chosen < other, "{chosen} unknowns, {other}");
    assert_eq!(density_for(1e-2, &Target::All), Density::Constant);
    assert_eq!(density_for(4e-3, &Target::All), Density::Linear);
}

/// Results of a state: a metal cube that floats next to a charge.
#[test]
fn an_accuracy_of_a_result_of_the_state_refines_for_that() {
    let charge = Charge { position: [0.9, 0.3, 0.2], amount: Amount::Coulomb(1e-11) };
    let place = ProbePoints::Line { from: [0.0, 0.1, 0.7], to: [0.0, 0.1, 3.0], count: 12 };
    let conductor = Conductor::new("cube").groups(vec!["cube".to_owned()]);
    let description = Description::default()
        .conductors(vec![conductor.with(Setting::Charge(2e-11))])
        .charges(vec![charge])
        .probes(vec![Probe::new("up", place)])
        .forces(true)
        .polarisability(true);
    let mut mesh = cube(|x| x);
    mesh.groups = vec![mesh::PhysicalGroup { tag: 1, name: Some("cube".to_owned()) }];
    mesh.memberships.push(vec![0]);
    mesh.membership = vec![1; 12];
    let solve = |target: Target, accuracy: f64| {
        let goal = Goal { target, ..goal(accuracy) };
        attained(description.clone(), mesh.clone(), &goal)
    };
    let named = |of: fn(String) -> Target, name: &str| of(name.to_owned());
    // Bars of forces and fields are longer on the same mesh.
    for (of, name, accuracy) in [
        (named(Target::Potential, "cube"), "V(cube)", 4e-3),
        (named(Target::Force, "cube"), "F(cube)", 8e-3),
        (named(Target::Probe, "up"), "potential at up", 4e-3),
        (named(Target::Field, "up"), "field at up", 1e-2),
        (Target::Polarisability, "polarisability xx/(4 pi eps0)", 8e-3),
    ] {
        let [coarse, fine] = [3e-2, accuracy].map(|accuracy| solve(of.clone(), accuracy).unwrap());
        for found in [&coarse, &fine] {
            assert_eq!(found.outcome, Outcome::Reached, "{of:?}");
        }
        let [coarse, fine] = [coarse, fine].map(|found| found.levels.last().unwrap().clone());
        assert!(coarse.triangles < fine.triangles && fine.relative <= accuracy, "{of:?}");
        assert!(coarse.name().starts_with(&name[..5]), "{}", coarse.name());
        // Relative to the largest of them, which are less than 0.9 V and 0.9 m^3.
        let is_small = name.starts_with("potential") || name.starts_with("polar");
        assert!(!is_small || fine.bar <= 0.9 * fine.relative, "{fine:?}");
        // Of probes the worst point may be another one.
        let is_same = coarse.worst == fine.worst && !name.ends_with("up");
        let off = (coarse.value - fine.value).abs();
        assert!(!is_same || off < coarse.bar + fine.bar, "{of:?}: {coarse:?} {fine:?}");
    }
    for (of, what) in [
        (named(Target::Charge, "cube"), "no conductor cube"),
        (named(Target::Potential, "ball"), "no floating conductor ball"),
        (named(Target::Force, "ball"), "no force on ball"),
        (named(Target::Field, "down"), "no probe down"),
    ] {
        let error = solve(of, 1e-2).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// A body by itself has no force, exactly; one between two equal ones has none by symmetry, which
/// is known to a share of the forces on its sides.
#[test]
fn forces_that_vanish_end_the_refinement() {
    let description = Description::default()
        .conductors(vec![Conductor::new("cube").with(Setting::Potential(1.0))])
        .forces(true);
    let (alone, between) = (cubes(&[0.0]), cubes(&[-2.0, 0.0, 2.0]));
    let of = |name: &str| Goal { target: Target::Force(name.to_owned()), ..goal(1e-2) };
    let found = attained(description.clone(), alone, &of("cube")).unwrap();
    assert_eq!((&found.outcome, found.levels.len()), (&Outcome::Reached, 1));
    let names = ["cube", "b_cube", "c_cube"];
    let conductors = names.map(|name| Conductor::new(name).with(Setting::Potential(1.0)));
    let description = description.conductors(conductors.to_vec());
    let found = attained(description, between, &of("b_cube")).unwrap();
    assert_eq!(found.outcome, Outcome::Reached);
    let forces = found.solution.state.unwrap().forces.unwrap();
    let force = forces.iter().find(|force| force.name == "b_cube").unwrap();
    assert!(force.newton_error.unwrap() < 1e-3 * force.on_parts, "{force:?}");
}

/// So have the potential and the charge of a body between opposite ones, which are known to a share
/// of the charges on its sides.
#[test]
fn potentials_and_charges_that_vanish_end_the_refinement() {
    let name = || "b_cube".to_owned();
    for (middle, target) in [
        (Setting::Charge(0.0), Target::Potential(name())),
        (Setting::Potential(0.0), Target::Charge(name())),
    ] {
        let settings = [
            ("cube", Setting::Potential(1.0)),
            ("b_cube", middle),
            ("c_cube", Setting::Potential(-1.0)),
        ];
        let conductors = settings.map(|(name, setting)| Conductor::new(name).with(setting));
        let description = Description::default().conductors(conductors.to_vec());
        let goal = Goal { target, ..goal(1e-2) };
        let found = attained(description, cubes(&[-2.0, 0.0, 2.0]), &goal).unwrap();
        assert_eq!(found.outcome, Outcome::Reached, "{:?}", found.levels);
        // In volt, and in coulomb for some 0.1 nF: next to 1 V.
        let level = found.levels.last().unwrap();
        let per_volt = if level.unit() == "V" { 1.0 } else { 1e-10 };
        assert!(level.bar < 1e-2 * per_volt, "{level:?}");
    }
}

#[test]
fn entries_are_found_by_names_with_commas() {
    let named = |name: &str, group: &str| Conductor::new(name).groups(vec![group.to_owned()]);
    let conductors = vec![named("p (left), x", "cube"), named("a b", "b_cube")];
    let description = Description::default().conductors(conductors);
    for (a, b) in [("p (left)", "x, a b"), ("a b", "p (left), x")] {
        let target = Target::Entry(a.to_owned(), b.to_owned());
        let goal = Goal { target, ..goal(5e-2) };
        let found = attained(description.clone(), cubes(&[0.0, 1.5]), &goal).unwrap();
        assert_eq!(found.outcome, Outcome::Reached, "{a} {b}");
        let worst = found.levels[0].name();
        assert!(worst.contains("p (left), x") && worst.contains("a b"), "{worst}");
    }
}

/// Cubes at these places along x, groups `cube`, `b_cube` and so on.
fn cubes(at: &[f64]) -> Mesh {
    let resolution = Resolution::Elements(48);
    let one = Cube { edge: 1.0, grade: 1.0, resolution }.build().unwrap();
    let placed = at.iter().zip(["a", "b", "c"]).map(|(&x, name)| {
        let motion = Motion::along([x, 0.0, 0.0]);
        (name.to_owned(), moved(&one, |_| true, &motion))
    });
    mesh::join::joined(placed.collect())
}

#[test]
fn what_cannot_be_reached_is_said() {
    let solve = |goal: Goal| attained(Description::default(), cube(|x| x), &goal);
    // No time, and no more than one mesh.
    let late = solve(Goal { max_seconds: Some(0.0), ..goal(1e-3) }).unwrap();
    assert_eq!((late.outcome, late.levels.len()), (Outcome::Time, 1));
    assert!(late.solution.matrix_bars().is_some());
    // Meshes of milliseconds have time enough in a minute.
    let soon = solve(Goal { max_seconds: Some(60.0), ..goal(2e-2) }).unwrap();
    assert_eq!(soon.outcome, Outcome::Reached);
    // Meshes of milliseconds have time enough in a minute.
    let soon = solve(Goal { max_seconds: Some(60.0), ..goal(2e-2) }).unwrap();
    assert_eq!(soon.outcome, Outcome::Reached);
    for (wrong, what) in [
        (goal(1e-10), "1e-9"),
        (goal(f64::NAN), "1e-9"),
        (Goal { target: Target::Energy, ..goal(1e-2) }, "no point charge"),
        (Goal { target: Target::Entry("a".to_owned(), "b".to_owned()), ..goal(1e-2) }, "C(a, b)"),
    ] {
        let error = solve(wrong).unwrap_err();
        assert!(matches!(error, Error::Accuracy(_)) && error.to_string().contains(what), "{error}");
    }
    // Memory for the first meshes, not for the last.
    let problem = Problem::new(Description::default(), cube(|x| x)).unwrap();
    let options = Options::default().memory_limit(Some(3 << 20));
    let small = refine(problem, &goal(1e-4), &options, &NoProgress, &mut |_, _| ()).unwrap();
    assert!(matches!(small.outcome, Outcome::Size(_)), "{:?}", small.outcome);
    assert!(small.levels.len() > 2 && small.solution.converged());
    // Bars are computed whether they were wanted or not.
    let without = Description::default().error_bars(false);
    assert_eq!(attained(without, cube(|x| x), &goal(5e-2)).unwrap().outcome, Outcome::Reached);
    // A solve that does not converge has no bars; what was reached before has.
    let hasty = Options::default().max_iterations(1).method(Method::Fmm);
    let to = |mesh: Mesh| {
        let problem = Problem::new(Description::default(), mesh).unwrap();
        refine(problem, &goal(1e-3), &hasty, &NoProgress, &mut |_, _| ()).unwrap()
    };
    let found = to(cube(|x| x));
    assert!(matches!(&found.outcome, Outcome::Next(why) if why.contains("did not converge")));
    assert!(found.solution.converged() && found.solution.bars.is_some());
    let resolution = Resolution::Elements(300);
    let fine = Cube { edge: 1.0, grade: 30.0, resolution }.build().unwrap();
    let found = to(fine);
    assert!(found.outcome == Outcome::Unsolved && !found.solution.converged());
    assert_eq!(found.solution.bars, None);
}

/// What no number is asked of is said before a solve.
#[test]
fn an_accuracy_of_nothing_is_refused_before_a_solve() {
    let name = || "lid".to_owned();
    let mesh = mesh::join::with_group(Mesh::default(), "lid", cube(|x| x));
    for (target, setting, what) in [
        (Target::Energy, None, "no point charge"),
        (Target::Entry(name(), "b".to_owned()), None, "no entry C(lid, b)"),
        (Target::Potential(name()), Some(Setting::Potential(1.0)), "no floating conductor lid"),
        (Target::Charge(name()), Some(Setting::Charge(1.0)), "no conductor lid with"),
        (Target::Charge(name()), None, "no conductor lid with"),
        (Target::Force(name()), Some(Setting::Potential(1.0)), "no force on lid"),
        (Target::Probe(name()), Some(Setting::Potential(1.0)), "no probe lid"),
        (Target::Field(name()), Some(Setting::Potential(1.0)), "no probe lid"),
        (Target::Polarisability, None, "no polarisability"),
        (Target::Films, None, "there is no film"),
        (Target::Film(name()), None, "there is no film lid"),
    ] {
        let metal = Conductor::new("lid");
        let metal = setting.map_or(metal.clone(), |setting| metal.with(setting));
        let description = Description::default().conductors(vec![metal]);
        let problem = Problem::new(description, mesh.clone()).unwrap();
        let goal = Goal { target, ..goal(1e-2) };
        let refused = refine(problem, &goal, &Options::default(), &Stopped, &mut |_, _| ());
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Accuracy(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// No solve goes on.
struct Stopped;

impl bem::Progress for Stopped {
    fn advance(&self, _: bem::Stage, _: u64, _: u64) -> bool {
        false
    }
}

/// Keeps the last of the meshes that a refinement went on from.
struct Kept(Option<CompletedLevel>);

impl RefinementObserver for Kept {
    fn reached(&mut self, _: &farad::Level, _: &farad::Solution) {}

    fn completed(&mut self, level: &CompletedLevel) {
        self.0 = Some(level.clone());
    }
}

/// Where values moved by more than their bars all bars are longer, whatever they are of.
#[test]
fn hydrodynamic_bars_are_stretched_as_those_of_the_matrix() {
    let liquid = Diffusion { temperature: 298.15, viscosity: 8.9e-4 };
    let description = Description::default().diffusion(Some(liquid));
    let problem = || Problem::new(description.clone(), cube(|x| x)).unwrap();
    let (goal, options) = (goal(3e-2), Options::default());
    let mut kept = Kept(None);
    let refined = Refinement::new(&goal, &options).refine(problem(), &NoProgress, &mut kept);
    let plain = refined.unwrap().unwrap();
    let mut completed = kept.0.unwrap();
    completed.stretch = 2.0;
    let completed = [completed];
    let refinement = Refinement::new(&goal, &options).after(&completed);
    let stretched = refinement.refine(problem(), &NoProgress, &mut NoProgress).unwrap().unwrap();
    for found in [&plain, &stretched] {
        let bar = found.solution.bars.as_ref().unwrap().maxwell[0][0];
        let own = found.solution.hydrodynamics.as_ref().unwrap();
        assert!((own.capacity_error.unwrap() / bar - 1.0).abs() < 1e-12, "{own:?} {bar}");
    }
}

/// Two films of side 1000 across a gap of 10, in triangles twelve times as high as that: the fringe
/// holds half a percent of the capacitance, and no triangle shows it.
#[test]
fn bars_cover_fringes_that_the_mesh_hides() {
    // A quarter of 576 triangles graded to 0.1 of the gap; 2,495 by refinement agree to 8e-5.
    const FILMS: f64 = 8394.0;
    const CELLS: u32 = 9;
    let corner = |k: u32| 1000.0 * f64::from(k) / f64::from(CELLS);
    let (mut mesh, per_film) = (Mesh::default(), (CELLS + 1) * (CELLS + 1));
    for film in 0..2 {
        for j in 0..=CELLS {
            for i in 0..=CELLS {
                mesh.vertices.push([corner(i), corner(j), 10.0 * f64::from(film)]);
            }
        }
        for cell in (0..CELLS).flat_map(|j| (0..CELLS).map(move |i| i + (CELLS + 1) * j)) {
            let [a, b] = [cell, cell + CELLS + 1].map(|v| v + film * per_film);
            mesh.triangles.extend([[a, a + 1, b + 1], [a, b + 1, b]]);
            mesh.membership.extend([film, film]);
        }
    }
    let group = |name: &str, tag| mesh::PhysicalGroup { tag, name: Some(name.to_owned()) };
    mesh.groups = vec![group("top", 1), group("bottom", 2)];
    mesh.memberships = vec![vec![0], vec![1]];
    let description =
        Description::default().conductors(vec![Conductor::new("top"), Conductor::new("bottom")]);
    let exact = farad::units::farads(FILMS, LengthUnit::Metre);
    let mut count = 0;
    let mut check = |level: &farad::Level, _: &farad::Solution| {
        count += 1;
        // The smallest bar of all diagonals is that of either film.
        let error = (level.value - exact).abs() / exact;
        assert!(error < level.bar / exact + 3e-4, "{level:?}: {error:e}");
        assert!(level.bar / exact < 5.0 * error + 3e-4, "{level:?}: {error:e}");
    };
    let problem = Problem::new(description, mesh).unwrap();
    let found = refine(problem, &goal(2e-3), &Options::default(), &NoProgress, &mut check).unwrap();
    assert_eq!(found.outcome, Outcome::Reached);
    assert!(count > 2);
}

/// Layers along a curved rim would be narrower than the rim is bent, and fold.
#[test]
fn layers_along_a_curved_rim_do_not_fold() {
    let resolution = Resolution::Elements(24);
    for order in [2, 4] {
        let disk = mesh::generate::Disk { radius: 1.0, grade: 1.0, resolution };
        let disk = disk.build_curved(order).unwrap();
        let found = attained(Description::default(), disk, &goal(1e-2)).unwrap();
        assert_eq!(found.outcome, Outcome::Reached, "{:?}", found.levels);
        let value = found.solution.matrices().maxwell_farad[0][0];
        let exact = farad::units::farads(2.0 / std::f64::consts::PI, LengthUnit::Metre);
        assert!((value / exact - 1.0).abs() < 1e-2, "{value:e}, {exact:e}");
    }
}

/// Two cubes in a field: three excitations, and no symmetry that rounding could break.
fn two_cubes() -> Problem {
    let description = Description::default()
        .conductors(vec![
            Conductor::new("cube").with(Setting::Potential(2.0)),
            Conductor::new("b_cube").with(Setting::Charge(5e-12)),
        ])
        .field([0.3, 0.0, 1.0]);
    let mut mesh = cubes(&[0.0, 1.7]);
    mesh.vertices.iter_mut().skip(8).for_each(|[_, y, z]| (*y, *z) = (1.1 * *y + 0.2, 0.8 * *z));
    Problem::new(description, mesh).unwrap()
}

/// Ranks take the meshes of one process, and end where it does.
#[test]
fn ranks_refine_as_one_process_does() {
    for (method, density, accuracy, tolerance) in [
        (Method::Dense, Density::Constant, 1.5e-2, 1e-9),
        (Method::Fmm, Density::Constant, 1.5e-2, 1e-4),
        (Method::Fmm, Density::Linear, 4e-3, 1e-4),
    ] {
        let options = Options::default().method(method).density(density);
        let goal = goal(accuracy);
        let alone = refine(two_cubes(), &goal, &options, &NoProgress, &mut |_, _| ()).unwrap();
        assert!(alone.levels.len() > 2, "{:?}", alone.levels);
        let check = |found: &Attained| {
            assert_eq!(found.outcome, alone.outcome);
            assert_eq!(found.problem.mesh(), alone.problem.mesh());
            assert_eq!(found.levels.len(), alone.levels.len());
            for (found, alone) in found.levels.iter().zip(&alone.levels) {
                assert_eq!(found.triangles, alone.triangles);
                assert_eq!(found.worst, alone.worst);
                let near = |a: f64, b: f64, tolerance: f64| {
                    assert!((a - b).abs() < tolerance * b.abs(), "{a:e} {b:e}");
                };
                near(found.value, alone.value, tolerance);
                // Bars of distributed sums have errors of their own, to a tolerance.
                near(found.bar, alone.bar, tolerance.max(1e-3));
            }
        };
        let of_panels = comm::run(3, |group| {
            let options = options.clone().ranks(farad::Ranks(group.clone()));
            let mut meshes = 0;
            let mut each = |_: &farad::Level, _: &farad::Solution| meshes += 1;
            let found = refine(two_cubes(), &goal, &options, &NoProgress, &mut each).unwrap();
            assert_eq!(meshes, found.levels.len());
            found
        });
        of_panels.iter().for_each(check);
        // More ranks than excitations, too.
        for ranks in [2, 4] {
            let found = comm::run(ranks, |group| {
                let problem = two_cubes();
                let shared = Refinement::new(&goal, &options).sharing_excitations(group);
                shared.refine(problem, &NoProgress, &mut NoProgress).unwrap()
            });
            let first = found[0].as_ref().unwrap();
            check(first);
            assert!(found[1..].iter().all(Option::is_none));
        }
    }
}

/// Errors and the reason of the end are the same on all ranks: none waits for another.
#[test]
fn ranks_end_together() {
    let shared = |goal: &Goal| {
        comm::run(3, |group| {
            let options = Options::default().ranks(farad::Ranks(group.clone()));
            refine(two_cubes(), goal, &options, &NoProgress, &mut |_, _| ())
        })
    };
    let nothing = Goal { target: Target::Energy, ..goal(1e-2) };
    let failed = shared(&nothing).into_iter().map(|found| found.unwrap_err().to_string());
    assert!(failed.into_iter().all(|why| why.contains("no point charge")));
    // No time is left after the first mesh: the first rank's clock counts.
    let late = Goal { max_seconds: Some(1e-9), ..goal(1e-4) };
    for found in shared(&late) {
        let found = found.unwrap();
        assert_eq!((found.outcome, found.levels.len()), (Outcome::Time, 1));
    }
    // One rank is interrupted on a later mesh: none has a result.
    struct Stops(AtomicBool);
    impl farad::Progress for Stops {
        fn advance(&self, _: bem::Stage, _: u64, _: u64) -> bool {
            !self.0.load(Ordering::Relaxed)
        }
    }
    let stopped = comm::run(3, |group| {
        let options = Options::default().ranks(farad::Ranks(group.clone()));
        let stops = Stops(AtomicBool::new(false));
        let mut each = |_: &farad::Level, _: &farad::Solution| {
            stops.0.store(group.rank() == 1, Ordering::Relaxed);
        };
        let options = options.method(Method::Fmm);
        refine(two_cubes(), &goal(1e-4), &options, &stops, &mut each).map(|_| ())
    });
    assert!(stopped.iter().all(Result::is_err), "{stopped:?}");
    let interrupted =
        |of: &Result<(), Error>| matches!(of, Err(Error::Solve(bem::Error::Interrupted)));
    assert!(interrupted(&stopped[1]), "{stopped:?}");
}

/// Two plates of 70 by 70 um, 0.3 um apart, that overlap by 40 by 40: below the edges of each the
/// charge of the other steps down within the gap. By a finer mesh 52.84 +- 0.05 and -50.98 +- 0.04.
#[test]
fn plates_in_a_thin_gap_are_cut_below_edges() {
    let of = |[x, y, z]: [f64; 3], height: f64| {
        cube(|[u, v, w]| [x + (0.5 + u) * 70.0, y + (0.5 + v) * 70.0, z + (0.5 + w) * height])
    };
    let plates = [("LOWER", of([0.0; 3], 0.15)), ("UPPER", of([30.0, 30.0, 0.45], 0.35))];
    let mesh = plates
        .into_iter()
        .fold(Mesh::default(), |mesh, (name, part)| mesh::join::with_group(mesh, name, part));
    let description = Description::default().unit(LengthUnit::Micrometre);
    let problem = Problem::new(description, mesh).unwrap();
    let mut check = |_: &farad::Level, solution: &farad::Solution| {
        let farad = &solution.matrices().maxwell_farad;
        let bars = solution.matrix_bars().unwrap().maxwell_farad;
        assert!((farad[0][0] - 52.84e-15).abs() < bars[0][0]);
        assert!((farad[0][1] + 50.98e-15).abs() < bars[0][1]);
    };
    let found = refine(problem, &goal(2e-2), &Options::default(), &NoProgress, &mut check).unwrap();
    assert_eq!(found.outcome, Outcome::Reached);
    // Without cuts, 946.
    let triangles = found.levels.last().unwrap().triangles;
    assert!(found.levels.len() <= 3 && triangles < 900, "{triangles}");
}

/// Two bars close over a large slab, or metal plate, of two triangles a side. By a finer mesh (and
/// by images, of the odd mode) the slab's are 2.690 and -1.753 fF; the plate's by Gmsh's mesh 3.72.
#[test]
fn large_triangles_next_to_small_things_are_seen() {
    let bars = [([0.0, 1.1, 0.3], [60.0, 0.9, 0.16]), ([0.0, 0.0, 0.3], [60.0, 0.92, 0.16])];
    let slab = ([-70.0, -75.0, -40.0], [200.0, 150.0, 40.0]);
    let of = |([x, y, z], [a, b, c]): ([f64; 3], [f64; 3])| {
        cube(|[u, v, w]| [x + (0.5 + u) * a, y + (0.5 + v) * b, z + (0.5 + w) * c])
    };
    let named = ["A", "B", "D"].into_iter().zip([bars[0], bars[1], slab]);
    let mesh = named
        .fold(Mesh::default(), |mesh, (name, place)| mesh::join::with_group(mesh, name, of(place)));
    let conductors = ["A", "B"].map(Conductor::new).to_vec();
    let dielectrics = vec![Dielectric::new("D", 8.0)];
    let unit = LengthUnit::Micrometre;
    let over_slab =
        Description::default().conductors(conductors).dielectrics(dielectrics).unit(unit);
    let over_metal = Description::default().unit(unit);
    // A plain solve says so, and has bars that hold.
    let problem = Problem::new(over_slab.clone(), mesh.clone()).unwrap();
    let [Note::SplitNextToSurfaces { added }] = problem.notes() else { panic!() };
    assert!(*added == problem.mesh().triangles.len() - mesh.triangles.len());
    let note = problem.notes()[0].to_string();
    assert!(note.contains("many times as large as their distance from another surface"), "{note}");
    let solution = problem.solve(&Options::default(), &NoProgress).unwrap();
    let (matrix, bars) = (solution.matrices(), solution.matrix_bars().unwrap());
    let off = (matrix.maxwell_farad[0][0] - 2.690e-15).abs();
    assert!(off < bars.maxwell_farad[0][0], "{off}");
    for (description, own, coupling) in
        [(over_slab, 2.690e-15, -1.753e-15), (over_metal, 3.717e-15, -1.078e-15)]
    {
        let accuracy = 2e-2;
        let mut longest = Vec::new();
        // Bars hold on all meshes on the way.
        let mut check = |_: &farad::Level, solution: &farad::Solution| {
            let farad = &solution.matrices().maxwell_farad;
            let bars = solution.matrix_bars().unwrap().maxwell_farad;
            for (j, exact) in [own, coupling].into_iter().enumerate() {
                let (value, bar) = (farad[0][j], bars[0][j]);
                assert!((value - exact).abs() < bar, "{value} {bar}");
            }
            longest.push(bars[0][0].max(bars[0][1]) / own);
        };
        let problem = Problem::new(description, mesh.clone()).unwrap();
        let found = refine(problem, &goal(accuracy), &Options::default(), &NoProgress, &mut check);
        assert_eq!(found.unwrap().outcome, Outcome::Reached);
        assert!(longest.last().is_some_and(|&bar| bar < 1.5 * accuracy), "{longest:?}");
    }
}

/// A box at a thousandth of its width over a plate, on which triangles as split are long and of
/// other sizes: fast sums have the near fields that what cancels across the gap needs.
#[test]
fn a_narrow_gap_between_unlike_triangles_needs_better_integrals() {
    let of_box = cube(|[u, v, w]| [10.0 * u, v, 0.501 + w]);
    let plate = Mesh {
        vertices: [[-50.0, -47.0], [53.0, -45.0], [51.0, 55.0], [-49.0, 53.0]]
            .map(|[x, y]| [x, y, 0.0])
            .to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        membership: vec![0; 2],
        memberships: vec![Vec::new()],
        ..Mesh::default()
    };
    let mesh = mesh::join::joined(vec![("box".into(), of_box), ("plate".into(), plate)]);
    let problem = Problem::new(Description::default(), mesh).unwrap();
    let [dense, fast] = [Method::Dense, Method::Fmm].map(|method| {
        let options = Options::default().method(method).tolerance(1e-4);
        problem.solve(&options, &NoProgress).unwrap().matrices().maxwell_farad[0][0]
    });
    assert!((fast / dense - 1.0).abs() < 1e-3, "{fast:e} {dense:e}");
}

/// Strength and depth of the images of what is over a layer on a ground, or over a half-space.
fn images(eps: f64, thickness: Option<f64>) -> Vec<[f64; 2]> {
    let beta = (eps - 1.0) / (eps + 1.0);
    let mut all = vec![[-beta, 0.0]];
    let mut strength = beta * beta - 1.0;
    while let Some(thickness) = thickness.filter(|_| strength.abs() > 1e-7 * (1.0 - beta)) {
        all.push([strength, all.len() as f64 * thickness]);
        strength *= -beta;
    }
    all
}

/// C/(4 pi eps0) of a ball of radius 1 at this height over them: multipoles about its middle and
/// those of its images.
fn over_images(height: f64, images: &[[f64; 2]]) -> f64 {
    let n = 30 + (8.0 / height.sqrt()) as usize;
    let mut matrix = nalgebra::DMatrix::<f64>::identity(n, n);
    for [strength, depth] in images {
        let far = 2.0 * (1.0 + height + depth);
        let mut first = strength / far;
        for l in 0..n {
            let mut entry = first;
            for m in 0..n {
                matrix[(m, l)] += entry;
                entry *= -((l + m + 1) as f64) / ((m + 1) as f64 * far);
            }
            first /= -far;
        }
    }
    let mut one = nalgebra::DVector::zeros(n);
    one[0] = 1.0;
    matrix.lu().solve(&one).unwrap()[0]
}

/// Bars hold against series of images, of a ball of curved triangles over layers that go by images
/// and over such as are meshed, of two triangles a face.
#[test]
fn balls_over_layers_have_the_capacitance_of_their_images() {
    let resolution = Resolution::Elements(128);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
    let ball = sphere.build_curved(4).unwrap();
    // Over metal by the series for two spheres.
    let a = 1.1f64.acosh();
    let two: f64 = (1..200).map(|n| a.sinh() / (f64::from(n) * a).sinh()).sum();
    assert!((over_images(0.1, &[[-1.0, 0.0]]) - two).abs() < 1e-9);
    let cases = [
        (1e-3, 8.0, None, false),
        (1e-2, 100.0, None, false),
        (1.0, 30.0, None, false),
        (10.0, 100.0, None, false),
        (1e-2, 30.0, Some(0.02), false),
        (0.03, 100.0, Some(1.0), false),
        (0.5, 12.0, Some(10.0), false),
        (0.1, 2.0, Some(0.1), true),
        (5.0, 60.0, Some(2.0), true),
    ];
    for (height, eps, thickness, is_meshed) in cases {
        let exact = over_images(height, &images(eps, thickness));
        let at = -1.0 - height - thickness.unwrap_or(0.0);
        let conductors = vec![Conductor::new("sphere")];
        let mut description = Description::default().conductors(conductors);
        let mut mesh = mesh::join::joined(vec![("sphere".to_owned(), ball.clone())]);
        // What is far away on a meshed layer makes less than this.
        let mut truth = 1e-4 * exact;
        if is_meshed {
            truth = 1e-3 * exact;
            let thick = thickness.unwrap();
            let wide = 24.0 * (thick + height + 1.0);
            let mut slab = cube(|[x, y, z]| [wide * x, wide * y, at + thick * (z + 0.5)]);
            // On the ground there is none.
            slab.triangles.retain(|t| t.iter().any(|&v| slab.vertices[v as usize][2] > at));
            slab.membership.truncate(slab.triangles.len());
            mesh = mesh::join::with_group(mesh, "slab", slab);
            description.dielectrics = vec![Dielectric::new("slab", eps)];
            description.planes = vec![Mirror { plane: Plane { axis: 2, at }, odd: true }];
        } else {
            let layer = |thickness| StackLayer { thickness, permittivity: eps };
            let below = thickness.map_or(Beyond::Dielectric(eps), |_| Beyond::Ground);
            let layers = thickness.map(layer).into_iter().collect();
            let above = Beyond::Dielectric(1.0);
            description.stack = Some(
                Stack::default().at(at).below(below).layers(layers).above(above).tolerance(1e-5),
            );
        }
        let accuracy = 1e-2;
        let mut last = f64::INFINITY;
        // Bars hold on all meshes on the way.
        let mut check = |_: &farad::Level, solution: &farad::Solution| {
            let value = solution.matrices().maxwell_length[0][0];
            let farad = solution.matrices().maxwell_farad[0][0];
            let bar = solution.matrix_bars().unwrap().maxwell_farad[0][0] * value / farad;
            let off = (value - exact).abs();
            assert!(off < bar + truth, "{height} {eps} {thickness:?}: {value} +- {bar}, {exact}");
            last = bar / value;
        };
        let problem = Problem::new(description, mesh).unwrap();
        let found = refine(problem, &goal(accuracy), &Options::default(), &NoProgress, &mut check);
        assert_eq!(found.unwrap().outcome, Outcome::Reached, "{height} {eps} {thickness:?}");
        assert!(last < accuracy, "{height} {eps} {thickness:?}: {last}");
    }
}
