use report::internals::colour::{DIVERGING, NONE, SEQUENTIAL, at, of_body};

#[test]
fn maps_go_from_end_to_end() {
    for map in [SEQUENTIAL, DIVERGING] {
        assert_eq!(at(map, 0.0), map[0]);
        assert_eq!(at(map, -3.0), map[0]);
        assert_eq!(at(map, 1.0), map[map.len() - 1]);
        assert_eq!(at(map, f64::INFINITY), map[map.len() - 1]);
        assert_eq!(at(map, f64::NAN), NONE);
    }
    assert_eq!(at(DIVERGING, 0.5), [247, 247, 247]);
}

#[test]
fn bodies_next_to_each_other_differ() {
    for index in 0..300 {
        let (a, b) = (of_body(index), of_body(index + 1));
        let apart = |k: usize| i32::from(a[k]).abs_diff(i32::from(b[k]));
        assert!((0..3).map(apart).max() > Some(20), "{index}: {a:?} {b:?}");
    }
}
