//! Integrals over pairs of curved panels.

use bem::PairQuadrature;
use bem::internals::geometry::Vec3;
use bem::internals::geometry::patch::Patch;
use bem::internals::integrals::curved::{CurvedPair, Entries, Kernel, Scratch};
use bem::internals::integrals::curved_potentials::{self, Wanted};
use bem::internals::quadrature;
use bem::internals::quadrature::modes::{MODES, modes};
use mesh::patch::node_places;

/// A piece of a sphere of radius 1 around the origin, or flat: corners, turned and moved.
fn patch(order: usize, corners: [[f64; 3]; 3], is_round: bool) -> Patch {
    let node = |place: [usize; 3]| {
        let x: Vec3 =
            (0..3).map(|k| Vec3::from(corners[k]) * (place[k] as f64 / order as f64)).sum();
        if is_round { x.normalize() } else { x }
    };
    let nodes: Vec<Vec3> = node_places(order).into_iter().map(node).collect();
    Patch::through(order, &nodes)
}

fn size(entries: &Entries) -> f64 {
    entries.iter().flatten().fold(0.0, |most: f64, e| most.max(e.abs()))
}

fn off(a: &Entries, b: &Entries) -> f64 {
    a.iter()
        .flatten()
        .zip(b.iter().flatten())
        .fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
}

/// Rows by a rule of high degree over potentials at points.
fn by_points(kernel: Kernel, s: &Patch, t: &Patch) -> Entries {
    let mut sum = Entries::default();
    for node in quadrature::triangle(23) {
        let [_, u, v] = node.barycentric;
        let wanted = if kernel == Kernel::Single { Wanted::Potential } else { Wanted::Gradient };
        let found = curved_potentials::at(t, &s.at([u, v]), wanted, 1e-9);
        let of_modes = modes(node.barycentric);
        for l in 0..MODES {
            let value = match kernel {
                Kernel::Single => found.potential[l],
                _ => found.gradient[l].dot(&s.normal([u, v])),
            };
            for m in 0..MODES {
                sum[m][l] += node.weight * of_modes[m] * value;
            }
        }
    }
    sum
}

