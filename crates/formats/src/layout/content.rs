//! What files of layouts say, whatever their format; lengths in grid units.

use std::path::{Path, PathBuf};

use farad::LengthUnit;
use mesh::files::{Cause, Error, FormatError, in_file};
use mesh::gmsh::Place;
use mesh::outlines::Polygon;
use mesh::prisms::Point;

/// The axis that layers are perpendicular to.
pub(super) const UP: usize = 2;

/// Heights are multiples of the grid divided by this.
pub(super) const FINER: f64 = 1000.0;

/// A height in grid units as sums and differences have it, whatever they round to.
pub(super) fn whole(steps: f64) -> f64 {
    (steps * FINER).round() / FINER
}

/// Where something is said: index of the file, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub file: usize,
    pub place: Place,
}

/// What a name stands for, and where that is said.
#[derive(Clone, Debug)]
pub(super) struct Named<T> {
    pub name: String,
    pub at: At,
    pub value: T,
}

/// What a conductor belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The net of this name.
    Net(String),
    /// No net; it floats.
    Floating,
    /// No net; it is at 0 V.
    Grounded,
}

/// What kind of dielectric it is; lengths in grid units, as everywhere.
#[derive(Clone, Debug)]
pub(super) enum Extent {
    /// All of the plane from the bottom of one thing to the bottom of another.
    Between([String; 2]),
    /// All of the plane between two heights.
    Heights([f64; 2]),
    /// A film: its thickness over what it wraps, next to that, and elsewhere.
    Film { over: f64, beside: f64, on_field: f64 },
}

#[derive(Clone, Debug)]
pub(super) struct Dielectric {
    /// Where several claim a place, the one with the shortest chain of these down to a layer
    /// counts; those without any come last. Films wrap something.
    pub wraps: Option<String>,
    pub permittivity: f64,
    pub extent: Extent,
}

impl Dielectric {
    /// What it wraps; empty where that is nothing.
    pub(super) fn wraps(&self) -> &str {
        self.wraps.as_deref().unwrap_or_default()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub conductor: String,
    pub layer: String,
    pub polygon: Polygon,
    pub at: At,
}

/// How far what has no end is to be modelled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Domain {
    Margin(Point),
    Box([Point; 2]),
}

/// What files of layouts say.
#[derive(Default)]
pub(super) struct Layout {
    pub files: Vec<PathBuf>,
    /// Their format and its version.
    pub format: String,
    pub unit: Option<LengthUnit>,
    /// The grid unit.
    pub grid: f64,
    pub title: Option<String>,
    /// Heights below the plane at 0 V and of its upper side.
    pub ground: Option<Named<[f64; 2]>>,
    pub metals: Vec<Named<[f64; 2]>>,
    pub vias: Vec<Named<[String; 2]>>,
    pub dielectrics: Vec<Named<Dielectric>>,
    pub background: f64,
    pub conductors: Vec<Named<Owner>>,
    pub shapes: Vec<Shape>,
    pub domain: Option<Domain>,
    /// What says where the domain's walls are, in words.
    pub domain_said_by: &'static str,
    /// Sentences for people.
    pub notes: Vec<String>,
}

impl Layout {
    /// The error of these files at a place.
    pub(super) fn error(&self, at: At, message: impl Into<String>) -> Error {
        let path = self.files.get(at.file).map_or(Path::new(""), PathBuf::as_path);
        in_file(path)(FormatError { place: at.place, cause: Cause::Other(message.into()) })
    }
}
