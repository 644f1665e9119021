//! Charts of pages: curves, and matrices as maps of colours. SVG whose colours the page's style
//! sheet has, for light and dark screens and for paper.

use std::fmt::Write as _;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use formats::printable::printable_line;

use super::colour::{self, SEQUENTIAL};
use super::html::{Html, escape};
use super::png;
use crate::units::count;

pub const WIDTH: f64 = 640.0;
pub const HEIGHT: f64 = 340.0;
/// Around the frame: left, right, top, bottom.
const MARGINS: [f64; 4] = [74.0, 14.0, 12.0, 48.0];

/// Curves of more are drawn alike, but for the last of them.
const MOST_COLOURS: usize = 6;

/// Above the frame of a chart in a file of its own: room for the title.
const TITLE: f64 = 28.0;

/// What the page's style sheet says of charts, for one in a file of its own. Colours that people
/// with any colour vision can distinguish: P. Tol, Colour schemes, 2021, "bright".
const STYLE: &str = "<style>text { fill: #1b1f24; font: 12px sans-serif } .axis, .title { font-size: 13px } \
polyline { fill: none; stroke-width: 2 } .grid { stroke: #dddddd; stroke-width: 0.7 } \
.frame { fill: none; stroke: #57606a } .guide { stroke: #888888; stroke-dasharray: 5 4 } \
.s0 { stroke: #4477aa } .s1 { stroke: #ee6677 } .s2 { stroke: #228833 } .s3 { stroke: #aa3377 } \
.s4 { stroke: #66ccee } .s5 { stroke: #ccbb44 } .faint { stroke: #bbbbbb } circle { fill: white }</style>";

/// Cells of larger matrices are pixels of a picture.
pub const MOST_CELLS: usize = 40;

/// Couplings below this share are the darkest.
const FAINT: f64 = 1e-4;

/// Values of a curve, each with its error bar if it has one.
#[derive(Clone, Debug)]
pub struct Curve {
    pub label: String,
    pub points: Vec<(f64, f64, Option<f64>)>,
    /// A line to compare with, without marks.
    pub is_guide: bool,
}

/// What goes along an axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    pub label: &'a str,
    pub is_logarithmic: bool,
}

/// An axis with the values at its ends (of logarithmic ones their logarithms), and its place.
pub struct Scale {
    is_logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    pub fn over(axis: Axis<'_>, values: impl Iterator<Item = f64>, [from, to]: [f64; 2]) -> Self {
        let of = |value: f64| if axis.is_logarithmic { value.log10() } else { value };
        let (mut low, mut high) = values
            .map(of)
            .filter(|x| x.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let least = if axis.is_logarithmic { 0.3 } else { (1e-9 * low.abs()).max(1e-300) };
        if high - low < least {
            let half = if axis.is_logarithmic { 0.5 } else { (0.05 * low.abs()).max(least) };
            (low, high) = (low - half, high + half);
        } else {
            let margin = 0.04 * (high - low);
            (low, high) = (low - margin, high + margin);
        }
        Self { is_logarithmic: axis.is_logarithmic, low, high, from, to }
    }

    pub fn place(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(-0.02, 1.02);
        self.from + (self.to - self.from) * share
    }

    /// Values with a line, and what is written there.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let range = self.high - self.low;
        if self.is_logarithmic {
            let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
            let step = ((f64::from(last - first) / 6.0).ceil() as i32).max(1);
            let digits: &[i32] = if last - first >= 2 { &[1] } else { &[1, 2, 5] };
            let mut ticks = Vec::new();
            for decade in (first - 1)..=last {
                for &digit in digits {
                    let value = f64::from(digit) * 10f64.powi(decade);
                    let inside = (self.low..=self.high).contains(&value.log10());
                    if inside && decade.rem_euclid(step) == 0 {
                        ticks.push((value, short(value)));
                    }
                }
            }
            return ticks;
        }
        let rough = range / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.low / step).ceil() as i64;
        (0..12)
            .map(|k| (first + k) as f64 * step)
            .take_while(|value| *value <= self.high)
            .map(|value| {
                let text = if value.abs() >= 1e6 || decimals > 6 {
                    // As many digits as neighbours differ by.
                    let digits = value.abs().max(step).log10().floor() - step.log10().floor();
                    format!("{value:.0$e}", digits.max(0.0) as usize)
                } else {
                    format!("{value:.decimals$}")
                };
                (value, if value == 0.0 { "0".to_owned() } else { text.replace('-', "\u{2212}") })
            })
            .collect()
    }
}

