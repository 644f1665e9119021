//! Potentials and fields of layers at points, and of charges on surfaces.
//!
//! Panels near a point are integrated, others summed over points. As triangles get smaller, those
//! next to a charge change from the first kind to the second, all at once where the surface is a
//! sphere around it. With the points of the densities, energies would jump there by the error of
//! the sums. So these sums use finer points: there is one of each kind per solve.

use std::collections::HashMap;
use std::sync::Arc;

use parallel::prelude::*;

use super::close::{Scratch, Source};
use super::kernel::{Entries, Term, between_points};
use super::nodes::{Degree, MOST, Nodes, QuadraturePoint, Stencil, Target};
use super::regions::Boundary;
use super::sum::{self, Layers, Sum};
use super::{FixedCharge, Screened, reach};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::patch::Parameters;
use crate::geometry::triangle::Vec3;
use crate::quadrature::TriangleNode;
use crate::solve::plan::Plan;

/// Values at points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionValues {
    /// Potential of the layers around the point's region: everything except the charges in it.
    pub reaction: Vec<f64>,
    /// Potential of the charges in the point's region, as if it were the whole space; a charge at
    /// the point itself adds nothing.
    pub source: Vec<f64>,
    /// The gradient of both, empty unless wanted.
    pub gradient: Vec<[f64; 3]>,
}

impl Screened {
    fn plan(
        &self,
        region: usize,
        sources: &[[f64; 3]],
        targets: &[[f64; 3]],
        with_gradient: bool,
    ) -> Result<Plan, Error> {
        let options = fmm::Options::default()
            .kernel(self.regions.media[region].kernel())
            .mode(fmm::Mode::Auto)
            .tolerance(self.fmm_tolerance)
            .gradient(with_gradient)
            .dipoles(true)
            .backend(self.options.effective_backend()?)
            .gpu(self.options.gpu);
        Ok(Plan::new(&comm::alone(), sources, Some(targets), &options)?)
    }

    /// Largest relative error of fast sums for the solution, against direct sums at some points.
    pub(super) fn sampled_error(&self, sums: &mut [Sum]) -> Result<Option<f64>, Error> {
        let mut worst: Option<f64> = None;
        for Sum { boundary, plans } in sums {
            let layers = Layers::around(
                &self.regions,
                &self.nodes,
                boundary,
                [&self.potentials, &self.fluxes],
            );
            let count = boundary.nodes.len();
            let mut fast = vec![0.0; count];
            sum::apply(plans.for_step(None, 1)?, &layers, &mut fast, &mut [])?;
            plans.finished();
            let step = count.div_ceil(SAMPLES).max(1);
            let some = |of: &[[f64; 3]]| of.iter().copied().step_by(step).collect::<Vec<_>>();
            let targets = some(&boundary.places);
            let kernel = self.regions.media[boundary.region].kernel();
            let (mode, dipoles) = (fmm::Mode::Direct, true);
            let options = fmm::Options::default().kernel(kernel).mode(mode).dipoles(dipoles);
            let mut plan = Plan::new(&comm::alone(), &boundary.places, Some(&targets), &options)?;
            let mut exact = vec![0.0; targets.len()];
            sum::apply(&mut plan, &layers, &mut exact, &mut [])?;
            let pairs = || exact.iter().zip(fast.iter().step_by(step));
            let off: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
            let size: f64 = pairs().map(|(a, _)| a * a).sum();
            if size > 0.0 {
                worst = Some(worst.unwrap_or(0.0).max((off / size).sqrt()));
            }
        }
        Ok(worst)
    }

    /// Positions, in scaled coordinates, of the charges of a region, and the charges over its
    /// permittivity.
    pub(super) fn charges_in(
        &self,
        region: usize,
        charges: &[FixedCharge],
    ) -> (Vec<[f64; 3]>, Vec<f64>) {
        let permittivity = self.regions.media[region].permittivity;
        let own = charges.iter().filter(|q| q.region as usize == region && q.charge != 0.0);
        let scaled = |q: &FixedCharge| -> ([f64; 3], f64) {
            (self.panels.scaled(q.position).into(), q.charge / permittivity)
        };
        own.map(scaled).unzip()
    }

