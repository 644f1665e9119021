//! Edges of the surfaces of a problem, next to which densities are singular.

use mesh::Mesh;
use mesh::creases::{self, Creases};
use parallel::prelude::*;

use crate::problem::Problem;

/// Surfaces that meet at more than this many degrees have an edge.
const EDGE: f64 = 20.0;

/// Densities are singular at all edges of facets, however weakly; where facets are of several
/// triangles, at less than this many degrees that is no longer seen.
const FACETS: f64 = 10.0;

/// More than rounding bends a plane by, and less than facets of millions of triangles.
const PLANE: f64 = 0.05;

/// The next finer densities find a share of an error that depends on how errors shrink: next to a
/// rim, where densities go as d^(-1/2), halves of the innermost elements leave half of their error;
/// next to an edge of a cube, as d^(-1/3), 0.4 of it; of smooth densities hardly any. The
/// reciprocals are the weights of the errors found.
const AT_RIM: f64 = 2.0;
const AT_EDGE: f64 = 1.7;

/// A triangle of metal that is a facet of its own, as on polyhedra of smooth bodies: the density
/// rises toward all of its sides, and of that constants on its quarters find 0.42 to 0.45, however
/// small the angles are, since all else that they find falls with the size of triangles as fast as
/// these do. (Once each facet has four triangles, quarters of these find 0.7 of the error.)
const OF_FACET: f64 = 2.3;

/// The sharp edges of a mesh whose triangles belong to these surfaces.
pub(crate) fn of(mesh: &Mesh, surfaces: &[Option<u32>]) -> Creases {
    creases::find(mesh, |t| surfaces[t], EDGE)
}

/// The number of the surface of each triangle: edges are rims, corners, and lines where several
/// meet.
pub(crate) fn surfaces(problem: &Problem) -> Vec<Option<u32>> {
    let owner = &problem.conductors.of_triangle;
    let media = problem.media.as_ref();
    let surface = |t: usize| match (owner[t], media) {
        (Some(conductor), _) => Some(conductor),
        // Interfaces between other media have no edge where they meet but their own.
        (None, Some(media)) => media.differ_at(t).then_some(u32::MAX),
        (None, None) => None,
    };
    (0..owner.len()).into_par_iter().map(surface).collect()
}

/// How often what is found of the error on each triangle counts.
pub(crate) fn weights(problem: &Problem, density: bem::Density) -> Vec<f64> {
    let surfaces = surfaces(problem);
    let triangles = &problem.mesh.triangles;
    // Linear densities follow what rises toward sides, and curved triangles have no facets.
    let has_facets = density == bem::Density::Constant && problem.mesh.patches.is_none();
    let plane = if has_facets { PLANE } else { FACETS };
    let (sharp, facets) = creases::with_facets(&problem.mesh, |t| surfaces[t], FACETS, plane);
    let sides = |[a, b, c]: [u32; 3]| [(a, b), (b, c), (c, a)];
    let mut count = vec![0u32; sharp.edges().len()];
    let of_surfaces = triangles.iter().zip(&surfaces).filter(|(_, surface)| surface.is_some());
    // Most triangles have no corner on an edge.
    let is_near = |corners: &[u32; 3]| corners.iter().any(|&v| sharp.is_on(v));
    for (&corners, _) in of_surfaces.filter(|(corners, _)| is_near(corners)) {
        for (a, b) in sides(corners) {
            if let Ok(at) = sharp.edges().binary_search(&(a.min(b), a.max(b))) {
                count[at] += 1;
            }
        }
    }
    let mut of_vertex = vec![1.0f64; problem.mesh.vertices.len()];
    for (&(a, b), count) in sharp.edges().iter().zip(count) {
        let weight = if count == 1 { AT_RIM } else { AT_EDGE };
        for v in [a, b] {
            of_vertex[v as usize] = of_vertex[v as usize].max(weight);
        }
    }
    let of_triangle = |t: usize| {
        let is_facet = has_facets && problem.conductors.of_triangle[t].is_some() && facets[t];
        let own = if is_facet { OF_FACET } else { 1.0 };
        triangles[t].into_iter().map(|v| of_vertex[v as usize]).fold(own, f64::max)
    };
    (0..triangles.len()).into_par_iter().map(of_triangle).collect()
}
