//! Rules for pairs of panels that touch.

use bem::internals::integrals::{Contact, PairNodes};

/// Polynomials on both triangles are integrated, and points stay in them.
#[test]
fn rules_are_exact_for_polynomials() {
    for contact in [Contact::Same, Contact::Edge, Contact::Vertex, Contact::Apart] {
        let nodes = PairNodes::of(contact, 4);
        let [[s, t], [u, v]] = &nodes.parameters;
        let mut sums = [0.0; 3];
        for (k, w) in nodes.weights.iter().enumerate() {
            for (s, t) in [(s[k], t[k]), (u[k], v[k])] {
                assert!(s >= 0.0 && t >= 0.0 && s + t <= 1.0 + 1e-15);
            }
            sums[0] += w;
            sums[1] += w * s[k] * v[k];
            sums[2] += w * t[k] * t[k] * u[k];
        }
        // Means of s, t are 1/3, those of their squares 1/6.
        for (sum, exact) in sums.iter().zip([1.0, 1.0 / 9.0, 1.0 / 18.0]) {
            assert!((sum - exact).abs() < 1e-13, "{contact:?}: {sums:?}");
        }
    }
}
