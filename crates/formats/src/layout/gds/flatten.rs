//! A cell with everything that it refers to, in the coordinates of that cell.

use std::collections::{BTreeMap, HashMap, HashSet};

use mesh::files::FormatError;
use mesh::outlines::{self, Polygon};
use mesh::prisms::Point;

use super::path;
use super::stream::{Cell, Label, Layer, Library, Reference, Shape, fault};

/// Cells in cells, at most.
const DEEPEST: usize = 256;

/// Shapes and labels, at most: arrays of arrays may need more than any memory.
const MOST_SHAPES: usize = 2_000_000;

/// Places of cells, at most, those outside of the window included.
const MOST_PLACES: usize = 100_000_000;

/// Coordinates, at most: half a metre in nanometres. Regions are exact up to here.
const FARTHEST: f64 = (1u64 << 29) as f64;

/// A map of the plane: a turn, perhaps mirrored and magnified, and then a shift.
#[derive(Clone, Copy, Debug)]
struct Map {
    /// Rows of the matrix.
    by: [[f64; 2]; 2],
    shift: Point,
    scale: f64,
}

impl Map {
    const SAME: Self = Self { by: [[1.0, 0.0], [0.0, 1.0]], shift: [0.0; 2], scale: 1.0 };

    fn of(reference: &Reference, origin: Point) -> Self {
        let scale = reference.magnification;
        // Right angles are exact.
        let (sine, cosine) = match reference.angle.rem_euclid(360.0) {
            0.0 => (0.0, 1.0),
            90.0 => (1.0, 0.0),
            180.0 => (0.0, -1.0),
            270.0 => (-1.0, 0.0),
            angle => angle.to_radians().sin_cos(),
        };
        let y = if reference.is_mirrored { -scale } else { scale };
        let by = [[scale * cosine, -y * sine], [scale * sine, y * cosine]];
        Self { by, shift: origin, scale }
    }

    fn apply(&self, [x, y]: Point) -> Point {
        [0, 1].map(|k| self.by[k][0] * x + self.by[k][1] * y + self.shift[k])
    }

    /// This map after another one.
    fn after(&self, first: &Self) -> Self {
        let entry =
            |i: usize, j: usize| self.by[i][0] * first.by[0][j] + self.by[i][1] * first.by[1][j];
        Self {
            by: [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]],
            shift: self.apply(first.shift),
            scale: self.scale * first.scale,
        }
    }
}

/// What a cell has once all references are followed.
#[derive(Debug, Default)]
pub struct Flat {
    /// Corners are whole numbers.
    pub shapes: BTreeMap<Layer, Vec<Polygon>>,
    pub labels: Vec<Label>,
    /// Cells that are referred to and not there.
    pub missing: Vec<String>,
    /// Paths without width.
    pub lines: usize,
}

/// The corners of a rectangle.
pub type Bounds = [Point; 2];

struct Flattening<'l> {
    library: &'l Library,
    index_of: HashMap<&'l str, usize>,
    /// What is around each cell; `None` for one that is empty.
    bounds: Vec<Option<Bounds>>,
    /// Nothing outside of it is wanted.
    window: Option<Bounds>,
    has_all_labels: bool,
    shapes: usize,
    places: usize,
    flat: Flat,
}

