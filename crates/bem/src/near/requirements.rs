//! Accuracy that charges in space require of a near field.
//!
//! Panels are weighted by the charge that a potential of 1 puts on them. Next to a point charge
//! they carry far more: about what the charge induces on a plane, a density of 2 E / (4 pi) with E
//! the field of all that is outside. Such densities gather on a small part of the surface, where
//! panels are many and small: the weight of an error is the density over that part, not that over
//! the larger panels next to it.

use std::f64::consts::PI;

use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;

/// A charge at height h over a plane induces its own size, with the density under it, on an area of
/// this times h^2.
const PATCH: f64 = 2.0 * PI;

/// A near field for some needs also serves needs that are at most this many times larger.
const SIMILAR: f64 = 2.0;

/// External sources acting on panels, in scaled coordinates.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Charges over 4 pi eps0, in vacuum, including images.
    pub charges: Vec<(Vec3, f64)>,
    /// The uniform field.
    pub field: Vec3,
    /// The potential that all errors are relative to.
    pub size: f64,
}

/// Accuracy required of each panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Induced densities on each panel, for each set of sources.
    pub columns: Vec<Induced>,
    /// Weight of an error in a panel's row in the mean square over its part, relative to that of a
    /// panel of mean size.
    rows: Vec<f64>,
}

/// Charge that sources induce on a panel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Induced {
    /// 4 pi times the density, relative to the size of the sources.
    pub density: f64,
    /// Area around the panel with about this density.
    pub around: f64,
}

impl Requirements {
    /// Needs of panels under `sources`, given the part that each panel belongs to and its share of
    /// the part's area.
    pub fn new(panels: &Panels, sources: &[Sources], parts: &[u32], shares: &[f64]) -> Self {
        let mut members = vec![0.0; parts.iter().map(|&p| p as usize + 1).max().unwrap_or(0)];
        parts.iter().for_each(|&p| members[p as usize] += 1.0);
        let row = |(&p, share): (&u32, &f64)| (share * members[p as usize]).sqrt().min(1.0);
        let rows = parts.iter().zip(shares).map(row).collect();
        let induced = |i: usize| {
            let of = sources.iter().map(|sources| sources.induce(panels, i));
            of.fold(Induced::default(), |a, b| if b.density > a.density { b } else { a })
        };
        let columns = (0..panels.len()).into_par_iter().map(induced).collect();
        Self { columns, rows }
    }

    /// Needs of some of the panels.
    pub(crate) fn subset(&self, chosen: &[u32]) -> Self {
        let of = |i: &u32| *i as usize;
        Self {
            columns: chosen.iter().map(|i| self.columns[of(i)]).collect(),
            rows: chosen.iter().map(|i| self.rows[of(i)]).collect(),
        }
    }

    /// Weight of an error of the potential of a unit charge on panel `column` in the row of another
    /// panel.
    pub fn weight(&self, panels: &Panels, row: usize, column: usize) -> f64 {
        let Induced { density, around } = self.columns[column];
        let [own, other] = [column, row].map(|i| panels.areas()[i].min(around));
        // Errors add up as square roots of areas, as for charges that panels carry anyway.
        density * (own * other.max(own)).sqrt() * self.rows[row]
    }

    /// Whether anything is induced anywhere.
    pub(crate) fn are_any(&self) -> bool {
        self.columns.iter().any(|column| column.density > 0.0)
    }

    /// For each panel the induced density, the area around it with about this density, and the
    /// weight of errors in its row; `None` if nothing is needed anywhere.
    pub(crate) fn of_panels(&self) -> Option<Vec<[f64; 3]>> {
        let of = |(column, row): (&Induced, &f64)| [column.density, column.around, *row];
        self.are_any().then(|| self.columns.iter().zip(&self.rows).map(of).collect())
    }

    /// Whether a near field chosen for these needs also serves others of the same panels.
    pub fn serve(&self, panels: &Panels, others: &Self) -> bool {
        let charges = panels.parts().1.iter().zip(panels.areas());
        let mut each = self.columns.iter().zip(&others.columns).zip(charges);
        each.all(|((own, other), (charge, area))| {
            let is_similar = |a: f64, b: f64| a <= SIMILAR * b;
            let strength = |of: &Induced| of.density * of.around.sqrt();
            is_similar(other.density * area, *charge)
                || (is_similar(other.density, own.density)
                    && is_similar(strength(other), strength(own)))
        })
    }

    /// The larger needs of both.
    pub fn with(mut self, others: &Self) -> Self {
        for (own, other) in self.columns.iter_mut().zip(&others.columns) {
            own.density = own.density.max(other.density);
            own.around = own.around.max(other.around);
        }
        self
    }
}

impl Sources {
    fn induce(&self, panels: &Panels, panel: usize) -> Induced {
        let at = panels.centroid(panel);
        let (mut gradient, mut nearest) = (self.field, f64::INFINITY);
        for (y, q) in &self.charges {
            let r = at - y;
            let square = r.norm_squared();
            if square > 0.0 {
                gradient += r * (q / (square * square.sqrt()));
                nearest = nearest.min(square);
            }
        }
        let density = 2.0 * gradient.norm() / self.size;
        if self.size > 0.0 {
            Induced { density, around: PATCH * nearest }
        } else {
            Induced::default()
        }
    }
}
