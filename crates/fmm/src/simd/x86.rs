//! AVX2 and AVX-512 vectors. The intrinsics are sound because these types are made inside [`with_avx2_f32`] and its kin
//! alone, whose callers have asked the processor.

use std::arch::x86_64::*;

use super::{Real, Simd, Task};
use crate::product::{Lanes, Matrix, product};

macro_rules! runner {
    ($name:ident, $product:ident, $scalar:ty, $vector:ty, $features:literal) => {
        #[doc = concat!("Runs `task` with the vectors of ", $features, ".")]
        ///
        /// # Safety
        /// The processor has these features.
        #[target_feature(enable = $features)]
        #[inline(never)]
        pub(super) unsafe fn $name<K: Task<$scalar>>(task: K) -> K::Output {
            task.run::<$vector>()
        }

        #[doc = concat!("[`product`] with the vectors of ", $features, ".")]
        ///
        /// # Safety
        /// The processor has these features.
        #[target_feature(enable = $features)]
        #[inline(never)]
        unsafe fn $product<const B: usize>(
            matrix: Matrix<'_, $scalar>,
            x: (&[Lanes<$vector, B>], usize),
            y: (&mut [Lanes<$vector, B>], usize),
        ) {
            product(matrix, x, y);
        }
    };
}

runner!(with_avx2_f32, product_avx2_f32, f32, F32x8, "avx2,fma");
runner!(with_avx2_f64, product_avx2_f64, f64, F64x4, "avx2,fma");
runner!(
    with_avx512_f32,
    product_avx512_f32,
    f32,
    F32x16,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);
runner!(
    with_avx512_f64,
    product_avx512_f64,
    f64,
    F64x8,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);

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

/// `2 / sqrt(x)` from estimates, by one Newton step: the error of an estimate is squared, times 3/2.
#[inline(always)]
fn newton<V: Simd, const B: usize>(x: [V; B], mut roots: [V; B]) -> [V; B] {
    let three = V::splat(V::Scalar::of(3.0));
    let mut rest = [V::zero(); B];
    for b in 0..B {
        rest[b] = x[b].mul(roots[b]);
    }
    for b in 0..B {
        rest[b] = rest[b].neg_mul_add(roots[b], three);
    }
    for b in 0..B {
        roots[b] = roots[b].mul(rest[b]);
    }
    roots
}

