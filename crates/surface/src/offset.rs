//! Surfaces at a distance from the region that probes can reach: solvent excluded, solvent
//! accessible and van der Waals surfaces.
//!
//! With balls of radii R_i around the atoms, probes can have their centres in the region A of all
//! points outside of the balls. The solid is what is at least `level` away from A: with `level` the
//! radius of the probe it is what no probe covers, with 0 the union of the balls (docs/math.md,
//! "Molecular surfaces"). The point of A next to a point x inside a ball is on the sphere in which
//! x is deepest, or else on an arc of a circle in which two spheres intersect.

use crate::arcs::{Arc, Nearest, TOUCHING, arcs};
use crate::balls::{Ball, bounding_box};
use crate::cells::{Cells, Place};
use crate::field::{self, Feature, Field, Foot};
use mesh::vector::{Vector, add, dot, norm, scale, sub};

/// Points are on the surface if they are this near, relative to the mean radius.
const ON: f64 = 1e-9;

/// Side of the cells of the lists, relative to the mean radius.
const CELL: f64 = 0.25;

/// Width of the band around the surface in which values are distances, relative to the same.
const BAND: f64 = 0.35;

/// Width of the grid around the balls, relative to the details: about the radius of the least
/// cubes of the lattice.
const MARGIN: f64 = 1.1;

/// Steps to a point of the surface.
const STEPS: usize = 12;

/// The field of a union of balls.
pub struct Offset {
    balls: Vec<Ball>,
    /// Where spheres meet that no other ball covers.
    pub arcs: Vec<Arc>,
    cells: Cells,
    level: f64,
    /// Mean radius of the balls.
    pub mean: f64,
    /// Width of the band around the surface in which values are distances.
    pub band: f64,
    /// A ball covers what is deeper in it than this.
    touching: f64,
}

/// The point of A next to a point.
struct Centre {
    distance: f64,
    point: Vector,
    feature: Feature,
}

impl Offset {
    /// The surface at depth `level` in the union of `balls`.
    pub fn new(balls: Vec<Ball>, level: f64) -> Self {
        let mean = balls.iter().map(|ball| ball.radius).sum::<f64>() / balls.len() as f64;
        let arcs = arcs(&balls);
        let band = BAND * mean;
        let margin = MARGIN * (mean - level).max(0.1 * mean);
        let cells = Cells::new(&balls, &arcs, CELL * mean, margin, level + band);
        Self { balls, arcs, cells, level, mean, band, touching: 10.0 * TOUCHING * mean }
    }

    /// The ball in which a point is deepest, with the depth.
    fn deepest(&self, cell: usize, x: Vector) -> Option<(f64, usize)> {
        let off = self.cells.off_centre(x);
        let mut best: Option<(f64, usize)> = None;
        for &(i, at_centre) in self.cells.balls.list(cell) {
            if best.is_some_and(|(best, _)| f64::from(at_centre) + off < best) {
                break;
            }
            let ball = &self.balls[i as usize];
            let depth = ball.radius - norm(sub(x, ball.centre));
            if best.is_none_or(|(best, _)| depth > best) {
                best = Some((depth, i as usize));
            }
        }
        best
    }

    /// Whether no ball covers a point of a sphere.
    fn is_accessible(&self, point: Vector) -> bool {
        self.cells.cell(point).is_none_or(|cell| match self.cells.place(cell) {
            Place::Outside => true,
            Place::Deep => false,
            Place::Near => self.cells.balls.list(cell).iter().all(|&(i, _)| {
                let ball = &self.balls[i as usize];
                let covered = ball.radius - self.touching;
                let from = sub(point, ball.centre);
                covered <= 0.0 || dot(from, from) >= covered * covered
            }),
        })
    }

    /// The point of A next to a point at a `depth` of more than 0 in a ball.
    fn centre(&self, cell: usize, x: Vector, depth: f64, ball: usize) -> Option<Centre> {
        let Ball { centre, radius } = self.balls[ball];
        let from = sub(x, centre);
        let length = norm(from);
        if length > 0.0 {
            let point = add(centre, scale(radius / length, from));
            if self.is_accessible(point) {
                return Some(Centre {
                    distance: depth,
                    point,
                    feature: Feature::Sphere(ball as u32),
                });
            }
        }
        self.nearest_arc(cell, x).map(|(nearest, i)| {
            let feature = match nearest.end {
                Some(end) => Feature::Point(i as u32, end),
                None => Feature::Circle(self.arcs[i].first),
            };
            Centre { distance: nearest.distance, point: nearest.point, feature }
        })
    }

