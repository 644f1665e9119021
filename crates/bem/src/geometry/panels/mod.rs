//! The triangles of a surface as operators use them: centred, scaled to unit size, and ordered so
//! that neighbours in space are neighbours in memory.

mod images;
mod parts;

use std::sync::{Arc, OnceLock};

use mesh::Mesh;
use parallel::prelude::*;

use crate::geometry::far::FarImages;
use crate::geometry::image::{ITSELF, Image};
use crate::geometry::order::{connected, sorted};
use crate::geometry::patch::Patch;
use crate::geometry::triangle::{self, Triangle, Vec3};
use crate::quadrature::rule::Rule;

/// Panels and images whose shapes are kept (300 bytes each), at most.
const MOST_SHAPES: usize = 1 << 13;

/// Degree of the rule for areas and centroids of curved panels.
const OF_AREAS: usize = 13;

/// Triangles x' = (x - centre) / scale, in tree order.
///
/// Mirror images of panels have geometry too: panel `g * len() + i` is image g of panel i. Panels
/// may be curved; vertices, normals and `panel` are then those of the flat triangle through the
/// corners.
#[derive(Clone, Debug)]
pub struct Panels {
    /// Including all images.
    vertices: Vec<[Vec3; 3]>,
    /// Including all images; empty where all are flat.
    patches: Vec<Patch>,
    /// Whether a panel is curved, where there are patches.
    is_curved: Vec<bool>,
    /// Including all images.
    centroids: Vec<Vec3>,
    /// Distances from centroids to the farthest vertex, or node.
    radii: Vec<f64>,
    areas: Vec<f64>,
    /// Part of the surface of each panel, and approximate charge on the panel in a density that
    /// gives its part a potential of 1.
    part: Vec<u32>,
    charges: Vec<f64>,
    /// Index of each panel's triangle in the mesh.
    triangle: Vec<u32>,
    centre: Vec3,
    scale: f64,
    images: Vec<Image>,
    /// The region of layers of each panel; empty where all are in one region.
    region: Vec<u32>,
    /// Weights of images between regions, shape (images, regions of targets, regions of sources);
    /// empty with one region.
    weights: Vec<f64>,
    /// The reverse of each image ([`Images::back`]).
    back: Vec<usize>,
    /// Factors of charges of panels and their images, shape (regions of targets, panels and
    /// images).
    factors: Vec<f64>,
    /// Distant images, which are not among these.
    far: Option<Arc<FarImages>>,
    /// Once they were asked for: [`Self::shapes`].
    shapes: OnceLock<Vec<Triangle>>,
}

impl Panels {
    /// The triangles of `mesh` that `keep` accepts (by their index), scaled by half the longest
    /// side of their bounding box; parts are the connected parts.
    pub(crate) fn new(mesh: &Mesh, keep: impl Fn(usize) -> bool + Sync) -> Self {
        let _span = tracing::debug_span!("panels of the mesh").entered();
        let panels = Self::without_parts(mesh, keep);
        let part = connected(mesh, &panels.triangle);
        panels.with_parts(part)
    }

    /// All triangles of `mesh`, as by `new`.
    pub fn of_mesh(mesh: &Mesh) -> Self {
        Self::new(mesh, |_| true)
    }

