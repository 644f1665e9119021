use farad::{
    Conductor, Description, Dielectric, Listed, Measured, Problem, Reduction, ReductionFault,
    Setting, Solution, Unit, distinct_entries,
};
use nalgebra::DMatrix;

use crate::testing;

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Capacitances of five nets between each other and to infinity, of several sizes, and not
/// quite symmetric, as computed ones are.
fn five() -> (Vec<String>, Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mutual = |i: usize, j: usize| 1.0 / (1.0 + (3 * i + j * j) as f64 % 7.0);
    let coupling = |i: usize, j: usize| mutual(i.min(j), i.max(j)) * (1.0 + 1e-3 * i as f64);
    let entry = |i: usize, j: usize| match i == j {
        true => (0..5).filter(|&k| k != i).map(|k| coupling(i, k)).sum::<f64>() + 0.1,
        false => -coupling(i, j),
    };
    let maxwell = (0..5).map(|i| (0..5).map(|j| entry(i, j)).collect()).collect();
    let bar = |i: usize, j: usize| 1e-6 * (1 + (2 * i + 3 * j) % 5) as f64;
    let bars = (0..5).map(|i| (0..5).map(|j| bar(i, j)).collect()).collect();
    (named(&["a", "b", "c", "fill_1", "fill_2"]), maxwell, bars)
}

fn dense(matrix: &[Vec<f64>]) -> DMatrix<f64> {
    DMatrix::from_fn(matrix.len(), matrix.len(), |i, j| matrix[i][j])
}

#[track_caller]
fn assert_near(found: &[Vec<f64>], expected: &DMatrix<f64>) {
    let off = (dense(found) - expected).abs().max();
    assert!(off < 1e-14 * expected.abs().max(), "{found:?} {expected}");
}

/// Without charge on floating nets, the potential coefficients of the others are as before.
#[test]
fn floating_nets_leave_the_inverse_of_potential_coefficients() {
    let (names, maxwell, _) = five();
    let floating = named(&["fill_*", "b"]);
    let reduction = Reduction::default().floating(floating);
    let reduced = reduction.over(&names).unwrap().apply(&maxwell, None);
    assert_eq!(reduced.nets, ["a", "c"]);
    let p = dense(&maxwell).try_inverse().unwrap();
    let p = DMatrix::from_fn(2, 2, |i, j| p[(2 * i, 2 * j)]);
    assert_near(&reduced.maxwell, &p.try_inverse().unwrap());
    assert_eq!((reduced.bars, reduced.between), (None, None));
}

#[test]
fn groups_are_summed_and_grounded_nets_left_out() {
    let (names, c, bars) = five();
    let reduction = Reduction::default()
        .groups(vec![("vdd".to_owned(), named(&["b", "fill_2"]))])
        .grounded(named(&["c"]));
    let reduced = reduction.over(&names).unwrap().apply(&c, Some(&bars));
    assert_eq!(reduced.nets, ["a", "vdd", "fill_1"]);
    let sums = |c: &[Vec<f64>]| {
        let vdd = |i: usize| c[i][1] + c[i][4];
        let rows = [
            [c[0][0], vdd(0), c[0][3]],
            [c[1][0] + c[4][0], vdd(1) + vdd(4), c[1][3] + c[4][3]],
            [c[3][0], vdd(3), c[3][3]],
        ];
        DMatrix::from_fn(3, 3, |i, j| rows[i][j])
    };
    assert_near(&reduced.maxwell, &sums(&c));
    assert_near(&reduced.bars.unwrap(), &sums(&bars));
}

