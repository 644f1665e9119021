//! Conductors by overlapping local inverses below a coarse level, interfaces by their diagonal.
//!
//! The equations of the second kind need no more than that. Charges of conductors are found first
//! and then, through the near field, enter the equations of the interfaces.

use super::coarse::Coarse;
use super::local_inverse::{LocalInverse, NEIGHBOURS, TwoLevel};
use super::mode_inverse::ModeInverse;
use crate::Error;
use crate::geometry::panels::Panels;
use crate::near::Near;
use crate::solve::gmres::LinearOperator;

/// What makes charges of residuals, for all panels.
pub(crate) struct Preconditioner {
    /// Panels of conductors.
    conductors: Vec<u32>,
    two_level: Option<TwoLevel>,
    interfaces: Vec<InterfaceRow>,
    len: usize,
}

/// The row of an interface's panel.
struct InterfaceRow {
    panel: u32,
    /// The near field's entries with conductors.
    near: Vec<(u32, f64)>,
    /// What a normal derivative on the panel counts in its row, and the row's diagonal.
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
    /// From the exact near field; `conductor` of each panel, `None` on interfaces.
    pub(crate) fn new(near: &Near, panels: &Panels, conductor: &[Option<u32>]) -> Self {
        let n = conductor.len();
        let is_conductor = |i: &u32| conductor[*i as usize].is_some();
        let conductors: Vec<u32> = (0..n as u32).filter(is_conductor).collect();
        let mut index = vec![u32::MAX; n];
        conductors.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let mut two_level = None;
        if !conductors.is_empty() {
            let part;
            let (panels, near) = if conductors.len() == n {
                (panels, near)
            } else {
                part = (panels.subset(&conductors), near.between(&conductors));
                (&part.0, &part.1)
            };
            let local = LocalInverse::new(near, panels, NEIGHBOURS);
            let owner: Vec<u32> = conductor.iter().flatten().copied().collect();
            two_level = Some(TwoLevel::new(local, Coarse::new(panels, &owner, near)));
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
        Self { conductors, two_level, interfaces, len: n }
    }

    /// All modes of linear densities on conductors by `inverse` in the place of the local inverses
    /// of means, and interfaces' means; `x` and `y` are of shape (modes, panels).
    ///
    /// # Errors
    /// As [`LinearOperator::apply`].
    pub(crate) fn apply_modes(
        &mut self,
        inverse: &ModeInverse,
        x: &[f64],
        y: &mut [f64],
    ) -> Result<(), Error> {
        let Self { conductors, two_level, interfaces, .. } = self;
        let mut coarse = two_level.as_mut().and_then(TwoLevel::coarse);
        let of_conductors =
            |x: &[f64]| -> Vec<f64> { conductors.iter().map(|&i| x[i as usize]).collect() };
        let mut rest = x.to_vec();
        let mut smooth = None;
        if let Some(coarse) = &mut coarse {
            let mut means = of_conductors(x);
            smooth = Some(coarse.remove_smooth(&mut means));
            conductors.iter().zip(&means).for_each(|(&i, mean)| rest[i as usize] = *mean);
        }
        inverse.multiply(&rest, y);
        if let (Some(coarse), Some(smooth)) = (coarse, smooth) {
            let mut charges = of_conductors(y);
            coarse.add_solutions(smooth, &mut charges, 1)?;
            conductors.iter().zip(&charges).for_each(|(&i, q)| y[i as usize] = *q);
        }
        let charges = of_conductors(y);
        interfaces.iter().for_each(|row| y[row.panel as usize] = row.solve(x, &charges));
        Ok(())
    }

    /// Takes these media: what a normal derivative on panel i counts in its row, and the row's
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
        let Self { conductors, two_level, interfaces, len } = self;
        if let Some(two_level) = two_level.as_mut().filter(|_| interfaces.is_empty()) {
            return two_level.apply(x, y, columns);
        }
        let n = (*len).max(1);
        let mut charges = vec![0.0; conductors.len()];
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            if let Some(two_level) = two_level {
                let potentials: Vec<f64> = conductors.iter().map(|&i| x[i as usize]).collect();
                two_level.apply(&potentials, &mut charges, 1)?;
                conductors.iter().zip(&charges).for_each(|(&i, q)| y[i as usize] = *q);
            }
            interfaces.iter().for_each(|row| y[row.panel as usize] = row.solve(x, &charges));
        }
        Ok(())
    }
}
