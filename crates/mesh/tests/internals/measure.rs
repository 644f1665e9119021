use mesh::generate::{Resolution, Sphere, SphereBase};
use mesh::internals::measure::samples;
use mesh::patch::MAX_ORDER;
use mesh::quality::areas;
use mesh::topology::Topology;
use mesh::vector::{norm, sub};
use mesh::{Patches, curved, patch};

#[test]
fn centres_of_area_are_those_of_finer_triangles() {
    let resolution = Resolution::Elements(32);
    let sphere = Sphere { radius: 2.0, base: SphereBase::Octahedron, resolution };
    let mesh = sphere.build_curved(2).unwrap();
    let mut fine = mesh.clone();
    for _ in 0..4 {
        fine = mesh::refine::uniform(&fine, |_, x| x).unwrap();
    }
    fine.patches = None;
    let (of_fine, children) = (areas(&fine), 256);
    for t in 0..mesh.triangles.len() {
        let (mut sum, mut total) = ([0.0; 3], 0.0);
        for child in children * t..children * (t + 1) {
            let x = fine.centre_of_area(child);
            (0..3).for_each(|i| sum[i] += of_fine[child] * x[i]);
            total += of_fine[child];
        }
        let found = mesh.centre_of_area(t);
        assert!(norm(sub(found, sum.map(|s| s / total))) < 1e-3, "{found:?} {sum:?} {total}");
    }
}

#[test]
fn the_rule_integrates_powers_on_the_triangle() {
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    for order in 1..=MAX_ORDER {
        for a in 0..=6 {
            for b in 0..=4 {
                let places = patch::node_places(order);
                let found: f64 = samples(order)
                    .iter()
                    .map(|sample| {
                        let at = |m: usize| {
                            let terms = sample.shapes.iter().zip(&places);
                            terms.map(|(s, p)| s[0] * p[m] as f64).sum::<f64>() / order as f64
                        };
                        sample.weight * at(1).powi(a as i32) * at(2).powi(b as i32)
                    })
                    .sum();
                let exact = factorial(a) * factorial(b) / factorial(a + b + 2);
                assert!((found - exact).abs() < 1e-14, "{a} {b}");
            }
        }
    }
}

/// Nodes on the sphere: area and volume converge with order p + 1, or p + 2 where p is even.
#[test]
fn spheres_converge() {
    for (order, expected) in [(2, 4.0), (3, 4.0), (4, 6.0)] {
        let errors = [8 * 9, 8 * 36].map(|elements| {
            let resolution = Resolution::Elements(elements);
            let base = SphereBase::Octahedron;
            let mut mesh = Sphere { radius: 1.0, base, resolution }.build().unwrap();
            assert_eq!(mesh.triangles.len(), elements);
            let mut patches = Patches::straight(&mesh, order);
            let flat: f64 = areas(&mesh).iter().sum();
            mesh.patches = Some(patches.clone());
            assert!((areas(&mesh).iter().sum::<f64>() - flat).abs() < 1e-13);
            for t in 0..elements {
                for x in &mut patches.of_mut(t)[3..] {
                    *x = x.map(|c| c / norm(*x));
                }
            }
            mesh.patches = Some(patches);
            assert!(curved::folds(&mesh).is_empty());
            let pi = std::f64::consts::PI;
            let area = areas(&mesh).iter().sum::<f64>() / (4.0 * pi) - 1.0;
            let volume = Topology::of(&mesh).whole.signed_volume / (4.0 / 3.0 * pi) - 1.0;
            [area.abs(), volume.abs()]
        });
        for k in 0..2 {
            let rate = (errors[0][k] / errors[1][k]).log2();
            assert!(rate > expected - 0.3, "order {order}: {rate} {errors:?}");
        }
    }
}
