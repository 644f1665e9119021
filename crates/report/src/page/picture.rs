//! A picture of a surface, drawn without a graphics card: what a page shows where there is no WebGL
//! or no JavaScript.

use std::io;

use super::png;

/// Samples of a pixel along each side.
const SAMPLES: usize = 2;

/// Of the picture's shorter side, left free around the surface.
const MARGIN: f64 = 0.04;

/// The direction from the surface to the eye, as in the README's picture.
pub(super) const DIRECTION: [f64; 3] = [0.95, -1.6, 1.0];

/// A PNG file of triangles with colours, seen from far away, on nothing.
pub fn draw(
    [width, height]: [usize; 2],
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    colour: impl Fn(usize) -> [u8; 3],
) -> io::Result<Vec<u8>> {
    let (wide, high) = (width * SAMPLES, height * SAMPLES);
    let axes = axes();
    let seen: Vec<[f64; 3]> = vertices.iter().map(|v| axes.map(|axis| dot(axis, *v))).collect();
    let used = || triangles.iter().flatten().map(|&v| seen[v as usize]);
    let range = |k: usize| {
        used().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[k]), h.max(p[k])))
    };
    let [(left, right), (bottom, top)] = [range(0), range(1)];
    let margin = MARGIN * wide.min(high) as f64;
    let room = |n: usize| n as f64 - 2.0 * margin;
    let smallest = f64::MIN_POSITIVE;
    let across = room(wide) / (right - left).max(smallest);
    let scale = across.min(room(high) / (top - bottom).max(smallest));
    let place = |p: [f64; 3]| {
        let x = wide as f64 / 2.0 + scale * (p[0] - (left + right) / 2.0);
        let y = high as f64 / 2.0 - scale * (p[1] - (bottom + top) / 2.0);
        [x, y, p[2]]
    };

    let mut depth = vec![f64::NEG_INFINITY; wide * high];
    let mut samples = vec![[0u8; 4]; wide * high];
    for (t, corners) in triangles.iter().enumerate() {
        let [a, b, c] = corners.map(|v| seen[v as usize]);
        let facing = facing([a, b, c]);
        let [r, g, b_] = colour(t).map(|c| (f64::from(c) * (0.68 + 0.32 * facing)).round() as u8);
        let [a, b, c] = [a, b, c].map(place);
        let twice = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
        if twice == 0.0 || !twice.is_finite() {
            continue;
        }
        let low = |k: usize| a[k].min(b[k]).min(c[k]);
        let upper = |k: usize| a[k].max(b[k]).max(c[k]);
        let first = |k: usize| (low(k) - 0.5).ceil().max(0.0) as usize;
        let last = |k: usize, n: usize| ((upper(k) + 0.5).floor().max(0.0) as usize).min(n);
        for y in first(1)..last(1, high) {
            for x in first(0)..last(0, wide) {
                let p = [x as f64 + 0.5, y as f64 + 0.5];
                let part = |u: [f64; 3], v: [f64; 3]| {
                    ((u[0] - p[0]) * (v[1] - p[1]) - (v[0] - p[0]) * (u[1] - p[1])) / twice
                };
                let [wa, wb, wc] = [part(b, c), part(c, a), part(a, b)];
                if wa < 0.0 || wb < 0.0 || wc < 0.0 {
                    continue;
                }
                let near = wa * a[2] + wb * b[2] + wc * c[2];
                let sample = y * wide + x;
                if near > depth[sample] {
                    depth[sample] = near;
                    samples[sample] = [r, g, b_, 255];
                }
            }
        }
    }

    let mut pixels = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            let (mut sum, mut covered) = ([0usize; 3], 0);
            for j in 0..SAMPLES {
                for i in 0..SAMPLES {
                    let sample = samples[(y * SAMPLES + j) * wide + x * SAMPLES + i];
                    if sample[3] > 0 {
                        (0..3).for_each(|k| sum[k] += usize::from(sample[k]));
                        covered += 1;
                    }
                }
            }
            pixels.extend(sum.map(|s| (s / covered.max(1)) as u8));
            pixels.push((255 * covered / (SAMPLES * SAMPLES)) as u8);
        }
    }
    png::encode(width, height, &pixels)
}

/// To the right, up and toward the eye.
pub fn axes() -> [[f64; 3]; 3] {
    let toward = unit(DIRECTION);
    let right = unit([-toward[1], toward[0], 0.0]);
    [right, cross(toward, right), toward]
}

/// The cosine of the angle at which a triangle is seen.
fn facing([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let [u, v]: [[f64; 3]; 2] = [b, c].map(|p| std::array::from_fn(|k| p[k] - a[k]));
    let normal = unit(cross(u, v))[2].abs();
    if normal.is_finite() { normal } else { 0.0 }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}
