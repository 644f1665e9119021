//! The solver: work that depends on the geometry alone is done once; media and excitations may
//! change.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use mesh::Mesh;

use super::charges::{Charges, at_corners};
use super::dense::Dense;
use super::estimate::ChildCharges;
use super::fast::{Columns, Fast};
use super::found::Found;
use super::free_charge::{enforce_totals, totals};
use super::sampled::{SampledResidual, by_action};
use super::system::{System, panels_in};
use super::{Electrostatics, Excitation, Media, Response, external, reciprocal};
use crate::collective;
use crate::constants::BY_WHOLE_ROWS;
use crate::physics::cost;
use crate::{Error, Method, Progress, SolveOptions, Timings};

/// Share of the required accuracy that finer integrals aim at.
const FINER: f64 = 0.1;

/// Tolerance of induced charges of errors: the errors are estimates themselves.
const INDUCED: f64 = 1e-2;

/// Surfaces with everything that does not depend on permittivities and excitations: entries, fast
/// sum, near field, local inverses.
pub struct Prepared {
    system: System,
    options: SolveOptions,
    is_dense: bool,
    /// Excitations per solve.
    columns: usize,
    /// Created by the first solve, after its right-hand sides: these need no GPU, which may still
    /// be opening.
    work: Option<Work>,
}

/// A state after further iterations.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refined {
    /// Its charges.
    pub response: Response,
    /// Residual of these charges in the equations at some panels, computed independently of the
    /// solve, relative to the action there.
    pub residual: SampledResidual,
}

enum Work {
    Dense(Box<Dense>),
    Fast(Box<Fast>),
}

impl Work {
    fn new(
        system: &System,
        is_dense: bool,
        columns: usize,
        options: &SolveOptions,
        progress: &dyn Progress,
        timings: &mut Timings,
    ) -> Result<Self, Error> {
        if is_dense {
            return Ok(Self::Dense(Box::new(Dense::new(
                system, columns, options, progress, timings,
            )?)));
        }
        Ok(Self::Fast(Box::new(Fast::new(system, columns, options, progress, timings)?)))
    }
}

