//! What screening changes in integrals over pairs of triangles.

use std::f64::consts::PI;

use bem::Triangle;
use bem::internals::geometry::Vec3;
use bem::internals::integrals::{Block, Potential, Screening, WeightedPoints};
use bem::internals::quadrature::{line, triangle};

fn of(v: [[f64; 3]; 3]) -> Triangle {
    Triangle::new(v)
}

/// The change of int_T 1/|x - y| or of int_T n_y . (x - y) / |x - y|^3: about the foot of x in the
/// plane, integrals along the radius are elementary.
fn inner(x: &Vec3, t: &Triangle, kappa: f64, layer: Potential) -> f64 {
    let z = (x - t.vertices[0]).dot(&t.normal);
    // Of the kernel minus 1/r or z/r^3, times r dr.
    let primitive = |r: f64| match layer {
        Potential::Single => -(-kappa * r).exp_m1() / kappa - r,
        Potential::Double if r == 0.0 => 0.0,
        Potential::Double => -z * (-kappa * r).exp_m1() / r,
    };
    let foot = x - t.normal * z;
    let mut sum = 0.0;
    for i in 0..3 {
        let (a, b) = (t.vertices[i] - foot, t.vertices[(i + 1) % 3] - foot);
        let along = (b - a).normalize();
        let outward = along.cross(&t.normal);
        let h = a.dot(&outward);
        if h.abs() < 1e-14 {
            continue;
        }
        // On the edge at s = h sinh(tau); the angle is d tau / cosh(tau).
        let [from, to] = [a, b].map(|v| (v.dot(&along) / h.abs()).asinh());
        let parts = ((to - from).abs() / 0.7).ceil().max(1.0);
        for part in 0..parts as usize {
            let step = (to - from) / parts;
            for node in line(16) {
                let tau = from + step * (part as f64 + node.at);
                let r = (h * tau.cosh()).hypot(z);
                let value = primitive(r) - primitive(z.abs());
                sum += node.weight * step * h.signum() * value / tau.cosh();
            }
        }
    }
    sum
}

/// The integral of `inner` over a triangle, cut in four until rules agree.
fn outer(v: [Vec3; 3], f: &dyn Fn(&Vec3) -> f64, allowed: f64, cuts: usize) -> f64 {
    let area = 0.5 * (v[1] - v[0]).cross(&(v[2] - v[0])).norm();
    let by = |degree: usize| -> f64 {
        let nodes = triangle(degree).iter();
        let at = |b: [f64; 3]| v[0] * b[0] + v[1] * b[1] + v[2] * b[2];
        area * nodes.map(|node| node.weight * f(&at(node.barycentric))).sum::<f64>()
    };
    let (low, high) = (by(9), by(13));
    if (low - high).abs() <= allowed || cuts == 0 {
        return high;
    }
    let [a, b, c] = v;
    let (p, q, r) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
    [[a, p, r], [p, b, q], [r, q, c], [p, q, r]]
        .into_iter()
        .map(|part| outer(part, f, 0.4 * allowed, cuts - 1))
        .sum()
}

fn sum(block: &Block) -> f64 {
    block.as_flattened().iter().sum()
}

/// Size of which errors are shares.
fn unit(s: &Triangle, t: &Triangle, layer: Potential) -> f64 {
    match layer {
        Potential::Single => s.area() * t.potential(t.vertices[0].into()).max(t.area().sqrt()),
        Potential::Double => 2.0 * PI * s.area().min(t.area()),
    }
}

/// Pairs that are the same, share an edge or a vertex, nearly touch or are far, long and thin ones,
/// and of unlike sizes.
fn pairs() -> Vec<(&'static str, Triangle, Triangle)> {
    let s = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.8, 0.0]];
    let needle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.45, 0.02, 0.0]];
    let over = |v: [[f64; 3]; 3], h: f64| v.map(|[x, y, z]| [x + 0.1, y - 0.05, z + h]);
    let list = [
        ("the same", s, s),
        ("the same needle", needle, needle),
        ("edge, flat", s, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.6, -0.7, 0.0]]),
        ("edge, folded", s, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.6, -0.1, 0.7]]),
        ("edge, sharp", s, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.4, 0.7, 0.06]]),
        ("edge, needle", s, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.4, -0.01, 0.02]]),
        ("vertex", s, [[0.0, 0.0, 0.0], [-0.8, 0.1, 0.3], [-0.2, -0.9, 0.1]]),
        ("vertex, folded back", s, [[0.0, 0.0, 0.0], [0.7, 0.3, 0.2], [0.3, 0.9, 0.1]]),
        ("T junction", s, [[0.3, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, -0.2, 0.7]]),
        ("facing at a quarter", s, over(s, 0.25)),
        ("facing at 1/50", s, over(s, 0.02)),
        ("next to it at 1/50", s, [[1.0, -0.02, 0.0], [0.0, -0.02, 0.0], [0.6, -0.4, 0.5]]),
        ("small over large", s.map(|v| v.map(|x| 0.1 * x)), over(s, 0.03)),
        ("needle over", s, over(needle, 0.1)),
        ("next but one", s, [[1.6, 0.2, 0.1], [2.4, 0.0, 0.5], [1.9, 0.9, 0.3]]),
        ("far", s, [[3.6, 0.2, 0.1], [4.4, 0.0, 0.5], [3.9, 0.9, 0.3]]),
    ];
    list.map(|(name, s, t)| (name, of(s), of(t))).into()
}

