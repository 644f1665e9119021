//! Sums over ranks that round the same way each time.

use crate::{Communicator, Error, Group, Operation, Pending, Value, all_gather, exchange};

/// Arrays of up to this length times the number of ranks go to every rank, which adds them up; of
/// longer ones each rank adds up a part for all: two messages instead of one, but no more bytes
/// than a reduction needs.
const SHORT: usize = 64;

/// A group whose sums are added in rank order, whatever transport it uses: the same numbers always
/// have the same sum, bit by bit. MPI only advises this for its own reductions.
#[derive(Clone, Debug)]
pub struct InOrder(pub Group);

impl InOrder {
    fn sum(&self, values: &mut [f64]) -> Result<(), Error> {
        let size = self.size();
        if values.len() <= SHORT * size {
            let all = all_gather(&*self.0, values)?;
            values.copy_from_slice(&in_order(all, values.len()));
            return Ok(());
        }
        let share = values.len().div_ceil(size);
        let part = |rank: usize| {
            let [begin, end] = [rank, rank + 1].map(|rank| values.len().min(rank * share));
            values[begin..end].to_vec()
        };
        let parts: Vec<Vec<f64>> = (0..size).map(part).collect();
        let length = parts[self.rank()].len();
        let own = in_order(exchange(&*self.0, &parts)?, length);
        values.copy_from_slice(&all_gather(&*self.0, &own)?.concat());
        Ok(())
    }
}

/// The sums of arrays of this length, element by element.
fn in_order(all: Vec<Vec<f64>>, length: usize) -> Vec<f64> {
    let add = |mut sums: Vec<f64>, more: Vec<f64>| {
        sums.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
        sums
    };
    let mut sums = all.into_iter().reduce(add).unwrap_or_else(|| vec![0.0; length]);
    // The sum of several NaN may be a different NaN on each rank.
    sums.iter_mut().filter(|sum| sum.is_nan()).for_each(|sum| *sum = f64::NAN);
    sums
}

impl Communicator for InOrder {
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
        match operation {
            Operation::Sum => self.sum(values),
            // Exact in any order.
            Operation::Min | Operation::Max => self.0.all_reduce(values, operation),
        }
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
