//! Potentials and solid angles of triangles, in lanes and plain.

use bem::Triangle;
use bem::internals::geometry::Vec3;
use bem::internals::integrals::WeightedPoints;

#[test]
fn lanes_match_the_scalar_twin() {
    let mut seed = 3u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut nodes = WeightedPoints::default();
    for round in 0..3000 {
        // Every third triangle is a needle, some points are on it or in its plane.
        let thin = if round % 3 == 0 { 1e-4 } else { 1.0 };
        let corner = |u: f64, v: f64, w: f64| Vec3::new(u, thin * v, w);
        let source =
            Triangle::of(std::array::from_fn(|_| corner(random(), random(), 0.3 * random())));
        let [p, q, s] = source.vertices;
        let mut points = vec![p, (p + q) * 0.5, (p + q + s) / 3.0, p + (q - p) * 2.0];
        points.extend((0..13).map(|_| Vec3::new(random(), random(), random()) * 3.0));
        points.push(p + (q - p) * random() + source.normal * 1e-9);
        let (mut exact, mut size) = (0.0, 0.0);
        nodes.clear();
        for x in &points {
            let weight = random();
            nodes.push(x, weight);
            exact += weight * source.potential_at(x);
            size += (weight * source.potential_at(x)).abs();
        }
        let found = nodes.sum_potential(&source);
        // In both, terms of the size of distances up to 3 cancel against a potential of
        // area / distance.
        let allowed = 1e-14 * size + 1e-13;
        assert!((found - exact).abs() < allowed, "{round}: {found} {exact}");
        // In the plane rounding decides on which side a point is.
        nodes.clear();
        let mut exact = 0.0;
        for x in points.iter().filter(|x| (*x - p).dot(&source.normal).abs() > 1e-6) {
            let weight = random();
            nodes.push(x, weight);
            exact += weight * source.solid_angle_at(x);
        }
        let found = nodes.sum_solid_angle(&source);
        // Heights and distances are differences of coordinates: some 1e-16 against 1e-6 at
        // worst.
        assert!((found - exact).abs() < 1e-8, "{round}: {found} {exact}");
    }
}
