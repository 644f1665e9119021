use farad::internals::marking::{LEAST_STRETCH, LONG, MOST_BENT, evenness};
use mesh::curved;

#[test]
fn long_triangles_are_uneven_where_their_sides_are_bent() {
    let bent = |width: f64| {
        let corners = [[0.0; 3], [width, 0.0, 0.0], [0.5 * width, 1.0, 0.0]];
        let mut nodes = curved::straight(2, corners);
        nodes[3][2] += 2.0 * MOST_BENT;
        evenness(2, &nodes)
    };
    assert!(bent(0.9 * LONG) > LEAST_STRETCH && bent(1.1 * LONG) < LEAST_STRETCH);
    assert!(bent(8.0) < LEAST_STRETCH);
}
