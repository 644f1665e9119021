use farad_cli::internals::plot::{Axis, Curve, HEIGHT, Labels, WIDTH, svg};

fn labels() -> Labels<'static> {
    Labels { title: "a < b", x: "h", y: "error" }
}

#[test]
fn a_power_is_a_straight_line() {
    let points: Vec<_> = (0..4).map(|k| (0.5f64.powi(k), 0.1 * 0.25f64.powi(k))).collect();
    let label = "C & D\u{1b}[0m\n\u{fffe}".into();
    let curve = Curve { label, points, is_guide: false };
    let svg = svg(labels(), &[curve]);
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("a &lt; b") && svg.contains("C &amp; D\\u{1b}[0m\\n\u{fffd}<"));
    let line = svg.lines().find(|line| line.starts_with("<polyline")).unwrap();
    let places = line.split('"').nth(1).unwrap();
    let numbers: Vec<f64> = places.split([' ', ',']).map(|n| n.parse().unwrap()).collect();
    let slope = |i: usize| {
        (numbers[2 * i + 3] - numbers[2 * i + 1]) / (numbers[2 * i + 2] - numbers[2 * i])
    };
    // Places have one decimal.
    assert!((slope(0) - slope(2)).abs() < 0.01, "{numbers:?}");
    assert!(
        numbers.chunks(2).all(|p| (0.0..=WIDTH).contains(&p[0]) && (0.0..=HEIGHT).contains(&p[1]))
    );
}

#[test]
fn nothing_to_draw_is_a_picture_too() {
    let empty =
        Curve { label: "none".into(), points: vec![(1.0, 0.0), (f64::NAN, 1.0)], is_guide: false };
    assert!(!svg(labels(), &[empty]).contains("NaN"));
    assert!(!svg(labels(), &[]).contains("inf"));
}

#[test]
fn ticks_are_within_the_axis_and_some_are_numbered() {
    for values in [[0.03, 1.0], [1e-9, 1.0], [2.0, 3.0], [1.0, 1.0]] {
        for whole in [false, true] {
            let axis = Axis::over(values.into_iter(), [0.0, 100.0], whole);
            let ticks = axis.ticks();
            assert!(ticks.iter().any(|tick| tick.1), "{values:?}");
            for (value, _) in ticks {
                assert!((-0.1..=100.1).contains(&axis.place(value)), "{values:?} {value}");
            }
        }
    }
}
