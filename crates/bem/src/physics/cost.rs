//! Cost of a solve, estimated before it starts.

use crate::Error;
use crate::constants::GROUP;
use crate::near::Precision;
use crate::physics::estimate;
use crate::precondition::local_panels::NEIGHBOURS;

/// Whether a dense solve of `n` panels, of `images` each, and `k` excitations is faster than the
/// FMM; with interfaces if `has_gradients`.
///
/// Seconds of two cores, measured at the default tolerance on cubes of 432 to 3,072 panels, alone,
/// over one plane and between three, and on spheres of a dielectric: a pair integral 0.18e-6, one
/// of normal derivatives 0.13e-6, a multiply-add of the factorisation 3e-11; to begin a fast solve
/// 0.06, near field and preconditioner of a panel 30e-6 and of an image 8e-6, a fast sum over its
/// points 4e-6 and about 10 of them, with gradients twice that. They meet near 1,200 panels, 1,000
/// and 500, and 1,100.
pub(crate) fn dense_is_faster(n: usize, images: usize, k: usize, has_gradients: bool) -> bool {
    let (n, images, k) = (n as f64, images as f64, k as f64);
    // Of conductors alone half the pairs, and half the factor.
    let (entry, factor, sum) =
        if has_gradients { (0.13e-6, 1.0 / 3.0, 8e-6) } else { (0.09e-6, 1.0 / 6.0, 4e-6) };
    let dense = n * n * (images * entry + n * factor * 3e-11 + 2e-9 * k);
    let of_panel = 30e-6 + 8e-6 * (images - 1.0) + 10.0 * sum * (1.0 + 0.3 * (k - 1.0));
    dense < 0.06 + n * of_panel
}

/// Contents of a fast solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fast {
    /// Rows, and panels with all images.
    pub(crate) panels: [usize; 2],
    /// Points per panel.
    pub(crate) points: usize,
    /// Entries of the near field; those stored once that count twice are included.
    pub(crate) entries: usize,
    pub(crate) precision: Precision,
    pub(crate) is_symmetric: bool,
    /// Whether the sum has gradients.
    pub(crate) gradient: bool,
    /// Number of excitations.
    pub(crate) columns: usize,
    /// Available bytes; `None` = no limit.
    pub(crate) limit: Option<u64>,
}

impl Fast {
    /// Bytes at the peak: plan, near field, preconditioner and Krylov vectors.
    pub(crate) fn bytes(&self) -> u64 {
        /// Plan, and scratch space of a sum (measured); additional memory of gradients; points that
        /// are only sources.
        const POINT: usize = 550;
        const GRADIENT: usize = 200;
        const SOURCE: usize = 160;
        /// Half of a pair's column, more for pairs across blocks.
        const COLUMN: usize = 5;
        /// Geometry, local inverse, coarse level.
        const PANEL: usize = 150 + NEIGHBOURS * 8 + 100;
        /// Basis of a solve of some 20 iterations.
        const KRYLOV: usize = 20 * 8;
        let [rows, sources] = self.panels;
        let at_once = self.columns.clamp(1, GROUP);
        let (of_sum, outputs) = if self.gradient { (POINT + GRADIENT, 4) } else { (POINT, 1) };
        let of_points = self.points * (of_sum + 8 * (1 + outputs) * at_once);
        let of_panel = of_points + PANEL + KRYLOV * at_once;
        let value = match self.precision {
            Precision::Single => 4,
            Precision::Double => 8,
        };
        let of_entry = COLUMN + if self.is_symmetric { value / 2 } else { value };
        let of_images = (sources - rows) * self.points * (SOURCE + 8 * at_once);
        let found = (rows * of_panel + of_images + self.entries * of_entry) as u64;
        found + answers(rows, self.columns)
    }

    /// Checks that this number of entries is within the limit.
    pub(crate) fn check(&self, entries: usize) -> Result<(), Error> {
        let bytes = Self { entries, ..*self }.bytes();
        check("the fast solve", bytes, self.limit, "use a coarser mesh or fewer conductors")
    }
}

/// Bytes of the results for this number of excitations and rows, and of the error bars (measured
/// with 250 to 1,000 conductors).
pub(crate) fn answers(rows: usize, columns: usize) -> u64 {
    /// Per row and excitation: its charge, its free charge, and the data of error bars.
    const ROW: usize = 48;
    /// Per pair of excitations: entries of matrices, and both sums of error bars.
    const PAIR: usize = 32;
    const SUMS: usize = 16;
    let parts = estimate::parts(columns).min(rayon::current_num_threads());
    (columns * (ROW * rows + (PAIR + SUMS * (1 + parts)) * columns)) as u64
}

pub(crate) fn check(
    what: &'static str,
    needed: u64,
    limit: Option<u64>,
    advice: &'static str,
) -> Result<(), Error> {
    match limit {
        Some(available) if needed > available => {
            Err(Error::Memory { what, needed, available, advice })
        }
        _ => Ok(()),
    }
}
