use mesh::curved::{point, reverse};
use mesh::internals::bezier::{Bezier, index};
use mesh::internals::curved::{QUARTERS, side_nodes};
use mesh::patch::{MAX_ORDER, node_count, node_places};
use mesh::vector::{Vector, max_norm, norm, scale, sub};

/// The point at barycentric coordinates, by Bernstein's polynomials.
pub(crate) fn of_control_points(patch: &Bezier, at: [f64; 3]) -> Vector {
    let factorial = |n: usize| -> f64 { (1..=n).map(|k| k as f64).product() };
    let (order, points) = (patch.order(), patch.hull());
    let term = |sum: Vector, [i, j, k]: [usize; 3]| -> Vector {
        let weight = factorial(order) / (factorial(i) * factorial(j) * factorial(k));
        let powers = at[0].powi(i as i32) * at[1].powi(j as i32) * at[2].powi(k as i32);
        let point = points[index(j, k)];
        // What all points share is kept exactly.
        std::array::from_fn(|m| sum[m] + weight * powers * (point[m] - points[0][m]))
    };
    node_places(order).into_iter().fold(points[0], term)
}

/// A patch of random nodes around a flat triangle.
fn random(order: usize, seed: u64) -> Vec<Vector> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let corners = [[1.0, 0.2, 0.3], [2.3, 0.1, 0.4], [1.7, 1.9, -0.3]];
    let mut nodes = mesh::curved::straight(order, corners);
    nodes.iter_mut().flatten().for_each(|x| *x += 0.2 * next());
    nodes
}

fn barycentric(steps: usize) -> impl Iterator<Item = [f64; 3]> {
    let row = move |i: usize| (0..=steps - i).map(move |j| [steps - i - j, i, j]);
    (0..=steps).flat_map(row).map(move |place| place.map(|i| i as f64 / steps as f64))
}

#[test]
fn control_points_make_the_same_surface_within_their_bounds() {
    for order in 1..=MAX_ORDER {
        for seed in 1..20 {
            let nodes = random(order, seed);
            let patch = Bezier::of(order, &nodes);
            let [a, b, c] = patch.corners();
            assert_eq!([a, b, c], [nodes[0], nodes[1], nodes[2]]);
            let (bounds, bulge) = (patch.bounds(), patch.bulge());
            for at in barycentric(7) {
                let x = point(order, &nodes, at);
                assert!(max_norm(sub(x, of_control_points(&patch, at))) < 1e-13, "{order} {at:?}");
                let inside =
                    |i: usize| bounds.low[i] < x[i] + 1e-13 && x[i] < bounds.high[i] + 1e-13;
                assert!((0..3).all(inside));
                let flat: Vector =
                    std::array::from_fn(|i| at[0] * a[i] + at[1] * b[i] + at[2] * c[i]);
                assert!(norm(sub(x, flat)) < bulge + 1e-13);
            }
            for (part, corners) in patch.quarters().iter().zip(QUARTERS) {
                assert!(part.bulge() < bulge || order == 1);
                for at in barycentric(3) {
                    let whole: [f64; 3] =
                        std::array::from_fn(|m| (0..3).map(|k| at[k] * corners[k][m]).sum::<f64>());
                    let off = sub(of_control_points(part, at), point(order, &nodes, whole));
                    assert!(max_norm(off) < 1e-13, "{order} {corners:?}");
                }
            }
        }
    }
}

#[test]
fn a_shared_side_has_the_same_control_points_down_to_its_parts() {
    for order in 2..=MAX_ORDER {
        for seed in 1..20 {
            let nodes = random(order, seed);
            let mut other = random(order, seed + 100);
            // Another patch with the first side of this one, run through the other way.
            let mut turned = nodes.clone();
            reverse(order, &mut turned);
            for (from, to) in side_nodes(order, 2).zip(side_nodes(order, 2)) {
                other[to] = turned[from];
            }
            let mut pair = [Bezier::of(order, &nodes), Bezier::of(order, &other)];
            for _ in 0..5 {
                let forth = pair[0].side(0);
                let mut back = pair[1].side(2);
                back[..=order].reverse();
                assert_eq!(forth, back);
                pair = [pair[0].quarters()[1], pair[1].quarters()[2]];
            }
        }
    }
}

#[test]
fn rises_are_those_of_the_surface() {
    for order in 2..=MAX_ORDER {
        let nodes = random(order, 5);
        let patch = Bezier::of(order, &nodes);
        // At the corners the first and last of them are tangents.
        let rises: Vec<Vector> = patch.rises(0, [0.5, 0.5]).collect();
        assert_eq!(rises.len(), node_count(order - 1));
        let step = 1e-6;
        let at_a = scale(
            1.0 / step,
            sub(point(order, &nodes, [1.0 - 0.5 * step, -0.5 * step, step]), nodes[0]),
        );
        assert!(max_norm(sub(at_a, scale(order as f64, rises[0]))) < 1e-4);
    }
}
