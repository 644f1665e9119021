//! The charge missing from a state, as far as densities one level finer show it.

use parallel::prelude::*;

use super::super::system::System;
use super::super::{Charges, Excitation};
use super::constant::{self, Constants};
use super::linear::{self, Linears};
use super::local::{self, CHILDREN, ChildFunctions};
use super::values::{self, Values};
use crate::Error;
use crate::space::Density;

/// Charges over 4 pi eps0 on the four children of each triangle, in the order of
/// [`mesh::refine::uniform`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChildCharges {
    /// One per child.
    pub total: Vec<f64>,
    /// As in [`Charges::at_corners`], one per child.
    pub at_corners: Vec<[f64; 3]>,
}

impl<'a> From<&'a ChildCharges> for Charges<'a> {
    fn from(of: &'a ChildCharges) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

impl ChildCharges {
    /// Zero charges on this number of triangles.
    fn zero(triangles: usize, density: Density) -> Self {
        let children = CHILDREN * triangles;
        let corners = if density == Density::Linear { children } else { 0 };
        Self { total: vec![0.0; children], at_corners: vec![[0.0; 3]; corners] }
    }

    /// These charges on triangles, as their children carry them.
    pub fn of<'a>(charges: impl Into<Charges<'a>>) -> Self {
        let charges = charges.into();
        let share = 1.0 / CHILDREN as f64;
        if charges.at_corners.is_empty() {
            let of_triangle = |q: &f64| [share * q; CHILDREN];
            let total = charges.total.iter().flat_map(of_triangle).collect();
            return Self { total, at_corners: Vec::new() };
        }
        let of_triangle = |[a, b, c]: &[f64; 3]| {
            let [a, b, c] = [a, b, c].map(|q| share * q);
            let (ab, bc, ca) = (0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a));
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        Self::of_corners(charges.at_corners.iter().flat_map(of_triangle).collect())
    }

    fn of_corners(at_corners: Vec<[f64; 3]>) -> Self {
        let mean = |[a, b, c]: &[f64; 3]| (a + b + c) / 3.0;
        Self { total: at_corners.iter().map(mean).collect(), at_corners }
    }

    /// Adds `factor` times others.
    pub fn add(&mut self, factor: f64, others: &Self) {
        let totals = self.total.iter_mut().zip(&others.total);
        totals.for_each(|(sum, q)| *sum += factor * q);
        let sums = self.at_corners.as_flattened_mut().iter_mut();
        sums.zip(others.at_corners.as_flattened()).for_each(|(sum, q)| *sum += factor * q);
    }
}

impl System {
    /// Correction of these charges in this excitation by the local problems, each triangle's times
    /// its weight, for a solve to `tolerance`.
    pub(in crate::physics) fn missing(
        &self,
        excitation: &Excitation,
        charges: Charges<'_>,
        weights: &[f64],
        tolerance: f64,
    ) -> Result<ChildCharges, Error> {
        let _span = tracing::debug_span!("local densities").entered();
        let n = self.panels.len();
        let mut found = ChildCharges::zero(self.triangles, self.density);
        if n == 0 {
            return Ok(found);
        }
        let x = charges.of_modes(&self.panels, self.density);
        let of_one = std::slice::from_ref(&x);
        let at =
            values::at(self, std::slice::from_ref(excitation), of_one, self.places(), tolerance)?;
        match self.density {
            Density::Constant => {
                self.missing_of::<Constants, _, _>(excitation, &x, &at, weights, &mut found.total)?;
                Ok(found)
            }
            Density::Linear => {
                let at_corners = found.at_corners.as_flattened_mut();
                self.missing_of::<Linears, _, _>(excitation, &x, &at, weights, at_corners)?;
                Ok(ChildCharges::of_corners(found.at_corners))
            }
        }
    }

    /// Writes charges of children, or at their corners, of all triangles. Collective.
    fn missing_of<F: ChildFunctions<N, ADDED>, const N: usize, const ADDED: usize>(
        &self,
        excitation: &Excitation,
        x: &[f64],
        at: &Values,
        weights: &[f64],
        charges: &mut [f64],
    ) -> Result<(), Error> {
        let of_panel = |i: usize| {
            let held = |conductor: u32| excitation.potentials[conductor as usize];
            let held = self.rows.conductor[i].map(held);
            local::missing::<F, N, ADDED>(self, i, held, x, at)
        };
        let own = self.own(self.panels.len());
        let all: Vec<[f64; N]> = own.clone().into_par_iter().map(of_panel).collect();
        for (i, of_panel) in own.zip(&all) {
            let triangle = self.panels.triangles()[i] as usize;
            let whole = self.panels.scale() * weights[triangle];
            let own = &mut charges[N * triangle..][..N];
            own.iter_mut().zip(of_panel).for_each(|(own, q)| *own = whole * q);
        }
        self.of_all_ranks(charges)
    }

    /// Positions on a panel at which children are evaluated.
    pub(super) fn places(&self) -> &'static [[f64; 3]] {
        match self.density {
            Density::Constant => &constant::PLACES,
            Density::Linear => linear::places(),
        }
    }

    /// Scaled charges at these positions, panel by panel, that represent charges of children.
    pub(super) fn at_places(&self, charges: &ChildCharges) -> Vec<f64> {
        let scale = self.panels.scale();
        let triangles = self.panels.triangles().iter().map(|&t| t as usize);
        match self.density {
            Density::Constant => triangles
                .flat_map(|t| &charges.total[CHILDREN * t..][..CHILDREN])
                .map(|q| q / scale)
                .collect(),
            Density::Linear => triangles
                .flat_map(|t| &charges.at_corners[CHILDREN * t..][..CHILDREN])
                .flat_map(|corners| linear::at_places(corners.map(|q| q / scale)))
                .collect(),
        }
    }
}
