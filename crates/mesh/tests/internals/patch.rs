use mesh::patch::{MAX_ORDER, node_count, node_places, shapes};

#[test]
fn polynomials_are_one_at_their_nodes_and_add_up_to_one() {
    for order in 1..=MAX_ORDER {
        let places = node_places(order);
        assert_eq!(places.len(), node_count(order));
        for (n, place) in places.iter().enumerate() {
            assert_eq!(place.iter().sum::<usize>(), order);
            let at = place.map(|i| i as f64 / order as f64);
            for (m, shape) in shapes(order, at).iter().enumerate() {
                let expected = if m == n { 1.0 } else { 0.0 };
                assert!((shape[0] - expected).abs() < 1e-14, "{order}: {m} at {n}");
            }
        }
        let at = [0.21, 0.34, 0.45];
        let sum = |k: usize| shapes(order, at).iter().map(|shape| shape[k]).sum::<f64>();
        assert!((sum(0) - 1.0).abs() < 1e-14 && sum(1).abs() + sum(2).abs() < 1e-13);
        // They reproduce the coordinates, whose derivatives are 1 and 0.
        let of = |k: usize, m: usize| {
            let terms = shapes(order, at).into_iter().zip(&places);
            terms.map(|(shape, place)| shape[k] * place[m] as f64).sum::<f64>() / order as f64
        };
        for (m, slopes) in [(0, [-1.0, -1.0]), (1, [1.0, 0.0]), (2, [0.0, 1.0])] {
            assert!((of(0, m) - at[m]).abs() < 1e-14);
            assert!((of(1, m) - slopes[0]).abs() < 1e-13);
            assert!((of(2, m) - slopes[1]).abs() < 1e-13);
        }
    }
}

#[test]
fn nodes_are_in_the_order_of_gmsh() {
    assert_eq!(node_places(2)[3..], [[1, 1, 0], [0, 1, 1], [1, 0, 1]]);
    assert_eq!(node_places(3)[3..5], [[2, 1, 0], [1, 2, 0]]);
    assert_eq!(node_places(3)[9], [1, 1, 1]);
    assert_eq!(node_places(4)[12..], [[2, 1, 1], [1, 2, 1], [1, 1, 2]]);
}
