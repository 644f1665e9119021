//! Derivatives of capacitances against those of closed forms and of solves with changed parameters.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use farad::bem::{Beyond, Density, Method, Stack, StackLayer};
use farad::mesh::generate::{ConcentricSpheres, Cube, Plate, Resolution, Sphere, SphereBase};
use farad::mesh::transform::{Motion, moved};
use farad::mesh::{Mesh, PhysicalGroup, join};
use farad::{
    Conductor, Derivative, Description, Dielectric, Error, Fault, LengthUnit, Mirror, NoProgress,
    Options, Parameter, Plane, Problem, SURROUNDINGS, Sensitivity, SensitivityFault, Solution,
    units,
};

const TOLERANCE: f64 = 1e-6;

fn wanted(by: &[Parameter]) -> Vec<Sensitivity> {
    let of = |(k, by): (usize, &Parameter)| Sensitivity { name: k.to_string(), by: by.clone() };
    by.iter().enumerate().map(of).collect()
}

fn solved(description: &Description, mesh: &Mesh, density: Density) -> Solution {
    solved_by(Method::Auto, description, mesh, density)
}

fn solved_by(method: Method, description: &Description, mesh: &Mesh, density: Density) -> Solution {
    let problem = Problem::new(description.clone(), mesh.clone()).unwrap();
    let options = Options::default().method(method).density(density).tolerance(TOLERANCE);
    let solution = problem.solve(&options, &NoProgress).unwrap();
    assert!(solution.converged() && !solution.failed_checks(), "{:?}", solution.warnings);
    solution
}

fn maxwell(description: &Description, mesh: &Mesh, density: Density) -> Vec<Vec<f64>> {
    maxwell_by(Method::Auto, description, mesh, density)
}

/// Of references, which need no bars.
fn maxwell_by(
    method: Method,
    description: &Description,
    mesh: &Mesh,
    density: Density,
) -> Vec<Vec<f64>> {
    let description = description.clone().error_bars(false);
    solved_by(method, &description, mesh, density).matrices().maxwell_farad
}

/// The derivative of solves with the parameter less and more.
fn quotient(less: &[Vec<f64>], more: &[Vec<f64>], step: f64) -> Vec<Vec<f64>> {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        a.iter().zip(b).map(|(a, b)| (b - a) / (2.0 * step)).collect()
    };
    less.iter().zip(more).map(row).collect()
}

#[track_caller]
fn near(found: &[Vec<f64>], expected: &[Vec<f64>], share: f64) {
    let size = expected.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(size > 0.0 && found.len() == expected.len());
    for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() < share * size, "{found:?}\n{expected:?}");
    }
}

fn sphere(radius: f64, at: [f64; 3], elements: usize) -> Mesh {
    let resolution = Resolution::Elements(elements);
    let sphere = Sphere { radius, base: SphereBase::Icosahedron, resolution };
    moved(&sphere.build().unwrap(), |_| true, &Motion::along(at))
}

fn two(above: [f64; 3]) -> Mesh {
    let parts = [("a", sphere(1.0, [0.0; 3], 320)), ("b", sphere(0.6, above, 180))];
    join::joined(parts.map(|(name, mesh)| (name.to_owned(), mesh)).to_vec())
}

/// Shifts of one of two spheres, alone, over a ground, and of both.
#[test]
fn shifts_are_those_of_solves_with_moved_bodies() {
    let ground = Mirror { plane: Plane { axis: 2, at: -1.5 }, odd: true };
    let at = [0.7, 0.3, 2.2];
    for (planes, density) in [(vec![], Density::Constant), (vec![ground], Density::Linear)] {
        let both = ["sphere".to_owned(), "b_sphere".to_owned()];
        let description = Description::default()
            .unit(LengthUnit::Millimetre)
            .relative_permittivity(2.0)
            .planes(planes)
            .sensitivities(wanted(&[
                Parameter::Shift(vec!["b_sphere".into()]),
                Parameter::Shift(both.to_vec()),
            ]));
        let solution = solved(&description, &two(at), density);
        let [of_b, of_both] = &solution.derivatives[..] else { panic!("two were wanted") };
        let without = description.sensitivities(Vec::new());
        for axis in 0..3 {
            let step = 0.02;
            let [less, more] = [-step, step].map(|step| {
                let mut at = at;
                at[axis] += step;
                maxwell(&without, &two(at), density)
            });
            // In metres.
            let expected = quotient(&less, &more, 1e-3 * step);
            near(&of_b.matrices[axis], &expected, 0.01);
            if axis < 2 || without.planes.is_empty() {
                // Together they stay what they are.
                let sum = of_both.matrices[axis].concat().iter().map(|x| x.abs()).sum::<f64>();
                let each = of_b.matrices[axis].concat().iter().map(|x| x.abs()).sum::<f64>();
                assert!(sum < 0.01 * each, "{sum:e} {each:e}");
            }
        }
    }
}

