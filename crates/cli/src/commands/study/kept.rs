//! Meshes in a checkpoint, with their results.

use farad::{OfMesh, Quantity};
use serde::{Deserialize, Serialize};

use super::results::{MeshResult, relative_size};
use crate::report::results::Checkpoint;
use crate::report::warnings::SentWarning;

/// A mesh in a checkpoint, but for numbers: the tolerance, the matrix, the other results, those of
/// the matrix's bars and the bars of others that there are.
#[derive(Serialize, Deserialize)]
struct KeptMesh {
    triangles: usize,
    iterations: usize,
    warnings: Vec<SentWarning>,
    conductors: Vec<String>,
    columns: Vec<usize>,
    /// Names and units.
    others: Vec<(String, String)>,
    has_matrix_bars: bool,
    has_bar: Vec<bool>,
}

/// The part that is a mesh.
fn part(level: u32) -> String {
    format!("mesh-{level}")
}

/// Keeps what a mesh has given.
pub(super) fn put(checkpoint: &Checkpoint, level: u32, result: &MeshResult, mesh: &OfMesh) {
    let others = mesh.others.iter();
    let description = KeptMesh {
        triangles: result.triangles,
        iterations: result.iterations,
        warnings: result.warnings.iter().map(SentWarning::of).collect(),
        conductors: mesh.names.clone(),
        columns: mesh.columns.clone(),
        others: others.map(|(name, unit, _)| (name.clone(), (*unit).to_owned())).collect(),
        has_matrix_bars: !mesh.matrix_bars.is_empty(),
        has_bar: mesh.other_bars.iter().map(Option::is_some).collect(),
    };
    let numbers: Vec<f64> = [mesh.tolerance]
        .into_iter()
        .chain(mesh.matrix.iter().flatten().copied())
        .chain(mesh.others.iter().map(|quantity| quantity.2))
        .chain(mesh.matrix_bars.iter().flatten().copied())
        .chain(mesh.other_bars.iter().flatten().copied())
        .collect();
    checkpoint.put(&part(level), &description, &numbers);
}

/// What was kept of a mesh.
pub(super) fn take(checkpoint: &Checkpoint, level: u32) -> Option<(MeshResult, OfMesh)> {
    let (mesh, numbers): (KeptMesh, _) = checkpoint.take(&part(level))?;
    let KeptMesh { triangles, iterations, warnings, conductors, columns, others, .. } = mesh;
    let mut numbers = numbers.into_iter();
    let mut next = || numbers.next();
    let tolerance = next()?;
    let (rows, width) = (conductors.len(), columns.len());
    let of_matrix = |next: &mut dyn FnMut() -> Option<f64>| -> Option<Vec<Vec<f64>>> {
        (0..rows).map(|_| (0..width).map(|_| next()).collect()).collect()
    };
    let matrix = of_matrix(&mut next)?;
    let quantity = |(name, unit): (String, String)| -> Option<Quantity> {
        Some((name, farad::unit_named(&unit)?, next()?))
    };
    let others = others.into_iter().map(quantity).collect::<Option<Vec<_>>>()?;
    let matrix_bars = if mesh.has_matrix_bars { of_matrix(&mut next)? } else { Vec::new() };
    let bar = |has: bool| if has { next().map(Some) } else { Some(None) };
    let other_bars = mesh.has_bar.into_iter().map(bar).collect::<Option<Vec<_>>>()?;
    let warnings = warnings.into_iter().map(SentWarning::into_warning).collect();
    let relative_size = relative_size(level);
    let result = MeshResult { triangles, relative_size, iterations, warnings };
    let names = conductors;
    let mesh = OfMesh { names, columns, tolerance, matrix, others, matrix_bars, other_bars };
    Some((result, mesh))
}
