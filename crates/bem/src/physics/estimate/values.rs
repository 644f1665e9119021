//! Potentials and normal derivatives at some points of each panel.

use std::ops::Range;

use parallel::prelude::*;

use super::super::system::System;
use super::super::{Excitation, external};
use super::close_panels::{Evaluation, Near, near_radii, rule};
use super::wide;
use crate::Error;
use crate::constants::GROUP;
use crate::device::{ChildValues, DeviceChildren};
use crate::geometry::neighbours::Neighbours;
use crate::geometry::triangle::Vec3;
use crate::integrals::potentials::WeightedPoints;
use crate::near::Sources;
use crate::quadrature::rule::Rule;
use crate::sampling::far;
use crate::sampling::points::QuadraturePoints;
use crate::solve::plan::Plan;
use crate::space::{Carrier, Dofs};

/// Relative error of the fast sum: largest, smallest, and share of the square root of the solve's
/// tolerance in between. Errors of energies are products of two residuals, and what the sum adds to
/// them is the square of what its error changes by over a panel: of 327,000 triangles of a sphere
/// 2e-10 with an error of 1e-4.
const LOOSEST: f64 = 1e-4;
const TIGHTEST: f64 = 1e-6;
const SHARE: f64 = 0.03;

/// Of no more targets sums are the tightest: errors of single precision would decide which of
/// equal sides a refinement splits, and small sums take little of a solve.
const FEW: usize = 50_000;

/// The closed form subtracts what points near a target add: sums tighter than this need double
/// precision for that.
const DOUBLE: f64 = 2e-5;

/// Panels whose targets are processed together; more where near panels are curved, whose parts
/// serve all targets.
const PANELS: usize = 16;
const PANELS_CURVED: usize = 64;

/// Values at the same positions on each of several consecutive panels, shape (panels, excitations,
/// places). Single precision has more digits than the sums.
pub(super) struct Values {
    /// The first panel.
    first: usize,
    excitations: usize,
    places: usize,
    potential: Vec<f32>,
    /// Mean of both sides; empty without interfaces, 0 on conductors.
    normal_derivative: Vec<f32>,
    /// Integrals between the children of each panel, where a GPU made them.
    of_children: Vec<[f32; 7]>,
}

impl Values {
    fn new(panels: &Range<usize>, excitations: usize, places: usize, has_interfaces: bool) -> Self {
        let all = panels.len() * excitations * places;
        let normal_derivative = if has_interfaces { vec![0.0; all] } else { Vec::new() };
        let potential = vec![0.0; all];
        let (first, of_children) = (panels.start, Vec::new());
        Self { first, excitations, places, potential, normal_derivative, of_children }
    }

    /// Number of values on one panel.
    fn of_panel(&self) -> usize {
        self.excitations * self.places
    }

    /// The potential at the positions on panel `i` in excitation `p`.
    pub(super) fn potential<const PLACES: usize>(&self, i: usize, p: usize) -> [f64; PLACES] {
        self.at(&self.potential, i, p)
    }

    /// The normal derivative at the positions on panel `i` in excitation `p`.
    pub(super) fn normal_derivative<const PLACES: usize>(
        &self,
        i: usize,
        p: usize,
    ) -> [f64; PLACES] {
        self.at(&self.normal_derivative, i, p)
    }

    /// Integrals between the children of panel `i`, if a GPU made them.
    pub(super) fn of_children(&self, i: usize) -> Option<&[f32; 7]> {
        self.of_children.get(i - self.first)
    }

    fn at<const PLACES: usize>(&self, values: &[f32], i: usize, p: usize) -> [f64; PLACES] {
        let first = ((i - self.first) * self.excitations + p) * self.places;
        std::array::from_fn(|k| f64::from(values[first + k]))
    }
}