/// Opposite charges on two nets, the third grounded or not.
#[test]
fn two_nets_have_the_capacitance_of_opposite_charges() {
    let (names, maxwell, _) = five();
    for grounded in [named(&[]), named(&["c"]), named(&["*"])] {
        let is_grounded = |k: usize| match grounded.first().map(String::as_str) {
            None => false,
            Some("c") => k == 2,
            Some(_) => k != 0 && k != 4,
        };
        let rest: Vec<usize> = (0..5).filter(|&k| !is_grounded(k)).collect();
        let between = Some(["fill_2", "a"].map(str::to_owned));
        let reduction = Reduction::default().grounded(grounded).between(between);
        let reduced = reduction.over(&names).unwrap().apply(&maxwell, None);
        let c = DMatrix::from_fn(rest.len(), rest.len(), |i, j| maxwell[rest[i]][rest[j]]);
        let p = c.try_inverse().unwrap();
        let last = rest.len() - 1;
        let expected = 1.0 / (p[(0, 0)] + p[(last, last)] - p[(0, last)] - p[(last, 0)]);
        let (found, bar) = (reduced.between.unwrap(), reduced.between_bar);
        assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}");
        assert_eq!((bar, reduced.nets), (None, named(&["fill_2", "a"])));
    }
}

/// Bars are what the worst signs of all entries' bars make of the result, entry by entry.
#[test]
fn bars_are_those_of_the_worst_signs() {
    let (names, maxwell, bars) = five();
    let groups = vec![("g".to_owned(), named(&["a", "b"]))];
    let floating = named(&["fill_1"]);
    let between = Some(["g", "c"].map(str::to_owned));
    let matrix = Reduction::default().groups(groups).floating(floating);
    let two = matrix.clone().floating(Vec::new()).between(between);
    // The numbers of both, and their bars.
    let numbers = |maxwell: &[Vec<f64>]| {
        let of =
            |reduction: &Reduction| reduction.over(&names).unwrap().apply(maxwell, Some(&bars));
        let (matrix, two) = (of(&matrix), of(&two));
        let mut all: Vec<(f64, f64)> = Vec::new();
        for (row, bars) in matrix.maxwell.iter().zip(matrix.bars.unwrap()) {
            all.extend(row.iter().copied().zip(bars));
        }
        all.push((two.between.unwrap(), two.between_bar.unwrap()));
        all
    };
    let known = numbers(&maxwell);
    let mut worst = vec![0.0; known.len()];
    for i in 0..5 {
        for j in 0..5 {
            let mut changed = maxwell.clone();
            changed[i][j] += bars[i][j];
            for (k, (value, _)) in numbers(&changed).into_iter().enumerate() {
                worst[k] += (value - known[k].0).abs();
            }
        }
    }
    for (worst, (_, bar)) in worst.iter().zip(&known) {
        // Second order: 1e-5 of the entries.
        assert!((worst / bar - 1.0).abs() < 1e-4, "{worst} {bar}");
    }
}

#[test]
fn potentials_without_values_are_not_numbers() {
    let names = named(&["a", "b"]);
    let reduction = Reduction::default().floating(named(&["b"]));
    let reducer = reduction.over(&names).unwrap();
    let reduced = reducer.apply(&[vec![1.0, 0.0], vec![0.0, 0.0]], None);
    assert!(reduced.maxwell[0][0].is_nan());
}

