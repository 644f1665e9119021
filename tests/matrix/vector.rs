//! Vectors of three numbers, and distances from triangles.

pub type Point = [f64; 3];

pub fn add(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] + b[k])
}

pub fn sub(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

pub fn scaled(a: Point, by: f64) -> Point {
    a.map(|x| x * by)
}

pub fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn norm(a: Point) -> f64 {
    dot(a, a).sqrt()
}

pub fn cross(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        a[i] * b[j] - a[j] * b[i]
    })
}

/// A matrix, given by its rows, times a vector.
pub fn times(rows: [Point; 3], x: Point) -> Point {
    rows.map(|row| dot(row, x))
}

/// Distance of a point from a triangle.
pub fn distance(x: Point, [a, b, c]: [Point; 3]) -> f64 {
    let n = cross(sub(b, a), sub(c, a));
    let within = |p: Point, q: Point| dot(cross(sub(q, p), sub(x, p)), n) >= 0.0;
    if within(a, b) && within(b, c) && within(c, a) {
        return dot(sub(x, a), n).abs() / norm(n);
    }
    let edge = |p: Point, q: Point| {
        let along = sub(q, p);
        let t = (dot(sub(x, p), along) / dot(along, along)).clamp(0.0, 1.0);
        norm(sub(x, add(p, scaled(along, t))))
    };
    edge(a, b).min(edge(b, c)).min(edge(c, a))
}
