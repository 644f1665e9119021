//! A group of one rank, for work without others.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Communicator, Error, Group, Operation, Pending};

/// The only rank of its group: collective calls give back what it has.
#[derive(Debug, Default)]
pub struct Alone(Mutex<Mail>);

/// A group of one.
pub fn alone() -> Group {
    Arc::new(Alone::default())
}

/// What the rank has sent to itself.
#[derive(Debug, Default)]
struct Mail {
    sent: usize,
    asked: usize,
    /// Messages by their number.
    messages: HashMap<usize, Vec<u8>>,
}

impl Alone {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        Ok(messages)
    }

    fn all_gather(&self, message: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![message.to_vec()])
    }

    fn all_reduce(&self, _values: &mut [f64], _operation: Operation) -> Result<(), Error> {
        Ok(())
    }

    fn start<'a>(
        &'a self,
        sends: Vec<(usize, Vec<u8>)>,
        receives: &[(usize, usize)],
    ) -> Result<Box<dyn Pending + 'a>, Error> {
        let mut mail = self.mail();
        for (_, message) in sends {
            let number = mail.sent;
            mail.messages.insert(number, message);
            mail.sent += 1;
        }
        let first = mail.asked;
        mail.asked += receives.len();
        let lengths = receives.iter().map(|(_, length)| *length).collect();
        Ok(Box::new(Asked { of: self, numbers: first..mail.asked, lengths }))
    }
}

/// Messages that were asked for.
struct Asked<'a> {
    of: &'a Alone,
    numbers: Range<usize>,
    lengths: Vec<usize>,
}

impl Pending for Asked<'_> {
    fn wait(self: Box<Self>) -> Result<Vec<Vec<u8>>, Error> {
        let take = |(number, &expected): (usize, &usize)| {
            // Nobody else would ever send it.
            let found = self.of.mail().messages.remove(&number).ok_or(Error::Ended { rank: 0 })?;
            let length = found.len();
            if length == expected {
                return Ok(found);
            }
            Err(Error::Length { rank: 0, expected, found: length })
        };
        self.numbers.clone().zip(&self.lengths).map(take).collect()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut mail = self.of.mail();
        self.numbers.clone().for_each(|number| drop(mail.messages.remove(&number)));
    }
}
