//! A triangle cut along lines within it.
//!
//! Points are put in one after the other, and edges swapped until the lines are among them. Signs
//! are exact (J. Shewchuk's adaptive predicates).

use robust::{Coord, orient2d};
use std::collections::{HashSet, VecDeque};

/// A point of the plane.
pub type Point = [f64; 2];

/// Swaps for one line, at most, for each edge that crosses it.
const SWAPS: usize = 50;

/// The pieces of the triangle whose corners are the first three points, counter-clockwise: those of
/// a triangulation of all points which has the `lines` among its edges. `None` where points
/// coincide, lie outside, or lines cross.
pub fn pieces(points: &[Point], lines: &[[usize; 2]]) -> Option<Vec<[usize; 3]>> {
    let mut pieces = Pieces { points, all: vec![[0, 1, 2]], fixed: HashSet::new() };
    for p in 3..points.len() {
        pieces.insert(p)?;
    }
    for &[p, q] in lines {
        pieces.draw(p, q, lines.len() + points.len())?;
    }
    Some(pieces.all)
}

struct Pieces<'a> {
    points: &'a [Point],
    all: Vec<[usize; 3]>,
    fixed: HashSet<[usize; 2]>,
}

fn key(a: usize, b: usize) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

impl Pieces<'_> {
    /// On which side of the line from a to b a point lies.
    fn turn(&self, a: usize, b: usize, c: usize) -> i8 {
        let [a, b, c] = [a, b, c].map(|i| Coord { x: self.points[i][0], y: self.points[i][1] });
        let turn = orient2d(a, b, c);
        i8::from(turn > 0.0) - i8::from(turn < 0.0)
    }

    /// The piece with the edge from a to b, and its third corner.
    fn across(&self, a: usize, b: usize) -> Option<(usize, usize)> {
        self.all.iter().enumerate().find_map(|(i, &[p, q, r])| {
            let third = [(p, q, r), (q, r, p), (r, p, q)].into_iter();
            third.filter(|&(p, q, _)| (p, q) == (a, b)).map(|(_, _, r)| (i, r)).next()
        })
    }

    fn insert(&mut self, p: usize) -> Option<()> {
        for i in 0..self.all.len() {
            let [a, b, c] = self.all[i];
            let turns = [self.turn(a, b, p), self.turn(b, c, p), self.turn(c, a, p)];
            if turns.contains(&-1) {
                continue;
            }
            match turns.iter().filter(|turn| **turn == 0).count() {
                0 => {
                    self.all[i] = [a, b, p];
                    self.all.extend([[b, c, p], [c, a, p]]);
                }
                1 => {
                    let k = turns.iter().position(|turn| *turn == 0)?;
                    let [a, b, c] = [[a, b, c], [b, c, a], [c, a, b]][k];
                    let other = self.across(b, a);
                    self.all[i] = [a, p, c];
                    self.all.push([p, b, c]);
                    if let Some((j, d)) = other {
                        self.all[j] = [b, p, d];
                        self.all.push([p, a, d]);
                    }
                }
                _ => return None,
            }
            return Some(());
        }
        None
    }

    /// Makes an edge of the line between two points, or several if others lie on it.
    fn draw(&mut self, p: usize, q: usize, depth: usize) -> Option<()> {
        if p == q || depth == 0 {
            return None;
        }
        if self.across(p, q).or(self.across(q, p)).is_some() {
            self.fixed.insert(key(p, q));
            return Some(());
        }
        let between = |v: usize| {
            let [a, b, c] = [self.points[p], self.points[q], self.points[v]];
            let along = (b[0] - a[0]) * (c[0] - a[0]) + (b[1] - a[1]) * (c[1] - a[1]);
            let whole = (b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2);
            along > 0.0 && along < whole
        };
        let on = (0..self.points.len())
            .find(|&v| v != p && v != q && self.turn(p, q, v) == 0 && between(v));
        if let Some(v) = on {
            self.draw(p, v, depth - 1)?;
            return self.draw(v, q, depth - 1);
        }
        let mut open: VecDeque<[usize; 2]> = VecDeque::new();
        for &[a, b, c] in &self.all {
            for (a, b) in [(a, b), (b, c), (c, a)] {
                if a < b && self.crosses(a, b, p, q) {
                    open.push_back([a, b]);
                }
            }
        }
        // Edges of the border run one way alone, and cross nothing.
        let mut left = SWAPS * (open.len() + 1);
        while let Some([a, b]) = open.pop_front() {
            left = left.checked_sub(1)?;
            if self.fixed.contains(&key(a, b)) {
                return None;
            }
            let ((i, c), (j, d)) = (self.across(a, b)?, self.across(b, a)?);
            if self.turn(c, d, a) * self.turn(c, d, b) >= 0 {
                open.push_back([a, b]);
                continue;
            }
            self.all[i] = [a, d, c];
            self.all[j] = [d, b, c];
            if self.crosses(c, d, p, q) {
                open.push_back([c, d]);
            }
        }
        self.across(p, q).or(self.across(q, p))?;
        self.fixed.insert(key(p, q));
        Some(())
    }

    fn crosses(&self, a: usize, b: usize, p: usize, q: usize) -> bool {
        self.turn(p, q, a) * self.turn(p, q, b) < 0 && self.turn(a, b, p) * self.turn(a, b, q) < 0
    }
}
