//! Panels distributed over the ranks of a group: the owner of each panel, the other panels that a
//! rank needs, and communication of their values.
//!
//! A rank *owns* some panels; *local* are these and all others near them (its *halo*). It computes
//! on local panels as if there were no others: vectors have a value for each, and the values on the
//! halo are fetched from their owners ([`Partition::refresh`]) before they are needed. On a group
//! of one all panels are owned and local, and nothing is stored, copied or sent.

use std::borrow::Cow;
use std::sync::Arc;

use comm::Group;
use parallel::prelude::*;

use super::neighbours::Neighbours;
use super::panels::Panels;
use crate::Error;
use crate::collective::{self, lost};

/// Panels per search task.
const TOGETHER: usize = 1024;

/// One rank's view of all panels.
#[derive(Debug)]
pub struct Partition {
    group: Group,
    /// Number of panels of all ranks.
    panels: usize,
    /// `None` on a group of one.
    part: Option<Part>,
}

/// One rank's part of panels that several ranks share.
#[derive(Debug)]
struct Part {
    rank: usize,
    owners: Arc<Owners>,
    /// The rank's own panels and those near them, in increasing order.
    local: Vec<u32>,
    /// Positions of owned panels among the local ones, and whether each local panel is owned.
    positions: Vec<u32>,
    is_owned: Vec<bool>,
    /// Positions of the values that other ranks need from this one, and of those it needs from
    /// them.
    sends: Vec<(usize, Vec<u32>)>,
    receives: Vec<(usize, Vec<u32>)>,
}

/// Owner of each panel.
#[derive(Debug)]
struct Owners {
    /// The rank of each panel.
    of_panel: Vec<u32>,
    /// Panels of each rank, in increasing order.
    owned: Vec<Vec<u32>>,
}

impl Owners {
    /// Partition along the space-filling curve.
    fn new(panels: &Panels, ranks: usize) -> Self {
        let places: Vec<[f64; 3]> =
            panels.centroids()[..panels.len()].iter().map(|&centroid| centroid.into()).collect();
        let of_panel = fmm::distributed::along_curve(&places, ranks);
        let mut owned = vec![Vec::new(); ranks];
        of_panel.iter().zip(0..).for_each(|(&owner, panel)| owned[owner as usize].push(panel));
        Self { of_panel, owned }
    }
}

impl Part {
    /// Panels near each other within their `reach` are local. Collective.
    fn new(group: &Group, panels: &Panels, reach: &[f64]) -> Result<Self, Error> {
        let _span = tracing::debug_span!("panels to ranks").entered();
        let (n, rank, ranks) = (panels.len(), group.rank(), group.size());
        let owners = collective::once(&**group, || Ok::<_, Error>(Owners::new(panels, ranks)))?;
        let owned = &owners.owned[rank];

        let search = Neighbours::new(panels.centroids(), reach);
        let around = |chunk: &[u32]| {
            let (mut walk, mut neighbours) = (search.walk(), Vec::new());
            for &i in chunk {
                walk.of(i as usize, &mut neighbours);
            }
            neighbours.iter_mut().for_each(|j| *j %= n as u32);
            neighbours.sort_unstable();
            neighbours.dedup();
            neighbours
        };
        let mut local: Vec<u32> = owned.par_chunks(TOGETHER).flat_map_iter(around).collect();
        local.extend(owned);
        local.par_sort_unstable();
        local.dedup();
        let is_owned: Vec<bool> =
            local.iter().map(|&i| owners.of_panel[i as usize] == rank as u32).collect();
        let positions: Vec<u32> =
            is_owned.iter().zip(0..).filter(|(owned, _)| **owned).map(|(_, k)| k).collect();

        let mut wanted = vec![Vec::new(); ranks];
        let mut receives = vec![Vec::new(); ranks];
        for (&panel, position) in local.iter().zip(0..) {
            let owner = owners.of_panel[panel as usize] as usize;
            if owner != rank {
                wanted[owner].push(panel);
                receives[owner].push(position);
            }
        }
        let asked = comm::exchange(&**group, &wanted).map_err(lost)?;
        let position = |panel: &u32| local.binary_search(panel).unwrap_or(0) as u32;
        let sends = asked.iter().map(|panels| panels.iter().map(position).collect());
        let some = |(_, positions): &(usize, Vec<u32>)| !positions.is_empty();
        Ok(Self {
            rank,
            sends: sends.enumerate().filter(some).collect(),
            receives: receives.into_iter().enumerate().filter(some).collect(),
            owners,
            local,
            positions,
            is_owned,
        })
    }

    fn owned(&self) -> &[u32] {
        &self.owners.owned[self.rank]
    }

