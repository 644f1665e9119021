//! Gauss's law for double layers: a constant one around a region has the potential -4 pi inside and
//! half of that on it, whatever the quadrature.
//!
//! One point per panel leaves an error of the order of the panel's size over the reach of exact
//! integrals. The missing part is the same for the kernels of both sides, because their difference
//! is smooth.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use parallel::prelude::*;

use super::kernel::{Term, between_points};
use super::nodes::{Degree, Nodes};
use super::regions::Regions;
use super::sum::{Layers, apply};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::solve::plan::Plan;

/// Defect of constant double layers along the panels' normals at each point, with each closed
/// surface as seen from itself alone; empty where rules are accurate enough.
pub(super) fn defects(
    panels: &Panels,
    nodes: &Nodes,
    regions: &Regions,
    reach: f64,
    plan: impl Fn(&[[f64; 3]]) -> Result<Plan, Error>,
) -> Result<Vec<f64>, Error> {
    if nodes.degree != Degree::Constant {
        return Ok(Vec::new());
    }
    let mut defects = vec![0.0; nodes.len()];
    let reach: Vec<f64> = (0..nodes.len()).map(|i| reach * panels.radius(i)).collect();
    let search = Neighbours::new(panels.centroids(), &reach);
    for surface in surfaces(panels, nodes, regions) {
        for (node, defect) in surface.defects(panels, &search, &plan)? {
            defects[node] = defect;
        }
    }
    Ok(defects)
}

/// As [`defects`] at some panels, summed directly over all others.
pub(super) fn defects_at(
    panels: &Panels,
    nodes: &Nodes,
    regions: &Regions,
    reach: &[f64],
    chosen: &[usize],
) -> Vec<f64> {
    if nodes.degree != Degree::Constant {
        return Vec::new();
    }
    let surfaces = surfaces(panels, nodes, regions);
    let of = |&x: &usize| {
        let own = surfaces.iter().find(|surface| surface.members.contains(&(x as u32, true)));
        own.map_or(0.0, |surface| surface.defect_at(panels, reach, x))
    };
    chosen.par_iter().map(of).collect()
}

/// A connected part of the boundary of a region.
struct Closed<'a> {
    nodes: &'a Nodes,
    /// Its points, and whether the region is behind each, in increasing order.
    members: Vec<(u32, bool)>,
    /// Whether the region is inside.
    is_outer: bool,
}

/// The closed parts, for the regions behind panels.
fn surfaces<'a>(panels: &Panels, nodes: &'a Nodes, regions: &Regions) -> Vec<Closed<'a>> {
    let (parts, _) = panels.parts();
    let mut found: BTreeMap<(u32, u32), Vec<(u32, bool)>> = BTreeMap::new();
    for (panel, (part, [front, behind])) in parts.iter().zip(&regions.sides).enumerate() {
        found.entry((*part, *behind)).or_default().push((panel as u32, true));
        found.entry((*part, *front)).or_default().push((panel as u32, false));
    }
    let closed = |members: Vec<(u32, bool)>| {
        let (mut area, mut vector, mut volume) = (0.0, Vec3::zeros(), 0.0);
        for &(node, is_behind) in &members {
            let node = node as usize;
            let outward = nodes.normals[node] * sign(is_behind) * nodes.weights[node];
            area += nodes.weights[node];
            vector += outward;
            volume += outward.dot(&nodes.place(node));
        }
        let is_closed = vector.norm() <= OPEN * area && members.iter().any(|(_, behind)| *behind);
        is_closed.then_some(Closed { nodes, members, is_outer: volume > 0.0 })
    };
    found.into_values().filter_map(closed).collect()
}

/// 1 if normals point out of the region.
fn sign(is_behind: bool) -> f64 {
    if is_behind { 1.0 } else { -1.0 }
}

impl Closed<'_> {
    /// The potential on it of a constant double layer.
    fn exact(&self) -> f64 {
        if self.is_outer { -2.0 * PI } else { 2.0 * PI }
    }

    /// The defect at one point, by a direct sum.
    fn defect_at(&self, panels: &Panels, reach: &[f64], x: usize) -> f64 {
        let of = |&(node, is_behind): &(u32, bool)| {
            let (j, double) = (node as usize, sign(is_behind));
            let within = reach[x].max(reach[j]);
            let apart = (panels.centroid(x) - panels.centroid(j)).norm_squared();
            if j == x {
                0.0
            } else if apart < within * within {
                double * panels.panel(j).solid_angle_at(&self.nodes.place(x))
            } else {
                let target = self.nodes.target(x, None);
                between_points(&[Term::dipoles(double)], &target, self.nodes.source(j)).double
            }
        };
        self.exact() - self.members.iter().map(of).sum::<f64>()
    }

    /// The defect at the points behind which the region lies.
    fn defects(
        &self,
        panels: &Panels,
        search: &Neighbours<'_>,
        plan: &impl Fn(&[[f64; 3]]) -> Result<Plan, Error>,
    ) -> Result<Vec<(usize, f64)>, Error> {
        let nodes = self.nodes;
        let place = |&(node, _): &(u32, bool)| nodes.places[node as usize];
        let places: Vec<[f64; 3]> = self.members.iter().map(place).collect();
        let dipole = |&(node, is_behind): &(u32, bool)| -> [f64; 3] {
            let node = node as usize;
            (nodes.normals[node] * (sign(is_behind) * nodes.weights[node])).into()
        };
        let dipoles = self.members.iter().flat_map(dipole).collect();
        let layers = Layers { charges: vec![0.0; places.len()], dipoles };
        let mut found = vec![0.0; places.len()];
        apply(&mut plan(&places)?, &layers, &mut found, &mut [])?;
        let exact = self.exact();
        let of_member = |near: &mut Vec<u32>, (&(node, is_behind), sum): (&(u32, bool), &f64)| {
            if !is_behind {
                return None;
            }
            near.clear();
            let x = node as usize;
            search.walk().of(x, near);
            let mut layer = *sum;
            for &j in near.iter().filter(|j| **j != node) {
                let Ok(at) = self.members.binary_search_by_key(&j, |member| member.0) else {
                    continue;
                };
                let (j, double) = (j as usize, sign(self.members[at].1));
                let dipoles = [Term::dipoles(double)];
                let by_point = between_points(&dipoles, &nodes.target(x, None), nodes.source(j));
                let exact = double * panels.panel(j).solid_angle_at(&nodes.place(x));
                layer += exact - by_point.double;
            }
            Some((x, exact - layer))
        };
        let members = self.members.par_iter().zip(&found);
        Ok(members.map_init(Vec::new, of_member).flatten_iter().collect())
    }
}

/// A surface counts as closed if its normals add up to at most this share of its area.
const OPEN: f64 = 1e-9;