    /// The arc next to a point, and its point.
    fn nearest_arc(&self, cell: usize, x: Vector) -> Option<(Nearest, usize)> {
        let off = self.cells.off_centre(x);
        let mut best: Option<(Nearest, usize)> = None;
        for &(i, at_centre) in self.cells.arcs.list(cell) {
            if best.is_some_and(|(best, _)| f64::from(at_centre) - off > best.distance) {
                break;
            }
            let nearest = self.arcs[i as usize].nearest(x);
            if best.is_none_or(|(best, _)| nearest.distance < best.distance) {
                best = Some((nearest, i as usize));
            }
        }
        best
    }

    /// The point where the surface of a ball is next to `x`, and the normal.
    fn on_ball(&self, ball: usize, x: Vector) -> Option<Foot> {
        let Ball { centre, radius } = self.balls[ball];
        let (_, normal) = direction(sub(x, centre))?;
        let point = add(centre, scale(radius - self.level, normal));
        Some(Foot { point, normal, feature: Feature::Sphere(ball as u32) })
    }

    /// [`Field::foot`] of a union of balls: the ball in which a point is deepest decides.
    fn foot_of_union(&self, x: Vector) -> Option<Foot> {
        let mut at = x;
        for _ in 0..STEPS {
            let cell = self.cells.cell(at)?;
            let (_, ball) = self.deepest(cell, at)?;
            let foot = self.on_ball(ball, at)?;
            if self.is_accessible(foot.point) {
                return Some(foot);
            }
            at = foot.point;
        }
        // Next to a circle, and on it at last.
        let cell = self.cells.cell(at)?;
        let (_, ball) = self.deepest(cell, at)?;
        let (nearest, _) = self.nearest_arc(cell, at)?;
        let foot = self.on_ball(ball, nearest.point)?;
        Some(Foot { point: nearest.point, ..foot })
    }
}

/// Length and direction of a vector that is not 0.
fn direction(from: Vector) -> Option<(f64, Vector)> {
    let length = norm(from);
    (length > 0.0).then(|| (length, scale(1.0 / length, from)))
}

impl Field for Offset {
    fn value(&self, x: Vector) -> f64 {
        let outside = -self.level - self.band;
        let Some(cell) = self.cells.cell(x) else {
            return outside;
        };
        match self.cells.place(cell) {
            Place::Outside => outside,
            Place::Deep => self.band,
            Place::Near => {
                let Some((depth, ball)) = self.deepest(cell, x) else {
                    return outside;
                };
                if depth <= 0.0 || depth - self.level > self.band {
                    return depth.min(self.level + self.band) - self.level;
                }
                let centre = self.centre(cell, x, depth, ball);
                centre.map_or(self.band, |c| (c.distance - self.level).min(self.band))
            }
        }
    }

    fn side(&self, centre: Vector, radius: f64) -> Option<bool> {
        // The grid has a margin around the balls.
        let cell = self.cells.cell(centre)?;
        let slack = radius + self.cells.half_diagonal();
        let depth = self.cells.depth(cell);
        match self.cells.place(cell) {
            Place::Outside => self.cells.is_clear(slack).then_some(false),
            _ if depth + slack < 0.0 => Some(false),
            Place::Deep => (depth - slack > self.level).then_some(true),
            Place::Near => {
                // Values are at most the distance to the surface.
                let value = self.value(centre);
                (value.abs() > radius).then_some(value > 0.0)
            }
        }
    }

