//! Conductors by overlapping local inverses below a coarse level, interfaces by their diagonal.
//!
//! Equations of the second kind need no more than that. Charges of conductors are computed first;
//! through the near field they enter the equations of the interfaces.
//!
//! The potential of a linear mode on a panel decays like that of a dipole, so the coarse level
//! needs only means: linear densities have local inverses over all modes below it.

use std::sync::Arc;

use parallel::prelude::*;

use super::coarse::Coarse;
use super::coarse::TwoLevel;
use super::local_inverse::LocalInverse;
use super::local_modes::ModeInverseBlock;
use super::local_panels::NEIGHBOURS;
use super::shared::Distributed;
use crate::Error;
use crate::geometry::panels::Panels;
use crate::geometry::partition::Partition;
use crate::near::modes::ModeBlock;
use crate::near::{Near, Stored};
use crate::quadrature::modes::MODES;
use crate::solve::linear_operator::LinearOperator;

/// Preconditioner for all panels.
pub struct Preconditioner {
    /// Panels of conductors.
    conductors: Vec<u32>,
    two_level: Option<TwoLevel>,
    interfaces: Vec<InterfaceRow>,
    /// For linear densities.
    modes: Option<ModeInverse>,
    /// Whether there are interfaces, here or on other ranks.
    has_interfaces: bool,
    len: usize,
    partition: Arc<Partition>,
}

/// All modes of linear densities on conductors; `None` if there are none.
type ModeInverse = Option<LocalInverse<ModeInverseBlock>>;

/// The row of an interface's panel.
struct InterfaceRow {
    panel: u32,
    /// The near field's entries with conductors.
    near: Vec<(u32, f64)>,
    /// Factor of a normal derivative on the panel in its row, and the row's diagonal.
    coupling: f64,
    diagonal: f64,
}

impl InterfaceRow {
    fn solve(&self, x: &[f64], charges: &[f64]) -> f64 {
        let of_conductors: f64 = self.near.iter().map(|&(j, v)| v * charges[j as usize]).sum();
        (x[self.panel as usize] - self.coupling * of_conductors) / self.diagonal
    }
}

impl Preconditioner {
    /// From the exact near field of the local panels, for vectors over these. Collective.
    pub(crate) fn new(near: &Near, panels: Distributed<'_>) -> Result<Self, Error> {
        Self::below_coarse(near, panels, |near, local| LocalInverse::new(near, local, NEIGHBOURS))
    }

    /// For linear densities: from entries between constants, and local inverses over all modes on
    /// conductors, if there are any. Collective.
    pub(crate) fn of_modes(
        constants: &Near,
        panels: Distributed<'_>,
        inverse: ModeInverse,
    ) -> Result<Self, Error> {
        let none = |near: &Near, _: &Panels| LocalInverse::none(near.len());
        Ok(Self { modes: Some(inverse), ..Self::below_coarse(constants, panels, none)? })
    }

    /// With these local inverses over the conductors' panels.
    fn below_coarse(
        near: &Near,
        panels: Distributed<'_>,
        inverses: impl FnOnce(&Near, &Panels) -> LocalInverse,
    ) -> Result<Self, Error> {
        let everywhere = panels.conductor;
        let conductor = &*panels.local_conductor();
        let n = conductor.len();
        let is_conductor = |i: &u32| conductor[*i as usize].is_some();
        let conductors: Vec<u32> = (0..n as u32).filter(is_conductor).collect();
        let mut index = vec![u32::MAX; n];
        conductors.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let mut two_level = None;
        if everywhere.iter().any(Option::is_some) {
            let part;
            let (local, near) = if conductors.len() == n {
                (panels.local, near)
            } else {
                part = (panels.local.subset(&conductors), near.between(&conductors));
                (&part.0, &part.1)
            };
            let inverses = inverses(near, local);
            let coarse = Coarse::new(&panels.conductors(&conductors, local), near)?;
            two_level = Some(TwoLevel::new(inverses, coarse));
        }
        let mut interfaces = Vec::with_capacity(n - conductors.len());
        for block in if conductors.len() < n { 0..near.blocks() } else { 0..0 } {
            let full = near.full_rows(block);
            for i in full.rows.clone().filter(|&i| conductor[i].is_none()) {
                let of = |&(j, v): &(u32, f64)| (index[j as usize], v);
                let near = full.row(i).iter().map(of).filter(|&(j, _)| j != u32::MAX).collect();
                interfaces.push(InterfaceRow {
                    panel: i as u32,
                    near,
                    coupling: 0.0,
                    diagonal: 1.0,
                });
            }
        }
        let has_interfaces = everywhere.iter().any(Option::is_none);
        let partition = Arc::clone(panels.partition);
        let modes = None;
        Ok(Self { conductors, two_level, interfaces, modes, has_interfaces, len: n, partition })
    }

