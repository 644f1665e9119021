//! Pieces that face each other across a gap much smaller than they are: rules miss the peak there,
//! so closed forms of flat triangles replace them (docs/math.md, "Curved panels").

use super::pieces::Piece;
use super::{Both, CurvedPair, Kernel, Limits, Scratch, add_entries};
use crate::geometry::triangle::Triangle;
use crate::integrals::pair::distance_to;

/// Panels closer than this share of the larger radius have no rule; for fields, whose closed forms
/// converge slowly, cutting is better down to smaller distances.
const CLOSE: f64 = 0.5;
const CLOSE_OF_FIELDS: f64 = 0.25;

/// Quarters are enough where this share of their change is an allowed error. Then the error that
/// they leave, as a share of their change: an eighth of the error of flat triangles remains for
/// potentials (an eighth of a piece's bulge squared, over its size), a third for fields. This
/// remainder is extrapolated away.
const ENOUGH: f64 = 0.5;
const LEFT_OF_POTENTIALS: f64 = 1.0 / 7.0;
const LEFT_OF_FIELDS: f64 = 1.0 / 2.0;

impl CurvedPair {
    /// Adds the integral of close pieces, given the entries of their flat triangles.
    pub(super) fn add_close(
        &self,
        [s, t]: [&Piece; 2],
        flat: &Both,
        limits: Limits,
        scratch: &mut Scratch,
        sum: &mut Both,
    ) {
        // Where both are curved, both are cut: the error of one must not hide that of the other.
        let bulges = [s, t].map(|piece| piece.bulge);
        let most = bulges[0].max(bulges[1]);
        let parts = |piece: &Piece, bulge: f64| {
            if 4.0 * bulge >= most { piece.quarters().to_vec() } else { vec![piece.clone()] }
        };
        let (of_s, of_t) = (parts(s, bulges[0]), parts(t, bulges[1]));
        // Of sixteen pairs about four are close, and their errors add up like random ones.
        let allowed = 0.5 * limits.allowed;
        let within = Limits { allowed, fours: limits.fours.saturating_sub(1), ..limits };
        let (mut all, mut close) = (Both::default(), Vec::new());
        for a in &of_s {
            for b in &of_t {
                if self.degree_apart(a, b).is_some() || !self.are_close(a, b) {
                    self.add(a, b, within, scratch, &mut all);
                } else {
                    close.push(([a, b], self.flat_entries(a, b, scratch)));
                }
            }
        }
        let mut with_close = all;
        close.iter().for_each(|(_, flat)| add_entries(flat, 1.0, &mut with_close));
        let left = match self.kernel {
            Kernel::Single => LEFT_OF_POTENTIALS,
            Kernel::Adjoint | Kernel::Adjoints => LEFT_OF_FIELDS,
        };
        let is_enough = ENOUGH * self.change(&with_close, flat) <= limits.allowed;
        if is_enough || limits.fours <= 1 {
            add_entries(&with_close, 1.0 + left, sum);
            return add_entries(flat, -left, sum);
        }
        add_entries(&all, 1.0, sum);
        for (pair, flat) in close {
            self.add_close(pair, &flat, within, scratch, sum);
        }
    }

    /// Entries of flat triangles: for potentials, of those nearest to both pieces. Solid angles
    /// need triangles without gaps between them, and not the right distance.
    pub(super) fn flat_entries(&self, s: &Piece, t: &Piece, scratch: &mut Scratch) -> Both {
        let mut entries = Both::default();
        let blocks = match self.kernel {
            Kernel::Single => self.between_flat(&s.nearest_flat(), &t.nearest_flat(), scratch),
            Kernel::Adjoint | Kernel::Adjoints => self.flat(s, t, scratch),
        };
        self.add_blocks(s, t, &blocks, &mut entries);
        entries
    }

    /// Whether the distance of the pieces is small compared with the larger one.
    pub(super) fn are_close(&self, s: &Piece, t: &Piece) -> bool {
        let share = if self.kernel == Kernel::Single { CLOSE } else { CLOSE_OF_FIELDS };
        let close = share * s.flat.radius.max(t.flat.radius) + s.bulge + t.bulge;
        let between = (s.flat.centroid - t.flat.centroid).norm();
        if between > close + s.flat.radius + t.flat.radius {
            return false;
        }
        // No point of an edge is farther than a quarter of its length from one of these.
        let has = |of: &Triangle, from: &Triangle| {
            let v = &from.vertices;
            let middles = [0, 1, 2].map(|k| 0.5 * (v[k] + v[(k + 1) % 3]));
            let mut places = v.iter().chain(&middles).chain([&from.centroid]);
            places.any(|x| distance_to(of, x) <= close)
        };
        has(&s.flat, &t.flat) || has(&t.flat, &s.flat)
    }
}
