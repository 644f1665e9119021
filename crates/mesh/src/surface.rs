//! The surface that every reader produces and every other part of Farad consumes.

use thiserror::Error;

use crate::patch::{MAX_ORDER, node_count};

/// A named set of elements, as Gmsh's `$PhysicalNames` and element tags define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalGroup {
    /// Gmsh's physical tag, positive.
    pub tag: i64,
    /// The name in `$PhysicalNames`, if it has one.
    pub name: Option<String>,
}

impl PhysicalGroup {
    /// The group's name, or `group_<tag>` where it has none.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("group_{}", self.tag),
        }
    }
}

/// A triangle surface in the unit of its file.
///
/// Quadrangles arrive split. Vertices that no triangle uses are dropped by the readers. The readers
/// and generators return valid meshes; check a mesh made by hand with [`Mesh::validate`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Coordinates, shape (vertices, 3).
    pub vertices: Vec<[f64; 3]>,
    /// Vertex indices, counter-clockwise seen from the side the normal points to, shape (triangles,
    /// 3).
    pub triangles: Vec<[u32; 3]>,
    /// The surface's physical groups (dimension 2), in order of first appearance.
    pub groups: Vec<PhysicalGroup>,
    /// For each triangle, an index into `memberships`.
    pub membership: Vec<u32>,
    /// Distinct sets of groups (indices into `groups`, sorted); entry 0 is the empty set.
    pub memberships: Vec<Vec<u32>>,
    /// The shape of curved triangles; `None` where all are flat. Code that uses `triangles` alone
    /// sees those through the corners.
    pub patches: Option<Patches>,
}

/// Curved triangles, all of one order ([`patch`](crate::patch)).
#[derive(Clone, Debug, PartialEq)]
pub struct Patches {
    /// Order of their polynomials, 2 to [`MAX_ORDER`].
    pub order: usize,
    /// The nodes of each triangle, in Gmsh's order, shape (triangles, `node_count(order)`, 3). The
    /// first three of each are its corners, bit by bit; triangles that share a side share its
    /// nodes' places, too.
    pub nodes: Vec<[f64; 3]>,
}

impl Patches {
    /// The nodes of a triangle.
    pub fn of(&self, triangle: usize) -> &[[f64; 3]] {
        let count = node_count(self.order);
        &self.nodes[count * triangle..count * (triangle + 1)]
    }
}

/// Why the arrays of a [`Mesh`] do not fit together.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum InvalidMesh {
    /// A triangle names a vertex that does not exist.
    #[error("triangle {triangle} uses vertex {vertex}, but there are only {vertices} vertices")]
    VertexIndex {
        /// Index of the triangle.
        triangle: usize,
        /// The index it holds.
        vertex: u32,
        /// The number of vertices.
        vertices: usize,
    },
    /// A coordinate is NaN, infinite, or so large that volumes overflow.
    #[error(
        "vertex {vertex} has the coordinate {value:?}; coordinates must be finite and below {MAX_COORDINATE:e}"
    )]
    Coordinate {
        /// Index of the vertex.
        vertex: usize,
        /// The coordinate.
        value: f64,
    },
    /// `membership` is not one valid index for each triangle.
    #[error(
        "the membership array does not give each of the {triangles} triangles one of the {memberships} sets of groups"
    )]
    Membership {
        /// The number of triangles.
        triangles: usize,
        /// The number of entries of `memberships`.
        memberships: usize,
    },
    /// The nodes of curved triangles are not those of the triangles.
    #[error(
        "the nodes of curved triangles do not give each of the {triangles} triangles its own, its corners first"
    )]
    Patches {
        /// The number of triangles.
        triangles: usize,
    },
    /// A set of groups names a group that does not exist.
    #[error("set of groups {set} names group {group}, but there are only {groups} groups")]
    GroupIndex {
        /// Index into `memberships`.
        set: usize,
        /// The index it holds.
        group: u32,
        /// The number of groups.
        groups: usize,
    },
}

/// Largest coordinate (absolute) of a valid mesh: its cube, a volume, is still finite.
pub const MAX_COORDINATE: f64 = 1e100;

/// Whether a coordinate is finite and within [`MAX_COORDINATE`].
pub(crate) fn usable(coordinate: f64) -> bool {
    coordinate.abs() <= MAX_COORDINATE
}

impl Mesh {
    /// The corners of a triangle, shape (3 corners, 3 coordinates).
    pub fn corners(&self, triangle: usize) -> [[f64; 3]; 3] {
        self.triangles[triangle].map(|v| self.vertices[v as usize])
    }

    /// Leaves out vertices that no triangle uses.
    pub fn drop_unused(&mut self) {
        let mut number = vec![u32::MAX; self.vertices.len()];
        for &vertex in self.triangles.iter().flatten() {
            number[vertex as usize] = 0;
        }
        let mut kept = 0;
        for (vertex, number) in number.iter_mut().enumerate() {
            if *number != u32::MAX {
                self.vertices[kept] = self.vertices[vertex];
                *number = kept as u32;
                kept += 1;
            }
        }
        self.vertices.truncate(kept);
        for vertex in self.triangles.iter_mut().flatten() {
            *vertex = number[*vertex as usize];
        }
    }

    /// The groups that a triangle belongs to, as sorted indices into `groups`; none where
    /// `membership` says nothing of it.
    pub fn groups_of(&self, triangle: usize) -> &[u32] {
        let set = self.membership.get(triangle).and_then(|&set| self.memberships.get(set as usize));
        set.map_or(&[], Vec::as_slice)
    }

    /// Checks that indices are in range and coordinates are usable, as all functions that take a
    /// mesh require.
    ///
    /// # Errors
    /// [`InvalidMesh`], the first that is found.
    pub fn validate(&self) -> Result<(), InvalidMesh> {
        let vertices = self.vertices.len();
        for (vertex, point) in self.vertices.iter().enumerate() {
            if let Some(&value) = point.iter().find(|x| !usable(**x)) {
                return Err(InvalidMesh::Coordinate { vertex, value });
            }
        }
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= vertices) {
                return Err(InvalidMesh::VertexIndex { triangle, vertex, vertices });
            }
        }
        let (triangles, memberships) = (self.triangles.len(), self.memberships.len());
        if self.membership.len() != triangles
            || self.membership.iter().any(|&m| m as usize >= memberships)
        {
            return Err(InvalidMesh::Membership { triangles, memberships });
        }
        if let Some(patches) = &self.patches {
            let count = node_count(patches.order);
            let fits = |t: usize| patches.of(t)[..3] == self.corners(t);
            if !(2..=MAX_ORDER).contains(&patches.order)
                || patches.nodes.len() != count * triangles
                || !(0..triangles).all(fits)
            {
                return Err(InvalidMesh::Patches { triangles });
            }
            if let Some((node, x)) = patches
                .nodes
                .iter()
                .enumerate()
                .find_map(|(n, x)| x.iter().find(|x| !usable(**x)).map(|x| (n, *x)))
            {
                let vertex = self.triangles[node / count][0] as usize;
                return Err(InvalidMesh::Coordinate { vertex, value: x });
            }
        }
        let groups = self.groups.len();
        for (set, members) in self.memberships.iter().enumerate() {
            if let Some(&group) = members.iter().find(|&&g| g as usize >= groups) {
                return Err(InvalidMesh::GroupIndex { set, group, groups });
            }
        }
        Ok(())
    }
}