/// Values that unknowns `x` of each excitation and its sources produce at these barycentric
/// coordinates of each panel, for a solve to `tolerance`. Collective where ranks share this; each
/// then computes its own panels ([`System::own`]).
pub(super) fn at(
    system: &System,
    excitations: &[Excitation],
    x: &[Vec<f64>],
    barycentric: &[[f64; 3]],
    tolerance: f64,
) -> Result<Values, Error> {
    let panels = &system.panels;
    let (all, places) = (system.own(panels.len()), barycentric.len());
    let has_interfaces = system.rows.conductor.iter().any(Option::is_none);
    let mut points = vec![[0.0; 3]; all.len() * places];
    points.par_chunks_exact_mut(places).enumerate().for_each(|(i, points)| {
        let at = |&at: &[f64; 3]| panels.point(all.start + i, at).into();
        points.iter_mut().zip(barycentric).for_each(|(point, place)| *point = at(place));
    });
    let rule = rule(system.density);
    let evaluation = Evaluation { system, rule, x, barycentric };
    let sum = Sum::new(evaluation, &points, tolerance)?;
    let reach: Vec<f64> = match sum.children {
        Some(_) => Vec::new(),
        None => {
            (0..panels.total()).map(|i| near_radii(system.density) * panels.radius(i)).collect()
        }
    };
    let search = (!reach.is_empty()).then(|| Neighbours::new(panels.centroids(), &reach));
    let close = search.as_ref().map(|search| Near { evaluation, search });
    let span = tracing::debug_span!("near parts").entered();
    let outside: Vec<Outside> =
        excitations.iter().map(|excitation| Outside::of(system, excitation)).collect();
    let together = if panels.are_curved() { PANELS_CURVED } else { PANELS };
    let mut values = Values::new(&all, x.len(), places, has_interfaces);
    let block = |(block, (potential, normal)): (usize, (&mut [f32], &mut [f32]))| {
        let first = all.start + block * together;
        let own = first..all.end.min(first + together);
        let points = &points[places * (own.start - all.start)..places * (own.end - all.start)];
        let corrections = close.as_ref().map(|close| close.corrections(own.clone()));
        for (p, outside) in outside.iter().enumerate() {
            let of_outside = outside.at(points, has_interfaces);
            for t in 0..points.len() {
                let i = own.start + t / places;
                let to = (t / places * x.len() + p) * places + t % places;
                let (of_near, slope) = corrections.as_ref().map_or((0.0, 0.0), |all| all.at(t, p));
                let (of_outside, field) = of_outside.as_ref().map_or((0.0, Vec3::zeros()), |all| {
                    let field = all.1.get(3 * t..3 * t + 3).map(Vec3::from_column_slice);
                    (all.0[t], field.unwrap_or_default())
                });
                potential[to] = (of_near + of_outside) as f32;
                if let (None, Some(to)) = (system.rows.conductor[i], normal.get_mut(to)) {
                    let along = panels.normal_at(i, barycentric[t % places]);
                    *to = (slope + field.dot(&along)) as f32;
                }
            }
        }
    };
    let of_block = (together * values.of_panel()).max(1);
    let normals: Vec<&mut [f32]> = if has_interfaces {
        values.normal_derivative.chunks_mut(of_block).collect()
    } else {
        (0..all.len().div_ceil(together)).map(|_| &mut [][..]).collect()
    };
    values.potential.par_chunks_mut(of_block).zip(normals).enumerate().for_each(block);
    drop(span);
    if sum.children.is_some() {
        drop(points);
        sum.add_on_device(&mut values)?;
    } else {
        sum.add(&points, &mut values)?;
    }
    Ok(values)
}

/// Relative error of the fast sum at this number of targets, for a solve to `tolerance`.
pub fn tolerance_of_sum(targets: usize, tolerance: f64) -> f64 {
    let loose = (SHARE * tolerance.sqrt()).clamp(TIGHTEST, LOOSEST);
    if targets <= FEW { TIGHTEST } else { loose }
}

/// The fast sum from the points of a rule on all panels to positions on each.
struct Sum<'a> {
    evaluation: Evaluation<'a>,
    plan: Plan,
    /// Where a GPU sums, and integrates over near panels.
    children: Option<DeviceChildren>,
}

