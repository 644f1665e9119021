//! Gauss's law on the closed surfaces of a problem: interfaces that enclose a body, bodies that
//! share walls, bodies partly covered by metal (docs/math.md, "Gauss's law").

use std::collections::{BTreeMap, HashSet};
use std::f64::consts::PI;
use std::sync::Arc;

use mesh::Mesh;
use mesh::regions::{self, Places, Position, Region};
use nalgebra::DMatrix;
use parallel::prelude::*;

use super::Images;
use super::means::Means;
use super::metal::Metal;
use crate::Error;
use crate::constants::CANCELLED;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
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

/// Properties of a panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct PanelInfo {
    pub(super) area: f64,
    /// Relative permittivity on the normal's side and on the other side.
    pub(super) permittivity: [f64; 2],
    pub(super) conductor: Option<u32>,
}

/// Coefficients of the equations, one value per panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equations<'a> {
    pub(super) areas: &'a [f64],
    /// Length by which each row is multiplied.
    pub(super) lengths: &'a [f64],
    /// Relative permittivity on the normal's side and on the other side.
    pub(super) permittivity: &'a [[f64; 2]],
}

/// A closed surface; images may belong to it.
#[derive(Clone)]
pub(super) struct Closed {
    pub(super) members: Vec<Member>,
    /// Panels of interfaces inside, without images.
    pub(super) interior: Vec<u32>,
    /// Panels inside, and the factor of their charges.
    pub(super) inside: Vec<(u32, f64)>,
    pub(super) region: Region,
}

/// A panel of a closed surface, or an image of one.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) panel: u32,
    /// Whether the normal points out.
    is_outward: bool,
    /// Whether charges and fields have the opposite sign.
    is_negative: bool,
    /// Whether it is the panel itself.
    pub(super) is_itself: bool,
}

impl Member {
    /// 1 or -1 if the normal points out or in.
    pub(super) fn outward(&self) -> f64 {
        if self.is_outward { 1.0 } else { -1.0 }
    }

    /// 1 or -1: the factor of charges and fields.
    pub(super) fn sign(&self) -> f64 {
        if self.is_negative { -1.0 } else { 1.0 }
    }

    /// Index of the side that faces the inside of the surface, in pairs of front and back.
    pub(super) fn inner(&self) -> usize {
        usize::from(self.is_outward)
    }
}

/// Finds closed surfaces in a mesh with all its images.
pub(super) struct Finder<'a> {
    pub(super) whole: &'a Mesh,
    pub(super) images: &'a Images,
    /// Triangles of one image.
    pub(super) triangles: usize,
    /// Panel of each triangle of one image; `u32::MAX` = none.
    pub(super) panel_of: &'a [u32],
    pub(super) panels: &'a [PanelInfo],
    /// Bodies, in the mesh with all its images.
    pub(super) bodies: &'a [Region],
    /// Of that mesh.
    pub(super) places: Places<'a>,
}

