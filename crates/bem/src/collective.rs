//! Collective calls with this crate's errors.

use std::sync::Arc;

use comm::{Communicator, Operation};

use crate::Error;

/// A value that is identical on all ranks: ranks of one process share it, and the first of them
/// makes it. Collective.
pub(crate) fn once<T, E>(
    group: &dyn Communicator,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E>
where
    T: Send + Sync + 'static,
    E: From<Error> + ToString,
{
    let own = match comm::try_once(group, make) {
        Ok(Err(Some(error))) => Err(error),
        Ok(made) => Ok(made.ok()),
        Err(error) => Err(lost(error).into()),
    };
    // If there is no value, the rank that tried has an error, and the agreement returns it.
    agreed(group, own)?.ok_or_else(|| lost(comm::Error::Value { rank: 0 }).into())
}

/// A rank's own result, or an error if another rank of its group failed. Collective.
pub(crate) fn agreed<T, E: From<Error> + ToString>(
    group: &dyn Communicator,
    own: Result<T, E>,
) -> Result<T, E> {
    let report = own.as_ref().map(|_| ()).map_err(ToString::to_string);
    let agreed = comm::agree(group, report);
    let own = own?;
    agreed.map_err(lost)?;
    Ok(own)
}

/// Sums over all ranks, element by element. Collective.
pub(crate) fn sum(group: &dyn Communicator, values: &mut [f64]) -> Result<(), Error> {
    group.all_reduce(values, Operation::Sum).map_err(lost)
}

/// The largest of the numbers that the ranks computed; rounding may make them differ. Collective.
pub(crate) fn largest(group: &dyn Communicator, value: f64) -> Result<f64, Error> {
    let mut largest = [if value.is_nan() { f64::INFINITY } else { value }];
    group.all_reduce(&mut largest, Operation::Max).map_err(lost)?;
    Ok(if value.is_nan() { value } else { largest[0] })
}

/// The error for failed communication, or for an error of another rank.
pub(crate) fn lost(error: comm::Error) -> Error {
    fmm::Error::from(error).into()
}