impl<'a> Sum<'a> {
    fn new(evaluation: Evaluation<'a>, points: &[[f64; 3]], tolerance: f64) -> Result<Self, Error> {
        let _span = tracing::debug_span!("plan").entered();
        let Evaluation { system, rule, x, barycentric } = evaluation;
        let panels = &system.panels;
        let carriers = QuadraturePoints::new(panels, rule).of_panels(system.own(panels.total()));
        let tolerance = tolerance_of_sum(points.len(), tolerance);
        let options = fmm::Options::default()
            .tolerance(tolerance)
            .precision((tolerance < DOUBLE).then_some(fmm::Precision::Double))
            .densities(x.len().min(GROUP) * panels.regions())
            .gradient(system.rows.conductor.iter().any(Option::is_none))
            .gpu(system.gpu);
        let new = |backend: fmm::Backend| -> Result<Self, Error> {
            let options = options.clone().backend(backend);
            let mut plan = Plan::new(&system.ranks, &carriers, Some(points), &options)?;
            let device = if plan.is_on_gpu() { plan.whole()?.device() } else { None };
            let kinds = &system.rows.kinds;
            let on = |device: &cuda::Device| {
                DeviceChildren::new(
                    device,
                    panels,
                    kinds,
                    rule,
                    barycentric,
                    near_radii(system.density),
                )
            };
            Ok(Self { evaluation, plan, children: device.as_ref().map(on).transpose()? })
        };
        match new(system.backend_of_estimates()) {
            // What does not fit on the GPU next to the solve is done on processors.
            Err(
                Error::Fmm(fmm::Error::GpuMemory { .. })
                | Error::Gpu(cuda::Error::OutOfMemory { .. }),
            ) => new(fmm::Backend::Cpu),
            sum => sum,
        }
    }

    /// Adds what charges make, near panels included, by a GPU.
    fn add_on_device(self, values: &mut Values) -> Result<(), Error> {
        let _span = tracing::debug_span!("sums and near parts on the GPU").entered();
        let Self { evaluation: Evaluation { x, .. }, mut plan, children } = self;
        let Some(children) = children else { return Ok(()) };
        values.of_children = children.integrals(wide::WIDE, Rule::of_degree(wide::DEGREE))?;
        let places = values.places;
        let of_panel = values.of_panel().max(1);
        for (first, group) in (0..).step_by(GROUP).zip(x.chunks(GROUP)) {
            let ChildValues { potential, normal } =
                children.values(plan.whole()?, &group.concat(), group.len())?;
            let of_group = first * places..(first + group.len()) * places;
            let of_column = potential.len() / group.len().max(1);
            let add = |to: &mut [f32], from: &[f64]| {
                to.par_chunks_exact_mut(of_panel).enumerate().for_each(|(i, own)| {
                    for (k, value) in own[of_group.clone()].iter_mut().enumerate() {
                        let from = from[k / places * of_column + i * places + k % places];
                        *value = (f64::from(*value) + from) as f32;
                    }
                });
            };
            add(&mut values.potential, &potential);
            add(&mut values.normal_derivative, &normal);
        }
        Ok(())
    }

