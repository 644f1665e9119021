//! Potentials and fields by sums over points against closed forms.

use bem::SurfaceCharge;
use bem::internals::constants::TOLERANCE;
use bem::internals::geometry::Vec3;
use bem::internals::physics::evaluate::{DEGREE, add_point, direct_sums};
use bem::internals::quadrature::Rule;
use mesh::generate::{Cube, Resolution};

/// Targets far from a cube, on it, at quadrature points of its triangles and next to these, by
/// sums of both kinds, against closed forms.
#[test]
fn sums_over_points_with_near_closed_forms_are_closed_forms() {
    let cube = Cube { edge: 1.0, grade: 4.0, resolution: Resolution::Elements(1500) };
    let mesh = cube.build().unwrap();
    let charge: Vec<f64> =
        (0..mesh.triangles.len()).map(|t| 1.0 + (0.7 * t as f64).sin()).collect();
    let even = SurfaceCharge::new(&mesh, &charge);
    let linear = SurfaceCharge::recovered(&mesh, &charge, |_| Some(0));
    let rule = Rule::of_degree(DEGREE);
    let mut targets: Vec<Vec3> = (0..200)
        .map(|k| {
            let angle = f64::from(k);
            Vec3::new(angle.sin(), (1.7 * angle).cos(), (0.3 * angle).sin()) * 2.5
        })
        .collect();
    for i in (0..even.panels().len()).step_by(31) {
        let centroid = even.panels().centroid(i);
        let (point, _) = even.strengths(i, rule).next().unwrap();
        let aside = Vec3::repeat(1e-3 * even.panels().radius(i));
        let above = even.panels().normal(i) * (0.2 * even.panels().radius(i));
        targets.extend([centroid, point, point + aside, centroid + above]);
    }
    let charges = [(Vec3::new(0.1, 0.2, 0.3), 0.4)];
    let places: Vec<[f64; 3]> = targets.iter().map(|&x| x.into()).collect();
    for (surface, is_constant) in [(&even, true), (&linear, false)] {
        for with_gradient in [false, true] {
            let values = surface.by_points(&targets, &charges, with_gradient).unwrap();
            let exact: Vec<[f64; 4]> = targets
                .iter()
                .map(|x| {
                    let mut value = surface.closed_form(x, with_gradient);
                    let (y, q) = &charges[0];
                    add_point(&mut value, x, y, *q, with_gradient);
                    value
                })
                .collect();
            let (mut off, mut size) = ([0.0f64; 2], [0.0f64; 2]);
            for (value, exact) in values.iter().zip(&exact) {
                for k in 0..if with_gradient { 4 } else { 1 } {
                    let of = usize::from(k > 0);
                    off[of] = off[of].max((value[k] - exact[k]).abs());
                    size[of] = size[of].max(exact[k].abs());
                }
            }
            println!("gradient {with_gradient}: off by {off:?} of {size:?}");
            // The rule's error where triangles are no longer near, 1e-5 of what one of 1,500
            // contributes: 3e-9 to 9e-9 when this was written.
            assert!(off[0] < 2e-8 * size[0], "{off:?} {size:?}");
            // Closed forms round off the edges of triangles at any distance, points do not:
            // 2e-4 of the field.
            let rounded = if is_constant { 2e-8 } else { 5e-4 };
            assert!(off[1] <= rounded * size[1], "{off:?} {size:?}");
        }
    }
    // Fast and direct sums over the same points, at the targets that are far from them.
    let places = &places[..200];
    let on_panels = (0..even.panels().len()).flat_map(|i| even.strengths(i, rule));
    let (sources, strengths): (Vec<[f64; 3]>, Vec<f64>) =
        on_panels.map(|(y, q)| (<[f64; 3]>::from(y), q)).unzip();
    let direct = direct_sums(&sources, &strengths, places, true);
    let fast = even.fast_sums(&sources, &strengths, places, true).unwrap();
    for (fast, direct) in [(fast.0, direct.0), (fast.1, direct.1)] {
        let error: f64 = fast.iter().zip(&direct).map(|(a, b)| (a - b).powi(2)).sum();
        let size: f64 = direct.iter().map(|b| b * b).sum();
        let relative = (error / size).sqrt();
        assert!(relative < TOLERANCE, "{relative:e}");
    }
}
