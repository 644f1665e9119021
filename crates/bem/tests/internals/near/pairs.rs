//! Errors that the near field of the adjoint double layer leaves.

use bem::internals::geometry::Panels;
use bem::internals::near::{Accuracy, LayerPairs, PairIntegrals, RowKind, Scratch};
use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

use super::keeps;

/// What the points and the pairs that are integrated leave of the adjoint double layer between
/// functions of unit norm, for constant, linear and random densities.
#[test]
fn errors_of_the_adjoint_are_those_asked_for() {
    let resolution = Resolution::Elements(300);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
    for (name, mesh) in
        [("sphere", sphere.build().unwrap()), ("cube", cube(1.0)), ("graded", cube(30.0))]
    {
        let panels = Panels::of_mesh(&mesh);
        let n = panels.len();
        let kinds = vec![RowKind::Adjoint; n];
        for tolerance in [1e-5, 1e-6] {
            let accuracy = Accuracy::new(tolerance, 0);
            let pairs = LayerPairs::new(&panels, &kinds, accuracy.pairs);
            // Here the pairs of whole rows are integrated.
            let pairs = pairs.with_solid_angles(accuracy.solid_angles_of_rows);
            let reach = accuracy.selection.reach(&panels);
            let mut scratch = Scratch::default();
            let mut kept = 0;
            let densities: Vec<Vec<f64>> = vec![
                vec![1.0; n],
                (0..n).map(|i| panels.centroid(i).x).collect(),
                (0..n).map(|i| (7.3 * i as f64 * i as f64).sin()).collect(),
            ];
            let mut errors = vec![vec![0.0; n]; densities.len()];
            for i in 0..n {
                for j in 0..i {
                    let apart = (panels.centroid(i) - panels.centroid(j)).norm();
                    let near = apart < reach[i].max(reach[j])
                        && keeps(&accuracy.selection, &panels, &pairs, [i, j], &mut scratch)
                            .is_some();
                    if near {
                        kept += 2;
                        continue;
                    }
                    let exact = pairs.exact(i, j, &mut scratch);
                    let points = pairs.by_points([accuracy.rule; 2], i, j);
                    for (error, x) in errors.iter_mut().zip(&densities) {
                        error[i] += (exact[0] - points[0]) * panels.areas()[j] * x[j];
                        error[j] += (exact[1] - points[1]) * panels.areas()[i] * x[i];
                    }
                }
            }
            let norm = |x: &[f64]| -> f64 {
                let squares = x.iter().zip(panels.areas()).map(|(x, a)| a * x * x);
                squares.sum::<f64>().sqrt()
            };
            for (error, x) in errors.iter().zip(&densities) {
                let left = norm(error) / (2.0 * std::f64::consts::PI * norm(x));
                println!("{name} {tolerance}: {left:.1e}, {} a row", kept / n);
                assert!(left < tolerance, "{name} {tolerance}: {left:.1e}");
            }
        }
    }
}
