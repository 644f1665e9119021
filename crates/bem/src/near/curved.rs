//! Entries between panels of which at least one is curved, over the modes of linear functions.

use super::accuracy::IntegralAccuracy;
use super::entry::RowKind;
use crate::geometry::panels::Panels;
use crate::geometry::patch::Patch;
pub(super) use crate::integrals::curved::Both;
use crate::integrals::curved::{CurvedPair, Entries, Kernel};
use crate::integrals::linear_pair::transposed;
use crate::integrals::potentials::WeightedPoints;
use crate::quadrature::curved_sums::{self, Points};
use crate::quadrature::rule::Rule;

/// Whether a pair has a curved panel, so that the flat formulas do not apply.
pub(super) fn is_pair(panels: &Panels, i: usize, j: usize) -> bool {
    panels.are_curved() && (panels.curved(i).is_some() || panels.curved(j).is_some())
}

/// The panel as a patch, if it is flat of order 1.
fn patch(panels: &Panels, i: usize) -> Patch {
    panels.curved(i).copied().unwrap_or_else(|| Patch::flat(panels.vertices(i)))
}

/// Area per unit of parameters, of an image too.
fn twice_area(panels: &Panels, i: usize) -> f64 {
    2.0 * panels.areas()[i % panels.len()]
}

/// Whether the rows of a pair involve the normal of the first and of the second panel.
fn normals_of([first, second]: [RowKind; 2]) -> [bool; 2] {
    let has = |own: RowKind, other| own == RowKind::Adjoint || other == RowKind::Double;
    [has(first, second), has(second, first)]
}

/// Entries of two rows of these kinds, from potentials tested on the first panel and from normal
/// derivatives at either panel, tested there.
fn of_rows(kinds: [RowKind; 2], potential: Entries, fields: Both) -> Both {
    let row = |side: usize| match (kinds[side], side) {
        (RowKind::Single, 0) => potential,
        (RowKind::Single, _) => transposed(potential),
        (RowKind::Adjoint, _) => fields[side],
        (RowKind::Double, _) => transposed(fields[1 - side]),
        (RowKind::None, _) => Entries::default(),
    };
    [row(0), row(1)]
}

/// Entries of row `i` with the modes of panel `j` and of row `j` with those of `i`, each of its
/// row's kind, over the parameters of both panels, in their own corner order; either may be an
/// image. Those of potentials may be off by `least`.
pub(super) fn exact(
    panels: &Panels,
    kinds: [RowKind; 2],
    [i, j]: [usize; 2],
    accuracy: &IntegralAccuracy,
    least: f64,
    scratch: &mut WeightedPoints,
) -> Both {
    of_pair(panels, kinds, [i, j], scratch, |kernel| {
        CurvedPair::new(kernel, accuracy.pairs, accuracy.solid_angles).allowing(least)
    })
}

/// The constant-constant entries of both rows.
pub(super) fn exact_means(
    panels: &Panels,
    kinds: [RowKind; 2],
    [i, j]: [usize; 2],
    accuracy: &IntegralAccuracy,
    scratch: &mut WeightedPoints,
) -> [f64; 2] {
    let both = of_pair(panels, kinds, [i, j], scratch, |kernel| {
        CurvedPair::new(kernel, accuracy.pairs, accuracy.solid_angles).of_constants()
    });
    both.map(|entries| entries[0][0])
}

fn of_pair(
    panels: &Panels,
    kinds: [RowKind; 2],
    [i, j]: [usize; 2],
    scratch: &mut WeightedPoints,
    integrals: impl Fn(Kernel) -> CurvedPair,
) -> Both {
    let mut entries = |kernel, i, j| {
        let pair = integrals(kernel);
        pair.entries(&patch(panels, i), &patch(panels, j), scratch)
    };
    let mut potential = Entries::default();
    if kinds.contains(&RowKind::Single) {
        // In the mesh's order, so that entries (i, j) and (j, i) are the same.
        let (first, second) = panels.ordered(i, j);
        let [forth, _] = entries(Kernel::Single, first, second);
        potential = if first == i { forth } else { transposed(forth) };
    }
    let fields = match normals_of(kinds) {
        [true, true] if i == j => [entries(Kernel::Adjoint, i, i)[0]; 2],
        [true, true] => entries(Kernel::Adjoints, i, j),
        [true, false] => entries(Kernel::Adjoint, i, j),
        [false, true] => [Entries::default(), entries(Kernel::Adjoint, j, i)[0]],
        [false, false] => Both::default(),
    };
    let per = |side: usize, k: usize| {
        fields[side].map(|row| row.map(|entry| entry / twice_area(panels, k)))
    };
    of_rows(kinds, potential, [per(0, i), per(1, j)])
}

/// Points of a rule on a panel, with normals if normal derivatives are needed.
fn points(panels: &Panels, kinds: [RowKind; 2], rule: &'static Rule, i: usize) -> Points {
    let with_normals = normals_of(kinds) != [false; 2];
    let patch = patch(panels, i);
    let tangents = with_normals.then(|| patch.tangents());
    Points::on_patch(rule, &patch, tangents.as_ref())
}

/// The same entries summed over points of both panels.
fn between(panels: &Panels, kinds: [RowKind; 2], [i, j]: [usize; 2], points: [&Points; 2]) -> Both {
    let mut potential = Entries::default();
    if kinds.contains(&RowKind::Single) {
        potential = curved_sums::potentials(points[0], points[1]);
    }
    let mut fields = Both::default();
    if normals_of(kinds) != [false; 2] {
        let [forth, back] = curved_sums::fields(points[0], points[1]);
        let per = |entries: Entries, k: usize| {
            entries.map(|row| row.map(|entry| entry / twice_area(panels, k)))
        };
        fields = [per(forth, i), per(back, j)];
    }
    of_rows(kinds, potential, fields)
}

/// The same entries summed over the points of the first rule on `i` and of the second on `j`.
pub(super) fn by_points(
    panels: &Panels,
    kinds: [RowKind; 2],
    rules: [&'static Rule; 2],
    [i, j]: [usize; 2],
) -> Both {
    let both = [points(panels, kinds, rules[0], i), points(panels, kinds, rules[1], j)];
    between(panels, kinds, [i, j], both.each_ref())
}

/// Change of the entries of both rows when the second rule replaces the first on one panel and on
/// the other: sum of the two changes, measured by `size`.
pub(super) fn changes(
    panels: &Panels,
    kinds: [RowKind; 2],
    rules: [&'static Rule; 2],
    pair: [usize; 2],
    size: impl Fn(&Entries) -> f64,
) -> [f64; 2] {
    let [on_i, on_j] = pair.map(|k| rules.map(|rule| points(panels, kinds, rule, k)));
    let plain = between(panels, kinds, pair, [&on_i[0], &on_j[0]]);
    let left = between(panels, kinds, pair, [&on_i[1], &on_j[0]]);
    let right = between(panels, kinds, pair, [&on_i[0], &on_j[1]]);
    let change = |of: &Both, side: usize| {
        let mut change = of[side];
        let entries = change.as_flattened_mut().iter_mut();
        entries.zip(plain[side].as_flattened()).for_each(|(entry, plain)| *entry -= plain);
        size(&change)
    };
    [0, 1].map(|side| change(&left, side) + change(&right, side))
}
