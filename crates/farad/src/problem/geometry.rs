//! A hash of what a solve prepares for: two problems of one geometry share it.

use std::hash::{DefaultHasher, Hash, Hasher};

use parallel::prelude::*;

use crate::problem::Problem;

impl Problem {
    /// A hash of the geometry: panels, conductors, images and bodies.
    pub(crate) fn geometry(&self) -> u64 {
        let _span = tracing::debug_span!("hash of the geometry").entered();
        let mut hasher = DefaultHasher::new();
        hash_of(self.mesh.vertices.as_flattened(), |x| x.to_bits()).hash(&mut hasher);
        if let Some(patches) = &self.mesh.patches {
            patches.order.hash(&mut hasher);
            patches.nodes.as_flattened().iter().for_each(|x| x.to_bits().hash(&mut hasher));
        }
        for bem::Mirror { plane, odd } in &self.description.planes {
            (plane.axis, plane.at.to_bits(), odd).hash(&mut hasher);
        }
        if let Some(stack) = &self.description.stack {
            format!("{stack:?}").hash(&mut hasher);
        }
        hash_of(self.mesh.triangles.as_flattened(), |&v| v).hash(&mut hasher);
        hash_of(&self.conductors.of_triangle, |&conductor| conductor).hash(&mut hasher);
        for region in self.media.iter().flat_map(|media| &media.regions) {
            region.boundary.hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Values that are hashed together.
const HASHED: usize = 1 << 16;

/// A hash of many values, made in pieces side by side.
fn hash_of<T: Sync, H: Hash>(values: &[T], of: impl Fn(&T) -> H + Sync) -> u64 {
    let of_piece = |piece: &[T]| {
        let mut hasher = DefaultHasher::new();
        piece.iter().for_each(|value| of(value).hash(&mut hasher));
        hasher.finish()
    };
    let pieces: Vec<u64> = values.par_chunks(HASHED).map(of_piece).collect();
    let mut hasher = DefaultHasher::new();
    (values.len(), pieces).hash(&mut hasher);
    hasher.finish()
}