/// A sphere in a coat: closed forms of the derivative by both permittivities.
#[test]
fn permittivities_of_a_coat_are_those_of_the_closed_form() {
    let (a, b, coat, around) = (1.0, 1.7, 3.0, 1.4);
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(3000));
    let mesh = ConcentricSpheres { inner_radius: a, outer_radius: b, base, resolution };
    let mesh = mesh.build().unwrap();
    let description = Description::default()
        .relative_permittivity(around)
        .conductors(vec![Conductor::new("inner")])
        .dielectrics(vec![Dielectric::new("outer", coat)])
        .sensitivities(wanted(&[
            Parameter::Permittivity("outer".into()),
            Parameter::Permittivity(SURROUNDINGS.into()),
        ]));
    // C = 4 pi eps0 / (u / coat + v / around).
    let (u, v) = (1.0 / a - 1.0 / b, 1.0 / b);
    let sum = u / coat + v / around;
    let of = |part: f64, eps: f64| units::farads(part / (eps * eps * sum * sum), LengthUnit::Metre);
    for density in [Density::Constant, Density::Linear] {
        let solution = solved(&description, &mesh, density);
        let found: Vec<f64> = solution.derivatives.iter().map(|of| of.matrices[0][0][0]).collect();
        let expected = [of(u, coat), of(v, around)];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.01, "{found:e} {expected:e}");
        }
        // The capacitance is proportional to all permittivities together.
        let whole = found[0] * coat + found[1] * around;
        let capacitance = solution.matrices().maxwell_farad[0][0];
        assert!((whole / capacitance - 1.0).abs() < 2e-3, "{whole:e} {capacitance:e}");
    }
}

/// A film between a dielectric body and air: the parts of all media add up, and those on the two
/// sides of the film are distinguished.
#[test]
fn parts_of_media_add_up_where_metal_lies_between_them() {
    let body = Cube { edge: 1.0, grade: 3.0, resolution: Resolution::Elements(768) };
    let mut mesh = body.build().unwrap();
    // One face is metal.
    let top = mesh.vertices.iter().map(|x| x[2]).fold(f64::NEG_INFINITY, f64::max);
    let groups = [("film", true), ("rest", false)];
    let is_top = |t: usize| mesh.corners(t).iter().all(|x| x[2] == top);
    mesh.membership = (0..mesh.triangles.len()).map(|t| u32::from(!is_top(t))).collect();
    mesh.groups = (1..)
        .zip(groups)
        .map(|(tag, (name, _))| PhysicalGroup { tag, name: Some(name.into()) })
        .collect();
    mesh.memberships = vec![vec![0], vec![1]];
    let mut dielectric = Dielectric::new("body", 6.0);
    dielectric.groups = vec!["film".into(), "rest".into()];
    let mut film = Conductor::new("film");
    film.groups = vec!["film".into()];
    let description = Description::default()
        .conductors(vec![film])
        .dielectrics(vec![dielectric])
        .sensitivities(wanted(&[
            Parameter::Permittivity("body".into()),
            Parameter::Permittivity(SURROUNDINGS.into()),
        ]));
    let solution = solved(&description, &mesh, Density::Constant);
    let found: Vec<f64> = solution.derivatives.iter().map(|of| of.matrices[0][0][0]).collect();
    let capacitance = solution.matrices().maxwell_farad[0][0];
    let whole = 6.0 * found[0] + found[1];
    assert!((whole / capacitance - 1.0).abs() < 0.02, "{whole:e} {capacitance:e}");
    let without = |eps: f64| {
        let mut changed = description.clone().sensitivities(Vec::new());
        changed.dielectrics[0].relative_permittivity = eps;
        maxwell(&changed, &mesh, Density::Constant)
    };
    let expected = quotient(&without(5.9), &without(6.1), 0.1);
    near(&[vec![found[0]]], &expected, 0.02);
}

