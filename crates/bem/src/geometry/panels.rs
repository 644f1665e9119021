//! The triangles of a surface as operators use them: centred, scaled to unit size, and ordered so
//! that neighbours in space are neighbours in memory.

use std::sync::Arc;

use mesh::Mesh;
use mesh::disjoint::SharedSets;
use parallel::prelude::*;

use crate::geometry::far::{FarImages, Weights};
use crate::geometry::image::{ITSELF, Image};
use crate::geometry::images::Images;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::{self, Triangle, Vec3};
use crate::ordered;
use crate::quadrature::rule::Rule;

/// Panels per leaf of the tree.
pub(crate) const LEAF: usize = 8;

/// Ranges of panels below this are sorted and searched by one thread.
const SEQUENTIAL: usize = 4096;

/// Panels longer than this multiple of their width are slivers.
const SLIVER: f64 = 30.0;

/// Assumed number of aligned slivers, as along a needle, whose errors add with one sign.
const ALIKE: f64 = 8.0;

/// Number of sample panels at which the potential of a part is evaluated.
const PROBES: usize = 32;

/// Panels whose areas one thread adds up.
const PIECE: usize = 1 << 14;

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
        let centroids: Vec<Vec3> = vertices.par_iter().map(centroid).collect();
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
        for (i, patch) in patches.iter().enumerate().filter(|(i, _)| is_curved[*i]) {
            let (mut area, mut moment) = (0.0, Vec3::zeros());
            for node in Rule::of_degree(OF_AREAS).nodes() {
                let [_, s, t] = node.barycentric;
                let weight = 0.5 * node.weight * patch.normal([s, t]).norm();
                area += weight;
                moment += patch.at([s, t]) * weight;
            }
            (self.areas[i], self.centroids[i]) = (area, moment / area);
            let radii = patch.nodes().map(|node| (node - self.centroids[i]).norm());
            self.radii[i] = radii.fold(0.0, f64::max);
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

    /// The same panels with these parts, such as conductors, instead of the connected parts.
    pub fn with_parts(mut self, part: Vec<u32>) -> Self {
        let count = part.iter().map(|&p| p as usize + 1).max().unwrap_or(0);
        let mut members = vec![Vec::new(); count];
        let mut at = 0;
        for own in part.chunk_by(|a, b| a == b) {
            members[own[0] as usize].extend(at as u32..(at + own.len()) as u32);
            at += own.len();
        }
        let densities: Vec<f64> = members.par_iter().map(|of| self.density(of)).collect();
        let charge = |i: usize| {
            let panel = self.panel(i);
            // Length over width.
            let aspect = panel.diameter().powi(2) / (2.0 * panel.area);
            let alike = (aspect / SLIVER).clamp(1.0, ALIKE);
            self.areas[i] * densities[part[i] as usize] * alike
        };
        self.charges = (0..part.len()).into_par_iter().map(charge).collect();
        self.part = part;
        self
    }

    /// The constant density that gives these panels a mean potential of 1, relative to that on a
    /// sphere of the size of all panels' box: the finer their shape, the larger. At least 1, the
    /// value for large surfaces without gaps.
    fn density(&self, members: &[u32]) -> f64 {
        let area_of = |own: &[u32]| own.iter().map(|&i| self.areas[i as usize]).sum::<f64>();
        let areas: Vec<f64> = members.par_chunks(PIECE).map(area_of).collect();
        let area: f64 = areas.iter().sum();
        // The mean over a few panels, evenly distributed over the area.
        let (step, mut passed) = (area / PROBES as f64, 0.5 * area / PROBES as f64);
        let mut chosen = Vec::with_capacity(PROBES);
        for (own, area) in members.chunks(PIECE).zip(areas) {
            if passed + area < step {
                passed += area;
                continue;
            }
            for &i in own {
                passed += self.areas[i as usize];
                let times = (passed / step) as usize;
                passed -= times as f64 * step;
                chosen.extend(std::iter::repeat_n(i, times.min(PROBES)));
            }
        }
        let potential = |&i: &u32| -> f64 {
            let term = |&j: &u32| {
                let r = (self.centroids[i as usize] - self.centroids[j as usize]).norm();
                if i == j {
                    let panel = self.panel(i as usize);
                    panel.self_integral() / panel.area
                } else if r > 0.0 {
                    self.areas[j as usize] / r
                } else {
                    0.0
                }
            };
            members.iter().map(term).sum()
        };
        let mean = ordered::sum(&chosen, potential) / chosen.len().max(1) as f64;
        let density = 4.0 * std::f64::consts::PI / mean;
        // NaN, from panels without area, counts as 1.
        density.max(1.0)
    }

    /// The same panels with these images, which must not overlap them, except for images on which
    /// panels lie in layers. With a tolerance, distant images are summed separately, to this
    /// absolute error of the potential of a unit charge (`far`); they are then not images of the
    /// panels.
    pub fn with_images(mut self, images: &Images, apart: Option<f64>) -> Self {
        let regions = images.regions();
        let weights = |g: usize| {
            let pairs = (0..regions).flat_map(|to| (0..regions).map(move |from| (to, from)));
            pairs.map(move |(to, from)| images.factor_between(g, to, from))
        };
        // The others are for potentials where there are no surfaces.
        let mut seen: Vec<usize> =
            (0..images.count()).filter(|&g| g == 0 || weights(g).any(|w| w != 0.0)).collect();
        let image = |&g: &usize| Image::of(images, g, &self.centre, self.scale);
        if let Some(tolerance) = apart {
            let all: Vec<Image> = seen.iter().map(image).collect();
            let weight =
                |k: usize, to: usize, from: usize| images.factor_between(seen[k], to, from);
            let weights = Weights { regions: [regions; 2], weight: &weight };
            // An image and its reverse are close together.
            let group = |k: usize| seen[k].min(images.back(seen[k]));
            let found = FarImages::apart(self.bounds(), &all, weights, &group, tolerance);
            if let Some((near, far)) = found {
                seen = near.into_iter().map(|k| seen[k]).collect();
                self.far = Some(Arc::new(far));
            }
        }
        tracing::debug!(images = images.count(), near = seen.len(), regions, "images");
        self.images = seen.iter().map(image).collect();
        let n = self.len();
        let triangle = &self.triangle;
        self.factors = Vec::with_capacity(regions * seen.len() * n);
        for (to, &g) in (0..regions).flat_map(|to| seen.iter().map(move |g| (to, g))) {
            let factor = |&t: &u32| images.factor_of(g, t as usize, to);
            self.factors.par_extend(triangle.par_iter().map(factor));
        }
        if regions > 1 {
            self.region = triangle.iter().map(|&t| images.region(t as usize) as u32).collect();
            self.weights = seen.iter().flat_map(|&g| weights(g)).collect();
        }
        let back = |&g: &usize| seen.binary_search(&images.back(g)).unwrap_or(0);
        self.back = seen.iter().map(back).collect();
        for image in &self.images[1..] {
            let of_image: Vec<_> = self.vertices[..n].iter().map(|v| image.of_panel(v)).collect();
            if self.patches.is_empty() {
                self.centroids.extend(of_image.iter().map(centroid));
            } else {
                let of = |i: usize| image.place(&self.centroids[i]);
                let centroids: Vec<Vec3> = (0..n).map(of).collect();
                self.centroids.extend(centroids);
                let of = |i: usize| image.of_patch(&self.patches[i]);
                let patches: Vec<Patch> = (0..n).map(of).collect();
                self.patches.extend(patches);
            }
            self.vertices.extend(of_image);
        }
        self
    }

    /// The lowest and the highest corner of a box around all panels.
    fn bounds(&self) -> [Vec3; 2] {
        let nothing = [Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY)];
        // Curved panels are within their radii.
        let is_curved = self.are_curved();
        let around = |[low, high]: [Vec3; 2], i: usize| {
            let out = Vec3::repeat(if is_curved { self.radii[i] } else { 0.0 });
            let corners = self.vertices[i].iter().copied();
            let middle = is_curved.then_some(self.centroids[i]);
            corners.chain(middle).fold([low, high], |[low, high], x| {
                let out = if middle == Some(x) { out } else { Vec3::zeros() };
                [low.inf(&(x - out)), high.sup(&(x + out))]
            })
        };
        (0..self.len()).fold(nothing, around)
    }

    /// The sum over distant images, if they are summed separately.
    pub(crate) fn far(&self) -> Option<&FarImages> {
        self.far.as_deref()
    }

    /// Number of regions of layers that contain panels.
    pub(crate) fn regions(&self) -> usize {
        if self.weights.is_empty() { 1 } else { (self.weights.len() / self.images.len()).isqrt() }
    }

    /// The region of a panel.
    pub(crate) fn region(&self, i: usize) -> usize {
        self.region.get(i).map_or(0, |region| *region as usize)
    }

    /// Factor of charges of a panel or an image `j` for potentials on panel `i`; 0 for an image on
    /// which its panel lies.
    pub(crate) fn factor(&self, i: usize, j: usize) -> f64 {
        self.factor_in(self.region(i), j)
    }

    /// As [`factor`](Self::factor), for potentials in a region.
    pub(crate) fn factor_in(&self, region: usize, j: usize) -> f64 {
        self.factors.get(region * self.total() + j).copied().unwrap_or(1.0)
    }

    /// As [`factor`](Self::factor), for the reverse: panel `i` and its image as seen from the panel
    /// whose image `j` is seen from `i`.
    pub(crate) fn factor_back(&self, i: usize, j: usize) -> f64 {
        let n = self.len();
        self.factor(j % n, self.back[j / n] * n + i)
    }

    /// Whether the entries of panel `i` and another panel's image `j` are nonzero: one of them has
    /// charge for the other.
    pub(crate) fn act(&self, i: usize, j: usize) -> bool {
        self.factor(i, j) != 0.0 || self.factor_back(i, j) != 0.0
    }

    /// Weight of image `g` of charges in region `from` for potentials in region `to`.
    fn weight(&self, g: usize, to: usize, from: usize) -> f64 {
        let regions = self.regions();
        let of_pair = self.weights.get((g * regions + to) * regions + from);
        of_pair.copied().unwrap_or(self.images[g].factor)
    }

    /// Whether an image's vertices have the opposite orientation to its panel's.
    pub(crate) fn is_mirrored(&self, i: usize) -> bool {
        self.images[i / self.len()].is_mirrored()
    }

    /// Number of panels with all images.
    pub fn total(&self) -> usize {
        self.vertices.len()
    }

    /// The sum over a point `y` and its images, with their signs, of `f` of the squared distance to
    /// `x`, for points in the regions of panels `i` and `j`.
    pub(crate) fn over_distances(
        &self,
        x: &Vec3,
        i: usize,
        y: &Vec3,
        j: usize,
        f: impl Fn(f64) -> f64,
    ) -> f64 {
        let (to, from) = (self.region(i), self.region(j));
        let one = |(g, image): (usize, &Image)| match self.weight(g, to, from) {
            0.0 => 0.0,
            weight => weight * f((x - image.place(y)).norm_squared()),
        };
        self.images.iter().enumerate().map(one).sum()
    }

    /// Distance of a point from the nearest of another point and its images.
    pub(crate) fn nearest_distance(&self, x: &Vec3, y: &Vec3) -> f64 {
        let distance = |image: &Image| (x - image.place(y)).norm();
        self.images.iter().map(distance).fold(f64::INFINITY, f64::min)
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

    /// Weight of an error of the potential of a unit charge on panel `j` at panel `i`, and vice
    /// versa.
    ///
    /// The error is multiplied by the charge on the panel while its part has unit potential. Within
    /// a part errors matter by their mean square over it, so between functions of unit
    /// norm; for a part that is small compared with a panel of another part, that panel's error is
    /// everywhere.
    pub(crate) fn weights(&self, i: usize, j: usize) -> [f64; 2] {
        let (a, b) = (self.charges[i], self.charges[j]);
        if self.part[i] == self.part[j] { [(a * b).sqrt(); 2] } else { [b, a] }
    }

    /// As [`weights`](Self::weights), for fields, measured by the density that causes them.
    pub(crate) fn weights_of_gradients(&self, i: usize, j: usize) -> [f64; 2] {
        let (a, b) = (self.areas[i], self.areas[j]);
        if self.part[i] == self.part[j] { [(a * b).sqrt(); 2] } else { [b, a] }
    }

    /// Part of each panel, and its charge while its part has the potential 1; for slivers a
    /// multiple of it.
    pub fn parts(&self) -> (&[u32], &[f64]) {
        (&self.part, &self.charges)
    }

    /// Index of each panel's triangle in the mesh.
    pub fn triangles(&self) -> &[u32] {
        &self.triangle
    }

    /// Panel `i` with its scaled geometry.
    pub(crate) fn panel(&self, i: usize) -> Triangle {
        Triangle::of(self.vertices[i])
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

    pub(crate) fn images(&self) -> &[Image] {
        &self.images
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

fn centroid([a, b, c]: &[Vec3; 3]) -> Vec3 {
    (a + b + c) / 3.0
}

/// Numbers the connected parts of a mesh (connected by vertices): the number for each of
/// `triangles`.
pub(crate) fn connected(mesh: &Mesh, triangles: &[u32]) -> Vec<u32> {
    let sets = SharedSets::new(mesh.vertices.len());
    triangles.par_iter().for_each(|&t| {
        let [a, b, c] = mesh.triangles[t as usize];
        sets.join(a, b);
        sets.join(a, c);
    });
    let first = |&t: &u32| mesh.triangles[t as usize][0];
    sets.labels(triangles.par_iter().map(first)).0
}

/// Orders points so that repeated halving of the range is a balanced k-d tree.
pub(crate) fn sorted(mut points: Vec<(u32, Vec3)>) -> Vec<u32> {
    fn sort(points: &mut [(u32, Vec3)]) {
        if points.len() <= LEAF {
            return;
        }
        let (mut low, mut high) = (points[0].1, points[0].1);
        for (_, x) in points.iter() {
            (low, high) = (low.inf(x), high.sup(x));
        }
        let axis = (high - low).imax();
        let middle = points.len() / 2;
        points.select_nth_unstable_by(middle, |a, b| {
            a.1[axis].total_cmp(&b.1[axis]).then(a.0.cmp(&b.0))
        });
        let (left, right) = points.split_at_mut(middle);
        if left.len() > SEQUENTIAL {
            rayon::join(|| sort(left), || sort(right));
        } else {
            sort(left);
            sort(right);
        }
    }
    sort(&mut points);
    points.into_iter().map(|(i, _)| i).collect()
}