/// A number at a tick, of few digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        0.0 => "0".to_owned(),
        s if !(1e-3..1e6).contains(&s) => {
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        s if s >= 1e4 => {
            format!("{}{}", if value < 0.0 { "-" } else { "" }, count(s.round() as u64))
        }
        _ => format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    text.replace('-', "\u{2212}")
}

/// Whether a value has a place along an axis.
fn is_on(axis: Axis<'_>, value: f64) -> bool {
    value.is_finite() && (value > 0.0 || !axis.is_logarithmic)
}

/// The points of a curve that have a place.
fn drawn(x: Axis<'_>, y: Axis<'_>, curve: &Curve) -> Vec<(f64, f64, Option<f64>)> {
    let points = curve.points.iter().copied();
    points.filter(|p| is_on(x, p.0) && is_on(y, p.1)).collect()
}

/// Curves in a frame, with what each is below it; nothing if they have no points.
pub fn curves(x: Axis<'_>, y: Axis<'_>, curves: &[Curve], title: &str) -> Html {
    let mut html = Html::default();
    if curves.iter().all(|curve| drawn(x, y, curve).is_empty()) {
        return html;
    }
    let head = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    );
    html.raw("<figure class=\"chart\">").raw(&head).raw(&picture(x, y, curves));
    html.raw("</svg>\n<ul class=\"legend\">");
    for (class, label) in legend(curves) {
        html.raw(&format!("<li><svg viewBox=\"0 0 22 8\" class=\"key\"><line class=\"{class}\" x1=\"0\" y1=\"4\" x2=\"22\" y2=\"4\"/></svg>"));
        html.text(&label);
    }
    html.raw("</ul></figure>\n");
    html
}

/// Curves in a frame with what each is, and with a title: an SVG file.
pub fn file(x: Axis<'_>, y: Axis<'_>, curves: &[Curve], title: &str) -> String {
    let height = HEIGHT + TITLE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 -{TITLE} {WIDTH} {height}\">\n\
         {STYLE}\n<rect y=\"-{TITLE}\" width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text class=\"title\" x=\"{}\" y=\"-8\" text-anchor=\"middle\">{}</text>\n",
        WIDTH / 2.0,
        escape(&printable_line(title))
    );
    svg += &picture(x, y, curves);
    let [left, _, top, _] = MARGINS;
    for (index, (class, label)) in legend(curves).into_iter().enumerate() {
        let y = top + 18.0 + 16.0 * index as f64;
        line(&mut svg, &class, [left + 12.0, y - 4.0], [left + 34.0, y - 4.0]);
        let label = escape(&printable_line(&label));
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{label}</text>", left + 40.0);
    }
    svg + "</svg>\n"
}

/// The classes and names of curves; one name stands for all that are drawn alike.
fn legend(curves: &[Curve]) -> Vec<(String, String)> {
    let are_many = are_many(curves);
    let mut entries = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let is_faint = are_many && index + 1 < curves.len();
        if is_faint && index > 0 {
            continue;
        }
        let others = || format!("{} others", curves.len() - 1);
        let label = if is_faint { others() } else { curve.label.clone() };
        entries.push((class(index, curve, is_faint), label));
    }
    entries
}

/// Whether there are more curves than colours.
fn are_many(curves: &[Curve]) -> bool {
    curves.iter().filter(|curve| !curve.is_guide).count() > MOST_COLOURS
}

