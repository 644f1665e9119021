//! Errors that the near field between functions leaves.

use bem::internals::geometry::Panels;
use bem::internals::integrals::WeightedPoints;
use bem::internals::near::{Accuracy, Entry, FunctionPairs, PairIntegrals, RowKind};
use bem::internals::space::{Corners, TestTrial};
use bem::{FunctionSpace, Test};
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

use super::keeps;

/// What points and corrections leave of each layer, relative to the root mean square of the
/// density, for constant, linear and random ones: without a fast sum, in some rows.
#[test]
fn errors_are_those_asked_for() {
    let resolution = Resolution::Elements(320);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
    let tolerance = 1e-5;
    let accuracy = Accuracy::new(tolerance, 1);
    let mut points = WeightedPoints::default();
    for (name, mesh) in
        [("sphere", sphere.build().unwrap()), ("cube", cube(1.0)), ("graded", cube(30.0))]
    {
        let panels = Panels::of_mesh(&mesh);
        let n = panels.len();
        let densities: Vec<Vec<[f64; 3]>> = vec![
            vec![[1.0; 3]; n],
            (0..n).map(|i| panels.vertices(i).map(|v| v.x)).collect(),
            (0..3 * n)
                .map(|i| (7.3 * i as f64 * i as f64).sin())
                .collect::<Vec<_>>()
                .chunks(3)
                .map(|v| [v[0], v[1], v[2]])
                .collect(),
        ];
        for (kind, test) in [
            (RowKind::Single, Test::Means(FunctionSpace::Linear)),
            (RowKind::Double, Test::Means(FunctionSpace::Linear)),
            (RowKind::Adjoint, Test::Centroids),
        ] {
            let of_panels: Vec<[u32; 3]> =
                (0..n as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
            let corners = Corners { of_panels: &of_panels, vertices: 3 * n };
            let functions = TestTrial::new(test, FunctionSpace::Linear, &panels, corners);
            let kinds = &vec![kind; n];
            let pairs = FunctionPairs {
                panels: &panels,
                kinds,
                functions: &functions,
                accuracy: &accuracy,
                kappa: 0.0,
            };
            let (rules, selection) = ([accuracy.rule; 2], accuracy.selection.for_functions());
            let reach = selection.reach(&panels);
            // Squares of errors of means over thirds of panels, so to speak, and of the
            // density.
            let mut squares = vec![[0.0; 2]; densities.len()];
            let mut kept = 0;
            for i in (0..n).step_by(9) {
                let mut errors = vec![[0.0; 3]; densities.len()];
                for j in 0..n {
                    let apart = (panels.centroid(i) - panels.centroid(j)).norm();
                    let near = apart < reach[i].max(reach[j])
                        && keeps(&selection, &panels, &pairs, [i, j], &mut points).is_some();
                    if near {
                        kept += 1;
                        continue;
                    }
                    let [exact, _] = pairs.exact(i, j, &mut points);
                    let left = exact.plus(-1.0, pairs.by_points(rules, i, j)[0]);
                    for (errors, x) in errors.iter_mut().zip(&densities) {
                        for k in 0..3 {
                            errors[k] += (0..3).map(|l| left[k][l] * x[j][l]).sum::<f64>();
                        }
                    }
                }
                let area = panels.areas()[i];
                for ((squares, errors), x) in squares.iter_mut().zip(errors).zip(&densities) {
                    let square = |x: [f64; 3]| area * x.iter().map(|x| x * x).sum::<f64>();
                    squares[0] += square(errors.map(|e| 3.0 * e / area));
                    squares[1] += square(x[i]);
                }
            }
            assert!(kept < n.div_ceil(9) * n * 3 / 4, "nearly all pairs are near");
            for [error, size] in squares {
                let left = (error / size).sqrt() / (2.0 * std::f64::consts::PI);
                println!("{name} {kind:?} {test:?}: {left:.1e}, {} a row", kept / n.div_ceil(9));
                assert!(left > 0.0 && left < tolerance, "{name} {kind:?} {test:?}: {left:.1e}");
            }
        }
    }
}

#[test]
fn sizes_of_blocks_keep_nan() {
    let mut block = [[1.0; 3]; 3];
    block[1][1] = f64::NAN;
    assert!(block.size().is_nan());
}
