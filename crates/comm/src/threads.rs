//! Ranks that are threads of one process.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Communicator, Error, Operation, Pending};

/// Messages of collective calls and started ones wait in lines of their own.
const LINES: usize = 2;
const COLLECTIVE: usize = 0;
const STARTED: usize = 1;

/// A rank that is a thread.
///
/// Dropped, it has ended: ranks that wait for it get [`Error::Ended`].
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
    /// Messages by line, sender and receiver.
    waiting: Vec<VecDeque<Vec<u8>>>,
    ended: Vec<bool>,
}

/// The ends of a group of `size` ranks, one for each thread.
pub fn threads(size: usize) -> Vec<Thread> {
    let state =
        State { waiting: vec![VecDeque::new(); LINES * size * size], ended: vec![false; size] };
    let group = Arc::new(Group { size, state: Mutex::new(state), changed: Condvar::new() });
    (0..size).map(|rank| Thread { rank, group: Arc::clone(&group) }).collect()
}

/// Runs `work` on `size` ranks that are threads, and returns what each makes.
pub fn run<R: Send>(size: usize, work: impl Fn(&Thread) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let ranks = threads(size).into_iter().map(|rank| scope.spawn(move || work(&rank)));
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
        // A rank that panics while it holds the lock leaves queues that are whole.
        self.group.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, line: usize, from: usize, to: usize) -> usize {
        (line * self.group.size + from) * self.group.size + to
    }

    fn send(&self, line: usize, messages: impl IntoIterator<Item = (usize, Vec<u8>)>) {
        let mut state = self.state();
        for (to, message) in messages {
            let at = self.line(line, self.rank, to);
            state.waiting[at].push_back(message);
        }
        self.group.changed.notify_all();
    }

    fn receive(&self, line: usize, from: usize) -> Result<Vec<u8>, Error> {
        let at = self.line(line, from, self.rank);
        let mut state = self.state();
        loop {
            if let Some(message) = state.waiting[at].pop_front() {
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
        (0..self.size()).map(|from| self.receive(COLLECTIVE, from)).collect()
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
        Ok(Box::new(Started { rank: self, receives: receives.to_vec() }))
    }
}

struct Started<'a> {
    rank: &'a Thread,
    receives: Vec<(usize, usize)>,
}

impl Pending for Started<'_> {
    fn wait(self: Box<Self>) -> Result<Vec<Vec<u8>>, Error> {
        let receive = |&(from, expected): &(usize, usize)| {
            let message = self.rank.receive(STARTED, from)?;
            match message.len() {
                found if found == expected => Ok(message),
                found => Err(Error::Length { rank: from, expected, found }),
            }
        };
        self.receives.iter().map(receive).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agree, all_gather, exchange};

    #[test]
    fn messages_arrive_where_they_are_sent() {
        for size in [1, 2, 3, 7] {
            run(size, |rank| {
                let own = rank.rank();
                let messages: Vec<Vec<u64>> =
                    (0..size).map(|to| vec![(10 * own + to) as u64; own + to]).collect();
                for (from, message) in exchange(rank, &messages).unwrap().iter().enumerate() {
                    assert_eq!(*message, vec![(10 * from + own) as u64; from + own]);
                }
                let all = all_gather(rank, &vec![own as f64; own]).unwrap();
                assert!(all.iter().enumerate().all(|(from, all)| *all == vec![from as f64; from]));
                let mut values = [own as f64, -(own as f64)];
                rank.all_reduce(&mut values, Operation::Max).unwrap();
                assert_eq!(values, [(size - 1) as f64, 0.0]);
            });
        }
    }

    #[test]
    fn started_messages_wait_for_collective_calls() {
        run(3, |rank| {
            let next = (rank.rank() + 1) % 3;
            let last = (rank.rank() + 2) % 3;
            let first = rank.start(vec![(next, vec![1; 5])], &[(last, 5)]).unwrap();
            let second = rank.start(vec![(next, vec![2; 4])], &[(last, 4)]).unwrap();
            assert_eq!(rank.all_gather(&[7]).unwrap(), vec![vec![7]; 3]);
            assert_eq!(first.wait().unwrap(), [vec![1; 5]]);
            assert_eq!(second.wait().unwrap(), [vec![2; 4]]);
            let wrong = rank.start(vec![(next, vec![0; 2])], &[(last, 3)]).unwrap().wait();
            assert_eq!(wrong, Err(Error::Length { rank: last, expected: 3, found: 2 }));
        });
    }

    #[test]
    fn ranks_learn_that_another_has_failed_or_ended() {
        let found = run(3, |rank| {
            let own = if rank.rank() == 1 { Err("no memory".to_owned()) } else { Ok(()) };
            let agreed = agree(rank, own);
            assert_eq!(agreed, Err(Error::Elsewhere { rank: 1, cause: "no memory".to_owned() }));
            if rank.rank() == 2 {
                return None;
            }
            Some(rank.all_gather(&[]))
        });
        assert_eq!(
            found,
            [Some(Err(Error::Ended { rank: 2 })), Some(Err(Error::Ended { rank: 2 })), None]
        );
    }
}