    /// As [`Self::new`] before [`with_parts`](Self::with_parts), which must follow.
    pub(crate) fn without_parts(mesh: &Mesh, keep: impl Fn(usize) -> bool + Sync) -> Self {
        let mut triangle: Vec<u32> = (0..mesh.triangles.len() as u32)
            .into_par_iter()
            .filter(|&i| keep(i as usize))
            .collect();
        let corners =
            |i: u32| mesh.triangles[i as usize].map(|v| Vec3::from(mesh.vertices[v as usize]));
        let nothing = || (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let around = |(low, high): (Vec3, Vec3), &i: &u32| {
            let [a, b, c] = corners(i);
            (low.inf(&a).inf(&b).inf(&c), high.sup(&a).sup(&b).sup(&c))
        };
        let (low, high) = triangle
            .par_iter()
            .fold(nothing, around)
            .reduce(nothing, |a, b| (a.0.inf(&b.0), a.1.sup(&b.1)));
        let centre = (low + high) * 0.5;
        let scale = (high - low).max() * 0.5;
        let scaled = |i: u32| corners(i).map(|v| (v - centre) / scale);
        let centroids: Vec<(u32, Vec3)> = triangle
            .par_iter()
            .map(|&i| {
                let [a, b, c] = scaled(i);
                (i, (a + b + c) / 3.0)
            })
            .collect();
        triangle = sorted(centroids);
        let vertices: Vec<[Vec3; 3]> = triangle.par_iter().map(|&i| scaled(i)).collect();
        let area = |v: &[Vec3; 3]| Triangle::of(*v).area;
        let areas = vertices.par_iter().map(area).collect();
        let centroids: Vec<Vec3> = vertices.par_iter().map(triangle::centroid).collect();
        let radius = |(v, centroid): (&[Vec3; 3], &Vec3)| {
            v.iter().map(|v| (v - centroid).norm()).fold(0.0, f64::max)
        };
        let radii = vertices.par_iter().zip(&centroids).map(radius).collect();
        let panels = Self {
            vertices,
            patches: Vec::new(),
            is_curved: Vec::new(),
            centroids,
            radii,
            areas,
            part: Vec::new(),
            charges: Vec::new(),
            triangle,
            centre,
            scale,
            images: vec![ITSELF],
            region: Vec::new(),
            weights: Vec::new(),
            back: vec![0],
            factors: Vec::new(),
            far: None,
            shapes: OnceLock::new(),
        };
        panels.with_patches(mesh)
    }

    /// Adds the shape of curved triangles.
    fn with_patches(mut self, mesh: &Mesh) -> Self {
        let Some(nodes) = &mesh.patches else { return self };
        let patch = |&t: &u32| {
            let scaled = nodes.of(t as usize).iter().map(|&x| self.scaled(x));
            Patch::through(nodes.order, &scaled.collect::<Vec<Vec3>>())
        };
        let patches: Vec<Patch> = self.triangle.par_iter().map(patch).collect();
        let is_curved: Vec<bool> = patches.par_iter().map(|patch| !patch.is_straight()).collect();
        if !is_curved.contains(&true) {
            return self;
        }
        let size = |patch: &Patch| {
            let (mut area, mut moment) = (0.0, Vec3::zeros());
            for node in Rule::of_degree(OF_AREAS).nodes() {
                let [_, s, t] = node.barycentric;
                let weight = 0.5 * node.weight * patch.normal([s, t]).norm();
                area += weight;
                moment += patch.at([s, t]) * weight;
            }
            let centroid = moment / area;
            let radii = patch.nodes().map(|node| (node - centroid).norm());
            (area, centroid, radii.fold(0.0, f64::max))
        };
        let sizes = |i: usize| is_curved[i].then(|| size(&patches[i]));
        let sizes: Vec<_> = (0..patches.len()).into_par_iter().map(sizes).collect();
        for (i, (area, centroid, radius)) in
            sizes.into_iter().enumerate().filter_map(|(i, size)| Some((i, size?)))
        {
            (self.areas[i], self.centroids[i], self.radii[i]) = (area, centroid, radius);
        }
        Self { patches, is_curved, ..self }
    }

    /// The shape of a panel, if it is curved.
    pub(crate) fn curved(&self, i: usize) -> Option<&Patch> {
        self.is_curved.get(i % self.len().max(1))?.then(|| &self.patches[i])
    }

    /// Whether any panel is curved.
    pub(crate) fn are_curved(&self) -> bool {
        !self.patches.is_empty()
    }

    /// The points of a rule on a panel, and their weights: shares of the panel's parameters, which
    /// sum to 1.
    #[inline]
    pub(crate) fn points(
        &self,
        rule: &'static Rule,
        i: usize,
    ) -> impl Iterator<Item = (Vec3, f64)> + use<'_> {
        let (patch, v) = (self.curved(i), &self.vertices[i]);
        rule.nodes().iter().map(move |node| {
            let [a, b, c] = node.barycentric;
            let at = match patch {
                Some(patch) => patch.at([b, c]),
                None => v[0] * a + v[1] * b + v[2] * c,
            };
            (at, node.weight)
        })
    }

