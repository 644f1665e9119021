//! Bars of values at probes and of forces, against the same surfaces with much finer meshes.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use farad::{
    Amount, Charge, Conductor, Description, Dielectric, Goal, LengthUnit, Method, Mirror,
    NoProgress, Options, Plane, Probe, ProbePoints, Problem, Setting, Solution, Target, refine,
};
use mesh::Mesh;
use mesh::generate::{Cube, Plate, Resolution, Sphere, SphereBase, TwoSpheres};
use mesh::refine;
use mesh::transform::{Motion, moved};

use bem::Density;

/// Least share of points whose bars cover the error, and the multiple of the error that bars of
/// half of these do not exceed.
const COVERED: f64 = 0.97;
const MEDIAN: f64 = 8.0;

fn cube() -> Mesh {
    Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(108) }.build().unwrap()
}

/// A cube of edge 1 and a smaller one aside.
fn cubes() -> Mesh {
    let motion = Motion { angle: 0.4, axis: [1.0, 2.0, 0.5], ..Motion::along([1.3, 0.2, 0.1]) };
    let aside = moved(&cube(), |_| true, &motion);
    let [a, b] = [("cube", cube()), ("other", aside)].map(|(name, mesh)| (name.to_owned(), mesh));
    mesh::join::joined(vec![a, b])
}

fn line(name: &str, from: [f64; 3], to: [f64; 3]) -> Probe {
    let place = ProbePoints::Line { from, to, count: 40 };
    Probe::new(name, place)
}

/// With forces, and probes along the faces and away.
fn description() -> Description {
    Description::default().unit(LengthUnit::Millimetre).forces(true).probes(vec![
        line("near", [-0.4, 0.3, 0.62], [0.9, 1.1, 0.8]),
        line("far", [-0.8, 0.9, 0.1], [-6.0, 3.0, 5.0]),
    ])
}

fn solved(description: &Description, mesh: &Mesh, density: Density, tolerance: f64) -> Solution {
    let problem = Problem::new(description.clone(), mesh.clone()).unwrap();
    let options = Options::default().tolerance(tolerance).density(density);
    problem.solve(&options, &NoProgress).unwrap()
}

fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

fn check(name: &str, description: &Description, mesh: &Mesh) {
    let fine = (0..2).fold(mesh.clone(), |mesh, _| refine::uniform(&mesh, |_, x| x).unwrap());
    // Its own bars are not asked for.
    let without = description.clone().error_bars(false);
    let exact = solved(&without, &fine, Density::Linear, 1e-7).state.unwrap();
    for density in [Density::Constant, Density::Linear] {
        let found = solved(description, mesh, density, 1e-6);
        let state = found.state.as_ref().unwrap();
        let forces = state.forces.iter().flatten().zip(exact.forces.iter().flatten());
        for (force, exact) in forces {
            let off =
                [apart(force.newton, exact.newton), apart(force.newton_metre, exact.newton_metre)];
            let bar = [force.newton_error.unwrap(), force.newton_metre_error.unwrap()];
            assert!(bar[0] > off[0] && bar[1] > off[1], "{name}: {bar:?} {off:?}");
            assert!(bar[0] < MEDIAN * off[0] + force.known_to, "{name}: {bar:?} {off:?}");
        }
        for (probed, exact) in state.probes.iter().zip(&exact.probes) {
            let bars = probed.bars.as_ref().unwrap();
            let volt = probed.potential.iter().zip(&exact.potential).map(|(a, b)| (a - b).abs());
            let field = probed.field.iter().zip(&exact.field).map(|(a, b)| apart(*a, *b));
            let of_volt: Vec<f64> = bars.potential_v.iter().zip(volt).map(|(b, e)| b / e).collect();
            let of_field: Vec<f64> =
                bars.field_v_per_m.iter().zip(field).map(|(b, e)| b / e).collect();
            for mut ratios in [of_volt, of_field] {
                ratios.sort_by(f64::total_cmp);
                let least = ratios[((1.0 - COVERED) * ratios.len() as f64) as usize];
                let median = ratios[ratios.len() / 2];
                assert!(least > 1.0 && median < MEDIAN, "{name}: {ratios:?}");
            }
        }
    }
}

