//! What can be wrong with a sum that was asked for.

/// Why a plan could not be made or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate is NaN or infinite.
    #[error("{what} {index} has a coordinate that is not a finite number: {point:?}")]
    NotFinite {
        /// "source", "target", "grid origin" or "grid spacing".
        what: &'static str,
        /// Index of the point in the caller's order; 0 for a grid.
        index: usize,
        /// The point.
        point: Vec<f64>,
    },
    /// Coordinates span more than 1e150, or differ from 0 by more than that: their squares would
    /// overflow.
    #[error(
        "{what} {index} has the coordinate {value:e}; beyond 1e150 squares overflow: choose a larger unit of length"
    )]
    TooLarge {
        /// "source" or "target".
        what: &'static str,
        /// Index of the point in the caller's order.
        index: usize,
        /// The coordinate.
        value: f64,
    },
    /// A bandwidth is not a positive number that the sums can use.
    #[error(
        "bandwidth {index} is {value:e}: delta in exp(-r^2 / delta) must lie between 1e-300 and 1e300"
    )]
    Bandwidth {
        /// Index of the source; 0 if all share the bandwidth.
        index: usize,
        /// The bandwidth.
        value: f64,
    },
    /// A charge is NaN or infinite.
    #[error("charge {index} of density {density} is {value}, not a finite number")]
    Charge {
        /// Which density.
        density: usize,
        /// Index of the source in the caller's order.
        index: usize,
        /// The charge.
        value: f64,
    },
    /// An array's length does not match the plan.
    #[error("{what} has {found} values, expected {expected}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Values that the plan calls for.
        expected: usize,
        /// Values that were passed.
        found: usize,
    },
    /// An option is outside its range.
    #[error("{option} = {value} is out of range: {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The requested value.
        value: String,
        /// What is possible.
        allowed: &'static str,
    },
    /// The instruction set that the environment asks for does not exist, or the processor lacks it.
    #[error(transparent)]
    Simd(#[from] simd::Error),
    /// `apply` was asked for gradients that the plan was not made for.
    #[error("this plan was made without gradients; set Options::gradient before Plan::new")]
    NotPlanned,
    /// The GPU is missing, or failed.
    #[error(transparent)]
    Gpu(#[from] cuda::Error),
    /// More points than 32-bit indices can address.
    #[error("{count} {what}s are more than the {limit} that one plan can hold")]
    TooMany {
        /// "source" or "target".
        what: &'static str,
        /// Points passed.
        count: usize,
        /// The limit.
        limit: usize,
    },
}
