//! Arithmetic of points and vectors in three dimensions.

/// A point or a vector.
pub type Vector = [f64; 3];

/// a + b.
#[inline]
pub fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// a - b.
#[inline]
pub fn sub(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// s a.
#[inline]
pub fn scale(s: f64, a: Vector) -> Vector {
    [s * a[0], s * a[1], s * a[2]]
}

/// The scalar product.
#[inline]
pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product a x b.
#[inline]
pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The normal of a triangle, as long as twice its area.
#[inline]
pub fn area_normal([a, b, c]: [Vector; 3]) -> Vector {
    cross(sub(b, a), sub(c, a))
}

/// The longest side of a triangle.
#[inline]
pub fn longest_side([a, b, c]: [Vector; 3]) -> f64 {
    norm(sub(b, a)).max(norm(sub(c, b))).max(norm(sub(a, c)))
}

/// The length.
#[inline]
pub fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// The largest component by absolute value.
#[inline]
pub fn max_norm(a: Vector) -> f64 {
    a[0].abs().max(a[1].abs()).max(a[2].abs())
}