    /// Fetches values on the halo, shape (k, local). Collective.
    fn refresh(&self, group: &Group, values: &mut [f64]) -> Result<(), Error> {
        let n = self.local.len().max(1);
        let rows = values.len() / n;
        // A rank without local panels sends and receives nothing.
        let message = |(rank, positions): &(usize, Vec<u32>)| {
            let of_row =
                |row: &[f64]| positions.iter().map(|&i| row[i as usize]).collect::<Vec<_>>();
            (*rank, comm::bytes(&values.chunks_exact(n).flat_map(of_row).collect::<Vec<f64>>()))
        };
        let length = |(rank, positions): &(usize, Vec<u32>)| (*rank, 8 * rows * positions.len());
        let receives: Vec<(usize, usize)> = self.receives.iter().map(length).collect();
        let sends = self.sends.iter().map(message).collect();
        let pending = group.start(sends, &receives).map_err(lost)?;
        let messages = pending.wait().map_err(lost)?;
        for ((_, positions), message) in self.receives.iter().zip(&messages) {
            let message: Vec<f64> = comm::values(message);
            let rows = values.chunks_exact_mut(n).zip(message.chunks_exact(positions.len()));
            for (row, message) in rows {
                positions.iter().zip(message).for_each(|(&i, value)| row[i as usize] = *value);
            }
        }
        Ok(())
    }
}

/// Some values of each row of `n`.
fn picked<T: Copy>(chosen: &[u32], from: &[T], n: usize) -> Vec<T> {
    let rows = from.chunks_exact(n.max(1));
    rows.flat_map(|row| chosen.iter().map(|&i| row[i as usize])).collect()
}

impl Partition {
    /// Distributes panels along the space-filling curve; panels, including images, are near each
    /// other within their `reach`, which is asked for only if there are several ranks. Collective.
    pub fn new(
        group: &Group,
        panels: &Panels,
        reach: impl FnOnce() -> Vec<f64>,
    ) -> Result<Self, Error> {
        let is_shared = group.size() > 1;
        let part = is_shared.then(|| Part::new(group, panels, &reach())).transpose()?;
        Ok(Self { group: Group::clone(group), panels: panels.len(), part })
    }