    fn foot(&self, x: Vector) -> Option<Foot> {
        if self.level == 0.0 {
            return self.foot_of_union(x);
        }
        let mut at = x;
        let mut found: Option<Foot> = None;
        for _ in 0..STEPS {
            let cell = self.cells.cell(at)?;
            if self.cells.place(cell) != Place::Near {
                return None;
            }
            let (depth, ball) = self.deepest(cell, at)?;
            if depth <= 0.0 {
                at = self.on_ball(ball, at)?.point;
                continue;
            }
            // A sphere that is deepest at the point found on it has it as before.
            if let Some(foot) = found
                && foot.feature == Feature::Sphere(ball as u32)
            {
                return Some(foot);
            }
            let centre = self.centre(cell, at, depth, ball)?;
            if (centre.distance - self.level).abs() <= 0.5 * self.resolution() {
                let normal = match found {
                    // The direction that the point was found along has no rounding of its own.
                    Some(foot) if foot.feature == centre.feature => foot.normal,
                    _ => scale(1.0 / centre.distance, sub(centre.point, at)),
                };
                return Some(Foot { point: at, normal, feature: centre.feature });
            }
            if centre.distance.is_nan() || centre.distance <= 0.0 {
                return None;
            }
            let inward = scale(1.0 / centre.distance, sub(at, centre.point));
            at = add(centre.point, scale(self.level, inward));
            let foot = Foot { point: at, normal: scale(-1.0, inward), feature: centre.feature };
            // On the way to it the point of A that is nearest stays so.
            if centre.distance > self.level {
                return Some(foot);
            }
            found = Some(foot);
        }
        None
    }

    fn distance(&self, feature: Feature, x: Vector) -> Option<(f64, Vector)> {
        match feature {
            Feature::Sphere(ball) => {
                let Ball { centre, radius } = self.balls[ball as usize];
                let (length, out) = direction(sub(x, centre))?;
                Some((radius - length, scale(-1.0, out)))
            }
            Feature::Circle(arc) => {
                let Arc { centre, axis, radius, .. } = self.arcs[arc as usize];
                let from = sub(x, centre);
                let flat = sub(from, scale(dot(from, axis), axis));
                let (_, out) = direction(flat)?;
                direction(sub(from, scale(radius, out)))
            }
            Feature::Point(arc, end) => {
                direction(sub(x, self.arcs[arc as usize].ends[usize::from(end)]))
            }
            Feature::Smooth => None,
        }
    }

    fn meet(&self, features: &[Feature], x: Vector) -> Option<Vector> {
        let at = field::meet(self, features, self.level, x)?;
        // Of a union the circles are on the surface; others must not come before it.
        self.is_on(at).then_some(at)
    }

    /// Where a probe that rolls around two atoms cuts through their axis: the surface ends in two
    /// cones.
    fn tips(&self) -> Vec<Vector> {
        let mut tips = Vec::new();
        for arc in &self.arcs {
            let square = (self.level - arc.radius) * (self.level + arc.radius);
            if square > 0.0 && arc.cosine <= 0.0 {
                for sign in [-1.0, 1.0] {
                    let tip = add(arc.centre, scale(sign * square.sqrt(), arc.axis));
                    if self.is_on(tip) {
                        tips.push(tip);
                    }
                }
            }
        }
        tips
    }

    fn bounds(&self) -> [Vector; 2] {
        let smaller = |ball: &Ball| Ball { radius: ball.radius - self.level, ..*ball };
        bounding_box(self.balls.iter().map(smaller))
    }

    fn detail(&self) -> f64 {
        self.mean - self.level
    }

    fn curvature(&self, feature: Feature, x: Vector) -> f64 {
        match feature {
            Feature::Sphere(ball) => 1.0 / (self.balls[ball as usize].radius - self.level),
            Feature::Circle(arc) => {
                let Arc { centre, axis, radius, .. } = self.arcs[arc as usize];
                let from = sub(x, centre);
                let flat = norm(sub(from, scale(dot(from, axis), axis)));
                // The normal's part away from the axis, over the distance from it.
                let across = ((radius - flat) / self.level).abs() / flat;
                across.max(1.0 / self.level)
            }
            Feature::Point(..) => 1.0 / self.level,
            Feature::Smooth => 0.0,
        }
    }

    /// The curvature of the circle in which two spheres meet.
    fn bending(&self, pair: [Feature; 2]) -> f64 {
        let [Feature::Sphere(a), Feature::Sphere(b)] = pair else {
            return 0.0;
        };
        let [a, b] = [a, b].map(|ball| self.balls[ball as usize]);
        let (r, s) = (a.radius, b.radius);
        let distance = norm(sub(b.centre, a.centre));
        let along = 0.5 * (distance + (r - s) * (r + s) / distance);
        1.0 / ((r - along) * (r + along)).max(0.0).sqrt()
    }

    fn resolution(&self) -> f64 {
        ON * self.mean
    }
}
