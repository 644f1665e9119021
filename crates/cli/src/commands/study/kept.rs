//! Meshes in a checkpoint, with their results.

use farad::{Key, Measured, OfMesh, Unit};
use serde::{Deserialize, Serialize};

use super::results::{MeshResult, relative_size};
use crate::report::results::Checkpoint;
use crate::report::warnings::SentWarning;

/// A mesh in a checkpoint, but for numbers: the tolerance, the matrix, its bars if there are any,
/// and each other number, with its bar behind it if there is one.
#[derive(Serialize, Deserialize)]
struct KeptMesh {
    triangles: usize,
    iterations: usize,
    warnings: Vec<SentWarning>,
    conductors: Vec<String>,
    columns: Vec<usize>,
    has_matrix_bars: bool,
    others: Vec<KeptNumber>,
}

/// A number other than the matrix, but for its value and bar.
#[derive(Serialize, Deserialize)]
struct KeptNumber {
    key: Key,
    unit: Unit,
    has_bar: bool,
}

/// The part that is a mesh.
fn part(level: u32) -> String {
    format!("mesh-{level}")
}

/// Keeps what a mesh has given.
pub(super) fn put(checkpoint: &Checkpoint, level: u32, result: &MeshResult, mesh: &OfMesh) {
    let kept = |(key, found): &(Key, Measured)| KeptNumber {
        key: key.clone(),
        unit: found.unit,
        has_bar: found.bar.is_some(),
    };
    let description = KeptMesh {
        triangles: result.triangles,
        iterations: result.iterations,
        warnings: result.warnings.iter().map(SentWarning::of).collect(),
        conductors: mesh.names.clone(),
        columns: mesh.columns.clone(),
        has_matrix_bars: !mesh.matrix_bars.is_empty(),
        others: mesh.others.iter().map(kept).collect(),
    };
    let numbers: Vec<f64> = [mesh.tolerance]
        .into_iter()
        .chain(mesh.matrix.iter().flatten().copied())
        .chain(mesh.matrix_bars.iter().flatten().copied())
        .chain(mesh.others.iter().flat_map(|(_, found)| [Some(found.value), found.bar]).flatten())
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
    let matrix_bars = if mesh.has_matrix_bars { of_matrix(&mut next)? } else { Vec::new() };
    let measured = |KeptNumber { key, unit, has_bar }| -> Option<(Key, Measured)> {
        let value = next()?;
        let bar = if has_bar { Some(next()?) } else { None };
        Some((key, Measured { value, bar, unit }))
    };
    let others = others.into_iter().map(measured).collect::<Option<Vec<_>>>()?;
    let warnings = warnings.into_iter().map(SentWarning::into_warning).collect();
    let relative_size = relative_size(level);
    let result = MeshResult { triangles, relative_size, iterations, warnings };
    let names = conductors;
    let mesh = OfMesh { names, columns, tolerance, matrix, others, matrix_bars };
    Some((result, mesh))
}
