//! The errors of truncated expansions of the Yukawa kernel, for every truncation number at once.
//!
//! There is no recurrence as for 1/r (module `series`), so a pair of points goes through the
//! translation itself, in a frame whose z-axis joins the boxes: O(p^3) for a pair. Raising the
//! truncation number from q to q + 1 adds the terms of which one degree is q and none is higher.

use super::sampling::Point;
use super::series::Sample;
use crate::expansions::coaxial::Coaxial;
use crate::expansions::harmonics::{Harmonics, Visit, cosine, parity, sine};
use crate::expansions::radial::{Radial, walk};
use crate::expansions::screened::{Screening, m2l};
use crate::expansions::screened_tables::ScreenedGradient;
use simd::{Simd, Task, scalars_mut};

/// What one class of translations needs.
#[derive(Debug)]
pub(super) struct Translation {
    p: usize,
    /// kappa times the side of the smaller box.
    kappa: f64,
    /// Sides of source and target in units of the smaller.
    sides: [f64; 2],
    coaxial: Coaxial<f64>,
    harmonics: Harmonics<f64>,
    gradient: ScreenedGradient,
    /// Of source and target.
    radial: [Radial<f64>; 2],
}

impl Translation {
    /// Up to truncation number `p`, between boxes whose sides are `sides` and whose centres are
    /// `distance` apart, in units of the smaller; `kappa`: that times the smaller side.
    pub(super) fn new(p: usize, kappa: f64, sides: [f64; 2], distance: f64) -> Self {
        Self {
            p,
            kappa,
            sides,
            coaxial: m2l(p, kappa, sides[0], sides[1], distance),
            harmonics: Harmonics::new(p),
            gradient: ScreenedGradient::new(p),
            radial: sides.map(|side| Radial::new(p, kappa * side)),
        }
    }
}

/// As [`errors`](super::series::errors), of `exp(-kappa r) / r`.
pub(super) struct Errors<'a> {
    pub(super) translation: &'a Translation,
    pub(super) pairs: &'a [Sample],
    /// At most the translation's.
    pub(super) p_max: usize,
    pub(super) gradient: bool,
    pub(super) dipoles: bool,
}

/// Harmonics of a vector of points, and their derivatives in a direction.
struct Expansion<V> {
    values: Vec<V>,
    slopes: Vec<V>,
}

struct Keep<'a, V>(&'a mut [V]);

impl<V: Simd> Visit<V, 1> for Keep<'_, V> {
    #[inline(always)]
    fn visit(&mut self, _: usize, place: usize, [harmonic]: [V; 1]) {
        self.0[place] = harmonic;
    }
}

impl<V: Simd<Scalar = f64>> Expansion<V> {
    fn new(p: usize) -> Self {
        Self { values: vec![V::zero(); p * p], slopes: vec![V::zero(); p * p] }
    }

    /// Of points in units of `side`, which is that of the source (0) or target (1), with
    /// derivatives in units of the smaller box if they are asked for.
    #[inline(always)]
    fn fill(
        &mut self,
        of: &Translation,
        which: usize,
        p: usize,
        point: [V; 3],
        direction: Option<[V; 3]>,
    ) {
        let (radial, side) = (&of.radial[which], of.sides[which]);
        walk(&of.harmonics, Some(radial), of.p, &point.map(|x| [x]), &mut Keep(&mut self.values));
        let Some(direction) = direction else { return };
        self.slopes.fill(V::zero());
        for (axis, direction) in direction.into_iter().enumerate() {
            let direction = direction.mul(V::splat(1.0 / side));
            for entry in of.gradient.within(p, axis) {
                let value = self.values[entry.column].mul(V::splat(radial.scaled(entry)));
                self.slopes[entry.row] = value.mul_add(direction, self.slopes[entry.row]);
            }
        }
    }
}

impl Task<f64> for Errors<'_> {
    type Output = Vec<[f64; 4]>;

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Vec<[f64; 4]> {
        let Self { translation, pairs, p_max: p, gradient, dipoles } = self;
        let mut sums = vec![[0.0; 4]; p + 1];
        let (mut target, mut source) =
            (Expansion::<V>::new(translation.p), Expansion::<V>::new(translation.p));
        let mut shells = vec![[V::zero(); 4]; p];
        for (block, pairs) in pairs.chunks(V::LANES).enumerate() {
            let mut lanes = Lanes::<V>::default();
            for lane in 0..V::LANES {
                // Lanes without a pair repeat the first with no weight.
                let weight = pairs.get(lane).map_or(0.0, |pair| pair.weight);
                let pair = pairs.get(lane).unwrap_or(&pairs[0]);
                // Directions along the axes of the frame in turn, the two independent.
                let turn = block * V::LANES + lane;
                let directions = [turn % 3, turn / 3 % 3];
                lanes.put(lane, translation, pair, weight, directions);
            }
            let directions = [dipoles, gradient].map(|asked| asked.then_some(()));
            source.fill(translation, 0, p, lanes.source, directions[0].map(|()| lanes.along[1]));
            target.fill(translation, 1, p, lanes.target, directions[1].map(|()| lanes.along[0]));
            translation.shells(gradient, dipoles, &target, &source, &mut shells);
            let mut rest = lanes.exact;
            for q in 0..=p {
                for i in 0..4 {
                    sums[q][i] += rest[i].mul(rest[i]).mul(lanes.weight).sum();
                    if q < p {
                        rest[i] = rest[i].sub(shells[q][i]);
                    }
                }
            }
        }
        let asked = [true, gradient, dipoles, gradient && dipoles];
        for sums in &mut sums {
            for (sum, asked) in sums.iter_mut().zip(asked) {
                *sum = if asked { *sum / pairs.len() as f64 } else { 0.0 };
            }
        }
        sums
    }
}

