//! AVX2 and AVX-512 vectors. The intrinsics are sound because these types are private: other code
//! reaches them only as the vector type of a task, which [`Real::dispatch`](crate::Real::dispatch)
//! runs at a [`Level`](crate::Level) that the processor supports.

use std::arch::x86_64::*;

use crate::{Call, Simd};

/// Calls a function compiled with AVX2 and FMA.
///
/// # Safety
/// The processor must support them.
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
unsafe fn with_avx2<C: Call>(call: C) -> C::Output {
    call.call()
}

/// Calls a function compiled with AVX-512.
///
/// # Safety
/// The processor must support its parts F, DQ, VL and BW, and AVX2 and FMA.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
#[inline(never)]
unsafe fn with_avx512<C: Call>(call: C) -> C::Output {
    call.call()
}

macro_rules! vector {
    ($(#[$doc:meta])* $name:ident($register:ty) of $lanes:literal $scalar:ty, $call:ident, $transpose:ident,
     [$($one:ident = $of_one:ident),*], [$($two:ident = $of_two:ident),*], [$($three:ident = $of_three:ident),*],
     $splat:ident, $load:ident, $store:ident, $and:ident, $andnot:ident, $or:ident,
     $to_bits:ident, $from_bits:ident, $shift_right:ident, $shift_left:ident, $add_bits:ident, $mantissa_bits:literal,
     |$x:ident| $rsqrt_guess:expr,
     |$a:ident, $b:ident, $yes:ident, $no:ident| $where_above:expr,
     |$kept:ident, $u:ident, $w:ident| $zero_unless_above:expr,
     |$c:ident, $threshold:ident| $any_at_most:expr,
     |$v:ident| $quick_sum:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($register);

        // SAFETY: a register of `LANES` scalars, transparently.
        unsafe impl Simd for $name {
            type Scalar = $scalar;
            const LANES: usize = $lanes;

            $(
                #[inline(always)]
                fn $one(self) -> Self {
                    // SAFETY: module documentation.
                    Self(unsafe { $of_one(self.0) })
                }
            )*

            $(
                #[inline(always)]
                fn $two(self, other: Self) -> Self {
                    // SAFETY: module documentation.
                    Self(unsafe { $of_two(self.0, other.0) })
                }
            )*

            $(
                #[inline(always)]
                fn $three(self, a: Self, b: Self) -> Self {
                    // SAFETY: module documentation.
                    Self(unsafe { $of_three(self.0, a.0, b.0) })
                }
            )*

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $splat(value) })
            }

            #[inline(always)]
            fn load(from: &[$scalar]) -> Self {
                let from = &from[..$lanes];
                // SAFETY: the slice has the lanes; module documentation.
                Self(unsafe { $load(from.as_ptr()) })
            }

            #[inline(always)]
            fn store(self, to: &mut [$scalar]) {
                let to = &mut to[..$lanes];
                // SAFETY: the slice has the lanes; module documentation.
                unsafe { $store(to.as_mut_ptr(), self.0) }
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: module documentation.
                Self(unsafe { $andnot($splat(-0.0), self.0) })
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
            fn zero_unless_above(self, x: Self, threshold: Self) -> Self {
                let ($kept, $u, $w) = (self.0, x.0, threshold.0);
                // SAFETY: module documentation.
                Self(unsafe { $zero_unless_above })
            }

            #[inline(always)]
            fn any_at_most(self, threshold: Self) -> bool {
                let ($c, $threshold) = (self.0, threshold.0);
                // SAFETY: module documentation.
                unsafe { $any_at_most }
            }

            #[inline(always)]
            fn quick_sum(self) -> $scalar {
                let $v = self.0;
                // SAFETY: module documentation.
                unsafe { $quick_sum }
            }

            #[inline(always)]
            fn mantissa(self) -> Self {
                const MASK: $scalar = <$scalar>::from_bits((1 << $mantissa_bits) - 1);
                // SAFETY: module documentation.
                Self(unsafe { $or($and(self.0, $splat(MASK)), $splat(1.0)) })
            }

            #[inline(always)]
            fn exponent_less(self, other: Self) -> Self {
                /// The lowest bit of its mantissa has the value 1: with an exponent as its mantissa
                /// it grows by that exponent.
                const ZERO: $scalar = (1u64 << $mantissa_bits) as $scalar;
                // SAFETY: module documentation.
                unsafe {
                    let a = $from_bits($shift_right::<$mantissa_bits>($to_bits(self.0)));
                    let b = $from_bits($shift_right::<$mantissa_bits>($to_bits(other.0)));
                    Self($or(a, $splat(ZERO))).sub(Self($or(b, $splat(ZERO))))
                }
            }

            #[inline(always)]
            fn exponent_plus(self, shifted: Self) -> Self {
                // SAFETY: module documentation.
                unsafe {
                    let power = $shift_left::<$mantissa_bits>($to_bits(shifted.0));
                    Self($from_bits($add_bits($to_bits(self.0), power)))
                }
            }

            #[inline(always)]
            fn call<C: Call>(call: C) -> C::Output {
                // SAFETY: module documentation.
                unsafe { $call(call) }
            }

            #[inline(always)]
            fn transpose(from: &mut [Self]) {
                $transpose(from);
            }
        }
    };
}

