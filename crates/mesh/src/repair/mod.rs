//! Surfaces that are not quite right, made valid: each triangle side shared by two, all facing out
//! of the solid, none crossing another.
//!
//! [`repair`] joins what lies on each other, removes triangles without area, parts what is joined
//! where it only touches, closes small holes, turns what faces the wrong way and cuts parts that go
//! through each other along their common lines. It lists what it did.

pub(crate) mod cut;
mod cuts;
mod hits;
mod holes;
mod join;
mod merge;
mod report;
mod sheets;
mod slivers;
mod steps;
pub mod stitch;
mod triangles;
mod untangle;
pub(crate) mod web;

pub use report::{Action, Error, Fault, What};

use crate::bodies::check::Defects;
use crate::bodies::orient::{Facing, face};
use crate::queries::intersect::intersections;
use crate::surface::Mesh;
use crate::topology::Sides;
use crate::vector::Vector;

options::options! {
    /// What is repaired, and how far.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Options {
        /// Vertices at open edges are joined that are closer than this times the edges next to
        /// them, and triangles removed that are lower than this times their longest side.
        tolerance: f64 = 1e-3,
        /// Holes of more edges stay.
        largest_hole: usize = 32,
        /// Cavities of less volume are left out, in the cube of the mesh's unit.
        drop_cavities_below: f64 = 0.0,
    }
}

/// Rounds of cuts, smoothing and removal of what these leave.
const ROUNDS: usize = 4;

/// Makes a valid closed surface of a mesh of flat triangles, with the list of what was done.
///
/// Parts that go through each other become one: solids are united, and cavities (which face the
/// other way) are opened where they reach through a surface.
///
/// # Errors
/// [`Error`]: arrays that do not fit together, curved triangles, or faults that could not be
/// repaired.
pub fn repair(mut mesh: Mesh, options: &Options) -> Result<(Mesh, Vec<Action>), Error> {
    mesh.validate()?;
    if mesh.patches.is_some() {
        return Err(Error::Curved);
    }
    let mut list = report::List::default();
    steps::drop_unused(&mut mesh, &mut list);
    join::exactly(&mut mesh, &mut list);
    join::nearby(&mut mesh, options.tolerance, &mut list);
    clean(&mut mesh, options, &mut list);
    steps::align(&mut mesh, &mut list);
    holes::close(&mut mesh, options.largest_hole, &mut list);
    clean(&mut mesh, options, &mut list);
    if mesh.triangles.is_empty() {
        return Err(Error::Empty { actions: list.into_actions() });
    }
    steps::drop_cavities(&mut mesh, options.drop_cavities_below, &mut list);
    for _ in 0..ROUNDS {
        let changed = untangle::within_parts(&mut mesh, &mut list)
            | merge::crossing_parts(&mut mesh, &mut list);
        if !changed {
            break;
        }
        clean(&mut mesh, options, &mut list);
    }
    steps::face_out(&mut mesh, &mut list);
    mesh.drop_unused();
    let actions = list.into_actions();
    let faults = faults(&mesh);
    if !faults.is_empty() {
        return Err(Error::Left { actions, faults });
    }
    Ok((mesh, actions))
}

/// Removes what has no area or is there twice, and parts sheets that share an edge or a vertex.
fn clean(mesh: &mut Mesh, options: &Options, list: &mut report::List) {
    for _ in 0..ROUNDS {
        steps::drop_repeated(mesh, list);
        steps::drop_duplicates(mesh, list);
        steps::drop_flaps(mesh, list);
        sheets::part(mesh, list);
        slivers::remove(mesh, options.tolerance, list);
        if !slivers::weld(mesh, options.tolerance, list) {
            break;
        }
    }
    steps::drop_unused(mesh, list);
}

/// What keeps a valid mesh of flat triangles from being the surface of bodies: nothing if each
/// closed part encloses space, faces out of the solid and meets no other.
#[must_use]
pub fn faults(mesh: &Mesh) -> Vec<Fault> {
    let mut found = Vec::new();
    let place = |t: u32| mesh.corners(t as usize)[0];
    if mesh.triangles.is_empty() {
        return vec![Fault::Empty];
    }
    let sides = Sides::of(mesh);
    let at = |wanted: &dyn Fn(usize, isize) -> bool| -> Option<(usize, Vector)> {
        let mut chosen = sides.edges().filter(|edge| {
            let way = edge.iter().map(|side| if side.forward { 1 } else { -1 }).sum();
            wanted(edge.len(), way)
        });
        let first = chosen.next()?;
        let place = mesh.vertices[first[0].low as usize];
        Some((1 + chosen.count(), place))
    };
    let open = at(&|uses, _| uses == 1);
    found.extend(open.map(|(edges, place)| Fault::Open { edges, place }));
    let crowded = at(&|uses, _| uses > 2);
    found.extend(crowded.map(|(edges, place)| Fault::NonManifold { edges, place }));
    let flipped = at(&|uses, way| uses == 2 && way != 0);
    found.extend(flipped.map(|(edges, place)| Fault::Flipped { edges, place }));
    let defects = Defects::of(mesh);
    if let Some(&first) = defects.zero_area.first() {
        found.push(Fault::ZeroArea { triangles: defects.zero_area.len(), place: place(first) });
    }
    if let Some(first) = defects.duplicates.first() {
        let place = place(first.triangle);
        found.push(Fault::Duplicate { triangles: defects.duplicates.len(), place });
    }
    let crossings = intersections(mesh);
    if let Some(first) = crossings.first() {
        found.push(Fault::Crossing { pairs: crossings.len(), place: place(first.triangles[0]) });
    }
    if found.is_empty() {
        let turned = face(&mut mesh.clone(), Facing::OutOfSolid).turned;
        found.extend((turned > 0).then_some(Fault::Turned { triangles: turned }));
    }
    found
}
