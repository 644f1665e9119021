//! A continuous, piecewise linear density from charges that are constant on triangles
//! (docs/math.md, "Recovered densities").
//!
//! A density that is constant on each triangle has the right means, but no slope within a triangle.
//! Where external and induced charge nearly cancel, as outside a dielectric body with charges in
//! it, the missing slope is the largest error: of order h^2 with a large constant, since it is the
//! cancelling source whose slope is missing. Three steps restore the slope and keep the moments:
//!
//! 1. at each vertex the mean over the triangles around it, weighted by area;
//! 2. on each triangle the linear function through these values, shifted so that the triangle keeps
//!    its charge;
//! 3. the continuous, piecewise linear function closest to that in L2, so that fields have no
//!    singular edges where densities jump.
//!
//! The first step alone would move charge between triangles, which costs more than it gains: the
//! second keeps every triangle's charge, the third the integral against each linear function, so
//! potentials at a distance keep the accuracy of the means. A density that is already linear on
//! each triangle needs only the third step.

use mesh::Mesh;
use parallel::prelude::*;

use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;

/// Triangles that meet at an edge belong to one smooth surface if the cosine of the angle between
/// their normals is at least this (40 degrees): across a sharp edge the density is a different
/// function.
const SMOOTH: f64 = 0.766;

/// Share of its length within which an edge in a smooth part of the surface counts as rounded:
/// there the field of facets grows as the logarithm of the distance, times the angle between them,
/// unlike that of the smooth surface.
const ROUNDED: f64 = 0.3;

/// Height of an equilateral triangle over its side. For lower triangles, which graded meshes have
/// along edges, the height counts instead: a linear density is not valid farther away.
const OF_EQUAL_SIDES: f64 = 0.866;

/// Triangles whose normals have at least this cosine lie in one plane, where nothing needs
/// rounding.
const FLAT: f64 = 1.0 - 1e-12;

/// Relative residual of the projection, far below the error of every recovered density.
const PROJECTED: f64 = 1e-6;

/// Iterations of the projection at most; the mass matrix of linear elements, scaled by its
/// diagonal, has a condition number of some 10.
const ITERATIONS: usize = 60;

/// A density at the corners of each panel.
pub(super) struct Recovered {
    /// Density at the three corners.
    pub(super) densities: Vec<[f64; 3]>,
    /// Squared radii by which the three edges are rounded for fields.
    pub(super) rounding: Vec<[f64; 3]>,
}

/// Known property of a density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its mean on each panel.
    Means,
    /// A linear function on each panel.
    Linear,
}

/// From the densities at the corners of each panel; panels of different `surfaces` (a conductor, an
/// interface) are never one smooth surface.
pub(super) fn recover(
    mesh: &Mesh,
    panels: &Panels,
    given: &[[f64; 3]],
    known: Known,
    surfaces: impl Fn(usize) -> Option<u32> + Sync,
) -> Recovered {
    let corners = |i: usize| mesh.triangles[panels.triangles()[i] as usize];
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); mesh.vertices.len()];
    for i in 0..panels.len() {
        corners(i).iter().for_each(|&v| around[v as usize].push(i as u32));
    }
    let normals: Vec<Vec3> = (0..panels.len()).map(|i| panels.panel(i).normal).collect();
    let smooth = |i: usize, j: usize| {
        let surface = |i: usize| surfaces(panels.triangles()[i] as usize);
        // Independent of the orientation of normals.
        normals[i].dot(&normals[j]).abs() >= SMOOTH && surface(i) == surface(j)
    };
    let (unknowns, count) = unknowns(&corners, &around, panels.len(), &smooth);
    let areas = &panels.areas()[..panels.len()];

    let (mut vertex, mut total) = (vec![0.0; count], vec![0.0; count]);
    for ((unknowns, densities), area) in unknowns.iter().zip(given).zip(areas) {
        for (&k, density) in unknowns.iter().zip(densities) {
            vertex[k as usize] += area * density;
            total[k as usize] += area;
        }
    }
    vertex.iter_mut().zip(&total).for_each(|(value, total)| *value /= total);

    let mut load = vec![0.0; count];
    for ((unknowns, densities), area) in unknowns.iter().zip(given).zip(areas) {
        let linear = match known {
            Known::Linear => *densities,
            Known::Means => {
                let linear = unknowns.map(|k| vertex[k as usize]);
                let shift = densities[0] - (linear[0] + linear[1] + linear[2]) / 3.0;
                linear.map(|value| value + shift)
            }
        };
        add_mass(&mut load, unknowns, linear, *area);
    }
    project(&mut vertex, &load, &unknowns, areas, &total);

    let height = |i: usize, length: f64| 2.0 * areas[i] / length;
    // Rounding radius of an edge of panel i, the same for all panels at the edge.
    let radius = |i: usize, (a, b): (u32, u32), length: f64| {
        let at_edge = |&&j: &&u32| corners(j as usize).contains(&b) && smooth(i, j as usize);
        let all = around[a as usize].iter().filter(at_edge);
        let bends = |&j: &u32| normals[i].dot(&normals[j as usize]).abs() < FLAT;
        if !all.clone().any(bends) {
            return 0.0;
        }
        let low = all.map(|&j| height(j as usize, length)).fold(f64::INFINITY, f64::min);
        ROUNDED * length.min(low / OF_EQUAL_SIDES)
    };
    let rounding = |i: usize| {
        let [a, b, c] = corners(i);
        let edges = [(a, b), (b, c), (c, a)].into_iter().zip(panels.panel(i).lengths);
        let mut squares = [0.0; 3];
        for (square, (edge, length)) in squares.iter_mut().zip(edges) {
            *square = radius(i, edge, length).powi(2);
        }
        squares
    };
    let densities = unknowns.iter().map(|unknowns| unknowns.map(|k| vertex[k as usize])).collect();
    let rounding = (0..panels.len()).into_par_iter().map(rounding).collect();
    Recovered { densities, rounding }
}

