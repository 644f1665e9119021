//! Panels distributed over ranks: the owner of each panel, the other panels that a rank needs, and
//! communication of their values.
//!
//! A rank *owns* some panels and *holds* these and all others near them (its *halo*). It computes
//! on held panels as if there were no others: vectors have a value for each, and the values on the
//! halo are fetched from their owners ([`Share::refresh`]) before they are needed.

use std::sync::Arc;

use comm::{Communicator, Group, Operation};
use parallel::prelude::*;

use super::neighbours::Neighbours;
use super::panels::Panels;
use crate::Error;

/// Panels per search task.
const TOGETHER: usize = 1024;

/// One rank's part of all panels.
#[derive(Debug)]
pub struct Share {
    group: Group,
    dealt: Arc<Dealt>,
    /// The rank's own panels and those near them, in increasing order.
    held: Vec<u32>,
    /// Positions of this rank's panels among the held ones, and whether each held panel is its own.
    places: Vec<u32>,
    is_own: Vec<bool>,
    /// Positions of the values that other ranks need from this one, and of those it needs from
    /// them.
    sends: Vec<(usize, Vec<u32>)>,
    receives: Vec<(usize, Vec<u32>)>,
}

/// Owner of each panel.
#[derive(Debug)]
struct Dealt {
    /// The rank of each panel.
    owners: Vec<u32>,
    /// Panels of each rank, in increasing order.
    owned: Vec<Vec<u32>>,
}

impl Dealt {
    /// Partition along the space-filling curve.
    fn new(panels: &Panels, ranks: usize) -> Self {
        let places: Vec<[f64; 3]> =
            panels.centroids()[..panels.len()].iter().map(|&centroid| centroid.into()).collect();
        let owners = fmm::distributed::along_curve(&places, ranks);
        let mut owned = vec![Vec::new(); ranks];
        owners.iter().zip(0..).for_each(|(&owner, panel)| owned[owner as usize].push(panel));
        Self { owners, owned }
    }
}

impl Share {
    /// Distributes panels along the space-filling curve; panels, including images, are near each
    /// other within their `reach`. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn new(group: &Group, panels: &Panels, reach: &[f64]) -> Result<Self, Error> {
        let _span = tracing::debug_span!("panels to ranks").entered();
        let (n, rank, ranks) = (panels.len(), group.rank(), group.size());
        let dealt = once(&**group, || Ok::<_, Error>(Dealt::new(panels, ranks)))?;
        let Dealt { owners, owned } = &*dealt;
        let own = &owned[rank];

        let search = Neighbours::new(panels.centroids(), reach);
        let around = |own: &[u32]| {
            let (mut walk, mut found) = (search.walk(), Vec::new());
            for &i in own {
                walk.of(i as usize, &mut found);
            }
            found.iter_mut().for_each(|j| *j %= n as u32);
            found.sort_unstable();
            found.dedup();
            found
        };
        let mut held: Vec<u32> = own.par_chunks(TOGETHER).flat_map_iter(around).collect();
        held.extend(own);
        held.par_sort_unstable();
        held.dedup();
        let is_own: Vec<bool> = held.iter().map(|&i| owners[i as usize] == rank as u32).collect();
        let places: Vec<u32> =
            is_own.iter().zip(0..).filter(|(own, _)| **own).map(|(_, k)| k).collect();

        let mut wanted = vec![Vec::new(); ranks];
        let mut receives = vec![Vec::new(); ranks];
        for (&panel, place) in held.iter().zip(0..) {
            let owner = owners[panel as usize] as usize;
            if owner != rank {
                wanted[owner].push(panel);
                receives[owner].push(place);
            }
        }
        let asked = comm::exchange(&**group, &wanted).map_err(lost)?;
        let place = |panel: &u32| held.binary_search(panel).unwrap_or(0) as u32;
        let sends = asked.iter().map(|panels| panels.iter().map(place).collect());
        let some = |(_, places): &(usize, Vec<u32>)| !places.is_empty();
        Ok(Self {
            group: Group::clone(group),
            sends: sends.enumerate().filter(some).collect(),
            receives: receives.into_iter().enumerate().filter(some).collect(),
            dealt,
            held,
            places,
            is_own,
        })
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// This rank's panels, in increasing order.
    pub(crate) fn own(&self) -> &[u32] {
        &self.dealt.owned[self.group.rank()]
    }

    /// This rank's panels and those near them, in increasing order.
    pub(crate) fn held(&self) -> &[u32] {
        &self.held
    }

    /// Whether each held panel is this rank's own.
    pub(crate) fn is_own(&self) -> &[bool] {
        &self.is_own
    }

    /// Number of panels of all ranks.
    pub(crate) fn len(&self) -> usize {
        self.dealt.owners.len()
    }

    /// The index in values on all panels, shape (k, panels), for an index in values on held panels,
    /// shape (k, held).
    pub(crate) fn of_all(&self, place: usize) -> usize {
        let n = self.held.len().max(1);
        place / n * self.len() + self.held.get(place % n).map_or(0, |&panel| panel as usize)
    }

    /// For each of the first k values on all panels, shape (k, panels), its index in values on held
    /// panels, or `u32::MAX` if the panel is not this rank's own.
    pub(crate) fn own_places(&self, k: usize) -> Vec<u32> {
        let (n, held) = (self.len(), self.held.len());
        let mut places = vec![u32::MAX; k * n];
        for row in 0..k {
            for (&panel, place) in self.own().iter().zip(&self.places) {
                places[row * n + panel as usize] = (row * held) as u32 + place;
            }
        }
        places
    }

