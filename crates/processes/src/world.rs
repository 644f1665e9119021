//! Ranks that are processes, by MPI.

use std::fmt;
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::panicking;

use mpi::environment::{Threading, Universe, initialize_with_threading, processor_name};
use mpi::ffi;

use comm::{Communicator, Error, Operation, Pending};

use crate::calls::{COLLECTIVE, Calls, PIECE, Receive, Transfer, check, place, world};

/// Code by which all ranks end when one panics: that of Rust's programs.
const PANIC: i32 = 101;

/// This process's end of all processes that MPI started together.
///
/// Calls from several threads run one after the other: one that waits for other ranks blocks the
/// rest.
///
/// When dropped, it ends MPI, which waits until all ranks do so. When dropped while its thread
/// panics, it ends all ranks instead, because they would wait for this one. There is no
/// [`Error::Ended`]: if a rank ends too early, MPI ends the others, or they wait. So a rank reports
/// its error to all by [`agree`](comm::agree), or ends all by [`Self::abort`].
pub struct World {
    rank: usize,
    size: usize,
    local_rank: usize,
    local_size: usize,
    host: String,
    calls: Mutex<Calls>,
    _universe: Universe, // its drop ends MPI
}

impl World {
    /// Starts MPI; once in a process. Collective.
    ///
    /// # Errors
    /// [`Error::Mpi`] if MPI has been started before, if it cannot be called by several threads in
    /// turn, or if a call fails.
    pub fn start() -> Result<Self, Error> {
        let refused = |cause: &str| Error::Mpi { call: "MPI_Init_thread", cause: cause.to_owned() };
        let (universe, threading) = initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| refused("MPI has been started before in this process"))?;
        if threading < Threading::Serialized {
            return Err(refused("this MPI library does not serve threads (MPI_THREAD_SERIALIZED)"));
        }
        // SAFETY: MPI has been started, and the handler is one of its own.
        let set = unsafe { ffi::MPI_Comm_set_errhandler(world(), ffi::RSMPI_ERRORS_RETURN) };
        check("MPI_Comm_set_errhandler", set)?;
        let (rank, size) = place(world())?;

        // SAFETY: a constant handle.
        let mut local = unsafe { ffi::RSMPI_COMM_NULL };
        // SAFETY: MPI writes one handle. Ranks keep their order because all give the same key.
        let split = unsafe {
            let shared = ffi::RSMPI_COMM_TYPE_SHARED;
            ffi::MPI_Comm_split_type(world(), shared, 0, ffi::RSMPI_INFO_NULL, &mut local)
        };
        check("MPI_Comm_split_type", split)?;
        let (local_rank, local_size) = place(local)?;
        // SAFETY: the handle is that of the split, and is not used again.
        check("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&mut local) })?;

        let host = processor_name().map_err(|cause| Error::Mpi {
            call: "MPI_Get_processor_name",
            cause: cause.to_string(),
        })?;
        let calls = Mutex::new(Calls::new(size));
        Ok(Self { rank, size, local_rank, local_size, host, calls, _universe: universe })
    }

    /// This rank among those of the same host, from 0, in the order of ranks.
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// Ranks of the same host.
    pub fn local_size(&self) -> usize {
        self.local_size
    }

    /// The name of this host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Ends all ranks at once, with an exit code.
    pub fn abort(&self, code: i32) -> ! {
        // No lock: a thread that waits for other ranks may hold it, and must end too.
        // SAFETY: MPI has been started, and the call does not return to this process.
        unsafe { ffi::MPI_Abort(world(), code) };
        std::process::abort()
    }

    /// Sets the largest number of bytes of a piece, the same on all ranks, while no messages are in
    /// transit. Tests send small messages in many pieces.
    #[doc(hidden)]
    pub fn set_piece(&mut self, bytes: usize) {
        self.calls().piece = bytes.clamp(1, PIECE);
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        // A panic inside leaves valid numbers.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("World");
        fields.field("rank", &self.rank).field("size", &self.size).field("host", &self.host);
        fields.finish_non_exhaustive()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if panicking() {
            self.abort(PANIC);
        }
    }
}

impl Communicator for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        messages.resize(self.size, Vec::new()); // MPI reads as many lengths
        let mut calls = self.calls();
        let lengths: Vec<u64> = messages.iter().map(|message| message.len() as u64).collect();
        let mut lengths = calls.all_to_all(&lengths)?;
        let own = take(&mut messages[self.rank]);
        lengths[self.rank] = 0;

        let receives = lengths.iter().enumerate();
        let receives =
            receives.map(|(from, &length)| calls.receive(length as usize, from, COLLECTIVE));
        let mut receives: Vec<Transfer> = receives.collect::<Result<_, _>>()?;
        let sends = messages.into_iter().enumerate();
        let sends = sends.map(|(to, message)| calls.send(message, to, COLLECTIVE));
        let mut sends: Vec<Transfer> = sends.collect::<Result<_, _>>()?;
        for transfer in receives.iter_mut().chain(&mut sends) {
            calls.wait(transfer)?;
        }
        let mut received: Vec<Vec<u8>> = receives.into_iter().map(Transfer::into_bytes).collect();
        received[self.rank] = own;
        Ok(received)
    }

    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.calls().all_gather(message, self.rank)
    }

    fn all_reduce(&self, values: &mut [f64], operation: Operation) -> Result<(), Error> {
        self.calls().all_reduce(values, operation)
    }

    fn start<'a>(
        &'a self,
        sends: Vec<(usize, Vec<u8>)>,
        receives: &[(usize, usize)],
    ) -> Result<Box<dyn Pending + 'a>, Error> {
        let to = sends.iter().map(|&(to, _)| to);
        let from = receives.iter().map(|&(from, _)| from);
        if let Some(other) = to.chain(from).find(|&other| other >= self.size) {
            let cause = format!("there is no rank {other} of {}", self.size);
            return Err(Error::Mpi { call: "MPI_Isend", cause });
        }
        let mut calls = self.calls();
        let receives = receives.iter().map(|&(from, expected)| calls.start_receive(from, expected));
        let receives = receives.collect::<Result<_, _>>()?;
        let sends = sends.into_iter().map(|(to, message)| calls.start_send(to, message));
        let sends = sends.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        Ok(Box::new(Started { world: self, sends, receives }))
    }
}

/// Started messages. When dropped, they are waited for, so that other ranks get theirs.
struct Started<'a> {
    world: &'a World,
    sends: Vec<Transfer>,
    receives: Vec<Receive>,
}

impl Started<'_> {
    /// Waits for all messages, also if one fails.
    fn finish(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let mut calls = self.world.calls();
        let received = take(&mut self.receives).into_iter().map(|receive| calls.finish(receive));
        let received: Vec<_> = received.collect();
        let sent = take(&mut self.sends).into_iter().map(|mut send| calls.wait(&mut send));
        let sent: Vec<_> = sent.collect();
        let received = received.into_iter().collect::<Result<_, _>>()?;
        sent.into_iter().collect::<Result<(), _>>()?;
        Ok(received)
    }
}

impl Pending for Started<'_> {
    fn wait(mut self: Box<Self>) -> Result<Vec<Vec<u8>>, Error> {
        self.finish()
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        // In a panic other ranks may never answer.
        if !panicking() {
            // Ignored: the result of a failed message is not used.
            let _ = self.finish();
        }
    }
}
