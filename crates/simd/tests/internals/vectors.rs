//! Every level compared with known numbers, and with one lane.

use simd::{Array, Elementary, Level, MAX_LANES, One, Real, Simd, Task, dispatch, scalars_mut};

/// Each operation on pseudo-random lanes, gathered into one vector of results.
struct Operations;

impl<T: Real> Task<T> for Operations {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) -> Vec<f64> {
        let mut out = Vec::new();
        let value = |i: usize| T::of(((i * 7919 + 13) % 101) as f64 / 37.0);
        let one = V::splat(T::of(1.0));
        for base in (0..64).step_by(V::LANES) {
            let lanes = |offset: usize| -> Vec<T> {
                (0..V::LANES).map(|l| value(base + l + offset)).collect()
            };
            let (a, b, c) = (V::load(&lanes(0)), V::load(&lanes(64)), V::load(&lanes(128)));
            let [root] = V::inverse_roots::<1, true>([a]);
            let mut results = [
                a.add(b),
                a.sub(b),
                a.mul(b),
                a.mul_add(b, c),
                a.neg_mul_add(b, c),
                a.add(one).exponent_less(b.mul(b).add(one)),
                root.zero_unless_above(a, V::zero()),
            ];
            out.extend(scalars_mut(&mut results).iter().map(|x| x.to_f64()));
        }
        // In an order that does not depend on the number of lanes.
        out.sort_by(f64::total_cmp);
        out
    }
}

/// Operations with exact results, and permutations of lanes.
struct Exact;

impl<T: Real> Task<T> for Exact {
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
        assert_eq!(columns[0].quick_sum().to_f64(), total);
        let counted: Vec<T> = (0..n).map(|i| T::of(1.0 + i as f64)).collect();
        let (v, of) = (V::load(&counted), |value| V::splat(T::of(value)));
        let results = [
            v.add(of(0.5)),
            v.sub(of(0.5)),
            v.mul(of(0.5)),
            v.div(of(0.5)),
            v.mul_add(v, of(0.5)),
            v.neg_mul_add(v, of(0.5)),
            v.mul(v).sqrt(),
            V::zero().sub(v).abs(),
            v.min(of(1.5)),
            v.max(of(1.5)),
            v.where_above(of(1.5), V::zero(), v),
            v.zero_unless_above(v, of(1.5)),
            v.mantissa(),
            v.exponent_less(of(0.5)),
        ];
        for (i, x) in counted.iter().map(|x| x.to_f64()).enumerate() {
            let exponent = x.log2().floor();
            let exact = [
                x + 0.5,
                x - 0.5,
                x * 0.5,
                x / 0.5,
                x * x + 0.5,
                0.5 - x * x,
                x,
                x,
                x.min(1.5),
                x.max(1.5),
                if x > 1.5 { 0.0 } else { x },
                if x > 1.5 { x } else { 0.0 },
                x / exponent.exp2(),
                exponent + 1.0,
            ];
            for (found, exact) in results.iter().zip(exact) {
                assert_eq!(found.lanes()[i].to_f64(), exact);
            }
        }
        assert!(v.any_at_most(of(1.0)) && !v.any_at_most(of(0.5)));
        let mut doubles = [0.5; MAX_LANES];
        columns[0].add_to_doubles(&mut doubles);
        for (lane, double) in doubles.iter().enumerate() {
            assert_eq!(*double, 0.5 + if lane < n { lane as f64 } else { 0.0 });
        }
    }
}

fn agree<T: Real>(tolerance: f64) {
    let expected = One::<T>::run(Operations);
    let check = |name: &str, found: Vec<f64>| {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{name}: {a} {b}");
        }
    };
    for level in Level::available() {
        dispatch::<T, _>(level, Exact);
        check(level.name(), dispatch::<T, _>(level, Operations));
    }
    // The baseline of other processors than x86-64.
    Array::<T, 2>::run(Exact);
    check("2 lanes", Array::<T, 2>::run(Operations));
    Array::<T, 4>::run(Exact);
    check("4 lanes", Array::<T, 4>::run(Operations));
}

#[test]
fn every_level_agrees_with_one_lane() {
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
                let root = root.lanes()[0];
                *worst = worst.max((root.to_f64() / scale * x.to_f64().sqrt() - 1.0).abs());
            }
        }
        worst
    }
}

#[test]
fn inverse_roots_are_as_good_as_they_say() {
    for level in Level::available() {
        let [rough, full] = dispatch::<f64, _>(level, Roots);
        assert!(rough < 1.3e-10 && full < 1e-13, "{level:?} {rough:e} {full:e}");
        let [rough, full] = dispatch::<f32, _>(level, Roots);
        assert!(rough < 3e-7 && full < 1.2e-7, "{level:?} {rough:e} {full:e}");
    }
}

/// The largest relative errors of powers of two that are not full, and of those that are.
struct Powers;

