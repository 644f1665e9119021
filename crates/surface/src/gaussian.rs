//! Gaussian surfaces: G(x) = sum exp(-decay (|x - a_i|^2 / r_i^2 - 1)) is 1 there.
//!
//! ln G over the length of its gradient is the distance to the surface, to first order.

use crate::balls::Ball;
use crate::field::{Feature, Field, Foot};
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use simd::{COUNTED, Elementary, MAX_LANES, Simd, Task};

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

/// Side of the cells that sums go over, relative to the reach of terms.
const OF_REACH: f64 = 0.5;

/// The terms at a point, their gradients and second derivatives, summed by vectors.
struct Terms<'a> {
    decay: f64,
    balls: &'a Sorted,
    x: Vector,
    with_second: bool,
}

impl Task<f64> for Terms<'_> {
    /// The sum, its gradient, and second derivatives xx, xy, xz, yy, yz, zz, if they are wanted.
    type Output = (f64, Vector, [f64; 6]);

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Terms { decay, balls, x: point, with_second } = self;
        let Sorted { centres, rates, reach, .. } = balls;
        let x = point.map(V::splat);
        let counted = V::load(&COUNTED);
        let (mut total, mut gradient, mut second) = (V::zero(), [V::zero(); 3], [V::zero(); 6]);
        for i in balls.span(0, point[0], *reach) {
            let across = balls.gap(0, point[0], i).powi(2);
            for j in balls.span(1, point[1], *reach) {
                let rest = reach * reach - across - balls.gap(1, point[1], j).powi(2);
                if rest < 0.0 {
                    continue;
                }
                let cells = balls.span(2, point[2], rest.sqrt());
                if cells.is_empty() {
                    continue;
                }
                let row = (i * balls.count[1] + j) * balls.count[2];
                let mut at = balls.starts[row + cells.start] as usize;
                let end = balls.starts[row + cells.end] as usize;
                while at < end {
                    let mut from = [V::zero(); 3];
                    let mut square = V::zero();
                    for k in 0..3 {
                        from[k] = x[k].sub(V::load(&centres[k][at..]));
                        square = from[k].mul_add(from[k], square);
                    }
                    let rate = V::load(&rates[at..]);
                    let term = square.neg_mul_add(rate, V::splat(decay)).exp();
                    // Lanes past the end are other cells'.
                    let left = V::splat((end - at) as f64);
                    let term = left.where_above(counted, term, V::zero());
                    let factor = rate.mul(V::splat(-2.0));
                    let slope = factor.mul(term);
                    total = total.add(term);
                    for k in 0..3 {
                        gradient[k] = slope.mul_add(from[k], gradient[k]);
                    }
                    if with_second {
                        let steep = slope.mul(factor);
                        let mut place = 0;
                        for k in 0..3 {
                            let own = steep.mul(from[k]);
                            for l in k..3 {
                                second[place] = own.mul_add(from[l], second[place]);
                                if k == l {
                                    second[place] = second[place].add(slope);
                                }
                                place += 1;
                            }
                        }
                    }
                    at += V::LANES;
                }
            }
        }
        let mut sums = ([0.0; 3], [0.0; 6]);
        for k in 0..3 {
            sums.0[k] = gradient[k].quick_sum();
        }
        for k in 0..6 {
            sums.1[k] = second[k].quick_sum();
        }
        (total.quick_sum(), sums.0, sums.1)
    }
}

/// The field of a sum of Gaussian functions.
pub(crate) struct Gaussian {
    balls: Vec<Ball>,
    decay: f64,
    mean: f64,
    low: Vector,
    side: f64,
    count: [usize; 3],
    starts: Vec<u32>,
    members: Vec<u32>,
    sorted: Sorted,
}

/// The balls by cells of another grid, columns of which along the last axis are in one piece: what
/// sums go over.
struct Sorted {
    low: Vector,
    side: f64,
    count: [usize; 3],
    /// Where the balls of each cell begin.
    starts: Vec<u32>,
    /// Coordinates of the centres and decay / radius^2, each with [`MAX_LANES`] zeros at the end.
    centres: [Vec<f64>; 3],
    rates: Vec<f64>,
    /// Within which terms matter.
    reach: f64,
}

