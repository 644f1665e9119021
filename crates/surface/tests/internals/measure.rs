use mesh::vector::{Vector, add, scale};
use surface::internals::measure::measure;

#[test]
fn flat_triangles_are_exact() {
    let [a, b, c] = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]];
    let half = |p: Vector, q: Vector| scale(0.5, add(p, q));
    let [area, volume] = measure(&[a, b, c, half(a, b), half(b, c), half(c, a)]);
    assert!((area - 3.5).abs() < 1e-13 && (volume - 1.0).abs() < 1e-13);
}
