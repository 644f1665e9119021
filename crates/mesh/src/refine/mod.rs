//! Uniform refinement: every triangle becomes four, by the midpoints of its sides.

pub mod coarsen;
pub mod lift;
pub mod local_refine;
pub mod shadows;
pub mod spheres;
pub mod split;

use crate::geometry::curved::{self, Barycentric, QUARTERS};
use crate::refine::spheres::{Ball, Found, NoSphere, Sphere};
use crate::surface::{Mesh, Patches};
use crate::vector::{Vector, add, norm, scale, sub};
use std::collections::HashMap;
use thiserror::Error;

/// Why a mesh could not be refined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// More triangles than 32-bit indices can number.
    #[error("refined, the mesh would have {0} triangles, more than 32-bit indices can number")]
    TooMany(u64),
}

/// The number of triangles after `times` refinements.
///
/// # Errors
/// [`Error::TooMany`].
pub fn count_after(mesh: &Mesh, times: u32) -> Result<usize, Error> {
    numbered(4u64.saturating_pow(times).saturating_mul(mesh.triangles.len() as u64))
}

/// The number of triangles of a refined mesh, if 32-bit indices can number its vertices and them.
#[doc(hidden)]
pub fn numbered(count: u64) -> Result<usize, Error> {
    // A surface has about half as many vertices as triangles, and never more than three times as
    // many.
    if count >= u64::from(u32::MAX) / 3 { Err(Error::TooMany(count)) } else { Ok(count as usize) }
}

/// Splits each triangle of a valid mesh ([`Mesh::validate`]) into four like it; groups are
/// inherited.
///
/// Children of triangle t are 4 t to 4 t + 3, the last one in the middle. The surface stays as it
/// is: new vertices lie on flat sides, or on the curved ones of patches. For a curved body of flat
/// triangles pass each new vertex through `place`, with the triangle it was made for; patches have
/// no use for it.
///
/// # Errors
/// [`Error::TooMany`].
pub fn uniform(mesh: &Mesh, place: impl Fn(u32, [f64; 3]) -> [f64; 3]) -> Result<Mesh, Error> {
    let count = count_after(mesh, 1)?;
    let mut refined = Mesh {
        vertices: mesh.vertices.clone(),
        triangles: Vec::with_capacity(count),
        groups: mesh.groups.clone(),
        membership: Vec::with_capacity(count),
        memberships: mesh.memberships.clone(),
        patches: mesh.patches.as_ref().map(|patches| Patches::new(patches.order)),
    };
    let mut midpoints: HashMap<(u32, u32), u32> = HashMap::with_capacity(2 * mesh.triangles.len());
    for (triangle, (&[a, b, c], &set)) in (0..).zip(mesh.triangles.iter().zip(&mesh.membership)) {
        let mut middle = |p: u32, q: u32, at: Barycentric| {
            *midpoints.entry((p.min(q), p.max(q))).or_insert_with(|| {
                refined.vertices.push(match &mesh.patches {
                    Some(patches) => {
                        curved::point(patches.order, patches.of(triangle as usize), at)
                    }
                    None => {
                        let (p, q) = (mesh.vertices[p as usize], mesh.vertices[q as usize]);
                        place(triangle, std::array::from_fn(|i| f64::midpoint(p[i], q[i])))
                    }
                });
                (refined.vertices.len() - 1) as u32
            })
        };
        let [ab, bc, ca] = QUARTERS[3];
        let (ab, bc, ca) = (middle(a, b, ab), middle(b, c, bc), middle(c, a, ca));
        refined.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        refined.membership.extend([set; 4]);
    }
    if let Some(patches) = &mesh.patches {
        refined.with_patches(|refined, children| {
            for child in 0..refined.triangles.len() {
                let (parent, part) = (patches.of(child / 4), QUARTERS[child % 4]);
                children.push_part(parent, part, refined.corners(child));
            }
        });
    }
    Ok(refined)
}

/// A mesh refined by [`on_spheres`].
#[derive(Clone, Debug, PartialEq)]
pub struct OnSpheres {
    /// The mesh.
    pub mesh: Mesh,
    /// Components that resemble spheres, but were refined flat.
    pub flat: Vec<NoSphere>,
}

/// As [`uniform`], with new vertices of components that are spheres ([`crate::refine::spheres`])
/// put onto the sphere. Those whose facets have the sphere's volume
/// ([`crate::generate::with_volumes`]) keep it. Patches have their own shape, and are refined on
/// that.
///
/// # Errors
/// [`Error::TooMany`].
pub fn on_spheres(mesh: &Mesh) -> Result<OnSpheres, Error> {
    if mesh.patches.is_some() {
        return Ok(OnSpheres { mesh: uniform(mesh, |_, point| point)?, flat: Vec::new() });
    }
    let Found { component_of, spheres, flat } = spheres::find(mesh);
    let raised = |triangle: usize| match spheres[component_of[triangle] as usize] {
        Some(Sphere { ball, raised: true }) => Some(ball),
        _ => None,
    };
    let onto = |Ball { centre, radius }: Ball, point: Vector| {
        let out = sub(point, centre);
        add(centre, scale(radius / norm(out), out))
    };
    let mut base = mesh.clone();
    for triangle in 0..mesh.triangles.len() {
        let Some(ball) = raised(triangle) else { continue };
        for v in mesh.triangles[triangle] {
            base.vertices[v as usize] = onto(ball, mesh.vertices[v as usize]);
        }
    }
    let mut refined = uniform(&base, |triangle, point| {
        match spheres[component_of[triangle as usize] as usize] {
            None => point,
            Some(Sphere { ball, .. }) => onto(ball, point),
        }
    })?;
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); spheres.len()];
    for triangle in (0..refined.triangles.len()).filter(|child| raised(child / 4).is_some()) {
        members[component_of[triangle / 4] as usize].push(triangle as u32);
    }
    for (triangles, sphere) in members.iter().zip(&spheres) {
        if let Some(Sphere { ball, raised: true }) = sphere {
            for (vertex, point) in spheres::raised(&refined, triangles, *ball) {
                refined.vertices[vertex as usize] = point;
            }
        }
    }
    Ok(OnSpheres { mesh: refined, flat })
}
