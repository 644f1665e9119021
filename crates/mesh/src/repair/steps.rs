//! The steps of a repair that are a few lines each.

use super::report::{List, What};
use super::triangles::{is_flat, parts, retain};
use crate::bodies::orient::{self, Facing, turn};
use crate::surface::Mesh;
use crate::topology::{Orientation, Sides};
use crate::vector::Vector;
use std::collections::HashMap;

/// Leaves out vertices that no triangle uses.
pub(super) fn drop_unused(mesh: &mut Mesh, list: &mut List) {
    let mut used = vec![false; mesh.vertices.len()];
    mesh.triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
    if let Some(first) = used.iter().position(|used| !used) {
        let place = mesh.vertices[first];
        let count = used.iter().filter(|used| !**used).count();
        mesh.drop_unused();
        // Those that repairs leave behind are no news.
        if list.is_empty() {
            list.add(What::Unused, count, place);
        }
    }
}

/// Leaves out triangles with a vertex twice.
pub(super) fn drop_repeated(mesh: &mut Mesh, list: &mut List) {
    let keep: Vec<bool> =
        mesh.triangles.iter().map(|&[a, b, c]| a != b && b != c && c != a).collect();
    let (count, place) = retain(mesh, &keep);
    list.add(What::Repeated, count, place);
}

/// Of triangles with the same corners leaves one if the others around need it, else none.
pub(super) fn drop_duplicates(mesh: &mut Mesh, list: &mut List) {
    let sorted = |triangle: &[u32; 3]| {
        let mut key = *triangle;
        key.sort_unstable();
        key
    };
    let mut same: HashMap<[u32; 3], Vec<usize>> = HashMap::with_capacity(mesh.triangles.len());
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        same.entry(sorted(triangle)).or_default().push(t);
    }
    if same.len() == mesh.triangles.len() {
        return;
    }
    let mut uses: HashMap<[u32; 2], usize> = HashMap::new();
    for edge in Sides::of(mesh).edges() {
        uses.insert([edge[0].low, edge[0].high], edge.len());
    }
    let mut keep = vec![true; mesh.triangles.len()];
    let [mut doubled, mut folded]: [Option<(usize, usize)>; 2] = [None; 2];
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        let all = &same[&sorted(triangle)];
        if all.len() < 2 || all[0] != t {
            continue;
        }
        let [a, b, c] = sorted(triangle);
        let edges = [[a, b], [b, c], [a, c]];
        let needed = edges.iter().filter(|edge| (uses[*edge] - all.len()) % 2 == 1).count();
        let (gone, count) =
            if needed >= 2 { (&all[1..], &mut doubled) } else { (&all[..], &mut folded) };
        gone.iter().for_each(|&t| keep[t] = false);
        count.get_or_insert((0, t)).0 += gone.len();
    }
    for (found, what) in [(doubled, What::Duplicate), (folded, What::Folded)] {
        if let Some((count, first)) = found {
            list.add(what, count, mesh.corners(first)[0]);
        }
    }
    retain(mesh, &keep);
}

/// Leaves out loose triangles, until there are none: those that share no side, and those that stand
/// on an edge of the surface.
pub(super) fn drop_flaps(mesh: &mut Mesh, list: &mut List) {
    loop {
        let mut open = vec![0; mesh.triangles.len()];
        let mut stands = vec![false; mesh.triangles.len()];
        for edge in Sides::of(mesh).edges() {
            match edge {
                [side] => open[side.triangle as usize] += 1,
                [_, _] => {}
                _ => edge.iter().for_each(|side| stands[side.triangle as usize] = true),
            }
        }
        let is_loose = |(&open, &stands): (&u32, &bool)| open == 3 || (open > 0 && stands);
        let keep: Vec<bool> = open.iter().zip(&stands).map(|flap| !is_loose(flap)).collect();
        let (count, place) = retain(mesh, &keep);
        list.add(What::Flap, count, place);
        if count == 0 {
            return;
        }
    }
}

/// Turns triangles that face another side than those around them; closed parts keep the side that
/// most of their triangles faced.
pub(super) fn align(mesh: &mut Mesh, list: &mut List) {
    let (topology, _) = parts(mesh);
    let crooked: Vec<bool> = topology
        .components
        .iter()
        .map(|part| part.orientation() == Orientation::Inconsistent)
        .collect();
    if !crooked.contains(&true) {
        return;
    }
    let mut turned = vec![false; mesh.triangles.len()];
    orient::align(mesh, &topology, &mut turned);
    // Of each part the fewer are turned.
    let mut balance = vec![0i64; crooked.len()];
    for (&turned, &part) in turned.iter().zip(&topology.component_of) {
        balance[part as usize] += if turned { 1 } else { -1 };
    }
    for (turned, &part) in turned.iter_mut().zip(&topology.component_of) {
        let part = part as usize;
        *turned = crooked[part] && (*turned != (balance[part] > 0));
    }
    let first = turned.iter().position(|turned| *turned);
    let place = first.map_or([0.0; 3], |t| mesh.corners(t)[0]);
    turn(mesh, &turned);
    list.add(What::Turned, turned.iter().filter(|turned| **turned).count(), place);
}

/// Turns each closed part out of the solid.
pub(super) fn face_out(mesh: &mut Mesh, list: &mut List) {
    let before = mesh.triangles.clone();
    orient::face(mesh, Facing::OutOfSolid);
    let (topology, _) = parts(mesh);
    let mut seen = vec![false; topology.components.len()];
    let mut first: Option<Vector> = None;
    for (t, &part) in topology.component_of.iter().enumerate() {
        if before[t] != mesh.triangles[t] && !seen[part as usize] {
            seen[part as usize] = true;
            first.get_or_insert(mesh.corners(t)[0]);
        }
    }
    let count = seen.iter().filter(|seen| **seen).count();
    list.add(What::PartTurned, count, first.unwrap_or_default());
}

/// Leaves out cavities of less than a volume: parts within others, or that face into themselves.
pub(super) fn drop_cavities(mesh: &mut Mesh, below: f64, list: &mut List) {
    if below <= 0.0 {
        return;
    }
    let (topology, depths) = parts(mesh);
    let volumes: Vec<f64> = topology.components.iter().map(|part| part.signed_volume).collect();
    let largest =
        volumes.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    let is_cavity = |part: usize| {
        let faces_in = volumes[part] * largest < 0.0;
        topology.components[part].closed
            && volumes[part].abs() < below
            && (!depths[part].is_multiple_of(2) || faces_in)
    };
    let gone: Vec<bool> = (0..volumes.len()).map(is_cavity).collect();
    let keep: Vec<bool> = topology.component_of.iter().map(|&c| !gone[c as usize]).collect();
    let (_, place) = retain(mesh, &keep);
    list.add(What::Cavity, gone.iter().filter(|gone| **gone).count(), place);
    mesh.drop_unused();
}

/// Closed parts without volume, of triangles without area, are nothing.
pub(super) fn drop_flat_parts(mesh: &mut Mesh, list: &mut List) {
    let (topology, _) = parts(mesh);
    let mut is_thin = vec![true; topology.components.len()];
    for (t, &part) in topology.component_of.iter().enumerate() {
        is_thin[part as usize] &= is_flat(mesh.corners(t));
    }
    let keep: Vec<bool> = topology.component_of.iter().map(|&c| !is_thin[c as usize]).collect();
    let (count, place) = retain(mesh, &keep);
    list.add(What::Folded, count, place);
}
