//! Sums of 1/|x - y| and its normal derivatives over the points of rules on two curved panels.

use simd::{Elementary, Simd, Task};

use crate::geometry::patch::{Patch, Tangents};
use crate::quadrature::modes::MODES;
use crate::quadrature::rule::Rule;

/// The points of a rule on a curved panel, padded to whole vectors.
#[derive(Debug)]
pub(crate) struct Points {
    rule: &'static Rule,
    /// Coordinate by coordinate, then the normals, if there are any.
    values: Vec<f64>,
}

impl Points {
    /// On a patch; if its tangents are given, with normals, whose length is the area per unit of
    /// parameters.
    pub(crate) fn on_patch(
        rule: &'static Rule,
        patch: &Patch,
        tangents: Option<&Tangents>,
    ) -> Self {
        let rows = if tangents.is_some() { 6 } else { 3 };
        let mut points = Self { rule, values: vec![0.0; rows * rule.weights.len()] };
        simd::run(OnPatch { points: &mut points, patch, tangents });
        points
    }

    pub(crate) fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// The points from `at` on, one per lane.
    #[inline(always)]
    pub(crate) fn lanes<V: Elementary>(&self, at: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::load(&self.values[k * n + at..]);
        [row(0), row(1), row(2)]
    }

    /// The normals there.
    #[inline(always)]
    pub(crate) fn normals<V: Elementary>(&self, at: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::load(&self.values[k * n + at..]);
        [row(3), row(4), row(5)]
    }

    /// A point in all lanes.
    #[inline(always)]
    pub(crate) fn splat<V: Elementary>(&self, at: usize) -> [V; 3] {
        self.splat_from(at, 0)
    }

    /// Three values of a point in all lanes: its coordinates, or from 3 on those of the normal.
    #[inline(always)]
    fn splat_from<V: Elementary>(&self, at: usize, first: usize) -> [V; 3] {
        let n = self.rule.weights.len();
        let row = |k: usize| V::splat(self.values[(first + k) * n + at]);
        [row(0), row(1), row(2)]
    }
}

struct OnPatch<'a> {
    points: &'a mut Points,
    patch: &'a Patch,
    tangents: Option<&'a Tangents>,
}

impl Task<f64> for OnPatch<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let Self { points, patch, tangents } = self;
        let [_, s, t] = &points.rule.barycentric;
        for at in (0..s.len()).step_by(V::LANES) {
            let (u, v) = (V::load(&s[at..]), V::load(&t[at..]));
            let x = patch.lanes(u, v);
            for axis in 0..3 {
                x[axis].store(&mut points.values[axis * s.len() + at..]);
            }
            if let Some(tangents) = tangents {
                let normal = tangents.normals(patch.order(), u, v);
                for axis in 0..3 {
                    normal[axis].store(&mut points.values[(axis + 3) * s.len() + at..]);
                }
            }
        }
    }
}

/// [`between_modes`](super::sums::between_modes) with k(r) = 1/|r|.
pub(crate) fn potentials(first: &Points, second: &Points) -> [[f64; MODES]; MODES] {
    simd::run(Potentials { first, second })
}

/// As [`potentials`], for normal derivatives: k = -n_x . r / |r|^3 tested on the first, and
/// k = n_y . r / |r|^3 tested on the second, each of shape (modes of the tested, modes of the
/// other). Both must have normals.
pub(crate) fn fields(first: &Points, second: &Points) -> [[[f64; MODES]; MODES]; 2] {
    simd::run(Fields { first, second })
}

struct Potentials<'a> {
    first: &'a Points,
    second: &'a Points,
}

struct Fields<'a> {
    first: &'a Points,
    second: &'a Points,
}

#[inline(always)]
fn dot<V: Elementary>(a: &[V; 3], b: &[V; 3]) -> V {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2].mul(b[2])))
}

impl Task<f64> for Potentials<'_> {
    type Output = [[f64; MODES]; MODES];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { first, second } = self;
        let mut total = [[V::zero(); MODES]; MODES];
        for at in (0..second.rule.weights.len()).step_by(V::LANES) {
            let y = second.lanes::<V>(at);
            let mut sums = [V::zero(); MODES];
            for p in 0..first.rule.len() {
                let x = first.splat::<V>(p);
                let d = [x[0].sub(y[0]), x[1].sub(y[1]), x[2].sub(y[2])];
                let value = dot(&d, &d).rsqrt_or_zero();
                for m in 0..MODES {
                    sums[m] = V::splat(first.rule.modes[m][p]).mul_add(value, sums[m]);
                }
            }
            for m in 0..MODES {
                for l in 0..MODES {
                    total[m][l] =
                        V::load(&second.rule.modes[l][at..]).mul_add(sums[m], total[m][l]);
                }
            }
        }
        summed(&total)
    }
}

impl Task<f64> for Fields<'_> {
    type Output = [[[f64; MODES]; MODES]; 2];

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let Self { first, second } = self;
        let (mut forth, mut back) = ([[V::zero(); MODES]; MODES], [[V::zero(); MODES]; MODES]);
        for at in (0..second.rule.weights.len()).step_by(V::LANES) {
            let (y, of_second) = (second.lanes::<V>(at), second.normals::<V>(at));
            let (mut from, mut to) = ([V::zero(); MODES], [V::zero(); MODES]);
            for p in 0..first.rule.len() {
                let (x, normal) = (first.splat::<V>(p), first.splat_from::<V>(p, 3));
                // From x to y.
                let d = [y[0].sub(x[0]), y[1].sub(x[1]), y[2].sub(x[2])];
                let inverse = dot(&d, &d).rsqrt_or_zero();
                let cubed = inverse.mul(inverse).mul(inverse);
                let at_first = dot(&normal, &d).mul(cubed);
                let at_second = dot(&of_second, &d).mul(cubed);
                for m in 0..MODES {
                    let mode = V::splat(first.rule.modes[m][p]);
                    from[m] = mode.mul_add(at_first, from[m]);
                    to[m] = mode.mul_add(at_second, to[m]);
                }
            }
            for l in 0..MODES {
                let mode = V::load(&second.rule.modes[l][at..]);
                for m in 0..MODES {
                    forth[m][l] = mode.mul_add(from[m], forth[m][l]);
                    back[l][m] = mode.mul_add(V::zero().sub(to[m]), back[l][m]);
                }
            }
        }
        [summed(&forth), summed(&back)]
    }
}

#[inline(always)]
fn summed<V: Simd<Scalar = f64>>(lanes: &[[V; MODES]; MODES]) -> [[f64; MODES]; MODES] {
    let mut sums = [[0.0; MODES]; MODES];
    for m in 0..MODES {
        for l in 0..MODES {
            sums[m][l] = lanes[m][l].sum();
        }
    }
    sums
}
