use std::f64::consts::PI;

use farad::internals::films::rims::{Across, Inner, OF_GROUND, Rims};
use mesh::vector::{Vector, add};

const CUTOFF: f64 = 0.02;

/// Sums over midpoints off the metal and on it, between the cutoff and the middle.
fn check(field: impl Fn(f64) -> f64, found: f64) {
    let sum = |sign: f64| -> f64 {
        let f = |k: u32| {
            let t = (f64::from(k) + 0.5) / 4000.0;
            (sign * field(sign * CUTOFF * t) - 1.0 / (CUTOFF * t)) * CUTOFF / 4000.0
        };
        (0..4000).map(f).sum()
    };
    let expected = sum(1.0) - sum(-1.0);
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn strips_and_gaps_have_their_fields() {
    let edge = |x: f64| [[x, -1.0, 0.0], [x, 1.0, 0.0]];
    let (metal, gap) = (1.0, 0.1);
    let all = [edge(0.0), edge(metal), edge(-gap), edge(-gap - metal)];
    let rims = |all: &[[Vector; 2]]| Rims::new(all.to_vec());
    let from = |all: &[[Vector; 2]]| Across::from(edge(0.0), [0.3, 0.1, 0.0], &rims(all));
    let across = from(&all);
    assert!((across.metal * metal - 1.0).abs() < 1e-9, "{across:?}");
    assert!((across.gap * gap - 1.0).abs() < 1e-9, "{across:?}");
    check(|r| 1.0 / (r * (1.0 - r / metal) * (1.0 + r / gap)), across.more(CUTOFF).found);
    let squared = across.factor(0.2).powi(2);
    assert!((squared * (1.0 - 0.2 / metal) * (1.0 + 0.2 / gap) - 1.0).abs() < 1e-9);
    let alone = from(&all[..2]);
    assert_eq!(alone.gap, 0.0);
    check(|r| 1.0 / (r * (1.0 - r / metal)), alone.more(CUTOFF).found);
    assert_eq!(from(&all[..1]).more(CUTOFF).found, 0.0);
    // Neither what is in another plane nor what stands on the edge is across.
    let above = edge(-gap).map(|[x, y, _]| [x, y, 0.3]);
    let corner = [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
    let others = from(&[edge(0.0), above, corner]);
    assert_eq!((others.metal, others.gap), (0.0, 0.0));
}

/// The tree leaves out nothing that is nearer than what it finds.
#[test]
fn rims_are_found_as_by_looking_at_all() {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let all: Vec<[Vector; 2]> = (0..300)
        .map(|_| {
            let [x, y, u, v] = [0; 4].map(|_| draw());
            [[x, 3.0 * y, 0.0], [x + 0.1 * (u - 0.5), 3.0 * y + 0.1 * (v - 0.5), 0.0]]
        })
        .collect();
    let tree = Rims::new(all.clone());
    let flat = Rims { inner: Inner::Edges(all.clone()), low: tree.low, high: tree.high };
    for ends in &all {
        let inside = add(ends[0], [draw() - 0.5, draw() - 0.5, 0.0]);
        let [found, expected] = [&tree, &flat].map(|rims| Across::from(*ends, inside, rims));
        assert_eq!((found.metal, found.gap), (expected.metal, expected.gap));
    }
}

/// By Maxwell's map of a half-plane at height 1: on metal u is real and the mean of both sides,
/// u and another that the map takes to the same place, is even; off the metal u is complex.
#[test]
fn grounds_act_at_first_order() {
    let place = |u: f64| (u - u.exp() + 1.0) / PI;
    // The other side of a place: below it lies u < 0, above it u > 0.
    let above = |below: f64| {
        let (mut low, mut high) = (0.0, 3.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if place(middle) > place(below) { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    };
    let field = |u: f64| 1.0 / (1.0 - u.exp());
    for below in [-0.02, -0.04] {
        let r = -place(below);
        let odd = 0.5 * (field(below) - field(above(below)));
        // c^2/r with c^2 = 1/(2 pi).
        let more = odd * odd * 2.0 * PI * r - 1.0;
        assert!((more / (OF_GROUND * r) - 1.0).abs() < 0.02, "{more} {}", OF_GROUND * r);
    }
    let over = Across { ground: 2.0, ..Across::default() };
    assert!((over.more(0.01).found - 2.0 * OF_GROUND * 0.02).abs() < 1e-12);
}

/// Of a disk the opposite of each place of the rim is its diameter away, whatever the rim is
/// made of, and the square of the field around it is (1/r)/(1 + r)^2 1/(2 + r) with areas.
#[test]
fn rims_of_disks_are_across_from_themselves() {
    let point = |k: u32| {
        let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 64.0).sin_cos();
        [cos, sin, 0.0]
    };
    let all: Vec<[Vector; 2]> = (0..64).map(|k| [point(k), point((k + 1) % 64)]).collect();
    let across = Across::from(all[7], [0.0; 3], &Rims::new(all.clone()));
    assert!((across.metal - 0.5).abs() < 0.02 && across.gap < 1e-9, "{across:?}");
    // With areas, for each c^2: -1/2 of the cutoff on metal and -3/2 off it.
    let found = across.more(1e-3).found;
    assert!((found / 1e-3 - 1.0).abs() < 0.06, "{found}");
}