#[test]
fn pairs_are_what_potentials_at_points_give() {
    let (a, b) = ([0.9, 0.1, 0.2], [0.8, 0.5, 0.1]);
    let unit = |x: [f64; 3]| <[f64; 3]>::from(Vec3::from(x).normalize());
    let (a, b, c, d, e, f) = (
        unit(a),
        unit(b),
        unit([0.8, 0.3, 0.5]),
        unit([0.9, 0.4, -0.2]),
        unit([0.7, -0.2, 0.1]),
        unit([0.7, 0.8, 0.4]),
    );
    let (g, h) = (unit([0.6, 0.9, 0.1]), unit([0.5, 0.9, 0.5]));
    let pairs = [
        ("same", [a, b, c], [a, b, c], 2e-4),
        ("edge", [a, b, c], [b, a, d], 1e-4),
        ("vertex", [a, b, c], [d, a, e], 2e-6),
        ("near", [a, b, c], [f, g, h], 1e-8),
    ];
    let mut scratch = Scratch::default();
    let mut missed = Vec::new();
    for order in [2, 3, 4] {
        for (name, s, t, by_rule) in pairs {
            let (s, t) = (patch(order, s, true), patch(order, t, true));
            for kernel in [Kernel::Single, Kernel::Adjoint] {
                let with = |accuracy: f64, scratch: &mut Scratch| {
                    let quadrature = PairQuadrature::new(accuracy, 0);
                    CurvedPair::new(kernel, quadrature, accuracy).entries(&s, &t, scratch)[0]
                };
                let exact = with(1e-9, &mut scratch);
                // Solid angles are relative to 2 pi.
                let size = size(&exact).max(if kernel == Kernel::Single { 0.0 } else { 4.0 });
                for accuracy in [1e-4, 1e-6, 1e-8] {
                    let started = std::time::Instant::now();
                    let found = off(&with(accuracy, &mut scratch), &exact) / size;
                    let took = started.elapsed();
                    println!("{name} {order} {kernel:?} {accuracy:e}: {found:.1e} {took:?}");
                    // Integrals to 1e-9 are no better than the closed forms of the flat ones.
                    if found > accuracy.max(1e-7) {
                        missed.push(format!("{name} {order} {kernel:?} {accuracy:e}: {found:.1e}"));
                    }
                }
                // The rule's own error at edges that both share.
                let found = off(&by_points(kernel, &s, &t), &exact) / size;
                println!("{name} order {order} {kernel:?} by points: {found:.1e}");
                let allowed = if kernel == Kernel::Single { by_rule } else { 20.0 * by_rule };
                if found > allowed {
                    missed.push(format!("{name} {order} {kernel:?} by points: {found:.1e}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Pieces of two spheres that face each other across gaps much smaller than they are, one above
/// the other and crosswise.
#[test]
fn panels_that_face_each_other_are_integrated() {
    let unit = |x: [f64; 3]| <[f64; 3]>::from(Vec3::from(x).normalize());
    let corners = [[1.0, 0.0, 0.0], [1.0, 0.2, 0.0], [1.0, 0.1, 0.2]].map(unit);
    let across = [[1.0, 0.07, 0.02], [1.0, 0.12, 0.25], [1.0, 0.25, 0.1]].map(unit);
    let (mut scratch, mut missed) = (Scratch::default(), Vec::new());
    for gap in [0.03, 1e-3] {
        for (name, below) in [("above", corners), ("across", across)] {
            let s = patch(2, corners, true);
            let scaled = |x: Vec3| x * (1.0 - gap);
            let nodes: Vec<Vec3> = patch(2, below, true).nodes().map(scaled).collect();
            let t = Patch::through(2, &nodes);
            for kernel in [Kernel::Single, Kernel::Adjoints] {
                let with = |accuracy: f64, scratch: &mut Scratch| {
                    let quadrature = PairQuadrature::new(accuracy, 0);
                    CurvedPair::new(kernel, quadrature, accuracy).entries(&s, &t, scratch)
                };
                // By other means: a rule of high degree over potentials at points.
                let [exact, _] = with(1e-6, &mut scratch);
                let by_rule = by_points(kernel, &s, &t);
                println!("{name} {gap:e} {kernel:?} by points {:.1e}", off(&by_rule, &exact));
                let size = size(&exact).max(if kernel == Kernel::Single { 0.0 } else { 4.0 });
                // The rule's own error where solid angles jump at the other's sides.
                let allowed = if kernel == Kernel::Single { 2e-3 } else { 0.1 };
                if off(&by_rule, &exact) > allowed * size {
                    missed.push(format!("{name} {gap:e} {kernel:?} by points"));
                }
                for accuracy in [1e-4, 1e-5] {
                    let started = std::time::Instant::now();
                    let [found, _] = with(accuracy, &mut scratch);
                    let took = started.elapsed();
                    let found = off(&found, &exact) / size;
                    println!("{name} {gap:e} {kernel:?} {accuracy:e}: {found:.1e} {took:?}");
                    // Solid angles across the narrower gap are no better than that.
                    let least = if kernel == Kernel::Single { 0.0 } else { 1e-3 };
                    if found > accuracy.max(least) {
                        missed.push(format!("{name} {gap:e} {kernel:?} {accuracy:e}"));
                    }
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Long panels that curve along each other, with a common edge, half of one, and none.
#[test]
fn long_panels_and_those_without_common_corners_are_cut() {
    let (mut scratch, mut missed) = (Scratch::default(), Vec::new());
    let arc = |angle: f64, z: f64| [angle.cos(), angle.sin(), z];
    let cylinder = |corners: [[f64; 2]; 3]| {
        let node = |place: [usize; 3]| {
            let at =
                |k: usize| -> f64 { (0..3).map(|c| corners[c][k] * place[c] as f64 / 2.0).sum() };
            Vec3::from(arc(at(0), at(1)))
        };
        Patch::through(2, &node_places(2).into_iter().map(node).collect::<Vec<Vec3>>())
    };
    // Eight times as long as wide, and as curved as wide.
    let s = cylinder([[0.0, 0.0], [0.4, 0.0], [0.0, 0.05]]);
    let others = [
        ("itself", s),
        ("along its long edge", cylinder([[0.4, 0.0], [0.0, 0.0], [0.4, -0.05]])),
        ("with half an edge", cylinder([[0.2, 0.0], [0.0, 0.0], [0.2, -0.05]])),
        ("next to it", cylinder([[0.1, -0.01], [0.0, -0.01], [0.1, -0.06]])),
    ];
    for (name, t) in others {
        for kernel in [Kernel::Single, Kernel::Adjoint] {
            let with = |accuracy: f64, scratch: &mut Scratch| {
                let quadrature = PairQuadrature::new(accuracy, 0);
                CurvedPair::new(kernel, quadrature, accuracy).entries(&s, &t, scratch)[0]
            };
            let exact = with(1e-9, &mut scratch);
            let size = size(&exact).max(if kernel == Kernel::Single { 0.0 } else { 4.0 });
            for accuracy in [1e-4, 1e-6] {
                let started = std::time::Instant::now();
                let found = off(&with(accuracy, &mut scratch), &exact) / size;
                println!(
                    "{name} {kernel:?} {accuracy:e}: {found:.1e} of {size:.1e} {:?}",
                    started.elapsed()
                );
                if found > 2.0 * accuracy {
                    missed.push(format!("{name} {kernel:?} {accuracy:e}: {found:.1e}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Rows by rules on halves of the first panel, cut until they agree, over potentials at points.
fn by_halves(s: &Patch, t: &Patch, allowed: f64) -> Entries {
    type Part = [[f64; 2]; 3];
    let over = |part: &Part| {
        let mut sum = Entries::default();
        let [a, b, c] = part;
        let share = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        let rule = quadrature::triangle(9);
        let places: Vec<[f64; 2]> = rule
            .iter()
            .map(|node| {
                let [x, y, z] = node.barycentric;
                [0, 1].map(|k| x * a[k] + y * b[k] + z * c[k])
            })
            .collect();
        for (node, [u, v]) in rule.iter().zip(places) {
            let found = curved_potentials::at(t, &s.at([u, v]), Wanted::Potential, 1e-6);
            let of_modes = modes([1.0 - u - v, u, v]);
            for l in 0..MODES {
                for m in 0..MODES {
                    sum[m][l] += share.abs() * node.weight * of_modes[m] * found.potential[l];
                }
            }
        }
        sum
    };
    let halves = |part: &Part| {
        let at = |[u, v]: [f64; 2]| s.at([u, v]);
        let length = |k: usize| (at(part[(k + 1) % 3]) - at(part[k])).norm();
        let k = (0..3).fold(0, |k, l| if length(l) > length(k) { l } else { k });
        let [a, b, c] = [0, 1, 2].map(|l| part[(k + l) % 3]);
        let middle = [0, 1].map(|l| 0.5 * (a[l] + b[l]));
        [[a, middle, c], [middle, b, c]]
    };
    let mut sum = Entries::default();
    let whole = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let mut parts = vec![(whole, over(&whole), 0)];
    while let Some((part, value, cuts)) = parts.pop() {
        let both = halves(&part).map(|half| (half, over(&half), cuts + 1));
        let mut added = both[0].1;
        let second = both[1].1.as_flattened();
        added.as_flattened_mut().iter_mut().zip(second).for_each(|(sum, value)| *sum += value);
        if off(&added, &value) <= allowed || cuts >= 24 {
            let values = added.as_flattened();
            sum.as_flattened_mut().iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        } else {
            parts.extend(both);
        }
    }
    sum
}

/// A piece of a disk of radius 1, with corners by angle and distance from the rim.
fn ring(corners: [[f64; 2]; 3]) -> Patch {
    let node = |place: [usize; 3]| {
        let at = |k: usize| -> f64 { (0..3).map(|c| corners[c][k] * place[c] as f64 / 4.0).sum() };
        let r = 1.0 - at(1);
        Vec3::new(r * at(0).cos(), r * at(0).sin(), 0.0)
    };
    Patch::through(4, &node_places(4).into_iter().map(node).collect::<Vec<Vec3>>())
}

/// Narrow panels of a disk that bend along each other, as layers along its rim have.
#[test]
fn narrow_panels_in_a_plane_that_bend_along_each_other_are_integrated() {
    let (mut scratch, mut missed) = (Scratch::default(), Vec::new());
    // The last ones deviate from flat triangles by eleven times their height.
    for (angle, height) in [(0.1, 0.01), (0.04, 1e-4), (0.3, 1e-3)] {
        let s = ring([[0.0, 0.0], [angle, 0.0], [0.0, height]]);
        let others = [
            ("itself", s),
            ("along its long edge", ring([[0.0, height], [angle, 0.0], [angle, height]])),
            ("beyond its short edge", ring([[0.0, 0.0], [-angle, 0.0], [0.0, height]])),
            (
                "at its acute corner",
                ring([[angle, 0.0], [2.0 * angle, 0.0], [2.0 * angle, height]]),
            ),
            (
                "at its other corner",
                ring([[0.0, height], [0.5 * angle, height], [0.0, 3.0 * height]]),
            ),
            ("across a layer", ring([[0.0, 2.0 * height], [angle, height], [angle, 4.0 * height]])),
        ];
        for (name, t) in others {
            let with = |accuracy: f64, scratch: &mut Scratch| {
                let quadrature = PairQuadrature::new(accuracy, 0);
                CurvedPair::new(Kernel::Single, quadrature, accuracy).entries(&s, &t, scratch)[0]
            };
            let exact = with(1e-6, &mut scratch);
            let size = size(&exact);
            for accuracy in [1e-4, 1e-5] {
                let started = std::time::Instant::now();
                let found = off(&with(accuracy, &mut scratch), &exact) / size;
                let took = started.elapsed();
                println!("{angle} x {height:e} {name} {accuracy:e}: {found:.1e} {took:?}");
                if found > accuracy {
                    missed.push(format!("{angle} x {height:e} {name} {accuracy:e}: {found:.1e}"));
                }
            }
            // By other means, which leave a few times what they allow for a part.
            let is_quick =
                height > 1e-3 || name == "along its long edge" || name == "across a layer";
            if is_quick && angle < 0.3 {
                let found = off(&by_halves(&s, &t, 3e-6 * size), &exact) / size;
                println!("{angle} x {height:e} {name} by halves: {found:.1e}");
                if found > 4e-5 {
                    missed.push(format!("{angle} x {height:e} {name} by halves: {found:.1e}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Potentials may be off by what is allowed in place of the accuracy, but by a share of themselves
/// at most.
#[test]
fn potentials_of_pairs_may_be_off_by_what_is_allowed() {
    let (mut scratch, mut missed) = (Scratch::default(), Vec::new());
    let quadrature = PairQuadrature::new(1e-6, 0);
    let pair = CurvedPair::new(Kernel::Single, quadrature, 1e-6);
    let mut is_looser = false;
    for (angle, height) in [(0.1, 0.01), (0.04, 1e-3)] {
        let s = ring([[0.0, 0.0], [angle, 0.0], [0.0, height]]);
        for t in [s, ring([[0.0, height], [angle, 0.0], [angle, height]])] {
            let [exact, _] = pair.entries(&s, &t, &mut scratch);
            let potential = exact[0][0];
            for share in [1e-5, 1e-4, 1e-3, 1.0] {
                let looser = pair.allowing(share * potential);
                let found = off(&looser.entries(&s, &t, &mut scratch)[0], &exact) / potential;
                is_looser |= found > 1e-5;
                if found > share.min(1e-3) {
                    missed.push(format!("{angle} x {height:e}, {share:e}: {found:.1e}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(is_looser);
}

/// Potentials to few digits are those of triangles that touch the panel, to more those of its
/// parts; on the panel, its edges and corners, too.
#[test]
fn potentials_to_few_digits_are_those_to_many() {
    let round = [[0.9, 0.1, 0.2], [0.8, 0.5, 0.1], [0.8, 0.3, 0.5]];
    let round = round.map(|x| <[f64; 3]>::from(Vec3::from(x).normalize()));
    let panels = [
        ("wide", patch(2, round, true)),
        ("bent", ring([[0.0, 0.0], [0.3, 0.0], [0.0, 0.02]])),
        ("narrow", ring([[0.0, 0.0], [0.1, 0.0], [0.1, 0.005]])),
        ("needle", ring([[0.0, 0.0], [0.04, 0.0], [0.0, 1e-4]])),
    ];
    let mut missed = Vec::new();
    for (name, panel) in panels {
        let normal = panel.normal([0.3, 0.3]).normalize();
        let size = (panel.at([1.0, 0.0]) - panel.at([0.0, 0.0])).norm();
        let places = [
            [0.3, 0.3],
            [0.6, 0.3],
            [0.6, 0.4],
            [0.5, 0.0],
            [0.0, 0.5],
            [0.0, 0.0],
            [0.05, 0.9],
            [-0.3, 0.4],
            [1.4, -0.6],
            [2.0, 2.0],
        ];
        for place in places {
            for height in [0.0, 0.02, 0.7, 2.0] {
                let x = panel.at(place) + height * size * normal;
                let at = |accuracy| curved_potentials::at(&panel, &x, Wanted::Potential, accuracy);
                let (few, many) = (at(1e-4).potential, at(1e-8).potential);
                let found = few.iter().zip(many).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                if found > 3e-4 * many[0] {
                    let found = found / many[0];
                    missed.push(format!("{name}, {place:?}, {height}: {found:.1e}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
