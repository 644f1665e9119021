use report::internals::chart::{
    Axis, Couplings, Curve, HEIGHT, MOST_CELLS, Scale, WIDTH, curves, file, heat_map, short,
};

const PLAIN: Axis<'_> = Axis { label: "step", is_logarithmic: false };
const POWERS: Axis<'_> = Axis { label: "error", is_logarithmic: true };

fn curve(label: &str, points: &[(f64, f64)]) -> Curve {
    let points = points.iter().map(|&(x, y)| (x, y, Some(0.1 * y))).collect();
    Curve { label: label.to_owned(), points, is_guide: false }
}

#[test]
fn curves_stay_in_their_frame_whatever_they_are() {
    let strange = [
        curve("<b>", &[(0.0, 1.0), (1.0, 1e-3), (2.0, 1e-9)]),
        curve("one", &[(3.0, 0.5)]),
        curve("none", &[(f64::NAN, 1.0), (1.0, f64::INFINITY), (1.0, -1.0), (2.0, 0.0)]),
    ];
    for y in [PLAIN, POWERS] {
        let html = curves(PLAIN, y, &strange, "a \"title\"").into_text();
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        assert!(html.contains("&lt;b&gt;") && html.contains("a &quot;title&quot;"));
        for circle in html.split("<circle").skip(1) {
            let number = |name: &str| -> f64 {
                let start = circle.find(name).unwrap() + name.len() + 2;
                circle[start..].split('"').next().unwrap().parse().unwrap()
            };
            assert!((0.0..WIDTH).contains(&number("cx")) && (0.0..HEIGHT).contains(&number("cy")));
        }
    }
    assert!(curves(PLAIN, POWERS, &strange[2..], "").is_empty());
    assert!(curves(PLAIN, POWERS, &[], "").is_empty());
}

#[test]
fn axes_have_ticks_with_numbers() {
    for (low, high) in [
        (0.0, 7.0),
        (1e-12, 1.0),
        (3.0, 3.0),
        (2.0, 3.0),
        (0.5, 0.7),
        (1e8, 2e8),
        (0.03, 1.0),
        (1e-9, 1.0),
        (1.0, 1.0),
    ] {
        for axis in [PLAIN, POWERS] {
            let scale = Scale::over(axis, [low, high].into_iter(), [0.0, 100.0]);
            let ticks = scale.ticks();
            assert!((1..=12).contains(&ticks.len()), "{low} {high} {ticks:?}");
            assert!(ticks.iter().all(|(value, _)| (0.0..=100.0).contains(&scale.place(*value))));
            let mut texts: Vec<_> = ticks.iter().map(|tick| &tick.1).collect();
            texts.dedup();
            assert_eq!(texts.len(), ticks.len(), "{ticks:?}");
        }
    }
}

#[test]
fn ticks_have_few_digits() {
    for (value, text) in [
        (1e-9, "1e−9"),
        (-2.5e7, "−2.5e7"),
        (70.3, "70.3"),
        (0.0, "0"),
        (-20_000.0, "−20,000"),
        (100.0, "100"),
        (0.005, "0.005"),
    ] {
        assert_eq!(short(value), text);
    }
}

#[test]
fn many_curves_leave_one_in_sight() {
    let all: Vec<_> = (0..30).map(|i| curve(&format!("c{i}"), &[(0.0, 1.0), (1.0, 0.1)])).collect();
    let html = curves(PLAIN, POWERS, &all, "").into_text();
    assert!(html.contains("29 others") && html.contains("c29") && !html.contains("c28"));
}

#[test]
fn large_matrices_are_pictures() {
    for n in [2, 41] {
        let names: Vec<String> = (0..n).map(|i| format!("<net {i}>")).collect();
        let shares = vec![vec![0.1; n]; n];
        let told = |i: usize, j: usize| format!("<{i},{j}>");
        let of = Couplings {
            rows: &names,
            columns: &names,
            shares: &shares,
            title: &told,
            is_vague: &|_, _| true,
        };
        let html = heat_map(of).unwrap().into_text();
        assert!(html.contains("&lt;net 0&gt;") && !html.contains("<net"));
        assert_eq!(html.contains("<image"), n > MOST_CELLS);
        assert_eq!(html.contains("&lt;1,0&gt;"), n <= MOST_CELLS);
    }
}

#[test]
fn a_power_is_a_straight_line_in_a_file_of_its_own() {
    let points = (0..4).map(|k| (0.5f64.powi(k), 0.1 * 0.25f64.powi(k), None)).collect();
    let label = "C & D\u{1b}[0m\n\u{fffe}".into();
    let curve = Curve { label, points, is_guide: false };
    let svg = file(POWERS, POWERS, &[curve], "a < b");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("a &lt; b") && svg.contains("C &amp; D\\u{1b}[0m\\n\u{fffd}<"));
    let line = svg.lines().find(|line| line.starts_with("<polyline")).unwrap();
    let places = line.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
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
fn nothing_to_draw_is_a_file_too() {
    let points = vec![(1.0, 0.0, None), (f64::NAN, 1.0, None)];
    let empty = Curve { label: "none".into(), points, is_guide: false };
    for svg in [file(POWERS, POWERS, &[empty], ""), file(POWERS, POWERS, &[], "")] {
        assert!(svg.contains("class=\"frame\"") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}
