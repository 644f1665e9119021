//! Errors of communication between ranks.

/// Errors of communication.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank ended while others waited for it.
    #[error("rank {rank} has ended")]
    Ended {
        /// The rank.
        rank: usize,
    },
    /// A rank has an error of its own, which ends the work of all.
    #[error("rank {rank}: {cause}")]
    Elsewhere {
        /// The rank.
        rank: usize,
        /// Its message.
        cause: String,
    },
    /// Ranks of one process call [`once`](crate::once) for different values.
    #[error("rank {rank} computed a different value: ranks are out of step")]
    Value {
        /// The rank that made it.
        rank: usize,
    },
    /// A message has an unexpected length.
    #[error("rank {rank} sent {found} bytes, expected {expected}: do all ranks run one version?")]
    Length {
        /// The rank that sent.
        rank: usize,
        /// Bytes expected.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A call to MPI failed.
    #[error("{call}: {cause}")]
    Mpi {
        /// The function of MPI.
        call: &'static str,
        /// What MPI says.
        cause: String,
    },
}