    /// Adds the contribution of the point charges at these points, which are the positions, for
    /// some excitations at a time.
    fn add(self, points: &[[f64; 3]], values: &mut Values) -> Result<(), Error> {
        let _span = tracing::debug_span!("sums").entered();
        let Self { evaluation, mut plan, .. } = self;
        let Evaluation { system, rule, x, barycentric } = evaluation;
        let panels = &system.panels;
        let (n, places, regions) = (panels.len(), values.places, panels.regions());
        let with_gradients = system.rows.conductor.iter().any(Option::is_none);
        let dofs = Dofs::Charges(system.density);
        let own = system.own(panels.total());
        let carriers = own.len() * rule.len();
        let (mut strengths, mut potential, mut gradient) = (Vec::new(), Vec::new(), Vec::new());
        for (first, group) in (0..).step_by(GROUP).zip(x.chunks(GROUP)) {
            // Once for the points of each region.
            strengths.resize(group.len() * regions * carriers, 0.0);
            let densities = strengths.chunks_exact_mut(carriers.max(1)).enumerate();
            for (density, strengths) in densities {
                let (x, region) = (&group[density / regions], density % regions);
                strengths.par_chunks_exact_mut(rule.len()).enumerate().for_each(|(j, of_panel)| {
                    let j = own.start + j;
                    let (panel, is_mirrored) = (j % n, panels.is_mirrored(j));
                    let carrier = Carrier { panel, is_mirrored, area: panels.areas()[panel] };
                    let factor = panels.factor_in(region, j);
                    let put = |k: usize, charge: f64| of_panel[k] = factor * charge;
                    dofs.strengths(rule, carrier, x, put);
                });
            }
            potential.resize(group.len() * regions * points.len(), 0.0);
            gradient.resize(if with_gradients { 3 * potential.len() } else { 0 }, 0.0);
            plan.apply(
                fmm::Densities { charges: Some(&strengths), dipoles: None },
                fmm::Potentials {
                    potential: Some(&mut potential),
                    gradient: with_gradients.then_some(&mut gradient),
                },
            )?;
            if let Some(far) = panels.far() {
                let columns: Vec<&[f64]> = group.iter().map(Vec::as_slice).collect();
                let coefficients =
                    far::coefficients(far, panels, rule, &dofs, &*comm::alone(), &columns)?;
                let region = |place: usize| panels.region(values.first + place / places);
                let at = |(place, x): (usize, &[f64; 3])| (Vec3::from(*x), region(place));
                let at: Vec<_> = points.iter().enumerate().map(at).collect();
                let mut add = |column: usize, place: usize, value: f64, slope: Vec3| {
                    let to = (column * regions + at[place].1) * points.len() + place;
                    potential[to] += value;
                    if with_gradients {
                        let gradient = &mut gradient[3 * to..3 * to + 3];
                        gradient.iter_mut().zip(slope.iter()).for_each(|(sum, s)| *sum += s);
                    }
                };
                far::values_at(far, &at, &coefficients, with_gradients, &mut add);
            }
            let (of_panel, first_panel) = (values.of_panel().max(1), values.first);
            let of_group = first * places..(first + group.len()) * places;
            // Of a target in an excitation of the group.
            let target = |i: usize, k: usize| {
                let place = (i - first_panel) * places + k % places;
                (k / places * regions + panels.region(i)) * points.len() + place
            };
            let potentials = values.potential.par_chunks_exact_mut(of_panel).enumerate();
            potentials.for_each(|(i, own)| {
                let i = first_panel + i;
                let own = own[of_group.clone()].iter_mut().enumerate();
                own.for_each(|(k, value)| *value += potential[target(i, k)] as f32);
            });
            let normals = values.normal_derivative.par_chunks_exact_mut(of_panel).enumerate();
            let normals = normals.map(|(i, own)| (first_panel + i, own));
            normals.filter(|(i, _)| system.rows.conductor[*i].is_none()).for_each(|(i, own)| {
                let along: Vec<Vec3> =
                    barycentric.iter().map(|&at| panels.normal_at(i, at)).collect();
                for (k, value) in own[of_group.clone()].iter_mut().enumerate() {
                    let of = 3 * target(i, k);
                    let slope =
                        Vec3::from_column_slice(&gradient[of..of + 3]).dot(&along[k % places]);
                    *value += slope as f32;
                }
            });
        }
        Ok(())
    }
}

/// Charges and field outside of the surfaces, in scaled coordinates.
struct Outside {
    charges: WeightedPoints,
    field: Vec3,
    /// Where the potential of the field is 0.
    origin: Vec3,
}

impl Outside {
    fn of(system: &System, excitation: &Excitation) -> Self {
        let Sources { charges: points, field, .. } = external::sources(system, excitation, 1.0);
        let mut charges = WeightedPoints::default();
        points.iter().for_each(|(y, q)| charges.push(y, *q));
        Self { charges, field, origin: system.panels.scaled(excitation.origin) }
    }

    /// Potentials at some points, and gradients, shape (points, 3), if wanted; `None` without
    /// external charges or field.
    fn at(&self, points: &[[f64; 3]], with_gradients: bool) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.charges.x.is_empty() && self.field == Vec3::zeros() {
            return None;
        }
        let potential = |x: &[f64; 3]| -self.field.dot(&(Vec3::from(*x) - self.origin));
        let mut potentials: Vec<f64> = points.iter().map(potential).collect();
        let mut gradients = Vec::new();
        if with_gradients {
            let field = points.iter().flat_map(|_| [-self.field.x, -self.field.y, -self.field.z]);
            gradients.extend(field);
        }
        if !self.charges.x.is_empty() {
            let mut charges = self.charges.clone();
            charges.add_inverse_distances(points, &mut potentials);
            if with_gradients {
                charges.add_gradients(points, &mut gradients);
            }
        }
        Some((potentials, gradients))
    }
}
