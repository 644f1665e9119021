use bem::Density;
use farad::internals::foresight::{Foresight, GROWTH, Gain};

fn alike(count: usize) -> Vec<Gain> {
    (0..count).map(|_| Gain { of: 1.0, ends_at_edge: false }).collect()
}

#[test]
fn only_as_many_sides_are_split_as_an_error_asks_for() {
    // A hundred sides of 100 triangles with most of the error, and many of little.
    let mut gains = alike(100);
    gains.extend((0..900).map(|k| Gain { of: 1e-3 + 1e-6 * f64::from(k), ends_at_edge: false }));
    let threshold = Foresight::new(gains, 700, Density::Linear).threshold(0.5);
    // Halves keep 6 % each: one split of the large ones alone is enough.
    assert!(threshold < 1.0 && threshold > 0.1, "{threshold}");
}

#[test]
fn sides_at_edges_are_split_more_than_once() {
    let at_edge = (0..100).map(|_| Gain { of: 1.0, ends_at_edge: true }).collect();
    let threshold = Foresight::new(at_edge, 400, Density::Linear).threshold(0.15);
    // A quarter remains next to the edge, which is to be split again.
    assert!(threshold < 0.25, "{threshold}");
}

#[test]
fn a_step_that_would_be_too_large_is_one_of_several_alike() {
    // To 1e-3 of the error two splits are needed: seven triangles for each.
    let gains: Vec<Gain> =
        (0..150).map(|k| Gain { of: 1.0 + 1e-3 * f64::from(k), ends_at_edge: false }).collect();
    let threshold = Foresight::new(gains.clone(), 100, Density::Linear).threshold(0.01);
    let split = gains.iter().filter(|gain| gain.of > threshold).count() as f64;
    let times = 1.0 + 2.0 * split / 100.0;
    assert!(times < GROWTH && times * times > 2.0 * GROWTH, "{times}");
    assert!(threshold > 1.0);
}

#[test]
fn nothing_to_gain_is_no_reason_to_split() {
    assert!(Foresight::new(Vec::new(), 10, Density::Constant).threshold(0.5) >= 0.0);
    let none = vec![Gain { of: 0.0, ends_at_edge: true }];
    assert!(Foresight::new(none, 10, Density::Constant).threshold(0.5) >= 0.0);
}

#[test]
fn a_step_is_worth_a_solve() {
    // An error that is met already, or missed narrowly.
    for share in [1.0, 0.9] {
        let gains: Vec<Gain> =
            (1..=100).map(|k| Gain { of: f64::from(k), ends_at_edge: false }).collect();
        let all: f64 = gains.iter().map(|gain| gain.of).sum();
        let threshold = Foresight::new(gains.clone(), 200, Density::Linear).threshold(share);
        let split = gains.iter().filter(|gain| gain.of > threshold).map(|gain| gain.of);
        assert!(split.sum::<f64>() > 0.3 * all);
    }
}
