use std::f64::consts::{PI, TAU};

use farad::internals::films::wedge::{Face, around, exponent};

#[test]
fn exponents_of_wedges() {
    let near = |wedges: &[(f64, f64)], expected: f64| {
        let found = exponent(wedges);
        assert!((found - expected).abs() < 1e-9, "{wedges:?}: {found}, not {expected}");
    };
    for angle in [0.5 * PI, PI, 1.5 * PI, TAU] {
        near(&[(angle, 3.0)], PI / angle);
        near(&[(0.3 * angle, 3.0), (0.7 * angle, 3.0)], PI / angle);
    }
    // A sheet in an interface, whatever the media.
    near(&[(PI, 1.0), (PI, 11.7)], 0.5);
    // Metal that stands on a substrate: tan(x/2) / 1 = - tan(x) / eps, x = pi exponent.
    let found = PI * exponent(&[(0.5 * PI, 1.0), (PI, 11.7)]);
    assert!(((0.5 * found).tan() + found.tan() / 11.7).abs() < 1e-6);
    assert!(found / PI > 0.5 && found / PI < 2.0 / 3.0, "{}", found / PI);
}

#[test]
fn faces_are_met_in_turn() {
    let metal = |angle| Face { angle, is_metal: true, permittivity: 9.0 };
    let interface = |angle| Face { angle, is_metal: false, permittivity: 11.7 };
    assert!((around(1.0, vec![]) - 0.5).abs() < 1e-9);
    assert!((around(1.0, vec![metal(1.9 * PI), metal(1.5 * PI)]) - 2.0 / 3.0).abs() < 1e-9);
    let expected = exponent(&[(0.5 * PI, 1.0), (PI, 11.7)]);
    let found = around(1.0, vec![metal(1.5 * PI), interface(0.5 * PI)]);
    assert!((found - expected).abs() < 1e-9);
}