/// The unknown at each panel's corners, and the number of unknowns: a vertex has one for each
/// smooth surface on which it lies.
fn unknowns(
    corners: &impl Fn(usize) -> [u32; 3],
    around: &[Vec<u32>],
    panels: usize,
    smooth: &impl Fn(usize, usize) -> bool,
) -> (Vec<[u32; 3]>, usize) {
    let mut unknowns = vec![[u32::MAX; 3]; panels];
    let mut count = 0;
    let mut waiting = Vec::new();
    for (v, around) in around.iter().enumerate() {
        let v = v as u32;
        let corner = |i: u32| corners(i as usize).iter().position(|&w| w == v).unwrap_or(0);
        for &first in around {
            if unknowns[first as usize][corner(first)] != u32::MAX {
                continue;
            }
            unknowns[first as usize][corner(first)] = count;
            waiting.push(first);
            // Across every smooth edge from v.
            while let Some(i) = waiting.pop() {
                for &j in around {
                    let is_new = unknowns[j as usize][corner(j)] == u32::MAX;
                    let (mine, its) = (corners(i as usize), corners(j as usize));
                    let shares_edge = mine.iter().any(|w| *w != v && its.contains(w));
                    if is_new && shares_edge && smooth(i as usize, j as usize) {
                        unknowns[j as usize][corner(j)] = count;
                        waiting.push(j);
                    }
                }
            }
            count += 1;
        }
    }
    (unknowns, count as usize)
}

/// Adds the integrals of a linear function on a triangle against its three barycentric coordinates.
fn add_mass(sums: &mut [f64], unknowns: &[u32; 3], values: [f64; 3], area: f64) {
    let sum: f64 = values.iter().sum();
    for (&k, value) in unknowns.iter().zip(values) {
        sums[k as usize] += area / 12.0 * (sum + value);
    }
}

/// Solves M x = `load` by conjugate gradients, M the mass matrix, from the guess in `x`; `total` is
/// the area around each unknown, six times the diagonal.
fn project(x: &mut [f64], load: &[f64], unknowns: &[[u32; 3]], areas: &[f64], total: &[f64]) {
    let product = |x: &[f64]| {
        let mut y = vec![0.0; x.len()];
        for (unknowns, area) in unknowns.iter().zip(areas) {
            add_mass(&mut y, unknowns, unknowns.map(|k| x[k as usize]), *area);
        }
        y
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let preconditioned =
        |r: &[f64]| -> Vec<f64> { r.iter().zip(total).map(|(r, total)| 6.0 * r / total).collect() };
    let mut r: Vec<f64> = load.iter().zip(product(x)).map(|(b, y)| b - y).collect();
    let small = PROJECTED.powi(2) * dot(load, &preconditioned(load));
    let mut z = preconditioned(&r);
    let mut direction = z.clone();
    let mut size = dot(&r, &z);
    for _ in 0..ITERATIONS {
        if size <= small {
            break;
        }
        let y = product(&direction);
        let step = size / dot(&direction, &y);
        x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
        r.iter_mut().zip(&y).for_each(|(r, y)| *r -= step * y);
        z = preconditioned(&r);
        let before = std::mem::replace(&mut size, dot(&r, &z));
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + size / before * *d);
    }
}
