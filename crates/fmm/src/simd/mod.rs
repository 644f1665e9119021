//! Vectors of floating-point lanes, chosen at run time.
//!
//! Every hot loop is written once, generic over `Simd`, as a `Task`; `Real::dispatch` runs it with the widest vectors that the
//! processor at hand has, or those that [`VARIABLE`] names. The scalar implementation (`Simd` for one lane) is the twin that tests compare with.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
pub(crate) use scalar::One;

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::Error;
use crate::product::{Lanes, Matrix};

/// Environment variable that chooses an instruction set: `baseline`, `avx2` or `avx512`.
pub const VARIABLE: &str = "FARAD_SIMD";

/// The scalar types of the FMM.
pub(crate) trait Real:
    Copy
    + Send
    + Sync
    + Default
    + PartialOrd
    + std::fmt::Debug
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
    + 'static
{
    /// Which format this is.
    const PRECISION: crate::Precision;
    /// Known before code is made, so that what only double precision needs is made for it alone.
    const IS_SINGLE: bool = matches!(Self::PRECISION, crate::Precision::Single);
    /// Scalars in 64 bytes: expansions are padded to whole cache lines, which every vector width divides.
    const PER_LINE: usize;
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// Runs a task with the vectors of `level`.
    fn dispatch<K: Task<Self>>(level: Level, task: K) -> K::Output;
}

/// Work that is generic over the vector type. Implementations mark `run` as `#[inline(always)]`, so that it is compiled with
/// the instruction set of its caller.
pub(crate) trait Task<T: Real> {
    type Output;
    fn run<V: Simd<Scalar = T>>(self) -> Self::Output;
}

/// A vector of `LANES` scalars.
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    type Scalar: Real;
    const LANES: usize;

    fn splat(value: Self::Scalar) -> Self;
    fn zero() -> Self {
        Self::splat(Self::Scalar::default())
    }
    /// Reads the first `LANES` scalars; the slice is at least that long.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Writes the first `LANES` scalars; the slice is at least that long.
    fn store(self, to: &mut [Self::Scalar]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// `self * a + b`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `b - self * a`.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// What [`Self::inverse_roots`] are multiplied by if not `FULL`: a factor that the refinement of an estimate would spend
    /// a multiplication on.
    const ROOT_SCALE: f64 = 1.0;
    /// `1 / sqrt(x)` of each of `B` vectors of positive lanes, step by step side by side, so that the steps of one hide the
    /// latency of another. To nearly working precision, or, if not `FULL`, times [`Self::ROOT_SCALE`] and to a relative error
    /// of 2e-7 in single and 1.3e-10 in double precision. Lanes that are 0 give anything.
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B];
    /// `self` where `x` is above `threshold`, 0 elsewhere.
    fn where_above(self, x: Self, threshold: Self) -> Self;
    /// For tests: `1 / sqrt(self)`, 0 where `self` is 0.
    #[cfg(test)]
    fn rsqrt_or_zero(self) -> Self {
        let [root] = Self::inverse_roots::<1, true>([self]);
        root.where_above(self, Self::zero())
    }
    /// Absolute value.
    fn abs(self) -> Self;
    /// The larger of two.
    fn max(self, other: Self) -> Self;
    /// The smaller of two.
    fn min(self, other: Self) -> Self;
    /// Whether any lane is at most `threshold`.
    fn any_at_most(self, threshold: Self) -> bool;
    /// Adds each lane to a double.
    #[inline(always)]
    fn add_to_doubles(self, doubles: &mut [f64; MAX_LANES]) {
        let mut lanes = [Self::Scalar::default(); MAX_LANES];
        self.store(&mut lanes);
        for i in 0..Self::LANES {
            doubles[i] += lanes[i].to_f64();
        }
    }
    /// Sum of the lanes.
    fn sum(self) -> Self::Scalar;

    /// Runs a task with these vectors, compiled as a function of its own: the compiler's time grows faster than the function.
    fn run<K: Task<Self::Scalar>>(task: K) -> K::Output;

    /// [`crate::product::product`], compiled once for this type.
    fn product<const B: usize>(
        matrix: Matrix<'_, Self::Scalar>,
        x: (&[Lanes<Self, B>], usize),
        y: (&mut [Lanes<Self, B>], usize),
    );

    /// Lane `l` of vector `i` becomes lane `i` of vector `l`.
    #[inline(always)]
    fn transpose(from: &mut [Self]) {
        let flat = scalars_mut(from);
        for i in 0..Self::LANES {
            for j in 0..i {
                flat.swap(i * Self::LANES + j, j * Self::LANES + i);
            }
        }
    }
}