    /// All of this number of panels on a group of one.
    pub fn whole(panels: usize) -> Self {
        Self { group: comm::alone(), panels, part: None }
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Whether this rank has all panels: its group is of one.
    pub(crate) fn is_whole(&self) -> bool {
        self.part.is_none()
    }

    /// Number of panels of all ranks.
    pub(crate) fn len(&self) -> usize {
        self.panels
    }

    /// Number of local panels.
    pub fn local_len(&self) -> usize {
        self.part.as_ref().map_or(self.panels, |part| part.local.len())
    }

    /// Whether this rank owns a local panel, given by its position.
    pub fn is_owned(&self, local: usize) -> bool {
        self.part.as_ref().is_none_or(|part| part.is_owned[local])
    }

    /// The position of a panel among the owned ones; `None` if another rank owns it.
    pub fn owned_position(&self, panel: usize) -> Option<usize> {
        match &self.part {
            None => Some(panel),
            Some(part) => part.owned().binary_search(&(panel as u32)).ok(),
        }
    }

    /// The index in values on all panels, shape (k, panels), for an index in values on local
    /// panels, shape (k, local).
    pub fn global(&self, index: usize) -> usize {
        let Some(Part { local, .. }) = &self.part else { return index };
        let n = local.len().max(1);
        index / n * self.panels + local.get(index % n).map_or(0, |&panel| panel as usize)
    }

    /// For each of the first k values on all panels, shape (k, panels), its index in values on
    /// local panels, or `u32::MAX` if another rank owns the panel; `None` on a group of one, where
    /// indices are the same.
    pub fn indices_of_owned(&self, k: usize) -> Option<Vec<u32>> {
        let part = self.part.as_ref()?;
        let (n, local) = (self.panels, part.local.len());
        let mut indices = vec![u32::MAX; k * n];
        for row in 0..k {
            for (&panel, position) in part.owned().iter().zip(&part.positions) {
                indices[row * n + panel as usize] = (row * local) as u32 + position;
            }
        }
        Some(indices)
    }

    /// `all` on a group of one, else the part that `subset` selects for the local panels.
    pub(crate) fn local_part<'a, T: Clone>(
        &self,
        all: &'a T,
        subset: impl FnOnce(&T, &[u32]) -> T,
    ) -> Cow<'a, T> {
        let part = self.part.as_ref();
        part.map_or(Cow::Borrowed(all), |part| Cow::Owned(subset(all, &part.local)))
    }

    /// As [`local_part`](Self::local_part), for the owned panels.
    pub(crate) fn owned_part<'a, T: Clone>(
        &self,
        all: &'a T,
        subset: impl FnOnce(&T, &[u32]) -> T,
    ) -> Cow<'a, T> {
        let part = self.part.as_ref();
        part.map_or(Cow::Borrowed(all), |part| Cow::Owned(subset(all, part.owned())))
    }

    /// Values on local panels, shape (k, local), from values on all panels, shape (k, panels).
    pub fn local_of<'a, T: Copy>(&self, all: &'a [T]) -> Cow<'a, [T]> {
        match &self.part {
            None => Cow::Borrowed(all),
            Some(part) => Cow::Owned(picked(&part.local, all, self.panels)),
        }
    }

    /// Values on owned panels, shape (k, owned), from values on local panels, shape (k, local).
    pub fn owned_of<'a, T: Copy>(&self, local: &'a [T]) -> Cow<'a, [T]> {
        match &self.part {
            None => Cow::Borrowed(local),
            Some(part) => Cow::Owned(picked(&part.positions, local, part.local.len())),
        }
    }

    /// Weights on local panels, from those on all, shape (k, panels); 0 on panels of other ranks.
    pub fn masked<'a>(&self, all: &'a [f64]) -> Cow<'a, [f64]> {
        let Some(Part { local, is_owned, .. }) = &self.part else { return Cow::Borrowed(all) };
        let mut masked = picked(local, all, self.panels);
        for row in masked.chunks_exact_mut(local.len().max(1)) {
            let of_others = row.iter_mut().zip(is_owned).filter(|(_, owned)| !**owned);
            of_others.for_each(|(value, _)| *value = 0.0);
        }
        Cow::Owned(masked)
    }

    /// Fills values on local panels, shape (k, local), by `fill`, which computes those on owned
    /// panels, shape (k, owned); values on the halo become 0.
    pub fn fill_owned(
        &self,
        local: &mut [f64],
        fill: impl FnOnce(&mut [f64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(part) = &self.part else { return fill(local) };
        let (n, count) = (part.local.len().max(1), part.positions.len());
        let mut owned = vec![0.0; local.len() / n * count];
        fill(&mut owned)?;
        local.fill(0.0);
        for (local, owned) in local.chunks_exact_mut(n).zip(owned.chunks_exact(count.max(1))) {
            let values = part.positions.iter().zip(owned);
            values.for_each(|(&position, value)| local[position as usize] = *value);
        }
        Ok(())
    }

    /// Fills values on all panels, shape (k, panels), by `fill`, which computes those on local
    /// panels, shape (k, local). Collective.
    pub fn fill_all(
        &self,
        all: &mut [f64],
        fill: impl FnOnce(&mut [f64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(part) = &self.part else { return fill(all) };
        let mut local = vec![0.0; all.len() / self.panels.max(1) * part.local.len()];
        fill(&mut local)?;
        self.gather(&local, all)
    }

    /// Fetches values on the halo, shape (k, local), from their owners. Collective.
    pub(crate) fn refresh(&self, values: &mut [f64]) -> Result<(), Error> {
        self.part.as_ref().map_or(Ok(()), |part| part.refresh(&self.group, values))
    }

    /// The same values after [`refresh`](Self::refresh). Collective.
    pub fn refreshed<'a>(&self, values: &'a [f64]) -> Result<Cow<'a, [f64]>, Error> {
        let mut values = Cow::Borrowed(values);
        if let Some(part) = &self.part {
            part.refresh(&self.group, values.to_mut())?;
        }
        Ok(values)
    }

    /// Collects values on all panels, shape (k, panels), from the ranks' values on owned panels in
    /// `local`, shape (k, local). Collective.
    pub(crate) fn gather(&self, local: &[f64], all: &mut [f64]) -> Result<(), Error> {
        let Some(part) = &self.part else {
            all.copy_from_slice(local);
            return Ok(());
        };
        let messages = comm::all_gather(&*self.group, &self.owned_of(local)).map_err(lost)?;
        for (panels, message) in part.owners.owned.iter().zip(&messages) {
            let rows = all.chunks_exact_mut(self.panels.max(1));
            for (all, row) in rows.zip(message.chunks_exact(panels.len().max(1))) {
                panels.iter().zip(row).for_each(|(&i, value)| all[i as usize] = *value);
            }
        }
        Ok(())
    }

    /// Sums over all ranks, element by element. Collective.
    pub fn sum(&self, values: &mut [f64]) -> Result<(), Error> {
        // Of one rank without a message, so that threads may ask at once.
        if self.is_whole() { Ok(()) } else { collective::sum(&*self.group, values) }
    }
}
