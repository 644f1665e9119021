use mesh::internals::repair::cut::{Point, pieces};
use proptest::prelude::*;

const CORNERS: [Point; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];

fn twice_area(points: &[Point], [a, b, c]: [usize; 3]) -> f64 {
    let [a, b, c] = [a, b, c].map(|i| points[i]);
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

#[test]
fn lines_become_edges() {
    let mut points = CORNERS.to_vec();
    points.extend([[0.25, 0.0], [0.0, 0.5], [0.5, 0.5], [0.25, 0.25], [0.3, 0.4]]);
    // From side to side, through a point on the way.
    let found = pieces(&points, &[[3, 4], [3, 5], [5, 4]]).unwrap();
    let has = |a, b| found.iter().any(|t| t.contains(&a) && t.contains(&b));
    assert!(has(3, 4) && has(3, 5) && has(5, 4));
    let sum: f64 = found.iter().map(|&t| twice_area(&points, t)).sum();
    assert_eq!(sum, 1.0);
    assert_eq!(pieces(&points, &[[3, 5], [0, 5], [1, 4]]), None, "lines that cross");
    // Through a point on the way, and up to it; seen from either end.
    for line in [[0, 5], [5, 0], [0, 6], [6, 5]] {
        let found = pieces(&points, &[line]).unwrap();
        let has = |a, b| found.iter().any(|t| t.contains(&a) && t.contains(&b));
        assert!(line[0].min(line[1]) != 0 || has(0, 6), "{line:?}");
        assert!(line[0].max(line[1]) != 5 && line[1] != 5 || has(6, 5), "{line:?}");
    }
}

proptest! {
    /// Points on a coarse grid lie on each other's lines often.
    #[test]
    fn pieces_fill_the_triangle(
        grid in prop::collection::hash_set((0u32..8, 0u32..8), 1..20),
        ends in prop::collection::vec((0usize..20, 0usize..20), 0..6),
    ) {
        let mut points = CORNERS.to_vec();
        let corners = [(0, 0), (8, 0), (0, 8)];
        let inside = grid.iter().filter(|(x, y)| x + y <= 8 && !corners.contains(&(*x, *y)));
        points.extend(inside.map(|&(x, y)| [f64::from(x) / 8.0, f64::from(y) / 8.0]));
        let n = points.len();
        let lines: Vec<[usize; 2]> = ends.iter().map(|&(p, q)| [p % n, q % n]).collect();
        if let Some(found) = pieces(&points, &lines) {
            let areas: Vec<f64> = found.iter().map(|&t| twice_area(&points, t)).collect();
            prop_assert!(areas.iter().all(|area| *area > 0.0));
            prop_assert_eq!(areas.iter().sum::<f64>(), 1.0);
        } else {
            prop_assert!(!lines.is_empty());
        }
    }
}