/// A vector of pairs, in the frame of their translation.
struct Lanes<V> {
    source: [V; 3],
    target: [V; 3],
    /// Directions of derivatives at the target and at the source.
    along: [[V; 3]; 2],
    exact: [V; 4],
    weight: V,
}

impl<V: Simd<Scalar = f64>> Default for Lanes<V> {
    fn default() -> Self {
        let zero = [V::zero(); 3];
        let along = [zero; 2];
        Self { source: zero, target: zero, along, exact: [V::zero(); 4], weight: V::zero() }
    }
}

impl<V: Simd<Scalar = f64>> Lanes<V> {
    fn put(
        &mut self,
        lane: usize,
        of: &Translation,
        pair: &Sample,
        weight: f64,
        directions: [usize; 2],
    ) {
        let frame = frame(&pair.distance);
        let turned = |x: &Point| -> Point { frame.map(|axis| dot(&axis, x)) };
        let (target, source) = (turned(&pair.target), turned(&pair.source));
        for i in 0..3 {
            scalars_mut(&mut self.target)[i * V::LANES + lane] = target[i] / of.sides[1];
            scalars_mut(&mut self.source)[i * V::LANES + lane] = source[i] / of.sides[0];
            for (along, direction) in self.along.iter_mut().zip(directions) {
                scalars_mut(along)[i * V::LANES + lane] = if direction == i { 1.0 } else { 0.0 };
            }
        }
        let length = dot(&pair.distance, &pair.distance).sqrt();
        let offset = [0.0, 0.0, length];
        let r: Point = std::array::from_fn(|i| offset[i] + target[i] - source[i]);
        let exact = exact(of.kappa, &r, directions);
        for i in 0..4 {
            scalars_mut(&mut self.exact)[i * V::LANES + lane] = exact[i];
        }
        scalars_mut(std::slice::from_mut(&mut self.weight))[lane] = weight;
    }
}

/// `exp(-kappa r) / r`, its derivatives along axis `u` at the target, along axis `v` at the source,
/// and both.
fn exact(kappa: f64, r: &Point, [u, v]: [usize; 2]) -> [f64; 4] {
    let [potential, first, second] = Screening { root: kappa }.slopes(dot(r, r).sqrt());
    let same = if u == v { first } else { 0.0 };
    [potential, -first * r[u], first * r[v], same - second * r[u] * r[v]]
}

fn dot(a: &Point, b: &Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The axes of a frame whose z-axis points along `d`.
fn frame(d: &Point) -> [Point; 3] {
    let length = dot(d, d).sqrt();
    let z = d.map(|c| c / length);
    // Across the axis that z is farthest from.
    let least = (0..3).fold(0, |least, i| if z[i].abs() < z[least].abs() { i } else { least });
    let mut x = z.map(|c| -c * z[least]);
    x[least] += 1.0;
    let length = dot(&x, &x).sqrt();
    let x = x.map(|c| c / length);
    let y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]];
    [x, y, z]
}

impl Translation {
    /// What raising the truncation number from q to q + 1 adds, for every q below `shells.len()`.
    #[inline(always)]
    fn shells<V: Simd<Scalar = f64>>(
        &self,
        gradient: bool,
        dipoles: bool,
        target: &Expansion<V>,
        source: &Expansion<V>,
        shells: &mut [[V; 4]],
    ) {
        shells.fill([V::zero(); 4]);
        let p = shells.len();
        for m in 0..p {
            let (matrix, stride) = self.coaxial.matrix(m);
            // The table carries the sign of the way back of a rotation.
            let sign = V::splat(parity(m) / self.sides[1]);
            let sines: &[bool] = if m > 0 { &[false, true] } else { &[false] };
            for &is_sine in sines {
                let place = |n: usize| if is_sine { sine(n, m) } else { cosine(n, m) };
                for s in m..p {
                    // Row s up to the diagonal, column s above it.
                    let mut row = [V::zero(); 2];
                    let mut column = [V::zero(); 2];
                    for k in m..=s {
                        let entry = V::splat(matrix[(s - m) * stride + k - m]);
                        row[0] = entry.mul_add(source.values[place(k)], row[0]);
                        if dipoles {
                            row[1] = entry.mul_add(source.slopes[place(k)], row[1]);
                        }
                    }
                    for n in m..s {
                        let entry = V::splat(matrix[(n - m) * stride + s - m]);
                        column[0] = entry.mul_add(target.values[place(n)], column[0]);
                        if gradient {
                            column[1] = entry.mul_add(target.slopes[place(n)], column[1]);
                        }
                    }
                    let at = [target.values[place(s)], target.slopes[place(s)]];
                    let from = [source.values[place(s)], source.slopes[place(s)]];
                    for (i, shell) in shells[s].iter_mut().enumerate() {
                        let (t, f) = (i & 1, i >> 1);
                        let sum = at[t].mul_add(row[f], column[t].mul(from[f]));
                        *shell = sum.mul_add(sign, *shell);
                    }
                }
            }
        }
    }
}