/// The elements of a chart.
fn picture(x: Axis<'_>, y: Axis<'_>, curves: &[Curve]) -> String {
    let [left, right, top, bottom] = MARGINS;
    let all: Vec<_> = curves.iter().flat_map(|curve| drawn(x, y, curve)).collect();
    let along = Scale::over(x, all.iter().map(|p| p.0), [left, WIDTH - right]);
    let ends = |p: &(f64, f64, Option<f64>)| {
        let bar = p.2.filter(|bar| bar.is_finite()).unwrap_or(0.0);
        [p.1 - bar, p.1, p.1 + bar].into_iter().filter(move |v| is_on(y, *v))
    };
    let up = Scale::over(y, all.iter().flat_map(ends), [HEIGHT - bottom, top]);
    let mut svg = String::new();
    for (value, text) in along.ticks() {
        let at = along.place(value);
        line(&mut svg, "grid", [at, top], [at, HEIGHT - bottom]);
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            HEIGHT - bottom + 18.0
        );
    }
    for (value, text) in up.ticks() {
        let at = up.place(value);
        line(&mut svg, "grid", [left, at], [WIDTH - right, at]);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            left - 8.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/>",
        WIDTH - left - right,
        HEIGHT - top - bottom
    );
    let are_many = are_many(curves);
    for (index, curve) in curves.iter().enumerate() {
        let points = drawn(x, y, curve);
        let class = class(index, curve, are_many && index + 1 < curves.len());
        let place = |p: &(f64, f64, Option<f64>)| (along.place(p.0), up.place(p.1));
        let places: Vec<String> = points
            .iter()
            .map(|p| {
                let (x, y) = place(p);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", places.join(" "));
        if curve.is_guide {
            continue;
        }
        for p in &points {
            let (cx, cy) = place(p);
            if let Some(bar) = p.2.filter(|bar| *bar > 0.0 && bar.is_finite()) {
                let end =
                    |value: f64| if is_on(y, value) { up.place(value) } else { HEIGHT - bottom };
                let (low, high) = (end(p.1 - bar), end(p.1 + bar));
                line(&mut svg, &class, [cx, low], [cx, high]);
                for y in [low, high] {
                    line(&mut svg, &class, [cx - 4.0, y], [cx + 4.0, y]);
                }
            }
            if points.len() <= 40 && !are_many {
                let _ = writeln!(
                    svg,
                    "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\"/>"
                );
            }
        }
    }
    let _ = writeln!(
        svg,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        (left + WIDTH - right) / 2.0,
        HEIGHT - 8.0,
        escape(x.label)
    );
    let _ = writeln!(
        svg,
        "<text class=\"axis\" transform=\"translate(15 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (top + HEIGHT - bottom) / 2.0,
        escape(y.label)
    );
    svg
}

fn class(index: usize, curve: &Curve, is_faint: bool) -> String {
    match (curve.is_guide, is_faint) {
        (true, _) => "guide".to_owned(),
        (_, true) => "faint".to_owned(),
        _ => format!("s{}", index % MOST_COLOURS),
    }
}

fn line(svg: &mut String, class: &str, from: [f64; 2], to: [f64; 2]) {
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from[0], from[1], to[0], to[1]
    );
}

/// How strongly conductors are coupled.
#[derive(Clone, Copy)]
pub struct Couplings<'a> {
    pub rows: &'a [String],
    pub columns: &'a [String],
    /// Rows of shares from 0 to 1; NaN where there is none, such as on the diagonal.
    pub shares: &'a [Vec<f64>],
    /// Tooltip of each cell.
    pub title: &'a dyn Fn(usize, usize) -> String,
    /// Whether a value is no larger than twice its error bar.
    pub is_vague: &'a dyn Fn(usize, usize) -> bool,
}

