//! Gauss's law on the closed surfaces of a problem: interfaces that enclose a body, bodies that
//! share walls, bodies partly covered by metal (docs/math.md, "Gauss's law").

use std::collections::{BTreeMap, HashSet};
use std::f64::consts::PI;
use std::sync::Arc;

use mesh::regions::Region;
use nalgebra::DMatrix;
use parallel::prelude::*;

use super::closed::{Closed, Equations, Finder, Member, PanelInfo, boundary};
use super::means::Means;
use super::metal::Metal;
use crate::Error;
use crate::geometry::panels::Panels;
use crate::solve::completion::{Laws, Vectors};

/// Surfaces whose flux law is linearly dependent to this relative level are dropped.
const DEPENDENT: f64 = 1e-8;

/// A defect above this share of the charge in and on a surface is compared with all flux through
/// it: a body that others hardly reach carries almost no charge.
const SUSPICIOUS: f64 = 1e-3;

/// All closed surfaces with a known flux.
#[derive(Clone)]
pub(super) struct Gauss {
    /// Surfaces without metal whose laws are linearly independent.
    surfaces: Vec<Closed>,
    /// The fluxes through these.
    pub(super) fluxes: Laws,
    /// Combinations of rows that are small where permittivities differ much.
    pub(super) means: Means,
    /// Surfaces with metal.
    pub(super) metal: Metal,
    panels: Arc<Panels>,
}

