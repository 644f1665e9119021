//! What a machine's arithmetic allows: multiply-adds per second, and near pairs per second for
//! P2P's mix of instructions.
//!
//! Both loops stay in registers and the first-level cache. A pair of the potential is three
//! differences, a squared distance, a reciprocal square root (the hardware's estimate and Newton
//! steps up to nearly working precision), a mask for the point itself and a multiply-add: two
//! vectors of targets, sources broadcast one by one.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Rates of one floating-point format, over all threads.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Fused multiply-adds of scalars per second.
    pub multiply_adds: f64,
    /// Source-target pairs per second.
    pub pairs: f64,
}

/// Rates of both formats.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads that ran at once.
    pub threads: usize,
    /// Instruction set of the loops.
    pub simd: &'static str,
    /// Rates of `f32`.
    pub single: Rates,
    /// Rates of `f64`.
    pub double: Rates,
}

/// Runs the given number of rounds of a loop and returns the work done: multiply-adds or pairs.
type Kernel = fn(rounds: usize) -> f64;

/// Sources of the pair loop: they fit into the first-level cache.
const SOURCES: usize = 256;

/// Multiply-adds in flight, enough for two pipes of five cycles.
const CHAINS: usize = 12;

/// Measures with `threads` threads at once and returns the best of several runs.
pub fn measure(threads: usize) -> Limits {
    let (simd, [fma_single, pairs_single, fma_double, pairs_double]) = kernels();
    let rate = |kernel| rate(threads, kernel);
    Limits {
        threads,
        simd,
        single: Rates { multiply_adds: rate(fma_single), pairs: rate(pairs_single) },
        double: Rates { multiply_adds: rate(fma_double), pairs: rate(pairs_double) },
    }
}

impl Limits {
    /// One JSON object.
    pub fn json(&self) -> String {
        let rates = |r: Rates| {
            format!("{{\"multiply_adds\": {:e}, \"pairs\": {:e}}}", r.multiply_adds, r.pairs)
        };
        format!(
            "{{\"threads\": {}, \"simd\": \"{}\", \"single\": {}, \"double\": {}}}",
            self.threads,
            self.simd,
            rates(self.single),
            rates(self.double)
        )
    }

    /// Lines for people.
    pub fn text(&self) -> String {
        let rates = |name, r: Rates| {
            let (madds, pairs) = (r.multiply_adds / 1e9, r.pairs / 1e9);
            format!("  {name}  {madds:.1}e9 multiply-adds/s, {pairs:.2}e9 pairs/s")
        };
        format!(
            "Limits with {} threads, {}:\n{}\n{}",
            self.threads,
            self.simd,
            rates("single", self.single),
            rates("double", self.double)
        )
    }
}

/// Work per second of `kernel` on all threads, the best of ten runs.
fn rate(threads: usize, kernel: Kernel) -> f64 {
    /// Seconds of a run: long enough for the clock, short compared with a scheduler's pauses.
    const RUN: f64 = 0.03;
    let mut rounds = 1000;
    while timed(kernel, rounds) < RUN / 2.0 {
        rounds *= 2;
    }
    let run = || {
        let barrier = Barrier::new(threads);
        let worker = || {
            barrier.wait();
            let started = Instant::now();
            let work = kernel(rounds);
            work / started.elapsed().as_secs_f64()
        };
        thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            all.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum::<f64>()
        })
    };
    (0..10).map(|_| run()).fold(0.0, f64::max)
}

fn timed(kernel: Kernel, rounds: usize) -> f64 {
    let started = Instant::now();
    kernel(rounds);
    started.elapsed().as_secs_f64()
}