/// Metal in the middle of what has nearly no field: closed forms, of curved spheres. In the lower
/// permittivity shares are by charges, in the higher one by solves, for which fewer triangles do.
#[test]
fn shares_in_high_permittivities_are_those_of_the_closed_form() {
    let base = SphereBase::Icosahedron;
    let spheres = |elements: usize| {
        let resolution = Resolution::Elements(elements);
        ConcentricSpheres { inner_radius: 1.0, outer_radius: 1.7, base, resolution }
    };
    for (coat, elements) in [(1e2, 360), (1e4, 160)] {
        let mesh = spheres(elements).build_curved(4).unwrap();
        let description = Description::default()
            .conductors(vec![Conductor::new("inner")])
            .dielectrics(vec![Dielectric::new("outer", coat)])
            .sensitivities(wanted(&[
                Parameter::Permittivity("outer".into()),
                Parameter::Permittivity(SURROUNDINGS.into()),
            ]));
        let of_coat = (1.0 - 1.0 / 1.7) / coat;
        let share = of_coat / (of_coat + 1.0 / 1.7);
        judge(&solved(&description, &mesh, Density::Constant), &[share, 1.0 - share]);
    }
}

/// Shares are within 1 % of these and within their bars, which are of use, and add up to 1.
#[track_caller]
fn judge(solution: &Solution, expected: &[f64]) {
    let own = |of: &Derivative| (of.participation[0], of.participation_bars[0]);
    for ((found, bar), expected) in solution.derivatives.iter().map(own).zip(expected) {
        let off = (found - expected).abs();
        assert!(off < 0.01 * expected && off <= bar, "{found:e} +- {bar:e}, not {expected:e}");
        assert!(found > 0.0 && bar < 0.1, "{found:e} +- {bar:e}");
    }
    let sum: f64 = solution.derivatives.iter().map(|of| own(of).0).sum();
    assert!((sum - 1.0).abs() < 2e-3, "{sum}");
    let capacitance = solution.matrices().maxwell_farad[0][0];
    for of in &solution.derivatives {
        let of_change = of.at.unwrap() * of.matrices[0][0][0] / capacitance;
        assert!((of_change / own(of).0 - 1.0).abs() < 1e-9);
        assert!(of.bars[0][0][0] > 0.0);
    }
}

/// Metal, half of it sunk in a block: 2 x 2 x 2 of unit squares in 6 x 6 x 3.
fn half_sunk() -> Mesh {
    type Square = ([i32; 3], [i32; 3], [i32; 3]);
    let mut squares: Vec<(usize, Square)> = Vec::new();
    let (x, y, z) = ([1, 0, 0], [0, 1, 0], [0, 0, 1]);
    for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
        let is_metal = (2..4).contains(&i) && (2..4).contains(&j);
        squares.push((0, ([i, j, -3], y, x)));
        match is_metal {
            true => squares.extend([(1, ([i, j, -1], x, y)), (2, ([i, j, 1], x, y))]),
            false => squares.push((0, ([i, j, 0], x, y))),
        }
    }
    for (k, i) in (-3..0).flat_map(|k| (0..6).map(move |i| (k, i))) {
        let sides = [([i, 0, k], x, z), ([i, 6, k], z, x), ([0, i, k], z, y), ([6, i, k], y, z)];
        squares.extend(sides.map(|side| (0, side)));
    }
    for (group, k, i) in [(1, -1, 2), (1, -1, 3), (2, 0, 2), (2, 0, 3)] {
        let sides = [([i, 2, k], x, z), ([i, 4, k], z, x), ([2, i, k], z, y), ([4, i, k], y, z)];
        squares.extend(sides.map(|side| (group, side)));
    }
    let mut mesh = Mesh::default();
    let mut known = std::collections::BTreeMap::new();
    for (group, (at, u, v)) in squares {
        let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[a, b]| {
            let place: [i32; 3] = std::array::from_fn(|k| at[k] + a * u[k] + b * v[k]);
            *known.entry(place).or_insert_with(|| {
                mesh.vertices.push(place.map(f64::from));
                mesh.vertices.len() as u32 - 1
            })
        });
        let [a, b, c, d] = corners;
        mesh.triangles.extend([[a, b, c], [a, c, d]]);
        mesh.membership.extend([group as u32; 2]);
    }
    let group = |(tag, name): (i64, &str)| PhysicalGroup { tag, name: Some(name.into()) };
    mesh.groups = [(1, "d"), (2, "md"), (3, "mo")].map(group).to_vec();
    mesh.memberships = vec![vec![0], vec![1], vec![2]];
    mesh
}

