//! The calls of MPI, with messages in pieces, and its handles.

use std::ffi::c_int;
use std::mem::take;
use std::ptr::null;

use mpi::ffi;

use comm::{Error, Operation};

/// Largest number of bytes of a piece of a message: MPI counts bytes as an int.
pub(crate) const PIECE: usize = 1 << 30;

/// Bytes of the header of a started message: its length.
const HEADER: usize = size_of::<u64>();

/// Tags of collective calls and of headers.
pub(crate) const COLLECTIVE: c_int = 0;
const HEADERS: c_int = 1;

/// Tags of started messages, after those. MPI promises tags up to 32767.
const FIRST_TAG: u64 = 2;
const TAGS: u64 = 32766;

/// A message and the requests by which MPI reads or writes its pieces.
///
/// If it is dropped before they are done, the memory is leaked: MPI may still use it.
pub(crate) struct Transfer {
    bytes: Vec<u8>,
    requests: Vec<ffi::MPI_Request>,
}

impl Transfer {
    /// The message, once it has been waited for.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
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

/// A started message to be received.
pub(crate) struct Receive {
    from: usize,
    /// Number of messages started from that rank before.
    number: u64,
    header: Transfer,
    message: Transfer,
}

/// Performs calls of MPI, after [`World::start`](crate::World::start). A lock guards it.
pub(crate) struct Calls {
    /// Number of ranks.
    size: usize,
    /// Largest number of bytes of a piece; fits an int.
    pub(crate) piece: usize,
    /// Number of messages started to each rank.
    sent: Vec<u64>,
    /// Number of messages started from each rank.
    received: Vec<u64>,
}

impl Calls {
    /// Of `size` ranks.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, piece: PIECE, sent: vec![0; size], received: vec![0; size] }
    }

    /// Starts to send a message in pieces; an empty one has none.
    pub(crate) fn send(
        &mut self,
        message: Vec<u8>,
        to: usize,
        tag: c_int,
    ) -> Result<Transfer, Error> {
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
    pub(crate) fn receive(
        &mut self,
        length: usize,
        from: usize,
        tag: c_int,
    ) -> Result<Transfer, Error> {
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
    pub(crate) fn wait(&mut self, transfer: &mut Transfer) -> Result<(), Error> {
        for request in &mut transfer.requests {
            wait(request)?;
        }
        transfer.requests.clear();
        Ok(())
    }

    /// Starts a message: its length, and itself.
    pub(crate) fn start_send(
        &mut self,
        to: usize,
        message: Vec<u8>,
    ) -> Result<[Transfer; 2], Error> {
        let tag = tag(self.sent[to], message.len());
        self.sent[to] += 1;
        let header = (message.len() as u64).to_le_bytes().to_vec();
        Ok([self.send(header, to, HEADERS)?, self.send(message, to, tag)?])
    }

    pub(crate) fn start_receive(&mut self, from: usize, expected: usize) -> Result<Receive, Error> {
        let number = self.received[from];
        self.received[from] += 1;
        let header = self.receive(HEADER, from, HEADERS)?;
        let message = self.receive(expected, from, tag(number, expected))?;
        Ok(Receive { from, number, header, message })
    }

    /// Waits for a started message. A message of the wrong length is received too, so that its
    /// sender can continue.
    pub(crate) fn finish(&mut self, mut receive: Receive) -> Result<Vec<u8>, Error> {
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
    pub(crate) fn all_to_all(&mut self, own: &[u64]) -> Result<Vec<u64>, Error> {
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

    pub(crate) fn all_gather(
        &mut self,
        message: &[u8],
        rank: usize,
    ) -> Result<Vec<Vec<u8>>, Error> {
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

    pub(crate) fn all_reduce(
        &mut self,
        values: &mut [f64],
        operation: Operation,
    ) -> Result<(), Error> {
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
pub(crate) fn place(group: ffi::MPI_Comm) -> Result<(usize, usize), Error> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: the group is one of MPI's; MPI writes one number.
    check("MPI_Comm_rank", unsafe { ffi::MPI_Comm_rank(group, &mut rank) })?;
    // SAFETY: as above.
    check("MPI_Comm_size", unsafe { ffi::MPI_Comm_size(group, &mut size) })?;
    Ok((rank as usize, size as usize))
}

pub(crate) fn world() -> ffi::MPI_Comm {
    // SAFETY: a constant handle.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant handle.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// An error if a call to MPI returned one.
pub(crate) fn check(call: &'static str, code: c_int) -> Result<(), Error> {
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
