//! Properties of a mesh, as text for people.

use std::fmt::Write as _;
use std::path::Path;

use mesh::check::{PartReport, Report};
use mesh::files::Reading;
use mesh::quality::Statistics;
use mesh::topology::Orientation;

use crate::report::text::{printable, printable_line};
use crate::report::text_table::aligned_table;
use crate::report::units::{self, significant};
use crate::surfaces;

/// Components beyond this are only counted.
const MOST_SHOWN: usize = 20;

/// The whole description.
pub(super) fn describe(file: &Path, read: &Reading, report: &Report) -> String {
    let mut text = format!("{}: {}\n", file.display(), read.format);
    let elements: Vec<_> = read
        .elements
        .iter()
        .map(|(kind, number)| format!("{} x {kind}", units::count(*number as u64)))
        .collect();
    let [low, high] = report.quality.bounding_box;
    let _ = writeln!(text, "  in the file   {}", elements.join(", "));
    let _ = writeln!(
        text,
        "  surface       {} triangles, {} vertices, area {}",
        units::count(report.triangles as u64),
        units::count(report.vertices as u64),
        significant(report.quality.area)
    );
    if report.order > 1 {
        let _ = writeln!(
            text,
            "  curved        of order {}; areas and volumes are those of the curved surface, quality is that of the corners",
            report.order
        );
    }
    let _ = writeln!(text, "  bounding box  {} to {}", point(low), point(high));
    for note in &read.notes {
        let _ = writeln!(text, "  note          {note}");
    }
    if report.groups.is_empty() {
        text += "\nThe mesh has no physical groups.\n";
    } else {
        let _ = write!(text, "\n{}", parts("physical group", &report.groups));
    }
    if report.ungrouped > 0 {
        let _ =
            writeln!(text, "  not in any group: {}", units::counted(report.ungrouped, "triangle"));
    }
    let _ = write!(text, "\n{}", parts("component", &report.components));
    let _ = write!(text, "\n{}", quality(report));
    let _ = writeln!(
        text,
        "\nNon-manifold edges {}, duplicate triangles {}, triangles of zero area {}",
        report.non_manifold_edges.len(),
        report.defects.duplicates.len(),
        report.defects.zero_area.len()
    );
    // In FastCap's files, conductors of several pieces are the rule.
    if let Some(note) = report.separate().filter(|_| !surfaces::has_nets(file)) {
        let _ = writeln!(text, "note: {}; a conductor of it is one net", printable_line(&note));
    }
    for warning in report.warnings() {
        let _ = writeln!(text, "warning: {}", printable_line(&warning.to_string()));
    }
    printable(&text).into_owned()
}

fn parts(title: &str, parts: &[PartReport]) -> String {
    let header =
        [title, "triangles", "area", "surface", "normals", "boundary edges", "non-manifold"];
    let rows = parts.iter().take(MOST_SHOWN).map(|PartReport { label, area, part, .. }| {
        vec![
            label.clone(),
            units::count(part.triangles as u64),
            significant(*area),
            if part.closed { "closed" } else { "open" }.to_owned(),
            normals(part.orientation()).to_owned(),
            part.boundary_edges.to_string(),
            part.non_manifold_edges.to_string(),
        ]
    });
    let mut text = aligned_table(header, rows);
    if parts.len() > MOST_SHOWN {
        let _ = writeln!(text, "  and {} more", parts.len() - MOST_SHOWN);
    }
    text
}

/// Which way normals point, in words.
pub(super) fn normals(orientation: Orientation) -> &'static str {
    match orientation {
        Orientation::Outward => "outward",
        Orientation::Inward => "inward",
        Orientation::Open => "one side",
        Orientation::Inconsistent => "inconsistent",
    }
}

fn quality(report: &Report) -> String {
    let header = ["quality", "least", "median", "greatest"].map(str::to_owned).to_vec();
    let row = |name: &str, values: &Statistics| {
        let Statistics { min, median, max, .. } = *values;
        [vec![name.to_owned()], [min, median, max].map(significant).to_vec()].concat()
    };
    let quality = &report.quality;
    let rows = [
        row("edge length", &quality.edge_length),
        row("triangle area", &quality.triangle_area),
        row("smallest angle / degree", &quality.min_angle),
        row("aspect ratio (1 = equilateral)", &quality.aspect_ratio),
    ];
    aligned_table(header, rows)
}

fn point(point: [f64; 3]) -> String {
    format!("({})", point.map(significant).join(", "))
}
