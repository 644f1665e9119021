//! The planes of a problem: what has images in them, and what cannot have any.

use std::sync::OnceLock;

use mesh::Mesh;
use mesh::mirror::{self, Placed};

use crate::problem::fault::Fault;
use crate::problem::heights::Regions;
use crate::problem::place_fault::PlaneFault;
use crate::scene::description::{Description, plane_name};

/// Images in the planes of a problem.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// Signs and places of the images.
    pub(crate) images: bem::Images,
    /// The mesh with its mirror images; `None` without planes.
    whole: Option<Mesh>,
    /// That with the images of all in layers, which states and probes ask for; empty until then.
    in_layers: OnceLock<Mesh>,
    /// How the mesh lies to each plane.
    placed: Vec<Placed>,
    /// Regions of layers with surfaces or points.
    regions: Regions,
}

/// Charges on the triangles of a mesh, with their images.
#[derive(Clone, Copy)]
pub(crate) struct Charged<'a> {
    pub(crate) mesh: &'a Mesh,
    pub(crate) charges: bem::Charges<'a>,
    pub(crate) images: &'a bem::Images,
}

/// Charges of triangles and all their images, as potentials in one region see them.
pub(crate) struct Seen {
    total: Vec<f64>,
    at_corners: Vec<[f64; 3]>,
}

impl Seen {
    pub(crate) fn new(charges: bem::Charges<'_>, images: &bem::Images, region: usize) -> Self {
        let total = images.charges(charges.total, region);
        Self { total, at_corners: images.at_corners(charges.at_corners, region) }
    }
}

impl<'a> From<&'a Seen> for bem::Charges<'a> {
    fn from(of: &'a Seen) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

/// Where a point lies to the planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the mesh is.
    Here,
    /// In the grounded plane of this index.
    InGround(usize),
    /// On the other side of the plane of this index.
    Beyond(usize),
}

