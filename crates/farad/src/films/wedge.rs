//! How fields grow toward an edge: as r^(exponent - 1) (docs/math.md, "Films").

use std::f64::consts::TAU;

/// Exponents are looked for in steps of this, up to [`LARGEST`], and then to [`EXACT`].
const STEP: f64 = 0.01;
const LARGEST: f64 = 12.0;
const EXACT: f64 = 1e-12;

/// Exponent of the potential, r^exponent, in the wedges of media between two faces of metal that
/// meet at an edge: angles in radian, from face to face, each with its permittivity. The least one
/// above 0 (J. Meixner, IEEE Trans. Antennas Propag. 20 (1972) 442).
pub(super) fn exponent(wedges: &[(f64, f64)]) -> f64 {
    // Potential and flux at the other face, 0 and 1 at the first one.
    let at_end = |exponent: f64| {
        let mut state = (0.0, 1.0);
        for (angle, permittivity) in wedges {
            let (sin, cos) = (exponent * angle).sin_cos();
            let (u, flux) = state;
            state = (u * cos + flux / permittivity * sin, flux * cos - permittivity * u * sin);
        }
        state.0
    };
    let mut low = 1e-3;
    let is_positive = at_end(low) > 0.0;
    while low < LARGEST {
        let high = low + STEP;
        if (at_end(high) > 0.0) == is_positive {
            low = high;
            continue;
        }
        let mut between = [low, high];
        while between[1] - between[0] > EXACT {
            let middle = 0.5 * (between[0] + between[1]);
            between[usize::from((at_end(middle) > 0.0) != is_positive)] = middle;
        }
        return between[0];
    }
    LARGEST
}

/// A face at an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Face {
    /// Angle around the edge, counted from the first face into the medium there.
    pub(super) angle: f64,
    pub(super) is_metal: bool,
    /// What is behind it.
    pub(super) permittivity: f64,
}

/// The exponent at an edge of a first face, at angle 0 with this permittivity in front of it, which
/// all others follow. Without another face of metal the first is met again from behind.
pub(super) fn around(permittivity: f64, mut faces: Vec<Face>) -> f64 {
    faces.retain(|face| face.angle > 0.0 && face.angle < TAU);
    faces.sort_by(|a, b| a.angle.total_cmp(&b.angle));
    let (mut wedges, mut at, mut inside) = (Vec::new(), 0.0, permittivity);
    for face in &faces {
        wedges.push((face.angle - at, inside));
        (at, inside) = (face.angle, face.permittivity);
        if face.is_metal {
            return exponent(&wedges);
        }
    }
    wedges.push((TAU - at, inside));
    exponent(&wedges)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

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
}