#[test]
fn faults_name_their_places() {
    let (names, ..) = five();
    let faults = |reduction: &Reduction| {
        let faults = reduction.over(&names).unwrap_err();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let unknown = Reduction::default()
        .groups(vec![("g".to_owned(), named(&["a", "x"]))])
        // A conductor of a group is no net of its own.
        .grounded(named(&["a"]))
        .floating(named(&["dummy_*"]));
    let expected = ["there is no net \"x\"", "there is no net \"a\"", "no net fits \"dummy_*\""];
    assert_eq!(faults(&unknown), expected);
    let twice = Reduction::default()
        .groups(vec![("g".to_owned(), named(&["a"])), ("c".to_owned(), named(&["a", "b"]))])
        .grounded(named(&["fill_*"]))
        .floating(named(&["fill_1", "fill*", "fill_1"]));
    let expected = [
        "net \"a\" is listed twice",
        "there is a net \"c\" outside of the group of this name",
        "net \"fill_1\" is listed twice",
        "net \"fill_2\" is listed twice",
    ];
    assert_eq!(faults(&twice), expected);
    let at = twice.over(&names).unwrap_err().into_iter().filter_map(|fault| match fault {
        ReductionFault::Twice { at, .. } => Some(at),
        _ => None,
    });
    let expected = [
        [Listed::Member(0, 0), Listed::Member(1, 0)],
        [Listed::Floating(0), Listed::Floating(2)],
        [Listed::Grounded(0), Listed::Floating(1)],
    ];
    assert_eq!(at.collect::<Vec<_>>(), expected);
    let nothing = Reduction::default().grounded(named(&["a", "b"])).floating(named(&["*"]));
    assert_eq!(faults(&nothing), ["no net is left: all are grounded or float"]);
    let between = Some(["a", "a"].map(str::to_owned));
    let same = Reduction::default().between(between).floating(named(&["b"]));
    let expected = [
        "net \"a\" is listed twice",
        "floating nets are listed, but all nets float that are neither grounded nor among the two",
    ];
    assert_eq!(faults(&same), expected);
}

/// Four cubes over ground, one of them in a dielectric: what is made of the matrix is what
/// further solves find.
fn cubes(conductors: Vec<Conductor>, reductions: Vec<Reduction>) -> Solution {
    let description = Description::default().conductors(conductors).reductions(reductions);
    solved(description)
}

/// The solution for these cubes.
fn solved(description: Description) -> Solution {
    let places = [[0.0, 0.0, 0.5], [1.5, 0.0, 0.5], [0.0, 1.4, 0.5], [1.5, 1.6, 0.5]];
    let cube = |name: &str, at: [f64; 3], edge: f64| {
        let mut mesh = testing::cube([0.0; 3]);
        for vertex in &mut mesh.vertices {
            *vertex = std::array::from_fn(|k| at[k] + edge * vertex[k]);
        }
        mesh.groups[0].name = Some(name.to_owned());
        (name.to_owned(), mesh)
    };
    let coat = cube("coat", places[2], 1.3);
    let metal = ["a", "b", "c", "d"].iter().zip(places).map(|(name, at)| cube(name, at, 1.0));
    let mesh = mesh::join::joined(metal.chain([coat]).collect());
    let ground = bem::Mirror { plane: mesh::mirror::Plane { axis: 2, at: -0.5 }, odd: true };
    let description =
        description.dielectrics(vec![Dielectric::new("coat", 3.0)]).planes(vec![ground]);
    let options = bem::SolveOptions::default().tolerance(1e-9);
    Problem::new(description, mesh).unwrap().solve(&options, &bem::NoProgress).unwrap()
}

#[test]
fn reductions_are_what_floating_and_joined_conductors_are() {
    let conductor = |name: &str| Conductor::new(name);
    let reductions = vec![
        Reduction::default().name("float".to_owned()).floating(named(&["c"])),
        Reduction::default()
            .name("one".to_owned())
            .groups(vec![("bd".to_owned(), named(&["b", "d"]))])
            .grounded(named(&["c"])),
        Reduction::default().name("pair".to_owned()).between(Some(["a", "d"].map(str::to_owned))),
    ];
    let all = ["a", "b", "c", "d"];
    let solution = cubes(all.map(conductor).to_vec(), reductions);
    let [float, one, pair] = &solution.reduced()[..] else { panic!() };

    // Residuals of two solves.
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-8 * one.maxwell[0][0], "{found} {expected}");
    };
    let state = |settings: [Setting; 4]| {
        let set = all.iter().zip(settings);
        let set = set.map(|(name, setting)| conductor(name).with(setting)).collect();
        let solution = cubes(set, Vec::new());
        solution.state.unwrap().conductors
    };
    let (zero, volt) = (Setting::Potential(0.0), Setting::Potential(1.0));
    let held = state([volt, zero, Setting::Charge(0.0), zero]);
    for (row, k) in [0, 1, 3].into_iter().enumerate() {
        near(float.maxwell[row][0], held[k].charge_c);
        // Bars of states know which errors of floating potentials cancel, those of reductions
        // do not.
        let (bar, of_state) =
            (float.bars.as_ref().unwrap()[row][0], held[k].charge_error_c.unwrap());
        assert!(of_state > 0.1 * bar && of_state < 1.5 * bar, "{bar} {of_state}");
    }

    let groups = |names: &[&str]| conductor("bd").groups(named(names));
    let joined = cubes(vec![conductor("a"), conductor("c"), groups(&["b", "d"])], Vec::new());
    let expected = joined.matrices().maxwell_farad;
    for (i, from) in [0, 2].into_iter().enumerate() {
        for (j, to) in [0, 2].into_iter().enumerate() {
            near(one.maxwell[i][j], expected[from][to]);
        }
    }

    let (value, bar) = (pair.between.unwrap(), pair.between_bar);
    let charge = value;
    let floating = state([
        Setting::Charge(charge),
        Setting::Charge(0.0),
        Setting::Charge(0.0),
        Setting::Charge(-charge),
    ]);
    let volt = floating[0].potential_v - floating[3].potential_v;
    assert!((volt - 1.0).abs() < 1e-8, "{volt}");
    assert!(bar.unwrap() > 0.0 && bar.unwrap() < 0.3 * value, "{bar:?} {value}");
    // Sweeps and studies have the same numbers.
    let quantities = solution.quantities();
    let (first, found) = &quantities[0];
    assert_eq!(first.to_string(), "float: C(a, a)");
    assert_eq!(found.bar, float.bars.as_ref().map(|bars| bars[0][0]));
    let (last, found) = quantities.last().unwrap();
    assert_eq!(last.to_string(), "pair: C between a and d");
    assert_eq!(*found, Measured { value, bar, unit: Unit::Farad });
    assert_eq!(quantities.len(), 6 + 3 + 1);
}
/// With a dielectric and a ground plane: columns, bars and sums are those of the whole matrix.
#[test]
fn chosen_nets_have_the_columns_of_the_whole_matrix() {
    let conductors = ["a", "b", "c", "d"].map(Conductor::new).to_vec();
    let all = cubes(conductors.clone(), Vec::new());
    let nets = named(&["d", "b*"]);
    let some = solved(Description::default().conductors(conductors).nets(nets));
    assert_eq!((&all.columns[..], &some.columns[..]), (&[0, 1, 2, 3][..], &[1, 3][..]));
    assert_eq!((some.answer.solves.len(), &some.warnings[..]), (2, &all.warnings[..]));
    let [of_all, of_some] = [&all, &some].map(Solution::matrices);
    let [bars, some_bars] = [&all, &some].map(|solution| solution.matrix_bars().unwrap());
    let own = of_all.maxwell_farad[0][0];
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-7 * own, "{found} {expected}");
    };
    for (k, j) in [1, 3].into_iter().enumerate() {
        for i in 0..4 {
            near(of_some.maxwell_farad[i][k], of_all.maxwell_farad[i][j]);
            if i != j {
                near(of_some.mutual_farad[i][k], of_all.mutual_farad[i][j]);
            }
            let bar = some_bars.maxwell_farad[i][k];
            match [1, 3].contains(&i) {
                true => assert!((bar / bars.maxwell_farad[i][j] - 1.0).abs() < 1e-3, "{bar}"),
                false => assert!(bar.is_nan()),
            }
        }
        // Sums of columns are those of rows by the error of the mesh, of 48 triangles a cube.
        let to_infinity = of_some.mutual_farad[j][k];
        let column: f64 = of_all.maxwell_farad.iter().map(|row| row[j]).sum();
        near(to_infinity, column);
        assert!((to_infinity - of_all.mutual_farad[j][j]).abs() < 2e-2 * own, "{to_infinity}");
    }
    assert_eq!(
        distinct_entries(4, &[1, 3]),
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 1)]
    );
    assert_eq!(distinct_entries(2, &[0, 1]), [(0, 0), (0, 1), (1, 1)]);
}
