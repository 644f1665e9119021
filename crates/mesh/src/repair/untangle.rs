//! Small crossings within one part: its vertices there are moved until no triangle goes through
//! another.

use super::report::{List, What};
use crate::queries::intersect::intersections;
use crate::surface::Mesh;
use crate::topology::Topology;
use crate::vector::{Vector, add, scale, sub};
use std::collections::HashSet;

/// Steps of smoothing, and after how many a further ring of neighbours moves.
const STEPS: usize = 60;
const WIDEN: usize = 12;

/// Moves vertices of triangles that cross others of their own part towards the middle of their
/// neighbours; whether that removed crossings. Undone where it did not.
pub(super) fn within_parts(mesh: &mut Mesh, list: &mut List) -> bool {
    let crossings = |mesh: &Mesh, part_of: &[u32]| -> Vec<[u32; 2]> {
        let all = intersections(mesh).into_iter().map(|pair| pair.triangles);
        all.filter(|[s, t]| part_of[*s as usize] == part_of[*t as usize]).collect()
    };
    let part_of = Topology::of(mesh).component_of;
    let mut left = crossings(mesh, &part_of);
    if left.is_empty() {
        return false;
    }
    let begun = left.len();
    let place = mesh.corners(left[0][0] as usize)[0];
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); mesh.vertices.len()];
    for &[a, b, c] in &mesh.triangles {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(c);
        neighbours[c as usize].push(a);
    }
    let before = mesh.vertices.clone();
    let mut best = (begun, before.clone());
    let mut improved = 0;
    for step in 0..STEPS {
        let mut moving: HashSet<u32> =
            left.iter().flatten().flat_map(|&t| mesh.triangles[t as usize]).collect();
        for _ in 0..step / WIDEN {
            let ring: Vec<u32> =
                moving.iter().flat_map(|&v| neighbours[v as usize].iter().copied()).collect();
            moving.extend(ring);
        }
        let moved: Vec<(u32, Vector)> = moving
            .into_iter()
            .filter(|&v| !neighbours[v as usize].is_empty())
            .map(|v| {
                let at = mesh.vertices[v as usize];
                let around = &neighbours[v as usize];
                let sum =
                    around.iter().fold([0.0; 3], |sum, &w| add(sum, mesh.vertices[w as usize]));
                let middle = scale(1.0 / around.len() as f64, sum);
                (v, add(at, scale(0.5, sub(middle, at))))
            })
            .collect();
        moved.into_iter().for_each(|(v, place)| mesh.vertices[v as usize] = place);
        left = crossings(mesh, &part_of);
        if left.len() < best.0 {
            best = (left.len(), mesh.vertices.clone());
            improved = step;
        }
        if left.is_empty() || step > improved + 2 * WIDEN {
            break;
        }
    }
    mesh.vertices = best.1;
    let moved = before.iter().zip(&mesh.vertices).filter(|(a, b)| a != b).count();
    list.add(What::Moved, moved, place);
    best.0 < begun
}