vector!(
    /// Eight single-precision lanes (AVX2).
    F32x8(__m256) of 8 f32, with_avx2, transpose_f32x8,
    [sqrt = _mm256_sqrt_ps],
    [add = _mm256_add_ps, sub = _mm256_sub_ps, mul = _mm256_mul_ps, div = _mm256_div_ps, max = _mm256_max_ps, min = _mm256_min_ps],
    [mul_add = _mm256_fmadd_ps, neg_mul_add = _mm256_fnmadd_ps],
    _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_and_ps, _mm256_andnot_ps, _mm256_or_ps,
    _mm256_castps_si256, _mm256_castsi256_ps, _mm256_srli_epi32, _mm256_slli_epi32, _mm256_add_epi32, 23,
    |x| _mm256_rsqrt_ps(x),
    |a, b, yes, no| _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)),
    |v, a, b| _mm256_and_ps(v, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)),
    |a, threshold| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(a, threshold)) != 0,
    |v| {
        let half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
        _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps::<1>(quarter, quarter)))
    }
);

vector!(
    /// Four double-precision lanes (AVX2).
    F64x4(__m256d) of 4 f64, with_avx2, transpose_f64x4,
    [sqrt = _mm256_sqrt_pd],
    [add = _mm256_add_pd, sub = _mm256_sub_pd, mul = _mm256_mul_pd, div = _mm256_div_pd, max = _mm256_max_pd, min = _mm256_min_pd],
    [mul_add = _mm256_fmadd_pd, neg_mul_add = _mm256_fnmadd_pd],
    _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_and_pd, _mm256_andnot_pd, _mm256_or_pd,
    _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_srli_epi64, _mm256_slli_epi64, _mm256_add_epi64, 52,
    |x| _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(x))),
    |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
    |v, a, b| _mm256_and_pd(v, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
    |a, threshold| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(a, threshold)) != 0,
    |v| {
        let half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
    }
);

vector!(
    /// Sixteen single-precision lanes (AVX-512).
    F32x16(__m512) of 16 f32, with_avx512, transpose_f32x16,
    [sqrt = _mm512_sqrt_ps],
    [add = _mm512_add_ps, sub = _mm512_sub_ps, mul = _mm512_mul_ps, div = _mm512_div_ps, max = _mm512_max_ps, min = _mm512_min_ps],
    [mul_add = _mm512_fmadd_ps, neg_mul_add = _mm512_fnmadd_ps],
    _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_and_ps, _mm512_andnot_ps, _mm512_or_ps,
    _mm512_castps_si512, _mm512_castsi512_ps, _mm512_srli_epi32, _mm512_slli_epi32, _mm512_add_epi32, 23,
    |x| _mm512_rsqrt14_ps(x),
    |a, b, yes, no| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |v, a, b| _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), v),
    |a, threshold| _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, threshold) != 0,
    |v| _mm512_reduce_add_ps(v)
);

vector!(
    /// Eight double-precision lanes (AVX-512).
    F64x8(__m512d) of 8 f64, with_avx512, transpose_f64x8,
    [sqrt = _mm512_sqrt_pd],
    [add = _mm512_add_pd, sub = _mm512_sub_pd, mul = _mm512_mul_pd, div = _mm512_div_pd, max = _mm512_max_pd, min = _mm512_min_pd],
    [mul_add = _mm512_fmadd_pd, neg_mul_add = _mm512_fnmadd_pd],
    _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_and_pd, _mm512_andnot_pd, _mm512_or_pd,
    _mm512_castpd_si512, _mm512_castsi512_pd, _mm512_srli_epi64, _mm512_slli_epi64, _mm512_add_epi64, 52,
    |x| _mm512_rsqrt14_pd(x),
    |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |v, a, b| _mm512_maskz_mov_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), v),
    |a, threshold| _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, threshold) != 0,
    |v| _mm512_reduce_add_pd(v)
);

