//! Small holes closed by triangles.

use super::report::{List, What};
use crate::repair::stitch::open_edges;
use crate::surface::Mesh;
use crate::topology::Topology;
use crate::vector::{Vector, area_normal, norm};
use std::collections::{HashMap, HashSet};

/// Largest share of a part's area that the cover of a hole may have.
const LARGEST: f64 = 0.5;

/// Closes holes of at most `most` edges: by the triangles of least area between their vertices,
/// none along an edge that is there already.
///
/// Around a hole triangles face one side. Left open are holes whose cover would have more than half
/// of the area of the part they are in: plates and strips are not meant to be closed.
pub(super) fn close(mesh: &mut Mesh, most: usize, list: &mut List) {
    let open = open_edges(mesh);
    if open.is_empty() {
        return;
    }
    let next: HashMap<u32, u32> = open.iter().map(|&[a, b]| (a, b)).collect();
    let edges: HashSet<[u32; 2]> = mesh
        .triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    let group: HashMap<[u32; 2], u32> = mesh
        .triangles
        .iter()
        .zip(&mesh.membership)
        .flat_map(|(&[a, b, c], &group)| [[a, b], [b, c], [c, a]].map(|edge| (edge, group)))
        .collect();
    // Each vertex is of one part, since sheets are parted.
    let topology = Topology::of(mesh);
    let mut areas = vec![0.0; topology.components.len()];
    let mut part_at: HashMap<u32, u32> = HashMap::new();
    for (&triangle, &part) in mesh.triangles.iter().zip(&topology.component_of) {
        areas[part as usize] += area_of(mesh, triangle);
        part_at.extend(triangle.map(|v| (v, part)));
    }
    let mut seen: HashSet<u32> = HashSet::new();
    let (mut count, mut first): (usize, Option<Vector>) = (0, None);
    for &[start, _] in &open {
        let mut ring = Vec::new();
        let mut at = start;
        while ring.len() <= most && seen.insert(at) {
            ring.push(at);
            match next.get(&at) {
                Some(&following) => at = following,
                None => break,
            }
        }
        if at != start || ring.len() < 3 || ring.len() > most {
            continue;
        }
        // The other way round than the triangles at its edges.
        let set = group.get(&[ring[0], ring[1]]).copied().unwrap_or(0);
        ring.reverse();
        let Some(cover) = cover(mesh, &ring, &edges) else { continue };
        let area: f64 = cover.iter().map(|&triangle| area_of(mesh, triangle)).sum();
        let part = part_at.get(&start).map_or(0, |&part| part as usize);
        if area > LARGEST * areas[part] {
            continue;
        }
        mesh.membership.resize(mesh.triangles.len() + cover.len(), set);
        mesh.triangles.extend(cover);
        count += 1;
        first.get_or_insert(mesh.vertices[start as usize]);
    }
    list.add(What::Hole, count, first.unwrap_or_default());
}

fn area_of(mesh: &Mesh, triangle: [u32; 3]) -> f64 {
    0.5 * norm(area_normal(triangle.map(|v| mesh.vertices[v as usize])))
}

/// The triangles of least area that close a polygon, by the areas of its parts from one vertex to
/// another: G. Barequet and M. Sharir, 1995. `None` if all have edges that are there.
fn cover(mesh: &Mesh, ring: &[u32], edges: &HashSet<[u32; 2]>) -> Option<Vec<[u32; 3]>> {
    let n = ring.len();
    let area = |i: usize, j: usize, k: usize| area_of(mesh, [ring[i], ring[j], ring[k]]);
    let is_free = |i: usize, k: usize| {
        let (a, b) = (ring[i].min(ring[k]), ring[i].max(ring[k]));
        k == i + 1 || (i == 0 && k == n - 1) || !edges.contains(&[a, b])
    };
    let mut least = vec![vec![f64::INFINITY; n]; n];
    let mut apex = vec![vec![0; n]; n];
    (0..n - 1).for_each(|i| least[i][i + 1] = 0.0);
    for span in 2..n {
        for i in 0..n - span {
            let k = i + span;
            if !is_free(i, k) {
                continue;
            }
            for j in i + 1..k {
                let sum = least[i][j] + least[j][k] + area(i, j, k);
                if sum < least[i][k] {
                    (least[i][k], apex[i][k]) = (sum, j);
                }
            }
        }
    }
    if least[0][n - 1].is_infinite() {
        return None;
    }
    let mut found = Vec::with_capacity(n - 2);
    let mut open = vec![(0, n - 1)];
    while let Some((i, k)) = open.pop() {
        if k > i + 1 {
            let j = apex[i][k];
            found.push([ring[i], ring[j], ring[k]]);
            open.extend([(i, j), (j, k)]);
        }
    }
    Some(found)
}
