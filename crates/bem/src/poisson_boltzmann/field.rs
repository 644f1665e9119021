//! Potentials and fields of layers at points, and of charges on surfaces.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::close::{Scratch, Source, Target};
use super::correction::{between, differences};
use super::kernel::{Entries, Term};
use super::nodes::{Degree, Stencil};
use super::operator::{self, Sum};
use super::regions::{Boundary, Layers};
use super::{FixedCharge, Screened};
use crate::Error;
use crate::geometry::neighbours::Neighbours;
use crate::geometry::triangle::Vec3;
use crate::quadrature::TriangleNode;
use crate::solve::plan::Plan;

/// Values at points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionValues {
    /// Potential of the layers around the point's region: all that is not of the charges in it.
    pub reaction: Vec<f64>,
    /// Potential of the charges in the point's region, as if it were everywhere; a charge at the
    /// point itself adds nothing.
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
        let options = fmm::Options {
            kernel: self.regions.media[region].kernel(),
            mode: fmm::Mode::Auto,
            tolerance: self.fmm_tolerance,
            gradient: with_gradient,
            dipoles: true,
            backend: self.options.backend()?,
            gpu: self.options.gpu,
            ..fmm::Options::default()
        };
        Ok(Plan::new(None, sources, Some(targets), &options)?)
    }

    /// Largest relative error of fast sums of the solution, against direct sums at some points.
    pub(super) fn sampled_error(&self, sums: &mut [Sum]) -> Result<Option<f64>, Error> {
        let mut worst: Option<f64> = None;
        for Sum { boundary, plans } in sums {
            let layers = self.regions.layers(&self.nodes, boundary, &self.potentials, &self.fluxes);
            let count = boundary.nodes.len();
            let mut fast = vec![0.0; count];
            plans.product(None, 1, |plan| operator::apply(plan, &layers, &mut fast, &mut []))?;
            let step = count.div_ceil(SAMPLES).max(1);
            let some = |of: &[[f64; 3]]| of.iter().copied().step_by(step).collect::<Vec<_>>();
            let targets = some(&boundary.places);
            let kernel = self.regions.media[boundary.region].kernel();
            let (mode, dipoles) = (fmm::Mode::Direct, true);
            let options = fmm::Options { kernel, mode, dipoles, ..fmm::Options::default() };
            let mut plan = Plan::new(None, &boundary.places, Some(&targets), &options)?;
            let mut exact = vec![0.0; targets.len()];
            operator::apply(&mut plan, &layers, &mut exact, &mut [])?;
            let pairs = || exact.iter().zip(fast.iter().step_by(step));
            let off: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
            let size: f64 = pairs().map(|(a, _)| a * a).sum();
            if size > 0.0 {
                worst = Some(worst.unwrap_or(0.0).max((off / size).sqrt()));
            }
        }
        Ok(worst)
    }

    /// Charges of a region by their places in scaled coordinates, over its permittivity.
    fn charges_in(&self, region: usize, charges: &[FixedCharge]) -> (Vec<[f64; 3]>, Vec<f64>) {
        let permittivity = self.regions.media[region].permittivity;
        let own = charges.iter().filter(|q| q.region as usize == region && q.charge != 0.0);
        let scaled = |q: &FixedCharge| -> ([f64; 3], f64) {
            (self.panels.scaled(q.position).into(), q.charge / permittivity)
        };
        own.map(scaled).unzip()
    }

    /// What charges are in the equations.
    pub(super) fn right_hand_side(&self, charges: &[FixedCharge]) -> Result<Vec<f64>, Error> {
        let n = self.nodes.len();
        let mut right = vec![0.0; 2 * n];
        for boundary in &self.boundaries {
            let (sources, charges) = self.charges_in(boundary.region, charges);
            if sources.is_empty() {
                continue;
            }
            let mut plan = self.plan(boundary.region, &sources, &boundary.places, true)?;
            let layers = Layers { dipoles: vec![0.0; 3 * charges.len()], charges };
            let count = boundary.nodes.len();
            let (mut potential, mut gradient) = (vec![0.0; count], vec![0.0; 3 * count]);
            operator::apply(&mut plan, &layers, &mut potential, &mut gradient)?;
            let permittivity = self.regions.media[boundary.region].permittivity;
            for (k, &node) in boundary.nodes.iter().enumerate() {
                let node = node as usize;
                let gradient = Vec3::from_column_slice(&gradient[3 * k..3 * k + 3]);
                right[node] += permittivity * potential[k];
                right[n + node] += gradient.dot(&self.nodes.normals[node]);
            }
            self.add_means(boundary.region, &sources, &layers.charges, &mut right[n..]);
        }
        Ok(right)
    }

    /// Normal derivatives of close charges on flat panels are means, as those of layers are: the
    /// potential of dipoles on the panel where the charge is.
    fn add_means(&self, region: usize, places: &[[f64; 3]], charges: &[f64], rows: &mut [f64]) {
        let kappa = self.regions.media[region].kappa;
        let dipoles = Term { kappa, ..Term::dipoles(1.0) };
        let reach = self.reach();
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
                let how = (&[dipoles][..], self.closeness.accuracy);
                let entries = differences(&self.nodes, &source, j, &target, how, scratch);
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

    /// How far from its centre each panel is integrated.
    fn reach(&self) -> Vec<f64> {
        (0..self.panels.len()).map(|i| self.closeness.reach * self.panels.radius(i)).collect()
    }

    /// Potentials at points, each in the region that is given with it, of the solved state with
    /// these charges. In the unit of charges over the mesh's unit; gradients over it again.
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
                operator::apply(&mut plan, &layers, &mut potential, &mut more)?;
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

    /// The densities on a panel: those of the solve, or linear ones from corner to corner.
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

    /// Potentials of the layers around a region at points of it; gradients are added.
    fn of_layers(
        &self,
        boundary: &Arc<Boundary>,
        places: &[[f64; 3]],
        gradients: &mut [[f64; 3]],
    ) -> Result<Vec<f64>, Error> {
        let (region, four_pi) = (boundary.region, 4.0 * std::f64::consts::PI);
        let layers = self.regions.layers(&self.nodes, boundary, &self.potentials, &self.fluxes);
        let with_gradient = !gradients.is_empty();
        let mut plan = self.plan(region, &boundary.places, places, with_gradient)?;
        let mut potential = vec![0.0; places.len()];
        let mut far = vec![[0.0; 3]; gradients.len()];
        operator::apply(&mut plan, &layers, &mut potential, far.as_flattened_mut())?;
        let reach = self.reach();
        let search = Neighbours::new(self.panels.centroids(), &reach);
        let recovered = with_gradient.then(|| Recovered::new(self));
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
                    let accuracy = self.closeness.accuracy;
                    let exact = source.entries(&target, terms, accuracy, scratch);
                    let mut add = |entry: &Entries, [u, flux]: [f64; 2]| {
                        if axis == 0 {
                            potential += entry.single * flux + entry.double * u;
                        }
                        gradient[axis] += entry.adjoint * flux + entry.hypersingular * u;
                    };
                    exact.iter().zip(&panel.values).for_each(|(entry, of)| add(entry, *of));
                    for node in self.nodes.of_panel(j) {
                        let of = [-self.potentials[node], -self.fluxes[node]];
                        add(&between(terms, &target, self.nodes.source(node)), of);
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

/// Potentials at the corners of panels, means over the panels around: potentials are continuous,
/// and steps between constants would have fields of their own near edges.
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
