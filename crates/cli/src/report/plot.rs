//! Curves in logarithmic axes, as SVG.

use std::fmt::Write as _;

use crate::report::text::printable_line;

pub const WIDTH: f64 = 720.0;
pub const HEIGHT: f64 = 480.0;
/// Around the frame: left, right, top, bottom.
const MARGINS: [f64; 4] = [76.0, 24.0, 40.0, 56.0];
/// Colours that people with any colour vision can distinguish: P. Tol, Colour schemes, 2021,
/// "bright" and black.
const COLOURS: [&str; 7] =
    ["#4477aa", "#ee6677", "#228833", "#aa3377", "#66ccee", "#ccbb44", "#000000"];

/// One curve, of positive coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub label: String,
    pub points: Vec<(f64, f64)>,
    /// A thin dashed line to compare with, without marks.
    pub is_guide: bool,
}

/// Texts around the curves.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
}

/// An axis from one power of ten to another, and its place in the picture.
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// The axis for all values; `whole` makes it end at powers of ten.
    pub fn over(values: impl Iterator<Item = f64>, [from, to]: [f64; 2], whole: bool) -> Self {
        let (low, high) = values
            .map(f64::log10)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let (low, high) = if whole {
            (low.floor(), high.ceil())
        } else {
            let margin = 0.06 * (high - low);
            (low - margin, high + margin)
        };
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to }
    }

    pub fn place(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value.log10() - self.low) / (self.high - self.low)
    }

    /// Values with a tick, and whether it has a number.
    pub fn ticks(&self) -> Vec<(f64, bool)> {
        let decades = (self.high - self.low).max(1.0);
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let step = ((decades / 8.0).ceil() as i32).max(1);
        let mut ticks = Vec::new();
        for decade in first..=last {
            for digit in 1..10 {
                let value = f64::from(digit) * 10f64.powi(decade);
                let inside = (self.low - 1e-9..=self.high + 1e-9).contains(&value.log10());
                let few = decades < 1.5 && matches!(digit, 2 | 5);
                if inside && (digit == 1 || decades < 4.0) {
                    ticks.push((value, (digit == 1 && (decade - first) % step == 0) || few));
                }
            }
        }
        ticks
    }
}

/// The picture. Points that are not positive are left out.
pub fn svg(labels: Labels<'_>, curves: &[Curve]) -> String {
    let [left, right, top, bottom] = MARGINS;
    let drawn = |curve: &Curve| -> Vec<(f64, f64)> {
        let fine = |v: f64| v > 0.0 && v.is_finite();
        curve.points.iter().copied().filter(|(x, y)| fine(*x) && fine(*y)).collect()
    };
    let all: Vec<(f64, f64)> = curves.iter().flat_map(drawn).collect();
    let x = Axis::over(all.iter().map(|p| p.0), [left, WIDTH - right], false);
    let y = Axis::over(all.iter().map(|p| p.1), [HEIGHT - bottom, top], true);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    for (value, numbered) in x.ticks() {
        let at = x.place(value);
        let colour = if numbered { "#cccccc" } else { "#eeeeee" };
        line(&mut svg, [at, top], [at, HEIGHT - bottom], colour);
        if numbered {
            text(&mut svg, [at, HEIGHT - bottom + 18.0], "middle", &tick(value));
        }
    }
    for (value, numbered) in y.ticks() {
        let at = y.place(value);
        let colour = if numbered { "#cccccc" } else { "#eeeeee" };
        line(&mut svg, [left, at], [WIDTH - right, at], colour);
        if numbered {
            text(&mut svg, [left - 8.0, at + 4.0], "end", &tick(value));
        }
    }
    let _ = writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>",
        WIDTH - left - right,
        HEIGHT - top - bottom
    );
    for (index, curve) in curves.iter().enumerate() {
        draw(&mut svg, &drawn(curve), &x, &y, COLOURS[index % COLOURS.len()], curve.is_guide);
    }
    for (index, curve) in curves.iter().enumerate() {
        let [x, y] = [left + 14.0, top + 20.0 + 18.0 * index as f64];
        let colour = if curve.is_guide { "#888888" } else { COLOURS[index % COLOURS.len()] };
        line(&mut svg, [x, y - 4.0], [x + 22.0, y - 4.0], colour);
        text(&mut svg, [x + 28.0, y], "start", &curve.label);
    }
    text(&mut svg, [WIDTH / 2.0, 24.0], "middle", labels.title);
    text(&mut svg, [WIDTH / 2.0, HEIGHT - 14.0], "middle", labels.x);
    let _ = writeln!(
        svg,
        "<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>",
        HEIGHT / 2.0,
        escape(labels.y)
    );
    svg
}

fn draw(svg: &mut String, points: &[(f64, f64)], x: &Axis, y: &Axis, colour: &str, guide: bool) {
    let places: Vec<String> =
        points.iter().map(|p| format!("{:.1},{:.1}", x.place(p.0), y.place(p.1))).collect();
    let style = if guide {
        "stroke=\"#888888\" stroke-dasharray=\"5 4\"".to_owned()
    } else {
        format!("stroke=\"{colour}\" stroke-width=\"2\"")
    };
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" {style}/>", places.join(" "));
    if !guide {
        for p in points {
            let (cx, cy) = (x.place(p.0), y.place(p.1));
            let _ = writeln!(
                svg,
                "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
            );
        }
    }
}

fn line(svg: &mut String, from: [f64; 2], to: [f64; 2], colour: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from[0], from[1], to[0], to[1]
    );
}

fn text(svg: &mut String, [x, y]: [f64; 2], anchor: &str, content: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(content)
    );
}

/// The number at a tick: as it is near 1, else as a power of ten.
fn tick(value: f64) -> String {
    if (0.009..=9999.0).contains(&value) { format!("{value}") } else { format!("{value:.0e}") }
}

/// Text as XML holds it, on one line.
fn escape(text: &str) -> String {
    let text = printable_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
