//! Parts of the surface that panels belong to, and weights of errors by the charge that a part
//! carries.

use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::ordered;

/// Panels longer than this multiple of their width are slivers.
const SLIVER: f64 = 30.0;

/// Assumed number of aligned slivers, as along a needle, whose errors add with one sign.
const ALIKE: f64 = 8.0;

/// Number of sample panels at which the potential of a part is evaluated.
const PROBES: usize = 32;

/// Panels whose areas one thread adds up.
const PIECE: usize = 1 << 14;

impl Panels {
    /// The same panels with these parts, such as conductors, instead of the connected parts.
    pub fn with_parts(mut self, part: Vec<u32>) -> Self {
        let count = part.iter().map(|&p| p as usize + 1).max().unwrap_or(0);
        let mut members = vec![Vec::new(); count];
        let mut at = 0;
        for own in part.chunk_by(|a, b| a == b) {
            members[own[0] as usize].extend(at as u32..(at + own.len()) as u32);
            at += own.len();
        }
        let densities: Vec<f64> = members.par_iter().map(|of| self.density(of)).collect();
        let charge = |i: usize| {
            let panel = self.panel(i);
            // Length over width.
            let aspect = panel.diameter().powi(2) / (2.0 * panel.area);
            let alike = (aspect / SLIVER).clamp(1.0, ALIKE);
            self.areas[i] * densities[part[i] as usize] * alike
        };
        self.charges = (0..part.len()).into_par_iter().map(charge).collect();
        self.part = part;
        self
    }

    /// The constant density that gives these panels a mean potential of 1, relative to that on a
    /// sphere of the size of all panels' box: the finer their shape, the larger. At least 1, the
    /// value for large surfaces without gaps.
    fn density(&self, members: &[u32]) -> f64 {
        let area_of = |own: &[u32]| own.iter().map(|&i| self.areas[i as usize]).sum::<f64>();
        let areas: Vec<f64> = members.par_chunks(PIECE).map(area_of).collect();
        let area: f64 = areas.iter().sum();
        // The mean over a few panels, evenly distributed over the area.
        let (step, mut passed) = (area / PROBES as f64, 0.5 * area / PROBES as f64);
        let mut chosen = Vec::with_capacity(PROBES);
        for (own, area) in members.chunks(PIECE).zip(areas) {
            if passed + area < step {
                passed += area;
                continue;
            }
            for &i in own {
                passed += self.areas[i as usize];
                let times = (passed / step) as usize;
                passed -= times as f64 * step;
                chosen.extend(std::iter::repeat_n(i, times.min(PROBES)));
            }
        }
        let potential = |&i: &u32| -> f64 {
            let term = |&j: &u32| {
                let r = (self.centroids[i as usize] - self.centroids[j as usize]).norm();
                if i == j {
                    let panel = self.panel(i as usize);
                    panel.self_integral() / panel.area
                } else if r > 0.0 {
                    self.areas[j as usize] / r
                } else {
                    0.0
                }
            };
            members.iter().map(term).sum()
        };
        let mean = ordered::sum(&chosen, potential) / chosen.len().max(1) as f64;
        let density = 4.0 * std::f64::consts::PI / mean;
        // NaN, from panels without area, counts as 1.
        density.max(1.0)
    }

    /// Weight of an error of the potential of a unit charge on panel `j` at panel `i`, and vice
    /// versa.
    ///
    /// The error is multiplied by the charge on the panel while its part has unit potential. Within
    /// a part errors matter by their mean square over it, so between functions of unit
    /// norm; for a part that is small compared with a panel of another part, that panel's error is
    /// everywhere.
    pub(crate) fn weights(&self, i: usize, j: usize) -> [f64; 2] {
        let (a, b) = (self.charges[i], self.charges[j]);
        if self.part[i] == self.part[j] { [(a * b).sqrt(); 2] } else { [b, a] }
    }

    /// As [`weights`](Self::weights), for fields, measured by the density that causes them.
    pub(crate) fn weights_of_gradients(&self, i: usize, j: usize) -> [f64; 2] {
        let (a, b) = (self.areas[i], self.areas[j]);
        if self.part[i] == self.part[j] { [(a * b).sqrt(); 2] } else { [b, a] }
    }

    /// Part of each panel, and its charge while its part has the potential 1; for slivers a
    /// multiple of it.
    pub fn parts(&self) -> (&[u32], &[f64]) {
        (&self.part, &self.charges)
    }
}
