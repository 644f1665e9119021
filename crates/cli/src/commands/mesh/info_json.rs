//! `farad mesh info --json`. Every key is always there; lengths are in the mesh's unit.

use std::path::Path;

use mesh::check::{PartReport, Report};
use mesh::files::Reading;
use mesh::quality::Statistics;
use serde::Serialize;

use super::info_text::normals;
use crate::terminal::exit::{Exit, Failure};

/// Name and version of what [`Document`] looks like.
const SCHEMA: &str = "farad-mesh/1";

#[derive(Clone, Debug, Serialize)]
struct Document {
    schema: &'static str,
    file: String,
    format: String,
    /// Kinds of elements in the file, and how many of each.
    elements: Vec<Element>,
    notes: Vec<String>,
    triangles: usize,
    vertices: usize,
    /// Order of the triangles: 1 where they are flat.
    order: usize,
    area: f64,
    bounding_box: [[f64; 3]; 2],
    groups: Vec<PartJson>,
    triangles_in_no_group: usize,
    components: Vec<PartJson>,
    quality: Quality,
    defects: Defects,
    warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Element {
    kind: String,
    count: usize,
}

#[derive(Clone, Debug, Serialize)]
struct PartJson {
    name: String,
    triangles: usize,
    area: f64,
    closed: bool,
    normals: &'static str,
    boundary_edges: usize,
    non_manifold_edges: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Quality {
    edge_length: Spread,
    triangle_area: Spread,
    smallest_angle_degrees: Spread,
    aspect_ratio: Spread,
}

#[derive(Clone, Debug, Serialize)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Defects {
    non_manifold_edges: usize,
    duplicate_triangles: usize,
    zero_area_triangles: usize,
    coincident_vertices: usize,
}

/// The whole description.
pub(super) fn text(file: &Path, read: &Reading, report: &Report) -> Result<String, Failure> {
    let quality = &report.quality;
    let document = Document {
        schema: SCHEMA,
        file: file.display().to_string(),
        format: read.format.clone(),
        elements: read
            .elements
            .iter()
            .map(|(kind, count)| Element { kind: kind.clone(), count: *count })
            .collect(),
        notes: read.notes.clone(),
        triangles: report.triangles,
        vertices: report.vertices,
        order: report.order,
        area: quality.area,
        bounding_box: quality.bounding_box,
        groups: report.groups.iter().map(part).collect(),
        triangles_in_no_group: report.ungrouped,
        components: report.components.iter().map(part).collect(),
        quality: Quality {
            edge_length: spread(&quality.edge_length),
            triangle_area: spread(&quality.triangle_area),
            smallest_angle_degrees: spread(&quality.min_angle),
            aspect_ratio: spread(&quality.aspect_ratio),
        },
        defects: Defects {
            non_manifold_edges: report.non_manifold_edges.len(),
            duplicate_triangles: report.defects.duplicates.len(),
            zero_area_triangles: report.defects.zero_area.len(),
            coincident_vertices: report.coincident_vertices,
        },
        warnings: report.warnings().iter().map(ToString::to_string).collect(),
    };
    serde_json::to_string_pretty(&document).map_err(|error| Failure::new(Exit::Io, error))
}

fn part(PartReport { label, area, part, .. }: &PartReport) -> PartJson {
    PartJson {
        name: label.clone(),
        triangles: part.triangles,
        area: *area,
        closed: part.closed,
        normals: normals(part.orientation()),
        boundary_edges: part.boundary_edges,
        non_manifold_edges: part.non_manifold_edges,
    }
}

fn spread(values: &Statistics) -> Spread {
    let Statistics { min, median, max, .. } = *values;
    Spread { min, median, max }
}
