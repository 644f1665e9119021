//! Sums over far images.

use bem::internals::geometry::{FarImages, Image, Vec3, Weights};

/// Sums over images, potentials and gradients, against themselves one by one, in flat and
/// other boxes, with charges and points in either of two regions.
#[test]
fn far_images_are_summed_to_the_tolerance() {
    along_axis(2);
}

/// Images along an axis on which there are many more polynomials.
#[test]
fn far_images_are_summed_along_any_axis() {
    along_axis(0);
}

fn along_axis(axis: usize) {
    let image = |scale: f64, shift: f64, factor: f64| {
        let mut image = Image { scale: [1.0; 3], shift: [0.0; 3], factor };
        (image.scale[axis], image.shift[axis]) = (scale, shift);
        image
    };
    let images = [
        image(1.0, 0.0, 1.0),
        image(-1.0, -0.1, 0.5),
        image(-1.0, -2.0, -0.7),
        image(1.0, 3.0, 0.4),
        image(1.0, -3.0, 0.4),
        image(-1.0, -1e5, 2e4),
    ];
    for (high, tolerance) in
        [([1.0, 0.7, 0.0], 1e-6), ([1.0, 0.7, 0.05], 1e-8), ([1.0, 0.2, 0.3], 1e-4)]
    {
        let high = Vec3::from(high);
        let weight = |g: usize, to: usize, from: usize| {
            let of_pair = [[1.0, 0.0], [-0.7, 0.3]][to][from];
            if g == 2 && to == from { 0.0 } else { of_pair * images[g].factor }
        };
        let weights = Weights { regions: [2, 2], weight: &weight };
        let (near, far) =
            FarImages::apart([-high, high], &images, weights, &|g| g, tolerance).unwrap();
        assert!(near.starts_with(&[0, 1]) && near.len() < images.len(), "{near:?}");
        let point = |i: usize| {
            let at = |k: usize| (0.37 + 1.618 * i as f64 * (k + 1) as f64).sin();
            Vec3::from_fn(|k, _| high[k] * at(k))
        };
        let charges: Vec<(Vec3, f64)> =
            (0..300).map(|i| (point(i), 1.0 / 300.0 * (0.3 * i as f64).cos())).collect();
        let region = |i: usize| i % 2;
        // A second column of charges twice as large, and in two parts.
        let at = |i: usize| (charges[i].0, region(i));
        let mut moments = vec![0.0; 2 * far.moments()];
        for part in [0..7, 7..charges.len()] {
            let places: Vec<_> = part.clone().map(at).collect();
            let own = [1.0, 2.0].iter().flat_map(|factor| part.clone().map(move |i| (factor, i)));
            let own: Vec<f64> = own.map(|(factor, i)| factor * charges[i].1).collect();
            far.add_charges(&places, &own, &mut moments);
        }
        let coefficients = far.coefficients(&moments);
        let targets: Vec<_> = (100..140).map(|i| (point(i), region(i / 3))).collect();
        let potentials = far.potentials(&targets, &coefficients);
        let gradients = far.gradients(&targets, &coefficients);
        let chosen: Vec<usize> = (0..images.len()).filter(|g| !near.contains(g)).collect();
        for (k, &(x, to)) in targets.iter().enumerate() {
            let (mut exact, mut field) = (0.0, Vec3::zeros());
            for (&g, (i, (y, q))) in
                chosen.iter().flat_map(|g| charges.iter().enumerate().map(move |c| (g, c)))
            {
                let (r, q) = (x - images[g].place(y), q * weight(g, to, region(i)));
                exact += q / r.norm();
                field -= r * (q / r.norm().powi(3));
            }
            for (column, factor) in [(0, 1.0), (1, 0.5)] {
                let found = factor * potentials[column * targets.len() + k];
                assert!((found - exact).abs() < tolerance, "{found} {exact}");
                let gradient = factor * gradients[column * targets.len() + k];
                assert!((gradient - field).norm() < 30.0 * tolerance, "{gradient} {field}");
            }
        }
    }
}
