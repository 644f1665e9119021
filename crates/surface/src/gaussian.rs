//! Gaussian surfaces: G(x) = sum exp(-decay (|x - a_i|^2 / r_i^2 - 1)) is 1 there.
//!
//! ln G over the length of its gradient is the distance to the surface, to first order.

use crate::balls::{Ball, bounding_box};
use crate::field::{Feature, Field, Foot};
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use simd::{COUNTED, Elementary, Level, MAX_LANES, Simd, Task};

/// Terms below this are left out, of sums that place points and of those that lead there.
const NEGLIGIBLE: f64 = 1e-13;
const ROUGH: f64 = 1e-6;

/// Points are on the surface if they are this near, relative to the mean radius.
const ON: f64 = 1e-9;

/// Steps by rough sums end at this one, and those by the others at one that leaves less than
/// [`ON`], relative to the mean radius: the next one is about the square.
const NEXT_TO: f64 = 1e-5;
const LAST: f64 = 1e-5;

/// Most cells of the grid.
const MOST: f64 = 1e7;

/// Steps of Newton's method.
const STEPS: usize = 40;

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
        let x = point.map(V::splat);
        let (mut total, mut gradient, mut second) = (V::zero(), [V::zero(); 3], [V::zero(); 6]);
        balls.for_vectors_near::<V>(point, balls.reach, |at, counts| {
            let from: [V; 3] = std::array::from_fn(|k| x[k].sub(V::load(&balls.centres[k][at..])));
            let rate = V::load(&balls.rates[at..]);
            let exponent = square(from).neg_mul_add(rate, V::splat(decay));
            let term = if balls.is_rough { exponent.rough_exp() } else { exponent.exp() };
            let term = counts(term);
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
        });
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

/// Between what the sum is at all points within a radius of another one.
struct Between<'a> {
    decay: f64,
    balls: &'a Sorted,
    centre: Vector,
    radius: f64,
}

impl Task<f64> for Between<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> [f64; 2] {
        let Between { decay, balls, centre, radius } = self;
        let x = centre.map(V::splat);
        let mut bounds = [V::zero(); 2];
        balls.for_vectors_near::<V>(centre, balls.reach + radius, |at, counts| {
            let from = std::array::from_fn(|k| x[k].sub(V::load(&balls.centres[k][at..])));
            let distance = square(from).sqrt();
            let rate = V::load(&balls.rates[at..]);
            let ends =
                [distance.add(V::splat(radius)), distance.sub(V::splat(radius)).max(V::zero())];
            for (bound, distance) in bounds.iter_mut().zip(ends) {
                let exponent = distance.mul(distance).neg_mul_add(rate, V::splat(decay));
                *bound = bound.add(counts(exponent.rough_exp()));
            }
        });
        bounds.map(V::quick_sum)
    }
}

#[inline(always)]
fn square<V: Simd>([x, y, z]: [V; 3]) -> V {
    z.mul_add(z, y.mul_add(y, x.mul(x)))
}

/// The balls by cells of a grid, columns of which along the last axis are in one piece: what sums
/// go over.
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
    is_rough: bool,
}

impl Sorted {
    fn new(balls: &[Ball], decay: f64, negligible: f64) -> Self {
        let [low, high] = bounding_box(balls.iter().map(|ball| Ball { radius: 0.0, ..*ball }));
        let extent = sub(high, low);
        let largest = balls.iter().map(|ball| ball.radius).fold(0.0, f64::max);
        let reach = largest * (1.0 - negligible.ln() / decay).sqrt();
        let mut side = reach;
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
        let order: Vec<usize> = order.into_iter().map(|(_, i)| i).collect();
        let centres = std::array::from_fn(|k| padded(&order, |i| balls[i].centre[k]));
        let rates = padded(&order, |i| decay / (balls[i].radius * balls[i].radius));
        let is_rough = negligible > NEGLIGIBLE;
        Self { low, side, count, starts, centres, rates, reach, is_rough }
    }