impl Finder<'_> {
    fn panel(&self, t: u32) -> u32 {
        self.panel_of[t as usize % self.triangles]
    }

    fn sign(&self, t: u32) -> f64 {
        self.images.factor(t as usize / self.triangles)
    }

    fn is_itself(&self, t: u32) -> bool {
        (t as usize) < self.triangles
    }

    /// `None` if the boundary has images alone, or a triangle without a panel, or images that
    /// cancel it.
    fn closed(&self, region: Region) -> Option<Closed> {
        let any_itself = region.boundary.iter().any(|&(t, _)| self.is_itself(t));
        let all_known = region.boundary.iter().all(|&(t, _)| self.panel(t) != u32::MAX);
        if !any_itself || !all_known {
            return None;
        }
        let member = |&(t, inward): &(u32, bool)| Member {
            panel: self.panel(t),
            is_outward: !inward,
            is_negative: self.sign(t) < 0.0,
            is_itself: self.is_itself(t),
        };
        let members: Vec<Member> = region.boundary.iter().map(member).collect();
        // Where images cancel the surface, the flux is always 0; rounding leaves a sum that is not
        // exactly 0.
        let area = |m: &Member| self.panels[m.panel as usize].area;
        let signed: f64 = members.iter().map(|m| m.sign() * area(m)).sum();
        if signed <= CANCELLED * members.iter().map(area).sum::<f64>() {
            return None;
        }
        let is_inside = |&(t, position): &(u32, Position)| {
            self.panel(t) != u32::MAX && position == Position::Inside
        };
        let places = self.places.of(&region).into_iter();
        let inside: Vec<u32> = places.filter(is_inside).map(|(t, _)| t).collect();
        let interior = inside.iter().filter(|&&t| self.is_itself(t)).map(|&t| self.panel(t));
        let interior = interior.filter(|&i| self.panels[i as usize].conductor.is_none()).collect();
        let inside = inside.iter().map(|&t| (self.panel(t), self.sign(t))).collect();
        Some(Closed { members, interior, inside, region })
    }

    /// The closed surfaces that `triangles` consist of; `None` for those that do not bound anything
    /// by themselves.
    fn parts(&self, triangles: &[u32]) -> Vec<(Vec<u32>, Option<Region>)> {
        regions::parts(self.whole, triangles, self.bodies)
    }

    /// Boundaries of groups of bodies that share walls. A group has the bodies above some
    /// permittivity, for every such threshold: where all bodies conduct well, errors of the flux
    /// amplify the charge of the whole group.
    ///
    /// Surfaces known to be one connected part are left out.
    fn envelopes(&self, connected: &HashSet<Vec<u32>>) -> Vec<Region> {
        let inside = |body: &Region| {
            let &(t, inward) = body.boundary.first()?;
            let panel = self.panels.get(self.panel(t) as usize)?;
            Some(panel.permittivity[usize::from(!inward)])
        };
        let media: Vec<f64> = self.bodies.iter().map(|body| inside(body).unwrap_or(0.0)).collect();
        let mut levels = media.clone();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let mut found = Vec::new();
        for level in levels {
            let above: Vec<usize> = (0..self.bodies.len()).filter(|&b| media[b] >= level).collect();
            if let [body] = above[..]
                && connected.contains(&boundary(&self.bodies[body]))
            {
                continue;
            }
            let mut owners: Vec<Vec<usize>> = vec![Vec::new(); self.whole.triangles.len()];
            for b in above {
                let triangles = self.bodies[b].boundary.iter();
                triangles.for_each(|&(t, _)| owners[t as usize].push(b));
            }
            for group in groups(self.bodies.len(), &owners) {
                let boundaries = group.iter().flat_map(|&b| &self.bodies[b].boundary);
                let mut sides: Vec<(u32, bool)> = boundaries.copied().collect();
                sides.sort_unstable_by_key(|(t, _)| *t);
                let alone = |same: &[(u32, bool)]| if let [one] = same { Some(*one) } else { None };
                let sides: Vec<(u32, bool)> =
                    sides.chunk_by(|(a, _), (b, _)| a == b).filter_map(alone).collect();
                let once: Vec<u32> = sides.iter().map(|(t, _)| *t).collect();
                if connected.contains(&once) {
                    continue;
                }
                let parts = self.parts(&once);
                // Where bodies touch along an edge, the bodies define the orientation of the
                // surface.
                let faced = |triangles: &[u32]| {
                    let of = |t: &u32| sides[once.partition_point(|known| known < t)];
                    Region::faced(self.whole, &triangles.iter().map(of).collect::<Vec<_>>())
                };
                let region = |(triangles, region): (Vec<u32>, Option<Region>)| {
                    region.unwrap_or_else(|| faced(&triangles))
                };
                found.extend(parts.into_iter().map(region));
            }
        }
        found
    }

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

/// The triangles around a region, in increasing order.
fn boundary(region: &Region) -> Vec<u32> {
    let mut triangles: Vec<u32> = region.boundary.iter().map(|(t, _)| *t).collect();
    triangles.sort_unstable();
    triangles
}

/// Groups of two or more bodies connected by triangles that belong to several of them.
fn groups(bodies: usize, owners: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..bodies).collect();
    let root = |group: &[usize], mut b: usize| {
        while group[b] != b {
            b = group[b];
        }
        b
    };
    for shared in owners.iter().filter(|owners| owners.len() > 1) {
        for pair in shared.windows(2) {
            let (a, b) = (root(&group, pair[0]), root(&group, pair[1]));
            group[a.max(b)] = a.min(b);
        }
    }
    let mut members = vec![Vec::new(); bodies];
    (0..bodies).for_each(|b| members[root(&group, b)].push(b));
    members.into_iter().filter(|members| members.len() > 1).collect()
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

impl Closed {
    /// Outward flux of a normal derivative given on panels.
    fn flux(&self, areas: &[f64], y: &[f64]) -> f64 {
        let of =
            |m: &Member| m.sign() * m.outward() * areas[m.panel as usize] * y[m.panel as usize];
        self.members.iter().map(of).sum()
    }

    /// Flux through the surface, in either direction.
    fn passing_flux(&self, areas: &[f64], y: &[f64]) -> f64 {
        self.members.iter().map(|m| areas[m.panel as usize] * y[m.panel as usize].abs()).sum()
    }

    /// Charge whose flux passes the surface, regardless of sign: all of nearby charge, of other
    /// charge the share by the solid angle. Where images cancel it exceeds the flux.
    fn passing_charge(&self, panels: &Panels, areas: &[f64], x: &[f64]) -> f64 {
        let own = || self.members.iter().filter(|m| m.is_itself).map(|m| m.panel as usize);
        let area: f64 = own().map(|i| areas[i]).sum();
        let centre = own().map(|i| areas[i] * panels.centroid(i)).sum::<Vec3>() / area;
        let seen = |at: &Vec3| (area / (4.0 * PI * (at - centre).norm_squared())).min(1.0);
        // For each image in turn.
        let charges = x.iter().cycle();
        panels.centroids().iter().zip(charges).map(|(at, x)| x.abs() * seen(at)).sum()
    }
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
        (missing, sizes): (&[f64], &[f64]),
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
