use farad::internals::marking::{LEAST_STRETCH, LONG, MOST_BENT, evenness, with_needles};
use mesh::{Mesh, curved};

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

/// A side that ends at the long one is marked: of needles the longest, too, or alone.
#[test]
fn the_longest_needles_are_cut_across_alone() {
    let marked = |height: f64| {
        let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, height, 0.0]];
        let mesh = Mesh { vertices, triangles: vec![[0, 1, 2]], ..Mesh::default() };
        let mut marked = vec![(0, 2)];
        with_needles(&mesh, &mut marked);
        marked
    };
    assert_eq!(marked(1.0 / 500.0), [(0, 2)]);
    assert_eq!(marked(1.0 / 1000.0), [(0, 2), (1, 2)]);
    assert_eq!(marked(1.0 / 2000.0), [(1, 2)]);
}
