//! The surface of a page: what the viewer draws, packed, and the picture in its place.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

use super::colour::{self, DIVERGING, Map, SEQUENTIAL};
use super::decimate::{Decimated, decimated};
use super::picture;
use super::surface::Surface;
use crate::units::prefix;

/// More triangles are no use on a screen.
const MOST_TRIANGLES: usize = 150_000;

/// No surface looks right with fewer.
const FEWEST_TRIANGLES: usize = 4_000;

/// Excitations that a view keeps, whatever the triangles cost.
const FEWEST_FIELDS: usize = 8;

/// Of the surface, the part whose values colours do not tell apart: charge is singular at edges.
const BEYOND: f64 = 0.03;

/// Values below zero that are smaller than this part of the largest are no negative charge, but
/// errors.
const NEGATIVE: f64 = 0.02;

const PICTURE: [usize; 2] = [960, 600];

/// What the surface is a picture of.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Conductors in matrix order.
    pub(super) conductors: Vec<String>,
    /// Those that were excited.
    pub(super) columns: Vec<String>,
    /// Bodies that come after the conductors.
    pub(super) others: Vec<String>,
}

/// A surface for the viewer.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) about: About,
    /// zlib in base64, as viewer.js takes it apart.
    pub(super) data: String,
    /// A PNG file in base64, of the first field.
    pub(super) picture: String,
    /// Triangles of the surface itself.
    pub(super) of_triangles: usize,
    /// Excitations whose charge the files have, but not the view.
    pub(super) left_out: usize,
}

/// What `#scene-about` has.
#[derive(Debug, Serialize)]
pub(super) struct About {
    vertices: usize,
    pub(super) triangles: usize,
    extent: [f64; 3],
    direction: [f64; 3],
    /// How many of the bodies are conductors.
    conductors: usize,
    pub(super) bodies: Vec<Body>,
    pub(super) fields: Vec<Field>,
    maps: BTreeMap<&'static str, Map>,
}

#[derive(Debug, Serialize)]
pub(super) struct Body {
    pub(super) name: String,
    pub(super) colour: [u8; 3],
}

/// A quantity in one excitation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Field {
    /// "charge" or "potential".
    pub(super) kind: &'static str,
    /// The excitation.
    pub(super) name: String,
    pub(super) label: &'static str,
    pub(super) unit: String,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) map: &'static str,
    /// The conductor at 1 V, for potentials that need no data.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<usize>,
}

/// An array of the files that is shown.
struct Wanted {
    array: String,
    kind: &'static str,
    name: String,
    label: &'static str,
    unit: &'static str,
}

/// The surface in a folder of results, in no more than about `room` bytes of text. `None` if there
/// is none.
pub(super) fn of_folder(folder: &Path, named: &Named, room: usize) -> io::Result<Option<Scene>> {
    let Some(surface) = Surface::open(folder)?.filter(|s| !s.triangles.is_empty()) else {
        return Ok(None);
    };
    let mut wanted = wanted(&surface.arrays, named);
    let available = wanted.len();
    let mut most = MOST_TRIANGLES;
    loop {
        let body = |t: usize| surface.body[surface.cell[t] as usize];
        let small = decimated(&surface.vertices, &surface.triangles, body, most);
        let fields = fields(&surface, &small, &wanted)?;
        let scene = packed(&surface, &small, fields, named, available)?;
        let size = scene.data.len() + scene.picture.len();
        if size <= room || (most <= FEWEST_TRIANGLES && wanted.len() <= 1) {
            return Ok(Some(scene));
        }
        // First fewer excitations, then fewer triangles.
        if wanted.len() > FEWEST_FIELDS || most <= FEWEST_TRIANGLES {
            let few = if most <= FEWEST_TRIANGLES { 1 } else { FEWEST_FIELDS };
            wanted.truncate((wanted.len() / 2).max(few));
        } else {
            let fits = small.triangles.len() as f64 * 0.9 * room as f64 / size as f64;
            most = (fits as usize).max(FEWEST_TRIANGLES);
        }
    }
}