    /// The right-hand side of charges.
    pub(super) fn right_hand_side(&self, charges: &[FixedCharge]) -> Result<Vec<f64>, Error> {
        let n = self.nodes.len();
        let mut right = vec![0.0; 2 * n];
        for boundary in &self.boundaries {
            let (sources, charges) = self.charges_in(boundary.region, charges);
            if sources.is_empty() {
                continue;
            }
            let mut plan = self.plan(boundary.region, &sources, &boundary.places, false)?;
            let layers = Layers { dipoles: vec![0.0; 3 * charges.len()], charges };
            let mut potential = vec![0.0; boundary.nodes.len()];
            sum::apply(&mut plan, &layers, &mut potential, &mut [])?;
            let permittivity = self.regions.media[boundary.region].permittivity;
            for (&node, potential) in boundary.nodes.iter().zip(potential) {
                right[node as usize] += permittivity * potential;
            }
            self.add_fields(boundary, &sources, &layers, &mut right[n..])?;
        }
        Ok(right)
    }

    /// Adds the normal derivatives of charges' potentials in a region. On flat panels they are
    /// means, like those of layers.
    fn add_fields(
        &self,
        boundary: &Boundary,
        sources: &[[f64; 3]],
        layers: &Layers,
        rows: &mut [f64],
    ) -> Result<(), Error> {
        let panels = self.panels_of(boundary);
        let points = |&panel: &u32| self.means_over(panel as usize);
        let points: Vec<Point> = panels.iter().flat_map(points).collect();
        let places: Vec<[f64; 3]> = points.iter().map(|point| point.place.into()).collect();
        let mut plan = self.plan(boundary.region, sources, &places, true)?;
        let (mut potential, mut gradient) = (vec![0.0; points.len()], vec![0.0; 3 * points.len()]);
        sum::apply(&mut plan, layers, &mut potential, &mut gradient)?;
        let mut found = points.iter().zip(gradient.chunks_exact(3));
        for &panel in &panels {
            let panel = panel as usize;
            let (own, count) = (self.nodes.of_panel(panel), self.rule_of_means(panel).len());
            for (point, gradient) in found.by_ref().take(count) {
                let flux = point.weight * Vec3::from_column_slice(gradient).dot(&point.normal);
                for (node, share) in own.clone().zip(point.shares) {
                    rows[node] += share * flux / self.nodes.weights[node];
                }
            }
        }
        self.add_close_fields(boundary.region, sources, &layers.charges, rows);
        Ok(())
    }

    /// The panels around a region.
    fn panels_of(&self, boundary: &Boundary) -> Vec<u32> {
        let points = self.nodes.degree.points();
        boundary.nodes.iter().step_by(points).map(|node| node / points as u32).collect()
    }

