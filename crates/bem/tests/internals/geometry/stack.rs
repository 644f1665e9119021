//! Images of layers against series, integrals over wave numbers, and each other.

use bem::{Beyond, LayerImage, Stack, StackLayer};

/// sum w / |x - image| of a unit charge at height `from`, seen at `to` and `across` from it.
fn potential(images: &[LayerImage], from: f64, to: f64, across: f64) -> f64 {
    let of = |image: &LayerImage| {
        let z = image.of([0.0, 0.0, from])[2];
        image.weight / (across * across + (to - z).powi(2)).sqrt()
    };
    1.0 / (across * across + (to - from).powi(2)).sqrt() + images.iter().map(of).sum::<f64>()
}

fn stack(below: Beyond, layers: &[(f64, f64)], above: Beyond, tolerance: f64) -> Stack {
    let layer = |&(thickness, permittivity): &(f64, f64)| StackLayer { thickness, permittivity };
    let layers = layers.iter().map(layer).collect();
    Stack::default().below(below).layers(layers).above(above).tolerance(tolerance)
}

const AIR: Beyond = Beyond::Dielectric(1.0);

#[test]
fn a_half_space_and_a_ground_have_one_image() {
    for (below, weight) in [(Beyond::Dielectric(11.7), -10.7 / 12.7), (Beyond::Ground, -1.0)] {
        let stack = stack(below, &[], AIR, 1e-9).at(0.5);
        assert_eq!(stack.region(0.5, 2.0, 0.0), Some(1));
        let found = stack.images(1, 3.0).unwrap();
        let expected = LayerImage { axis: 2, is_mirrored: true, shift: 1.0, weight };
        assert_eq!(found, [expected]);
    }
    let stack = stack(Beyond::Dielectric(4.0), &[], AIR, 1e-9);
    assert_eq!(stack.region(-1.0, 0.0, 0.0), Some(0));
    assert_eq!(stack.region(-1.0, 0.1, 0.0), None);
    assert_eq!(stack.images(0, 3.0).unwrap()[0].weight, 3.0 / 5.0);
}

/// A charge above a slab on a ground, by the series of its images (exact): r, then
/// -(1 - r^2) (-r)^(n-1) at 2 n h.
#[test]
fn a_grounded_slab_is_that_of_the_series() {
    for (thickness, eps) in [(1.0, 4.0), (0.05, 11.7), (20.0, 2.2)] {
        let r = (1.0 - eps) / (1.0 + eps);
        for tolerance in [1e-4, 1e-6, 1e-8] {
            let stack = stack(Beyond::Ground, &[(thickness, eps)], AIR, tolerance);
            let size = 5.0;
            let images = stack.images(2, size).unwrap();
            assert!(images.len() < 46, "{}", images.len());
            for (from, to, across) in [
                (thickness, thickness, 0.01),
                (thickness + 0.3, thickness, 1.0),
                (thickness, thickness + 2.0, 5.0),
            ] {
                let (from_low, to_low) = (from - thickness, to - thickness);
                let at = |z: f64| 1.0 / (across * across + z * z).sqrt();
                let mut exact = at(to - from) + r * at(to_low + from_low);
                // Reflection from the slab, R = (r - x)/(1 - r x), x = exp(-2 k h).
                let mut factor = -(1.0 - r * r);
                for n in 1..200_000 {
                    exact += factor * at(to_low + from_low + 2.0 * thickness * f64::from(n));
                    factor *= r;
                    if factor.abs() < 1e-14 {
                        break;
                    }
                }
                let found = potential(&images, from, to, across);
                let away = across.hypot(to - from).min(size);
                let error = (found - exact).abs() * away;
                assert!(error < tolerance, "{thickness} {eps} {tolerance}: {error:e}");
            }
        }
    }
}

