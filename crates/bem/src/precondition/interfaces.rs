//! Conductors by overlapping local inverses below a coarse level, interfaces by their diagonal.
//!
//! Equations of the second kind need no more than that. Charges of conductors are computed first;
//! through the near field they enter the equations of the interfaces.

use std::sync::Arc;

use super::coarse::Coarse;
use super::coarse::TwoLevel;
use super::local_inverse::{LocalInverse, NEIGHBOURS};
use super::mode_inverse::ModeInverse;
use super::shared::Distributed;
use crate::Error;
use crate::geometry::partition::Partition;
use crate::near::Near;
use crate::solve::linear_operator::LinearOperator;

/// Preconditioner for all panels.
pub struct Preconditioner {
    /// Panels of conductors.
    conductors: Vec<u32>,
    two_level: Option<TwoLevel>,
    interfaces: Vec<InterfaceRow>,
    /// Whether there are interfaces, here or on other ranks.
    has_interfaces: bool,
    len: usize,
    partition: Arc<Partition>,
}

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
    ///
    /// # Errors
    /// [`Error::Fmm`] if communication fails.
    pub(crate) fn new(near: &Near, panels: Distributed<'_>) -> Result<Self, Error> {
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
            let inverses = LocalInverse::new(near, local, NEIGHBOURS);
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
        Ok(Self { conductors, two_level, interfaces, has_interfaces, len: n, partition })
    }

    /// All modes of linear densities on conductors by `inverse`, which replaces the local inverses
    /// of means, and the means on interfaces; `x` and `y` are of shape (modes, panels).
    ///
    /// # Errors
    /// As for [`LinearOperator::apply`].
    pub(crate) fn apply_modes(
        &mut self,
        inverse: &ModeInverse,
        x: &[f64],
        y: &mut [f64],
    ) -> Result<(), Error> {
        let Self { conductors, two_level, interfaces, partition, has_interfaces, .. } = self;
        let mut coarse = two_level.as_mut().and_then(TwoLevel::coarse);
        let of_conductors =
            |x: &[f64]| -> Vec<f64> { conductors.iter().map(|&i| x[i as usize]).collect() };
        let mut rest = x.to_vec();
        let mut smooth = None;
        if let Some(coarse) = &mut coarse {
            let mut of_means = of_conductors(x);
            let means = coarse.means(&of_means, 1)?;
            coarse.remove_smooth(&means, &mut of_means);
            conductors.iter().zip(&of_means).for_each(|(&i, rest_of)| rest[i as usize] = *rest_of);
            smooth = Some(means);
        }
        inverse.multiply(&rest, y);
        if let (Some(coarse), Some(smooth)) = (coarse, smooth) {
            let mut charges = of_conductors(y);
            coarse.add_solutions(smooth, &mut charges, 1)?;
            conductors.iter().zip(&charges).for_each(|(&i, q)| y[i as usize] = *q);
        }
        if *has_interfaces {
            // The values next to interfaces.
            partition.refresh(&mut y[..partition.local_len()])?;
        }
        let charges = of_conductors(y);
        interfaces.iter().for_each(|row| y[row.panel as usize] = row.solve(x, &charges));
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
        self.len
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let Self { conductors, two_level, interfaces, has_interfaces, len, partition } = self;
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
