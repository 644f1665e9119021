use farad::internals::films::squares::{Piece, nodes};

/// Integrals of powers of the distance from the lower side of a triangle, and from its corner.
#[test]
fn powers_are_integrated_exactly() {
    let corners = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.4, 1.5, 0.0]];
    let piece = Piece { corners, distances: [0.0, 0.0, 1.5] };
    for power in [0.5, 2.0 / 3.0, 1.0, 1.7] {
        let sum: f64 = nodes(&piece, power, 0.0).iter().map(|(w, _)| w).sum();
        let expected = 2.0 * 1.5f64.powf(power) * (1.0 / power - 1.0 / (power + 1.0));
        // Sums are of polynomials for powers of 1/n.
        let error = if [0.5, 1.0].contains(&power) { 1e-9 } else { 5e-4 };
        assert!((sum / expected - 1.0).abs() < error, "{power}: {sum} {expected}");
    }
    let (from, height) = (1e-4, 1.5f64);
    let sum: f64 = nodes(&piece, 0.0, from).iter().map(|(w, _)| w).sum();
    let expected = 2.0 * ((height / from).ln() - (height - from) / height);
    assert!((sum / expected - 1.0).abs() < 1e-3, "{sum} {expected}");
    // The second moment along the edge, at r^0.
    let square: f64 = nodes(&piece, 1.0, 0.0).iter().map(|(w, x)| w * x[0] * x[0]).sum();
    let expected = 1.5 * (4.0 + 0.16 + 2.0 * 0.4) / 6.0;
    assert!((square / expected - 1.0).abs() < 1e-9, "{square} {expected}");
}
