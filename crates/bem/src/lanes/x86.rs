//! AVX2 and AVX-512 vectors. The intrinsics are sound because these types are made inside [`with_avx2`] and [`with_avx512`]
//! alone, whose callers have asked the processor.

use std::arch::x86_64::*;

use super::{Lanes, Task};

/// Runs `task` with AVX2 and FMA.
///
/// # Safety
/// The processor has them.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn with_avx2<T: Task>(task: T) -> T::Output {
    task.run::<Four>()
}

/// Runs `task` with AVX-512.
///
/// # Safety
/// The processor has F, DQ, VL and BW of it, AVX2 and FMA.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
pub(super) unsafe fn with_avx512<T: Task>(task: T) -> T::Output {
    task.run::<Eight>()
}

/// Four lanes (AVX2).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Four(__m256d);

/// Eight lanes (AVX-512).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Eight(__m512d);

macro_rules! lanes {
    ($name:ident, $count:literal, |$a:ident, $b:ident, $yes:ident, $no:ident| $where_above:expr,
     |$x:ident| $rsqrt_guess:expr,
     $set1:ident, $loadu:ident, $storeu:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $fma:ident, $sqrt:ident,
     $min:ident, $max:ident, $andnot:ident, $to_bits:ident, $from_bits:ident, $set1_bits:ident, $and:ident, $or:ident,
     $shift_right:ident, $add_bits:ident, $sub_bits:ident) => {
        impl Lanes for $name {
            const COUNT: usize = $count;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $set1(value) })
            }

            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let from = &from[..$count];
                // SAFETY: the slice has the lanes; module documentation.
                Self(unsafe { $loadu(from.as_ptr()) })
            }

            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                let to = &mut to[..$count];
                // SAFETY: the slice has the lanes; module documentation.
                unsafe { $storeu(to.as_mut_ptr(), self.0) }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $sub(self.0, other.0) })
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $mul(self.0, other.0) })
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $div(self.0, other.0) })
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $sqrt(self.0) })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $andnot($set1(-0.0), self.0) })
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $min(self.0, other.0) })
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $max(self.0, other.0) })
            }

            #[inline(always)]
            fn rsqrt_guess(self) -> Self {
                let $x = self.0;
                // SAFETY: module documentation.
                Self(unsafe { $rsqrt_guess })
            }

            #[inline(always)]
            fn where_above(self, other: Self, yes: Self, no: Self) -> Self {
                let ($a, $b, $yes, $no) = (self.0, other.0, yes.0, no.0);
                // SAFETY: module documentation.
                Self(unsafe { $where_above })
            }

            #[inline(always)]
            fn mantissa(self) -> Self {
                // SAFETY: module documentation.
                unsafe {
                    let one = $set1_bits(1.0f64.to_bits() as i64);
                    let mantissa = $and($to_bits(self.0), $set1_bits((1 << 52) - 1));
                    Self($from_bits($or(mantissa, one)))
                }
            }

            #[inline(always)]
            fn exponent_less(self, other: Self) -> Self {
                /// 1.5 * 2^52: the sum with a small integer has it in its last bits.
                const MAGIC: f64 = 6_755_399_441_055_744.0;
                // SAFETY: module documentation.
                unsafe {
                    let (a, b) = ($to_bits(self.0), $to_bits(other.0));
                    let difference = $sub_bits($shift_right::<52>(a), $shift_right::<52>(b));
                    let sum = $add_bits(difference, $set1_bits(MAGIC.to_bits() as i64));
                    Self($sub($from_bits(sum), $set1(MAGIC)))
                }
            }
        }
    };
}

lanes!(
    Four,
    4,
    |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
    |x| _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(x))),
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_fmadd_pd,
    _mm256_sqrt_pd,
    _mm256_min_pd,
    _mm256_max_pd,
    _mm256_andnot_pd,
    _mm256_castpd_si256,
    _mm256_castsi256_pd,
    _mm256_set1_epi64x,
    _mm256_and_si256,
    _mm256_or_si256,
    _mm256_srli_epi64,
    _mm256_add_epi64,
    _mm256_sub_epi64
);

lanes!(
    Eight,
    8,
    |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |x| _mm512_rsqrt14_pd(x),
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_fmadd_pd,
    _mm512_sqrt_pd,
    _mm512_min_pd,
    _mm512_max_pd,
    _mm512_andnot_pd,
    _mm512_castpd_si512,
    _mm512_castsi512_pd,
    _mm512_set1_epi64,
    _mm512_and_si512,
    _mm512_or_si512,
    _mm512_srli_epi64,
    _mm512_add_epi64,
    _mm512_sub_epi64
);