/// Colours of a matrix, on a logarithmic scale.
pub fn heat_map(of: Couplings<'_>) -> io::Result<Html> {
    let (rows, columns) = (of.rows.len(), of.columns.len());
    let longest = rows.max(columns) as f64;
    let named = of.rows.iter().chain(of.columns).map(|name| name.chars().count());
    let letters = named.max().unwrap_or(1).clamp(3, 14);
    let margin = 14.0 + 7.2 * letters as f64;
    let cell = ((WIDTH - margin - 3.6 * letters as f64) / longest).min(58.0);
    let (wide, high) = (cell * columns as f64, cell * rows as f64);
    let right = 3.6 * letters as f64;
    let (width, height) = (margin + wide + right, margin.min(110.0) + high + 8.0);
    let top = height - high - 8.0;
    let colour =
        |share: f64| colour::at(SEQUENTIAL, (share.max(FAINT) / FAINT).log10() / -FAINT.log10());
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" role=\"img\" aria-label=\"Couplings of the conductors\">\n"
    );
    let step = (13.0 / cell).ceil().max(1.0) as usize;
    for (index, name) in of.columns.iter().enumerate().step_by(step) {
        let x = margin + cell * (index as f64 + 0.5) + 4.0;
        let _ = writeln!(
            svg,
            "<text transform=\"translate({x:.1} {:.1}) rotate(-60)\">{}</text>",
            top - 6.0,
            escape(&shortened(name, if top < margin { 12 } else { 14 }))
        );
    }
    for (index, name) in of.rows.iter().enumerate().step_by(step) {
        let y = top + cell * (index as f64 + 0.5) + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            margin - 6.0,
            escape(&shortened(name, 14))
        );
    }
    if rows.max(columns) <= MOST_CELLS {
        for (i, row) in of.shares.iter().enumerate() {
            for (j, &share) in row.iter().enumerate() {
                let (x, y) = (margin + cell * j as f64, top + cell * i as f64);
                let fill = if share.is_nan() { None } else { Some(colour(share)) };
                let shown = fill.map_or_else(
                    || "class=\"own\"".to_owned(),
                    |fill| format!("fill=\"{}\"", colour::hex(fill)),
                );
                let _ = write!(
                    svg,
                    "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" {shown}/>",
                    escape(&(of.title)(i, j)),
                    cell - 1.0,
                    cell - 1.0
                );
                if let Some(fill) = fill
                    && cell >= 34.0
                {
                    let ink = if colour::is_light(fill) { "#111" } else { "#fff" };
                    let _ = write!(
                        svg,
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" style=\"fill:{ink}\">{}</text>",
                        x + cell / 2.0,
                        y + cell / 2.0 + 4.0,
                        percent(share)
                    );
                }
                if fill.is_some() && (of.is_vague)(i, j) {
                    let _ = write!(
                        svg,
                        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"#fff\" stroke=\"#111\"/>",
                        x + cell - 0.18 * cell.min(34.0) - 1.0,
                        y + 0.18 * cell.min(34.0),
                        0.08 * cell.min(34.0)
                    );
                }
                svg.push_str("</g>\n");
            }
        }
    } else {
        let mut pixels = Vec::with_capacity(4 * rows * columns);
        for row in of.shares {
            for &share in row {
                pixels.extend(if share.is_nan() { [128, 128, 128] } else { colour(share) });
                pixels.push(255);
            }
        }
        let picture = BASE64_STANDARD.encode(png::encode(columns, rows, &pixels)?);
        let _ = writeln!(
            svg,
            "<image x=\"{margin:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{picture}\"/>"
        );
    }
    svg.push_str("</svg>\n");
    let mut html = Html::default();
    html.raw("<figure class=\"heat\">").raw(&svg);
    let stops: Vec<String> = SEQUENTIAL.iter().map(|stop| colour::hex(*stop)).collect();
    html.raw("<div class=\"scale\"><span>0.01 %</span><span class=\"ramp\" style=\"background:linear-gradient(to right,");
    html.raw(&stops.join(",")).raw(")\"></span><span>100 %</span></div></figure>\n");
    Ok(html)
}

/// A share in a cell.
fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.995 => format!("{p:.1} %"),
        p if p >= 0.005 => format!("{p:.2} %"),
        _ => "~0".to_owned(),
    }
}

fn shortened(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters - 1).chain(['…']).collect()
}