/// The arrays to show: those of the state, then those of excitations.
fn wanted(arrays: &[String], named: &Named) -> Vec<Wanted> {
    // As XML has the name.
    let fit = |name: &str| -> String {
        let gone = |c: char| (c < ' ' && !"\t\n\r".contains(c)) || "\u{fffe}\u{ffff}".contains(c);
        name.chars().map(|c| if gone(c) { '\u{fffd}' } else { c }).collect()
    };
    let find = |array: &str| arrays.iter().find(|known| known.as_str() == array).cloned();
    let mut wanted = Vec::new();
    let state = "state of the case";
    for (array, kind, label, unit) in [
        ("charge density, free and bound [C/m^2]", "charge", "charge density", "C/m²"),
        ("potential [kT/e]", "potential", "potential", "kT/e"),
        ("potential [V]", "potential", "potential", "V"),
    ] {
        let has_potential = wanted.iter().any(|w: &Wanted| w.kind == "potential");
        if kind == "potential" && has_potential {
            continue;
        }
        if let Some(array) = find(array) {
            wanted.push(Wanted { array, kind, name: state.to_owned(), label, unit });
        }
    }
    for column in &named.columns {
        let name = fit(column);
        let all = format!("charge density, free and bound, {name} at 1 V [C/m^2]");
        let free = format!("charge density, {name} at 1 V [C/m^2]");
        if let Some(array) = find(&all).or_else(|| find(&free)) {
            let (name, label) = (format!("{column} at 1 V"), "charge density");
            wanted.push(Wanted { array, kind: "charge", name, label, unit: "C/m²" });
        }
    }
    wanted
}

/// Of each wanted array what it says, and its values on the triangles that are left.
fn fields(
    surface: &Surface,
    small: &Decimated,
    wanted: &[Wanted],
) -> io::Result<Vec<(Field, Vec<u8>)>> {
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.array.as_str()).collect();
    let count = small.triangles.len();
    let mut parts = vec![0u32; surface.body.len()];
    surface.cell.iter().for_each(|&cell| parts[cell as usize] += 1);
    // Sums of values times areas, and of areas.
    let mut sums = vec![vec![[0.0f64; 2]; count]; wanted.len()];
    let mut starts = Vec::new();
    for (t, &cell) in surface.cell.iter().enumerate() {
        if starts.last().is_none_or(|(known, _)| *known != cell) {
            starts.push((cell, t));
        }
    }
    surface.read(&names, |place, first, values| {
        let from = starts.partition_point(|(cell, _)| (*cell as usize) < first);
        let Some(&(_, from)) = starts.get(from) else { return };
        for t in from..surface.cell.len() {
            let cell = surface.cell[t] as usize;
            let Some(&value) = values.get(cell - first) else { break };
            let target = small.target[t] as usize;
            if let Some(sum) = sums[place].get_mut(target).filter(|_| value.is_finite()) {
                let weight = surface.area[cell] / f64::from(parts[cell]);
                *sum = [sum[0] + weight * value, sum[1] + weight];
            }
        }
    })?;
    let field = |(wanted, sums): (&Wanted, Vec<[f64; 2]>)| {
        let (low, high, map) = range(&sums);
        let scale = prefix(low.abs().max(high));
        let codes = sums.iter().map(|[sum, weight]| code(sum / weight, low, high)).collect();
        let prefixed = |unit: &str| match unit {
            "kT/e" => (unit.to_owned(), 1.0),
            unit => (format!("{}{unit}", scale.symbol.replace('u', "µ")), scale.factor),
        };
        let (unit, factor) = prefixed(wanted.unit);
        let field = Field {
            kind: wanted.kind,
            name: wanted.name.clone(),
            label: wanted.label,
            unit,
            low: low / factor,
            high: high / factor,
            map,
            of: None,
        };
        (field, codes)
    };
    Ok(wanted.iter().zip(sums).map(field).collect())
}

/// The values at the ends of the colours, and which colours they are.
pub fn range(sums: &[[f64; 2]]) -> (f64, f64, &'static str) {
    let mut sizes: Vec<(f64, f64)> = sums
        .iter()
        .filter(|[_, weight]| *weight > 0.0)
        .map(|[sum, weight]| (sum / weight, *weight))
        .filter(|(value, _)| value.is_finite())
        .collect();
    let lowest = sizes.iter().fold(0.0_f64, |low, (value, _)| low.min(*value));
    sizes.iter_mut().for_each(|(value, _)| *value = value.abs());
    sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let beyond = BEYOND * sizes.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut passed = 0.0;
    let limit = sizes.iter().find(|(_, weight)| {
        passed += weight;
        passed >= beyond
    });
    let limit = limit.map_or(0.0, |(size, _)| *size);
    let largest = sizes.first().map_or(0.0, |(size, _)| *size);
    let limit = if limit > 0.0 { limit } else { largest };
    let limit = if limit > 0.0 { limit } else { 1.0 };
    if lowest < -NEGATIVE * limit {
        (-limit, limit, "diverging")
    } else {
        (0.0, limit, "sequential")
    }
}

/// The byte for a value: 0 for none, else 1 to 255.
pub fn code(value: f64, low: f64, high: f64) -> u8 {
    if value.is_nan() {
        return 0;
    }
    1 + (254.0 * ((value - low) / (high - low)).clamp(0.0, 1.0)).round() as u8
}

