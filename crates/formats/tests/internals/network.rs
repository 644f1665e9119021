use formats::network::{Network, inverse, symmetric};

#[test]
fn small_couplings_go_to_ground() {
    let maxwell = [
        vec![10.0, -4.0, -0.0625, 0.0],
        vec![-4.0, 8.0, -1.0, -0.25],
        vec![-0.0625, -1.0, 2.0, 0.125],
        vec![0.0, -0.25, 0.125, 16.0],
    ];
    let all = Network::new(&maxwell, 0.0);
    let expected = vec![(0, 1, 4.0), (0, 2, 0.0625), (1, 2, 1.0), (1, 3, 0.25), (2, 3, -0.125)];
    assert_eq!((all.couplings, all.neglected, all.largest_share), (expected, 0, 0.0));
    let sums: Vec<f64> = maxwell.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(all.to_ground, sums);

    // 0.05 of 2, 2 and 8: one coupling is large enough only for the second of its nets.
    let network = Network::new(&maxwell, 0.05);
    assert_eq!(network.couplings, [(0, 1, 4.0), (1, 2, 1.0), (2, 3, -0.125)]);
    assert_eq!(network.neglected, 2);
    assert_eq!(network.largest_share, 0.0625 / 2.0);
    for (i, row) in maxwell.iter().enumerate() {
        let of_net = |&(a, b, c): &(usize, usize, f64)| if a == i || b == i { c } else { 0.0 };
        let total: f64 = network.couplings.iter().map(of_net).sum();
        assert_eq!(network.to_ground[i] + total, row[i]);
    }
}

#[test]
fn inverses_and_means() {
    assert_eq!(inverse(&[vec![2.0, 0.0], vec![1.0, 4.0]]).unwrap()[1], [-0.125, 0.25]);
    assert_eq!(inverse(&[vec![0.0]]), None);
    let mean = symmetric(&[vec![1.0, 2.0], vec![3.0, 4.0]]);
    assert_eq!(mean, [vec![1.0, 2.5], vec![2.5, 4.0]]);
}