    /// The rule for normal derivatives: on curved panels, their values at its points.
    fn rule_of_means(&self, panel: usize) -> &'static [TriangleNode] {
        match self.nodes.patches[panel].is_straight() {
            true => self.nodes.degree.finer(),
            false => self.nodes.degree.stencil().nodes,
        }
    }

    pub(super) fn means_over(&self, panel: usize) -> impl Iterator<Item = Point> {
        points(&self.nodes, panel, self.rule_of_means(panel))
    }

    /// Corrections by exact integrals over flat panels next to charges: of the potential, at the
    /// charge, of dipoles on the panel.
    fn add_close_fields(
        &self,
        region: usize,
        places: &[[f64; 3]],
        charges: &[f64],
        rows: &mut [f64],
    ) {
        let kappa = self.regions.media[region].kappa;
        let dipoles = [Term { kappa, ..Term::dipoles(1.0) }];
        let reach = reach(&self.panels);
        let search = Neighbours::new(self.panels.centroids(), &reach);
        let room = || (Vec::new(), Scratch::default());
        let of_charge = |(near, scratch): &mut (Vec<u32>, Scratch), k: usize| {
            near.clear();
            let place = Vec3::from(places[k]);
            search.around(&place, near);
            let target = Target { place, normal: Vec3::z(), own: None };
            let mut found = Vec::new();
            for &j in near.iter() {
                let j = j as usize;
                if self.regions.sign(j, region) == 0.0 || !self.nodes.patches[j].is_straight() {
                    continue;
                }
                let source = Source::new(&self.nodes.patches[j], self.nodes.degree.stencil());
                let accuracy = self.accuracy;
                let mut entries = source.entries(&target, &dipoles, accuracy, scratch);
                for point in self.means_over(j) {
                    let by_point = between_points(&dipoles, &target, point.source());
                    let shares = entries.iter_mut().zip(point.shares);
                    shares.for_each(|(entry, share)| entry.add(-share, &by_point));
                }
                let own = self.nodes.of_panel(j);
                found.extend(own.zip(entries).map(|(node, entry)| {
                    (node, charges[k] * entry.double / self.nodes.weights[node])
                }));
            }
            found
        };
        let found: Vec<Vec<(usize, f64)>> =
            (0..places.len()).into_par_iter().map_init(room, of_charge).collect();
        found.into_iter().flatten().for_each(|(node, value)| rows[node] += value);
    }

    /// Potentials at points, each with its region, in the solved state with these charges. In the
    /// unit of charges divided by the mesh's unit; gradients are divided by it once more.
    ///
    /// # Errors
    /// [`Error::Fmm`].
    pub fn values(
        &self,
        points: &[[f64; 3]],
        regions: &[u32],
        charges: &[FixedCharge],
        with_gradient: bool,
    ) -> Result<RegionValues, Error> {
        let mut values = RegionValues {
            reaction: vec![0.0; points.len()],
            source: vec![0.0; points.len()],
            gradient: vec![[0.0; 3]; if with_gradient { points.len() } else { 0 }],
        };
        for region in 0..self.regions.media.len() {
            let in_it = |k: &usize| regions.get(*k).is_some_and(|r| *r as usize == region);
            let own: Vec<usize> = (0..points.len()).filter(in_it).collect();
            if own.is_empty() {
                continue;
            }
            let places: Vec<[f64; 3]> =
                own.iter().map(|&k| self.panels.scaled(points[k]).into()).collect();
            let mut gradients = vec![[0.0; 3]; if with_gradient { own.len() } else { 0 }];
            if let Some(boundary) = self.boundaries.iter().find(|b| b.region == region) {
                let found = self.of_layers(boundary, &places, &mut gradients)?;
                own.iter().zip(found).for_each(|(&k, value)| values.reaction[k] = value);
            }
            let (sources, charges) = self.charges_in(region, charges);
            if !sources.is_empty() {
                let mut plan = self.plan(region, &sources, &places, with_gradient)?;
                let layers = Layers { dipoles: vec![0.0; 3 * charges.len()], charges };
                let mut potential = vec![0.0; own.len()];
                let mut more = vec![0.0; 3 * gradients.len()];
                sum::apply(&mut plan, &layers, &mut potential, &mut more)?;
                own.iter().zip(potential).for_each(|(&k, value)| values.source[k] = value);
                let all = gradients.as_flattened_mut().iter_mut().zip(more);
                all.for_each(|(sum, more)| *sum += more);
            }
            if with_gradient {
                own.iter().zip(gradients).for_each(|(&k, value)| values.gradient[k] = value);
            }
        }
        let scale = self.panels.scale();
        let potentials = values.reaction.iter_mut().chain(&mut values.source);
        potentials.for_each(|value| *value /= scale);
        let gradients = values.gradient.as_flattened_mut().iter_mut();
        gradients.for_each(|value| *value /= scale * scale);
        Ok(values)
    }

    /// The densities on a panel: those of the solve, or linear ones through corner values.
    fn densities_on(&self, panel: usize, recovered: Option<&Recovered>) -> OnPanel {
        match recovered.filter(|_| self.nodes.degree == Degree::Constant) {
            Some(recovered) => {
                let stencil = Degree::Linear.stencil();
                let corners = recovered.at_corners(panel);
                let flux = self.fluxes[panel];
                let at = |node: &TriangleNode| {
                    let each = node.barycentric.iter().zip(&corners);
                    [each.map(|(share, u)| share * u).sum(), flux]
                };
                OnPanel { stencil, values: stencil.nodes.iter().map(at).collect() }
            }
            None => {
                let of = |node: usize| [self.potentials[node], self.fluxes[node]];
                let stencil = self.nodes.degree.stencil();
                OnPanel { stencil, values: self.nodes.of_panel(panel).map(of).collect() }
            }
        }
    }

    /// The layers around a region on points finer than those of the densities.
    fn finer_layers(
        &self,
        boundary: &Boundary,
        recovered: Option<&Recovered>,
    ) -> (Vec<[f64; 3]>, Layers) {
        let permittivity = self.regions.media[boundary.region].permittivity;
        let rule = self.nodes.degree.finer();
        let count = rule.len() * boundary.nodes.len() / self.nodes.degree.points();
        let (mut places, mut charges, mut dipoles) =
            (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(3 * count));
        for panel in self.panels_of(boundary) {
            let panel = panel as usize;
            let (sign, own) =
                (self.regions.sign(panel, boundary.region), self.densities_on(panel, recovered));
            for point in points(&self.nodes, panel, rule) {
                let [u, flux] = own.at(point.at);
                let weight = sign * point.weight;
                places.push(point.place.into());
                charges.push(weight * flux / permittivity);
                dipoles.extend((point.normal * (-weight * u)).iter());
            }
        }
        (places, Layers { charges, dipoles })
    }

    /// Adds potentials of the layers around a region, and gradients, at points in it.
    fn of_layers(
        &self,
        boundary: &Arc<Boundary>,
        places: &[[f64; 3]],
        gradients: &mut [[f64; 3]],
    ) -> Result<Vec<f64>, Error> {
        let (region, four_pi) = (boundary.region, 4.0 * std::f64::consts::PI);
        let with_gradient = !gradients.is_empty();
        let recovered = with_gradient.then(|| Recovered::new(self));
        let (sources, layers) = self.finer_layers(boundary, recovered.as_ref());
        let mut plan = self.plan(region, &sources, places, with_gradient)?;
        let mut potential = vec![0.0; places.len()];
        let mut far = vec![[0.0; 3]; gradients.len()];
        sum::apply(&mut plan, &layers, &mut potential, far.as_flattened_mut())?;
        drop((plan, sources, layers));
        let reach = reach(&self.panels);
        let search = Neighbours::new(self.panels.centroids(), &reach);
        let room = || (Vec::new(), Vec::new(), Scratch::default());
        let correct = |(near, terms, scratch): &mut (Vec<u32>, Vec<_>, Scratch), k: usize| {
            near.clear();
            let place = Vec3::from(places[k]);
            search.around(&place, near);
            let (mut potential, mut gradient) = (0.0, [0.0; 3]);
            for &j in near.iter() {
                let j = j as usize;
                self.regions.terms_in(region, j, terms);
                if terms.is_empty() {
                    continue;
                }
                let panel = self.densities_on(j, recovered.as_ref());
                let source = Source::new(&self.nodes.patches[j], panel.stencil);
                for axis in 0..if with_gradient { 3 } else { 1 } {
                    let normal = Vec3::from_fn(|k, _| f64::from(u8::from(k == axis)));
                    let target = Target { place, normal, own: None };
                    let accuracy = self.accuracy;
                    let exact = source.entries(&target, terms, accuracy, scratch);
                    let mut add = |entry: &Entries, [u, flux]: [f64; 2]| {
                        if axis == 0 {
                            potential += entry.single * flux + entry.double * u;
                        }
                        gradient[axis] += entry.adjoint * flux + entry.hypersingular * u;
                    };
                    exact.iter().zip(&panel.values).for_each(|(entry, of)| add(entry, *of));
                    for point in points(&self.nodes, j, self.nodes.degree.finer()) {
                        let of = panel.at(point.at).map(|value| -value);
                        add(&between_points(terms, &target, point.source()), of);
                    }
                }
            }
            (potential, gradient)
        };
        let more: Vec<(f64, [f64; 3])> =
            (0..places.len()).into_par_iter().map_init(room, correct).collect();
        for (k, (value, gradient)) in more.into_iter().enumerate() {
            potential[k] = (potential[k] + value) / four_pi;
            if with_gradient {
                for axis in 0..3 {
                    gradients[k][axis] += (far[k][axis] + gradient[axis]) / four_pi;
                }
            }
        }
        Ok(potential)
    }
}