    /// Normals at the points of a rule on a panel, scaled by the area per unit of parameters
    /// relative to its mean: unit normals where the panel is flat.
    pub(crate) fn normals(
        &self,
        rule: &'static Rule,
        i: usize,
    ) -> impl Iterator<Item = Vec3> + use<'_> {
        let flat = self.normal(i);
        let patch = self.curved(i).map(|patch| (patch, 0.5 / self.areas[i % self.len()]));
        rule.nodes().iter().map(move |node| match patch {
            Some((patch, factor)) => {
                patch.normal([node.barycentric[1], node.barycentric[2]]) * factor
            }
            None => flat,
        })
    }

    /// The same at a point by barycentric coordinates.
    pub(crate) fn normal_at(&self, i: usize, [_, s, t]: [f64; 3]) -> Vec3 {
        match self.curved(i) {
            Some(patch) => patch.normal([s, t]) * (0.5 / self.areas[i % self.len()]),
            None => self.normal(i),
        }
    }

    /// A point of a panel by barycentric coordinates.
    pub(crate) fn point(&self, i: usize, [a, b, c]: [f64; 3]) -> Vec3 {
        let v = &self.vertices[i];
        self.curved(i).map_or_else(|| v[0] * a + v[1] * b + v[2] * c, |patch| patch.at([b, c]))
    }

    /// Number of panels with all images.
    pub fn total(&self) -> usize {
        self.vertices.len()
    }

    /// Some of the panels, in the same coordinates and the same order.
    pub(crate) fn subset(&self, chosen: &[u32]) -> Self {
        let (of, n) = (|i: &u32| *i as usize, self.len());
        let images = 0..self.images.len();
        let patches = images
            .clone()
            .flat_map(|g| chosen.iter().filter_map(move |i| self.patches.get(g * n + of(i))));
        Self {
            patches: patches.copied().collect(),
            is_curved: chosen.iter().filter_map(|i| self.is_curved.get(of(i)).copied()).collect(),
            vertices: images
                .clone()
                .flat_map(|g| chosen.iter().map(move |i| self.vertices[g * n + of(i)]))
                .collect(),
            centroids: images
                .flat_map(|g| chosen.iter().map(move |i| self.centroids[g * n + of(i)]))
                .collect(),
            radii: chosen.iter().map(|i| self.radii[of(i)]).collect(),
            areas: chosen.iter().map(|i| self.areas[of(i)]).collect(),
            part: chosen.iter().map(|i| self.part[of(i)]).collect(),
            charges: chosen.iter().map(|i| self.charges[of(i)]).collect(),
            triangle: chosen.iter().map(|i| self.triangle[of(i)]).collect(),
            centre: self.centre,
            scale: self.scale,
            images: self.images.clone(),
            region: chosen.iter().filter_map(|i| self.region.get(of(i)).copied()).collect(),
            weights: self.weights.clone(),
            back: self.back.clone(),
            far: self.far.clone(),
            factors: self
                .factors
                .chunks_exact(n.max(1))
                .flat_map(|factors| chosen.iter().map(move |i| factors[of(i)]))
                .collect(),
            shapes: OnceLock::new(),
        }
    }

    /// A point in scaled coordinates in the mesh's.
    pub fn unscaled(&self, x: &Vec3) -> [f64; 3] {
        (self.centre + x * self.scale).into()
    }

    /// A point of the mesh's space in scaled coordinates.
    pub fn scaled(&self, x: [f64; 3]) -> Vec3 {
        (Vec3::from(x) - self.centre) / self.scale
    }

    /// Number of panels, without their images.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.areas.len()
    }

    /// Length in the mesh's unit that is 1 in scaled coordinates.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Scaled areas, one per panel.
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// Index of each panel's triangle in the mesh.
    pub fn triangles(&self) -> &[u32] {
        &self.triangle
    }

    /// Panel `i` with its scaled geometry.
    pub(crate) fn panel(&self, i: usize) -> Triangle {
        Triangle::of(self.vertices[i])
    }

    /// All of them, with images, where these are few: a pair's integral may take no longer than to
    /// make its panels.
    pub(crate) fn shapes(&self) -> Option<&[Triangle]> {
        let all = || self.vertices.iter().map(|v| Triangle::of(*v)).collect();
        (self.total() <= MOST_SHAPES).then(|| &self.shapes.get_or_init(all)[..])
    }

    pub(crate) fn corners(&self, i: usize) -> [Vec3; 3] {
        self.vertices[i]
    }

    /// A pair in the mesh's order, which rounding cannot change, unlike the tree's.
    pub fn ordered(&self, i: usize, j: usize) -> (usize, usize) {
        let n = self.len();
        let place = |k: usize| (self.triangle[k % n], k / n);
        if place(i) <= place(j) { (i, j) } else { (j, i) }
    }

    /// Unit normal of a panel.
    pub fn normal(&self, i: usize) -> Vec3 {
        triangle::normal(&self.vertices[i])
    }

    /// Corners of a panel.
    pub fn vertices(&self, i: usize) -> &[Vec3; 3] {
        &self.vertices[i]
    }

    /// Vertices of all panels and images.
    pub(crate) fn all_vertices(&self) -> &[[Vec3; 3]] {
        &self.vertices
    }

    /// Coordinates of all vertices but those of images, shape (panels, 3, 3).
    pub(crate) fn coordinates(&self) -> &[f64] {
        // SAFETY: a `Vec3` is three contiguous numbers, `#[repr(C)]` without padding; the length
        // counts these numbers.
        unsafe { std::slice::from_raw_parts(self.vertices.as_ptr().cast(), 9 * self.len()) }
    }

    /// Distance from the centroid to the farthest vertex.
    pub fn radius(&self, i: usize) -> f64 {
        self.radii[i % self.len()]
    }

    /// Centroid of a panel.
    pub fn centroid(&self, i: usize) -> Vec3 {
        self.centroids[i]
    }

    /// Centroids of all panels and images.
    pub fn centroids(&self) -> &[Vec3] {
        &self.centroids
    }
}
