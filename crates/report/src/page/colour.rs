//! Colour maps that people with any colour vision can read, and colours of bodies.

/// A colour map: equidistant colours between which one goes in straight lines.
pub type Map = &'static [[u8; 3]];

/// From dark to light: matplotlib's viridis (S. van der Walt, N. Smith, 2015).
pub const SEQUENTIAL: Map = &[
    [68, 1, 84],
    [72, 40, 120],
    [62, 73, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [181, 222, 43],
    [253, 231, 37],
];

/// Blue below zero, red above: ColorBrewer's RdBu (C. Brewer, 2003), reversed.
pub const DIVERGING: Map = &[
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

/// What has no value.
pub const NONE: [u8; 3] = [158, 158, 158];

/// The colour at `x` from 0 to 1.
pub fn at(map: Map, x: f64) -> [u8; 3] {
    if x.is_nan() {
        return NONE;
    }
    let place = x.clamp(0.0, 1.0) * (map.len() - 1) as f64;
    let low = (place as usize).min(map.len() - 2);
    let share = place - low as f64;
    std::array::from_fn(|k| {
        let (a, b) = (f64::from(map[low][k]), f64::from(map[low + 1][k]));
        (a + share * (b - a)).round() as u8
    })
}

/// The colour of a body by its number: first P. Tol's "bright" (2021), then hues a golden angle
/// apart.
pub fn of_body(index: usize) -> [u8; 3] {
    const FIRST: [[u8; 3]; 6] = [
        [68, 119, 170],
        [238, 102, 119],
        [34, 136, 51],
        [204, 187, 68],
        [102, 204, 238],
        [170, 51, 119],
    ];
    FIRST.get(index).copied().unwrap_or_else(|| {
        let hue = (index as f64 * 137.507_764) % 360.0 / 60.0;
        let channel = |offset: f64| {
            let place = (offset + hue) % 6.0;
            let strength = (place.min(4.0 - place)).clamp(0.0, 1.0);
            (255.0 * (0.82 - 0.46 * strength)).round() as u8
        };
        [channel(5.0), channel(3.0), channel(1.0)]
    })
}

/// "#rrggbb".
pub(super) fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Whether dark text is read better on this colour than light text.
pub(super) fn is_light([r, g, b]: [u8; 3]) -> bool {
    0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b) > 140.0
}
