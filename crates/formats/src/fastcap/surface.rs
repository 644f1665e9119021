//! Panels as they come made a surface: each place once, triangles that meet in common edges.
//!
//! What a place is follows from all panels on it. Metal is metal wherever it lies, and has the
//! media of the interface that it covers, which is what all interfaces there say together. A body
//! on another closes the gap of no height between them. Two interfaces that say the same are one.

use std::collections::HashSet;

use mesh::conform;
use mesh::files::{Cause, FormatError};

use super::origin::counted;
use super::overlay::{Overlaid, Rules, lay_over};
use super::sides::choose_sides;
use super::triangles::Triangles;

/// Triangles lower than this share of what counts as nothing are left out of what cuts make.
const SLIVER: f64 = 1e-3;

/// Makes triangles a surface. `last` is the last line of the list, for errors of the whole.
pub(super) fn clean(
    triangles: &mut Triangles,
    rules: Rules<'_>,
    last: usize,
    notes: &mut Vec<String>,
) -> Result<(), FormatError> {
    let flat = drop_flat(triangles, rules.tolerance);
    if flat > 0 {
        notes.push(counted(
            flat,
            "triangle of no area is left out",
            "triangles of no area are left out",
        ));
    }
    let before = triangles.count();
    let Overlaid { open, on } = lay_over(triangles, rules, notes)?;
    if triangles.mesh.triangles.is_empty() {
        return Err(Cause::NoTriangles.on_line(last));
    }
    let part_of = conform::conform(&mut triangles.mesh, rules.tolerance);
    triangles.role_of = part_of.iter().map(|&t| triangles.role_of[t as usize]).collect();
    triangles.panel_of = part_of.iter().map(|&t| triangles.panel_of[t as usize]).collect();
    let mut open: Vec<bool> = part_of.iter().map(|&t| open[t as usize]).collect();
    drop_slivers(triangles, rules.tolerance, &mut open);
    let more = triangles.count().saturating_sub(before);
    if more > 0 {
        let what = ["triangle more, where panels meet", "triangles more, where panels meet"];
        notes.push(counted(more, what[0], what[1]) + " without common corners: they are cut there");
    }
    choose_sides(triangles, open)?;
    check_conductors(triangles, rules.names, &on).map_err(|cause| cause.on_line(last))
}

/// Leaves out triangles that are no higher than this, or than rounding; how many.
fn drop_flat(triangles: &mut Triangles, tolerance: f64) -> usize {
    let is_flat = |t: usize| triangles.height(t) <= tolerance;
    let flat: Vec<bool> = (0..triangles.count()).map(is_flat).collect();
    let count = flat.iter().filter(|flat| **flat).count();
    if count > 0 {
        triangles.keep(|t| !flat[t]);
    }
    count
}

/// Leaves out what cuts along panels that overlap by rounding leave of them: slivers without area,
/// and those with the corners of an earlier one.
fn drop_slivers(triangles: &mut Triangles, tolerance: f64, open: &mut Vec<bool>) {
    let mut seen = HashSet::with_capacity(open.len());
    let is_first = |corners: &[u32; 3]| {
        let mut key = *corners;
        key.sort_unstable();
        seen.insert(key)
    };
    let mut is_kept: Vec<bool> = triangles.mesh.triangles.iter().map(is_first).collect();
    for (t, is_kept) in is_kept.iter_mut().enumerate() {
        *is_kept &= triangles.height(t) > SLIVER * tolerance;
    }
    if is_kept.contains(&false) {
        triangles.keep(|t| is_kept[t]);
        let mut is_kept = is_kept.iter();
        open.retain(|_| is_kept.next() == Some(&true));
    }
}

/// Refuses conductors of which nothing is left; `on` has conductors that they lie on.
fn check_conductors(
    triangles: &Triangles,
    names: &[String],
    on: &[Option<u32>],
) -> Result<(), Cause> {
    let mut is_there = vec![false; names.len()];
    let conductors = (0..triangles.count()).filter_map(|t| triangles.role(t).conductor);
    conductors.for_each(|conductor| is_there[conductor] = true);
    let Some(gone) = is_there.iter().position(|is| !is) else { return Ok(()) };
    let name = &names[gone];
    Err(Cause::Other(match on[gone] {
        Some(other) => format!(
            "all panels of conductor \"{name}\" lie on those of conductor \"{}\": remove one of the two, or join their lines by + \
             and give both the same name",
            names[other as usize]
        ),
        None => format!("no panel of conductor \"{name}\" has an area"),
    }))
}
