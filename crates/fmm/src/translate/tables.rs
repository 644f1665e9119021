//! Translation vectors and their matrices, shared where vectors share an angle or a length.

use crate::coaxial::Coaxial;
use crate::kept::KeptCoefficients;
use crate::rotation::{Azimuth, Polar};
use crate::simd::Real;

/// One translation vector, resolved to its matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Translation<'a, T> {
    pub(super) azimuth: &'a Azimuth<T>,
    pub(super) polar: &'a Polar<T>,
    pub(super) coaxial: &'a Coaxial<T>,
    /// Truncation number of the expansions that are read.
    pub(super) order_in: usize,
    /// Truncation number of the expansions that are added to.
    pub(super) order_out: usize,
    /// Which coefficients of the rotated frame take part; none: all do.
    pub(super) reach: Option<&'a KeptCoefficients>,
}

impl<T> Translation<'_, T> {
    /// Orders that take part at degree `n` of the rotated frame.
    #[inline(always)]
    pub(super) fn orders(&self, n: usize) -> usize {
        self.reach.map_or(n + 1, |reach| reach.orders(n))
    }

    /// First degree that takes no part at order `m`.
    #[inline(always)]
    pub(super) fn degrees(&self, m: usize) -> usize {
        self.reach.map_or(usize::MAX, |reach| reach.degrees(m))
    }
}

/// The matrices of every translation vector that a plan uses.
#[derive(Debug)]
pub(crate) struct Tables<T> {
    azimuths: Vec<Azimuth<T>>,
    polars: Vec<Polar<T>>,
    coaxials: Vec<Coaxial<T>>,
    vectors: Vec<Indices>,
    /// For each truncation number of M2L.
    reaches: Vec<KeptCoefficients>,
}

/// Where the matrices of a vector are.
#[derive(Clone, Copy, Debug)]
struct Indices {
    azimuth: u32,
    polar: u32,
    coaxial: u32,
    is_m2l: bool,
}

/// What kind of coaxial translation a vector needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The child's centre seen from its parent's, multipoles.
    M2m,
    /// Source to target; levels of both.
    M2l { finer_target: i8 },
    /// The child's centre seen from its parent's, local expansions.
    L2l,
}

/// A translation vector in half sides of the smaller of its two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Vector {
    pub kind: Kind,
    pub offset: [i32; 3],
}

impl<T: Real> Tables<T> {
    /// The tables of `vectors` for truncation numbers up to `orders[i]`; index i of
    /// [`Self::translation`] is that of `vectors`.
    pub(crate) fn new(vectors: &[(Vector, usize)]) -> Self {
        use rayon::prelude::*;
        use std::collections::BTreeMap;

        let p_max = vectors.iter().map(|v| v.1).max().unwrap_or(1);
        let gradient = crate::harmonics::Gradient::<f64>::new(p_max + 1);
        // Highest truncation number for each distinct azimuth, polar angle and coaxial translation.
        let mut azimuths = BTreeMap::<[i64; 2], usize>::new();
        let mut polars = BTreeMap::<[i64; 2], usize>::new();
        let mut coaxials = BTreeMap::<(Kind, i64), usize>::new();
        let keys: Vec<_> = vectors
            .iter()
            .map(|&(vector, p)| {
                let [x, y, z] = vector.offset.map(i64::from);
                let (rho2, r2) = (x * x + y * y, x * x + y * y + z * z);
                let divisor = gcd(x, y).max(1);
                let azimuth = [x / divisor, y / divisor];
                let divisor = gcd(z * z, r2).max(1);
                let polar = [z.signum() * z * z / divisor, r2 / divisor];
                let coaxial = (vector.kind, r2);
                let raise = |entry: &mut usize| *entry = (*entry).max(p);
                raise(azimuths.entry(azimuth).or_default());
                raise(polars.entry(polar).or_default());
                raise(coaxials.entry(coaxial).or_default());
                debug_assert!(rho2 <= r2);
                (azimuth, polar, coaxial)
            })
            .collect();
        fn index<K: Ord>(map: &BTreeMap<K, usize>) -> BTreeMap<&K, u32> {
            map.keys().enumerate().map(|(i, k)| (k, i as u32)).collect()
        }
        let (of_azimuth, of_polar, of_coaxial) =
            (index(&azimuths), index(&polars), index(&coaxials));
        let vectors = keys
            .iter()
            .map(|(azimuth, polar, coaxial)| Indices {
                azimuth: of_azimuth[azimuth],
                polar: of_polar[polar],
                coaxial: of_coaxial[coaxial],
                is_m2l: matches!(coaxial.0, Kind::M2l { .. }),
            })
            .collect();
        let azimuths =
            azimuths.iter().map(|(&[x, y], &p)| Azimuth::new(p, x as f64, y as f64)).collect();
        let polars: Vec<_> = polars.iter().collect();
        let polars = polars
            .into_par_iter()
            .map(|(&[z2, r2], &p)| {
                let cos2 = z2.unsigned_abs() as f64 / r2 as f64;
                let cos = cos2.sqrt() * z2.signum() as f64;
                Polar::new(p, cos, (1.0 - cos2).max(0.0).sqrt(), &gradient)
            })
            .collect();
        let coaxials: Vec<_> = coaxials.iter().collect();
        let coaxials = coaxials
            .into_par_iter()
            .map(|(&(kind, r2), &p)| {
                let distance = 0.5 * (r2 as f64).sqrt();
                match kind {
                    // The child is the smaller box: in units of the parent half of that.
                    Kind::M2m => Coaxial::m2m(p, 0.5 * distance),
                    Kind::L2l => Coaxial::l2l(p, 0.5 * distance),
                    Kind::M2l { finer_target } => {
                        let ratio = f64::from(finer_target).exp2();
                        let (source, target) =
                            if finer_target >= 0 { (ratio, 1.0) } else { (1.0, 1.0 / ratio) };
                        Coaxial::m2l(p, source, target, distance)
                    }
                }
            })
            .collect();
        let reaches = (0..=p_max).map(KeptCoefficients::new).collect();
        Self { azimuths, polars, coaxials, vectors, reaches }
    }

    /// The translation by vector `index`.
    #[inline]
    pub(crate) fn translation(
        &self,
        index: usize,
        order_in: usize,
        order_out: usize,
    ) -> Translation<'_, T> {
        let Indices { azimuth, polar, coaxial, is_m2l } = self.vectors[index];
        Translation {
            azimuth: &self.azimuths[azimuth as usize],
            polar: &self.polars[polar as usize],
            coaxial: &self.coaxials[coaxial as usize],
            order_in,
            order_out,
            reach: is_m2l.then(|| &self.reaches[order_in.max(order_out)]),
        }
    }
}

/// Greatest common divisor, not negative.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
