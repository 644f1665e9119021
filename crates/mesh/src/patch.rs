//! Curved triangles: polynomials in the barycentric coordinates of a triangle.
//!
//! A patch of order p goes through (p + 1)(p + 2) / 2 nodes, that of barycentric coordinates
//! (i, j, k) / p for each i + j + k = p. They are in Gmsh's order: the corners, then those on the
//! sides from corner to corner (0 to 1, 1 to 2, 2 to 0), then those within as a triangle of order
//! p - 3. Its Lagrange polynomials are products of one-dimensional ones (Silvester, Int. J. Eng.
//! Sci. 7 (1969) 849).

/// The highest order of patches.
pub const MAX_ORDER: usize = 4;

/// Nodes of a patch of that order.
pub const MAX_NODES: usize = node_count(MAX_ORDER);

/// Nodes of a patch of an order.
pub const fn node_count(order: usize) -> usize {
    (order + 1) * (order + 2) / 2
}

/// The nodes of a patch in order, as multiples (i, j, k) of 1 / `order` in barycentric coordinates.
pub fn node_places(order: usize) -> Vec<[usize; 3]> {
    match order {
        0 => vec![[0; 3]],
        _ => {
            let corners: [[usize; 3]; 3] = [[order, 0, 0], [0, order, 0], [0, 0, order]];
            let mut places = corners.to_vec();
            for k in 0..3 {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                let between = |s| std::array::from_fn(|m| (a[m] * (order - s) + b[m] * s) / order);
                places.extend((1..order).map(between));
            }
            if order >= 3 {
                places.extend(node_places(order - 3).into_iter().map(|p| p.map(|i| i + 1)));
            }
            places
        }
    }
}

/// P_i(t) = t (t - 1) ... (t - i + 1) / i! and its derivative.
fn factor(i: usize, t: f64) -> [f64; 2] {
    (0..i).fold([1.0, 0.0], |[value, slope], s| {
        let (s, divisor) = (s as f64, (s + 1) as f64);
        [value * (t - s) / divisor, (slope * (t - s) + value) / divisor]
    })
}

/// Lagrange polynomials of the nodes at barycentric coordinates, and their derivatives by the
/// second and the third coordinate where the first is one minus these: `[value, by_1, by_2]` for
/// each node.
pub fn shapes(order: usize, barycentric: [f64; 3]) -> Vec<[f64; 3]> {
    let p = order as f64;
    let shape = |place: [usize; 3]| {
        let [a, b, c] = std::array::from_fn(|m| factor(place[m], p * barycentric[m]));
        let by_first = a[1] * b[0] * c[0];
        [
            a[0] * b[0] * c[0],
            p * (a[0] * b[1] * c[0] - by_first),
            p * (a[0] * b[0] * c[1] - by_first),
        ]
    };
    node_places(order).into_iter().map(shape).collect()
}