impl Symmetry {
    /// Looks at the surfaces that `keep` holds for, by their triangles' index; `is_conductor`
    /// selects those that are metal.
    pub fn find(
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
                        faults.push(fault(PlaneFault::Shorted(*t)));
                    }
                    placed.push(found);
                }
                Err(problem) => faults.push(fault(PlaneFault::NotMirrored(problem))),
            }
            faults.extend(asked_too_much(description, mirror).map(fault));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let whole = (images.count() > 1).then(|| images.mesh(mesh));
        Ok(Self { images, whole, in_layers: OnceLock::new(), placed, regions: Regions::default() })
    }

    /// Adds images in layers, for the problem's mesh.
    pub(crate) fn in_layers(self, layers: Vec<bem::LayerImage>, mesh: &Mesh) -> Self {
        let images = self.images.with_layers(layers, mesh);
        Self { images, ..self }
    }

    /// Adds images in layers for surfaces in several layers, or for potentials in several.
    pub(crate) fn in_regions(
        self,
        between: bem::Between,
        of_triangle: Vec<u32>,
        regions: Regions,
        mesh: &Mesh,
    ) -> Self {
        let images = self.images.with_regions(between, of_triangle, mesh);
        Self { images, regions, ..self }
    }

    /// `mesh`, which is that of the problem, with its mirror images.
    pub fn whole<'a>(&'a self, mesh: &'a Mesh) -> &'a Mesh {
        self.whole.as_ref().unwrap_or(mesh)
    }

    /// As [`whole`](Self::whole), with images in layers too: all surfaces whose charges act.
    pub(crate) fn sources<'a>(&'a self, mesh: &'a Mesh) -> &'a Mesh {
        if self.images.has_layers() {
            self.in_layers.get_or_init(|| self.images.mesh(mesh))
        } else {
            self.whole(mesh)
        }
    }

    /// Values at points of charges on the triangles of a mesh and their images, to a relative
    /// error of `tolerance`: those of `values(mesh, charges, points)` with what is near in each
    /// region of layers, and the rest.
    pub(crate) fn values(
        &self,
        charged: Charged<'_>,
        points: &[[f64; 3]],
        tolerance: f64,
        values: impl Fn(&Mesh, bem::Charges<'_>, &[[f64; 3]]) -> Result<bem::Values, bem::Error>,
    ) -> Result<bem::Values, bem::Error> {
        let Charged { mesh, charges, images } = charged;
        let mut found = bem::Values::default();
        for region in 0..self.regions.count() {
            let is_in =
                |k: &usize| self.regions.count() == 1 || self.regions.of(&points[*k]) == region;
            let own: Vec<usize> = (0..points.len()).filter(is_in).collect();
            if own.is_empty() {
                continue;
            }
            let places: Vec<[f64; 3]> = own.iter().map(|&k| points[k]).collect();
            let seen = bem::SeenImages::new(images, mesh, &places, region, tolerance);
            let near = seen.near();
            let with_near = Seen::new(charges, near, region);
            let mut of_region = values(&near.mesh(mesh), (&with_near).into(), &places)?;
            seen.add_far(mesh, charges, &places, &mut of_region);
            if own.len() == points.len() {
                return Ok(of_region);
            }
            found.potential.resize(points.len(), 0.0);
            own.iter().zip(&of_region.potential).for_each(|(&k, v)| found.potential[k] = *v);
            if !of_region.field.is_empty() {
                found.field.resize(points.len(), [0.0; 3]);
                own.iter().zip(&of_region.field).for_each(|(&k, e)| found.field[k] = *e);
            }
        }
        Ok(found)
    }

    /// Where a point lies.
    pub fn side(&self, x: [f64; 3]) -> Side {
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
    pub fn is_behind_ground(&self, x: [f64; 3]) -> bool {
        let each = self.images.mirrors().iter().zip(&self.placed);
        each.filter(|(mirror, _)| mirror.odd)
            .any(|(mirror, placed)| placed.side * (x[mirror.plane.axis] - mirror.plane.at) < 0.0)
    }

    /// The point, or the one in the planes of symmetry that it lies in but for rounding.
    pub fn snapped(&self, x: [f64; 3]) -> [f64; 3] {
        let mut x = x;
        for (bem::Mirror { plane, .. }, placed) in self.images.mirrors().iter().zip(&self.placed) {
            if (x[plane.axis] - plane.at).abs() <= placed.tolerance {
                x[plane.axis] = plane.at;
            }
        }
        x
    }

    /// The images that are one with what is there across planes that `touches` holds for, by their
    /// index: one body with it.
    pub fn joined(&self, touches: impl Fn(usize) -> bool) -> Vec<usize> {
        let across = |g: usize, k: usize| g >> k & 1 == 1;
        (0..self.images.mirrored().count())
            .filter(|&g| (0..self.placed.len()).all(|k| !across(g, k) || touches(k)))
            .collect()
    }

    /// Whether triangles touch each plane; `has` selects the triangles.
    pub fn touching(&self, has: impl Fn(u32) -> bool) -> Vec<bool> {
        self.placed.iter().map(|placed| placed.touching.iter().any(|&t| has(t))).collect()
    }

    /// A point of all grounded planes, at which a uniform field's potential is 0.
    pub fn origin(&self) -> [f64; 3] {
        let mut origin = [0.0; 3];
        for mirror in self.images.mirrors().iter().filter(|mirror| mirror.odd) {
            origin[mirror.plane.axis] = mirror.plane.at;
        }
        origin
    }
}

/// Wanted results that have no meaning with this plane.
fn asked_too_much(description: &Description, mirror: &bem::Mirror) -> Option<PlaneFault> {
    let Description { field, .. } = description;
    let axis = mirror.plane.axis;
    if mirror.odd && (0..3).any(|k| k != axis && field[k] != 0.0) {
        Some(PlaneFault::FieldAlong)
    } else if !mirror.odd && field[axis] != 0.0 {
        Some(PlaneFault::FieldThrough)
    } else if mirror.odd && description.polarisability {
        Some(PlaneFault::Polarisability)
    } else if mirror.odd && description.diffusion.is_some() {
        Some(PlaneFault::Diffusion)
    } else {
        None
    }
}
