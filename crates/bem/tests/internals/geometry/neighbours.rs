//! The search for panels near each other.

use bem::internals::geometry::{Neighbours, Vec3};

#[test]
fn walks_find_what_a_plain_search_finds() {
    let mut seed = 11u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for n in [1, 7, 300] {
        // In no order of space: boxes overlap, and a few panels reach far.
        let centroids: Vec<Vec3> =
            (0..n).map(|i| Vec3::new(i as f64 * 0.02 + random(), random(), random())).collect();
        let reach: Vec<f64> =
            (0..n).map(|i| if i % 40 == 0 { 2.0 } else { 0.3 * random() }).collect();
        let search = Neighbours::new(&centroids, &reach);
        let plain = |x: &Vec3, own: f64| -> Vec<u32> {
            let near = |j: &usize| (centroids[*j] - x).norm_squared() < own.max(reach[*j]).powi(2);
            (0..n).filter(near).map(|j| j as u32).collect()
        };
        let mut walk = search.walk();
        // One after another, and by leaps.
        for i in (0..n).chain((0..n).map(|i| i * 101 % n)) {
            let mut found = Vec::new();
            walk.of(i, &mut found);
            assert_eq!(found, plain(&centroids[i], reach[i]));
        }
        for _ in 0..50 {
            let x = Vec3::new(6.0 * random(), random(), random());
            let mut found = Vec::new();
            search.around(&x, &mut found);
            assert_eq!(found, plain(&x, 0.0));
        }
    }
}
