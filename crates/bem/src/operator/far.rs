//! What images far away do to rows: smooth over the whole surface, beside fast sum and near field.

use std::ops::Range;

use parallel::prelude::*;

use crate::Error;
use crate::geometry::far::FarImages;
use crate::geometry::panels::Panels;
use crate::geometry::share::Share;
use crate::near::pairs::RowKind;
use crate::ordered;
use crate::quadrature::rule::Rule;
use crate::space::Dofs;

/// Panels that one task works at a time.
const TOGETHER: usize = 256;

/// Coefficients of the potential that densities of coefficients `x` make by their images far away,
/// in a sum over the points of a rule.
pub(crate) fn coefficients(
    far: &FarImages,
    panels: &Panels,
    rule: &'static Rule,
    dofs: &Dofs,
    share: Option<&Share>,
    x: &[f64],
) -> Result<Vec<f64>, Error> {
    let add = |own: Range<usize>, moments: &mut [f64]| {
        let mut charges = vec![0.0; rule.len()];
        for i in own {
            let put = |k: usize, charge: f64| charges[k] = charge;
            dofs.strengths(rule, (i, false), x, panels.areas()[i], put);
            let points = panels.points(rule, i).zip(&charges);
            let region = panels.region(i);
            points.for_each(|((y, _), charge)| far.add_charge((&y, region), *charge, moments));
        }
    };
    let mut moments = ordered::sums(0..panels.len(), TOGETHER, far.moments(), add);
    if let Some(share) = share {
        share.sum(&mut moments)?;
    }
    Ok(far.coefficients(&moments))
}

/// Rows, and the panels whose images far away they see.
#[derive(Clone, Copy)]
pub(crate) struct SeenFar<'a> {
    pub(crate) panels: &'a Panels,
    /// Rules of the sources, and of the targets.
    pub(crate) rules: [&'static Rule; 2],
    pub(crate) kinds: &'a [RowKind],
    pub(crate) dofs: &'a Dofs,
}

/// Adds to rows of charges what images far away of charges `x` do there, shape (columns, modes,
/// panels) both. Collective where ranks share the panels.
///
/// # Errors
/// Messages that do not pass.
pub(crate) fn add(
    SeenFar { panels, rules, kinds, dofs }: SeenFar<'_>,
    share: Option<&Share>,
    x: &[f64],
    y: &mut [f64],
    columns: usize,
) -> Result<(), Error> {
    let (Some(far), Dofs::Charges(density)) = (panels.far(), dofs) else { return Ok(()) };
    let (n, modes) = (panels.len(), density.modes());
    let weights = rules[1].modes();
    for column in 0..columns {
        let of_column = column * modes * n..(column + 1) * modes * n;
        let (x, y) = (&x[of_column.clone()], &mut y[of_column]);
        let coefficients = coefficients(far, panels, rules[0], dofs, share, x)?;
        let of_panel = |i: usize| {
            let mut sums = [0.0; crate::quadrature::modes::MODES];
            let (normals, region) = (panels.normals(rules[1], i), panels.region(i));
            for (k, ((at, _), normal)) in panels.points(rules[1], i).zip(normals).enumerate() {
                let value = match kinds[i] {
                    RowKind::Single => far.potential((&at, region), &coefficients),
                    RowKind::Adjoint => far.gradient((&at, region), &coefficients).dot(&normal),
                    RowKind::Double | RowKind::None => 0.0,
                };
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight[k] * value);
            }
            sums
        };
        let rows: Vec<_> = (0..n).into_par_iter().with_min_len(TOGETHER).map(of_panel).collect();
        for (i, sums) in rows.into_iter().enumerate() {
            (0..modes).for_each(|mode| y[mode * n + i] += sums[mode]);
        }
    }
    Ok(())
}