/// Lanes of the widest vector.
pub(crate) const MAX_LANES: usize = 16;

/// The lanes of `vectors` as scalars, vector by vector.
#[inline(always)]
pub(crate) fn scalars_mut<V: Simd>(vectors: &mut [V]) -> &mut [V::Scalar] {
    // SAFETY: a vector is exactly LANES scalars without padding, any bit pattern of which is valid for both types, and the
    // alignment of a vector is at least that of its scalars.
    unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), vectors.len() * V::LANES) }
}

/// Instruction sets that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One lane, no intrinsics: the twin for tests.
    #[cfg(test)]
    Scalar,
    /// What every x86-64 (or any other processor) has: four lanes that the compiler vectorises.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, VL and BW.
    Avx512,
}

impl Level {
    /// The level that sums use: the one that [`VARIABLE`] names, else the best of the processor. What it was when first asked for
    /// stays. A level that is unknown or that the processor lacks counts as none here; [`check`] and plans refuse it.
    #[inline]
    pub fn chosen() -> Self {
        static CHOSEN: OnceLock<Level> = OnceLock::new();
        *CHOSEN.get_or_init(|| check().unwrap_or_else(|_| Self::detect()))
    }

    /// The level that `value` of [`VARIABLE`] chooses on a processor whose best is `best`.
    fn choose(value: Option<&OsStr>, best: Self) -> Result<Self, Error> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(best) };
        let asked = match value.to_str() {
            Some("baseline") => Self::Baseline,
            Some("avx2") => Self::Avx2,
            Some("avx512") => Self::Avx512,
            _ => return Err(Error::UnknownSimd { value: value.to_string_lossy().into_owned() }),
        };
        if asked > best {
            return Err(Error::MissingSimd { asked: asked.name(), best: best.name() });
        }
        Ok(asked)
    }

    /// The best level of the processor at hand.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    /// Every level that the processor at hand can run.
    #[cfg(test)]
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        [Self::Scalar, Self::Baseline, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(move |&level| level <= best)
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(test)]
            Self::Scalar => "scalar",
            Self::Baseline => "baseline",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

/// Name of the instruction set that the FMM uses on this processor.
pub fn level() -> &'static str {
    Level::chosen().name()
}

/// The level that [`VARIABLE`] and the processor lead to.
///
/// # Errors
/// [`Error::UnknownSimd`], [`Error::MissingSimd`].
pub fn check() -> Result<Level, Error> {
    Level::choose(std::env::var_os(VARIABLE).as_deref(), Level::detect())
}