    /// All modes, for `x` and `y` of shape (columns, modes, panels).
    fn apply_modes(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let Self { conductors, two_level, interfaces, modes, partition, has_interfaces, len: n } =
            self;
        let (n, count) = (*n, conductors.len());
        let size = (MODES * n).max(1);
        let mut coarse = two_level.as_mut().and_then(TwoLevel::coarse);
        let of_conductors = |x: &[f64]| -> Vec<f64> {
            let of_column = |x: &[f64]| conductors.iter().map(|&i| x[i as usize]).collect();
            let columns: Vec<Vec<f64>> = x.par_chunks_exact(size).map(of_column).collect();
            columns.concat()
        };
        let (mut means, mut smooth) = (Vec::new(), Vec::new());
        if let Some(coarse) = &coarse {
            means = of_conductors(x);
            smooth = coarse.means(&means, columns)?;
        }
        let of_each = smooth.len() / columns.max(1);
        y.par_chunks_exact_mut(size).enumerate().for_each(|(column, y)| {
            let mut rest = x[column * size..(column + 1) * size].to_vec();
            if let Some(coarse) = &coarse {
                let mut means = means[column * count..(column + 1) * count].to_vec();
                coarse.remove_smooth(&smooth[column * of_each..(column + 1) * of_each], &mut means);
                conductors.iter().zip(&means).for_each(|(&i, left)| rest[i as usize] = *left);
            }
            y.fill(0.0);
            if let Some(inverse) = modes.as_ref().and_then(Option::as_ref) {
                ModeBlock::by_panels(&rest, y, |x, y| inverse.add_product(x, y));
            }
        });
        let mut charges = of_conductors(y);
        if let Some(coarse) = &mut coarse {
            coarse.add_solutions(smooth, &mut charges, columns)?;
        }
        let charges = charges.par_chunks_exact(count.max(1));
        y.par_chunks_exact_mut(size).zip(charges).for_each(|(y, charges)| {
            conductors.iter().zip(charges).for_each(|(&i, q)| y[i as usize] = *q);
        });
        if !*has_interfaces {
            return Ok(());
        }
        // Collective, on ranks without panels too.
        for column in 0..columns {
            let of_column = column * MODES * n..(column + 1) * MODES * n;
            let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
            // The values next to interfaces.
            partition.refresh(&mut y[..partition.local_len()])?;
            let charges = of_conductors(y);
            for row in &*interfaces {
                let i = row.panel as usize;
                y[i] = row.solve(x, &charges);
                (1..MODES).for_each(|m| y[m * n + i] = x[m * n + i] / row.diagonal);
            }
        }
        Ok(())
    }

    /// Sets the media: the factor of a normal derivative on panel i in its row, and the row's
    /// diagonal.
    pub(crate) fn set_rows(&mut self, row: &dyn Fn(usize) -> [f64; 2]) {
        for interface in &mut self.interfaces {
            [interface.coupling, interface.diagonal] = row(interface.panel as usize);
        }
    }
}

impl LinearOperator for Preconditioner {
    fn len(&self) -> usize {
        if self.modes.is_some() { MODES * self.len } else { self.len }
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        if self.modes.is_some() {
            return self.apply_modes(x, y, columns);
        }
        let Self { conductors, two_level, interfaces, has_interfaces, len, partition, .. } = self;
        if let Some(two_level) = two_level.as_mut().filter(|_| !*has_interfaces) {
            return two_level.apply(x, y, columns);
        }
        let n = *len;
        let mut charges = vec![0.0; conductors.len()];
        for column in 0..columns {
            let (x, y) = (&x[column * n..(column + 1) * n], &mut y[column * n..(column + 1) * n]);
            if let Some(two_level) = two_level {
                let potentials: Vec<f64> = conductors.iter().map(|&i| x[i as usize]).collect();
                two_level.apply(&potentials, &mut charges, 1)?;
                conductors.iter().zip(&charges).for_each(|(&i, q)| y[i as usize] = *q);
                if !partition.is_whole() {
                    // The values next to interfaces.
                    partition.refresh(y)?;
                    charges = conductors.iter().map(|&i| y[i as usize]).collect();
                }
            }
            interfaces.iter().for_each(|row| y[row.panel as usize] = row.solve(x, &charges));
        }
        Ok(())
    }
}
