use mesh::outlines::{
    Polygon, Region, covers, difference, filled, grown, intersection, touch, union,
};
use mesh::prisms::Point;

fn area(region: &Region) -> f64 {
    let twice = |ring: &Vec<Point>| -> f64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
    };
    region.iter().flatten().map(|ring| 0.5 * twice(ring)).sum()
}

fn square(low: f64, high: f64) -> Polygon {
    vec![vec![[low, low], [high, low], [high, high], [low, high]]]
}

#[test]
fn thousands_of_polygons_on_top_of_each_other_are_united_in_a_moment() {
    // Each crosses two thousand others; found by fuzzing, where it was memory that ran out.
    let wedge = |k: i32| {
        let x = f64::from(k);
        vec![vec![[x, 0.0], [1000.0 + x, 0.0], [1000.0 + x, 900.0]]]
    };
    let many = 5_000;
    let region = union(&(0..=many).map(wedge).collect::<Vec<_>>());
    // What one has beyond the one before it is a strip 1 wide, 899.1 to 900 high.
    let expected = 450e3 + 899.55 * f64::from(many);
    let found = area(&region);
    // Corners are rounded to whole numbers: teeth of the upper side.
    assert!((found - expected).abs() < 0.5 * f64::from(many), "{found} {expected}");
    assert_eq!(region.len(), 1);
}

#[test]
fn polygons_touch_at_sides_corners_and_inside() {
    let large = square(0.0, 100.0);
    let ring = [large.clone(), square(20.0, 80.0)].concat();
    for (other, expected) in [
        (square(100.0, 120.0), true),
        (square(101.0, 120.0), false),
        (square(40.0, 60.0), false),
        (square(40.0, 80.0), true),
        (square(10.0, 15.0), true),
        (square(-10.0, 200.0), true),
    ] {
        assert_eq!(touch(&ring, &other), expected, "{other:?}");
        assert_eq!(touch(&other, &ring), expected, "{other:?}");
    }
    assert!(touch(&large, &square(40.0, 60.0)));
    // A slanted side that misses the corner of the square by very little.
    let over = |y: f64| vec![vec![[101.0, y], [300.0, y], [0.0, 1e9 + y], [0.0, 1e9]]];
    assert!(!touch(&large, &over(0.0)));
    let wedge = |x: f64| vec![vec![[100.0, 100.0 + x], [300.0, -100.0 + x], [300.0, 400.0]]];
    assert!(touch(&large, &wedge(0.0)) && !touch(&large, &wedge(1e-9)));
    for (at, expected) in [([0.0, 50.0], true), ([50.0, 50.0], false), ([10.0, 20.0], true)] {
        assert_eq!(covers(&ring, at), expected);
    }
}

#[test]
fn what_is_wound_around_twice_is_filled() {
    let ring = [[0.0, 0.0], [90.0, 0.0], [90.0, 90.0], [0.0, 90.0], [0.0, 10.0], [80.0, 10.0]];
    let more = [[80.0, 80.0], [10.0, 80.0], [10.0, 0.0]];
    let found = filled(&[&ring[..], &more[..]].concat());
    // The corner at the origin stays outside; the middle is no hole.
    assert_eq!(area(&found), 8000.0);
}

#[test]
fn areas_of_squares_are_exact() {
    let [large, small] = [square(0.0, 1000.0), square(400.0, 600.0)];
    let both = union(&[large.clone(), square(900.0, 1100.0)]);
    assert_eq!(area(&both), 1e6 + 3e4);
    // The hole runs the same way as the outline.
    let ring = union(&[[large.clone(), small.clone()].concat()]);
    assert_eq!(area(&ring), 1e6 - 4e4);
    assert_eq!(area(&difference(&vec![large.clone()], &vec![small.clone()])), 1e6 - 4e4);
    assert_eq!(area(&intersection(&both, &vec![square(950.0, 2000.0)])), 150.0 * 150.0);
    assert_eq!(area(&grown(&ring, 50.0)), 1100.0 * 1100.0 - 100.0 * 100.0);
}