impl Prepared {
    /// Takes the geometry of `mesh` and `media`, for solves of up to `excitations` at a time. The
    /// first solve does most of the preparation.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn new(
        mesh: &Mesh,
        media: Media<'_>,
        excitations: usize,
        options: &SolveOptions,
    ) -> Result<Self, Error> {
        let (panels, has_gradients) = panels_in(&media);
        let is_dense = match options.method {
            // Without surfaces there is nothing to solve.
            _ if panels == 0 => true,
            Method::Auto => {
                let solve = cost::Either {
                    unknowns: options.density.modes() * panels,
                    images: media.images.count(),
                    columns: excitations,
                    has_gradients,
                };
                cost::dense_is_faster(mesh, solve)
            }
            Method::Dense => true,
            Method::Fmm => false,
        };
        let tolerance = (!is_dense).then_some(options.tolerance);
        let ranks = options.group();
        let make = || System::new(mesh, media, options.density, tolerance);
        let system = collective::once(&*ranks, make)?;
        let (backend, gpu) = (options.effective_backend()?, options.gpu);
        let system = System { ranks, backend, gpu, ..Arc::unwrap_or_clone(system) };
        Ok(Self { system, options: options.clone(), is_dense, columns: excitations, work: None })
    }

    /// Entry (i, j): the charges i times the potential of charges j and their images on the
    /// surfaces, which are all metal, over 4 pi eps0 and in a medium of permittivity 1. Uses a fast
    /// sum, whatever [`SolveOptions::method`] is.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve).
    pub fn works(
        &self,
        charges: &[Charges<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let system = &self.system;
        if system.panels.len() == 0 {
            return Ok(vec![vec![0.0; charges.len()]; charges.len()]);
        }
        let of_modes = |of: &Charges<'_>| of.of_modes(&system.panels, system.density);
        let x: Vec<Vec<f64>> = charges.iter().map(of_modes).collect();
        let options = self.options.clone().relax(false);
        let none = &mut Timings::default();
        let mut fast = Fast::new(system, charges.len(), &options, progress, none)?;
        let products = fast.products(system, &x, progress)?;
        // Potentials of scaled charges are those of charges; charges have the scale.
        let scale = system.panels.scale();
        let work = |x: &[f64], y: &[f64]| scale * x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        Ok(x.iter().map(|x| products.iter().map(|y| work(x, y)).collect()).collect())
    }

    /// Replaces the permittivities, as in [`Media::permittivity`]. Returns false and changes
    /// nothing if interfaces would appear or disappear.
    pub fn set_permittivity(&mut self, permittivity: &[[f64; 2]]) -> bool {
        self.system.set_permittivity(permittivity)
    }

    /// Its panels and equations, without what solves them.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The charge missing from these charges in this excitation, on the children of triangles, by
    /// local problems, each triangle's times its weight; without the charge that it induces.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Fmm`].
    pub fn missing<'a>(
        &self,
        excitation: &Excitation,
        charges: impl Into<Charges<'a>>,
        weights: &[f64],
    ) -> Result<ChildCharges, Error> {
        let (system, charges) = (&self.system, charges.into());
        for (what, expected, found) in [
            ("excitation.potentials", system.conductors, excitation.potentials.len()),
            ("charges.total", system.triangles, charges.total.len()),
            ("weights", system.triangles, weights.len()),
        ] {
            if expected != found {
                return Err(Error::Length { what, expected, found });
            }
        }
        system.missing(excitation, charges, weights, self.options.tolerance)
    }

    /// Charge that these charges induce on the triangles, with conductors at 0 V, to one per cent.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve).
    pub fn induced_by(
        &mut self,
        charges: &ChildCharges,
        progress: &dyn Progress,
    ) -> Result<ChildCharges, Error> {
        let _span = tracing::debug_span!("induced charge").entered();
        let b = self.system.right_hand_side_of(charges)?;
        let at_zero = Excitation::default().potentials(vec![0.0; self.system.conductors]);
        let options = self.options.clone().tolerance(INDUCED.max(self.options.tolerance));
        let one = std::slice::from_ref(&at_zero);
        let system = &self.system;
        let found = match &mut self.work {
            None => return Ok(ChildCharges::default()),
            Some(Work::Dense(dense)) => dense.solve(system, b, 1, options.tolerance, progress)?,
            Some(Work::Fast(fast)) => fast.solve(
                system,
                one,
                Columns { b, start: Vec::new() },
                &options,
                progress,
                &mut Timings::default(),
            )?,
        };
        let response = self.responses(one, found).pop();
        Ok(response.map_or_else(ChildCharges::default, |response| ChildCharges::of(&response)))
    }

    /// Frees near field, plans and preconditioner: [`error_estimate`](System::error_estimate) and
    /// [`missing`](Self::missing) do not use them, [`refine`](Self::refine) and
    /// [`induced_by`](Self::induced_by) find nothing without, and the next solve makes them again.
    pub fn give_back(&mut self) {
        self.work = None;
    }

    /// Solves for the charges under each excitation.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Interrupted`], [`Error::Memory`], [`Error::Fmm`].
    pub fn solve(
        &mut self,
        excitations: &[Excitation],
        progress: &dyn Progress,
    ) -> Result<Electrostatics, Error> {
        self.solve_from(&[], excitations, progress)
    }

    /// As [`solve`](Self::solve), with iterations starting from charges close to the solution, one
    /// set for each excitation, or none.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve).
    pub fn solve_from(
        &mut self,
        start: &[Charges<'_>],
        excitations: &[Excitation],
        progress: &dyn Progress,
    ) -> Result<Electrostatics, Error> {
        let mut answer = self.solve_some(start, excitations, 0..excitations.len(), progress)?;
        self.complete(excitations, &mut answer);
        Ok(answer)
    }

    /// The answers to `some` of the excitations, by a near field that serves all, where other ranks
    /// solve for the rest. Call [`complete`](Self::complete) on all answers together.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve); also [`Error::Length`] if `some` is not within the
    /// excitations.
    pub fn solve_some(
        &mut self,
        start: &[Charges<'_>],
        excitations: &[Excitation],
        some: Range<usize>,
        progress: &dyn Progress,
    ) -> Result<Electrostatics, Error> {
        let _span = tracing::debug_span!("solve").entered();
        let (expected, found) = (excitations.len(), some.end);
        if found > expected || some.start > found {
            return Err(Error::Length { what: "some", expected, found });
        }
        if !start.is_empty() && start.len() != excitations.len() {
            let (expected, found) = (excitations.len(), start.len());
            return Err(Error::Length { what: "start", expected, found });
        }
        for charges in start {
            let (expected, found) = (self.system.triangles, charges.total.len());
            if expected != found {
                return Err(Error::Length { what: "start.total", expected, found });
            }
        }
        for excitation in excitations {
            let (expected, found) = (self.system.conductors, excitation.potentials.len());
            if expected != found {
                return Err(Error::Length { what: "excitation.potentials", expected, found });
            }
        }
        let mut timings = Timings::default();
        let started = Instant::now();
        let mut b: Vec<f64> = excitations
            .iter()
            .flat_map(|excitation| external::right_hand_side(&self.system, excitation))
            .collect();
        let columns = some.len();
        let (system, options) = (&self.system, &self.options);
        let of_right_hand_sides = started.elapsed().as_secs_f64();
        let work = match &mut self.work {
            Some(work) => work,
            work @ None => {
                let (is_dense, most) = (self.is_dense, self.columns);
                work.insert(Work::new(system, is_dense, most, options, progress, &mut timings)?)
            }
        };
        let started = Instant::now();
        let known_near_field = timings.near_field;
        if let Work::Fast(fast) = work
            && columns < excitations.len()
        {
            fast.close(system, excitations, &b, progress, &mut timings)?;
        }
        let rows = b.len() / excitations.len().max(1);
        b.truncate(some.end * rows);
        b.drain(..some.start * rows);
        let excitations = &excitations[some.clone()];
        let start = start.get(some).unwrap_or_default();
        let found = match work {
            Work::Dense(dense) => dense.solve(system, b, columns, options.tolerance, progress)?,
            Work::Fast(fast) => {
                let of_modes =
                    |charges: &Charges<'_>| charges.of_modes(&system.panels, system.density);
                let start = start.iter().flat_map(of_modes).collect();
                let given = Columns { b, start };
                fast.solve(system, excitations, given, options, progress, &mut timings)?
            }
        };
        timings.solve = of_right_hand_sides + started.elapsed().as_secs_f64();
        // Columns were solved for right-hand sides scaled to size 1.
        let largest = found.sizes.iter().copied().fold(0.0, f64::max);
        let sampled = found.error;
        timings.solve -= found.checking + timings.near_field - known_near_field;
        timings.fmm_check = found.checking;
        let (method, fast) = match &self.work {
            Some(Work::Fast(fast)) => (Method::Fmm, Some(fast)),
            _ => (Method::Dense, None),
        };
        if let Some(fast) = fast {
            timings.matvec_mean = fast.layer.plans().mean_seconds();
        }
        let gauss_defect = found.defect;
        Ok(Electrostatics {
            responses: self.responses(excitations, found),
            replaced: Vec::new(),
            unresolved: Vec::new(),
            method,
            tolerance: self.options.tolerance,
            fmm_tolerance: fast.map(|fast| fast.tolerance),
            fmm_error_sampled: sampled.map(|error| error.relative),
            fmm_error_potential: sampled.map(|error| error.absolute * largest),
            gauss_defect,
            fmm: fast.map(|fast| fast.layer.plans().tight().info().clone()),
            timings,
        })
    }

    /// Replaces entries of the capacitance matrix that their own row does not resolve by their
    /// transposes, in the answers to all excitations.
    pub fn complete(&self, excitations: &[Excitation], answer: &mut Electrostatics) {
        let system = &self.system;
        (answer.replaced, answer.unresolved) = reciprocal::replace(
            &system.rows,
            &totals(&system.rows),
            system.panels.triangles(),
            system.images.copies() as f64,
            excitations,
            &mut answer.responses,
        );
    }

    /// Continues one state, whose charges by [`solve`](Self::solve) are `charges`, until each
    /// conductor and interface meets its equations to the tolerance relative to the action on it
    /// alone, however weak that is. Forces and torques on bodies far from others need that. `None`
    /// if the equations were solved densely: those answers have all digits.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve).
    pub fn refine<'a>(
        &mut self,
        excitation: &Excitation,
        charges: impl Into<Charges<'a>>,
        progress: &dyn Progress,
    ) -> Result<Option<Refined>, Error> {
        let (system, charges) = (&self.system, charges.into());
        for (what, expected, found) in [
            ("excitation.potentials", system.conductors, excitation.potentials.len()),
            ("charges.total", system.triangles, charges.total.len()),
        ] {
            if expected != found {
                return Err(Error::Length { what, expected, found });
            }
        }
        let Some(Work::Fast(fast)) = &mut self.work else { return Ok(None) };
        let b = external::right_hand_side(system, excitation);
        let x = charges.of_modes(&system.panels, system.density);
        let mut found = fast.refine(system, excitation, &b, x, &self.options, progress)?;
        // The residual by whole rows; if it comes from the quadrature points, more of them are
        // needed.
        let asked = BY_WHOLE_ROWS * self.options.tolerance;
        let whole_rows = |x: &[f64]| by_action(system, excitation, x, self.options.tolerance);
        let group = &*system.ranks;
        let mut residual = whole_rows(&found.charges)?;
        if collective::largest(group, residual.relative)? > asked {
            let x = found.charges;
            let off = collective::largest(group, residual.relative)? / asked;
            fast.make_finer(system, FINER / off, &self.options, progress)?;
            let mut known = found.solved;
            found = fast.refine(system, excitation, &b, x, &self.options, progress)?;
            known.iter_mut().zip(found.solved).for_each(|(known, solved)| known.go_on(solved));
            found.solved = known;
            residual = whole_rows(&found.charges)?;
        }
        let response = self.responses(std::slice::from_ref(excitation), found).pop();
        Ok(response.map(|response| Refined { response, residual }))
    }

    fn responses(&self, excitations: &[Excitation], found: Found) -> Vec<Response> {
        let Found { charges, normal_derivatives, solved, .. } = found;
        let system = &self.system;
        let (n, size) = (system.panels.len(), system.rows.len());
        let totals = totals(&system.rows);
        excitations
            .iter()
            .zip(solved)
            .enumerate()
            .map(|(column, (excitation, solved))| {
                // Their means; the linear modes are not needed.
                let means = column * size..column * size + n;
                let normal_derivatives = normal_derivatives.get(means.clone()).unwrap_or_default();
                let of_modes = &charges[column * size..][..size];
                let x = &charges[means];
                let scale = system.panels.scale();
                // Of all charge.
                let mut normal_derivatives = normal_derivatives.to_vec();
                let external = external::sheet_normal_derivatives(system, excitation);
                normal_derivatives
                    .iter_mut()
                    .zip(&external)
                    .for_each(|(normal_derivative, more)| *normal_derivative += more);
                let mut sides = system.rows.sides(x, &normal_derivatives);
                let (rows, gauss) = (&system.rows, &system.rows.gauss);
                let all = excitation.with_images(&system.images, |_| true);
                if !normal_derivatives.is_empty() {
                    gauss.metal.enforce_flux(rows, x, &mut sides[..], &all, scale);
                }
                let mut free = rows.free_charges(x, &sides);
                enforce_totals(rows, &totals, x, &sides, &all, scale, &mut free);
                let whole = scale * system.images.copies() as f64;
                let mut response = Response {
                    potentials: excitation.potentials.clone(),
                    charge: vec![0.0; system.triangles],
                    at_corners: at_corners(
                        &system.panels,
                        system.density,
                        of_modes,
                        system.triangles,
                    ),
                    free_charge: vec![0.0; system.triangles],
                    conductor_charge: vec![0.0; excitation.potentials.len()],
                    iterations: solved.iterations,
                    reason: solved.reason,
                    relative_residual: solved.relative_residual,
                    history: solved.history,
                };
                for (i, &triangle) in system.panels.triangles().iter().enumerate() {
                    response.charge[triangle as usize] = x[i] * scale;
                    if let Some(conductor) = system.rows.conductor[i] {
                        response.free_charge[triangle as usize] = free[i] * scale;
                        response.conductor_charge[conductor as usize] += free[i] * whole;
                    }
                }
                response
            })
            .collect()
    }
}
