//! Why a problem could not be solved.

/// Errors of the boundary element layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Error of the fast sum, or of communication between ranks.
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
        /// Expected number of values.
        expected: usize,
        /// Given number of values.
        found: usize,
    },
    /// A triangle names a conductor that does not exist.
    #[error("triangle {triangle} names conductor {conductor}; there are {count}, counted from 0")]
    Conductor {
        /// Index of the first such triangle.
        triangle: usize,
        /// The conductor given for it.
        conductor: u32,
        /// Number of declared conductors.
        count: usize,
    },
    /// The problem does not fit into memory.
    #[error("{what} needs {needed} bytes, more than the {available} available; {advice}")]
    Memory {
        /// The object that needs the memory.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        available: u64,
        /// Advice to the user.
        advice: &'static str,
    },
}
