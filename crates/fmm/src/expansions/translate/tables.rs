//! Translation vectors and their matrices, shared where vectors share an angle or a length.

use crate::expansions::coaxial::Coaxial;
use crate::expansions::kept::KeptCoefficients;
use crate::expansions::rotation::{Azimuth, Polar};
use crate::expansions::screened::Screening;
use crate::tree::vectors::{Kind, Vector};
use simd::Real;

use super::frames::{AlongZ, along_z, gcd, rotation};

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
    /// Added to each coefficient that is read, and taken off again: [`ROUNDED`].
    pub(super) rounded: T,
}

/// In single precision coefficients are read as multiples of 2^-79 of a sum whose largest strength
/// is about 1 and whose root has side 1: what is added and taken off again. Coefficients of high
/// degree seen from afar are smaller, halving a box divides them by 2^n, and processors take a
/// hundred times as long with numbers below 2^-126.
const ROUNDED: f64 = 1.0 / (1u64 << 56) as f64;

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
    /// Which coaxial translation vector i is on scale s, at `s * vectors.len() + i`.
    of_scale: Vec<u32>,
    screening: Screening,
    /// For each truncation number of M2L.
    reaches: Vec<KeptCoefficients>,
}

/// Where the matrices of a vector are.
#[derive(Clone, Copy, Debug)]
struct Indices {
    azimuth: u32,
    polar: u32,
    is_m2l: bool,
}

/// Where a vector is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// Which vector.
    pub vector: usize,
    /// Level of the box that is written.
    pub level: usize,
    /// Largest truncation number of both expansions.
    pub order: usize,
}

impl<T: Real> Tables<T> {
    /// The tables of `vectors` where they are used; index i of [`Self::translation`] is that of
    /// `vectors`.
    pub(crate) fn new(
        vectors: &[Vector],
        uses: impl IntoIterator<Item = Use>,
        screening: Screening,
    ) -> Self {
        use parallel::prelude::*;
        use std::collections::BTreeMap;

        let mut orders = vec![1; vectors.len()];
        let mut scales = BTreeMap::<(usize, usize), usize>::new();
        for Use { vector, level, order } in uses {
            orders[vector] = order.max(orders[vector]);
            let scale = scales.entry((screening.scale(level), vector)).or_default();
            *scale = order.max(*scale);
        }
        let p_max = orders.iter().copied().max().unwrap_or(1);
        let gradient = crate::expansions::harmonics::Gradient::<f64>::new(p_max + 1);
        // Highest truncation number for each distinct azimuth, polar angle and coaxial translation.
        let mut azimuths = BTreeMap::<[i64; 2], usize>::new();
        let mut polars = BTreeMap::<[i64; 2], usize>::new();
        let mut coaxials = BTreeMap::<AlongZ, usize>::new();
        let raise = |entry: &mut usize, p: usize| *entry = (*entry).max(p);
        let keys: Vec<_> = vectors
            .iter()
            .zip(&orders)
            .map(|(vector, &p)| {
                let [x, y, _] = vector.offset.map(i64::from);
                let divisor = gcd(x, y).max(1);
                let azimuth = [x / divisor, y / divisor];
                let polar = vector.polar();
                raise(azimuths.entry(azimuth).or_default(), p);
                raise(polars.entry(polar).or_default(), p);
                (azimuth, polar)
            })
            .collect();
        let coaxial = |scale: usize, vector: usize| vectors[vector].along_z(scale);
        for (&(scale, vector), &p) in &scales {
            raise(coaxials.entry(coaxial(scale, vector)).or_default(), p);
        }
        fn index<K: Ord>(map: &BTreeMap<K, usize>) -> BTreeMap<&K, u32> {
            map.keys().enumerate().map(|(i, k)| (k, i as u32)).collect()
        }
        let (of_azimuth, of_polar, of_coaxial) =
            (index(&azimuths), index(&polars), index(&coaxials));
        let last_scale = scales.keys().map(|key| key.0).max().unwrap_or(0);
        let mut of_scale = vec![0; (last_scale + 1) * vectors.len()];
        for &(scale, vector) in scales.keys() {
            of_scale[scale * vectors.len() + vector] = of_coaxial[&coaxial(scale, vector)];
        }
        let indices = keys
            .iter()
            .zip(vectors)
            .map(|((azimuth, polar), vector)| Indices {
                azimuth: of_azimuth[azimuth],
                polar: of_polar[polar],
                is_m2l: matches!(vector.kind, Kind::M2l { .. }),
            })
            .collect();
        let azimuths =
            azimuths.iter().map(|(&[x, y], &p)| Azimuth::new(p, x as f64, y as f64)).collect();
        let polars: Vec<_> = polars.iter().collect();
        let polars =
            polars.into_par_iter().map(|(&polar, &p)| rotation(p, polar, &gradient)).collect();
        let coaxials: Vec<_> = coaxials.iter().collect();
        let coaxials = coaxials
            .into_par_iter()
            .map(|(&translation, &p)| along_z(p, translation, screening))
            .collect();
        let reaches = (0..=p_max).map(KeptCoefficients::new).collect();
        Self { azimuths, polars, coaxials, vectors: indices, of_scale, screening, reaches }
    }

    /// The translation by vector `index` to a box of `level`.
    #[inline]
    pub(crate) fn translation(
        &self,
        index: usize,
        level: usize,
        order_in: usize,
        order_out: usize,
    ) -> Translation<'_, T> {
        let Indices { azimuth, polar, is_m2l } = self.vectors[index];
        let scale = self.screening.scale(level);
        let coaxial = self.of_scale[scale * self.vectors.len() + index];
        Translation {
            azimuth: &self.azimuths[azimuth as usize],
            polar: &self.polars[polar as usize],
            coaxial: &self.coaxials[coaxial as usize],
            order_in,
            order_out,
            reach: is_m2l.then(|| &self.reaches[order_in.max(order_out)]),
            // Screened sums may be as small as that everywhere.
            rounded: T::of(if T::IS_SINGLE && !self.screening.is_some() { ROUNDED } else { 0.0 }),
        }
    }
}
