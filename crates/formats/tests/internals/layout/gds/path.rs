use std::f64::consts::PI;

use formats::internals::gds::path::outline;
use formats::internals::gds::stream::{Ends, Path};
use mesh::outlines::Region;
use mesh::prisms::Point;

fn area(region: &Region) -> f64 {
    let twice = |ring: &Vec<Point>| -> f64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum()
    };
    region.iter().flatten().map(|ring| 0.5 * twice(ring)).sum()
}

fn path(points: &[Point], width: f64, ends: Ends) -> Path {
    Path { points: points.to_vec(), width, is_absolute: false, ends }
}

#[test]
fn ends_and_corners_have_their_areas() {
    let of = |path: &Path| area(&outline(path, |at| at, 1.0));
    let line = [[0.0, 0.0], [100.0, 0.0]];
    assert_eq!(of(&path(&line, 20.0, Ends::Square([0.0; 2]))), 2000.0);
    assert_eq!(of(&path(&line, 20.0, Ends::Square([10.0; 2]))), 2400.0);
    assert_eq!(of(&path(&line, 20.0, Ends::Square([5.0, -7.0]))), 1960.0);
    let round = of(&path(&line, 200.0, Ends::Round));
    assert!((round / (20000.0 + PI * 1e4) - 1.0).abs() < 5e-3, "{round}");
    // A right angle has its whole corner; a loop that crosses itself has no hole there.
    let bend = [[0.0, 0.0], [100.0, 0.0], [100.0, 100.0]];
    assert_eq!(of(&path(&bend, 20.0, Ends::Square([0.0; 2]))), 4000.0);
    let around = [[0.0, 0.0], [200.0, 0.0], [200.0, 100.0], [100.0, 100.0], [100.0, -100.0]];
    let found = outline(&path(&around, 20.0, Ends::Square([0.0; 2])), |at| at, 1.0);
    assert_eq!((found.len(), found[0].len()), (1, 2));
    assert_eq!(area(&found), 20.0 * 600.0 - 400.0);
    // 45 degrees: the sum of a miter's two sides is what its inner side lacks.
    let slant = [[0.0, 0.0], [1000.0, 0.0], [2000.0, 1000.0]];
    let exact = 200.0 * (1000.0 + 1000.0 * 2f64.sqrt());
    let found = of(&path(&slant, 200.0, Ends::Square([0.0; 2])));
    assert!((found / exact - 1.0).abs() < 1e-3, "{found} {exact}");
    // There and back: an end of half the width.
    let back = [[0.0, 0.0], [100.0, 0.0], [0.0, 0.0]];
    assert_eq!(of(&path(&back, 20.0, Ends::Square([0.0; 2]))), 2200.0);
}

#[test]
fn points_alone_and_lines_without_width() {
    let of = |path: &Path| area(&outline(path, |at| at, 2.0));
    assert_eq!(of(&path(&[[3.0, 3.0]], 20.0, Ends::Square([10.0; 2]))), 1600.0);
    assert_eq!(of(&path(&[[3.0, 3.0]], 20.0, Ends::Square([0.0; 2]))), 0.0);
    assert_eq!(of(&path(&[[3.0, 3.0], [9.0, 3.0]], 0.0, Ends::Round)), 0.0);
    let absolute =
        Path { is_absolute: true, ..path(&[[0.0, 0.0], [8.0, 0.0]], 4.0, Ends::Square([0.0; 2])) };
    assert_eq!(of(&absolute), 32.0);
}