impl Finder<'_> {
    /// All closed surfaces; `interfaces` are the connected parts of all interfaces, `lengths` the
    /// factors of each panel's row.
    pub(super) fn gauss(
        &self,
        interfaces: Vec<Region>,
        lengths: &[f64],
        panels: &Arc<Panels>,
    ) -> Gauss {
        // These need no search by other ways.
        let connected: HashSet<Vec<u32>> = interfaces.iter().map(boundary).collect();
        let mut candidates = interfaces;
        for body in self.bodies.iter().filter(|&body| !connected.contains(&boundary(body))) {
            let parts = self.parts(&boundary(body));
            if parts.len() == 1 {
                candidates.push(body.clone());
            } else if parts.iter().all(|(_, region)| region.is_some()) {
                candidates.extend(parts.into_iter().filter_map(|(_, region)| region));
            } else {
                candidates.push(body.clone());
            }
        }
        let bodies = candidates.len();
        candidates.extend(self.envelopes(&connected));
        // Each surface once, by whichever way it was found.
        let mut known: HashSet<Vec<u32>> = HashSet::new();
        let is_metal = |m: &Member| self.panels[m.panel as usize].conductor.is_some();
        let (mut free, mut covered, mut grouped) = (Vec::new(), Vec::new(), Vec::new());
        for (index, region) in candidates.into_iter().enumerate() {
            if !known.insert(boundary(&region)) {
                continue;
            }
            let Some(surface) = self.closed(region) else { continue };
            if !surface.members.iter().any(is_metal) {
                free.push(surface);
            } else if !surface.members.iter().all(is_metal) {
                // Metal on a single body, or on a group of bodies.
                if index < bodies { covered.push(surface) } else { grouped.push(surface) }
            }
        }
        let solid = self.solids(&covered);
        let areas: Vec<f64> = self.panels.par_iter().map(|panel| panel.area).collect();
        let permittivity: Vec<[f64; 2]> =
            self.panels.par_iter().map(|panel| panel.permittivity).collect();
        let equations = Equations { areas: &areas, lengths, permittivity: &permittivity };
        let means = Means::new(&free, &equations);
        let metal = Metal { covered, grouped, solid };
        let (surfaces, fluxes) = self.fluxes(free, &areas);
        Gauss { surfaces, fluxes, means, metal, panels: Arc::clone(panels) }
    }

    /// Closed surfaces entirely of metal with nothing inside, touched by several media or covering
    /// bodies.
    fn solids(&self, covered: &[Closed]) -> Vec<Closed> {
        let metal = || self.panels.par_iter().filter(|panel| panel.conductor.is_some());
        let only = metal().find_first(|_| true).map_or([0.0; 2], |panel| panel.permittivity);
        let is_only = |panel: &PanelInfo| panel.permittivity == only;
        if covered.is_empty() && only[0] == only[1] && metal().all(is_only) {
            return Vec::new();
        }
        let mut covers = vec![false; self.panels.len()];
        let members = covered.iter().flat_map(|surface| &surface.members);
        members.for_each(|m| covers[m.panel as usize] = true);
        let of = |t: u32| self.panels.get(self.panel(t) as usize);
        let sides = |t: u32| of(t).map(|panel| panel.permittivity.map(f64::to_bits));
        let matters = |triangles: &[u32]| {
            let first = triangles.first().and_then(|&t| sides(t));
            first.is_some_and(|[front, back]| front != back)
                || triangles.iter().any(|&t| sides(t) != first)
                || triangles.iter().any(|&t| covers[self.panel(t) as usize])
        };
        let owner = |t: u32| of(t).and_then(|panel| panel.conductor);
        let mut pieces: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut found = Vec::new();
        let owned: Vec<u32> =
            (0..self.whole.triangles.len() as u32).filter(|&t| owner(t).is_some()).collect();
        for (triangles, region) in self.parts(&owned) {
            match region {
                Some(region) if matters(&triangles) => found.push(region),
                Some(_) => {}
                None => triangles.into_iter().for_each(|t| {
                    if let Some(conductor) = owner(t) {
                        pieces.entry(conductor).or_default().push(t);
                    }
                }),
            }
        }
        for triangles in pieces.values().filter(|triangles| matters(triangles)) {
            // Without images, unless they are needed to close the surface.
            let (own, _): (Vec<u32>, Vec<u32>) =
                triangles.iter().partition(|&&t| self.is_itself(t));
            let region = Region::of_pieces(self.whole, &own);
            found.extend(region.or_else(|| Region::of_pieces(self.whole, triangles)));
        }
        let closed = found.into_iter().filter_map(|region| self.closed(region));
        closed.filter(|surface| surface.inside.is_empty()).collect()
    }

    /// Surfaces whose flux does not follow from others, and their flux laws.
    fn fluxes(&self, surfaces: Vec<Closed>, areas: &[f64]) -> (Vec<Closed>, Laws) {
        let (mut all, mut inverses) = (Vec::new(), Vec::new());
        for cluster in self.clusters(surfaces) {
            let mut kept: Vec<Closed> = Vec::new();
            let mut inverse = DMatrix::zeros(0, 0);
            for surface in cluster {
                kept.push(surface);
                let metric = metric(areas, &kept);
                let last = kept.len() - 1;
                let found = metric.clone().lu().try_inverse();
                match found.filter(|inverse| {
                    inverse[(last, last)] * metric[(last, last)] < 1.0 / DEPENDENT
                        && inverse[(last, last)] > 0.0
                }) {
                    Some(found) => inverse = found,
                    None => {
                        kept.pop();
                    }
                }
            }
            all.extend(kept);
            inverses.push(inverse);
        }
        let laws = flux_laws(areas, &all, &inverses);
        (all, laws)
    }

    /// Clusters of surfaces that share panels.
    fn clusters(&self, surfaces: Vec<Closed>) -> Vec<Vec<Closed>> {
        let mut clusters: Vec<Vec<Closed>> = Vec::new();
        let mut cluster_of: Vec<Option<usize>> = vec![None; self.panels.len()];
        for surface in surfaces {
            let panels = || surface.members.iter().map(|m| m.panel as usize);
            let mut joined: Vec<usize> = panels().filter_map(|i| cluster_of[i]).collect();
            joined.sort_unstable();
            joined.dedup();
            let Some((&into, others)) = joined.split_first() else {
                panels().for_each(|i| cluster_of[i] = Some(clusters.len()));
                clusters.push(vec![surface]);
                continue;
            };
            panels().for_each(|i| cluster_of[i] = Some(into));
            for &other in others {
                cluster_of.iter_mut().filter(|c| **c == Some(other)).for_each(|c| *c = Some(into));
                let moved = std::mem::take(&mut clusters[other]);
                clusters[into].extend(moved);
            }
            clusters[into].push(surface);
        }
        clusters
    }
}

