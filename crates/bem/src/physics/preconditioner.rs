//! Conductors by overlapping local inverses below a coarse level, interfaces by their diagonal.
//!
//! The equations of the second kind need no more than that. Charges of conductors are found first and then, through the near
//! field, enter the equations of the interfaces.

use crate::Error;
use crate::near::Near;
use crate::precondition::coarse::Coarse;
use crate::precondition::local_inverse::{LocalInverse, NEIGHBOURS, TwoLevel};
use crate::solve::gmres::LinearOperator;

use super::rows::{Rows, System};

pub(super) struct Preconditioner {
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
}

/// The preconditioner for rows with these media.
pub(super) struct ForRows<'a> {
    preconditioner: &'a mut Preconditioner,
    rows: &'a Rows,
}

impl Preconditioner {
    /// From the exact near field.
    pub(super) fn new(system: &System, near: &Near) -> Self {
        let rows = &system.rows;
        let n = rows.conductor.len();
        let is_conductor = |i: &u32| rows.conductor[*i as usize].is_some();
        let conductors: Vec<u32> = (0..n as u32).filter(is_conductor).collect();
        let mut index = vec![u32::MAX; n];
        conductors.iter().enumerate().for_each(|(k, &i)| index[i as usize] = k as u32);
        let mut two_level = None;
        if !conductors.is_empty() {
            let part;
            let (panels, near) = if conductors.len() == n {
                (&*system.panels, near)
            } else {
                part = (system.panels.subset(&conductors), near.between(&conductors));
                (&part.0, &part.1)
            };
            let local = LocalInverse::new(near, panels, NEIGHBOURS);
            let owner: Vec<u32> =
                conductors.iter().filter_map(|&i| rows.conductor[i as usize]).collect();
            two_level = Some(TwoLevel::new(local, Coarse::new(panels, &owner, near)));
        }
        let mut interfaces = Vec::with_capacity(n - conductors.len());
        for block in if conductors.len() < n { 0..near.blocks() } else { 0..0 } {
            let full = near.full_rows(block);
            for i in full.rows.clone().filter(|&i| rows.conductor[i].is_none()) {
                let of = |&(j, v): &(u32, f64)| (index[j as usize], v);
                let near = full.row(i).iter().map(of).filter(|&(j, _)| j != u32::MAX).collect();
                interfaces.push(InterfaceRow { panel: i as u32, near });
            }
        }
        Self { conductors, two_level, interfaces, len: n }
    }

    /// For these media.
    pub(super) fn for_rows<'a>(&'a mut self, rows: &'a Rows) -> ForRows<'a> {
        ForRows { preconditioner: self, rows }
    }
}

impl LinearOperator for ForRows<'_> {
    fn len(&self) -> usize {
        self.preconditioner.len
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let (rows, Preconditioner { conductors, two_level, interfaces, len }) =
            (self.rows, &mut *self.preconditioner);
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
            for InterfaceRow { panel, near } in interfaces.iter() {
                let i = *panel as usize;
                let of_conductors: f64 = near.iter().map(|&(j, v)| v * charges[j as usize]).sum();
                y[i] = (x[i] - rows.coupling(i) * of_conductors) / rows.diagonal(i);
            }
        }
        Ok(())
    }
}
