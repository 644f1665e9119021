//! A surface while it is being improved: places and normals of vertices, what they may do, and the
//! tests that each change of triangles has to pass.

use crate::connectivity::{Connectivity, next, previous};
use crate::field::{Feature, Field, Foot};
use crate::guard::Guard;
use crate::triangle::{SLIVER, area_normal, quality, quality_over, turns};
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use parallel::prelude::*;

/// Cosine of the largest angle between a triangle's normal and those of the surface at its corners.
const FACING: f64 = 0.2;

/// Cosine between the normals of a triangle and of its parts when it is split.
const SPLIT: f64 = 0.4;

/// Sine of the smallest angle that no triangle exceeds, less the gain that counts.
const EQUAL: f64 = 0.857;

/// What a vertex may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tag {
    /// Move over the surface.
    Smooth(Feature),
    /// Move along a crease, where two features meet.
    Crease([Feature; 2]),
    /// Nothing.
    Corner,
}

/// Where a vertex is or goes, the surface's normal there, and what it may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vertex {
    pub at: Vector,
    pub normal: Vector,
    pub tag: Tag,
}

impl From<Foot> for Vertex {
    fn from(Foot { point, normal, feature }: Foot) -> Self {
        Self { at: point, normal, tag: Tag::Smooth(feature) }
    }
}

/// A surface that changes.
pub(crate) struct Shape<'a, F> {
    pub field: &'a F,
    pub mesh: Connectivity,
    pub places: Vec<Vector>,
    /// Outward normals; on creases of one of the sides.
    pub normals: Vec<Vector>,
    pub tags: Vec<Tag>,
    /// Length of edges that is wanted at each vertex.
    pub sizes: Vec<f64>,
    /// Where triangles are, while changes that make some cross are to be refused.
    pub guard: Option<Guard>,
}