macro_rules! real {
    ($scalar:ty, $precision:ident, $per_line:literal, $base:ty, $avx2:ident, $avx512:ident) => {
        impl Real for $scalar {
            const PRECISION: crate::Precision = crate::Precision::$precision;
            const PER_LINE: usize = $per_line;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $scalar
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            fn dispatch<K: Task<Self>>(level: Level, task: K) -> K::Output {
                match level {
                    #[cfg(test)]
                    Level::Scalar => One::<$scalar>::run(task),
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: this crate takes a `Level` above the baseline from `Level::detect`, `Level::chosen` or
                    // `Level::available` alone, which ask the processor.
                    Level::Avx2 => unsafe { x86::$avx2(task) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Level::Avx512 => unsafe { x86::$avx512(task) },
                    _ => <$base>::run(task),
                }
            }
        }
    };
}

real!(f32, Single, 16, scalar::Array<f32, 4>, with_avx2_f32, with_avx512_f32);
real!(f64, Double, 8, scalar::Array<f64, 2>, with_avx2_f64, with_avx512_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_chooses_at_most_what_the_processor_has() {
        let choose = |value: &str, best| Level::choose(Some(OsStr::new(value)), best);
        let all = [("baseline", Level::Baseline), ("avx2", Level::Avx2), ("avx512", Level::Avx512)];
        for (name, level) in all {
            for (_, best) in all {
                match choose(name, best) {
                    Ok(found) => assert!(found == level && level <= best),
                    Err(Error::MissingSimd { .. }) => assert!(level > best),
                    other => panic!("{other:?}"),
                }
            }
        }
        for best in [Level::Baseline, Level::Avx2] {
            assert_eq!(Level::choose(None, best).unwrap(), best);
            assert_eq!(choose("", best).unwrap(), best);
        }
        for unknown in ["sse2", "AVX2", "avx2 ", "scalar"] {
            assert!(matches!(choose(unknown, Level::Avx512), Err(Error::UnknownSimd { .. })));
        }
        // Whatever the tests run under, loops never use what the processor lacks.
        assert!(Level::chosen() <= Level::detect());
        assert_eq!(check().unwrap(), Level::chosen());
    }

    /// Each operation on pseudo-random lanes, gathered into one vector of results.
    struct Operations;

    impl<T: Real> Task<T> for Operations {
        type Output = Vec<f64>;

        #[inline(always)]
        fn run<V: Simd<Scalar = T>>(self) -> Vec<f64> {
            let mut out = Vec::new();
            let value = |i: usize| T::of(((i * 7919 + 13) % 101) as f64 / 37.0);
            for base in (0..64).step_by(V::LANES) {
                let lanes = |offset: usize| -> Vec<T> {
                    (0..V::LANES).map(|l| value(base + l + offset)).collect()
                };
                let (a, b, c) = (V::load(&lanes(0)), V::load(&lanes(64)), V::load(&lanes(128)));
                let mut results =
                    [a.add(b), a.sub(b), a.mul(b), a.mul_add(b, c), a.neg_mul_add(b, c)];
                let mut root = [a.rsqrt_or_zero()];
                out.extend(scalars_mut(&mut results).iter().map(|x| x.to_f64()));
                out.extend(scalars_mut(&mut root).iter().map(|x| x.to_f64()));
            }
            // In an order that does not depend on the number of lanes.
            out.sort_by(f64::total_cmp);
            out
        }
    }

    struct Transposes;

    impl<T: Real> Task<T> for Transposes {
        type Output = ();

        #[inline(always)]
        fn run<V: Simd<Scalar = T>>(self) {
            let n = V::LANES;
            let rows: Vec<Vec<T>> =
                (0..n).map(|r| (0..n).map(|c| T::of((r * 100 + c) as f64)).collect()).collect();
            let mut columns: Vec<V> = rows.iter().map(|row| V::load(row)).collect();
            V::transpose(&mut columns);
            for (i, value) in scalars_mut(&mut columns).iter().enumerate() {
                assert_eq!(value.to_f64(), ((i % n) * 100 + i / n) as f64);
            }
            V::transpose(&mut columns);
            for (i, value) in scalars_mut(&mut columns).iter().enumerate() {
                assert_eq!(value.to_f64(), ((i / n) * 100 + i % n) as f64);
            }
            let total: f64 = (0..n).map(|c| c as f64).sum();
            assert_eq!(columns[0].sum().to_f64(), total);
            assert_eq!(V::zero().rsqrt_or_zero().sum().to_f64(), 0.0);
        }
    }

    fn agree<T: Real>(tolerance: f64) {
        let expected = T::dispatch(Level::Scalar, Operations);
        for level in Level::available() {
            T::dispatch(level, Transposes);
            let found = T::dispatch(level, Operations);
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{level:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn every_level_agrees_with_the_scalar_twin() {
        agree::<f32>(4.0 * f64::from(f32::EPSILON));
        // 35/128 e^4 for the e = 2 * 1.5 / 4096 of the estimate.
        agree::<f64>(1e-13);
    }

    /// The largest relative errors of inverse roots that are not full, and of those that are.
    struct Roots;

    impl<T: Real> Task<T> for Roots {
        type Output = [f64; 2];

        #[inline(always)]
        fn run<V: Simd<Scalar = T>>(self) -> [f64; 2] {
            let mut worst = [0.0f64; 2];
            for i in 0..20_000 {
                let x = T::of(1e-9 * 1.0021f64.powi(i));
                let [rough] = V::inverse_roots::<1, false>([V::splat(x)]);
                let [full] = V::inverse_roots::<1, true>([V::splat(x)]);
                for (worst, (root, scale)) in
                    worst.iter_mut().zip([(rough, V::ROOT_SCALE), (full, 1.0)])
                {
                    let mut lanes = [T::default(); MAX_LANES];
                    root.store(&mut lanes);
                    *worst = worst.max((lanes[0].to_f64() / scale * x.to_f64().sqrt() - 1.0).abs());
                }
            }
            worst
        }
    }

    #[test]
    fn inverse_roots_are_as_good_as_they_say() {
        for level in Level::available() {
            let [rough, full] = f64::dispatch(level, Roots);
            assert!(rough < 1.3e-10 && full < 1e-13, "{level:?} {rough:e} {full:e}");
            let [rough, full] = f32::dispatch(level, Roots);
            assert!(rough < 3e-7 && full < 1.2e-7, "{level:?} {rough:e} {full:e}");
        }
    }
}
