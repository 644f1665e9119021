//! Integrals over pairs of triangles with linear densities.

use std::f64::consts::PI;

use bem::internals::geometry::Vec3;
use bem::internals::integrals::linear_pair::{
    double_layer, flat, single_layer, square, transposed,
};
use bem::internals::integrals::{
    Block, OuterQuadrature, Potential, Touching, WeightedPoints, solid_angle_over,
};
use bem::{PairQuadrature, Triangle};

fn sum(block: &Block) -> f64 {
    block.iter().flatten().sum()
}

fn apart(a: &Block, b: &Block) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Cuts of `s` until they agree to 1e-7: no edges, no conical rules.
fn by_cuts(s: &Triangle, t: &Triangle, potential: Potential, nodes: &mut WeightedPoints) -> Block {
    let sum = |nodes: &mut WeightedPoints| flat(nodes.sum_linear(s, t, potential));
    let (allowed, touching) = (1e-7 * s.area() * t.area().sqrt(), Touching::Logarithmic);
    let mut outer = OuterQuadrature { sum, allowed, touching, nodes };
    square(outer.adaptive(&s.vertices, s.area()))
}

fn cases() -> Vec<(Triangle, Triangle, serde_json::Value)> {
    let json: serde_json::Value =
        serde_json::from_str(include_str!("../../data/triangle_pairs.json")).unwrap();
    let triangle =
        |value: &serde_json::Value| Triangle::new(serde_json::from_value(value.clone()).unwrap());
    let of = |case: &serde_json::Value| {
        (triangle(&case["test"]), triangle(&case["trial"]), case.clone())
    };
    json["cases"].as_array().unwrap().iter().map(of).collect()
}

/// Entries add up to the integrals of constants, which have reference values, and each is that
/// of cuts.
#[test]
fn entries_match_reference_and_cuts() {
    let mut nodes = WeightedPoints::default();
    for (s, t, case) in cases() {
        let value = |key: &str| case[key].as_f64().unwrap();
        let digits = 10f64.powi(-case["digits"].as_i64().unwrap() as i32);
        let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
        for accuracy in [1e-4, 1e-6] {
            let block = single_layer(&s, &t, &PairQuadrature::new(accuracy, 0), &mut nodes);
            let whole = value("single_layer");
            assert!((sum(&block) / whole - 1.0).abs() < accuracy + digits, "{case} {accuracy}");
            let error = apart(&block, &exact) / whole;
            assert!(error < accuracy + 1e-7, "{case} {accuracy}: {error:.1e}");
        }
        let exact = by_cuts(&s, &t, Potential::Double, &mut nodes);
        for accuracy in [1e-4, 1e-6] {
            let block = double_layer(&s, &t, accuracy, &mut nodes);
            let unit = 2.0 * PI * s.area().min(t.area());
            let error = (sum(&block) - value("double_layer")).abs() / unit;
            assert!(error < 4.0 * accuracy + digits, "{case} {accuracy}: {error:.1e}");
            // One plane: cuts see rounding.
            if value("double_layer") != 0.0 {
                let error = apart(&block, &exact) / unit;
                assert!(error < accuracy + 1e-7, "{case} {accuracy}: {error:.1e}");
            }
        }
    }
}

/// Pairs that share nothing, an edge, a vertex, or a point of an edge, in one plane or folded,
/// of unlike sizes and shapes.
#[test]
fn entries_of_the_single_layer_match_cuts() {
    let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]];
    let pairs = [
        ("needle next to it", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.4, -0.02, 0.0]]),
        ("sharp fold", [[0.0, 0.0, 0.0], [0.3, 0.7, 0.05], [1.0, 0.0, 0.0]]),
        ("T junction", [[0.3, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, -0.7, 0.2]]),
        ("small at vertex", [[0.0, 0.0, 0.0], [-0.05, 0.02, 0.01], [-0.03, -0.04, 0.0]]),
        ("sheet", [[0.1, 0.0, 0.03], [1.1, 0.0, 0.03], [0.3, 0.8, 0.03]]),
        ("tilted sheet", [[0.1, 0.0, 0.03], [1.1, 0.0, 0.035], [0.3, 0.8, 0.03]]),
        ("in one plane", [[1.2, 0.0, 0.0], [1.9, 0.2, 0.0], [1.1, 0.9, 0.0]]),
    ];
    let mut nodes = WeightedPoints::default();
    for (name, t) in pairs {
        let (s, t) = (Triangle::new(s), Triangle::new(t));
        let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
        for accuracy in [1e-4, 1e-6] {
            for (s, t, exact) in [(&s, &t, exact), (&t, &s, transposed(exact))] {
                let block = single_layer(s, t, &PairQuadrature::new(accuracy, 0), &mut nodes);
                let error = apart(&block, &exact) / sum(&exact);
                assert!(error < accuracy + 1e-7, "{name} {accuracy}: {error:.1e}");
            }
        }
    }
}

