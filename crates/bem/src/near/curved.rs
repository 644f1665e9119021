//! Entries between panels of which at least one is curved, over the modes of linear functions.

use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;
use crate::integrals::curved::{CurvedPair, Entries, Kernel};
use crate::integrals::linear_pair::transposed;
use crate::integrals::pair::PairQuadrature;
use crate::integrals::potentials::WeightedPoints;
use crate::near::pairs::RowKind;
use crate::quadrature::modes::MODES;
use crate::quadrature::sums::{self, Points, Rule};

/// Whether the entries of a pair are not those of flat panels.
pub(super) fn is_pair(panels: &Panels, i: usize, j: usize) -> bool {
    panels.are_curved() && (panels.curved(i).is_some() || panels.curved(j).is_some())
}

/// The panel as a patch, if it is flat of order 1.
fn patch(panels: &Panels, i: usize) -> Patch {
    panels.curved(i).copied().unwrap_or_else(|| Patch::flat(panels.vertices(i)))
}

/// Entries of row `i`, of this kind, with the modes of panel `j`, over the parameters of both, in
/// the order of their own corners; either may be an image.
pub(super) fn exact(
    panels: &Panels,
    kind: RowKind,
    (i, j): (usize, usize),
    (quadrature, solid_angles): (PairQuadrature, f64),
    scratch: &mut WeightedPoints,
) -> Entries {
    let twice_area = |k: usize| 2.0 * panels.areas()[k % panels.len()];
    let of = |kernel, i, j, scratch: &mut WeightedPoints| {
        let pair = CurvedPair::new(kernel, quadrature, solid_angles);
        pair.entries(&patch(panels, i), &patch(panels, j), scratch)
    };
    let per = |entries: Entries, factor: f64| entries.map(|row| row.map(|entry| entry / factor));
    match kind {
        RowKind::None => Entries::default(),
        RowKind::Single => {
            // In the mesh's order, so that entries (i, j) and (j, i) are the same.
            let (first, second) = panels.ordered(i, j);
            let entries = of(Kernel::Single, first, second, scratch);
            if first == i { entries } else { transposed(entries) }
        }
        RowKind::Adjoint => per(of(Kernel::Adjoint, i, j, scratch), twice_area(i)),
        RowKind::Double => transposed(per(of(Kernel::Adjoint, j, i, scratch), twice_area(j))),
    }
}

/// The same summed over the points of the first rule on `i` and of the second on `j`.
pub(super) fn by_points(
    panels: &Panels,
    kind: RowKind,
    rules: [&'static Rule; 2],
    i: usize,
    j: usize,
) -> Entries {
    let points = |rule: &'static Rule, k: usize, with_normals: bool| {
        let mut points = Points::new(rule);
        let normals: Vec<Vec3> =
            if with_normals { panels.normals(rule, k).collect() } else { Vec::new() };
        for (at, (x, _)) in panels.points(rule, k).enumerate() {
            points.set(at, &x, normals.get(at));
        }
        points
    };
    let [outer, inner] = rules;
    match kind {
        RowKind::None => [[0.0; MODES]; MODES],
        RowKind::Single => sums::between_points(&points(outer, i, false), &points(inner, j, false)),
        // Minus the gradient at x along the normal there is that of dipoles.
        RowKind::Adjoint => sums::between_points(&points(outer, i, true), &points(inner, j, false)),
        RowKind::Double => {
            transposed(sums::between_points(&points(inner, j, true), &points(outer, i, false)))
        }
    }
}
