//! Ranks that are processes, by MPI.

use std::ffi::c_int;
use std::fmt;
use std::mem::take;
use std::ptr::null;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::panicking;

use mpi::environment::{Threading, Universe, initialize_with_threading, processor_name};
use mpi::ffi;

use comm::{Communicator, Error, Operation, Pending};

/// Largest number of bytes of a piece of a message: MPI counts bytes as an int.
const PIECE: usize = 1 << 30;

/// Bytes of the header of a started message: its length.
const HEADER: usize = size_of::<u64>();

/// Tags of collective calls and of headers.
const COLLECTIVE: c_int = 0;
const HEADERS: c_int = 1;

/// Tags of started messages, after those. MPI promises tags up to 32767.
const FIRST_TAG: u64 = 2;
const TAGS: u64 = 32766;

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
        let calls = Calls { size, piece: PIECE, sent: vec![0; size], received: vec![0; size] };
        let calls = Mutex::new(calls);
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

/// A started message to be received.
struct Receive {
    from: usize,
    /// Number of messages started from that rank before.
    number: u64,
    header: Transfer,
    message: Transfer,
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

/// A message and the requests by which MPI reads or writes its pieces.
///
/// If it is dropped before they are done, the memory is leaked: MPI may still use it.
struct Transfer {
    bytes: Vec<u8>,
    requests: Vec<ffi::MPI_Request>,
}

impl Transfer {
    /// The message, once it has been waited for.
    fn into_bytes(mut self) -> Vec<u8> {
        take(&mut self.bytes)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            std::mem::forget(take(&mut self.bytes));
        }
    }
}

/// Performs calls of MPI, after [`World::start`]. A lock guards it.
struct Calls {
    /// Number of ranks.
    size: usize,
    /// Largest number of bytes of a piece; fits an int.
    piece: usize,
    /// Number of messages started to each rank.
    sent: Vec<u64>,
    /// Number of messages started from each rank.
    received: Vec<u64>,
}

impl Calls {
    /// Starts to send a message in pieces; an empty one has none.
    fn send(&mut self, message: Vec<u8>, to: usize, tag: c_int) -> Result<Transfer, Error> {
        let mut transfer = Transfer { bytes: message, requests: Vec::new() };
        for piece in transfer.bytes.chunks(self.piece) {
            // SAFETY: the piece lies in memory that the transfer keeps until the request is done.
            let (code, request) = unsafe {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let (start, count) = (piece.as_ptr().cast(), piece.len() as c_int);
                let to = to as c_int;
                let code = ffi::MPI_Isend(start, count, byte(), to, tag, world(), &mut request);
                (code, request)
            };
            check("MPI_Isend", code)?;
            transfer.requests.push(request);
        }
        Ok(transfer)
    }