/// By charges alone the block would have a share that is off by a third, and below 0 farther on.
#[test]
fn shares_of_a_block_that_metal_is_sunk_in_are_those_of_solves() {
    for eps in [10.0, 1e4] {
        let mut conductor = Conductor::new("m");
        conductor.groups = vec!["md".into(), "mo".into()];
        let mut block = Dielectric::new("block", eps);
        block.groups = vec!["d".into(), "md".into()];
        let description = Description::default()
            .conductors(vec![conductor])
            .dielectrics(vec![block])
            .sensitivities(wanted(&[
                Parameter::Permittivity("block".into()),
                Parameter::Permittivity(SURROUNDINGS.into()),
            ]));
        let mesh = half_sunk();
        let of = |eps: f64| {
            let mut changed = description.clone().sensitivities(Vec::new());
            changed.dielectrics[0].relative_permittivity = eps;
            maxwell(&changed, &mesh, Density::Linear)[0][0]
        };
        let (less, more) = (of(0.97 * eps), of(1.03 * eps));
        let share = (more - less) / 0.03 / (more + less);
        judge(&solved(&description, &mesh, Density::Constant), &[share, 1.0 - share]);
    }
}

fn films(at: f64) -> Mesh {
    let plate = Plate { width: 1.0, height: 1.0, grade: 4.0, resolution: Resolution::Elements(32) };
    let plate = moved(&plate.build().unwrap(), |_| true, &Motion::along([0.0, 0.0, at]));
    let other = moved(&plate, |_| true, &Motion::along([1.3, 0.0, 0.0]));
    join::joined(vec![("a".into(), plate), ("b".into(), other)])
}

fn stack(below: Beyond, layers: &[(f64, f64)], above: f64) -> Stack {
    let layer = |&(thickness, permittivity): &(f64, f64)| StackLayer { thickness, permittivity };
    let layers = layers.iter().map(layer).collect();
    let above = Beyond::Dielectric(above);
    Stack::default().below(below).layers(layers).above(above).tolerance(0.1 * TOLERANCE)
}

/// Films between half-spaces have the mean of both permittivities.
#[test]
fn half_spaces_have_half_each() {
    let description = Description::default()
        .stack(Some(stack(Beyond::Dielectric(11.7), &[], 1.0)))
        .sensitivities(wanted(&[Parameter::OfLayer(0), Parameter::OfLayer(1)]));
    let solution = solved(&description, &films(0.0), Density::Linear);
    let half = maxwell(&Description::default(), &films(0.0), Density::Linear);
    let half: Vec<Vec<f64>> =
        half.into_iter().map(|row| row.into_iter().map(|x| 0.5 * x).collect()).collect();
    for of in &solution.derivatives {
        near(&of.matrices[0], &half, 1e-3);
    }
    assert_eq!(solution.derivatives[0].at, Some(11.7));
}

