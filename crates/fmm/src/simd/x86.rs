//! AVX2 and AVX-512 vectors. The intrinsics are sound because these types are made inside [`with_avx2_f32`] and its kin
//! alone, whose callers have asked the processor.

use std::arch::x86_64::*;

use super::{Simd, Task};

macro_rules! runner {
    ($name:ident, $scalar:ty, $vector:ty, $features:literal) => {
        #[doc = concat!("Runs `task` with the vectors of ", $features, ".")]
        ///
        /// # Safety
        /// The processor has these features.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<K: Task<$scalar>>(task: K) -> K::Output {
            task.run::<$vector>()
        }
    };
}

runner!(with_avx2_f32, f32, F32x8, "avx2,fma");
runner!(with_avx2_f64, f64, F64x4, "avx2,fma");
runner!(with_avx512_f32, f32, F32x16, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
runner!(with_avx512_f64, f64, F64x8, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");

/// Eight single-precision lanes (AVX2).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct F32x8(__m256);

/// Four double-precision lanes (AVX2).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct F64x4(__m256d);

/// Sixteen single-precision lanes (AVX-512).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct F32x16(__m512);

/// Eight double-precision lanes (AVX-512).
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct F64x8(__m512d);

macro_rules! arithmetic {
    ($scalar:ty, $lanes:literal, $set1:ident, $loadu:ident, $storeu:ident, $add:ident, $sub:ident, $mul:ident, $fma:ident, $fnma:ident) => {
        type Scalar = $scalar;
        const LANES: usize = $lanes;

        #[inline(always)]
        fn splat(value: $scalar) -> Self {
            // SAFETY: module documentation.
            Self(unsafe { $set1(value) })
        }

        #[inline(always)]
        fn load(from: &[$scalar]) -> Self {
            let from = &from[..$lanes];
            // SAFETY: the slice has the lanes; module documentation.
            Self(unsafe { $loadu(from.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, to: &mut [$scalar]) {
            let to = &mut to[..$lanes];
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
        fn mul_add(self, a: Self, b: Self) -> Self {
            // SAFETY: module documentation.
            Self(unsafe { $fma(self.0, a.0, b.0) })
        }

        #[inline(always)]
        fn neg_mul_add(self, a: Self, b: Self) -> Self {
            // SAFETY: module documentation.
            Self(unsafe { $fnma(self.0, a.0, b.0) })
        }
    };
}

/// One Newton step for `1/sqrt(x)`: the error of the guess is squared.
#[inline(always)]
fn newton<V: Simd>(x: V, guess: V, half: V, three_halves: V) -> V {
    let half_x = x.mul(half);
    guess.mul(half_x.mul(guess).neg_mul_add(guess, three_halves))
}

impl Simd for F32x8 {
    arithmetic!(
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps
    );

    #[inline(always)]
    fn rsqrt_above(self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let guess = Self(_mm256_rsqrt_ps(self.0));
            let root = newton(self, guess, Self::splat(0.5), Self::splat(1.5));
            let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, threshold.0);
            Self(_mm256_and_ps(root.0, positive))
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, threshold.0)) != 0 }
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: module documentation.
        unsafe {
            let half =
                _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps::<1>(quarter, quarter)))
        }
    }

    #[inline(always)]
    fn transpose_in(rows: &[&[f32]], to: &mut [Self]) {
        for (row, to) in rows[..8].iter().zip(&mut to[..8]) {
            *to = Self::load(row);
        }
        Self::transpose(to);
    }

    #[inline(always)]
    fn transpose(from: &mut [Self]) {
        let v = &mut from[..8];
        // SAFETY: module documentation.
        unsafe {
            let low = |a: usize, b: usize, v: &[Self]| _mm256_unpacklo_ps(v[a].0, v[b].0);
            let high = |a: usize, b: usize, v: &[Self]| _mm256_unpackhi_ps(v[a].0, v[b].0);
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
}

impl Simd for F64x4 {
    arithmetic!(
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd
    );

    // The seed is a single-precision estimate: squared distances are in units of the root box, where two distinct points
    // are at least 1e-17 apart, well inside the range of single precision.
    #[inline(always)]
    fn rsqrt_above(self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let guess = Self(_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(self.0))));
            let (half, three_halves) = (Self::splat(0.5), Self::splat(1.5));
            let better = newton(self, guess, half, three_halves);
            let root = newton(self, better, half, three_halves);
            let positive = _mm256_cmp_pd::<_CMP_GT_OQ>(self.0, threshold.0);
            Self(_mm256_and_pd(root.0, positive))
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, threshold.0)) != 0 }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: module documentation.
        unsafe {
            let half =
                _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
        }
    }

    #[inline(always)]
    fn transpose_in(rows: &[&[f64]], to: &mut [Self]) {
        for (row, to) in rows[..4].iter().zip(&mut to[..4]) {
            *to = Self::load(row);
        }
        Self::transpose(to);
    }

    #[inline(always)]
    fn transpose(from: &mut [Self]) {
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
}

impl Simd for F32x16 {
    arithmetic!(
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps
    );

    #[inline(always)]
    fn rsqrt_above(self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, threshold.0);
            let guess = Self(_mm512_maskz_rsqrt14_ps(positive, self.0));
            newton(self, guess, Self::splat(0.5), Self::splat(1.5))
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, threshold.0) != 0 }
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: module documentation.
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
}

impl Simd for F64x8 {
    arithmetic!(
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd
    );

    #[inline(always)]
    fn rsqrt_above(self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let positive = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(self.0, threshold.0);
            let guess = Self(_mm512_maskz_rsqrt14_pd(positive, self.0));
            let (half, three_halves) = (Self::splat(0.5), Self::splat(1.5));
            let better = newton(self, guess, half, three_halves);
            newton(self, better, half, three_halves)
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, threshold.0) != 0 }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: module documentation.
        unsafe { _mm512_reduce_add_pd(self.0) }
    }
}
