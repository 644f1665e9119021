//! Why a problem could not be solved.

/// Errors of the boundary element layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The fast sum refused.
    #[error(transparent)]
    Fmm(#[from] fmm::Error),
    /// The GPU stopped, or has too little memory.
    #[error(transparent)]
    Gpu(#[from] cuda::Error),
    /// The caller's [`Progress`](crate::Progress) asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// An array's length does not match the operator.
    #[error("{what} has {found} values, expected {expected}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Values called for.
        expected: usize,
        /// Values passed.
        found: usize,
    },
    /// A triangle belongs to a conductor that there is not.
    #[error(
        "triangle {triangle} is of conductor {conductor}, but there are {count}, counted from 0"
    )]
    Conductor {
        /// Index of the first such triangle.
        triangle: usize,
        /// What was given for it.
        conductor: u32,
        /// How many conductors were declared.
        count: usize,
    },
    /// The problem would not fit.
    #[error("{what} needs {needed} bytes, more than the {available} available; {advice}")]
    Memory {
        /// What was to be allocated.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        available: u64,
        /// What to do.
        advice: &'static str,
    },
}
