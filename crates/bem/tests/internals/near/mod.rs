//! The near field: its pairs, and how it keeps them.

mod functions;
mod modes;
mod pairs;
mod requirements;
mod select;

use bem::internals::geometry::{Panels, Partition};
use bem::internals::near::{
    Assembly, BLOCK, Choice, LayerPairs, Near, PairIntegrals, Precision, RowKind, Selection,
};
use bem::internals::quadrature::Rule;
use bem::{NoProgress, PairQuadrature};
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

/// The exact entries of one pair, if it belongs to the near field.
fn keeps<I: PairIntegrals>(
    selection: &Selection,
    panels: &Panels,
    integrals: &I,
    [i, j]: [usize; 2],
    scratch: &mut I::Scratch,
) -> Option<[I::Entry; 2]> {
    let mut choice = Choice::default();
    selection.choose(panels, integrals, &[[i, j]], &mut choice, scratch);
    choice.kept()[0]
}

/// Not an integral, but with all that a near field must keep apart: order, diagonal, rules.
struct Numbers;

impl PairIntegrals for Numbers {
    type Entry = f64;
    type Scratch = ();

    fn is_symmetric(&self) -> bool {
        false
    }

    fn exact(&self, i: usize, j: usize, (): &mut ()) -> [f64; 2] {
        [(i * 7 + j) as f64, (j * 7 + i) as f64]
    }

    fn by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        [i as f64 - (outer.len() * j) as f64, j as f64 - (inner.len() * i) as f64]
    }
}

/// Without limits and reports.
fn assembly<'a>(
    panels: &'a Panels,
    partition: &'a Partition,
    selection: &'a Selection,
    precision: Precision,
) -> Assembly<'a> {
    Assembly { panels, partition, selection, precision, check: &|_| Ok(()), progress: &NoProgress }
}

fn panels(mesh: &mesh::Mesh) -> Panels {
    Panels::of_mesh(mesh)
}

fn all_rows(near: &Near) -> Vec<Vec<(usize, f64)>> {
    let mut rows = vec![Vec::new(); near.len()];
    for block in 0..near.blocks() {
        let full = near.full_rows(block);
        for i in full.rows.clone() {
            rows[i] = full.row(i).iter().map(|&(j, v)| (j as usize, v)).collect();
        }
    }
    rows
}

#[test]
fn blocks_hold_what_was_put_in() {
    let resolution = Resolution::Elements(3000);
    let mesh = Cube { edge: 1.0, grade: 4.0, resolution }.build().unwrap();
    let panels = panels(&mesh);
    let rule = Rule::of_degree(2);
    let selection = Selection { diameters: 1.5, rules: [rule, Rule::of_degree(4)], error: 0.0 };
    let whole = Partition::whole(panels.len());
    for precision in [Precision::Single, Precision::Double] {
        let assembly = assembly(&panels, &whole, &selection, precision);
        let mut near = Near::new(&assembly, &Numbers).unwrap();
        assert!(near.blocks() > 1);
        let rows = all_rows(&near);
        assert_eq!(rows.iter().map(Vec::len).sum::<usize>(), near.entries());
        let mut y = vec![1.0; 2 * near.len()];
        let x: Vec<f64> = (0..y.len()).map(|i| (i as f64 * 0.7).sin()).collect();
        near.multiply_add(&x, &mut y);
        for (i, row) in rows.iter().enumerate() {
            let mut product = [1.0; 2];
            for &(j, value) in row {
                // Whole numbers below 2^24: exact in both formats.
                assert_eq!(value, (i * 7 + j) as f64);
                assert!(rows[j].iter().any(|&(k, _)| k == i), "the pattern is symmetric");
                product[0] += value * x[j];
                product[1] += value * x[near.len() + j];
            }
            for (k, product) in product.into_iter().enumerate() {
                let found = y[k * near.len() + i];
                assert!((found - product).abs() < 1e-12 * (row.len() * 8 * near.len()) as f64);
            }
            let mut later: Vec<usize> = row.iter().map(|&(j, _)| j).filter(|&j| j > i).collect();
            later.sort_unstable();
            let mut seen = Vec::new();
            near.later(i, |j, value| {
                assert_eq!(value, (i * 7 + j) as f64);
                seen.push(j);
            });
            assert_eq!(seen, later);
            assert_eq!(near.diagonal(i), (8 * i) as f64);
        }
        // Every third panel and all of a range, across blocks.
        let chosen: Vec<u32> =
            (0..near.len() as u32).filter(|i| i % 3 == 0 || (700..1400).contains(i)).collect();
        let part = near.between(&chosen);
        let rows_of_part = all_rows(&part);
        for (k, &i) in chosen.iter().enumerate() {
            let expected: Vec<(u32, f64)> = rows[i as usize]
                .iter()
                .filter(|(j, _)| chosen.contains(&(*j as u32)))
                // A symmetric matrix takes the entries of the earlier row within a block.
                .map(|&(j, value)| {
                    let k_j = chosen.binary_search(&(j as u32)).unwrap();
                    let earlier = k_j / BLOCK == k / BLOCK && k_j < k;
                    (k_j as u32, if earlier { (j * 7 + i as usize) as f64 } else { value })
                })
                .collect();
            let mut found: Vec<(u32, f64)> =
                rows_of_part[k].iter().map(|&(j, value)| (j as u32, value)).collect();
            found.sort_by_key(|entry| entry.0);
            let mut expected = expected;
            expected.sort_by_key(|entry| entry.0);
            assert_eq!(found, expected);
        }
        near.subtract_points(&panels, &Numbers, rule);
        for near in [near, Near::corrections(&assembly, &Numbers, rule).unwrap()] {
            for (i, row) in all_rows(&near).into_iter().enumerate() {
                for (j, value) in row {
                    assert_eq!(value, (i * 7 + j) as f64 - (i as f64 - (3 * j) as f64));
                }
            }
        }
    }
}

/// What is not in the near field is as good as the selection promises, and what it holds is
/// mostly needed.
#[test]
fn pairs_are_chosen_by_their_error() {
    let resolution = Resolution::Elements(400);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Octahedron, resolution };
    let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
    for mesh in [sphere.build().unwrap(), cube(1.0), cube(300.0)] {
        let panels = panels(&mesh);
        let quadrature = PairQuadrature::new(1e-9, 0);
        let integrals = LayerPairs::new(&panels, &[RowKind::Single], quadrature);
        let rules = [Rule::of_degree(2), Rule::of_degree(4)];
        for error in [1e-4, 1e-5] {
            let selection = Selection { diameters: 10.0, rules, error };
            let (mut missed, mut kept, mut needed) = (0.0f64, 0, 0);
            for i in 0..panels.len() {
                for j in 0..i {
                    let [exact, _] = integrals.exact(i, j, &mut Default::default());
                    let [by_points, _] = integrals.by_points([rules[0]; 2], i, j);
                    let size = (panels.areas()[i] * panels.areas()[j]).sqrt();
                    let true_error = (exact - by_points).abs() * size;
                    needed += usize::from(true_error > error);
                    let mut scratch = Default::default();
                    if keeps(&selection, &panels, &integrals, [i, j], &mut scratch).is_some() {
                        kept += 1;
                    } else {
                        missed = missed.max(true_error);
                    }
                }
            }
            // The finer rule has an error too.
            assert!(missed < 2.0 * error, "{missed:.1e} for {error:.1e}");
            assert!(kept < 2 * needed, "{kept} kept, {needed} needed");
        }
    }
}
