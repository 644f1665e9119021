//! Triangles with small angles, one by one: the change that helps most is made.

use crate::arcs::frame;
use crate::connectivity::{next, previous};
use crate::field::Field;
use crate::shape::{Shape, Tag, Vertex};
use crate::triangle::{area_normal, quality};
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use parallel::prelude::*;

/// Rounds over all bad triangles.
const ROUNDS: usize = 20;

/// From this round on creases may be given up.
const PATIENCE: usize = 6;

/// A change must make the worst triangle better by this factor.
const GAIN: f64 = 1.02;

/// And by this.
const LEAST: f64 = 0.002;

/// Shares of the mean edge by which vertices are moved to try.
const STEPS: [f64; 4] = [0.3, 0.15, 0.07, 0.03];

/// Directions in which they are.
const DIRECTIONS: usize = 8;

/// A change of triangles.
#[derive(Clone, Copy, Debug)]
enum Change {
    Flip(u32),
    Collapse(u32),
    Move(u32, Vertex),
    /// The corner opposite of an edge moves into the edge.
    Press(u32, Vertex),
    Split(u32, Vertex),
}

impl<F: Field> Shape<'_, F> {
    /// Makes triangles whose smallest angle has a sine below `goal` better; gives the number left.
    pub fn improve(&mut self, goal: f64) -> usize {
        let mut left = usize::MAX;
        let mut force = false;
        // When there was something new at vertices, and when triangles were tried in vain.
        let mut clock = 1u32;
        let mut news: Vec<u32> = Vec::new();
        let mut tried: Vec<u32> = Vec::new();
        for round in 0..ROUNDS {
            if round >= PATIENCE && !force {
                force = true;
                tried.clear();
            }
            let mut bad: Vec<(f64, u32)> = self
                .mesh
                .alive()
                .into_par_iter()
                .map(|t| (self.quality(t), t))
                .filter(|(quality, _)| *quality < goal)
                .collect();
            left = bad.len();
            bad.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut changed = false;
            for (_, t) in bad {
                if !self.mesh.is_alive(3 * t) || self.quality(t) >= goal {
                    continue;
                }
                news.resize(self.places.len(), 1);
                tried.resize(self.mesh.triangles.len(), 0);
                let corners = self.mesh.triangles[t as usize];
                let last = corners.iter().map(|&v| news[v as usize]).max();
                if last.is_some_and(|last| last <= tried[t as usize]) {
                    continue;
                }
                let near: Vec<u32> = corners
                    .iter()
                    .flat_map(|&v| self.mesh.around(v).map(|h| self.mesh.to(h)))
                    .collect();
                if self.improve_one(t, goal, force) {
                    clock += 1;
                    changed = true;
                    news.resize(self.places.len(), clock);
                    near.into_iter().for_each(|v| news[v as usize] = clock);
                } else {
                    tried[t as usize] = clock;
                }
            }
            if !changed {
                if force {
                    break;
                }
                force = true;
                tried.clear();
            }
        }
        left
    }

    fn improve_one(&mut self, t: u32, goal: f64, force: bool) -> bool {
        let mut offers: Vec<(f64, Change)> = Vec::new();
        // Gains are relative to the worst triangle that a change replaces.
        let mut offer = |after: Option<f64>, before: f64, change: Change| {
            if let Some(after) = after
                && after > GAIN * before + LEAST
            {
                offers.push((after.min(goal) - before, change));
            }
        };
        let triangle = |h: u32| self.quality(h / 3);
        for h in 3 * t..3 * t + 3 {
            let twin = self.mesh.twin(h);
            let two = triangle(h).min(triangle(twin));
            offer(self.flipped_quality(h, 0.0), two, Change::Flip(h));
            for side in [h, twin] {
                let v = self.mesh.from(side);
                if force || self.keeps_creases(side) {
                    let longest = 2.5 * self.wanted(side);
                    offer(
                        self.collapsed_quality(side, longest),
                        self.ring_quality(v),
                        Change::Collapse(side),
                    );
                }
            }
            if let Some((after, new)) = self.press(h, force) {
                let apex = self.mesh.opposite(h);
                offer(Some(after), self.ring_quality(apex).min(two), Change::Press(h, new));
            }
            let v = self.mesh.from(h);
            if let Some((after, new)) = self.best_move(v, force) {
                offer(Some(after), self.ring_quality(v), Change::Move(v, new));
            }
            if let Some((after, new)) = self.split_quality(h) {
                offer(Some(after), two, Change::Split(h, new));
            }
        }
        // The best one that may be made.
        offers.sort_by(|a, b| b.0.total_cmp(&a.0));
        offers.into_iter().any(|(_, change)| match change {
            Change::Flip(h) => self.checked_flip(h),
            Change::Collapse(h) => self.checked_collapse(h),
            Change::Move(v, new) => self.checked_move(v, new),
            Change::Split(h, new) => self.checked_split(h, new).is_some(),
            Change::Press(h, new) => self.checked_press(h, new),
        })
    }

    /// The best place for a vertex around where it is.
    fn best_move(&self, v: u32, force: bool) -> Option<(f64, Vertex)> {
        let tag = self.tags[v as usize];
        if tag == Tag::Corner && !force {
            return None;
        }
        let at = self.places[v as usize];
        let lengths: Vec<f64> = self.mesh.around(v).map(|h| self.length(h)).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let [a, b] = frame(self.normals[v as usize]);
        let mut best: Option<(f64, Vertex)> = None;
        for step in STEPS {
            for k in 0..DIRECTIONS {
                let angle = std::f64::consts::TAU * k as f64 / DIRECTIONS as f64;
                let (sin, cos) = angle.sin_cos();
                let to = add(at, scale(step * mean, add(scale(cos, a), scale(sin, b))));
                let Some(new) = self.offered(v, to, force) else {
                    continue;
                };
                if norm(sub(new.at, at)) > mean {
                    continue;
                }
                if let Some(after) = self.moved_quality(v, new.at, |_| false)
                    && best.is_none_or(|(found, _)| after > found)
                    && self.suits(v, new)
                {
                    best = Some((after, new));
                }
            }
        }
        best
    }

    /// Where a vertex gets to, off its crease if it is forced.
    fn offered(&self, v: u32, to: Vector, force: bool) -> Option<Vertex> {
        if force && !self.is_smooth(v) {
            return self.field.foot(to).map(Vertex::from);
        }
        self.pulled(v, to)
    }

    /// Whether the triangles around a vertex would face the way of its new normal.
    fn suits(&self, v: u32, Vertex { at, normal, tag }: Vertex) -> bool {
        !matches!(tag, Tag::Smooth(_))
            || self.mesh.around(v).all(|h| {
                let [b, c] =
                    [next(h), previous(h)].map(|g| self.places[self.mesh.from(g) as usize]);
                let area = area_normal([at, b, c]);
                dot(area, normal) > 0.1 * norm(area)
            })
    }

    /// The triangle left if the corner opposite of an edge moves into it.
    fn press(&self, h: u32, force: bool) -> Option<(f64, Vertex)> {
        let apex = self.mesh.opposite(h);
        if !self.is_smooth(apex) && !force {
            return None;
        }
        let [a, b, c, d] = self.diamond(h);
        let edge = sub(b, a);
        let share = dot(sub(c, a), edge) / dot(edge, edge);
        if !(0.15..=0.85).contains(&share) {
            return None;
        }
        let new = self.point_on(h, share)?;
        let halves = quality([new.at, a, d]).min(quality([b, new.at, d]));
        let around = self.moved_quality(apex, new.at, |g| g / 3 == h / 3)?;
        let old = area_normal([b, a, d]);
        let kept = [[new.at, a, d], [b, new.at, d]].iter().all(|t| dot(area_normal(*t), old) > 0.0);
        (kept && self.suits_new(apex, new)).then_some((halves.min(around), new))
    }

    fn suits_new(&self, v: u32, Vertex { normal, tag, .. }: Vertex) -> bool {
        !matches!(tag, Tag::Smooth(_))
            || dot(normal, self.normals[v as usize]) > 0.0
            || !self.is_smooth(v)
    }

    /// What a split leaves.
    fn split_quality(&self, h: u32) -> Option<(f64, Vertex)> {
        let twin = self.mesh.twin(h);
        let length = self.length(h);
        if length < self.length(next(h)) || length < self.length(previous(h)) {
            return None;
        }
        let new = self.middle(h)?;
        let [a, b, c, d] = self.diamond(h);
        let parts = [[a, new.at, c], [new.at, b, c], [new.at, a, d], [b, new.at, d]];
        let faces = [h, twin].into_iter().all(|h| self.quality(h / 3) > 0.0);
        let kept = faces && self.split_fits(h, new.at);
        kept.then(|| (parts.iter().map(|part| quality(*part)).fold(1.0, f64::min), new))
    }
}