impl<T: Real> Task<T> for Powers {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<V: Simd<Scalar = T>>(self) -> [f64; 2] {
        let mut worst = [0.0f64; 2];
        let range = if T::IS_SINGLE { 125.0 } else { 1021.0 };
        for i in -40_000..=40_000 {
            let x = T::of(range * (f64::from(i) / 40_000.0).powi(3));
            let exact = x.to_f64().exp2();
            let [rough] = V::powers_of_two::<1, false>([V::splat(x)]);
            let [full] = V::powers_of_two::<1, true>([V::splat(x)]);
            for (worst, found) in worst.iter_mut().zip([rough, full]) {
                *worst = worst.max((found.lanes()[V::LANES - 1].to_f64() / exact - 1.0).abs());
            }
        }
        let least = V::splat(T::of(-1e30));
        for [value] in [V::powers_of_two::<1, true>([least]), V::powers_of_two::<1, false>([least])]
        {
            assert!((0.0..1e-37).contains(&value.lanes()[0].to_f64()));
        }
        worst
    }
}

#[test]
fn powers_of_two_are_as_good_as_they_say() {
    for level in Level::available() {
        let [rough, full] = dispatch::<f64, _>(level, Powers);
        assert!(rough < 6e-11 && full < 6e-16, "{level:?} {rough:e} {full:e}");
        let [rough, full] = dispatch::<f32, _>(level, Powers);
        assert!(rough < 3e-7 && full < 2e-7, "{level:?} {rough:e} {full:e}");
    }
}

fn close(found: f64, exact: f64, scale: f64) {
    assert!((found - exact).abs() <= 4.0 * f64::EPSILON * scale, "{found} {exact}");
}

struct Functions;

impl Task<f64> for Functions {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd<Scalar = f64>>(self) {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..20_000 {
            let mut of = |f: &dyn Fn(f64) -> f64| -> [f64; f64::MAX_LANES] {
                std::array::from_fn(|_| f(random()))
            };
            // Ratios from 1e-200 to 1e200, many of them close to 1.
            let a = of(&|u| 10f64.powf(200.0 * (u - 0.5)));
            let b = of(&|u| 10f64.powf(200.0 * (u - 0.5)));
            let mut c = of(&|u| 1.0 + (u - 0.5).powi(5));
            c.iter_mut().zip(&a).for_each(|(c, a)| *c *= a);
            for (n, d) in [(a, b), (a, c), (a, a)] {
                let found = V::ln_ratio(V::load(&n), V::load(&d)).lanes();
                for i in 0..V::LANES {
                    let exact = ((n[i] - d[i]) / d[i]).ln_1p();
                    let exact = if exact.abs() < 1.0 { exact } else { n[i].ln() - d[i].ln() };
                    // The difference of logarithms itself is rounded.
                    let scale = exact.abs() + if exact.abs() < 1.0 { 0.0 } else { 200.0 };
                    close(found[i], exact, scale.max(1e-3));
                }
            }
            let y = of(&|u| 10f64.powf(20.0 * (u - 0.5)));
            let x = of(&|u| (2.0 * u - 1.0).powi(7));
            let found = V::atan2_above(V::load(&y), V::load(&x)).lanes();
            let on_axis = V::atan2_above(V::zero(), V::load(&x)).lanes();
            for i in 0..V::LANES {
                let exact = y[i].atan2(x[i]);
                close(found[i], exact, exact);
                close(on_axis[i], 0f64.atan2(x[i]), 1.0);
            }
        }
        // Ends of the range, halves of ln 2 (where n changes), small numbers and all in between.
        let mut exponents = vec![0.0, -708.0, 709.0, 1e-300, -1e-300, 1e-17, -1e-9];
        exponents.extend((-40..40).map(|n| (f64::from(n) + 0.5) * std::f64::consts::LN_2));
        exponents.extend((0..20_000).map(|_| 1417.0 * random() - 708.0));
        exponents.extend((0..20_000).map(|_| 4.0 * random() - 2.0));
        for x in exponents {
            let exact = x.exp();
            let [full, rough] =
                [V::splat(x).exp(), V::splat(x).rough_exp()].map(|v| v.lanes()[V::LANES - 1]);
            assert!((full / exact - 1.0).abs() < 4e-16 + 2e-16, "{x}: {full:e} {exact:e}");
            assert!((rough / exact - 1.0).abs() < 1.1e-8, "{x}: {rough:e} {exact:e}");
        }
        for x in [-709.0, -1e5, -f64::MAX, f64::NEG_INFINITY] {
            assert_eq!(V::splat(x).exp().lanes()[0], V::splat(-708.0).exp().lanes()[0]);
        }
        assert_eq!(V::atan2_above(V::zero(), V::zero()).lanes()[0], 0.0);
        let counted: [f64; f64::MAX_LANES] = std::array::from_fn(|i| i as f64);
        for scale in [1e-30, 1e-3, 1.0, 1e30] {
            let roots = V::load(&counted).mul(V::splat(scale)).rsqrt_or_zero().lanes();
            assert_eq!(roots[0], 0.0);
            for i in 1..V::LANES {
                let exact = 1.0 / (i as f64 * scale).sqrt();
                assert!((roots[i] / exact - 1.0).abs() < 1e-13);
            }
        }
    }
}

#[test]
fn functions_match_those_of_the_standard_library() {
    for level in Level::available() {
        dispatch(level, Functions);
    }
}
