//! Ranks that are threads of one process.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Communicator, Error, Operation, Pending, Value};

/// Collective calls and started messages use separate lines.
const LINES: usize = 2;
const COLLECTIVE: usize = 0;
const STARTED: usize = 1;

/// A rank that is a thread.
///
/// When dropped, it has ended: ranks that wait for it get [`Error::Ended`].
#[derive(Debug)]
pub struct Thread {
    rank: usize,
    group: Arc<Group>,
}

#[derive(Debug)]
struct Group {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Messages by their place in lines, one line per sender, receiver and kind.
    waiting: HashMap<Place, Vec<u8>>,
    /// Number of messages put into each line, and taken from it.
    sent: Vec<u64>,
    asked: Vec<u64>,
    ended: Vec<bool>,
    /// The value that the first rank made for all, and the number of ranks that have yet to take
    /// it.
    made: Option<(Value, usize)>,
}

/// A line, and the number of earlier messages in it.
type Place = (usize, u64);

/// The ends of a group of `size` ranks, one for each thread.
pub fn threads(size: usize) -> Vec<Thread> {
    let lines = LINES * size * size;
    let state = State {
        waiting: HashMap::new(),
        sent: vec![0; lines],
        asked: vec![0; lines],
        ended: vec![false; size],
        made: None,
    };
    let group = Arc::new(Group { size, state: Mutex::new(state), changed: Condvar::new() });
    (0..size).map(|rank| Thread { rank, group: Arc::clone(&group) }).collect()
}

/// Runs `work` on `size` ranks that are threads, and returns the result of each.
pub fn run<R: Send>(size: usize, work: impl Fn(&crate::Group) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |rank: Thread| {
            let rank: crate::Group = Arc::new(rank);
            scope.spawn(move || work(&rank))
        };
        let ranks = threads(size).into_iter().map(start);
        let ranks: Vec<_> = ranks.collect();
        let end = |rank: std::thread::ScopedJoinHandle<'_, R>| match rank.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        ranks.into_iter().map(end).collect()
    })
}

impl Thread {
    fn state(&self) -> MutexGuard<'_, State> {
        // A rank that panics while it holds the lock leaves the queues intact.
        self.group.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, line: usize, from: usize, to: usize) -> usize {
        (line * self.group.size + from) * self.group.size + to
    }

    fn send(&self, line: usize, messages: impl IntoIterator<Item = (usize, Vec<u8>)>) {
        let mut state = self.state();
        for (to, message) in messages {
            let at = self.line(line, self.rank, to);
            let place = (at, state.sent[at]);
            state.sent[at] += 1;
            state.waiting.insert(place, message);
        }
        self.group.changed.notify_all();
    }

    /// The place of the next message from a rank.
    fn ask(&self, line: usize, from: usize) -> Place {
        let at = self.line(line, from, self.rank);
        let mut state = self.state();
        let place = (at, state.asked[at]);
        state.asked[at] += 1;
        place
    }

    fn receive(&self, from: usize, place: Place) -> Result<Vec<u8>, Error> {
        let mut state = self.state();
        loop {
            if let Some(message) = state.waiting.remove(&place) {
                return Ok(message);
            }
            if state.ended[from] {
                return Err(Error::Ended { rank: from });
            }
            let waited = self.group.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let rank = self.rank;
        self.state().ended[rank] = true;
        self.group.changed.notify_all();
    }
}

impl Communicator for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        self.send(COLLECTIVE, messages.into_iter().enumerate());
        let receive = |from| self.receive(from, self.ask(COLLECTIVE, from));
        (0..self.size()).map(receive).collect()
    }

    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange(vec![message.to_vec(); self.size()])
    }

    fn all_reduce(&self, values: &mut [f64], operation: Operation) -> Result<(), Error> {
        let all = crate::all_gather(self, values)?;
        for (place, value) in values.iter_mut().enumerate() {
            let of_ranks = all.iter().map(|of_rank| of_rank[place]);
            if let Some(reduced) = of_ranks.reduce(|a, b| operation.of(a, b)) {
                *value = reduced;
            }
        }
        Ok(())
    }

    fn start<'a>(
        &'a self,
        sends: Vec<(usize, Vec<u8>)>,
        receives: &[(usize, usize)],
    ) -> Result<Box<dyn Pending + 'a>, Error> {
        self.send(STARTED, sends);
        let ask = |&(from, expected): &(usize, usize)| (from, expected, self.ask(STARTED, from));
        Ok(Box::new(Started { rank: self, receives: receives.iter().map(ask).collect() }))
    }

    fn once(&self, make: &mut dyn FnMut() -> Value) -> Result<Value, Error> {
        // All have taken the last value.
        self.all_gather(&[])?;
        if self.rank == 0 {
            let made = make();
            self.state().made = Some((made, self.size()));
        }
        self.all_gather(&[])?;
        let mut state = self.state();
        let (value, left) = state.made.take().ok_or(Error::Value { rank: 0 })?;
        if left > 1 {
            state.made = Some((Arc::clone(&value), left - 1));
        }
        Ok(value)
    }
}

struct Started<'a> {
    rank: &'a Thread,
    receives: Vec<(usize, usize, Place)>,
}

impl Pending for Started<'_> {
    fn wait(self: Box<Self>) -> Result<Vec<Vec<u8>>, Error> {
        let receive = |&(from, expected, place): &(usize, usize, Place)| {
            let message = self.rank.receive(from, place)?;
            match message.len() {
                found if found == expected => Ok(message),
                found => Err(Error::Length { rank: from, expected, found }),
            }
        };
        self.receives.iter().map(receive).collect()
    }
}
