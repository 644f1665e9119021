//! What a translation by a vector is made of: a rotation that takes the vector to the z-axis, and a
//! translation along that.

use crate::expansions::coaxial::Coaxial;
use crate::expansions::harmonics::Gradient;
use crate::expansions::rotation::Polar;
use crate::expansions::screened::{self, Screening};
use crate::tree::vectors::{Kind, Vector};
use simd::Real;

/// A translation along z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlongZ {
    /// Level of the boxes that are written.
    level: usize,
    kind: Kind,
    /// Squared length in half sides of the smaller box.
    square: i64,
}

impl Vector {
    fn square(&self) -> i64 {
        self.offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum()
    }

    /// What tells its rotation about y from others: the square of the polar angle's cosine with its
    /// sign, as a reduced fraction.
    pub fn polar(&self) -> [i64; 2] {
        let (z, r2) = (i64::from(self.offset[2]), self.square());
        let divisor = gcd(z * z, r2).max(1);
        [z.signum() * z * z / divisor, r2 / divisor]
    }

    /// Which translation along z it needs, to boxes of `level`.
    pub fn along_z(&self, level: usize) -> AlongZ {
        AlongZ { level, kind: self.kind, square: self.square() }
    }
}

/// Greatest common divisor, not negative.
pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// The rotation about y that takes a vector with such a polar angle to the z-axis.
pub fn rotation<T: Real>(p: usize, [z2, r2]: [i64; 2], gradient: &Gradient<f64>) -> Polar<T> {
    let cos2 = z2.unsigned_abs() as f64 / r2 as f64;
    let cos = cos2.sqrt() * z2.signum() as f64;
    Polar::new(p, cos, (1.0 - cos2).max(0.0).sqrt(), gradient)
}

/// The tables of a translation along z.
pub fn along_z<T: Real>(p: usize, translation: AlongZ, screening: Screening) -> Coaxial<T> {
    let distance = 0.5 * (translation.square as f64).sqrt();
    // kappa times the side of the box that is written.
    let kappa = screening.at(translation.level as u8);
    match translation.kind {
        // The child is the smaller box: in units of the parent half of that.
        Kind::M2m if kappa == 0.0 => Coaxial::m2m(p, 0.5 * distance),
        Kind::M2m => screened::m2m(p, kappa, 0.5 * distance),
        Kind::L2l if kappa == 0.0 => Coaxial::l2l(p, 0.5 * distance),
        Kind::L2l => screened::l2l(p, 2.0 * kappa, 0.5 * distance),
        Kind::M2l { finer_target } => {
            let ratio = f64::from(finer_target).exp2();
            let (source, target) =
                if finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) };
            if kappa == 0.0 {
                Coaxial::m2l(p, source, target, distance)
            } else {
                screened::m2l(p, kappa / target, source, target, distance)
            }
        }
    }
}
