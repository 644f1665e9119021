//! Arguments that kernels of several files take.

use cuda::{OfReals, Point, Pointer, Real};

use crate::gpu::layouts::{Cell, Item};

/// An entry of a derivative, as `kernels/fmm/harmonics.cuh` declares it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Derivative {}

cuda::elements! { Derivative: "Derivative" }

impl OfReals for Derivative {
    fn size(scalar: usize) -> usize {
        8 + scalar
    }
}

cuda::arguments! {
    /// Factors of the recursions of harmonics and their derivatives.
    struct Harmonics {
        diagonal: Pointer<Real> [table_p],
        columns: Pointer<Real> [table_p * table_p - table_p],
        table_p: u32,
        derivatives: Pointer<Derivative> [end_z],
        end_x: u32,
        end_y: u32,
        end_z: u32,
    }

    // Items say which entries there are, these and their own boxes which points.
    /// Near leaves of every item of work, with the points.
    struct NearItems {
        cells: Pointer<Cell> [..],
        centres: Pointer<f64> [..],
        entries: Pointer<u32> [..],
        items: Pointer<Item> [count],
        item_cells: Pointer<u32> [count],
        count: u32,
        side: f64,
        sources: Pointer<Point> [..],
        targets: Pointer<Point> [..],
    }

    // Of one density, and of more where a macro says so.
    /// Strengths of some densities and what they are summed to.
    struct NearSums {
        charges: Pointer<Real> [n] or null,
        dipoles: Pointer<Real> [3 * n] or null,
        n: u64,
        potential: Pointer<Real> [m],
        gradient: Pointer<Real> [3 * m] or null,
        m: u64,
    }
}

/// Warps of a block that takes items of the near field, one each.
pub(crate) const NEAR_WARPS: u32 = 4;
