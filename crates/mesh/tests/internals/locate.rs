use mesh::generate::{ConcentricSpheres, Cube, Resolution, Sphere, SphereBase, Torus};
use mesh::internals::locate::{distance_squared, meeting, solid_angle};
use mesh::locate::Locator;
use mesh::vector::{Vector, add, scale, sub};
use proptest::prelude::*;

const RESOLUTION: Resolution = Resolution::Elements(2000);

fn exact(locator: &Locator, point: Vector) -> f64 {
    let angles = locator.corners.iter().map(|corners| solid_angle(point, *corners));
    angles.sum::<f64>() / (4.0 * std::f64::consts::PI)
}

#[test]
fn windings_of_a_torus_are_whole_next_to_its_surface() {
    let torus = Torus { ring_radius: 2.0, tube_radius: 0.5, resolution: RESOLUTION };
    let locator = Locator::new(&torus.build().unwrap());
    for k in 0..400 {
        let angle = f64::from(k) * 0.37;
        let r = 0.01 + 0.02 * f64::from(k);
        let point = [r * angle.cos(), r * angle.sin(), 0.3 * (3.0 * angle).sin()];
        let tube = (point[0].hypot(point[1]) - 2.0).hypot(point[2]);
        let winding = locator.winding_number(point);
        assert!((winding - exact(&locator, point)).abs() < 0.02, "{point:?} {winding}");
        // The facets lie up to 3 % of the tube's radius inside it.
        if (tube - 0.5).abs() > 0.03 {
            assert_eq!(locator.contains(point), tube < 0.5, "{point:?} {winding}");
        }
    }
}

#[test]
fn between_two_spheres_the_winding_is_one() {
    let spheres = ConcentricSpheres {
        inner_radius: 1.0,
        outer_radius: 2.0,
        base: SphereBase::Icosahedron,
        resolution: RESOLUTION,
    };
    let locator = Locator::new(&spheres.build().unwrap());
    for (radius, winding) in [(0.5, 2.0), (1.5, 1.0), (2.5, 0.0), (100.0, 0.0)] {
        let found = locator.winding_number([radius, 0.0, 0.0]);
        assert!((found - winding).abs() < 0.02, "{radius}: {found}");
    }
}

#[test]
fn distances_to_a_triangle_by_region() {
    let triangle = [[0.0; 3], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    for (point, distance) in [
        ([0.5, 0.5, 3.0], 3.0),
        ([-1.0, -1.0, 0.0], 2f64.sqrt()),
        ([1.0, -2.0, 0.0], 2.0),
        ([2.0, 2.0, 0.0], 2f64.sqrt()),
        ([5.0, 0.0, 4.0], 5.0),
        ([1.0, 1.0, 0.0], 0.0),
    ] {
        // Also of triangles much smaller and larger than the unit.
        for unit in [1e-3, 1.0, 1e3] {
            let (point, corners) = (scale(unit, point), triangle.map(|v| scale(unit, v)));
            let off = distance_squared(point, corners).sqrt() - unit * distance;
            assert!(off.abs() < 1e-15 * unit, "{point:?}");
        }
    }
    // A triangle without area is a segment.
    let flat = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]];
    assert_eq!(distance_squared([1.0, 0.0, 3.0], flat), 9.0);
}

/// A line through the edge between two triangles meets one of them or none for sure, but never
/// what is behind them.
#[test]
fn no_line_slips_through_an_edge() {
    let resolution = Resolution::Elements(48);
    let cube = |edge: f64| Cube { edge, grade: 1.0, resolution }.build().unwrap();
    let (inner, mut both) = (cube(1.0), cube(1.0));
    let outer = cube(5.0);
    let first = both.vertices.len() as u32;
    both.vertices.extend(&outer.vertices);
    both.triangles.extend(outer.triangles.iter().map(|t| t.map(|v| v + first)));
    both.membership.resize(both.triangles.len(), 0);
    let middle = [0, 1, 2]
        .map(|k| inner.vertices.iter().map(|v| v[k]).sum::<f64>() / inner.vertices.len() as f64);
    let shift = [0, 1, 2].map(|k| {
        outer.vertices.iter().map(|v| v[k]).sum::<f64>() / outer.vertices.len() as f64 - middle[k]
    });
    both.vertices[first as usize..].iter_mut().for_each(|v| *v = sub(*v, shift));
    for turn in 0..50 {
        let (s, c) = (0.1 * f64::from(turn) + 0.03).sin_cos();
        let turned = |v: Vector| {
            let [x, y, z] = [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]];
            [x, 0.8 * y - 0.6 * z, 0.6 * y + 0.8 * z]
        };
        let mut mesh = both.clone();
        mesh.vertices.iter_mut().for_each(|v| *v = turned(*v));
        let locator = Locator::new(&mesh);
        let from = turned(add(middle, [0.01, 0.02, 0.03]));
        for triangle in &inner.triangles {
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                let [a, b] = [a, b].map(|k| turned(inner.vertices[triangle[k] as usize]));
                let to = scale(0.5, add(a, b));
                let hit = locator.first_hit(from, sub(to, from), u32::MAX);
                assert!(hit.is_none_or(|hit| hit.along < 1.0 + 1e-9), "{turn}: {hit:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn the_tree_finds_what_a_line_meets_first(
        from in prop::array::uniform3(-3.0f64..3.0),
        to in prop::array::uniform3(-1.0f64..1.0),
    ) {
        let torus = Torus { ring_radius: 2.0, tube_radius: 0.5, resolution: RESOLUTION };
        let locator = Locator::new(&torus.build().unwrap());
        let direction = sub(to, from);
        let all = locator.corners.iter().filter_map(|corners| meeting(from, direction, *corners));
        let first = all.map(|(along, _)| along).fold(f64::INFINITY, f64::min);
        match locator.first_hit(from, direction, u32::MAX) {
            Some(hit) => {
                prop_assert_eq!(hit.along, first);
                // The place is on that triangle.
                let place = add(from, scale(hit.along, direction));
                let off = distance_squared(place, locator.corners[hit.triangle as usize]).sqrt();
                prop_assert!(off < 1e-12, "{}", off);
                let next = locator.first_hit(from, direction, hit.triangle);
                prop_assert!(next.is_none_or(|next| next.along > hit.along));
            }
            None => prop_assert!(first.is_infinite()),
        }
    }

    #[test]
    fn the_tree_finds_the_nearest_triangle(point in prop::array::uniform3(-3.0f64..3.0)) {
        let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution: RESOLUTION };
        let locator = Locator::new(&sphere.build().unwrap());
        let all = locator.corners.iter().map(|corners| distance_squared(point, *corners));
        let least = all.fold(f64::INFINITY, f64::min).sqrt();
        let nearest = locator.nearest(point).unwrap();
        prop_assert_eq!(nearest.distance, least);
        let corners = locator.corners[nearest.triangle as usize];
        prop_assert_eq!(distance_squared(point, corners).sqrt(), least);
    }
}
