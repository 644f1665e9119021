//! Cost of a solve, estimated before it starts.

use mesh::Mesh;

use crate::Error;
use crate::constants::GROUP;
use crate::geometry::triangle::Vec3;
use crate::near::Precision;
use crate::operator::dense::Dense;
use crate::physics::estimate;
use crate::precondition::local_panels::NEIGHBOURS;

/// Contents of a solve by either method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Either {
    /// Unknowns.
    pub(crate) unknowns: usize,
    /// Panels with all images, over panels.
    pub(crate) images: usize,
    /// Number of excitations.
    pub(crate) columns: usize,
    /// Whether there are interfaces.
    pub(crate) has_gradients: bool,
}

/// Bytes of a dense solve that is chosen.
const MOST_DENSE: usize = 1 << 29;

/// Whether a dense solve is faster than the FMM on this mesh.
///
/// Seconds of two cores, measured at the default tolerance on cubes of 432 to 3,072 panels, alone,
/// over one plane and between three, and on spheres of a dielectric: a pair integral 0.18e-6, one
/// of normal derivatives 0.13e-6, a multiply-add of the factorisation 3e-11; to begin a fast solve
/// 0.06, near field and preconditioner of a panel 30e-6 and of an image 8e-6, a fast sum over its
/// points 4e-6 and about 10 of them, with gradients twice that. They meet near 1,200 panels, 1,000
/// and 500, and 1,100.
///
/// Between long narrow panels that are close a pair integral takes five times as long, and in a
/// near field 1.6 times what it does in a dense matrix (two bars in films, 1,480 panels of up to
/// 750 widths, 0.8 of all pairs close: 3.0 and 1.8 s).
pub(crate) fn dense_is_faster(mesh: &Mesh, solve: Either) -> bool {
    let Either { unknowns, images, columns, has_gradients } = solve;
    let matrices = if has_gradients { 3 } else { 1 };
    if matrices * Dense::bytes(unknowns) > MOST_DENSE as u64 {
        return false;
    }
    let (n, images, k) = (unknowns as f64, images as f64, columns as f64);
    // Of conductors alone half the pairs, and half the factor.
    let (entry, factor, sum) =
        if has_gradients { (0.13e-6, 1.0 / 3.0, 8e-6) } else { (0.09e-6, 1.0 / 6.0, 4e-6) };
    let entries = n * n * images * entry;
    let close = 5.0 * close_share(mesh) * entries;
    let dense = entries + close + n * n * (n * factor * 3e-11 + 2e-9 * k);
    let of_panel = 30e-6 + 8e-6 * (images - 1.0) + 10.0 * sum * (1.0 + 0.3 * (k - 1.0));
    dense < 0.06 + n * of_panel + 1.6 * close
}

/// Share of pairs of triangles whose spheres around their centroids overlap, of some triangles with
/// all others, beyond the few that triangles of regular meshes have: long narrow ones are close to
/// most.
fn close_share(mesh: &Mesh) -> f64 {
    /// Triangles looked at.
    const SOME: usize = 64;
    /// Close triangles of one of a regular mesh.
    const REGULAR: usize = 30;
    let n = mesh.triangles.len();
    let ball = |t: usize| {
        let corners = mesh.corners(t).map(Vec3::from);
        let centre = (corners[0] + corners[1] + corners[2]) / 3.0;
        (centre, corners.iter().map(|x| (x - centre).norm()).fold(0.0, f64::max))
    };
    let balls: Vec<(Vec3, f64)> = (0..n).map(ball).collect();
    let some = || balls.iter().step_by(n.div_ceil(SOME).max(1));
    let is_close = |(x, a): &(Vec3, f64), (y, b): &(Vec3, f64)| (x - y).norm() < a + b;
    let beyond = |x| balls.iter().filter(|y| is_close(x, y)).count().saturating_sub(REGULAR);
    let close = some().map(beyond).sum::<usize>();
    close as f64 / (some().count() * n).max(1) as f64
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
