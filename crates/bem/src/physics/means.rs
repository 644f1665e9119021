//! Means of rows over closed surfaces, which are small where permittivities differ much, and the
//! equations that replace them (docs/math.md, "Gauss's law").

use nalgebra::DMatrix;

use super::closed::{Closed, Equations};
use crate::solve::completion::Laws;

/// A mean that is a combination of others, up to this share, is left out.
const INDEPENDENT: f64 = 0.02;

/// Weighted means of rows, and the replacement of each.
#[derive(Clone)]
pub(super) struct Means {
    all: Vec<Mean>,
    pub(super) laws: Laws,
}

/// The weighted mean of the rows of a closed surface and of all interfaces inside. The fields
/// inside cancel in it, so that only the outer field is left.
#[derive(Clone)]
struct Mean {
    /// Panels of the surface, and whether their normals point out.
    members: Vec<(u32, bool)>,
    /// Panels of interfaces inside.
    interior: Vec<u32>,
}

/// Composition of a mean.
struct Shares {
    /// Panels of the surface, and their shares of its own mean.
    own: Vec<(u32, f64)>,
    /// Panels of the surface and inside, and their shares in the replacement of that mean.
    scaled: Vec<(u32, f64)>,
}

impl Mean {
    fn shares(&self, equations: &Equations<'_>) -> Shares {
        let &Equations { areas, lengths, permittivity } = equations;
        // Rows are multiplied by the length of their own interface.
        let size = |panel: u32| areas[panel as usize] / lengths[panel as usize];
        let weight = |panel: u32| {
            let [front, back] = permittivity[panel as usize];
            (panel, size(panel) * (front + back))
        };
        let members = self.members.iter().map(|&(panel, _)| panel);
        let mut own: Vec<(u32, f64)> = members.clone().map(weight).collect();
        let mut scaled: Vec<(u32, f64)> =
            members.chain(self.interior.iter().copied()).map(weight).collect();
        let total: f64 = own.iter().map(|(_, weight)| weight).sum();
        own.iter_mut().for_each(|(_, weight)| *weight /= total);
        let outside = |&(panel, is_outward): &(u32, bool)| {
            let [front, back] = permittivity[panel as usize];
            size(panel) * if is_outward { front } else { back }
        };
        let outside = 2.0 * self.members.iter().map(outside).sum::<f64>();
        scaled.iter_mut().for_each(|(_, weight)| *weight /= outside);
        Shares { own, scaled }
    }
}

impl Means {
    /// The means over linearly independent surfaces.
    pub(super) fn new(surfaces: &[Closed], equations: &Equations<'_>) -> Self {
        let panels = equations.areas.len();
        let (mut all, mut shares): (Vec<Mean>, Vec<Shares>) = (Vec::new(), Vec::new());
        let mut taken = vec![false; panels];
        for surface in surfaces {
            let itself = surface.members.iter().filter(|m| m.is_itself);
            let members: Vec<(u32, bool)> = itself.map(|m| (m.panel, m.outward() > 0.0)).collect();
            let shares_panels = members.iter().any(|m| taken[m.0 as usize]);
            members.iter().for_each(|m| taken[m.0 as usize] = true);
            let mean = Mean { members, interior: surface.interior.clone() };
            shares.push(mean.shares(equations));
            all.push(mean);
            // Surfaces without common panels have independent means.
            if shares_panels {
                let matrix = matrix(&shares, panels);
                let last = all.len() - 1;
                let own = matrix.clone().try_inverse();
                let own = own.map(|inverse| (inverse[(last, last)] * matrix[(last, last)]).abs());
                if own.is_none_or(|own| own > 1.0 / INDEPENDENT) {
                    all.pop();
                    shares.pop();
                }
            }
        }
        let laws = laws(&shares, panels);
        Self { all, laws }
    }

    /// Replaces the media.
    pub(super) fn set_permittivity(&mut self, equations: &Equations<'_>) {
        let shares: Vec<Shares> = self.all.iter().map(|mean| mean.shares(equations)).collect();
        self.laws = laws(&shares, equations.areas.len());
    }

    /// Divides the means of rows by the factor that makes them small.
    pub(super) fn scale(&self, rows: &mut [f64]) {
        self.laws.shift(&self.laws.missing(&[], rows), rows);
    }
}

/// Entry (k, l): the amount that a unit added to the rows of mean l adds to mean k.
fn matrix(means: &[Shares], panels: usize) -> DMatrix<f64> {
    let mut rows = vec![0.0; panels];
    let mut matrix = DMatrix::zeros(means.len(), means.len());
    for (l, of) in means.iter().enumerate() {
        of.own.iter().for_each(|&(i, _)| rows[i as usize] = 1.0);
        for (k, mean) in means.iter().enumerate() {
            matrix[(k, l)] = mean.own.iter().map(|&(i, share)| share * rows[i as usize]).sum();
        }
        of.own.iter().for_each(|&(i, _)| rows[i as usize] = 0.0);
    }
    matrix
}

/// The law that each mean equals its replacement.
fn laws(means: &[Shares], panels: usize) -> Laws {
    let count = means.len();
    let mut laws = Laws::new(count, panels);
    let mut seen = vec![false; panels];
    let mut own = means.iter().flat_map(|mean| &mean.own);
    let are_apart = own.all(|&(i, _)| !std::mem::replace(&mut seen[i as usize], true));
    let inverse = if are_apart { None } else { matrix(means, panels).try_inverse() };
    for (law, Shares { own, scaled }) in means.iter().enumerate() {
        for &(i, share) in scaled {
            laws.found.add(law, i as usize, share);
        }
        for &(i, share) in own {
            laws.found.add(law, i as usize, -share);
            laws.shifts.add(i as usize, law, 1.0);
        }
    }
    laws.set_inverse(0, &inverse.unwrap_or_else(|| DMatrix::identity(count, count)));
    laws
}
