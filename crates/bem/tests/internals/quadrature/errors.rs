//! Errors of rules of many pairs against those of each.

use bem::Triangle;
use bem::internals::geometry::Vec3;
use bem::internals::quadrature::errors::{Pairs, of_fields, of_modes, of_potentials};
use bem::internals::quadrature::modes::{MODES, modes};
use bem::internals::quadrature::{Rule, TriangleNode, sums, triangle};

#[test]
fn errors_of_many_pairs_are_those_of_each() {
    let (vertices, pairs) = scattered();
    for degrees in [[1, 2], [2, 4], [4, 6], [5, 7]] {
        let rules = degrees.map(Rule::of_degree);
        let mut largest = 0.0f64;
        for count in [0, 1, 3, 8, pairs.len()] {
            let mut found = Vec::new();
            let of = Pairs { rules, vertices: &vertices, pairs: &pairs[..count] };
            of_potentials(of, &mut found);
            assert_eq!(found.len(), count);
            for (&[i, j], found) in pairs.iter().zip(found) {
                let of =
                    |p: usize, q: usize| sums::sum(rules[p], &vertices[i], rules[q], &vertices[j]);
                let exact = (of(1, 0) - of(0, 0)).abs() + (of(0, 1) - of(0, 0)).abs();
                // Differences of sums that are each good to 2e-13.
                assert!((found - exact).abs() < 1e-12 * of(0, 0), "{i} {j}: {found} {exact}");
                largest = exact.max(largest);
            }
        }
        assert!(largest > 1e-9, "{degrees:?}: {largest:e}");
    }
}

#[test]
fn errors_of_fields_of_many_pairs_are_those_of_each() {
    let (vertices, pairs) = scattered();
    for degrees in [[1, 2], [2, 4], [4, 6], [5, 7]] {
        let rules = degrees.map(Rule::of_degree);
        let mut largest = 0.0f64;
        for count in [0, 1, 3, 8, pairs.len()] {
            let mut found = Vec::new();
            let of = Pairs { rules, vertices: &vertices, pairs: &pairs[..count] };
            of_fields(of, &mut found);
            assert_eq!(found.len(), count);
            for (&[i, j], found) in pairs.iter().zip(found) {
                let of = |p: usize, q: usize| {
                    sums::field(rules[p], &vertices[i], rules[q], &vertices[j])
                };
                let (left, right) = (of(1, 0) - of(0, 0), of(0, 1) - of(0, 0));
                for (k, found) in [i, j].into_iter().zip(found) {
                    let normal = Triangle::of(vertices[k]).normal;
                    let exact = left.dot(&normal).abs() + right.dot(&normal).abs();
                    assert!((found - exact).abs() < 3e-12 * of(0, 0).norm(), "{i} {j}");
                    largest = exact.max(largest);
                }
            }
        }
        assert!(largest > 1e-9, "{degrees:?}: {largest:e}");
    }
}

#[test]
fn errors_of_modes_of_many_pairs_are_those_of_each() {
    let (vertices, pairs) = scattered();
    for degrees in [[1, 2], [2, 4], [4, 6], [5, 7]] {
        let rules = degrees.map(Rule::of_degree);
        // Of modes m and l, with rules of these degrees on the first and on the second.
        let sum = |degrees: [usize; 2], [s, t]: [&[Vec3; 3]; 2], [m, l]: [usize; 2]| -> f64 {
            let at = |v: &[Vec3; 3], [a, b, c]: [f64; 3]| v[0] * a + v[1] * b + v[2] * c;
            let nodes = degrees.map(triangle);
            let pairs = nodes[0].iter().flat_map(|p| nodes[1].iter().map(move |q| (p, q)));
            let term = |(p, q): (&TriangleNode, &TriangleNode)| {
                let weight =
                    p.weight * q.weight * modes(p.barycentric)[m] * modes(q.barycentric)[l];
                weight / (at(s, p.barycentric) - at(t, q.barycentric)).norm()
            };
            pairs.map(term).sum()
        };
        for count in [0, 1, 3, 8, pairs.len()] {
            let mut found = Vec::new();
            of_modes(Pairs { rules, vertices: &vertices, pairs: &pairs[..count] }, &mut found);
            assert_eq!(found.len(), count);
            for (&[i, j], found) in pairs.iter().zip(found) {
                let of = |p: usize, q: usize, modes: [usize; 2]| {
                    sum([degrees[p], degrees[q]], [&vertices[i], &vertices[j]], modes)
                };
                let change = |p: usize, q: usize| {
                    let all = (0..MODES).flat_map(|m| (0..MODES).map(move |l| [m, l]));
                    all.map(|modes| (of(p, q, modes) - of(0, 0, modes)).abs()).fold(0.0, f64::max)
                };
                let exact = change(1, 0) + change(0, 1);
                assert!(exact > 1e-12 && (found - exact).abs() < 1e-12, "{i} {j}: {found} {exact}");
            }
        }
    }
}

/// Twelve triangles in a row, and some pairs of them.
fn scattered() -> (Vec<[Vec3; 3]>, Vec<[usize; 2]>) {
    let mut seed = 5u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let vertices: Vec<[Vec3; 3]> = (0..12)
        .map(|i| [0; 3].map(|_| Vec3::new(2.0 * i as f64 + random(), random(), random())))
        .collect();
    let pairs: Vec<[usize; 2]> = (0..11)
        .flat_map(|i| [[i, i + 1], [11 - i, (i + 4) % 11]])
        .filter(|p| p[0] != p[1])
        .collect();
    (vertices, pairs)
}
