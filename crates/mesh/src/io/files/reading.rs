//! What a reader of surfaces gives besides the mesh.

use crate::vector::Vector;

/// Counts of the file's content, and changes that made a triangle surface of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Format, version and encoding, such as "MSH 4.1, binary".
    pub format: String,
    /// Kinds of elements in the file and how many of each, such as ("6-node triangle", 120).
    pub elements: Vec<(String, usize)>,
    /// Sentences for people about whatever is not routine.
    pub notes: Vec<String>,
    /// The normals that the file gives at the mesh's vertices, unchecked, shape (vertices, 3); zero
    /// at vertices for which it has none. `None` where it has none at all.
    pub normals: Option<Vec<Vector>>,
}
