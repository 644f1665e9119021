//! Pieces of metal: connected parts of a conductor and its images. A case may describe a conductor
//! by pieces and images in many ways; what its equations resolve depends on each piece.

use std::collections::HashMap;

use mesh::Mesh;
use parallel::prelude::*;

use super::closed::PanelInfo;
use crate::geometry::order::connected;

/// A connected part, and its conductor.
type Key = (u32, Option<u32>);

#[derive(Clone)]
pub(super) struct Pieces {
    /// Piece of each panel, `None` on interfaces.
    of: Vec<Option<u32>>,
    /// Number of images of each panel in its piece, including itself.
    joined: Vec<usize>,
    /// Area of each piece, including images.
    areas: Vec<f64>,
}

impl Pieces {
    /// For panels that are these triangles of `whole`, a mesh of images with this number of
    /// triangles each.
    pub(super) fn new(
        whole: &Mesh,
        triangles: usize,
        panel_triangles: &[u32],
        panels: &[PanelInfo],
    ) -> Self {
        let is_metal = |&i: &usize| panels[i].conductor.is_some();
        let metal: Vec<usize> = (0..panels.len()).into_par_iter().filter(is_metal).collect();
        let images = whole.triangles.len() / triangles.max(1);
        let triangle = |k: usize| {
            let (g, i) = (k / metal.len(), metal[k % metal.len()]);
            (g * triangles) as u32 + panel_triangles[i]
        };
        let all: Vec<u32> = (0..images * metal.len()).into_par_iter().map(triangle).collect();
        let labels = connected(whole, &all);
        let mut pieces =
            Self { of: vec![None; panels.len()], joined: vec![0; panels.len()], areas: Vec::new() };
        // Conductors may touch in points.
        let key = |g: usize, k: usize| (labels[g * metal.len() + k], panels[metal[k]].conductor);
        // Adjacent panels mostly belong to one piece, which is looked up once for all.
        let each_run = |g: usize, run: &mut dyn FnMut(Key, &[usize])| {
            let keys: Vec<Key> = (0..metal.len()).into_par_iter().map(|k| key(g, k)).collect();
            let mut rest = &metal[..];
            for same in keys.chunk_by(|a, b| a == b) {
                let (own, others) = rest.split_at(same.len());
                run(same[0], own);
                rest = others;
            }
        };
        let mut number = HashMap::new();
        each_run(0, &mut |key, own| {
            let next = number.len() as u32;
            let piece = *number.entry(key).or_insert(next);
            own.iter().for_each(|&i| pieces.of[i] = Some(piece));
        });
        pieces.areas.resize(number.len(), 0.0);
        for g in 0..images {
            each_run(g, &mut |key, own| {
                let Some(&piece) = number.get(&key) else { return };
                for &i in own {
                    pieces.areas[piece as usize] += panels[i].area;
                    pieces.joined[i] += usize::from(pieces.of[i] == Some(piece));
                }
            });
        }
        pieces
    }

    /// Whether these panels, each with its number of images, form one piece.
    pub(super) fn is_one(&self, panels: impl Iterator<Item = (usize, usize)>) -> bool {
        let mut first = None;
        panels.into_iter().all(|(i, images)| {
            *first.get_or_insert(self.of[i]) == self.of[i] && images <= self.joined[i]
        })
    }

    /// The area of a panel's piece; 0 on interfaces.
    pub(super) fn area(&self, i: usize) -> f64 {
        self.of[i].map_or(0.0, |piece| self.areas[piece as usize])
    }
}