fn held(name: &str, volt: f64) -> Conductor {
    Conductor::new(name).with(Setting::Potential(volt))
}

/// Of polyhedra whose facets are single triangles, whatever the angle between these: what quarters
/// of triangles find of the error is less than half of it. The finer solve, which misses some of it
/// itself, is of the same polyhedra.
#[test]
fn of_polyhedra() {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(320));
    let one = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    let resolution = Resolution::Elements(640);
    let two = TwoSpheres { radius: 1.0, distance: 3.0, base, resolution }.build().unwrap();
    let coarse =
        Sphere { radius: 1.0, base, resolution: Resolution::Elements(80) }.build().unwrap();
    for (name, mesh) in [("80", coarse), ("320", one), ("two of 320", two)] {
        let fine = refine::uniform(&mesh, |_, x| x).unwrap();
        let metal = Description::default();
        let exact = solved(&metal, &fine, Density::Linear, 1e-6).answer.maxwell;
        for method in [Method::Dense, Method::Fmm] {
            let problem = Problem::new(metal.clone(), mesh.clone()).unwrap();
            let options = Options::default().method(method).density(Density::Constant);
            let found = problem.solve(&options, &NoProgress).unwrap();
            for (i, row) in found.bars.as_ref().unwrap().maxwell.iter().enumerate() {
                for (j, bar) in row.iter().enumerate() {
                    let off = (found.answer.maxwell[i][j] - exact[i][j]).abs();
                    assert!(*bar > 1.2 * off && *bar < 4.0 * off, "{name} {i} {j}: {bar} {off}");
                }
            }
        }
    }
}

#[test]
fn of_metal() {
    let conductors = vec![held("cube", 1.0), held("other_cube", -0.5)];
    check("two cubes", &description().conductors(conductors), &cubes());
}

#[test]
fn of_floating_metal_and_a_charge() {
    let floating = Conductor::new("other_cube").with(Setting::Charge(1e-14));
    let charge = Charge { position: [0.2, -1.1, 0.3], amount: Amount::Coulomb(3e-14) };
    let description =
        description().conductors(vec![held("cube", 1.0), floating]).charges(vec![charge]);
    check("floating, with a charge", &description, &cubes());
}

#[test]
fn of_dielectrics() {
    let description = description()
        .conductors(vec![held("cube", 1.0)])
        .dielectrics(vec![Dielectric::new("other_cube", 4.0)]);
    check("metal and glass", &description, &cubes());
}

#[test]
fn with_planes() {
    for odd in [true, false] {
        let description = description()
            .conductors(vec![held("cube", 1.0)])
            .planes(vec![Mirror { plane: Plane { axis: 2, at: -0.9 }, odd }]);
        check(if odd { "over ground" } else { "next to its image" }, &description, &cube());
    }
}

#[test]
fn of_curved_surfaces() {
    // Refined, the surface is the same.
    let resolution = Resolution::Elements(72);
    let sphere = Sphere { radius: 0.6, base: SphereBase::Octahedron, resolution };
    let flat = sphere.build().unwrap();
    let mesh = mesh::lift::smooth(&flat, 60.0);
    let charge = Charge { position: [1.1, 0.2, 0.3], amount: Amount::Coulomb(3e-14) };
    let description = description().conductors(vec![held("sphere", 1.0)]).charges(vec![charge]);
    check("curved", &description, &mesh);
}