fn map_named(name: &str) -> Map {
    if name == "diverging" { DIVERGING } else { SEQUENTIAL }
}

/// Everything for the viewer, and the picture.
fn packed(
    surface: &Surface,
    small: &Decimated,
    fields: Vec<(Field, Vec<u8>)>,
    named: &Named,
    available: usize,
) -> io::Result<Scene> {
    let conductors = named.conductors.len();
    let bodies = bodies(small, named);
    let last = bodies.len() - 1;
    let number = |id: i32| usize::try_from(id).map_or(last, |id| id.min(last)) as u16;

    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    for vertex in small.triangles.iter().flatten().map(|&v| small.vertices[v as usize]) {
        low = std::array::from_fn(|k| low[k].min(vertex[k]));
        high = std::array::from_fn(|k| high[k].max(vertex[k]));
    }
    let extent: [f64; 3] = std::array::from_fn(|k| high[k] - low[k]);
    // Only the vertices in use.
    let mut numbers = vec![u32::MAX; small.vertices.len()];
    let mut bytes = Vec::new();
    let mut indices = Vec::new();
    let mut count = 0u32;
    for &corner in small.triangles.iter().flatten() {
        let known = &mut numbers[corner as usize];
        if *known == u32::MAX {
            *known = count;
            count += 1;
            for k in 0..3 {
                let place = (small.vertices[corner as usize][k] - low[k]) / extent[k];
                // A flat surface is in the middle of its box.
                let place = if place.is_finite() { place } else { 0.5 };
                bytes.extend(((65535.0 * place).round() as u16).to_le_bytes());
            }
        }
        indices.push(*known);
    }
    let mut before = 0;
    for index in indices {
        bytes.extend(index.wrapping_sub(before).to_le_bytes());
        before = index;
    }
    small.body.iter().for_each(|&id| bytes.extend(number(id).to_le_bytes()));

    let first = fields.first().map(|(field, codes)| (map_named(field.map), codes.clone()));
    let colours = |t: usize| match &first {
        Some((map, codes)) => match codes[t] {
            0 => colour::NONE,
            code => colour::at(map, f64::from(code - 1) / 254.0),
        },
        None => bodies[usize::from(number(small.body[t]))].colour,
    };
    let picture = picture::draw(PICTURE, &small.vertices, &small.triangles, colours)?;

    let left_out = available - fields.len();
    let mut shown = Vec::new();
    for (field, codes) in fields {
        bytes.extend(codes);
        shown.push(field);
    }
    if conductors > 1 {
        let charged: Vec<&str> = shown.iter().map(|field| field.name.as_str()).collect();
        let potentials: Vec<Field> = (0..conductors)
            .filter_map(|index| {
                let name = format!("{} at 1 V", named.conductors[index]);
                charged.contains(&name.as_str()).then(|| Field {
                    kind: "potential",
                    name,
                    label: "potential",
                    unit: "V".to_owned(),
                    low: 0.0,
                    high: 1.0,
                    map: "sequential",
                    of: Some(index),
                })
            })
            .collect();
        shown.extend(potentials);
    }
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&bytes)?;
    Ok(Scene {
        about: About {
            vertices: count as usize,
            triangles: small.triangles.len(),
            extent,
            direction: picture::DIRECTION,
            conductors,
            bodies,
            fields: shown,
            maps: BTreeMap::from([("sequential", SEQUENTIAL), ("diverging", DIVERGING)]),
        },
        data: BASE64_STANDARD.encode(packer.finish()?),
        picture: BASE64_STANDARD.encode(picture),
        of_triangles: surface.body.len(),
        left_out,
    })
}

/// All bodies, the last of which is whatever has no name.
fn bodies(small: &Decimated, named: &Named) -> Vec<Body> {
    let known = named.conductors.iter().chain(&named.others).cloned();
    let mut names: Vec<String> = known.take(usize::from(u16::MAX) - 1).collect();
    let highest = small.body.iter().copied().max().unwrap_or(-1);
    let interfaces = usize::try_from(highest + 1).unwrap_or(0).min(usize::from(u16::MAX) - 1);
    for number in 1..=interfaces.saturating_sub(names.len()) {
        names.push(format!("surface {number}"));
    }
    let mut bodies: Vec<Body> = names
        .into_iter()
        .enumerate()
        .map(|(index, name)| Body { name, colour: colour::of_body(index) })
        .collect();
    bodies.push(Body { name: "other surfaces".to_owned(), colour: colour::NONE });
    bodies
}
