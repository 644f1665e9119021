//! Messages between ranks that work on one problem.
//!
//! A rank is a thread of this process ([`threads`]) or a process that MPI started (the crate
//! `processes`); work without others is that of a group of one ([`Alone`]). Whatever it is, its end
//! of the group is a [`Communicator`], and a program for ranks is written once for all.
//!
//! *Collective* calls are made by all ranks of a group, in the same order.

mod alone;
mod error;
mod in_order;
mod threads;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub use bytemuck::Pod;

pub use alone::{Alone, alone};
pub use error::Error;
pub use in_order::InOrder;
pub use threads::{Thread, run, threads};

/// Reduction operations of [`Communicator::all_reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Their sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Operation {
    /// The operation on two numbers.
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// One rank's end of a group of ranks.
pub trait Communicator: Debug + Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks of the group.
    fn size(&self) -> usize;

    /// Sends `messages[r]` to each rank r, and returns what each sent here. Collective.
    ///
    /// # Errors
    /// [`Error`] if a rank has ended or messages cannot be passed.
    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error>;

    /// Sends `message` to all ranks, and returns what each sent. Collective.
    ///
    /// # Errors
    /// As for [`Self::exchange`].
    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// Reduces the numbers of all ranks, element by element: all ranks get the same result.
    /// Collective.
    ///
    /// # Errors
    /// As for [`Self::exchange`].
    fn all_reduce(&self, values: &mut [f64], operation: Operation) -> Result<(), Error>;

    /// Starts to send messages to some ranks and to receive from some, given as rank and length in
    /// bytes; ranks that expect nothing of each other need not call. Messages between two ranks
    /// arrive in the order of these calls, whatever the order of waiting.
    ///
    /// # Errors
    /// As for [`Self::exchange`].
    fn start<'a>(
        &'a self,
        sends: Vec<(usize, Vec<u8>)>,
        receives: &[(usize, usize)],
    ) -> Result<Box<dyn Pending + 'a>, Error>;

    /// A value shared by the ranks of one process: the first of them makes it. Ranks that are
    /// processes make one each. Collective.
    ///
    /// # Errors
    /// As for [`Self::exchange`].
    fn once(&self, make: &mut dyn FnMut() -> Value) -> Result<Value, Error> {
        Ok(make())
    }
}

/// A value that ranks of one process can share.
pub type Value = Arc<dyn Any + Send + Sync>;

/// An end of a group that any part of this rank may keep.
pub type Group = Arc<dyn Communicator>;

/// Messages in transit. If dropped, they are still sent, and received ones are discarded.
pub trait Pending {
    /// Waits until all messages are sent and received, and returns those received, in the order in
    /// which they were asked for.
    ///
    /// # Errors
    /// As for [`Communicator::exchange`].
    fn wait(self: Box<Self>) -> Result<Vec<Vec<u8>>, Error>;
}

/// Sends arrays of numbers; `messages[r]` goes to rank r. Collective.
///
/// # Errors
/// As for [`Communicator::exchange`].
pub fn exchange<T: Pod>(
    group: &dyn Communicator,
    messages: &[Vec<T>],
) -> Result<Vec<Vec<T>>, Error> {
    let messages = messages.iter().map(|message| bytes(message)).collect();
    Ok(group.exchange(messages)?.iter().map(|message| values(message)).collect())
}

/// The arrays of all ranks. Collective.
///
/// # Errors
/// As for [`Communicator::exchange`].
pub fn all_gather<T: Pod>(group: &dyn Communicator, own: &[T]) -> Result<Vec<Vec<T>>, Error> {
    let all = group.all_gather(bytemuck::cast_slice(own))?;
    Ok(all.iter().map(|message| values(message)).collect())
}

/// A value of [`Communicator::once`]. Collective.
///
/// # Errors
/// [`Error::Value`] if ranks of one process call this for different values; as for
/// [`Communicator::exchange`].
pub fn once<T: Send + Sync + 'static>(
    group: &dyn Communicator,
    make: impl FnOnce() -> T,
) -> Result<Arc<T>, Error> {
    let mut make = Some(make);
    let value = group.once(&mut || match make.take() {
        Some(make) => Arc::new(make()),
        None => Arc::new(()),
    })?;
    value.downcast().map_err(|_| Error::Value { rank: 0 })
}

/// Fallible [`once`]: the rank that ran `make` gets its error, the others `None`. Collective.
///
/// # Errors
/// As for [`once`].
pub fn try_once<T: Send + Sync + 'static, E>(
    group: &dyn Communicator,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Result<Arc<T>, Option<E>>, Error> {
    let mut failed = None;
    let made = once(group, || make().map(Arc::new).map_err(|error| failed = Some(error)).ok());
    if failed.is_some() {
        return Ok(Err(failed));
    }
    Ok(Option::clone(&*made?).ok_or(None))
}

/// Returns an error on every rank if any rank failed: that of the first such rank. Collective.
///
/// # Errors
/// [`Error::Elsewhere`] with rank and message; as for [`Communicator::exchange`].
pub fn agree(group: &dyn Communicator, own: Result<(), String>) -> Result<(), Error> {
    let message = match own {
        Ok(()) => Vec::new(),
        Err(cause) => [&[1], cause.as_bytes()].concat(),
    };
    let all = group.all_gather(&message)?;
    match all.iter().enumerate().find(|(_, message)| !message.is_empty()) {
        None => Ok(()),
        Some((rank, message)) => {
            let cause = String::from_utf8_lossy(&message[1..]).into_owned();
            Err(Error::Elsewhere { rank, cause })
        }
    }
}

/// The bytes of an array.
pub fn bytes<T: Pod>(values: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

/// The array with these bytes; an incomplete last value is left out.
pub fn values<T: Pod>(bytes: &[u8]) -> Vec<T> {
    let size = size_of::<T>().max(1);
    bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned).collect()
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