/// Over and under a film or a gap much thinner than triangles are, long, turned and moved at
/// random: constants have the integrals along edges, and single entries those of cuts.
#[test]
fn entries_across_thin_gaps_match_edges_and_cuts() {
    let mut nodes = WeightedPoints::default();
    let mut seed = 55u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for gap in [0.1, 0.01, 1e-3, 1e-5, 1e-6] {
        for _ in 0..12 {
            let mut triangle = |height: f64, length: f64| {
                let mut at = || 2.0 * random() - 1.0;
                let tilt = 0.3 * height * at();
                let corners: [[f64; 3]; 3] = std::array::from_fn(|_| {
                    let [x, y] = [length * at(), 0.5 * at()];
                    [x, y, height + tilt * x / length]
                });
                Triangle::new(corners)
            };
            let (s, t) = (triangle(0.0, 1.0), triangle(gap, 4.0));
            for (s, t) in [(&s, &t), (&t, &s)] {
                let unit = 2.0 * PI * s.area().min(t.area());
                for accuracy in [1e-4, 1e-6, 1e-8] {
                    let whole = solid_angle_over(s, t, 1e-10, &mut nodes);
                    let block = double_layer(s, t, accuracy, &mut nodes);
                    let error = (sum(&block) - whole).abs() / unit;
                    assert!(error < 4.0 * accuracy, "{gap} {accuracy}: {error:.1e}");
                    let pair = PairQuadrature::new(accuracy, 0);
                    let whole = PairQuadrature::new(1e-10, 0).single_layer(s, t);
                    let error = (sum(&single_layer(s, t, &pair, &mut nodes)) / whole - 1.0).abs();
                    assert!(error < 2.0 * accuracy, "{gap} {accuracy}: {error:.1e}");
                }
                if gap == 0.1 {
                    let exact = by_cuts(s, t, Potential::Double, &mut nodes);
                    let error = apart(&double_layer(s, t, 1e-6, &mut nodes), &exact) / unit;
                    assert!(error < 1.2e-6, "{gap}: {error:.1e}");
                }
            }
        }
    }
}

/// Two triangles of each of four layers, which get thinner toward the x axis, around which they
/// are turned.
fn layers(thickness: f64, along: f64, fold: f64) -> Vec<Triangle> {
    let of_layer = |layer: i32| {
        let to = thickness * 0.25f64.powi(layer);
        let from = if layer == 3 { 0.0 } else { 0.25 * to };
        let at = |x: f64, y: f64| [x + along, y * fold.cos(), y * fold.sin()];
        let [a, b, c, d] = [at(0.0, from), at(1.0, from), at(1.0, to), at(0.0, to)];
        [Triangle::new([a, b, c]), Triangle::new([a, c, d])]
    };
    (0..4).flat_map(of_layer).collect()
}

/// Needles, as graded meshes have them next to edges, side by side, end to end and around an
/// edge: linear functions that are large where the planes meet must not show.
#[test]
fn entries_of_needles_match_finer_rules() {
    let mut nodes = WeightedPoints::default();
    let places = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.57), (1.0, 1.57), (0.0, 2.6), (0.3, 3.1)];
    for thickness in [0.3, 0.03, 3e-3] {
        for (along, fold) in places {
            let others = layers(thickness, along, fold);
            let own = layers(thickness, 0.0, 0.0);
            for (s, t) in own.iter().flat_map(|s| others.iter().map(move |t| (s, t))) {
                let mut of = |accuracy: f64| {
                    single_layer(s, t, &PairQuadrature::new(accuracy, 0), &mut nodes)
                };
                let exact = of(1e-9);
                for accuracy in [1e-4, 1e-6] {
                    let error = apart(&of(accuracy), &exact) / sum(&exact);
                    assert!(error < accuracy, "{thickness} {along} {fold}: {error:.1e}");
                }
            }
        }
    }
}

