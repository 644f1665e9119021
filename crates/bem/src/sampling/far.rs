//! Contribution of distant images to rows: smooth over the whole surface, computed separately from
//! fast sum and near field.

use std::ops::Range;

use comm::Communicator;
use parallel::prelude::*;

use crate::Error;
use crate::collective;
use crate::geometry::far::{FarImages, Place};
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::near::RowKind;
use crate::ordered;
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::Rule;
use crate::space::{Carrier, Dofs};

/// Panels, or points, per task.
const TOGETHER: usize = 256;

/// Tasks whose values are in memory at a time.
const SLAB: usize = 64;

/// Coefficients of the potentials of distant images of densities with coefficients `x`, in a sum
/// over the points of a rule, shape (columns, coefficients).
pub(crate) fn coefficients(
    far: &FarImages,
    panels: &Panels,
    rule: &'static Rule,
    dofs: &Dofs,
    group: &dyn Communicator,
    x: &[&[f64]],
) -> Result<Vec<f64>, Error> {
    let add = |own: Range<usize>, moments: &mut [f64]| {
        let places = places(panels, rule, own.clone());
        let mut charges = vec![0.0; x.len() * places.len()];
        let of_panels = charges.chunks_exact_mut(rule.len());
        for (of_panel, (x, i)) in
            of_panels.zip(x.iter().flat_map(|x| own.clone().map(move |i| (x, i))))
        {
            let put = |k: usize, charge: f64| of_panel[k] = charge;
            let carrier = Carrier { panel: i, is_mirrored: false, area: panels.areas()[i] };
            dofs.strengths(rule, carrier, x, put);
        }
        far.add_charges(&places, &charges, moments);
    };
    let mut moments = ordered::sums(0..panels.len(), TOGETHER, x.len() * far.moments(), add);
    collective::sum(group, &mut moments)?;
    Ok(far.coefficients(&moments))
}

/// The points of a rule on some panels.
fn places(panels: &Panels, rule: &'static Rule, of: impl Iterator<Item = usize>) -> Vec<Place> {
    of.flat_map(|i| panels.points(rule, i).map(move |(x, _)| (x, panels.region(i)))).collect()
}

/// Calls `put` with the column, the point, its potential from these coefficients, and the gradient
/// there if wanted (else 0).
pub(crate) fn values_at(
    far: &FarImages,
    points: &[Place],
    coefficients: &[f64],
    with_gradients: bool,
    put: &mut dyn FnMut(usize, usize, f64, Vec3),
) {
    let of_run = |run: &[Place]| {
        let gradients = if with_gradients { far.gradients(run, coefficients) } else { Vec::new() };
        (far.potentials(run, coefficients), gradients)
    };
    // Values of few points are in memory at a time, in addition to their destination.
    for (slab, points) in points.chunks(SLAB * TOGETHER).enumerate() {
        let runs: Vec<_> = points.par_chunks(TOGETHER).map(of_run).collect();
        for (run, (potentials, gradients)) in runs.iter().enumerate() {
            let first = run * TOGETHER;
            let in_run = TOGETHER.min(points.len() - first);
            for (k, potential) in potentials.iter().enumerate() {
                let gradient = gradients.get(k).copied().unwrap_or_default();
                let point = slab * SLAB * TOGETHER + first + k % in_run;
                put(k / in_run, point, *potential, gradient);
            }
        }
    }
}

/// Rows, and the panels whose distant images contribute to them.
#[derive(Clone, Copy)]
pub(crate) struct SeenFar<'a> {
    pub(crate) panels: &'a Panels,
    /// Quadrature rules of the sources and of the targets.
    pub(crate) rules: [&'static Rule; 2],
    pub(crate) kinds: &'a [RowKind],
    pub(crate) dofs: &'a Dofs,
}

/// Adds to rows of charges the contribution of distant images of charges `x`, both of shape
/// (columns, modes, panels). Collective.
pub(crate) fn add(
    SeenFar { panels, rules, kinds, dofs }: SeenFar<'_>,
    group: &dyn Communicator,
    x: &[f64],
    y: &mut [f64],
    columns: usize,
) -> Result<(), Error> {
    let (Some(far), Dofs::Charges(density)) = (panels.far(), dofs) else { return Ok(()) };
    let (n, modes) = (panels.len(), density.modes());
    if columns == 0 {
        return Ok(());
    }
    let (rule, weights) = (rules[1], rules[1].modes());
    // A rank without panels still takes part in the sum over all ranks.
    let of_column = |column: usize| &x[column * modes * n..(column + 1) * modes * n];
    let of_columns: Vec<&[f64]> = (0..columns).map(of_column).collect();
    let coefficients = coefficients(far, panels, rules[0], dofs, group, &of_columns)?;
    // Of some panels, shape (panels, columns, modes).
    let of_run = |run: usize| {
        let run = run * TOGETHER..n.min((run + 1) * TOGETHER);
        let of_kind = |kind| run.clone().filter(|&i| kinds[i] == kind).collect::<Vec<usize>>();
        let (single, adjoint) = (of_kind(RowKind::Single), of_kind(RowKind::Adjoint));
        let mut sums = vec![[0.0; MODES]; run.len() * columns];
        let mut test = |own: &[usize], value: &dyn Fn(usize, usize) -> f64| {
            for (column, k) in (0..columns).flat_map(|c| (0..own.len()).map(move |k| (c, k))) {
                let sums = &mut sums[(own[k] - run.start) * columns + column];
                for node in 0..rule.len() {
                    let value = value(k * rule.len() + node, column);
                    sums.iter_mut().zip(weights).for_each(|(sum, of)| *sum += of[node] * value);
                }
            }
        };
        let at = places(panels, rule, single.iter().copied());
        let potentials = far.potentials(&at, &coefficients);
        test(&single, &|k, column| potentials[column * at.len() + k]);
        let at = places(panels, rule, adjoint.iter().copied());
        let gradients = far.gradients(&at, &coefficients);
        let normals: Vec<Vec3> = adjoint.iter().flat_map(|&i| panels.normals(rule, i)).collect();
        test(&adjoint, &|k, column| gradients[column * at.len() + k].dot(&normals[k]));
        sums
    };
    let runs = (0..n.div_ceil(TOGETHER)).into_par_iter().map(of_run).collect::<Vec<_>>();
    for (place, sums) in runs.iter().flatten().enumerate() {
        let (i, column) = (place / columns, place % columns);
        (0..modes).for_each(|mode| y[(column * modes + mode) * n + i] += sums[mode]);
    }
    Ok(())
}