/// The two loops of one format and instruction set, from its vector operations.
///
/// `steps` has the constants of Newton's steps y (3 - r^2 y^2) / 2, whose halves a kernel can leave
/// to the charges: without them the second step is y (12 - r^2 y^2).
macro_rules! loops {
    (
        $(#[$feature:meta])* $fma:ident, $pairs:ident, $scalar:ty, $lanes:literal,
        splat $splat:expr, fma $mul_add:expr, fnma $neg_mul_add:expr, sub $sub:expr, mul $mul:expr,
        rsqrt $rsqrt:expr, positive $positive:expr, steps $steps:expr
    ) => {
        $(#[$feature])*
        fn $fma(rounds: usize) -> f64 {
            let (a, b) = ($splat(black_box(0.999)), $splat(black_box(1e-3)));
            let mut sums = [$splat(1.0); CHAINS];
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = $mul_add(*sum, a, b);
                }
            }
            black_box(sums);
            (rounds * CHAINS * $lanes) as f64
        }

        $(#[$feature])*
        fn $pairs(rounds: usize) -> f64 {
            let value = |i: usize| (i * 7919 % 1009) as $scalar / 1009.0;
            let sources: Vec<[$scalar; 4]> = (0..SOURCES)
                .map(|i| [value(i), value(i + 300), value(i + 600), value(i + 900)])
                .collect();
let constants = $steps.map(|c| $splat(c));
            let mut targets = [[$splat(0.1), $splat(0.2), $splat(0.3)], [$splat(0.4), $splat(0.5), $splat(0.6)]];
            let mut sums = [$splat(0.0); 2];
            for _ in 0..rounds.div_ceil(SOURCES) {
                targets = black_box(targets);
                for source in &sources {
                    for (point, sum) in targets.iter().zip(&mut sums) {
                        let dx = $sub(point[0], $splat(source[0]));
                        let dy = $sub(point[1], $splat(source[1]));
                        let dz = $sub(point[2], $splat(source[2]));
                        let r2 = $mul_add(dx, dx, $mul_add(dy, dy, $mul(dz, dz)));
                        let mut inverse = $rsqrt(r2);
                        for constant in constants {
                            let rest = $neg_mul_add($mul(r2, inverse), inverse, constant);
                            inverse = $mul(inverse, rest);
                        }
                        *sum = $mul_add($positive(r2, inverse), $splat(source[3]), *sum);
                    }
                }
            }
            black_box(sums);
            (rounds.div_ceil(SOURCES) * SOURCES * 2 * $lanes) as f64
        }
    };
}

/// Fallback for every processor: plain scalars, which the compiler may vectorise.
mod plain {
    use super::{CHAINS, SOURCES, black_box};

    loops!(
        fma_single, pairs_single, f32, 1,
        splat std::convert::identity::<f32>, fma |a: f32, b: f32, c: f32| a * b + c,
        fnma |a: f32, b: f32, c: f32| c - a * b, sub |a: f32, b: f32| a - b, mul |a: f32, b: f32| a * b,
        rsqrt |r2: f32| 1.0 / r2.sqrt(), positive |r2: f32, y: f32| if r2 > 0.0 { y } else { 0.0 }, steps []
    );
    loops!(
        fma_double, pairs_double, f64, 1,
        splat std::convert::identity::<f64>, fma |a: f64, b: f64, c: f64| a * b + c,
        fnma |a: f64, b: f64, c: f64| c - a * b, sub |a: f64, b: f64| a - b, mul |a: f64, b: f64| a * b,
        rsqrt |r2: f64| 1.0 / r2.sqrt(), positive |r2: f64, y: f64| if r2 > 0.0 { y } else { 0.0 }, steps []
    );

    pub(super) const ALL: [super::Kernel; 4] = [fma_single, pairs_single, fma_double, pairs_double];
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{CHAINS, SOURCES, black_box};

    mod avx2 {
        use super::*;

        loops!(
            #[target_feature(enable = "avx2,fma")]
            fma_single, pairs_single, f32, 8,
            splat _mm256_set1_ps, fma _mm256_fmadd_ps, fnma _mm256_fnmadd_ps, sub _mm256_sub_ps, mul _mm256_mul_ps,
            rsqrt _mm256_rsqrt_ps,
            positive |r2, y| _mm256_and_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(r2, _mm256_setzero_ps()), y), steps [3.0]
        );
        loops!(
            #[target_feature(enable = "avx2,fma")]
            fma_double, pairs_double, f64, 4,
            splat _mm256_set1_pd, fma _mm256_fmadd_pd, fnma _mm256_fnmadd_pd, sub _mm256_sub_pd, mul _mm256_mul_pd,
            rsqrt |r2| _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(r2))),
            positive |r2, y| _mm256_and_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(r2, _mm256_setzero_pd()), y), steps [3.0, 12.0]
        );

        // SAFETY of all four: `kernels` hands them out where the processor has AVX2 and FMA.
        pub(super) const ALL: [super::super::Kernel; 4] = [
            |rounds| unsafe { fma_single(rounds) },
            |rounds| unsafe { pairs_single(rounds) },
            |rounds| unsafe { fma_double(rounds) },
            |rounds| unsafe { pairs_double(rounds) },
        ];
    }

    mod avx512 {
        use super::*;

        loops!(
            #[target_feature(enable = "avx512f")]
            fma_single, pairs_single, f32, 16,
            splat _mm512_set1_ps, fma _mm512_fmadd_ps, fnma _mm512_fnmadd_ps, sub _mm512_sub_ps, mul _mm512_mul_ps,
            rsqrt _mm512_rsqrt14_ps,
            positive |r2, y| _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(r2, _mm512_setzero_ps()), y), steps [3.0]
        );
        loops!(
            #[target_feature(enable = "avx512f")]
            fma_double, pairs_double, f64, 8,
            splat _mm512_set1_pd, fma _mm512_fmadd_pd, fnma _mm512_fnmadd_pd, sub _mm512_sub_pd, mul _mm512_mul_pd,
            rsqrt _mm512_rsqrt14_pd,
            positive |r2, y| _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(r2, _mm512_setzero_pd()), y), steps [3.0, 12.0]
        );

        // SAFETY of all four: `kernels` hands them out where the processor has AVX-512.
        pub(super) const ALL: [super::super::Kernel; 4] = [
            |rounds| unsafe { fma_single(rounds) },
            |rounds| unsafe { pairs_single(rounds) },
            |rounds| unsafe { fma_double(rounds) },
            |rounds| unsafe { pairs_double(rounds) },
        ];
    }

    pub(super) fn kernels() -> Option<(&'static str, [super::Kernel; 4])> {
        if is_x86_feature_detected!("avx512f") {
            return Some(("AVX-512", avx512::ALL));
        }
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
            .then_some(("AVX2", avx2::ALL))
    }
}

/// The loops for this processor: multiply-adds and pairs in single, then in double precision.
fn kernels() -> (&'static str, [Kernel; 4]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(found) = x86::kernels() {
        return found;
    }
    ("no vectors", plain::ALL)
}