/// The only cell that no other refers to, or the one of a name.
pub fn top(library: &Library, name: Option<&str>) -> Result<usize, FormatError> {
    let names = |cells: &[&Cell]| {
        let shown: Vec<String> =
            cells.iter().take(12).map(|cell| format!("\"{}\"", cell.name)).collect();
        let more = cells.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    let all: Vec<&Cell> = library.cells.iter().collect();
    if let Some(name) = name {
        return library.cells.iter().position(|cell| cell.name == name).ok_or_else(|| {
            let message = format!("there is no cell \"{name}\"; there are {}", names(&all));
            fault(0, message)
        });
    }
    let referred: Vec<&str> =
        all.iter().flat_map(|cell| &cell.references).map(|of| of.cell.as_str()).collect();
    let referred: HashSet<&str> = referred.into_iter().collect();
    let tops: Vec<&Cell> =
        all.into_iter().filter(|cell| !referred.contains(cell.name.as_str())).collect();
    match tops.as_slice() {
        [] if library.cells.is_empty() => Err(fault(0, "the file has no cells")),
        [] => Err(fault(library.cells[0].at, "all cells refer to each other in circles")),
        [one] => {
            Ok(library.cells.iter().position(|cell| cell.name == one.name).unwrap_or_default())
        }
        several => {
            let message = format!(
                "no other cell refers to {}: name the one to solve as `top` in the stack file",
                names(several)
            );
            Err(fault(several[1].at, message))
        }
    }
}

/// Follows all references. Labels are those of the cell itself, or all.
pub fn flatten(
    library: &Library,
    top: usize,
    window: Option<Bounds>,
    has_all_labels: bool,
) -> Result<Flat, FormatError> {
    let index_of: HashMap<&str, usize> =
        (0..).zip(&library.cells).map(|(k, cell)| (cell.name.as_str(), k)).collect();
    let count = library.cells.len();
    let mut all = Flattening {
        library,
        index_of,
        bounds: vec![None; count],
        window,
        has_all_labels,
        shapes: 0,
        places: 0,
        flat: Flat::default(),
    };
    all.measure(top, &mut vec![State::New; count], 0)?;
    all.place(top, Map::SAME, true)?;
    all.flat.missing.sort();
    all.flat.missing.dedup();
    Ok(all.flat)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

fn too_many(at: usize, most: usize, what: &str) -> FormatError {
    let message = format!(
        "there are more than {most} {what}: choose a smaller cell (`top`) or a `window` in the stack file"
    );
    fault(at, message)
}

fn around(bounds: Option<Bounds>, at: Point) -> Option<Bounds> {
    let [low, high] = bounds.unwrap_or([at, at]);
    Some([[0, 1].map(|k| low[k].min(at[k])), [0, 1].map(|k| high[k].max(at[k]))])
}

fn corners([low, high]: Bounds) -> [Point; 4] {
    [low, [high[0], low[1]], high, [low[0], high[1]]]
}

impl<'l> Flattening<'l> {
    /// Finds what is around a cell, after those that it refers to.
    fn measure(&mut self, k: usize, states: &mut [State], depth: usize) -> Result<(), FormatError> {
        states[k] = State::Open;
        let library: &'l Library = self.library;
        let cell = &library.cells[k];
        let mut bounds = None;
        for (_, shape) in &cell.shapes {
            let (points, more) = match shape {
                Shape::Polygon(points) => (points, 0.0),
                Shape::Path(path) => {
                    let ends = match path.ends {
                        super::stream::Ends::Square(by) => by[0].max(by[1]).max(0.0),
                        super::stream::Ends::Round => 0.0,
                    };
                    // A widened corner is no farther away than a square's.
                    (&path.points, path.width + ends)
                }
            };
            for [x, y] in points {
                bounds = around(around(bounds, [x - more, y - more]), [x + more, y + more]);
            }
        }
        for label in &cell.labels {
            bounds = around(bounds, label.position);
        }
        for reference in &cell.references {
            let Some(&inner) = self.index_of.get(reference.cell.as_str()) else {
                self.flat.missing.push(reference.cell.clone());
                continue;
            };
            if states[inner] == State::Open {
                let message = format!(
                    "the cell \"{}\" refers to \"{}\", which is made of it",
                    cell.name, reference.cell
                );
                return Err(fault(reference.at, message));
            }
            if depth == DEEPEST {
                let message = format!("cells are nested more than {DEEPEST} deep");
                return Err(fault(reference.at, message));
            }
            if states[inner] == State::New {
                self.measure(inner, states, depth + 1)?;
            }
            let Some(inner) = self.bounds[inner] else { continue };
            let [(columns, _), (rows, _)] = reference.array;
            for [i, j] in [[0, 0], [columns - 1, 0], [0, rows - 1], [columns - 1, rows - 1]] {
                let map = Map::of(reference, origin(reference, i, j));
                for corner in corners(inner) {
                    bounds = around(bounds, map.apply(corner));
                }
            }
        }
        self.bounds[k] = bounds;
        states[k] = State::Done;
        Ok(())
    }

    fn is_wanted(&self, bounds: Option<Bounds>, map: &Map) -> bool {
        let Some(bounds) = bounds else { return false };
        let Some([low, high]) = self.window else { return true };
        let of = corners(bounds).into_iter().fold(None, |all, at| around(all, map.apply(at)));
        // Rounding moves what is on the edge by half a unit.
        of.is_some_and(|[l, h]| (0..2).all(|k| l[k] <= high[k] + 1.0 && h[k] >= low[k] - 1.0))
    }

    /// Counts a shape or a label.
    fn count(&mut self, at: usize) -> Result<(), FormatError> {
        self.shapes += 1;
        match self.shapes > MOST_SHAPES {
            true => Err(too_many(at, MOST_SHAPES, "shapes")),
            false => Ok(()),
        }
    }

    fn place(&mut self, k: usize, map: Map, is_top: bool) -> Result<(), FormatError> {
        let library: &'l Library = self.library;
        let cell = &library.cells[k];
        let whole = |at: Point| map.apply(at).map(|x| x.round() + 0.0);
        if let Some(bounds) = self.bounds[k]
            && !corners(bounds)
                .into_iter()
                .flat_map(|at| map.apply(at))
                .all(|x| x.abs() <= FARTHEST)
        {
            let message = format!(
                "what the cell \"{}\" has is placed more than {FARTHEST} database units from the origin, which is too far",
                cell.name
            );
            return Err(fault(cell.at, message));
        }
        for (layer, shape) in &cell.shapes {
            self.count(cell.at)?;
            let polygons = match shape {
                Shape::Polygon(ring) => {
                    let ring: Vec<Point> = ring.iter().map(|at| whole(*at)).collect();
                    // What is covered twice is no hole.
                    if may_wind(&ring) { outlines::filled(&ring) } else { vec![vec![ring]] }
                }
                Shape::Path(path) if path.width == 0.0 => {
                    self.flat.lines += 1;
                    continue;
                }
                Shape::Path(path) => path::outline(path, |at| map.apply(at), map.scale),
            };
            self.flat.shapes.entry(*layer).or_default().extend(polygons);
        }
        if is_top || self.has_all_labels {
            for label in &cell.labels {
                self.count(label.at)?;
                let position = whole(label.position);
                self.flat.labels.push(Label { position, ..label.clone() });
            }
        }
        for reference in &cell.references {
            let Some(&inner) = self.index_of.get(reference.cell.as_str()) else { continue };
            let [(columns, _), (rows, _)] = reference.array;
            for i in 0..columns {
                for j in 0..rows {
                    self.places += 1;
                    if self.places > MOST_PLACES {
                        return Err(too_many(reference.at, MOST_PLACES, "places of cells"));
                    }
                    let inside = map.after(&Map::of(reference, origin(reference, i, j)));
                    if self.is_wanted(self.bounds[inner], &inside) {
                        self.place(inner, inside, false)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether it has corners enough to go around a place twice.
fn may_wind(ring: &[Point]) -> bool {
    ring.len() > 4
}

/// Where one place of an array is.
fn origin(reference: &Reference, column: u32, row: u32) -> Point {
    let [(_, across), (_, up)] = reference.array;
    [0, 1].map(|k| reference.origin[k] + f64::from(column) * across[k] + f64::from(row) * up[k])
}