impl Sorted {
    fn new(balls: &[Ball], decay: f64, cutoff: f64) -> Self {
        let end = |k: usize, sign: f64| {
            sign * balls.iter().map(|ball| sign * ball.centre[k]).fold(f64::MIN, f64::max)
        };
        let low: Vector = std::array::from_fn(|k| end(k, -1.0));
        let extent: Vector = std::array::from_fn(|k| end(k, 1.0) - low[k]);
        let reach = cutoff * balls.iter().map(|ball| ball.radius).fold(0.0, f64::max);
        let mut side = OF_REACH * reach;
        while extent.iter().map(|x| (x / side).floor() + 1.0).product::<f64>() > MOST {
            side *= 1.2;
        }
        let count = extent.map(|x| (x / side) as usize + 1);
        let cell = |ball: &Ball| {
            let at = |k: usize| (((ball.centre[k] - low[k]) / side) as usize).min(count[k] - 1);
            (at(0) * count[1] + at(1)) * count[2] + at(2)
        };
        let mut order: Vec<(usize, usize)> =
            balls.iter().enumerate().map(|(i, ball)| (cell(ball), i)).collect();
        order.sort_unstable();
        let mut starts = vec![0u32; count.iter().product::<usize>() + 1];
        order.iter().for_each(|(cell, _)| starts[cell + 1] += 1);
        (1..starts.len()).for_each(|cell| starts[cell] += starts[cell - 1]);
        let padded = |of: &dyn Fn(&Ball) -> f64| {
            let own = order.iter().map(|&(_, i)| of(&balls[i]));
            own.chain(std::iter::repeat_n(0.0, MAX_LANES)).collect()
        };
        let centres = std::array::from_fn(|k| padded(&|ball| ball.centre[k]));
        let rates = padded(&|ball| decay / (ball.radius * ball.radius));
        Self { low, side, count, starts, centres, rates, reach }
    }

    /// Cells along an axis that may have balls within `reach` of a coordinate.
    fn span(&self, k: usize, x: f64, reach: f64) -> std::ops::Range<usize> {
        let at = |x: f64| ((x - self.low[k]) / self.side).max(-1.0) + 1.0;
        let [begin, end] = [at(x - reach), at(x + reach)].map(|x| x as usize);
        begin.saturating_sub(1)..end.min(self.count[k])
    }

    /// Distance along an axis from a coordinate to a layer of cells.
    fn gap(&self, k: usize, x: f64, cell: usize) -> f64 {
        let low = self.low[k] + cell as f64 * self.side;
        (low - x).max(x - low - self.side).max(0.0)
    }
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
        // Distance over radius from which on terms are left out.
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
        let sorted = Sorted::new(&balls, decay, cutoff);
        Self { balls, decay, mean, low, side, count, starts, members, sorted }
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
        let terms = Terms { decay: self.decay, balls: &self.sorted, x, with_second };
        let (total, gradient, [xx, xy, xz, yy, yz, zz]) = simd::run(terms);
        let second = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
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
    fn every_level_sums_the_terms() {
        let at = |k: usize| {
            let t = k as f64;
            [9.0 * (1.7 * t).sin(), 7.0 * (2.3 * t).cos(), 5.0 * (0.9 * t).sin()]
        };
        let balls: Vec<Ball> =
            (0..150).map(|k| Ball { centre: at(k), radius: 1.0 + 0.01 * k as f64 }).collect();
        let field = Gaussian::new(balls.clone(), 2.3);
        for k in 0..200 {
            let x = scale(1.4, at(1000 + k));
            let (mut total, mut gradient, mut second) = (0.0, [0.0; 3], [0.0; 6]);
            for Ball { centre, radius } in &balls {
                let (from, rate) = (sub(x, *centre), 2.3 / (radius * radius));
                let term = (2.3 - rate * dot(from, from)).exp();
                total += term;
                gradient = add(gradient, scale(-2.0 * rate * term, from));
                let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
                for (sum, (i, j)) in second.iter_mut().zip(pairs) {
                    *sum += 4.0 * rate * rate * term * from[i] * from[j];
                    *sum -= if i == j { 2.0 * rate * term } else { 0.0 };
                }
            }
            for level in simd::Level::available() {
                let terms = Terms { decay: 2.3, balls: &field.sorted, x, with_second: true };
                let found = simd::dispatch(level, terms);
                assert!((found.0 - total).abs() <= 1e-12 * total + 1e-11, "{level:?}");
                let close = |a: &[f64], b: &[f64]| {
                    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs() + 3e-11)
                };
                assert!(close(&found.1, &gradient) && close(&found.2, &second), "{level:?}");
            }
        }
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
