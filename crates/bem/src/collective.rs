//! Collective calls with this crate's errors.

use std::sync::Arc;

use comm::{Communicator, Operation};
use serde::Serialize;
use serde::de::DeserializeOwned;

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

/// The value of the first rank, regardless of those of the others. Collective.
///
/// # Errors
/// [`Error::Fmm`] if communication fails, or what is received is no such value.
pub(crate) fn of_first<T: DeserializeOwned>(
    group: &dyn Communicator,
    own: &(impl Serialize + ?Sized),
) -> Result<T, Error> {
    let own = if group.rank() == 0 { encoded(own) } else { Vec::new() };
    let all = comm::all_gather(group, &own).map_err(lost)?;
    decoded(0, all.first().map_or(&[], Vec::as_slice))
}

/// A value as the bytes of a message; none if it has no such form.
pub(crate) fn encoded(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    postcard::to_extend(value, Vec::new()).unwrap_or_default()
}

/// The value in a message from this rank.
///
/// # Errors
/// [`Error::Fmm`] if the bytes are of no such value.
pub(crate) fn decoded<T: DeserializeOwned>(rank: usize, message: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(message).map_err(|_| {
        let cause = "its message cannot be read".to_owned();
        lost(comm::Error::Elsewhere { rank, cause })
    })
}

/// The error for failed communication, or for an error of another rank.
pub(crate) fn lost(error: comm::Error) -> Error {
    fmm::Error::from(error).into()
}
