use farad::internals::piece::LEAST;
use farad::{
    Conductor, Description, Dielectric, NoProgress, Options, Parameter, Problem, Sensitivity,
};
use mesh::generate::{Resolution, Sphere, SphereBase};

use crate::testing;

fn shells() -> Problem {
    let conductors = vec![Conductor::new("inner")];
    let dielectrics = vec![Dielectric::new("outer", 4.0)];
    let description = Description::default().conductors(conductors).dielectrics(dielectrics);
    Problem::new(description, testing::shells()).unwrap()
}

#[test]
fn a_piece_has_its_share_of_triangles_as_they_were() {
    let whole = shells();
    assert_eq!(whole.panels(), 144);
    for triangles in [24, 72, 144, 1000] {
        let piece = whole.piece(triangles, usize::MAX).unwrap();
        let expected = triangles.min(144);
        assert!(piece.panels().abs_diff(expected) <= LEAST, "{triangles} {}", piece.panels());
        for t in 0..piece.panels() {
            let corners = piece.mesh().corners(t);
            let of = |s: &usize| whole.mesh().corners(*s) == corners;
            let same = (0..144).find(of).unwrap();
            assert_eq!(piece.areas()[t], whole.areas()[same]);
            let conductor = |problem: &Problem, t: usize| problem.conductors().of_triangle[t];
            assert_eq!(conductor(&piece, t), conductor(&whole, same));
            let sides = |problem: &Problem, t: usize| problem.media().unwrap().permittivity[t];
            assert_eq!(sides(&piece, t), sides(&whole, same));
        }
    }
}

/// Each block lies together, and a conductor that none of them meets has some triangles all the
/// same.
#[test]
fn a_piece_is_a_few_blocks_and_some_of_what_is_elsewhere() {
    let resolution = Resolution::Elements(20_000);
    let base = SphereBase::Icosahedron;
    let ball = Sphere { radius: 1.0, base, resolution }.build().unwrap();
    let mesh = testing::joined([("ball", ball), ("cube", testing::cube([0.0, 0.0, 9.0]))]);
    let problem = Problem::new(Description::default(), mesh).unwrap();
    let piece = problem.piece(2_000, usize::MAX).unwrap();
    let of_cube = piece.conductors().of_triangle.iter().filter(|owner| **owner == Some(1));
    assert_eq!(of_cube.count(), LEAST);
    let mut sides = std::collections::HashMap::new();
    for [a, b, c] in &piece.mesh().triangles {
        for side in [[a, b], [b, c], [c, a]] {
            *sides.entry([*side[0].min(side[1]), *side[0].max(side[1])]).or_insert(0) += 1;
        }
    }
    let rim = sides.values().filter(|count| **count == 1).count();
    let inner = sides.len() - rim;
    // Blocks of 500 have a rim of some 50 sides each.
    assert!(20 * rim > inner && 6 * rim < inner, "{rim} {inner}");
}

#[test]
fn every_conductor_is_in_a_piece_and_it_can_be_solved() {
    let names: Vec<String> = (0..12).map(|k| format!("c{k}")).collect();
    let cube = |k: usize| (names[k].as_str(), testing::cube([2.0 * k as f64, 0.0, 0.0]));
    let mesh = testing::joined::<12>(std::array::from_fn(cube));
    let plane = mesh::mirror::Plane { axis: 2, at: -3.0 };
    let planes = vec![bem::Mirror { plane, odd: true }];
    let problem = Problem::new(Description::default().planes(planes), mesh).unwrap();
    let piece = problem.piece(problem.panels() / 4, usize::MAX).unwrap();
    assert!(piece.panels() < problem.panels() / 2, "{}", piece.panels());
    for conductor in 0..12 {
        assert!(piece.conductors().of_triangle.contains(&Some(conductor)), "{conductor}");
    }
    let solution = piece.solve(&Options::default(), &NoProgress).unwrap();
    assert!(solution.converged());
}

#[test]
fn a_piece_of_many_conductors_excites_some_and_has_little_of_each() {
    let names: Vec<String> = (0..12).map(|k| format!("c{k}")).collect();
    let cube = |k: usize| (names[k].as_str(), testing::cube([2.0 * k as f64, 0.0, 0.0]));
    let mesh = testing::joined::<12>(std::array::from_fn(cube));
    let problem = Problem::new(Description::default(), mesh).unwrap();
    let piece = problem.piece(24, 3).unwrap();
    assert_eq!((piece.excited(), piece.conductors().names.len()), (&[0, 1, 2][..], 12));
    assert!(piece.panels() <= 24 + 12 * 2, "{}", piece.panels());
    let solution = piece.solve(&Options::default(), &NoProgress).unwrap();
    assert_eq!(solution.columns, [0, 1, 2]);
    assert!(solution.converged());
}

#[test]
fn sensitivities_that_need_no_whole_bodies_are_found_of_a_piece() {
    let by = [
        Parameter::Shift(vec!["inner".to_owned()]),
        Parameter::Shift(vec!["outer".to_owned()]),
        Parameter::Permittivity("outer".to_owned()),
    ];
    let named = |(k, by)| Sensitivity { name: format!("s{k}"), by };
    let conductors = vec![Conductor::new("inner")];
    let dielectrics = vec![Dielectric::new("outer", 4.0)];
    let sensitivities = by.into_iter().enumerate().map(named).collect();
    let description = Description::default()
        .conductors(conductors)
        .dielectrics(dielectrics)
        .sensitivities(sensitivities);
    let problem = Problem::new(description, testing::shells()).unwrap();
    let solution =
        problem.piece(72, usize::MAX).unwrap().solve(&Options::default(), &NoProgress).unwrap();
    let names: Vec<&str> = solution.derivatives.iter().map(|of| of.name.as_str()).collect();
    assert!(names.contains(&"s2") && !names.contains(&"s1"), "{names:?}");
}

#[test]
fn pieces_in_layers_can_be_solved() {
    let layer = bem::StackLayer { thickness: 4.0, permittivity: 3.9 };
    let (below, above) = (bem::Beyond::Dielectric(11.7), bem::Beyond::Ground);
    let (layers, tolerance) = (vec![layer], 1e-6);
    let stack = bem::Stack::default().below(below).layers(layers).above(above).tolerance(tolerance);
    let problem = |stack| {
        let description = Description::default().stack(Some(stack));
        Problem::new(description, testing::cube([0.0, 0.0, 2.0])).unwrap()
    };
    let whole = problem(stack);
    let piece = whole.piece(whole.panels() / 2, usize::MAX).unwrap();
    assert_eq!(piece.panels(), whole.panels() / 2);
    assert!(piece.solve(&Options::default(), &NoProgress).unwrap().converged());
}