/// Potential and flux at the points of a stencil.
struct OnPanel {
    stencil: &'static Stencil,
    values: Vec<[f64; 2]>,
}

impl OnPanel {
    fn at(&self, at: Parameters) -> [f64; 2] {
        let shares = self.stencil.values(at);
        let each = || shares.iter().zip(&self.values);
        [0, 1].map(|k| each().map(|(share, of)| share * of[k]).sum())
    }
}

/// A quadrature point of a panel.
pub(super) struct Point {
    at: Parameters,
    place: Vec3,
    /// Unit normal.
    normal: Vec3,
    /// Its area.
    weight: f64,
    /// Values of the polynomials of the panel's own points at it.
    pub(super) shares: [f64; MOST],
}

impl Point {
    pub(super) fn source(&self) -> QuadraturePoint {
        QuadraturePoint { place: self.place, normal: self.normal, weight: self.weight }
    }
}

/// The points of a rule on a panel.
fn points(
    nodes: &Nodes,
    panel: usize,
    rule: &'static [TriangleNode],
) -> impl Iterator<Item = Point> {
    let (patch, stencil) = (nodes.patches[panel], nodes.degree.stencil());
    rule.iter().map(move |node| {
        let [_, s, t] = node.barycentric;
        let at = [s, t];
        let normal = patch.normal(at);
        let stretch = normal.norm();
        let (place, normal) = (patch.at(at), normal / stretch);
        let weight = 0.5 * node.weight * stretch;
        Point { at, place, normal, weight, shares: stencil.values(at) }
    })
}

