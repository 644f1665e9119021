//! The surface that every reader produces and every other part of Farad consumes.

/// A named set of elements, as Gmsh's `$PhysicalNames` and element tags define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalGroup {
    /// Gmsh's physical tag.
    pub tag: i64,
    /// The name in `$PhysicalNames`, if it has one.
    pub name: Option<String>,
}

/// A triangle surface in the unit of its file.
///
/// Quadrangles arrive split, higher-order triangles arrive flat. Vertices that no triangle uses are dropped by the readers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Coordinates, shape (vertices, 3).
    pub vertices: Vec<[f64; 3]>,
    /// Vertex indices, counter-clockwise seen from the side the normal points to, shape (triangles, 3).
    pub triangles: Vec<[u32; 3]>,
    /// The surface's physical groups (dimension 2), in order of first appearance.
    pub groups: Vec<PhysicalGroup>,
    /// For each triangle, an index into `memberships`.
    pub membership: Vec<u32>,
    /// Distinct sets of groups (indices into `groups`, sorted); entry 0 is the empty set.
    pub memberships: Vec<Vec<u32>>,
}
