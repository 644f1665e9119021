use mesh::creases::Creases;
use mesh::internals::locate::to_triangle;
use mesh::internals::proximity::between_triangles;
use mesh::proximity::{Part, Surfaces};
use mesh::vector::{Vector, add, norm, scale, sub};
use mesh::{Mesh, split};

use crate::testing::rectangles;

fn long_sides(mesh: &Mesh, surface: &[Option<u32>], ratio: f64) -> Vec<(u32, u32)> {
    let Some(surfaces) = Surfaces::new(mesh, surface) else { return Vec::new() };
    let all: Vec<u32> = (0..surface.len() as u32).collect();
    surfaces.long_sides(Part { mesh, surface }, &all, ratio)
}

/// The mesh after rounds until no side is long.
fn refined(of: &[[Vector; 3]], ratio: f64) -> (Mesh, Vec<Option<u32>>) {
    let (mut mesh, mut surface) = rectangles(of);
    for _ in 0..40 {
        let long = long_sides(&mesh, &surface, ratio);
        if long.is_empty() {
            return (mesh, surface);
        }
        let split = split::edges(&mesh, &Creases::default(), &long, |_| 0.5).unwrap();
        surface = split.parent.iter().map(|&t| surface[t as usize]).collect();
        mesh = split.mesh;
    }
    panic!("no end");
}

/// Against the least distance of points of a fine grid on both.
#[test]
fn distances_of_triangles_are_those_of_their_nearest_points() {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let places = |[a, b, c]: [Vector; 3]| {
        let all = (0..=40).flat_map(|i| (0..=40 - i).map(move |j| (i, j)));
        let at = move |(i, j)| {
            let (s, t) = (f64::from(i) / 40.0, f64::from(j) / 40.0);
            add(scale(1.0 - s - t, a), add(scale(s, b), scale(t, c)))
        };
        all.map(at).collect::<Vec<_>>()
    };
    for case in 0..200 {
        let mut triangle = |z: f64| [0; 3].map(|_| [random(), random(), z + 0.4 * random()]);
        let (mut s, mut t) = (triangle(0.0), triangle(0.5));
        if case % 4 == 0 {
            // Parallel ones, and parallel sides.
            s.iter_mut().for_each(|x| x[2] = 0.0);
            t.iter_mut().for_each(|x| x[2] = 0.1);
            t[1] = add(t[0], sub(s[1], s[0]));
        }
        let found = norm(between_triangles(s, t));
        let grid = places(s).into_iter().map(|x| norm(to_triangle(x, t)));
        let least = grid.fold(f64::MAX, f64::min);
        assert!(found <= least + 1e-12 && found > least - 0.03, "{case}: {found} {least}");
        let back = norm(between_triangles(t, s));
        assert!((found - back).abs() < 1e-12 * (1.0 + found), "{case}: {found} {back}");
    }
}

#[test]
fn parallel_plates_are_as_fine_as_they_are() {
    for gap in [1e-3, 0.1, 1.0] {
        let plate = |z: f64| [[0.0, 0.0, z], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let (mesh, surface) = rectangles(&[plate(0.0), plate(gap)]);
        assert_eq!(long_sides(&mesh, &surface, 1.0), []);
        // One surface, or none, is near nothing.
        assert_eq!(long_sides(&mesh, &[Some(3); 4], 1.0), []);
        assert_eq!(long_sides(&mesh, &[None; 4], 1.0), []);
    }
}

/// A strip over the middle of a plane, not over any of its vertices: triangles are small under
/// the strip's sides, and grow away from them and along the strip.
#[test]
fn a_plane_is_fine_under_the_sides_of_a_strip() {
    let plane = [[-50.0, -50.0, 0.0], [100.0, 0.0, 0.0], [0.0, 100.0, 0.0]];
    let mut counts = Vec::new();
    for height in [3.0, 0.3, 0.03] {
        let strip = [[-30.3, 7.1, height], [60.0, 0.0, 0.0], [0.0, 0.9, 0.0]];
        let (mesh, surface) = refined(&[plane, strip], 2.0);
        // Of triangles between the strip's ends: how near its sides they are, and how wide.
        let of_triangle = |t: usize| {
            let corners = mesh.corners(t);
            let is_between = corners.iter().all(|x| (-30.3..29.7).contains(&x[0]));
            let off = |x: &Vector| (x[1] - 7.1).abs().min((x[1] - 8.0).abs()).hypot(height);
            let near = corners.iter().map(off).fold(f64::MAX, f64::min);
            let across = corners.map(|x| x[1]);
            let [low, high] = [f64::min, f64::max].map(|of| across.into_iter().reduce(of));
            (surface[t] == Some(0) && is_between).then(|| (near, high.unwrap() - low.unwrap()))
        };
        let found = (0..mesh.triangles.len()).filter_map(of_triangle);
        let widest = found.filter(|(near, _)| *near < 1.5 * height);
        let widest = widest.fold(0.0f64, |most, (_, wide)| most.max(wide));
        // Each corner sees the strip no more than twice that distance away.
        let most = 2.0 * 2.0 * 1.5 * height + 0.9;
        assert!((0.01 * height..most).contains(&widest), "{height}: {widest}");
        counts.push(mesh.triangles.len());
    }
    // By less than the inverse of the height.
    assert!(counts[2] < 40 * counts[0], "{counts:?}");
}