    /// The balls that matter within `radius` of a point, in one cell.
    fn near(&self, decay: f64, negligible: f64, centre: Vector, radius: f64) -> Self {
        /// Side of a cell that nothing is outside of.
        const EVERYWHERE: f64 = 1e100;
        let mut found = Vec::new();
        self.for_runs_near(centre, self.reach + radius, |first, end| {
            found.extend((first..end).filter(|&i| {
                let from: Vector = std::array::from_fn(|k| centre[k] - self.centres[k][i]);
                let reach = ((decay - negligible.ln()) / self.rates[i]).sqrt() + radius;
                dot(from, from) <= reach * reach
            }));
        });
        Self {
            low: [-0.5 * EVERYWHERE; 3],
            side: EVERYWHERE,
            count: [1; 3],
            starts: vec![0, found.len() as u32],
            centres: std::array::from_fn(|k| padded(&found, |i| self.centres[k][i])),
            rates: padded(&found, |i| self.rates[i]),
            reach: self.reach,
            is_rough: self.is_rough,
        }
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

    /// Calls `with` for vectors of balls, by the place of the first, that have all those within
    /// `reach` of a point; its second argument leaves zeros in lanes that are other cells'.
    #[inline(always)]
    fn for_vectors_near<V: Simd<Scalar = f64>>(
        &self,
        point: Vector,
        reach: f64,
        mut with: impl FnMut(usize, &dyn Fn(V) -> V),
    ) {
        let counted = V::load(&COUNTED);
        self.for_runs_near(point, reach, |mut at, end| {
            while at < end {
                let left = V::splat((end - at) as f64);
                with(at, &|x| left.where_above(counted, x, V::zero()));
                at += V::LANES;
            }
        });
    }

    /// Calls `with` for runs of balls, by their first and their end, that have all those within
    /// `reach` of a point.
    #[inline(always)]
    fn for_runs_near(&self, point: Vector, reach: f64, mut with: impl FnMut(usize, usize)) {
        for i in self.span(0, point[0], reach) {
            let across = self.gap(0, point[0], i).powi(2);
            for j in self.span(1, point[1], reach) {
                let rest = reach * reach - across - self.gap(1, point[1], j).powi(2);
                if rest < 0.0 {
                    continue;
                }
                let cells = self.span(2, point[2], rest.sqrt());
                if cells.is_empty() {
                    continue;
                }
                let row = (i * self.count[1] + j) * self.count[2];
                let [first, end] = [cells.start, cells.end].map(|cell| self.starts[row + cell]);
                with(first as usize, end as usize);
            }
        }
    }
}

/// Numbers by a list of places, and zeros behind them.
fn padded(places: &[usize], of: impl Fn(usize) -> f64) -> Vec<f64> {
    let own = places.iter().map(|&i| of(i));
    own.chain(std::iter::repeat_n(0.0, MAX_LANES)).collect()
}

/// The field of a sum of Gaussian functions.
pub struct Gaussian {
    balls: Vec<Ball>,
    decay: f64,
    /// Mean radius of the balls.
    pub mean: f64,
    precise: Sorted,
    rough: Sorted,
}

/// The sum at a point, its gradient and second derivatives, over the sum.
#[derive(Clone, Copy)]
struct Sum {
    logarithm: f64,
    gradient: Vector,
    second: [Vector; 3],
}

impl Sum {
    /// Length of the gradient, and the outward normal, against it; `None` if it vanishes.
    fn normal(&self) -> Option<(f64, Vector)> {
        let slope = norm(self.gradient);
        (slope > 0.0).then(|| (slope, scale(-1.0 / slope, self.gradient)))
    }
}

impl Gaussian {
    /// Of `balls`, with that `decay` of their terms.
    pub fn new(balls: Vec<Ball>, decay: f64) -> Self {
        let mean = balls.iter().map(|ball| ball.radius).sum::<f64>() / balls.len() as f64;
        let [precise, rough] = [NEGLIGIBLE, ROUGH].map(|least| Sorted::new(&balls, decay, least));
        Self { balls, decay, mean, precise, rough }
    }

    fn value_by(&self, balls: &Sorted, x: Vector) -> f64 {
        let Some(sum) = self.sum(balls, x, false) else {
            return -self.mean;
        };
        let slope = norm(sum.gradient).max(1e-3 / self.mean);
        (sum.logarithm / slope).clamp(-self.mean, self.mean)
    }

    /// The sum of the terms at a point, its gradient, and second derivatives xx, xy, xz, yy, yz,
    /// zz, by vectors of `level`.
    pub fn terms(&self, level: Level, x: Vector) -> (f64, Vector, [f64; 6]) {
        let (decay, balls) = (self.decay, &self.precise);
        simd::dispatch(level, Terms { decay, balls, x, with_second: true })
    }

    fn sum(&self, balls: &Sorted, x: Vector, with_second: bool) -> Option<Sum> {
        let terms = Terms { decay: self.decay, balls, x, with_second };
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
        self.value_by(&self.rough, x)
    }

    /// By the balls that matter to any of the points: lattices ask for points next to each other.
    fn values(&self, points: &[Vector], values: &mut Vec<f64>) {
        let [low, high] = bounding_box(points.iter().map(|&centre| Ball { centre, radius: 0.0 }));
        let (centre, radius) = (scale(0.5, add(low, high)), 0.5 * norm(sub(high, low)));
        let balls = self.rough.near(self.decay, ROUGH, centre, radius);
        values.clear();
        values.extend(points.iter().map(|x| self.value_by(&balls, *x)));
    }

    fn side(&self, centre: Vector, radius: f64) -> Option<bool> {
        let Self { decay, rough, .. } = self;
        let [least, most] = simd::run(Between { decay: *decay, balls: rough, centre, radius });
        // The omitted terms are far below the difference.
        if least > 1.0 { Some(true) } else { (most < 0.999).then_some(false) }
    }

    fn foot(&self, x: Vector) -> Option<Foot> {
        let mut at = x;
        let mut balls = &self.rough;
        let mut last = NEXT_TO;
        for _ in 0..STEPS {
            let sum = self.sum(balls, at, false)?;
            let (slope, normal) = sum.normal()?;
            let step = (sum.logarithm / slope).clamp(-self.mean, self.mean);
            at = add(at, scale(step, normal));
            if step.abs() <= last * self.mean {
                if std::ptr::eq(balls, &self.precise) {
                    return Some(Foot { point: at, normal, feature: Feature::Smooth });
                }
                (balls, last) = (&self.precise, LAST);
            }
        }
        None
    }

    fn bounds(&self) -> [Vector; 2] {
        // Where all atoms together, at one place, reach 1.
        let reach = (1.0 + (self.balls.len() as f64).ln() / self.decay).sqrt();
        let larger = |ball: &Ball| Ball { radius: reach * ball.radius, ..*ball };
        bounding_box(self.balls.iter().map(larger))
    }

    fn detail(&self) -> f64 {
        self.mean
    }

    /// The length of the second fundamental form: the second derivatives along the surface over the
    /// gradient.
    fn curvature(&self, _feature: Feature, x: Vector) -> f64 {
        let sum = self.sum(&self.rough, x, true);
        let Some((sum, (slope, normal))) = sum.and_then(|sum| Some((sum, sum.normal()?))) else {
            return 0.0;
        };
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