    /// Starts to receive a message in pieces.
    fn receive(&mut self, length: usize, from: usize, tag: c_int) -> Result<Transfer, Error> {
        let mut transfer = Transfer { bytes: vec![0; length], requests: Vec::new() };
        for piece in transfer.bytes.chunks_mut(self.piece) {
            // SAFETY: as in `send`, and nothing else uses the memory until then.
            let (code, request) = unsafe {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let (start, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
                let from = from as c_int;
                let code = ffi::MPI_Irecv(start, count, byte(), from, tag, world(), &mut request);
                (code, request)
            };
            check("MPI_Irecv", code)?;
            transfer.requests.push(request);
        }
        Ok(transfer)
    }

    /// Waits until all pieces are sent or received.
    fn wait(&mut self, transfer: &mut Transfer) -> Result<(), Error> {
        for request in &mut transfer.requests {
            wait(request)?;
        }
        transfer.requests.clear();
        Ok(())
    }

    /// Starts a message: its length, and itself.
    fn start_send(&mut self, to: usize, message: Vec<u8>) -> Result<[Transfer; 2], Error> {
        let tag = tag(self.sent[to], message.len());
        self.sent[to] += 1;
        let header = (message.len() as u64).to_le_bytes().to_vec();
        Ok([self.send(header, to, HEADERS)?, self.send(message, to, tag)?])
    }

    fn start_receive(&mut self, from: usize, expected: usize) -> Result<Receive, Error> {
        let number = self.received[from];
        self.received[from] += 1;
        let header = self.receive(HEADER, from, HEADERS)?;
        let message = self.receive(expected, from, tag(number, expected))?;
        Ok(Receive { from, number, header, message })
    }

    /// Waits for a started message. A message of the wrong length is received too, so that its
    /// sender can continue.
    fn finish(&mut self, mut receive: Receive) -> Result<Vec<u8>, Error> {
        self.wait(&mut receive.header)?;
        let Receive { from, number, header, mut message } = receive;
        let mut length = [0; HEADER];
        length.copy_from_slice(&header.bytes);
        let (found, expected) = (u64::from_le_bytes(length) as usize, message.bytes.len());
        if found == expected {
            self.wait(&mut message)?;
            return Ok(message.into_bytes());
        }
        // The expected message does not arrive, unless both lengths have the same tag by chance.
        let tags = [tag(number, found), tag(number, expected)];
        let come = if tags[0] == tags[1] { found.div_ceil(self.piece) } else { 0 };
        let come = come.min(message.requests.len());
        for request in &mut message.requests[come..] {
            // SAFETY: the request is that of a receive, and is waited for below.
            check("MPI_Cancel", unsafe { ffi::MPI_Cancel(request) })?;
        }
        for request in &mut message.requests {
            // A piece longer than its memory is an error of MPI, but it is reported by its length
            // anyway.
            let _ = wait(request);
        }
        message.requests.clear();
        let mut rest = self.receive(found.saturating_sub(come * self.piece), from, tags[0])?;
        self.wait(&mut rest)?;
        Err(Error::Length { rank: from, expected, found })
    }

    /// Exchanges one number with every rank.
    fn all_to_all(&mut self, own: &[u64]) -> Result<Vec<u64>, Error> {
        debug_assert_eq!(own.len(), self.size);
        let mut all = vec![0_u64; self.size];
        // SAFETY: both arrays have a number for each rank.
        let code = unsafe {
            let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
            let number = ffi::RSMPI_UINT64_T;
            ffi::MPI_Alltoall(from, 1, number, to, 1, number, world())
        };
        check("MPI_Alltoall", code)?;
        Ok(all)
    }

    fn all_gather(&mut self, message: &[u8], rank: usize) -> Result<Vec<Vec<u8>>, Error> {
        let own = message.len() as u64;
        let mut lengths = vec![0_u64; self.size];
        // SAFETY: MPI reads one number, and writes one of each rank.
        let code = unsafe {
            let (from, to) = ((&raw const own).cast(), lengths.as_mut_ptr().cast());
            let number = ffi::RSMPI_UINT64_T;
            ffi::MPI_Allgather(from, 1, number, to, 1, number, world())
        };
        check("MPI_Allgather", code)?;
        let total: u64 = lengths.iter().sum();
        if total == 0 {
            return Ok(vec![Vec::new(); self.size]);
        }
        if total <= self.piece as u64 {
            return self.all_gather_at_once(message, &lengths);
        }
        let mut all: Vec<Vec<u8>> =
            lengths.iter().map(|&length| vec![0; length as usize]).collect();
        all[rank].copy_from_slice(message);
        for (root, message) in all.iter_mut().enumerate() {
            for piece in message.chunks_mut(self.piece) {
                // SAFETY: MPI reads or writes the bytes of the piece, as many on all ranks.
                let code = unsafe {
                    let (start, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
                    ffi::MPI_Bcast(start, count, byte(), root as c_int, world())
                };
                check("MPI_Bcast", code)?;
            }
        }
        Ok(all)
    }

    /// Messages that fit into one piece together; all ranks know the lengths.
    fn all_gather_at_once(
        &mut self,
        message: &[u8],
        lengths: &[u64],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let counts: Vec<c_int> = lengths.iter().map(|&length| length as c_int).collect();
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        let starts: Vec<c_int> = std::iter::once(0).chain(ends).collect();
        let mut all = vec![0_u8; starts[self.size] as usize];
        // SAFETY: MPI writes as many bytes of each rank as it sends, one rank's after another's;
        // the memory has their sum.
        let code = unsafe {
            // The address of an empty slice is 1, which to Open MPI is MPI_IN_PLACE.
            let from = if message.is_empty() { null() } else { message.as_ptr().cast() };
            let to = all.as_mut_ptr().cast();
            let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
            let own = message.len() as c_int;
            ffi::MPI_Allgatherv(from, own, byte(), to, counts, starts, byte(), world())
        };
        check("MPI_Allgatherv", code)?;
        Ok(starts.windows(2).map(|at| all[at[0] as usize..at[1] as usize].to_vec()).collect())
    }

    fn all_reduce(&mut self, values: &mut [f64], operation: Operation) -> Result<(), Error> {
        if operation == Operation::Sum {
            // SAFETY: constant handles; the type is that of the numbers.
            unsafe { self.reduce(values, ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM)? };
            // The NaN of several may differ between ranks.
            for value in values.iter_mut().filter(|value| value.is_nan()) {
                *value = f64::NAN;
            }
            return Ok(());
        }
        // As integers, which all ranks order in the same way whatever the order of the ranks: zeros
        // of two signs are equal, and NaN, which is ignored, is neither less nor more.
        let (last, handle) = match operation {
            // SAFETY: constant handles.
            Operation::Max => (i64::MIN, unsafe { ffi::RSMPI_MAX }),
            // SAFETY: as above.
            _ => (i64::MAX, unsafe { ffi::RSMPI_MIN }),
        };
        let key = |value: &f64| if value.is_nan() { last } else { order(value.to_bits() as i64) };
        let mut keys: Vec<i64> = values.iter().map(key).collect();
        // SAFETY: a constant handle; the type is that of the numbers.
        unsafe { self.reduce(&mut keys, ffi::RSMPI_INT64_T, handle)? };
        for (value, key) in values.iter_mut().zip(keys) {
            *value = f64::from_bits(order(key) as u64);
        }
        Ok(())
    }

    /// Reduces numbers element by element.
    ///
    /// MPI requires that all ranks receive identical results (MPI 3.1, 5.9.6).
    ///
    /// # Safety
    /// `kind` is the type of the numbers, and `operation` one that MPI has for it.
    unsafe fn reduce<T: Copy>(
        &mut self,
        values: &mut [T],
        kind: ffi::MPI_Datatype,
        operation: ffi::MPI_Op,
    ) -> Result<(), Error> {
        for values in values.chunks_mut((self.piece / size_of::<T>()).max(1)) {
            let own = values.to_vec();
            // SAFETY: MPI reads and writes exactly the given numbers, of their type.
            let code = unsafe {
                let (from, to) = (own.as_ptr().cast(), values.as_mut_ptr().cast());
                ffi::MPI_Allreduce(from, to, own.len() as c_int, kind, operation, world())
            };
            check("MPI_Allreduce", code)?;
        }
        Ok(())
    }
}

/// Maps the bits of a number to an integer with the same order, and back.
fn order(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The tag of a started message, by its number among those between two ranks and its length.
///
/// So a message of unexpected length does not meet the memory that waits for it: Open MPI 4.1 may
/// crash if a long message does not fit, although MPI requires an error. Nor does it meet the
/// memory of the next message. Two tags agree in one of [`TAGS`] cases.
fn tag(number: u64, length: usize) -> c_int {
    // The multiplier of 64-bit linear congruential generators in Knuth's MMIX.
    let mix = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).rotate_right(32);
    (FIRST_TAG + mix(mix(number + 1) ^ length as u64) % TAGS) as c_int
}

fn wait(request: &mut ffi::MPI_Request) -> Result<(), Error> {
    // SAFETY: the request is MPI's, or null once it is done; MPI does not wait for null.
    check("MPI_Wait", unsafe { ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE) })
}

/// This rank of a group, and the ranks of the group.
fn place(group: ffi::MPI_Comm) -> Result<(usize, usize), Error> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: the group is one of MPI's; MPI writes one number.
    check("MPI_Comm_rank", unsafe { ffi::MPI_Comm_rank(group, &mut rank) })?;
    // SAFETY: as above.
    check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(group, &mut size) })?;
    Ok((rank as usize, size as usize))
}

fn world() -> ffi::MPI_Comm {
    // SAFETY: a constant handle.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant handle.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// An error if a call to MPI returned one.
fn check(call: &'static str, code: c_int) -> Result<(), Error> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0_u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: the text has the length that MPI may write.
    let described = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let cause = match text.get(..length as usize) {
        Some(text) if described == ffi::MPI_SUCCESS as c_int => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => format!("error {code}"),
    };
    Err(Error::Mpi { call, cause })
}