/// Potentials at the corners of panels, means over the panels around each: potentials are
/// continuous, and jumps between constants would add spurious fields near edges.
struct Recovered {
    /// The vertex of each corner, shape (panels, 3).
    vertices: Vec<[u32; 3]>,
    means: Vec<f64>,
}

impl Recovered {
    fn new(screened: &Screened) -> Self {
        let mut numbers: HashMap<[u64; 3], u32> = HashMap::new();
        let mut number = |x: &Vec3| {
            let next = numbers.len() as u32;
            // -0 + 0 is 0.
            *numbers.entry([0, 1, 2].map(|k| (x[k] + 0.0).to_bits())).or_insert(next)
        };
        let corners = screened.panels.all_vertices()[..screened.panels.len()].iter();
        let vertices: Vec<[u32; 3]> = corners.map(|v| [0, 1, 2].map(|k| number(&v[k]))).collect();
        let mut sums = vec![(0.0, 0.0); numbers.len()];
        for (panel, corners) in vertices.iter().enumerate() {
            let own = screened.nodes.of_panel(panel);
            let weight = |node: usize| screened.nodes.weights[node];
            let area: f64 = own.clone().map(weight).sum();
            let sum: f64 = own.map(|node| weight(node) * screened.potentials[node]).sum();
            for &corner in corners {
                let (total, areas) = &mut sums[corner as usize];
                *total += sum;
                *areas += area;
            }
        }
        Self { vertices, means: sums.into_iter().map(|(sum, area)| sum / area).collect() }
    }

    fn at_corners(&self, panel: usize) -> [f64; 3] {
        self.vertices[panel].map(|vertex| self.means[vertex as usize])
    }
}

/// Points at which fast sums are compared with direct ones.
const SAMPLES: usize = 300;