#[inline(always)]
fn transpose_f32x8(from: &mut [F32x8]) {
    let v = &mut from[..8];
    // SAFETY: module documentation.
    unsafe {
        let low = |a: usize, b: usize, v: &[F32x8]| _mm256_unpacklo_ps(v[a].0, v[b].0);
        let high = |a: usize, b: usize, v: &[F32x8]| _mm256_unpackhi_ps(v[a].0, v[b].0);
        let (t0, t1) = (low(0, 1, v), high(0, 1, v));
        let (t2, t3) = (low(2, 3, v), high(2, 3, v));
        let (t4, t5) = (low(4, 5, v), high(4, 5, v));
        let (t6, t7) = (low(6, 7, v), high(6, 7, v));
        let s0 = _mm256_shuffle_ps::<0x44>(t0, t2);
        let s1 = _mm256_shuffle_ps::<0xee>(t0, t2);
        let s2 = _mm256_shuffle_ps::<0x44>(t1, t3);
        let s3 = _mm256_shuffle_ps::<0xee>(t1, t3);
        let s4 = _mm256_shuffle_ps::<0x44>(t4, t6);
        let s5 = _mm256_shuffle_ps::<0xee>(t4, t6);
        let s6 = _mm256_shuffle_ps::<0x44>(t5, t7);
        let s7 = _mm256_shuffle_ps::<0xee>(t5, t7);
        v[0].0 = _mm256_permute2f128_ps::<0x20>(s0, s4);
        v[1].0 = _mm256_permute2f128_ps::<0x20>(s1, s5);
        v[2].0 = _mm256_permute2f128_ps::<0x20>(s2, s6);
        v[3].0 = _mm256_permute2f128_ps::<0x20>(s3, s7);
        v[4].0 = _mm256_permute2f128_ps::<0x31>(s0, s4);
        v[5].0 = _mm256_permute2f128_ps::<0x31>(s1, s5);
        v[6].0 = _mm256_permute2f128_ps::<0x31>(s2, s6);
        v[7].0 = _mm256_permute2f128_ps::<0x31>(s3, s7);
    }
}

#[inline(always)]
fn transpose_f64x4(from: &mut [F64x4]) {
    let v = &mut from[..4];
    // SAFETY: module documentation.
    unsafe {
        let t0 = _mm256_unpacklo_pd(v[0].0, v[1].0);
        let t1 = _mm256_unpackhi_pd(v[0].0, v[1].0);
        let t2 = _mm256_unpacklo_pd(v[2].0, v[3].0);
        let t3 = _mm256_unpackhi_pd(v[2].0, v[3].0);
        v[0].0 = _mm256_permute2f128_pd::<0x20>(t0, t2);
        v[1].0 = _mm256_permute2f128_pd::<0x20>(t1, t3);
        v[2].0 = _mm256_permute2f128_pd::<0x31>(t0, t2);
        v[3].0 = _mm256_permute2f128_pd::<0x31>(t1, t3);
    }
}

/// Four by four within the quarters of each vector, then the quarters.
#[inline(always)]
fn transpose_f32x16(from: &mut [F32x16]) {
    let v = &mut from[..16];
    // SAFETY: module documentation.
    unsafe {
        for i in (0..16).step_by(4) {
            let (a, b, c, d) = (v[i].0, v[i + 1].0, v[i + 2].0, v[i + 3].0);
            let (t0, t1) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let (t2, t3) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            v[i].0 = _mm512_shuffle_ps::<0x44>(t0, t2);
            v[i + 1].0 = _mm512_shuffle_ps::<0xee>(t0, t2);
            v[i + 2].0 = _mm512_shuffle_ps::<0x44>(t1, t3);
            v[i + 3].0 = _mm512_shuffle_ps::<0xee>(t1, t3);
        }
        for i in 0..4 {
            let (a, b, c, d) = (v[i].0, v[i + 4].0, v[i + 8].0, v[i + 12].0);
            let (t0, t1) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            let (t2, t3) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
            v[i].0 = _mm512_shuffle_f32x4::<0x88>(t0, t2);
            v[i + 4].0 = _mm512_shuffle_f32x4::<0x88>(t1, t3);
            v[i + 8].0 = _mm512_shuffle_f32x4::<0xdd>(t0, t2);
            v[i + 12].0 = _mm512_shuffle_f32x4::<0xdd>(t1, t3);
        }
    }
}

/// Two by two within the quarters of each vector, then the quarters.
#[inline(always)]
fn transpose_f64x8(from: &mut [F64x8]) {
    let v = &mut from[..8];
    // SAFETY: module documentation.
    unsafe {
        for i in (0..8).step_by(2) {
            let (a, b) = (v[i].0, v[i + 1].0);
            v[i].0 = _mm512_unpacklo_pd(a, b);
            v[i + 1].0 = _mm512_unpackhi_pd(a, b);
        }
        for i in 0..2 {
            let (a, b, c, d) = (v[i].0, v[i + 2].0, v[i + 4].0, v[i + 6].0);
            let (t0, t1) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b));
            let (t2, t3) = (_mm512_shuffle_f64x2::<0x88>(c, d), _mm512_shuffle_f64x2::<0xdd>(c, d));
            v[i].0 = _mm512_shuffle_f64x2::<0x88>(t0, t2);
            v[i + 2].0 = _mm512_shuffle_f64x2::<0x88>(t1, t3);
            v[i + 4].0 = _mm512_shuffle_f64x2::<0xdd>(t0, t2);
            v[i + 6].0 = _mm512_shuffle_f64x2::<0xdd>(t1, t3);
        }
    }
}
