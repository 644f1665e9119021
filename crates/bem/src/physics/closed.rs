//! Closed surfaces of a problem: of interfaces, of bodies and groups of bodies, each with what lies
//! inside (docs/math.md, "Gauss's law").

use std::collections::HashSet;
use std::f64::consts::PI;

use mesh::Mesh;
use mesh::regions::{self, Places, Position, Region};

use super::Images;
use crate::constants::CANCELLED;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;

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
    /// Places of that mesh.
    pub(super) places: Places<'a>,
}

impl Finder<'_> {
    pub(super) fn panel(&self, t: u32) -> u32 {
        self.panel_of[t as usize % self.triangles]
    }

    pub(super) fn sign(&self, t: u32) -> f64 {
        self.images.factor(t as usize / self.triangles)
    }

    pub(super) fn is_itself(&self, t: u32) -> bool {
        (t as usize) < self.triangles
    }

    /// `None` if the boundary has images alone, or a triangle without a panel, or images that
    /// cancel it.
    pub(super) fn closed(&self, region: Region) -> Option<Closed> {
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
    pub(super) fn parts(&self, triangles: &[u32]) -> Vec<(Vec<u32>, Option<Region>)> {
        regions::parts(self.whole, triangles, self.bodies)
    }

    /// Boundaries of groups of bodies that share walls. A group has the bodies above some
    /// permittivity, for every such threshold: where all bodies conduct well, errors of the flux
    /// amplify the charge of the whole group.
    ///
    /// Surfaces known to be one connected part are left out.
    pub(super) fn envelopes(&self, connected: &HashSet<Vec<u32>>) -> Vec<Region> {
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
}

impl Closed {
    /// Outward flux of a normal derivative given on panels.
    pub(super) fn flux(&self, areas: &[f64], y: &[f64]) -> f64 {
        let of =
            |m: &Member| m.sign() * m.outward() * areas[m.panel as usize] * y[m.panel as usize];
        self.members.iter().map(of).sum()
    }

    /// Flux through the surface, in either direction.
    pub(super) fn passing_flux(&self, areas: &[f64], y: &[f64]) -> f64 {
        self.members.iter().map(|m| areas[m.panel as usize] * y[m.panel as usize].abs()).sum()
    }

    /// Charge whose flux passes the surface, regardless of sign: all of nearby charge, of other
    /// charge the share by the solid angle. Where images cancel it exceeds the flux.
    pub(super) fn passing_charge(&self, panels: &Panels, areas: &[f64], x: &[f64]) -> f64 {
        let own = || self.members.iter().filter(|m| m.is_itself).map(|m| m.panel as usize);
        let area: f64 = own().map(|i| areas[i]).sum();
        let centre = own().map(|i| areas[i] * panels.centroid(i)).sum::<Vec3>() / area;
        let seen = |at: &Vec3| (area / (4.0 * PI * (at - centre).norm_squared())).min(1.0);
        // Of all images in turn.
        let charges = x.iter().cycle();
        panels.centroids().iter().zip(charges).map(|(at, x)| x.abs() * seen(at)).sum()
    }
}

/// The triangles around a region, in increasing order.
pub(super) fn boundary(region: &Region) -> Vec<u32> {
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
