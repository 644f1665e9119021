use fgt::internals::bandwidths::{Group, Rule, groups, points};

const SPANS: [(Rule, [f64; 2]); 6] = [
    (Rule::Logarithm, [1.0, 1.3]),
    (Rule::Logarithm, [1.0, 2.0]),
    (Rule::Logarithm, [1.0, 4.0]),
    (Rule::Inverse, [0.34, 0.5]),
    (Rule::Inverse, [0.34, 1.0]),
    (Rule::Inverse, [0.34, 1e6]),
];

/// The largest error of Gaussians between `channels` channels, at distances up to 1, or to the end
/// of those that fall off earlier.
fn largest_error(rule: Rule, [smallest, largest]: [f64; 2], count: usize) -> f64 {
    let channels = rule.nodes(smallest, largest, count);
    let group = Group { members: Vec::new(), smallest, largest, channels, rule };
    let farthest = if matches!(rule, Rule::Inverse) { 1.0 } else { 6.0 * largest.sqrt() };
    let [a, b] = [smallest, largest].map(|bandwidth| rule.variable(bandwidth));
    let mut shares = vec![0.0; count];
    let mut worst = 0.0f64;
    for share in (0..=40).map(|i| f64::from(i) / 40.0) {
        let bandwidth = rule.bandwidth(a + share * (b - a));
        group.shares(bandwidth, &mut shares);
        for square in (0..=60).map(|i| (farthest * f64::from(i) / 60.0).powi(2)) {
            let terms = shares.iter().zip(&group.channels).map(|(s, c)| s * (-square / c).exp());
            worst = worst.max((terms.sum::<f64>() - (-square / bandwidth).exp()).abs());
        }
    }
    worst
}

#[test]
fn there_are_as_many_channels_as_interpolation_needs_and_hardly_more() {
    for (rule, span) in SPANS {
        for tolerance in [5e-4, 5e-6, 5e-8, 5e-10, 5e-12] {
            let count = points(rule, span[0], span[1], 1.0, tolerance);
            let error = largest_error(rule, span, count);
            assert!(error <= tolerance, "{rule:?} {span:?} {tolerance:e}: {error:.1e}");
            // Each costs a convolution.
            let fewer = count.saturating_sub(3);
            let error = if fewer < 1 { 1.0 } else { largest_error(rule, span, fewer) };
            assert!(error > tolerance, "{rule:?} {span:?} {tolerance:e}: {fewer} are enough");
        }
    }
}

#[test]
fn bandwidths_no_more_than_interpolation_needs_have_channels_of_their_own() {
    let own: Vec<f64> = (0..10).map(|i| 1.0 + 0.3 * f64::from(i)).collect();
    let many: Vec<f64> = (0..30).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
    let channels = |bandwidths: &[f64]| {
        let twice = [bandwidths, bandwidths].concat();
        let groups = groups(&twice, twice.len(), 100.0, 5e-10);
        assert_eq!(groups.len(), 1);
        groups[0].channels.clone()
    };
    assert_eq!(channels(&own), own);
    assert!((10..30).contains(&channels(&many).len()));
}
