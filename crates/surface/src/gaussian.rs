//! Gaussian surfaces: G(x) = sum exp(-decay (|x - a_i|^2 / r_i^2 - 1)) is 1 there.
//!
//! ln G over the length of its gradient is the distance to the surface, to first order.

use crate::balls::Ball;
use crate::field::{Feature, Field, Foot};
use mesh::vector::{Vector, add, dot, norm, scale, sub};

/// Terms below this are left out.
const NEGLIGIBLE: f64 = 1e-13;

/// Points are on the surface if they are this near, relative to the mean radius.
const ON: f64 = 1e-9;

/// Most cells of the grid.
const MOST: f64 = 1e7;

/// Steps of Newton's method.
const STEPS: usize = 40;

/// Blocks of the lattice have smaller radii than this, relative to the mean radius.
const REACH: f64 = 1.7;

/// The field of a sum of Gaussian functions.
pub(crate) struct Gaussian {
    balls: Vec<Ball>,
    decay: f64,
    mean: f64,
    /// Distance over radius from which on terms are left out.
    cutoff: f64,
    low: Vector,
    side: f64,
    count: [usize; 3],
    starts: Vec<u32>,
    members: Vec<u32>,
}

/// The sum at a point, its gradient and second derivatives, over the sum.
struct Sum {
    logarithm: f64,
    gradient: Vector,
    second: [Vector; 3],
}

impl Gaussian {
    pub fn new(balls: Vec<Ball>, decay: f64) -> Self {
        let mean = balls.iter().map(|ball| ball.radius).sum::<f64>() / balls.len() as f64;
        let cutoff = (1.0 - NEGLIGIBLE.ln() / decay).sqrt();
        let reach = |ball: &Ball| cutoff * ball.radius + REACH * mean;
        let end = |k: usize, sign: f64| {
            let of = |ball: &Ball| sign * ball.centre[k] + reach(ball);
            sign * balls.iter().map(of).fold(f64::MIN, f64::max)
        };
        let low: Vector = std::array::from_fn(|k| end(k, -1.0));
        let extent: Vector = std::array::from_fn(|k| end(k, 1.0) - low[k]);
        let mut side = mean;
        while extent.iter().map(|x| (x / side).ceil()).product::<f64>() > MOST {
            side *= 1.2;
        }
        let count = extent.map(|x| (x / side).ceil().max(1.0) as usize);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (i, ball) in balls.iter().enumerate() {
            let span: [[usize; 2]; 3] = std::array::from_fn(|k| {
                let at = |sign: f64| (ball.centre[k] + sign * reach(ball) - low[k]) / side;
                [at(-1.0).max(0.0) as usize, (at(1.0) as usize).min(count[k] - 1)]
            });
            for z in span[2][0]..=span[2][1] {
                for y in span[1][0]..=span[1][1] {
                    for x in span[0][0]..=span[0][1] {
                        pairs.push(((x + count[0] * (y + count[1] * z)) as u32, i as u32));
                    }
                }
            }
        }
        let mut starts = vec![0u32; count.iter().product::<usize>() + 1];
        pairs.iter().for_each(|(cell, _)| starts[*cell as usize + 1] += 1);
        (1..starts.len()).for_each(|cell| starts[cell] += starts[cell - 1]);
        let mut next = starts.clone();
        let mut members = vec![0; pairs.len()];
        for (cell, i) in pairs {
            members[next[cell as usize] as usize] = i;
            next[cell as usize] += 1;
        }
        Self { balls, decay, mean, cutoff, low, side, count, starts, members }
    }

