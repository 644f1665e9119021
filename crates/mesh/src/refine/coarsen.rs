//! Fewer triangles of the same surface, for what two sizes of triangles tell about errors.

use crate::refine::lift;
use crate::repair::web::Web;
use crate::surface::Mesh;
use crate::vector::{norm, sub};

/// Passes over the sides, in each of which a vertex takes part in one change at most, so that all
/// of the surface gets coarser alike.
const PASSES: usize = 16;

/// Triangles that are flatter than this are not made
/// ([`crate::geometry::quality::relative_height`]).
const LEAST: f64 = 0.25;

/// Longest side that may be collapsed, as a multiple of the wanted length.
const SHORT: f64 = 0.9;

/// Sharp edges of curved triangles, in degrees.
const SHARP: f64 = 40.0;

/// The mesh with about this share of its triangles, fewer alike everywhere, on some of its
/// vertices; and which triangle each of them was. Curved triangles become such of order 2 through
/// these vertices ([`lift::smooth`]).
///
/// There are more triangles than wanted where fewer would be too flat, or no surface.
pub fn coarsened(mesh: &Mesh, share: f64) -> (Mesh, Vec<u32>) {
    let (all, wanted) = (mesh.triangles.len(), share * mesh.triangles.len() as f64);
    let mut coarse = Mesh { patches: None, ..mesh.clone() };
    let sizes = sizes(mesh);
    let mut web = Web::new(&mut coarse);
    let mut left = all;
    for _ in 0..PASSES {
        let mut sides = sides(&web, &sizes);
        sides.retain(|side| side.0 * share.sqrt() < SHORT);
        sides.sort_by(|x, y| x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let mut taken = vec![false; sizes.len()];
        let before = left;
        for (_, a, b) in sides {
            if left as f64 <= wanted {
                break;
            }
            let is_taken = taken[a as usize] || taken[b as usize];
            if !is_taken && (web.collapse(a, b, LEAST) || web.collapse(b, a, LEAST)) {
                left -= 2;
                (taken[a as usize], taken[b as usize]) = (true, true);
            }
        }
        if left == before || left as f64 <= wanted {
            break;
        }
        for (_, a, b) in self::sides(&web, &sizes) {
            web.swap(a, b);
        }
    }
    let kept: Vec<u32> = (0..all as u32).filter(|&t| web.alive[t as usize]).collect();
    let of =
        |values: &[u32]| kept.iter().filter_map(|&t| values.get(t as usize).copied()).collect();
    coarse.triangles = kept.iter().map(|&t| coarse.triangles[t as usize]).collect();
    coarse.membership = of(&mesh.membership);
    coarse.drop_unused();
    if mesh.patches.is_some() {
        coarse = lift::smooth(&coarse, SHARP);
    }
    (coarse, kept)
}

/// The mean length of the sides at each vertex.
fn sizes(mesh: &Mesh) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); mesh.vertices.len()];
    for &[a, b, c] in &mesh.triangles {
        for (a, b) in [(a, b), (b, c), (c, a)] {
            let length = norm(sub(mesh.vertices[b as usize], mesh.vertices[a as usize]));
            for v in [a, b] {
                let (sum, count) = &mut sums[v as usize];
                *sum += length;
                *count += 1.0;
            }
        }
    }
    sums.into_iter().map(|(sum, count)| sum / f64::max(count, 1.0)).collect()
}

/// Each side's length relative to the sizes at its ends.
fn sides(web: &Web<'_>, sizes: &[f64]) -> Vec<(f64, u32, u32)> {
    let mut found = Vec::new();
    for (t, &[a, b, c]) in web.mesh.triangles.iter().enumerate() {
        for (a, b) in [(a, b), (b, c), (c, a)] {
            // The triangle on the other side runs the other way.
            if web.alive[t] && a < b {
                let length =
                    norm(sub(web.mesh.vertices[b as usize], web.mesh.vertices[a as usize]));
                found.push((2.0 * length / (sizes[a as usize] + sizes[b as usize]), a, b));
            }
        }
    }
    found
}
