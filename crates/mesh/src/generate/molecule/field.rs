//! The field whose zero is the surface: the logarithm of a sum of Gaussians.

use super::Ball;
use crate::vector::{Vector, add, dot, scale, sub};
use std::collections::HashMap;

/// A Gaussian is left out where it is below this.
const NEGLIGIBLE: f64 = 1e-7;

/// The field far from all balls, instead of minus infinity.
pub(super) const FAR: f64 = -50.0;

/// g(x) = ln sum_i exp(decay (1 - |x - c_i|^2 / r_i^2)): positive inside.
pub(super) struct Field {
    balls: Vec<Ball>,
    decay: f64,
    /// No ball is felt further away than this.
    reach: f64,
    /// Balls by cells of the size of the reach.
    cells: HashMap<[i64; 3], Vec<u32>>,
}

impl Field {
    pub fn new(balls: &[Ball], decay: f64) -> Self {
        let largest = balls.iter().map(|ball| ball.radius).fold(0.0, f64::max);
        let reach = largest * range(decay);
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        for (index, ball) in (0..).zip(balls) {
            cells.entry(cell(ball.centre, reach)).or_default().push(index);
        }
        Self { balls: balls.to_vec(), decay, reach, cells }
    }

    pub fn balls(&self) -> &[Ball] {
        &self.balls
    }

    /// How far away a ball is felt.
    pub fn range(&self, ball: &Ball) -> f64 {
        ball.radius * range(self.decay)
    }

    /// A ball's Gaussian at a squared distance from its centre.
    pub fn gaussian(&self, ball: &Ball, squared: f64) -> f64 {
        (self.decay * (1.0 - squared / (ball.radius * ball.radius))).exp()
    }

    /// g and its gradient.
    pub fn value(&self, point: Vector) -> (f64, Vector) {
        let (mut sum, mut gradient) = (0.0, [0.0; 3]);
        let middle = cell(point, self.reach);
        for dx in -1..=1 {
            for dy in -1..=1 {
                for dz in -1..=1 {
                    let key = [middle[0] + dx, middle[1] + dy, middle[2] + dz];
                    for &index in self.cells.get(&key).into_iter().flatten() {
                        let ball = &self.balls[index as usize];
                        let off = sub(point, ball.centre);
                        let value = self.gaussian(ball, dot(off, off));
                        sum += value;
                        let slope = -2.0 * self.decay / (ball.radius * ball.radius);
                        gradient = add(gradient, scale(slope * value, off));
                    }
                }
            }
        }
        if sum > 0.0 { (sum.ln(), scale(1.0 / sum, gradient)) } else { (FAR, [0.0; 3]) }
    }

    /// The direction out of the molecule, of any length.
    pub fn outward(&self, point: Vector) -> Vector {
        scale(-1.0, self.value(point).1)
    }

    /// The point of the surface next to `point`, which is near it: Newton's method along the gradient, in steps of at most
    /// `longest`.
    pub fn project(&self, mut point: Vector, longest: f64) -> Vector {
        for _ in 0..4 {
            let (value, gradient) = self.value(point);
            let squared = dot(gradient, gradient);
            if squared == 0.0 {
                break;
            }
            let step = value / squared;
            let length = step.abs() * squared.sqrt();
            let shortened = if length > longest { longest / length } else { 1.0 };
            point = sub(point, scale(step * shortened, gradient));
            if length < 1e-9 * longest {
                break;
            }
        }
        point
    }
}

/// Radii at which a Gaussian becomes negligible.
fn range(decay: f64) -> f64 {
    (1.0 - NEGLIGIBLE.ln() / decay).sqrt()
}

fn cell(point: Vector, size: f64) -> [i64; 3] {
    point.map(|x| (x / size).floor() as i64)
}
