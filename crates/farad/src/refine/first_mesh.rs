//! Small triangles where another surface is near.
//!
//! A near surface makes charges on a large triangle that are narrower than the distance between
//! the places where an estimate samples it: it would see none of them, and a value that lacks them
//! would have a short bar.

use mesh::Mesh;
use mesh::proximity::{Part, Surfaces};

use crate::problem::fault::{Error, Note};
use crate::problem::{Problem, edges};
use crate::refine::marking;

/// Sides are no longer than this times the distance of what is near, where that changes along them:
/// estimates see what they miss.
pub(crate) const SEEN: f64 = 8.0;

/// The same before a refinement, which would else come to it step by step.
pub(crate) const FIRST: f64 = 3.0;

/// Triangles that the mesh may have, or times as many as before, whichever is more.
const MOST: usize = 20_000;
const GROWTH: usize = 8;

impl Problem {
    /// Its mesh with triangles split that are more than `ratio` times as large as their distance
    /// from other surfaces; `None` where none is.
    pub(crate) fn finer_next_to_surfaces(&self, ratio: f64) -> Result<Option<Mesh>, Error> {
        let _span = tracing::debug_span!("triangles next to other surfaces").entered();
        // Surfaces that cross are near each other at any size.
        let cross = |note: &Note| matches!(note, Note::ThroughItself { .. } | Note::Allowed(_));
        if self.notes.iter().any(cross) {
            return Ok(None);
        }
        let of_triangle = self.near_surfaces();
        let Some(surfaces) = Surfaces::new(&self.mesh, &of_triangle) else { return Ok(None) };
        let mut finer: Option<Mesh> = None;
        let mut surface = of_triangle.clone();
        let mut new: Vec<u32> = (0..surface.len() as u32).collect();
        let most = MOST.max(GROWTH * surface.len());
        while surface.len() <= most {
            let mesh = finer.as_ref().unwrap_or(&self.mesh);
            let part = Part { mesh, surface: &surface };
            let mut marked = surfaces.long_sides(part, &new, ratio);
            if marked.is_empty() {
                break;
            }
            let creases = edges::of(mesh, &surface);
            let split = marking::split_sides(mesh, &creases, &mut marked)
                .map_err(|error| Error::Accuracy(error.to_string()))?;
            surface = split.parent.iter().map(|&t| surface[t as usize]).collect();
            let parts = split.parent.chunk_by(|a, b| a == b).map(<[u32]>::len);
            let is_new = parts.flat_map(|count| std::iter::repeat_n(count > 1, count));
            new = (0..).zip(is_new).filter(|(_, is_new)| *is_new).map(|(t, _)| t).collect();
            finer = Some(split.mesh);
        }
        Ok(finer)
    }

    /// The number of each triangle's surface: a conductor, or an interface between two media.
    fn near_surfaces(&self) -> Vec<Option<u32>> {
        let mut kinds: Vec<[u64; 2]> = Vec::new();
        let mut number = |sides: [f64; 2]| {
            let kind = sides.map(f64::to_bits);
            let at = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            u32::MAX - 1 - at as u32
        };
        let of_triangle = &self.conductors.of_triangle;
        let surface = |t: usize| match (of_triangle[t], &self.media) {
            (Some(conductor), _) => Some(conductor),
            (None, Some(media)) => {
                let sides = media.permittivity[t];
                (sides[0] != sides[1]).then(|| number(sides))
            }
            (None, None) => None,
        };
        (0..of_triangle.len()).map(surface).collect()
    }
}
