//! Gauss's law for layers of dipoles: a constant one around a region has the potential -4 pi within
//! and half of that on it, whatever the quadrature.
//!
//! One point a panel leaves an error of the order of the panel's size over the reach of exact
//! integrals. What misses is the same for the kernels of both sides, whose difference is smooth.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::correction::between;
use super::kernel::Term;
use super::nodes::{Degree, Nodes};
use super::operator::{Sum, apply};
use super::regions::{Boundary, Layers, Regions};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;

/// What constant layers of dipoles along the panels' normals miss at each point; empty where rules
/// are good enough.
pub(super) fn defects(
    (panels, nodes, regions): (&Panels, &Nodes, &Regions),
    sums: &mut [Sum],
    reach: f64,
    unscreened: impl Fn(&Boundary) -> Result<fmm::Plan, Error>,
) -> Result<Vec<f64>, Error> {
    if nodes.degree != Degree::Constant {
        return Ok(Vec::new());
    }
    let mut defects = vec![0.0; nodes.len()];
    let reach: Vec<f64> = (0..nodes.len()).map(|i| reach * panels.radius(i)).collect();
    let search = Neighbours::new(panels.centroids(), &reach);
    for Sum { boundary, plans } in sums {
        let region = boundary.region;
        let own = |node: u32| regions.sides[node as usize][1] as usize == region;
        if !boundary.nodes.iter().any(|&node| own(node)) {
            continue;
        }
        let ones = vec![1.0; nodes.len()];
        let Layers { dipoles, charges } =
            regions.layers(nodes, boundary, &ones, &vec![0.0; nodes.len()]);
        let layers = Layers { dipoles, charges };
        let mut found = vec![0.0; boundary.nodes.len()];
        if regions.media[region].kappa > 0.0 {
            apply(&mut unscreened(boundary)?, &layers, &mut found, &mut [])?;
        } else {
            plans.product(None, 1, |plan| apply(plan, &layers, &mut found, &mut []))?;
        }
        let half = if regions.is_unbounded(nodes, boundary) { 2.0 * PI } else { -2.0 * PI };
        let of_node = |near: &mut Vec<u32>, (&node, sum): (&u32, &f64)| {
            if !own(node) {
                return None;
            }
            near.clear();
            let x = node as usize;
            search.walk().of(x, near);
            // The sums are of dipoles against the normals.
            let mut layer = -sum;
            for &j in near.iter() {
                let j = j as usize;
                let sign = regions.sign(j, region);
                if sign == 0.0 || j == x {
                    continue;
                }
                let unit = Term {
                    kappa: 0.0,
                    single: 0.0,
                    double: sign,
                    adjoint: 0.0,
                    hypersingular: 0.0,
                    transposed: 0.0,
                };
                let at = (nodes.place(j), nodes.normals[j], nodes.weights[j]);
                let by_point = between(&[unit], &nodes.target(x, None), at).double;
                layer += sign * panels.panel(j).solid_angle_at(&nodes.place(x)) - by_point;
            }
            Some((x, half - layer))
        };
        let missing: Vec<(usize, f64)> =
            boundary.nodes.par_iter().zip(&found).map_init(Vec::new, of_node).flatten().collect();
        missing.into_iter().for_each(|(node, defect)| defects[node] = defect);
    }
    Ok(defects)
}