/// A sheet over another, at every angle between their planes, turned in space: no branch shows.
#[test]
fn entries_are_continuous_in_the_angle_between_the_planes() {
    let mut nodes = WeightedPoints::default();
    let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]].map(Vec3::from);
    let t = [[0.1, 0.0, 0.03], [1.1, 0.0, 0.03], [0.3, 0.8, 0.03]].map(Vec3::from);
    let turn = nalgebra::Rotation3::from_euler_angles(0.7, -1.1, 2.3);
    for angle in [0.0, 1e-17, 1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2] {
        let tilt = nalgebra::Rotation3::from_euler_angles(0.3 * angle, angle, 0.0);
        let (s, t) =
            (Triangle::of(s.map(|v| turn * v)), Triangle::of(t.map(|v| turn * (tilt * v))));
        let exact = by_cuts(&s, &t, Potential::Single, &mut nodes);
        let block = single_layer(&s, &t, &PairQuadrature::new(1e-6, 0), &mut nodes);
        let whole = PairQuadrature::new(1e-12, 0).single_layer(&s, &t);
        // Of nine entries each may have a quarter of the error of all.
        let error = (sum(&block) / whole - 1.0).abs();
        assert!(error < 1e-6, "{angle}: {error:.1e}");
        let error = apart(&block, &exact) / whole;
        assert!(error < 0.25e-6 + 1e-7, "{angle}: {error:.1e}");
    }
}

/// Overlapping sheets: entries of the double layer add up to the mean solid angle, which is
/// exact along edges.
#[test]
fn entries_of_the_double_layer_add_up_between_sheets() {
    let mut nodes = WeightedPoints::default();
    let s = Triangle::new([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.8, 0.0]]);
    // Closer ones are cut for a second (docs/reliability.md, open).
    for gap in [1e-1, 1e-2, 1e-3] {
        let t = Triangle::new([[0.13, 0.07, gap], [1.1, 0.02, gap], [0.3, 0.85, gap]]);
        let exact = solid_angle_over(&s, &t, 1e-10, &mut nodes);
        let block = double_layer(&s, &t, 1e-6, &mut nodes);
        let error = (sum(&block) - exact).abs() / (2.0 * PI * s.area().min(t.area()));
        // Nine entries, each to a quarter of the requested error.
        assert!(error < 9.0 * 0.25e-6, "{gap}: {error:.1e}");
    }
}

/// Pairs drawn at random that share an edge, a vertex, a point of an edge or nothing, in one plane
/// or folded along an edge, of unlike sizes: all keep the accuracy asked for.
#[test]
fn entries_of_random_pairs_keep_their_accuracy() {
    let mut nodes = WeightedPoints::default();
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut worst = [0.0f64; 4];
    for k in 0..1200 {
        let mut corner = || Vec3::new(random(), random(), random());
        let s = Triangle::of([corner(), corner(), corner()]);
        let fold: f64 = if k % 3 == 0 { 0.0 } else { 5.0 * random() - 2.5 };
        let away = s.edge_normals[0] * fold.cos() + s.normal * fold.sin();
        let size = [0.1, 0.5, 2.0][k / 4 % 3];
        let gap = if k % 4 == 3 { 0.2 * size * random() } else { 0.0 };
        let at = |from: f64, out: f64| {
            s.vertices[0] + s.tangents[0] * from * s.lengths[0] + away * (size * out + gap)
        };
        let apex = at(2.0 * random() - 0.5, 0.1 + random());
        let t = Triangle::of(match k % 4 {
            0 => [s.vertices[1], s.vertices[0], apex],
            1 => [s.vertices[0], at(-size * random(), 0.0), apex],
            2 => [at(random(), 0.0), at(1.0 + size * random(), random()), apex],
            _ => [at(random(), 0.0), at(random(), random()), apex],
        });
        let is_sliver = |t: &Triangle| t.area() < 0.05 * t.radius * t.radius;
        if is_sliver(&s) || is_sliver(&t) {
            continue;
        }
        let mut of =
            |accuracy: f64| single_layer(&s, &t, &PairQuadrature::new(accuracy, 0), &mut nodes);
        let exact = of(1e-11);
        for (worst, accuracy) in worst.iter_mut().zip([1e-4, 1e-5, 1e-6, 1e-7]) {
            let error = apart(&of(accuracy), &exact) / sum(&exact) / accuracy;
            *worst = worst.max(error);
        }
    }
    println!("{worst:.2?}");
    assert!(worst.iter().all(|worst| *worst < 1.0), "{worst:.2?}");
}