const LAYERS: [Potential; 2] = [Potential::Single, Potential::Double];

/// The largest error of the sums of blocks against radial integrals, as a share of the accuracy.
fn worst(name: &str, [s, t]: [&Triangle; 2], kappa: f64) -> f64 {
    let mut nodes = WeightedPoints::default();
    let mut worst = 0.0f64;
    for layer in LAYERS {
        let size = unit(s, t, layer);
        let f = |x: &Vec3| inner(x, t, kappa, layer);
        let expected = outer(s.vertices, &f, 1e-8 * size, 9);
        for accuracy in [1e-4, 1e-6] {
            let start = std::time::Instant::now();
            let block = Screening { kappa, accuracy }.between(s, t, layer, &mut nodes);
            let time = 1e3 * start.elapsed().as_secs_f64();
            let error = (sum(&block) - expected).abs() / size;
            println!("{name} {kappa} {layer:?} {accuracy:.0e}: error {error:.1e}, {time:.2} ms");
            worst = worst.max(error / accuracy);
        }
    }
    worst
}

/// Against radial integrals in closed form and cuts, at lengths of panels from a thousandth of the
/// screening length to thirty of them.
#[test]
fn sums_of_blocks_are_those_of_radial_integrals() {
    for (name, s, t) in pairs() {
        for kappa in [1e-3, 0.1, 1.0, 10.0, 30.0] {
            let worst = worst(name, [&s, &t], kappa);
            assert!(worst < 1.0, "{name} {kappa}: {worst}");
        }
    }
}

#[test]
fn sums_of_blocks_of_random_triangles_are_those_of_radial_integrals() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..24 {
        let mut point = || [random(), random(), random()];
        let (a, b, c, d) = (point(), point(), point(), point());
        let beyond = [point(), point()].map(|[x, y, z]| [x + 1.0, y, z]);
        // Sharing an edge, a vertex, nothing.
        let t = match case % 3 {
            0 => [b, a, d],
            1 => [a, d.map(|x| -x), [-d[0], d[2], -d[1]]],
            _ => [d.map(|x| x + 1.0), beyond[0], beyond[1]],
        };
        let (s, t) = (of([a, b, c]), of(t));
        let kappa = 10f64.powf(3.0 * random() - 1.5) / s.area().sqrt();
        let worst = worst(&format!("{case}"), [&s, &t], kappa);
        assert!(worst < 1.0, "{s:?} {t:?} {kappa}: {worst}");
    }
}

/// Entries of linear functions are those of the quarters of both triangles.
#[test]
fn blocks_are_those_of_quarters() {
    let quarters = |v: &Triangle| -> [Triangle; 4] {
        let [a, b, c] = v.vertices;
        let (p, q, r) = ((a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5);
        [[a, p, r], [p, b, q], [r, q, c], [p, q, r]].map(|v| of(v.map(Into::into)))
    };
    let hats = |whole: &Triangle, part: &Triangle| part.vertices.map(|v| whole.barycentric(&v));
    let mut nodes = WeightedPoints::default();
    for (name, s, t) in pairs() {
        for (kappa, layer) in
            [(1.0, LAYERS[0]), (1.0, LAYERS[1]), (10.0, LAYERS[0]), (10.0, LAYERS[1])]
        {
            let screening = Screening { kappa, accuracy: 1e-6 };
            let whole = screening.between(&s, &t, layer, &mut nodes);
            let mut parts = Block::default();
            for a in &quarters(&s) {
                for b in &quarters(&t) {
                    let block = screening.between(a, b, layer, &mut nodes);
                    let (rows, columns) = (hats(&s, a), hats(&t, b));
                    for (m, row) in rows.iter().enumerate() {
                        for (n, column) in columns.iter().enumerate() {
                            for k in 0..3 {
                                (0..3)
                                    .for_each(|l| parts[k][l] += row[k] * block[m][n] * column[l]);
                            }
                        }
                    }
                }
            }
            let pairs = whole.as_flattened().iter().zip(parts.as_flattened());
            let error = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let size = unit(&s, &t, layer);
            println!("{name} {kappa} {layer:?}: {:.1e}", error / size);
            assert!(error < 1e-6 * size, "{name} {kappa} {layer:?}: {:.1e}", error / size);
        }
    }
}
