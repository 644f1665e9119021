//! Uniform refinement: every triangle becomes four, by the midpoints of its sides.

use crate::curved::{self, Barycentric, QUARTERS};
use crate::spheres::{self, Ball, Found, NoSphere, Sphere};
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

/// The number of triangles after so many refinements.
///
/// # Errors
/// [`Error::TooMany`].
pub fn count_after(mesh: &Mesh, times: u32) -> Result<usize, Error> {
    numbered(4u64.saturating_pow(times).saturating_mul(mesh.triangles.len() as u64))
}

/// The number of triangles of a refined mesh, if 32-bit indices can number its vertices and them.
pub(crate) fn numbered(count: u64) -> Result<usize, Error> {
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

/// As [`uniform`], with new vertices of components that are spheres ([`crate::spheres`]) put onto
/// the sphere. Those whose facets have the sphere's volume ([`crate::generate::with_volumes`]) keep
/// it. Patches have their own shape, and are refined on that.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::generate::{Cube, Plate, Resolution, SphereBase, Torus, TwoSpheres};
    use crate::quality::areas;

    const RESOLUTION: Resolution = Resolution::Elements(500);

    #[test]
    fn a_flat_surface_keeps_area_volume_groups_and_shape() {
        let cube = Cube { edge: 2.0, grade: 7.0, resolution: RESOLUTION }.build().unwrap();
        let fine = uniform(&cube, |_, point| point).unwrap();
        let (before, after) = (Report::of(&cube).unwrap(), Report::of(&fine).unwrap());
        assert_eq!(after.triangles, 4 * before.triangles);
        // Euler: V - E + F = 2, with 3 F = 2 E.
        assert_eq!(after.vertices, after.triangles / 2 + 2);
        assert!(after.whole.closed && after.defects.is_empty());
        assert!((after.whole.signed_volume - 8.0).abs() < 1e-12);
        assert_eq!(after.groups[0].label, "cube");
        assert!((after.quality.min_angle.min - before.quality.min_angle.min).abs() < 1e-9);
        let (coarse, fine) = (areas(&cube), areas(&fine));
        for (t, area) in coarse.iter().enumerate() {
            for child in 0..4 {
                assert!((fine[4 * t + child] - area / 4.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn spheres_stay_spheres_and_others_as_they_are() {
        let base = SphereBase::Icosahedron;
        let two = TwoSpheres { radius: 1.5, distance: 4.0, base, resolution: RESOLUTION }
            .build()
            .unwrap();
        let fine = on_spheres(&two).unwrap();
        assert_eq!(fine.flat, []);
        for [x, y, z] in &fine.mesh.vertices {
            let off = [(x.abs() - 2.0), *y, *z];
            assert!((norm(off) - 1.5).abs() < 1e-12);
        }
        for mesh in [
            Torus { ring_radius: 1.0, tube_radius: 0.3, resolution: RESOLUTION }.build().unwrap(),
            Cube { edge: 1.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
            Plate { width: 1.0, height: 2.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap(),
        ] {
            let fine = on_spheres(&mesh).unwrap();
            assert_eq!(fine.mesh, uniform(&mesh, |_, point| point).unwrap());
        }
    }

    /// From 32 triangles each on; refined as often as anyone can, what comes out must be what is
    /// made at once.
    #[test]
    fn coarse_spheres_and_those_of_equal_volume_are_refined_as_spheres() {
        let base = SphereBase::Octahedron;
        let two = |elements| TwoSpheres {
            radius: 1.0,
            distance: 3.0,
            base,
            resolution: Resolution::Elements(elements),
        };
        let volume = |mesh: &Mesh| {
            let parts = Report::of(mesh).unwrap().groups;
            parts.iter().map(|group| group.part.signed_volume).collect::<Vec<_>>()
        };
        for grade in [1.0, 3.0] {
            for elements in [64, 256] {
                let fine = on_spheres(&two(elements).build_graded(grade).unwrap()).unwrap();
                assert_eq!(fine.flat, []);
                for [x, y, z] in &fine.mesh.vertices {
                    let r = norm([x.abs() - 1.5, *y, *z]);
                    assert!((r - 1.0).abs() < 1e-9, "{elements} {grade}: {r}");
                }
                let mut equal = two(elements).build_with_volumes(grade).unwrap();
                for _ in 0..2 {
                    let fine = on_spheres(&equal).unwrap();
                    assert_eq!(fine.flat, [], "{elements} {grade}");
                    equal = fine.mesh;
                }
                for volume in volume(&equal) {
                    let exact = 4.0 / 3.0 * std::f64::consts::PI;
                    assert!((volume / exact - 1.0).abs() < 1e-9, "{elements} {grade}: {volume}");
                }
                // Facets of 16 times as many are above the sphere by no more than they are below
                // it.
                let most = equal.vertices.iter().map(|[x, y, z]| norm([x.abs() - 1.5, *y, *z]));
                let most = most.fold(0.0, f64::max);
                assert!(most > 1.0 && most < 1.06, "{elements} {grade}: {most}");
            }
        }
    }

    /// Polyhedra whose corners lie on a sphere are refined flat, and the caller gets a note where
    /// that is not obvious.
    #[test]
    fn polyhedra_are_refined_flat_and_told() {
        let base = SphereBase::Octahedron;
        // A prism of 24 sides, all corners at the two ends.
        let ring = |z: f64| {
            (0..24).map(move |k| {
                let angle = std::f64::consts::TAU * f64::from(k) / 24.0;
                [angle.cos(), angle.sin(), z]
            })
        };
        let mut prism = Mesh { vertices: ring(0.0).chain(ring(1.0)).collect(), ..Mesh::default() };
        for k in 0..24u32 {
            let next = (k + 1) % 24;
            prism.triangles.extend([[k, next, next + 24], [k, next + 24, k + 24]]);
        }
        for k in 1..23 {
            prism.triangles.extend([[0, k + 1, k], [24, k + 24, k + 25]]);
        }
        prism.membership = vec![0; prism.triangles.len()];
        prism.memberships = vec![vec![]];
        let resolution = |n| Resolution::Elements(n);
        let octahedron = crate::generate::Sphere { radius: 1.0, base, resolution: resolution(8) };
        let bumpy = crate::generate::Sphere { resolution: resolution(72), ..octahedron };
        let mut bumpy = bumpy.build().unwrap();
        bumpy.vertices[9] = scale(1.01, bumpy.vertices[9]);
        for (mesh, part) in [
            // Flat faces: plainly no spheres.
            (Cube { edge: 1.0, grade: 1.0, resolution: resolution(12) }.build().unwrap(), None),
            (prism, None),
            (octahedron.build().unwrap(), Some("it may be a polyhedron")),
            (bumpy, Some("off a sphere")),
        ] {
            let fine = on_spheres(&mesh).unwrap();
            assert_eq!(fine.mesh, uniform(&mesh, |_, point| point).unwrap());
            let found: Vec<String> = fine.flat.iter().map(ToString::to_string).collect();
            match (found.as_slice(), part) {
                ([], None) => {}
                ([note], Some(part)) => {
                    assert!(note.contains("refined flat") && note.contains(part), "{note}");
                }
                _ => panic!("{found:?}"),
            }
        }
    }
}
