//! Small triangles where another surface is near.
//!
//! A near surface makes charges on a large triangle that are narrower than the distance between
//! the places where an estimate samples it: it would see none of them, and a value that lacks them
//! would have a short bar.

use mesh::Mesh;
use mesh::proximity::{Part, Surfaces};
use mesh::shadows::Edges;
use mesh::split::{self, Cut, Split};

use crate::problem::fault::{Error, Note};
use crate::problem::media::Media;
use crate::problem::{Problem, edges};
use crate::refine::marking;

/// Sides are no longer than this times the distance of what is near, where that changes along them:
/// estimates see what they miss.
const SEEN: f64 = 8.0;

/// Triangles that the mesh may have, or times as many as before, whichever is more.
const MOST: usize = 20_000;
const GROWTH: usize = 8;

impl Problem {
    /// Its mesh with triangles split that are many times as large as their distance from other
    /// surfaces; `None` where none is. Flat ones that edges of metal are near to are cut along
    /// these first.
    pub(crate) fn finer_next_to_surfaces(&self) -> Result<Option<Mesh>, Error> {
        let _span = tracing::debug_span!("triangles next to other surfaces").entered();
        // Surfaces that cross are near each other at any size.
        let cross = |note: &Note| matches!(note, Note::ThroughItself { .. } | Note::Allowed(_));
        if self.notes.iter().any(cross) {
            return Ok(None);
        }
        let of_triangle = self.near_surfaces();
        let Some(surfaces) = Surfaces::new(&self.mesh, &of_triangle) else { return Ok(None) };
        let mut finer = Finer::new(&self.mesh, &of_triangle);
        let all = Part { mesh: &self.mesh, surface: &of_triangle };
        let near = surfaces.near(all, &finer.new, SEEN);
        if near.is_empty() {
            return Ok(None);
        }
        if self.mesh.patches.is_none() {
            let of_metal = &self.conductors.of_triangle;
            let edges = Edges::new(&self.mesh, of_metal, &edges::of(&self.mesh, of_metal));
            finer.new = near;
            finer.repeat(|part, new| split_at(part.mesh, edges.cuts(part, new, SEEN)))?;
            finer.new = (0..finer.surface.len() as u32).collect();
        }
        finer.repeat(|part, new| {
            let mut marked = surfaces.long_sides(part, new, SEEN);
            if marked.is_empty() {
                return Ok(None);
            }
            let creases = edges::of(part.mesh, part.surface);
            marking::split_sides(part.mesh, &creases, &mut marked).map(Some)
        })?;
        Ok(finer.mesh)
    }

    /// The number of each triangle's surface: a conductor, or an interface between two media.
    fn near_surfaces(&self) -> Vec<Option<u32>> {
        let mut kinds = Vec::new();
        let mut number = |media: &Media, t: usize| {
            let kind = [media.permittivity[t], media.kappa_at(t)];
            let at = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            u32::MAX - 1 - at as u32
        };
        let of_triangle = &self.conductors.of_triangle;
        let surface = |t: usize| match (of_triangle[t], &self.media) {
            (Some(conductor), _) => Some(conductor),
            (None, Some(media)) => media.differ_at(t).then(|| number(media, t)),
            (None, None) => None,
        };
        (0..of_triangle.len()).map(surface).collect()
    }
}

/// The mesh with these cuts, if there are any.
fn split_at(mesh: &Mesh, cuts: Vec<Cut>) -> Result<Option<Split>, mesh::refine::Error> {
    if cuts.is_empty() { Ok(None) } else { split::at(mesh, cuts).map(Some) }
}

/// A mesh on its way to smaller triangles.
struct Finer<'a> {
    given: &'a Mesh,
    /// `None` while nothing is split.
    mesh: Option<Mesh>,
    /// Of each triangle.
    surface: Vec<Option<u32>>,
    /// Triangles that were not looked at yet.
    new: Vec<u32>,
    most: usize,
}

impl<'a> Finer<'a> {
    fn new(given: &'a Mesh, surface: &[Option<u32>]) -> Self {
        let most = MOST.max(GROWTH * surface.len());
        let new = (0..surface.len() as u32).collect();
        Self { given, mesh: None, surface: surface.to_vec(), new, most }
    }

    /// Splits until `split` of the new triangles says that there is nothing more, or there are too
    /// many.
    fn repeat(
        &mut self,
        split: impl Fn(Part<'_>, &[u32]) -> Result<Option<Split>, mesh::refine::Error>,
    ) -> Result<(), Error> {
        while self.surface.len() <= self.most {
            let mesh = self.mesh.as_ref().unwrap_or(self.given);
            let part = Part { mesh, surface: &self.surface };
            let next = split(part, &self.new);
            let Some(next) = next.map_err(|error| Error::Accuracy(error.to_string()))? else {
                break;
            };
            self.surface = next.parent.iter().map(|&t| self.surface[t as usize]).collect();
            let parts = next.parent.chunk_by(|a, b| a == b).map(<[u32]>::len);
            let is_new = parts.flat_map(|count| std::iter::repeat_n(count > 1, count));
            self.new = (0..).zip(is_new).filter(|(_, is_new)| *is_new).map(|(t, _)| t).collect();
            self.mesh = Some(next.mesh);
        }
        Ok(())
    }
}
