//! Local inverses over panels with constant densities.

use parallel::prelude::*;
use simd::{Elementary, Real, Simd};

use super::local::BatchedLdl;
use super::local_inverse::{LocalInverse, Neighbourhoods, Rows};
use crate::constants::PARALLEL;
use crate::geometry::panels::Panels;
use crate::near::{FullRows, Near};

/// Panels per neighbourhood, including itself.
pub const NEIGHBOURS: usize = 30;

/// As [`NEIGHBOURS`], for a panel that faces another: its neighbourhood spans several sheets.
pub(crate) const NEIGHBOURS_OF_FACING: usize = 60;

/// Two panels face each other if their strength A_ij / sqrt(A_ii A_jj) exceeds this (adjacent
/// panels have 0.5, slivers up to 0.85; on sheets a tenth of a triangle's side apart it is 0.75),
pub(crate) const FACING: f64 = 0.55;

/// they are parallel, and off each other's plane by more than this share of their distance.
pub(crate) const OUT_OF_PLANE: f64 = 1e-3;

/// Points per panel for pairs missing in the near field, where panels face each other: half way
/// from the centroid to each vertex, a rule of degree 2. Potentials of charges on two sheets almost
/// cancel, and so must their errors.
pub(crate) const POINTS: usize = 3;

/// Rows per task.
const ROWS: usize = 128;

impl LocalInverse {
    /// From exact entries of close pairs; panels of a missing pair are treated as points.
    pub fn new(near: &Near, panels: &Panels, neighbours: usize) -> Self {
        let of_block = |block: usize| -> Vec<Rows<f32>> {
            let full = &near.full_rows(block);
            let part = |first: usize| {
                let (rows, faces) = (first..full.rows.end.min(first + ROWS), Vec::new());
                Rows::new(rows, PanelNeighbourhoods { near, panels, full, neighbours, faces })
            };
            let starts: Vec<usize> = full.rows.clone().step_by(ROWS).collect();
            starts.into_par_iter().map(part).collect()
        };
        let parts: Vec<Vec<_>> = (0..near.blocks()).into_par_iter().map(of_block).collect();
        Self::of_parts(near.len(), ROWS, parts.into_iter().flatten().collect())
    }
}

/// Panels of a block of the near field.
struct PanelNeighbourhoods<'a> {
    near: &'a Near,
    panels: &'a Panels,
    full: &'a FullRows,
    neighbours: usize,
    /// Whether the panel of each lane faces another.
    faces: Vec<bool>,
}

impl Neighbourhoods for PanelNeighbourhoods<'_> {
    type Block = f32;

    fn choose(&mut self, i: usize, lane: usize, chosen: &mut Vec<u32>) {
        let faces = self.faces_another(i);
        self.faces.resize(lane, false);
        self.faces.push(faces);
        self.choose_strongest(
            i,
            if faces { NEIGHBOURS_OF_FACING } else { self.neighbours },
            chosen,
        );
    }

    /// One or a few points for each panel, for pairs that the near field lacks.
    #[inline(always)]
    fn fill_lanes<V: Simd<Scalar = f64>>(&self, chosen: &[Vec<u32>], local: &mut BatchedLdl<V>) {
        let points = if self.faces.contains(&true) { POINTS } else { 1 };
        let places = self.places::<V>(chosen, points);
        local.set_points(&places, points, self.panels.images());
    }

    fn fill(&mut self, chosen: &[u32], set: &mut impl FnMut(usize, usize, f64)) {
        let Some((&first, others)) = chosen.split_first() else { return };
        set(0, 0, self.near.diagonal(first as usize));
        for &(j, entry) in self.full.row(first as usize) {
            if let Ok(b) = others.binary_search_by(|k| j.cmp(k)) {
                set(0, b + 1, entry);
            }
        }
        for (b, &i) in others.iter().enumerate() {
            let i = i as usize;
            set(b + 1, b + 1, self.near.diagonal(i));
            let mut left = b;
            self.near.later(i, |j, entry| {
                while left > 0 && (others[left - 1] as usize) < j {
                    left -= 1;
                }
                if left > 0 && others[left - 1] as usize == j {
                    left -= 1;
                    set(left + 1, b + 1, entry);
                }
            });
        }
    }
}

/// Whether two panels are parallel and off each other's plane.
pub(super) fn are_on_two_sheets(panels: &Panels, i: usize, j: usize) -> bool {
    let (normal, apart) = (panels.normal(i), panels.centroid(j) - panels.centroid(i));
    normal.dot(&panels.normal(j)).abs() > PARALLEL
        && normal.dot(&apart).abs() > OUT_OF_PLANE * apart.norm()
}

impl PanelNeighbourhoods<'_> {
    /// Points on the chosen panels of each lane; none where a lane has fewer panels, and centroids
    /// where a panel faces no other.
    #[inline(always)]
    fn places<V: Elementary>(&self, chosen: &[Vec<u32>], points: usize) -> Vec<[V; 3]> {
        let mut places = Vec::new();
        let most = chosen.iter().map(Vec::len).max().unwrap_or(0);
        for (a, point) in (0..most).flat_map(|a| (0..points).map(move |point| (a, point))) {
            let mut lanes = [[f64::NAN; f64::MAX_LANES]; 3];
            for (lane, chosen) in chosen.iter().enumerate() {
                if let Some(&i) = chosen.get(a) {
                    let mut place = self.panels.centroid(i as usize);
                    if self.faces[lane] {
                        place = 0.5 * (place + self.panels.vertices(i as usize)[point]);
                    }
                    for axis in 0..3 {
                        lanes[axis][lane] = place[axis];
                    }
                }
            }
            places.push([V::load(&lanes[0]), V::load(&lanes[1]), V::load(&lanes[2])]);
        }
        places
    }

    /// Whether a sheet next to panel `i` is closer than its own neighbours, and more panels are
    /// close than fit in a neighbourhood.
    fn faces_another(&self, i: usize) -> bool {
        let others = self.full.row(i).iter().filter(|(j, _)| *j as usize != i).count();
        if others < self.neighbours {
            return false;
        }
        let own = self.near.diagonal(i).sqrt();
        self.full.row(i).iter().any(|&(j, entry)| {
            let j = j as usize;
            j != i
                && entry > FACING * own * self.near.diagonal(j).sqrt()
                && are_on_two_sheets(self.panels, i, j)
        })
    }

    /// Panel `i`, then its strongest neighbours in decreasing order, `most` in all.
    fn choose_strongest(&self, i: usize, most: usize, chosen: &mut Vec<u32>) {
        let strength = |&(j, v): &(u32, f64)| (-v / self.near.diagonal(j as usize).sqrt(), j);
        let others = self.full.row(i).iter().filter(|(j, _)| *j as usize != i);
        let mut ranked: Vec<(f64, u32)> = others.map(strength).collect();
        if ranked.len() >= most {
            ranked.select_nth_unstable_by(most - 1, |a, b| a.0.total_cmp(&b.0));
            ranked.truncate(most - 1);
        }
        chosen.clear();
        chosen.extend(ranked.iter().map(|&(_, j)| j));
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        chosen.insert(0, i as u32);
    }
}
