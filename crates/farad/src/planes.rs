//! The planes of a problem: what has images in them, and what cannot have any.

use mesh::Mesh;
use mesh::mirror::{self, Placed};

use crate::description::{Description, plane_name};
use crate::fault::{Fault, PlaneProblem};

/// Images in the planes of a problem.
#[derive(Debug)]
pub(crate) struct Symmetry {
    /// Signs and places of the images.
    pub(crate) images: bem::Images,
    /// The mesh with its images; `None` without planes.
    whole: Option<Mesh>,
    /// How the mesh lies to each plane.
    placed: Vec<Placed>,
}

/// Where a point lies to the planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Where the mesh is.
    Here,
    /// In the grounded plane of this index.
    InGround(usize),
    /// On the other side of the plane of this index.
    Beyond(usize),
}

impl Symmetry {
    /// Looks at the surfaces that `keep` holds for, by their triangles' index; `is_conductor` tells which are metal.
    pub(crate) fn find(
        description: &Description,
        mesh: &Mesh,
        keep: impl Fn(usize) -> bool,
        is_conductor: impl Fn(usize) -> bool,
    ) -> Result<Self, Vec<Fault>> {
        let images = bem::Images::new(&description.planes);
        let mut faults = Vec::new();
        let mut placed = Vec::new();
        for (index, mirror) in description.planes.iter().enumerate() {
            let fault = |problem| Fault::Plane { plane: index, name: plane_name(mirror), problem };
            match mirror::place(mesh, &mirror.plane, &keep) {
                Ok(found) => {
                    let metal = found.touching.iter().find(|&&t| is_conductor(t as usize));
                    if let (true, Some(t)) = (mirror.odd, metal) {
                        faults.push(fault(PlaneProblem::Shorted(*t)));
                    }
                    placed.push(found);
                }
                Err(problem) => faults.push(fault(PlaneProblem::NotMirrored(problem))),
            }
            faults.extend(asked_too_much(description, mirror).map(fault));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let whole = (images.count() > 1).then(|| images.mesh(mesh));
        Ok(Self { images, whole, placed })
    }

    /// `mesh`, which is that of the problem, with its images.
    pub(crate) fn whole<'a>(&'a self, mesh: &'a Mesh) -> &'a Mesh {
        self.whole.as_ref().unwrap_or(mesh)
    }

    /// Where a point lies.
    pub(crate) fn side(&self, x: [f64; 3]) -> Side {
        let each = self.images.mirrors().iter().zip(&self.placed).enumerate();
        for (index, (bem::Mirror { plane, odd }, placed)) in each {
            let height = placed.side * (x[plane.axis] - plane.at);
            if *odd && height.abs() <= placed.tolerance {
                return Side::InGround(index);
            }
            if height < -placed.tolerance {
                return Side::Beyond(index);
            }
        }
        Side::Here
    }

    /// Whether a grounded plane keeps everything away from a point.
    pub(crate) fn is_behind_ground(&self, x: [f64; 3]) -> bool {
        let each = self.images.mirrors().iter().zip(&self.placed);
        each.filter(|(mirror, _)| mirror.odd)
            .any(|(mirror, placed)| placed.side * (x[mirror.plane.axis] - mirror.plane.at) < 0.0)
    }

    /// The point, or the one in the planes of symmetry that it lies in but for rounding.
    pub(crate) fn snapped(&self, x: [f64; 3]) -> [f64; 3] {
        let mut x = x;
        for (bem::Mirror { plane, .. }, placed) in self.images.mirrors().iter().zip(&self.placed) {
            if (x[plane.axis] - plane.at).abs() <= placed.tolerance {
                x[plane.axis] = plane.at;
            }
        }
        x
    }

    /// The images that are one with what is there across planes that `touches` holds for, by their index: one body with it.
    pub(crate) fn joined(&self, touches: impl Fn(usize) -> bool) -> Vec<usize> {
        let across = |g: usize, k: usize| g >> k & 1 == 1;
        (0..self.images.count())
            .filter(|&g| (0..self.placed.len()).all(|k| !across(g, k) || touches(k)))
            .collect()
    }

    /// Whether triangles touch each plane; `has` tells which triangles are meant.
    pub(crate) fn touching(&self, has: impl Fn(u32) -> bool) -> Vec<bool> {
        self.placed.iter().map(|placed| placed.touching.iter().any(|&t| has(t))).collect()
    }

    /// A point of all grounded planes, at which a uniform field's potential is 0.
    pub(crate) fn origin(&self) -> [f64; 3] {
        let mut origin = [0.0; 3];
        for mirror in self.images.mirrors().iter().filter(|mirror| mirror.odd) {
            origin[mirror.plane.axis] = mirror.plane.at;
        }
        origin
    }
}

/// What is asked for that has no meaning with this plane.
fn asked_too_much(description: &Description, mirror: &bem::Mirror) -> Option<PlaneProblem> {
    let Description { field, .. } = description;
    let axis = mirror.plane.axis;
    if mirror.odd && (0..3).any(|k| k != axis && field[k] != 0.0) {
        Some(PlaneProblem::FieldAlong)
    } else if !mirror.odd && field[axis] != 0.0 {
        Some(PlaneProblem::FieldThrough)
    } else if mirror.odd && description.polarisability {
        Some(PlaneProblem::Polarisability)
    } else if mirror.odd && description.diffusion.is_some() {
        Some(PlaneProblem::Diffusion)
    } else {
        None
    }
}