/// Thin layers and those of much higher or lower permittivity than what is around them, by the
/// integral over k of what they reflect straight back.
#[test]
fn thin_layers_and_strong_contrasts_have_images_too() {
    let silicon = Beyond::Dielectric(11.7);
    let stacks = [
        stack(AIR, &[(1.0, 1e4)], AIR, 1e-6),
        stack(Beyond::Ground, &[(1.0, 1e-3)], AIR, 1e-6),
        stack(AIR, &[(1.0, 1e-3)], AIR, 1e-6),
        stack(AIR, &[(1e-4, 10.0)], AIR, 1e-6),
        stack(Beyond::Ground, &[(500.0, 11.7), (1e-3, 3.9)], AIR, 1e-6),
        stack(silicon, &[(1e-6, 3.9)], AIR, 1e-6),
        stack(AIR, &[(0.3, 700.0), (2.0, 0.01), (0.01, 50.0), (1.0, 3.0)], silicon, 1e-6),
    ];
    for stack in stacks {
        let region = stack.layers.len() + 1;
        let images = stack.images(region, 2.0).unwrap();
        let Some(own) = stack.permittivity(region) else { panic!() };
        let below = stack.seen(region, false);
        for height in [1e-3f64, 0.1, 2.0] {
            // By Simpson's rule in ln k.
            let step = 1e-3;
            let (low, high) = ((1e-12f64).ln(), (60.0 / height).ln());
            let count = 2 * (0.5 * (high - low) / step) as usize;
            let step = (high - low) / count as f64;
            let term = |i: usize| {
                let k = (low + step * i as f64).exp();
                k * below.reflect(own, k) * (-k * height).exp()
            };
            let factor = |i: usize| match i {
                0 => 1.0,
                i if i == count => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let exact: f64 = (0..=count).map(|i| factor(i) * term(i)).sum::<f64>() * step / 3.0;
            let of = |image: &LayerImage| {
                let z = image.of([0.0, 0.0, stack.top() + 0.5 * height])[2];
                image.weight / (stack.top() + 0.5 * height - z)
            };
            let found: f64 = images.iter().map(of).sum();
            let error = (found - exact).abs() * height;
            let tolerance = stack.tolerance;
            assert!(error < tolerance, "{stack:?} {height}: {error:e}, {} images", images.len());
        }
    }
}

/// Potentials between grounds, by their series of images.
#[test]
fn between_grounds_images_are_those_of_the_series() {
    let stack = stack(Beyond::Ground, &[(1.0, 3.0)], Beyond::Ground, 1e-4);
    assert_eq!(stack.region(0.2, 0.9, 0.0), Some(1));
    let images = stack.images(1, 4.0).unwrap();
    for (from, to, across) in [(0.5, 0.5, 0.3), (0.2, 0.9, 1.0), (0.6, 0.4, 2.0)] {
        let at = |z: f64| 1.0 / (across * across + z * z).sqrt();
        let mut exact = at(to - from) - at(to + from);
        for n in 1..200_000 {
            let z = 2.0 * f64::from(n);
            exact += at(to - from + z) + at(to - from - z) - at(to + from + z) - at(to + from - z);
        }
        let found = potential(&images, from, to, across);
        assert!((found - exact).abs() * 4.0 < 3e-4, "{found} {exact}");
    }
}

/// An interface between equal media, layers of the same medium, and a layer that is cut in two
/// change nothing.
#[test]
fn what_is_one_medium_is_seen_as_one() {
    let same = stack(Beyond::Dielectric(2.0), &[(1.0, 2.0)], Beyond::Dielectric(2.0), 1e-9);
    for region in 0..3 {
        assert_eq!(same.images(region, 1.0).unwrap(), []);
    }
    let whole = stack(Beyond::Dielectric(11.7), &[(0.7, 3.9)], AIR, 1e-7);
    let cut = stack(Beyond::Dielectric(11.7), &[(0.3, 3.9), (0.4, 3.9)], AIR, 1e-7);
    let [whole, cut] = [whole.images(2, 2.0).unwrap(), cut.images(3, 2.0).unwrap()];
    for (from, to, across) in [(0.7, 0.7, 0.1), (0.8, 1.5, 2.0)] {
        let (a, b) = (potential(&whole, from, to, across), potential(&cut, from, to, across));
        assert!((a - b).abs() < 1e-7, "{a} {b}");
    }
}

/// 50 nm of nitride on 12 um of oxide on silicon: images of a thin layer next to a thick one
/// are as exact, and what a layer of the same permittivity cut in two does shows it.
#[test]
fn thin_layers_next_to_thick_ones_have_images() {
    for tolerance in [1e-4, 1e-6, 1e-7] {
        let silicon = Beyond::Dielectric(11.7);
        let whole = stack(silicon, &[(12.0, 3.9), (0.05, 7.5)], AIR, tolerance);
        let cut =
            stack(silicon, &[(5.0, 3.9), (7.0, 3.9), (0.02, 7.5), (0.03, 7.5)], AIR, tolerance);
        let [whole, cut] = [whole.images(3, 40.0).unwrap(), cut.images(5, 40.0).unwrap()];
        for (from, to, across) in [(12.05, 12.05, 0.1), (12.05, 12.5, 3.0), (13.0, 14.0, 40.0)] {
            let (a, b) = (potential(&whole, from, to, across), potential(&cut, from, to, across));
            let away = across.hypot(to - from).min(40.0);
            assert!((a - b).abs() * away < 2.0 * tolerance, "{tolerance}: {a} {b}");
        }
    }
}

/// What images in all regions make is one potential: 0 on grounds, continuous across
/// interfaces, eps times its slope too.
#[test]
fn potentials_in_all_regions_are_one() {
    let grounded = Beyond::Ground;
    let silicon = Beyond::Dielectric(11.7);
    let layers = [(1.0, 3.9), (0.4, 7.5), (0.8, 2.7)];
    for (below, layers, above) in [
        (silicon, &layers[..0], AIR),
        (silicon, &layers[..1], AIR),
        (grounded, &layers[..2], AIR),
        (silicon, &layers[..], AIR),
        (grounded, &layers[..], grounded),
    ] {
        let tolerance = 1e-6;
        let stack = stack(below, layers, above, tolerance);
        let size = 3.0;
        let regions: Vec<usize> =
            (0..layers.len() + 2).filter(|&k| stack.permittivity(k).is_some()).collect();
        let middle = |region: usize| {
            let [low, high] = stack.bounds(region);
            match (low.is_finite(), high.is_finite()) {
                (true, true) => 0.3 * low + 0.7 * high,
                (true, false) => low + 0.3,
                _ => high - 0.3,
            }
        };
        // Of a charge, in units of what it makes in vacuum.
        let images = |from: usize, to: usize| -> Vec<LayerImage> {
            if from == to {
                let itself = LayerImage { axis: 2, is_mirrored: false, shift: 0.0, weight: 1.0 };
                let own = stack.images(from, size).unwrap();
                return std::iter::once(itself).chain(own).collect();
            }
            let upward = stack.images_above([from.min(to), from.max(to)], size).unwrap();
            if from < to { upward } else { upward.iter().map(LayerImage::back).collect() }
        };
        for &from in &regions {
            let z = middle(from);
            for across in [0.05, 0.7, 2.5] {
                let at = |to: usize, height: f64| -> [f64; 2] {
                    let eps = stack.permittivity(from.min(to)).unwrap();
                    let of = |image: &LayerImage| {
                        let [_, _, y] = image.of([0.0, 0.0, z]);
                        let r2: f64 = across * across + (height - y).powi(2);
                        let potential = image.weight / (eps * r2.sqrt());
                        [potential, (y - height) * potential / r2]
                    };
                    images(from, to)
                        .iter()
                        .map(of)
                        .fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
                };
                let own = stack.permittivity(from).unwrap();
                for (below, interface) in stack.interfaces().into_iter().enumerate() {
                    let sides = [below, below + 1]
                        .map(|to| stack.permittivity(to).map(|eps| (at(to, interface), eps)));
                    // Relative to what the charge itself makes there.
                    let away = across.hypot(interface - z).min(size);
                    let scale = own * away;
                    match sides {
                        [Some((a, eps_a)), Some((b, eps_b))] => {
                            let off = (a[0] - b[0]).abs() * scale;
                            assert!(off < 3.0 * tolerance, "{layers:?} {from} {below}: {off:e}");
                            let off = (eps_a * a[1] - eps_b * b[1]).abs() * scale * away;
                            assert!(off < 30.0 * tolerance, "{layers:?} {from} {below}: {off:e}");
                        }
                        [Some((a, _)), None] | [None, Some((a, _))] => {
                            let off = a[0].abs() * scale;
                            assert!(off < 3.0 * tolerance, "{layers:?} {from} {below}: {off:e}");
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Inside a layer: what two charges do to each other does not depend on which is which, and
/// potentials go over continuously into those next to a thin layer's other side.
#[test]
fn inside_a_layer_images_are_symmetric() {
    let stack = stack(Beyond::Dielectric(11.7), &[(0.5, 7.0), (1.0, 2.7), (0.3, 4.0)], AIR, 1e-6);
    let images = stack.images(2, 2.0).unwrap();
    let (a, b) = (potential(&images, 0.6, 1.2, 0.4), potential(&images, 1.2, 0.6, 0.4));
    assert!((a - b).abs() < 1e-12, "{a} {b}");
    for shift in [1.0, 3.0] {
        let is_it = |image: &LayerImage| image.is_mirrored && (image.shift - shift).abs() < 1e-12;
        assert!(images.iter().any(is_it), "{shift}");
    }
}
