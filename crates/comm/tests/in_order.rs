//! Sums over ranks in the order of the ranks.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod checks;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use comm::{Communicator, Error, Group, InOrder, Operation, Pending, Value, run};

#[test]
fn groups_that_add_in_order_have_what_is_asked_of_all() {
    for size in [1, 2, 3, 7] {
        for (_, check) in checks::ALL {
            run(size, |rank| check(&InOrder(Group::clone(rank)), 9000));
        }
    }
}

/// Ranks whose own sums are added in a different order each time, as those of MPI may be.
#[derive(Debug)]
struct AnyOrder(Group, AtomicUsize);

impl Communicator for AnyOrder {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        self.0.exchange(messages)
    }

    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.0.all_gather(message)
    }

    fn all_reduce(&self, values: &mut [f64], operation: Operation) -> Result<(), Error> {
        let turn = self.1.fetch_add(1, Ordering::Relaxed);
        let mut all = comm::all_gather(self, values)?;
        let first = turn % all.len();
        all.rotate_left(first);
        for (place, value) in values.iter_mut().enumerate() {
            let of_ranks = all.iter().map(|of_rank| of_rank[place]);
            *value = of_ranks.reduce(|a, b| operation.of(a, b)).unwrap_or(*value);
        }
        Ok(())
    }

    fn start<'a>(
        &'a self,
        sends: Vec<(usize, Vec<u8>)>,
        receives: &[(usize, usize)],
    ) -> Result<Box<dyn Pending + 'a>, Error> {
        self.0.start(sends, receives)
    }

    fn once(&self, make: &mut dyn FnMut() -> Value) -> Result<Value, Error> {
        self.0.once(make)
    }
}

#[test]
fn sums_in_order_have_the_same_bits_each_time() {
    // Few values go to all ranks; of many, each rank adds up some.
    for length in [7, 1000] {
        let number = |rank: usize, place: usize| (1.0 + (rank + 5 * place) as f64).sin();
        let distinct = |in_order: bool| {
            let all = run(5, |rank| {
                let group: Group = Arc::new(AnyOrder(Group::clone(rank), Default::default()));
                let group = if in_order { Arc::new(InOrder(group)) } else { group };
                let of_turn = |_| {
                    let mut sums: Vec<f64> =
                        (0..length).map(|place| number(rank.rank(), place)).collect();
                    group.all_reduce(&mut sums, Operation::Sum).unwrap();
                    sums.iter().map(|sum| sum.to_bits()).collect::<Vec<u64>>()
                };
                (0..10).map(of_turn).collect::<Vec<_>>()
            });
            all.concat().into_iter().collect::<HashSet<_>>().len()
        };
        assert!(distinct(false) > 1, "{length} numbers of which any order has the same sum");
        assert_eq!(distinct(true), 1, "{length} numbers");
    }
}