    /// The balls that matter at a point, and elsewhere within the reach of a block.
    fn near(&self, x: Vector) -> &[u32] {
        let mut cell = 0;
        for k in (0..3).rev() {
            let index = (x[k] - self.low[k]) / self.side;
            if !(index >= 0.0 && index < self.count[k] as f64) {
                return &[];
            }
            cell = cell * self.count[k] + index as usize;
        }
        &self.members[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    fn sum(&self, x: Vector, with_second: bool) -> Option<Sum> {
        let (mut total, mut gradient, mut second) = (0.0, [0.0; 3], [[0.0; 3]; 3]);
        for &i in self.near(x) {
            let Ball { centre, radius } = self.balls[i as usize];
            let from = sub(x, centre);
            let share = dot(from, from) / (radius * radius);
            if share > self.cutoff * self.cutoff {
                continue;
            }
            let term = (self.decay * (1.0 - share)).exp();
            let factor = -2.0 * self.decay / (radius * radius);
            total += term;
            gradient = add(gradient, scale(factor * term, from));
            if with_second {
                for k in 0..3 {
                    second[k] = add(second[k], scale(factor * factor * term * from[k], from));
                    second[k][k] += factor * term;
                }
            }
        }
        (total > 0.0).then(|| Sum {
            logarithm: total.ln(),
            gradient: scale(1.0 / total, gradient),
            second: second.map(|row| scale(1.0 / total, row)),
        })
    }
}

impl Field for Gaussian {
    fn value(&self, x: Vector) -> f64 {
        let Some(sum) = self.sum(x, false) else {
            return -self.mean;
        };
        let slope = norm(sum.gradient).max(1e-3 / self.mean);
        (sum.logarithm / slope).clamp(-self.mean, self.mean)
    }

    fn side(&self, centre: Vector, radius: f64) -> Option<bool> {
        let (mut least, mut most) = (0.0, 0.0);
        for &i in self.near(centre) {
            let ball = &self.balls[i as usize];
            let distance = norm(sub(centre, ball.centre));
            let term = |distance: f64| {
                let share = distance / ball.radius;
                (self.decay * (1.0 - share * share)).exp()
            };
            least += term(distance + radius);
            most += term((distance - radius).max(0.0));
        }
        // What is left out is far below the difference.
        if least > 1.0 { Some(true) } else { (most < 0.999).then_some(false) }
    }

    fn foot(&self, x: Vector) -> Option<Foot> {
        let mut at = x;
        for _ in 0..STEPS {
            let sum = self.sum(at, false)?;
            let slope = norm(sum.gradient);
            if slope.is_nan() || slope <= 0.0 {
                return None;
            }
            let normal = scale(-1.0 / slope, sum.gradient);
            let step = (sum.logarithm / slope).clamp(-self.mean, self.mean);
            if step.abs() <= 0.1 * self.resolution() {
                return Some(Foot { point: at, normal, feature: Feature::Smooth });
            }
            at = add(at, scale(step, normal));
        }
        None
    }

    fn distance(&self, _feature: Feature, _x: Vector) -> Option<(f64, Vector)> {
        None
    }

    fn meet(&self, _features: &[Feature], _x: Vector) -> Option<Vector> {
        None
    }

    fn bounds(&self) -> [Vector; 2] {
        // Where all atoms together, at one place, reach 1.
        let reach = (1.0 + (self.balls.len() as f64).ln() / self.decay).sqrt();
        let end = |k: usize, sign: f64| {
            let of = |ball: &Ball| sign * ball.centre[k] + reach * ball.radius;
            sign * self.balls.iter().map(of).fold(f64::MIN, f64::max)
        };
        [std::array::from_fn(|k| end(k, -1.0)), std::array::from_fn(|k| end(k, 1.0))]
    }

    fn detail(&self) -> f64 {
        self.mean
    }

    /// The length of the second fundamental form: the second derivatives along the surface over the
    /// gradient.
    fn curvature(&self, _feature: Feature, x: Vector) -> f64 {
        let Some(sum) = self.sum(x, true) else {
            return 0.0;
        };
        let slope = norm(sum.gradient);
        if slope.is_nan() || slope <= 0.0 {
            return 0.0;
        }
        let normal = scale(1.0 / slope, sum.gradient);
        let [u, v] = crate::arcs::frame(normal);
        let apply = |x: Vector, y: Vector| {
            let image: Vector = std::array::from_fn(|k| dot(sum.second[k], x));
            dot(image, y) / slope
        };
        let (a, b, c) = (apply(u, u), apply(v, v), apply(u, v));
        // The larger eigenvalue.
        (0.5 * (a + b)).abs() + (0.25 * (a - b) * (a - b) + c * c).sqrt()
    }

    fn resolution(&self) -> f64 {
        ON * self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_atom_has_its_own_sphere() {
        let field = Gaussian::new(vec![Ball { centre: [0.3, 0.2, 0.1], radius: 1.7 }], 2.3);
        let foot = field.foot([1.5, 1.0, 0.5]).unwrap();
        assert!((norm(sub(foot.point, [0.3, 0.2, 0.1])) - 1.7).abs() < 1e-9);
        assert!((field.curvature(Feature::Smooth, foot.point) - 1.0 / 1.7).abs() < 1e-9);
        let step = add(foot.point, scale(-1e-4, foot.normal));
        assert!((field.value(step) - 1e-4).abs() < 1e-7);
    }

    #[test]
    fn blocks_with_surface_are_not_passed_over() {
        let balls = [[0.0, 0.0, 0.0], [1.4, 0.3, 0.0], [0.2, 2.9, 0.5]];
        let balls = balls.map(|centre| Ball { centre, radius: 1.5 }).to_vec();
        let field = Gaussian::new(balls, 2.3);
        for k in 0..2000 {
            let t = k as f64;
            let x = [4.0 * (1.3 * t).sin(), 4.0 * (2.1 * t).cos(), 4.0 * (0.7 * t).sin()];
            let near = [0.9, 0.4, -0.3].map(|s| s * (3.0 * t).sin());
            let other = add(x, near);
            if let Some(inside) = field.side(x, norm(near)) {
                assert_eq!([field.value(x) > 0.0, field.value(other) > 0.0], [inside; 2]);
            }
        }
    }
}
