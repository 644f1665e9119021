//! The planes of a case: what has images in them, and what cannot have any.

use mesh::Mesh;
use mesh::mirror::{self, Placed};

use crate::case::plane::Plane;
use crate::case::{Case, Defect, Sort};
use crate::exit::Failure;

/// Images in the planes of a case.
#[derive(Debug)]
pub(crate) struct Symmetry {
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
        case: &Case,
        mesh: &Mesh,
        keep: impl Fn(usize) -> bool,
        is_conductor: impl Fn(usize) -> bool,
    ) -> Result<Self, Failure> {
        let mirrors: Vec<bem::Mirror> = case.planes.iter().map(|plane| plane.mirror).collect();
        let images = bem::Images::new(&mirrors);
        let mut defects = Vec::new();
        let mut placed = Vec::new();
        for plane in &case.planes {
            match mirror::place(mesh, &plane.mirror.plane, &keep) {
                Ok(found) => {
                    let metal = found.touching.iter().find(|&&t| is_conductor(t as usize));
                    if let (true, Some(t)) = (plane.mirror.odd, metal) {
                        defects.push(shorted(plane, *t));
                    }
                    placed.push(found);
                }
                Err(problem) => defects.push(misplaced(plane, &problem)),
            }
            defects.extend(asked_too_much(case, plane));
        }
        if !defects.is_empty() {
            return Err(case.failure(defects));
        }
        let whole = (images.count() > 1).then(|| images.mesh(mesh));
        Ok(Self { images, whole, placed })
    }

    /// `mesh`, which is that of the case, with its images.
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

fn misplaced(plane: &Plane, problem: &mirror::Problem) -> Defect {
    let message = format!("the mesh cannot be mirrored in {}: {problem}", plane.name());
    let defect = Defect::new(Sort::Value, plane.place.clone(), message);
    defect.help(match (problem, plane.mirror.odd) {
        (mirror::Problem::InPlane(_), true) => {
            "leave faces in the plane out of the mesh: the plane is there without them (mesh.ignore names their groups)"
        }
        (mirror::Problem::InPlane(_), false) => {
            "leave faces in the plane out of the mesh, which are cuts through a body (mesh.ignore names their groups)"
        }
        _ => "everything must lie on one side of the plane; a body that it cuts is meshed up to the plane",
    })
}

fn shorted(plane: &Plane, triangle: u32) -> Defect {
    let message = format!(
        "a conductor touches {}, which is at 0 V: triangle {triangle} reaches it",
        plane.name()
    );
    Defect::new(Sort::Value, plane.place.clone(), message)
        .help("move it off; metal that is part of the ground may not be raised to a potential")
}

/// What the case asks for that has no meaning with this plane.
fn asked_too_much(case: &Case, plane: &Plane) -> Option<Defect> {
    let (axis, odd) = (plane.mirror.plane.axis, plane.mirror.odd);
    let along = case.field[axis] != 0.0;
    let across = (0..3).any(|k| k != axis && case.field[k] != 0.0);
    let message = if odd && across {
        format!("the external field has a part along {}, where there can be none", plane.name())
    } else if !odd && along {
        format!("the external field goes through {}, and is not its own image", plane.name())
    } else if odd && case.polarisability {
        format!(
            "output.polarisability needs fields along all axes, which {} does not allow",
            plane.name()
        )
    } else if odd && case.diffusion.is_some() {
        format!("[diffusion] is about a body alone, not one over {}", plane.name())
    } else {
        return None;
    };
    Some(Defect::new(Sort::Value, plane.place.clone(), message))
}