/// Long thin triangles in a plane have no edges to be rounded off: on meshes made by refinement
/// toward edges fields from recovered densities were a hundred times too large.
#[test]
fn fields_next_to_refined_edges_are_those_of_the_charges() {
    let description = Description::default()
        .conductors(vec![held("cube", 1.0)])
        .probes(vec![line("in and out", [-0.45, 0.1, 0.31], [1.5, 0.2, 0.45])]);
    let mesh = Cube { edge: 1.0, grade: 1.0, resolution: Resolution::Elements(12) }.build();
    let problem = Problem::new(description, mesh.unwrap()).unwrap();
    let goal = Goal { accuracy: 1e-3, target: Target::All, max_seconds: None };
    let found = refine(problem, &goal, &Options::default(), &NoProgress, &mut |_, _| ()).unwrap();
    let probed = &found.solution.state.as_ref().unwrap().probes[0];
    let bars = probed.bars.as_ref().unwrap();
    let size = |field: [f64; 3]| apart(field, [0.0; 3]);
    let largest = probed.field.iter().map(|&field| size(field)).fold(0.0, f64::max);
    for ((point, &field), bar) in probed.points.iter().zip(&probed.field).zip(&bars.field_v_per_m) {
        let is_inside = point.iter().all(|x| x.abs() < 0.4);
        assert!(!is_inside || size(field) < 0.01 * largest, "{point:?}: {field:?} of {largest}");
        assert!(*bar < 0.1 * largest, "{point:?}: {bar} of {largest}");
    }
}

/// Square films of side 1 and given charges, on triangles that are larger than most of the gaps:
/// the field between them spreads beyond their edges, and takes charge from where the field is
/// evaluated.
#[test]
fn of_films_of_given_charge_across_gaps() {
    let charge = 1e-11;
    let film = |name: &str, charge| Conductor::new(name).setting(Some(Setting::Charge(charge)));
    // Potentials, forces and fields in the middle by linear densities on 392 to 1152 triangles a
    // film, graded toward edges, to some parts in 1000; forces are those of potentials at two gaps.
    let of_gaps = [
        (0.3, 0.094_859, 1.944e-12, 0.632),
        (0.1, 0.043_249, 3.465e-12, 0.865),
        (0.02, 0.010_478, 4.916e-12, 1.047),
        (0.01, 0.005_414, 5.222e-12, 1.083),
    ];
    let film_mesh = || {
        let resolution = Resolution::Elements(162);
        Plate { width: 1.0, height: 1.0, grade: 1.0, resolution }.build().unwrap()
    };
    for (gap, volt, newton, field) in of_gaps {
        let up = moved(&film_mesh(), |_| true, &Motion::along([0.0, 0.0, gap]));
        let parts = [("plate", film_mesh()), ("other", up)];
        let mesh = mesh::join::joined(parts.map(|(name, mesh)| (name.to_owned(), mesh)).to_vec());
        let at = 0.5 * gap;
        let description = Description::default()
            .conductors(vec![film("plate", charge), film("other_plate", -charge)])
            .forces(true)
            .probes(vec![line("middle", [-0.1, 0.0, at], [0.1, 0.0, at])]);
        let solution = solved(&description, &mesh, Density::Constant, 1e-6);
        let state = solution.state.as_ref().unwrap();
        let judged = |what: &str, found: f64, bar: f64, exact: f64, most: f64| {
            let off = (found - exact).abs();
            assert!(
                off < bar && bar < most * exact,
                "{what} {gap}: {found:e} +- {bar:e}, {exact:e}"
            );
        };
        let conductor = &state.conductors[0];
        judged("V", conductor.potential_v, conductor.potential_error_v.unwrap(), volt, 0.15);
        let force = &state.forces.as_ref().unwrap()[0];
        judged("F", force.newton[2], force.newton_error.unwrap(), newton, 0.15);
        let probed = &state.probes[0];
        let middle = probed.field.len() / 2;
        let bar = probed.bars.as_ref().unwrap().field_v_per_m[middle];
        judged("E", probed.field[middle][2].abs(), bar, field, 0.15);
    }
}