/// Films on, and in, layers over a ground: against solves with changed layers.
#[test]
fn layers_are_those_of_solves_with_changed_layers() {
    let base = [(0.8, 4.0), (0.5, 2.5)];
    // In the interface between both layers, on top of them, and inside of the upper one; which
    // permittivities are changed there (all of them together are in the sum below).
    for (at, changed_layers) in [(0.8, 1..=3), (1.3, 3..=3), (1.0, 2..=2)] {
        let by = [
            Parameter::Thickness(1),
            Parameter::Thickness(2),
            Parameter::OfLayer(1),
            Parameter::OfLayer(2),
            Parameter::OfLayer(3),
        ];
        let description = |layers: &[(f64, f64)], above: f64| {
            Description::default().stack(Some(stack(Beyond::Ground, layers, above)))
        };
        let first = description(&base, 1.2).sensitivities(wanted(&by));
        let solution = solved_by(Method::Fmm, &first, &films(at), Density::Constant);
        for (of, by) in solution.derivatives.iter().zip(&by) {
            if matches!(by, Parameter::OfLayer(k) if !changed_layers.contains(k)) {
                continue;
            }
            let step = 0.01;
            let [less, more] = [-step, step].map(|step| {
                let (mut layers, mut above, mut at) = (base, 1.2, at);
                match by {
                    Parameter::Thickness(k) => {
                        layers[k - 1].0 += step;
                        // What is above the layer, or in its top, moves with it; what is inside
                        // of it stays.
                        let top = base[..*k].iter().map(|layer| layer.0).sum::<f64>();
                        at += if at >= top - 1e-9 { step } else { 0.0 };
                    }
                    Parameter::OfLayer(3) => above += step,
                    Parameter::OfLayer(k) => layers[k - 1].1 += step,
                    _ => panic!("{by:?}"),
                }
                let changed = description(&layers, above);
                maxwell_by(Method::Fmm, &changed, &films(at), Density::Constant)
            });
            near(&of.matrices[0], &quotient(&less, &more, step), 5e-3);
        }
        let of = |k: usize| -> f64 {
            let Derivative { at, matrices, .. } = &solution.derivatives[k];
            at.unwrap() * matrices[0][0][0]
        };
        let capacitance = solution.matrices().maxwell_farad[0][0];
        let whole = of(2) + of(3) + of(4);
        assert!((whole / capacitance - 1.0).abs() < 2e-3, "{whole:e} {capacitance:e}");
    }
}

#[test]
fn what_cannot_change_is_reported() {
    let fault = |description: Description, mesh: Mesh| -> SensitivityFault {
        let Err(Error::Faults(faults)) = Problem::new(description, mesh) else { panic!("none") };
        match &faults[..] {
            [Fault::Sensitivity { problem, .. }] => problem.clone(),
            _ => panic!("{faults:?}"),
        }
    };
    let with = |by: Parameter| {
        Description::default()
            .stack(Some(stack(Beyond::Ground, &[(1.0, 4.0)], 1.0)))
            .sensitivities(wanted(&[by]))
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let shift = |of: &[&str]| Parameter::Shift(names(of));
    assert_eq!(fault(with(shift(&[])), films(1.0)), SensitivityFault::Nothing);
    assert_eq!(fault(with(shift(&["plate"])), films(1.0)), SensitivityFault::Bound("plate".into()));
    assert!(matches!(fault(with(shift(&["c"])), films(1.0)), SensitivityFault::Unknown { .. }));
    for by in [Parameter::Thickness(0), Parameter::Thickness(2), Parameter::OfLayer(0)] {
        assert!(matches!(fault(with(by), films(1.0)), SensitivityFault::NoLayer { .. }));
    }
    let glass = Parameter::Permittivity("glass".into());
    assert!(matches!(fault(with(glass), films(1.0)), SensitivityFault::NoDielectric { .. }));
    let even = Mirror { plane: Plane { axis: 2, at: 0.0 }, odd: false };
    let mirrored =
        Description::default().planes(vec![even]).sensitivities(wanted(&[shift(&["plate"])]));
    assert_eq!(fault(mirrored, films(1.0)), SensitivityFault::Mirrored);
}
