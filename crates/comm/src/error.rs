//! Why ranks could not go on together.

/// What went wrong between ranks.
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
    /// Ranks of one process make different values together.
    #[error("rank {rank} has made another value than was expected: ranks are not in step")]
    Value {
        /// The rank that made it.
        rank: usize,
    },
    /// A message has another length than was expected.
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
