//! Surfaces with fewer triangles, to be looked at: vertices that are close together become one.
//!
//! Each triangle of the first surface belongs to one of those that are left, which has the mean of
//! values weighted by area. So what a value times the area is in all (a charge) stays the same on
//! each body, whatever the triangles look like. See J. Rossignac, P. Borrel, Multi-resolution 3D
//! approximations for rendering complex scenes, 1993.

use std::collections::HashMap;

/// Cells along the longest side of a body's box, at least: bodies that are small compared with
/// others keep a shape.
const FEWEST_CELLS: f64 = 6.0;

/// How often the size of cells is corrected.
const ATTEMPTS: usize = 12;

/// A surface with no more triangles than wanted.
#[derive(Clone, Debug)]
pub struct Decimated {
    pub vertices: Vec<[f64; 3]>,
    pub triangles: Vec<[u32; 3]>,
    pub body: Vec<i32>,
    /// For each triangle of the first surface the one that has its values.
    pub target: Vec<u32>,
}

/// The surface of triangles, each of a body, with about `most` triangles or fewer.
pub fn decimated(
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    body: impl Fn(usize) -> i32,
    most: usize,
) -> Decimated {
    if triangles.len() <= most {
        return Decimated {
            vertices: vertices.to_vec(),
            triangles: triangles.to_vec(),
            body: (0..triangles.len()).map(&body).collect(),
            target: (0..triangles.len() as u32).collect(),
        };
    }
    let mut extents: HashMap<i32, ([f64; 3], [f64; 3])> = HashMap::new();
    let mut total = 0.0;
    for (t, corners) in triangles.iter().enumerate() {
        let corners = corners.map(|v| vertices[v as usize]);
        total += area(corners);
        let all = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (low, high) = extents.entry(body(t)).or_insert(all);
        for corner in corners {
            *low = std::array::from_fn(|k| low[k].min(corner[k]));
            *high = std::array::from_fn(|k| high[k].max(corner[k]));
        }
    }
    let size_of = |body: i32, size: f64| {
        let longest = extents
            .get(&body)
            .map_or(0.0, |(low, high)| (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max));
        size.min(longest / FEWEST_CELLS).max(f64::MIN_POSITIVE)
    };
    // Cells of a plane have two triangles each, and those of a slanted surface more.
    let mut size = (2.5 * total / most as f64).sqrt();
    let mut made = clustered(vertices, triangles, &body, |body| size_of(body, size));
    for _ in 0..ATTEMPTS {
        if made.triangles.len() <= most {
            break;
        }
        size *= (made.triangles.len() as f64 / most as f64).sqrt().max(1.05);
        made = clustered(vertices, triangles, &body, |body| size_of(body, size));
    }
    made
}

/// One vertex for each cell and body.
fn clustered(
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    body: &impl Fn(usize) -> i32,
    size: impl Fn(i32) -> f64,
) -> Decimated {
    let mut numbers: HashMap<(i32, [i64; 3]), u32> = HashMap::new();
    // Sums of places weighted by areas, and of areas.
    let mut sums: Vec<([f64; 3], f64)> = Vec::new();
    let mut sizes: HashMap<i32, f64> = HashMap::new();
    let mut corners_of = Vec::with_capacity(triangles.len());
    for (t, corners) in triangles.iter().enumerate() {
        let body = body(t);
        let cell = *sizes.entry(body).or_insert_with(|| size(body));
        let places = corners.map(|v| vertices[v as usize]);
        let weight = area(places).max(f64::MIN_POSITIVE);
        corners_of.push(places.map(|place| {
            let key = (body, place.map(|x| (x / cell).floor() as i64));
            let number = *numbers.entry(key).or_insert_with(|| {
                sums.push(([0.0; 3], 0.0));
                (sums.len() - 1) as u32
            });
            let (sum, weights) = &mut sums[number as usize];
            (0..3).for_each(|k| sum[k] += weight * place[k]);
            *weights += weight;
            number
        }));
    }
    let mut known: HashMap<[u32; 3], u32> = HashMap::new();
    let mut made = Decimated {
        vertices: sums.iter().map(|(sum, weight)| sum.map(|x| x / weight)).collect(),
        triangles: Vec::new(),
        body: Vec::new(),
        target: vec![u32::MAX; triangles.len()],
    };
    let mut of_vertex = vec![u32::MAX; sums.len()];
    let mut of_body: HashMap<i32, u32> = HashMap::new();
    for (t, &[a, b, c]) in corners_of.iter().enumerate() {
        if a == b || b == c || c == a {
            continue;
        }
        let mut sorted = [a, b, c];
        sorted.sort_unstable();
        let number = *known.entry(sorted).or_insert_with(|| {
            made.triangles.push([a, b, c]);
            made.body.push(body(t));
            (made.triangles.len() - 1) as u32
        });
        made.target[t] = number;
        [a, b, c].iter().for_each(|&v| of_vertex[v as usize] = number);
        of_body.entry(body(t)).or_insert(number);
    }
    // Triangles that became a side or a point.
    for (t, corners) in corners_of.iter().enumerate() {
        if made.target[t] == u32::MAX {
            let near = corners.iter().map(|&v| of_vertex[v as usize]).find(|&n| n != u32::MAX);
            let near = near.or_else(|| of_body.get(&body(t)).copied());
            made.target[t] = near.unwrap_or(u32::MAX);
        }
    }
    made
}

/// The area of a triangle.
pub fn area([a, b, c]: [[f64; 3]; 3]) -> f64 {
    let [u, v]: [[f64; 3]; 2] = [b, c].map(|p| std::array::from_fn(|k| p[k] - a[k]));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    0.5 * cross.iter().map(|x| x * x).sum::<f64>().sqrt()
}
