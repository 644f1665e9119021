//! The near field between modes.

use bem::internals::geometry::{Panels, Partition};
use bem::internals::near::{
    Accuracy, LayerPairs, ModeBlock, ModePairs, Near, PairIntegrals, Precision, RowKind,
};
use mesh::generate::{Resolution, Sphere, SphereBase};

use super::assembly;

/// Products are those of the entries; of potentials, whose pairs are stored once, as of fields.
#[test]
fn products_are_those_of_all_blocks() {
    let resolution = Resolution::Elements(500);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let panels = Panels::of_mesh(&sphere.build().unwrap());
    let n = panels.len();
    let accuracy = Accuracy::new(1e-4, 0);
    let selection = accuracy.selection.for_functions();
    let x: Vec<f64> = (0..2 * 3 * n).map(|k| (0.7 * k as f64).sin()).collect();
    for (precision, rounding) in [(Precision::Single, 1e-6), (Precision::Double, 1e-13)] {
        for kind in [RowKind::Single, RowKind::Adjoint] {
            let kinds = [kind];
            let even = LayerPairs::new(&panels, &kinds, accuracy.pairs);
            let integrals = accuracy.integrals();
            let pairs = ModePairs { even: &even, accuracy: &accuracy, integrals };
            let whole = Partition::whole(panels.len());
            let assembly = assembly(&panels, &whole, &selection, precision);
            let near: Near<ModeBlock> = Near::new(&assembly, &pairs).unwrap();
            assert!(near.blocks() > 1);
            let mut expected = vec![1.0; 2 * 3 * n];
            let mut entries = 0;
            for full in (0..near.blocks()).map(|block| near.full_rows(block)) {
                for i in full.rows.clone() {
                    entries += 9 * full.row(i).len();
                    for &(j, block) in full.row(i) {
                        let (j, exact) = (j as usize, exact(&panels, &pairs, i, j as usize));
                        for (m, row) in block.entries().iter().enumerate() {
                            for (l, &entry) in row.iter().enumerate() {
                                assert!((entry - exact.entries()[m][l]).abs() < rounding * 10.0);
                                for k in 0..2 {
                                    let column = 3 * n * k;
                                    expected[column + m * n + i] += entry * x[column + l * n + j];
                                }
                            }
                        }
                    }
                }
            }
            assert_eq!(near.entries(), entries);
            let mut y = vec![1.0; 2 * 3 * n];
            near.multiply_add(&x, &mut y);
            for (y, expected) in y.iter().zip(&expected) {
                assert!((y - expected).abs() < 1e-11, "{kind:?}: {y} for {expected}");
            }
        }
    }
}

fn exact(panels: &Panels, pairs: &ModePairs<'_>, i: usize, j: usize) -> ModeBlock {
    let (first, second) = panels.ordered(i, j);
    let both = pairs.exact(first, second, &mut Default::default());
    both[if first == i { 0 } else { 1 }]
}
