//! The charge missing from a state, as far as densities one level finer show it.

use parallel::prelude::*;

use super::super::rows::System;
use super::super::{Charges, Excitation};
use super::{CHILDREN, constant, linear, values};
use crate::Error;
use crate::space::Density;

/// Charges over 4 pi eps0 on the four children of each triangle, in the order of
/// [`mesh::refine::uniform`].
#[derive(Clone, Debug, Default, PartialEq)]
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
        let held = |i: usize| Some(excitation.potentials[self.rows.conductor[i]? as usize]);
        let whole = |i: usize| self.panels.scale() * weights[self.panels.triangles()[i] as usize];
        let triangle = |i: usize| CHILDREN * self.panels.triangles()[i] as usize;
        if self.density == Density::Constant {
            let of_panel = |i: usize| match held(i) {
                Some(held) => constant::missing_on_conductor(self, i, held, at.potential(i, 0)),
                None => constant::missing_on_interface(self, i, &x, at.normal_derivative(i, 0)),
            };
            let own = self.own(n);
            let all: Vec<[f64; CHILDREN]> = own.clone().into_par_iter().map(of_panel).collect();
            for (i, charges) in own.zip(&all) {
                let own = &mut found.total[triangle(i)..][..CHILDREN];
                own.iter_mut().zip(charges).for_each(|(own, q)| *own = whole(i) * q);
            }
            self.of_all_ranks(&mut found.total)?;
            return Ok(found);
        }
        let of_panel = |i: usize| match held(i) {
            Some(held) => linear::missing_on_conductor(self, i, held, &at.potential(i, 0)),
            None => linear::missing_on_interface(self, i, &x, &at.normal_derivative(i, 0)),
        };
        let own = self.own(n);
        let all: Vec<_> = own.clone().into_par_iter().map(of_panel).collect();
        for (i, charges) in own.zip(&all) {
            let own = found.at_corners[triangle(i)..][..CHILDREN].as_flattened_mut();
            own.iter_mut().zip(charges).for_each(|(own, q)| *own = whole(i) * q);
        }
        self.of_all_ranks(found.at_corners.as_flattened_mut())?;
        Ok(ChildCharges::of_corners(found.at_corners))
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