impl<F: Field> Shape<'_, F> {
    pub fn corners(&self, triangle: u32) -> [Vector; 3] {
        self.mesh.triangles[triangle as usize].map(|v| self.places[v as usize])
    }

    /// The places of [`Connectivity::diamond`].
    pub fn diamond(&self, h: u32) -> [Vector; 4] {
        self.mesh.diamond(h).map(|v| self.places[v as usize])
    }

    pub fn length(&self, h: u32) -> f64 {
        norm(sub(self.places[self.mesh.to(h) as usize], self.places[self.mesh.from(h) as usize]))
    }

    /// Length that is wanted of an edge.
    pub fn wanted(&self, h: u32) -> f64 {
        0.5 * (self.sizes[self.mesh.from(h) as usize] + self.sizes[self.mesh.to(h) as usize])
    }

    pub fn is_smooth(&self, v: u32) -> bool {
        matches!(self.tags[v as usize], Tag::Smooth(_))
    }

    /// Whether a triangle faces the way that the surface does at its smooth corners, which may be
    /// elsewhere than they are.
    pub fn faces(&self, corners: [u32; 3], places: [Vector; 3]) -> bool {
        self.faces_with(&corners, area_normal(places))
    }

    fn faces_with(&self, corners: &[u32], normal: Vector) -> bool {
        let length = norm(normal);
        length > 0.0
            && corners.iter().all(|&v| {
                !self.is_smooth(v) || dot(normal, self.normals[v as usize]) > FACING * length
            })
    }

    /// The quality of a triangle, 0 if it faces the wrong way.
    pub fn quality(&self, triangle: u32) -> f64 {
        let places = self.corners(triangle);
        self.quality_with(self.mesh.triangles[triangle as usize], places, area_normal(places))
    }

    /// Quality of any triangle, with its normal.
    pub fn quality_with(&self, corners: [u32; 3], places: [Vector; 3], normal: Vector) -> f64 {
        if self.faces_with(&corners, normal) { quality_over(normal, places) } else { 0.0 }
    }

    /// The worst quality of the triangles around a vertex.
    pub fn ring_quality(&self, v: u32) -> f64 {
        self.mesh.around(v).map(|h| self.quality(h / 3)).fold(1.0, f64::min)
    }

    /// The worst quality of the triangles around a vertex if it were at `at`, without those that
    /// `skip` names; `None` if one would turn over.
    pub fn moved_quality(&self, v: u32, at: Vector, skip: impl Fn(u32) -> bool) -> Option<f64> {
        let mut worst = 1.0f64;
        for h in self.mesh.around(v) {
            if skip(h) {
                continue;
            }
            let ends = [next(h), previous(h)].map(|g| self.mesh.from(g));
            let [b, c] = ends.map(|v| self.places[v as usize]);
            let new = [at, b, c];
            let normal = area_normal(new);
            let length = norm(normal);
            if length.is_nan() || length <= 0.0 {
                return None;
            }
            // Exact normals say more than those of triangles, where there are any.
            let corners = self.mesh.triangles[h as usize / 3];
            let before = [self.places[v as usize], b, c];
            if !corners.iter().any(|&v| self.is_smooth(v)) && turns(before, new) {
                return None;
            }
            if !self.faces_with(&ends, normal) {
                // What faces the wrong way already may do so for another while.
                if self.faces(corners, before) {
                    return None;
                }
                worst = 0.0;
            }
            worst = worst.min(quality(new));
        }
        Some(worst)
    }

    /// The point of the surface that a vertex gets to if it is pulled to `to`, with its normal and
    /// tag; it stays on its crease.
    pub fn pulled(&self, v: u32, to: Vector) -> Option<Vertex> {
        let at = self.places[v as usize];
        let reach = 2.0 * norm(sub(to, at)) + self.field.resolution();
        let near = |point: Vector| norm(sub(point, to)) <= reach;
        match self.tags[v as usize] {
            Tag::Corner => None,
            Tag::Crease(features) => {
                let point = self.field.meet(&features, to).filter(|&point| near(point))?;
                Some(Vertex { at: point, ..self.vertex(v) })
            }
            Tag::Smooth(_) => self.field.foot(to).filter(|foot| near(foot.point)).map(Vertex::from),
        }
    }

    /// Leaves removed triangles and vertices out, if there are many, and numbers vertices as
    /// triangles have them, so that neighbours are close in memory. Changes that are checked keep
    /// the numbers.
    pub fn compact(&mut self) {
        if self.guard.is_some() || !self.mesh.is_sparse() {
            return;
        }
        let kept = self.mesh.renumber();
        let of = |all: &[Vector]| kept.par_iter().map(|&v| all[v as usize]).collect();
        (self.places, self.normals) = (of(&self.places), of(&self.normals));
        self.tags = kept.par_iter().map(|&v| self.tags[v as usize]).collect();
        self.sizes = kept.par_iter().map(|&v| self.sizes[v as usize]).collect();
    }

    /// What a vertex is.
    pub fn vertex(&self, v: u32) -> Vertex {
        let v = v as usize;
        Vertex { at: self.places[v], normal: self.normals[v], tag: self.tags[v] }
    }

    /// Puts a vertex at a place.
    pub fn put(&mut self, v: u32, Vertex { at, normal, tag }: Vertex) {
        self.places[v as usize] = at;
        self.normals[v as usize] = normal;
        self.tags[v as usize] = tag;
    }

    /// What a vertex in the middle of an edge would be: on the crease if the edge is.
    pub fn middle(&self, h: u32) -> Option<Vertex> {
        self.point_on(h, 0.5)
    }

    /// What a vertex on an edge would be, at a share of its length.
    pub fn point_on(&self, h: u32, share: f64) -> Option<Vertex> {
        let ends = [self.mesh.from(h), self.mesh.to(h)];
        let [a, b] = ends.map(|v| self.places[v as usize]);
        let between = add(a, scale(share, sub(b, a)));
        let near = |point: Vector| norm(sub(point, between)) < 0.5 * norm(sub(b, a));
        if self.mesh.is_creased(h) {
            for v in ends {
                if let Tag::Crease(features) = self.tags[v as usize]
                    && let Some(point) = self.field.meet(&features, between)
                    && near(point)
                {
                    return Some(Vertex { at: point, ..self.vertex(v) });
                }
            }
            return None;
        }
        if ends.iter().all(|&v| self.tags[v as usize] == Tag::Corner) {
            return None;
        }
        self.field.foot(between).filter(|foot| near(foot.point)).map(Vertex::from)
    }

    /// Whether the four triangles of a split would face the way of the two that they replace.
    pub fn split_fits(&self, h: u32, at: Vector) -> bool {
        let twin = self.mesh.twin(h);
        [h, twin].into_iter().all(|h| {
            let [a, b, c] = [self.mesh.from(h), self.mesh.to(h), self.mesh.opposite(h)]
                .map(|v| self.places[v as usize]);
            let old = area_normal([a, b, c]);
            [[a, at, c], [at, b, c]].into_iter().all(|part| {
                let new = area_normal(part);
                dot(new, old) > SPLIT * norm(new) * norm(old)
            })
        })
    }

    /// Puts a new vertex into an edge.
    pub fn split(&mut self, h: u32, Vertex { at, normal, tag }: Vertex) -> u32 {
        let size = self.wanted(h);
        let v = self.mesh.split(h);
        self.places.push(at);
        self.normals.push(normal);
        self.tags.push(tag);
        self.sizes.push(size);
        v
    }

    /// The worst quality of the two triangles that an edge would have after its flip; `None` if it
    /// cannot be turned, or if that is not better than `least`.
    pub fn flipped_quality(&self, h: u32, least: f64) -> Option<f64> {
        if self.mesh.is_creased(h) {
            return None;
        }
        let twin = self.mesh.twin(h);
        let [a, b, c, d] = self.mesh.diamond(h);
        let [pa, pb, pc, pd] = self.diamond(h);
        let [s, t] = [area_normal([pc, pa, pd]), area_normal([pd, pb, pc])];
        let after = quality_over(s, [pc, pa, pd]).min(quality_over(t, [pd, pb, pc]));
        if after <= least || !self.faces_with(&[c, a, d], s) || !self.faces_with(&[d, b, c], t) {
            return None;
        }
        // No fold between the two, nor against what they replace.
        let old = add(area_normal([pa, pb, pc]), area_normal([pb, pa, pd]));
        let was_wrong = self.quality(h / 3).min(self.quality(twin / 3)) < SLIVER;
        let sound = dot(s, t) > -0.2 * norm(s) * norm(t)
            && (was_wrong || dot(s, old) > 0.0 && dot(t, old) > 0.0);
        (sound && self.mesh.can_flip(h)).then_some(after)
    }

    /// How much better an edge's two triangles are when it is turned, if they are, with the
    /// qualities of all triangles.
    pub fn gain(&self, h: u32, qualities: &[f64]) -> Option<f64> {
        let now = qualities[h as usize / 3].min(qualities[self.mesh.twin(h) as usize / 3]);
        if now >= EQUAL {
            return None;
        }
        self.flipped_quality(h, 1.01 * now).map(|flipped| flipped - now)
    }

    /// Whether the start of a half-edge may be moved into its end without loss of creases.
    pub fn keeps_creases(&self, h: u32) -> bool {
        match self.tags[self.mesh.from(h) as usize] {
            Tag::Smooth(_) => true,
            Tag::Crease(_) => self.mesh.is_creased(h),
            Tag::Corner => false,
        }
    }

    /// The worst quality of the triangles that a collapse leaves; `None` if it is not possible.
    pub fn collapsed_quality(&self, h: u32, longest: f64) -> Option<f64> {
        let (v, w) = (self.mesh.from(h), self.mesh.to(h));
        let at = self.places[w as usize];
        let far = |g: u32| norm(sub(self.places[self.mesh.to(g) as usize], at)) > longest;
        let too_long = self.mesh.around(v).any(far);
        if too_long || !self.mesh.can_collapse(h) {
            return None;
        }
        let twin = self.mesh.twin(h);
        self.moved_quality(v, at, |g| g / 3 == h / 3 || g / 3 == twin / 3)
    }
}