/// The law that the outward flux through each of these surfaces is that of the charges on it and
/// inside; `inverses` are those of the surfaces' metric, block by block.
fn flux_laws(areas: &[f64], surfaces: &[Closed], inverses: &[DMatrix<f64>]) -> Laws {
    let mut laws = Laws::new(surfaces.len(), areas.len());
    for (law, surface) in surfaces.iter().enumerate() {
        for &(i, sign) in &surface.inside {
            laws.expected.add(law, i as usize, -4.0 * PI * sign);
        }
        for m in &surface.members {
            let i = m.panel as usize;
            laws.expected.add(law, i, -2.0 * PI * m.sign());
            laws.found.add(law, i, -m.sign() * m.outward() * areas[i]);
            if m.is_itself {
                laws.shifts.add(i, law, m.outward());
            }
        }
    }
    let mut first = 0;
    for block in inverses {
        laws.set_inverse(first, block);
        first += block.nrows();
    }
    laws
}

/// Entry (k, l): the flux through surface k of a unit shift along the outward normals of l.
fn metric(areas: &[f64], surfaces: &[Closed]) -> DMatrix<f64> {
    let mut shift = vec![0.0; areas.len()];
    let mut metric = DMatrix::zeros(surfaces.len(), surfaces.len());
    for (l, of) in surfaces.iter().enumerate() {
        of.members
            .iter()
            .filter(|m| m.is_itself)
            .for_each(|m| shift[m.panel as usize] = m.outward());
        for (k, through) in surfaces.iter().enumerate() {
            metric[(k, l)] = through.flux(areas, &shift);
        }
        of.members.iter().for_each(|m| shift[m.panel as usize] = 0.0);
    }
    metric
}

impl Gauss {
    /// Replaces the media, one pair per panel.
    pub(super) fn set_permittivity(&mut self, equations: &Equations<'_>) {
        self.means.set_permittivity(equations);
    }

    /// The largest defect of Gauss's law, from the missing flux of each surface, relative to the
    /// charge in and on the surface (`sizes`), or to the charge whose flux passes it; `vectors`
    /// provides the charges and their normal derivatives.
    pub(super) fn defect(
        &self,
        areas: &[f64],
        missing: &[f64],
        sizes: &[f64],
        vectors: &mut Vectors<'_>,
    ) -> Result<f64, Error> {
        let mut defect = 0.0f64;
        let mut brought = None;
        for ((surface, missing), &size) in self.surfaces.iter().zip(missing).zip(sizes) {
            let (lost, mut size) = (missing.abs() / (4.0 * PI), size);
            if lost > SUSPICIOUS * size {
                let [x, y] = match &mut brought {
                    Some(brought) => brought,
                    none => none.insert(vectors()?),
                };
                size = size.max(surface.passing_flux(areas, y) / (4.0 * PI));
                // The slowest measure last: almost no surface needs it.
                if lost > SUSPICIOUS * size {
                    size = size.max(surface.passing_charge(&self.panels, areas, x));
                }
            }
            if size > 0.0 {
                defect = defect.max(lost / size);
            }
        }
        Ok(defect)
    }

    /// Whether the laws ever change rows.
    pub(super) fn changes_rows(&self) -> bool {
        !self.fluxes.is_empty() || !self.means.laws.is_empty()
    }

    /// All closed surfaces of interfaces, with or without metal on them.
    pub(super) fn closed(&self) -> impl Iterator<Item = &Closed> {
        self.surfaces.iter().chain(&self.metal.covered).chain(&self.metal.grouped)
    }
}