    /// Selects values on held panels, shape (k, held), from values on all panels, shape (k,
    /// panels).
    pub(crate) fn held_of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.picked(&self.held, all, self.len())
    }

    /// Selects values on own panels, shape (k, own), from values on held panels, shape (k, held).
    pub(crate) fn own_of<T: Copy>(&self, held: &[T]) -> Vec<T> {
        self.picked(&self.places, held, self.held.len())
    }

    fn picked<T: Copy>(&self, chosen: &[u32], from: &[T], n: usize) -> Vec<T> {
        let rows = from.chunks_exact(n.max(1));
        rows.flat_map(|row| chosen.iter().map(|&i| row[i as usize])).collect()
    }

    /// Copies values on own panels, shape (k, own), into values on held panels, shape (k, held).
    pub(crate) fn put_own(&self, own: &[f64], held: &mut [f64]) {
        let rows = held.chunks_exact_mut(self.held.len().max(1));
        for (held, own) in rows.zip(own.chunks_exact(self.places.len().max(1))) {
            self.places.iter().zip(own).for_each(|(&place, value)| held[place as usize] = *value);
        }
    }

    /// Weights on held panels, from those on all, shape (k, panels); 0 on panels of other ranks.
    pub(crate) fn masked(&self, all: &[f64]) -> Vec<f64> {
        let mut masked = self.held_of(all);
        for row in masked.chunks_exact_mut(self.held.len().max(1)) {
            row.iter_mut().zip(&self.is_own).for_each(|(value, own)| {
                if !own {
                    *value = 0.0;
                }
            });
        }
        masked
    }

    /// Fetches values on the halo, shape (k, held), from their owners. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn refresh(&self, values: &mut [f64]) -> Result<(), Error> {
        let n = self.held.len().max(1);
        let rows = values.len() / n;
        // A rank that holds nothing sends and receives nothing.
        let message = |(rank, places): &(usize, Vec<u32>)| {
            let of_row = |row: &[f64]| places.iter().map(|&i| row[i as usize]).collect::<Vec<_>>();
            (*rank, comm::bytes(&values.chunks_exact(n).flat_map(of_row).collect::<Vec<f64>>()))
        };
        let length = |(rank, places): &(usize, Vec<u32>)| (*rank, 8 * rows * places.len());
        let receives: Vec<(usize, usize)> = self.receives.iter().map(length).collect();
        let sends = self.sends.iter().map(message).collect();
        let pending = self.group.start(sends, &receives).map_err(lost)?;
        let messages = pending.wait().map_err(lost)?;
        for ((_, places), message) in self.receives.iter().zip(&messages) {
            let message: Vec<f64> = comm::values(message);
            let rows = values.chunks_exact_mut(n).zip(message.chunks_exact(places.len()));
            for (row, message) in rows {
                places.iter().zip(message).for_each(|(&i, value)| row[i as usize] = *value);
            }
        }
        Ok(())
    }

    /// Collects values on all panels, shape (k, panels), from the ranks' own values in `held`,
    /// shape (k, held). Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn gather(&self, held: &[f64], all: &mut [f64]) -> Result<(), Error> {
        let messages = comm::all_gather(&*self.group, &self.own_of(held)).map_err(lost)?;
        let n = self.len().max(1);
        for (panels, message) in self.dealt.owned.iter().zip(&messages) {
            let rows = all.chunks_exact_mut(n).zip(message.chunks_exact(panels.len().max(1)));
            for (all, row) in rows {
                panels.iter().zip(row).for_each(|(&i, value)| all[i as usize] = *value);
            }
        }
        Ok(())
    }

    /// Sums over all ranks, element by element. Collective.
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn sum(&self, values: &mut [f64]) -> Result<(), Error> {
        sum(&*self.group, values)
    }
}

/// A value that is identical on all ranks: ranks of one process share it, and the first of them
/// makes it. Collective.
///
/// # Errors
/// The error of a rank that makes it; [`Error::Fmm`] if communication fails.
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
///
/// # Errors
/// The rank's own error, or that of the other rank.
pub(crate) fn agreed<T, E: From<Error> + ToString>(
    group: &dyn Communicator,
    own: Result<T, E>,
) -> Result<T, E> {
    let told = own.as_ref().map(|_| ()).map_err(ToString::to_string);
    let agreed = comm::agree(group, told);
    let own = own?;
    agreed.map_err(lost)?;
    Ok(own)
}

/// Sums over all ranks, element by element. Collective.
///
/// # Errors
/// [`Error::Fmm`] if communication fails.
pub(crate) fn sum(group: &dyn Communicator, values: &mut [f64]) -> Result<(), Error> {
    group.all_reduce(values, Operation::Sum).map_err(lost)
}

/// The largest of the numbers that the ranks computed; rounding may make them differ. Collective.
///
/// # Errors
/// [`Error::Fmm`] if communication fails.
pub(crate) fn largest(group: &dyn Communicator, value: f64) -> Result<f64, Error> {
    let mut largest = [if value.is_nan() { f64::INFINITY } else { value }];
    group.all_reduce(&mut largest, Operation::Max).map_err(lost)?;
    Ok(if value.is_nan() { value } else { largest[0] })
}

/// The error for failed communication, or for an error of another rank.
pub(crate) fn lost(error: comm::Error) -> Error {
    fmm::Error::from(error).into()
}