/// `1 / sqrt(x)` from estimates y: with h = 1 - x y^2 it is y (1 + h/2 + 3/8 h^2 + 5/16 h^3 + ...); `ORDER` terms after the 1.
#[inline(always)]
fn series<V: Simd, const B: usize, const ORDER: usize>(x: [V; B], mut roots: [V; B]) -> [V; B] {
    let [one, half, second, third] = [1.0, 0.5, 0.375, 0.3125].map(|c| V::splat(V::Scalar::of(c)));
    let (mut h, mut sum) = ([V::zero(); B], [V::zero(); B]);
    // An estimate of 12 bits has an exact square, so h has no error of rounding to speak of.
    for b in 0..B {
        h[b] = roots[b].mul(roots[b]);
    }
    for b in 0..B {
        h[b] = h[b].neg_mul_add(x[b], one);
    }
    for b in 0..B {
        sum[b] = match ORDER {
            1 => half,
            2 => h[b].mul_add(second, half),
            _ => h[b].mul_add(h[b].mul_add(third, second), half),
        };
    }
    for b in 0..B {
        h[b] = h[b].mul(roots[b]);
    }
    for b in 0..B {
        roots[b] = h[b].mul_add(sum[b], roots[b]);
    }
    roots
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

    const ROOT_SCALE: f64 = 2.0;

    #[inline(always)]
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        // SAFETY: module documentation.
        let roots = x.map(|x| Self(unsafe { _mm256_rsqrt_ps(x.0) }));
        if FULL { series::<_, B, 2>(x, roots) } else { newton(x, roots) }
    }

    #[inline(always)]
    fn where_above(self, x: Self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let above = _mm256_cmp_ps::<_CMP_GT_OQ>(x.0, threshold.0);
            Self(_mm256_and_ps(self.0, above))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_max_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_min_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, threshold.0)) != 0 }
    }

    #[inline(always)]
    fn product<const B: usize>(
        matrix: Matrix<'_, f32>,
        x: (&[Lanes<Self, B>], usize),
        y: (&mut [Lanes<Self, B>], usize),
    ) {
        // SAFETY: module documentation.
        unsafe { product_avx2_f32(matrix, x, y) }
    }

    #[inline(always)]
    fn run<K: Task<f32>>(task: K) -> K::Output {
        // SAFETY: module documentation.
        unsafe { with_avx2_f32(task) }
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

    // The estimate is one of single precision: squared distances are in units of the root box, where two distinct points
    // are at least 1e-17 apart, well inside the range of single precision.
    #[inline(always)]
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        // SAFETY: module documentation.
        let estimate =
            |x: Self| Self(unsafe { _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(x.0))) });
        let roots = x.map(estimate);
        if FULL { series::<_, B, 3>(x, roots) } else { series::<_, B, 2>(x, roots) }
    }

    #[inline(always)]
    fn where_above(self, x: Self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let above = _mm256_cmp_pd::<_CMP_GT_OQ>(x.0, threshold.0);
            Self(_mm256_and_pd(self.0, above))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0) })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_max_pd(self.0, other.0) })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm256_min_pd(self.0, other.0) })
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, threshold.0)) != 0 }
    }

    #[inline(always)]
    fn product<const B: usize>(
        matrix: Matrix<'_, f64>,
        x: (&[Lanes<Self, B>], usize),
        y: (&mut [Lanes<Self, B>], usize),
    ) {
        // SAFETY: module documentation.
        unsafe { product_avx2_f64(matrix, x, y) }
    }

    #[inline(always)]
    fn run<K: Task<f64>>(task: K) -> K::Output {
        // SAFETY: module documentation.
        unsafe { with_avx2_f64(task) }
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

    const ROOT_SCALE: f64 = 2.0;

    #[inline(always)]
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        // SAFETY: module documentation.
        let roots = x.map(|x| Self(unsafe { _mm512_rsqrt14_ps(x.0) }));
        if FULL { series::<_, B, 2>(x, roots) } else { newton(x, roots) }
    }

    #[inline(always)]
    fn where_above(self, x: Self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let above = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x.0, threshold.0);
            Self(_mm512_maskz_mov_ps(above, self.0))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_abs_ps(self.0) })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_min_ps(self.0, other.0) })
    }

    /// Four by four within the quarters of each vector, then the quarters.
    #[inline(always)]
    fn transpose(from: &mut [Self]) {
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
                let (t0, t1) =
                    (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
                let (t2, t3) =
                    (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
                v[i].0 = _mm512_shuffle_f32x4::<0x88>(t0, t2);
                v[i + 4].0 = _mm512_shuffle_f32x4::<0x88>(t1, t3);
                v[i + 8].0 = _mm512_shuffle_f32x4::<0xdd>(t0, t2);
                v[i + 12].0 = _mm512_shuffle_f32x4::<0xdd>(t1, t3);
            }
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, threshold.0) != 0 }
    }

    #[inline(always)]
    fn product<const B: usize>(
        matrix: Matrix<'_, f32>,
        x: (&[Lanes<Self, B>], usize),
        y: (&mut [Lanes<Self, B>], usize),
    ) {
        // SAFETY: module documentation.
        unsafe { product_avx512_f32(matrix, x, y) }
    }

    #[inline(always)]
    fn run<K: Task<f32>>(task: K) -> K::Output {
        // SAFETY: module documentation.
        unsafe { with_avx512_f32(task) }
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
    fn inverse_roots<const B: usize, const FULL: bool>(x: [Self; B]) -> [Self; B] {
        // SAFETY: module documentation.
        let roots = x.map(|x| Self(unsafe { _mm512_rsqrt14_pd(x.0) }));
        if FULL { series::<_, B, 3>(x, roots) } else { series::<_, B, 2>(x, roots) }
    }

    #[inline(always)]
    fn where_above(self, x: Self, threshold: Self) -> Self {
        // SAFETY: module documentation.
        unsafe {
            let above = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(x.0, threshold.0);
            Self(_mm512_maskz_mov_pd(above, self.0))
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_abs_pd(self.0) })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_max_pd(self.0, other.0) })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: module documentation.
        Self(unsafe { _mm512_min_pd(self.0, other.0) })
    }

    /// Two by two within the quarters of each vector, then the quarters.
    #[inline(always)]
    fn transpose(from: &mut [Self]) {
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
                let (t0, t1) =
                    (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b));
                let (t2, t3) =
                    (_mm512_shuffle_f64x2::<0x88>(c, d), _mm512_shuffle_f64x2::<0xdd>(c, d));
                v[i].0 = _mm512_shuffle_f64x2::<0x88>(t0, t2);
                v[i + 2].0 = _mm512_shuffle_f64x2::<0x88>(t1, t3);
                v[i + 4].0 = _mm512_shuffle_f64x2::<0xdd>(t0, t2);
                v[i + 6].0 = _mm512_shuffle_f64x2::<0xdd>(t1, t3);
            }
        }
    }

    #[inline(always)]
    fn any_at_most(self, threshold: Self) -> bool {
        // SAFETY: module documentation.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, threshold.0) != 0 }
    }

    #[inline(always)]
    fn product<const B: usize>(
        matrix: Matrix<'_, f64>,
        x: (&[Lanes<Self, B>], usize),
        y: (&mut [Lanes<Self, B>], usize),
    ) {
        // SAFETY: module documentation.
        unsafe { product_avx512_f64(matrix, x, y) }
    }

    #[inline(always)]
    fn run<K: Task<f64>>(task: K) -> K::Output {
        // SAFETY: module documentation.
        unsafe { with_avx512_f64(task) }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: module documentation.
        unsafe { _mm512_reduce_add_pd(self.0) }
    }
}
