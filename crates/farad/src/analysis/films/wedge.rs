//! How fields grow toward an edge: as r^(exponent - 1) (docs/math.md, "Films").

use std::f64::consts::TAU;

/// Exponents are looked for in steps of this, up to [`LARGEST`], and then to [`EXACT`].
const STEP: f64 = 0.01;
const LARGEST: f64 = 12.0;
const EXACT: f64 = 1e-12;

/// Exponent of the potential, r^exponent, in the wedges of media between two faces of metal that
/// meet at an edge: angles in radian, from face to face, each with its permittivity. The least one
/// above 0 (J. Meixner, IEEE Trans. Antennas Propag. 20 (1972) 442).
pub fn exponent(wedges: &[(f64, f64)]) -> f64 {
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
pub struct Face {
    /// Angle around the edge, counted from the first face into the medium there.
    pub angle: f64,
    /// Whether it is one of metal.
    pub is_metal: bool,
    /// Permittivity behind it.
    pub permittivity: f64,
}

/// The exponent at an edge of a first face, at angle 0 with this permittivity in front of it, which
/// all others follow. Without another face of metal the first is met again from behind.
pub fn around(permittivity: f64, mut faces: Vec<Face>) -> f64 {
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
