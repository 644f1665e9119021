//! Which coefficients of a rotated frame a coaxial M2L can do without (docs/math.md,
//! "Translations").
//!
//! Between degrees n and n' a coaxial M2L weakens with the order: against m = 0 by
//! `sqrt((n!)^2 / ((n-m)! (n+m)!))`, about `exp(-m^2 / 2n)`, and by as much for n'. Terms of high
//! order are therefore far smaller than those of low order and degree p that truncation leaves out
//! anyway. The frame keeps degrees up to `p - m^2 / p` of order m, and rotation, translation and
//! rotation back work on no others: two thirds of the multiply-adds.

/// The coefficients kept for one truncation number.
#[derive(Clone, Debug)]
pub(crate) struct KeptCoefficients {
    /// For each order m the first degree that is left out.
    degrees: Vec<u8>,
    /// For each degree the number of orders that are kept, from m = 0 on.
    orders: Vec<u8>,
}

impl KeptCoefficients {
    /// For truncation number `p`, less than 256.
    pub(crate) fn new(p: usize) -> Self {
        let degrees: Vec<u8> =
            (0..p).map(|m| (0..p).filter(|n| n * p + m * m <= p * p).count() as u8).collect();
        let orders = (0..p)
            .map(|n| (0..=n).filter(|&m| usize::from(degrees[m]) > n).count() as u8)
            .collect();
        Self { degrees, orders }
    }

    /// First degree that is left out at order `m`; at most m if that is all of them.
    #[inline(always)]
    pub(crate) fn degrees(&self, m: usize) -> usize {
        usize::from(self.degrees[m])
    }

    /// Number of orders kept at degree `n`, at least 1.
    #[inline(always)]
    pub(crate) fn orders(&self, n: usize) -> usize {
        usize::from(self.orders[n])
    }
}
