//! A report on a mesh, and whether it can be solved on.

use crate::bodies::conductors::Loose;
use crate::geometry::curved::{self, Fold};
use crate::geometry::quality::{self, Quality, relative_height};
use crate::geometry::weld::{self, ROUNDINGS};
use crate::surface::{InvalidMesh, Mesh};
use crate::topology::{self, Orientation, Part, Topology};
use crate::vector::{longest_side, max_norm, sub};
use crate::wording::counted;
use parallel::prelude::*;
use std::fmt;

/// A triangle whose height is less than this times its longest side counts as one without area: its
/// shape is rounding noise.
const DEGENERATE: f64 = 1e-12;

/// Vertices closer than this times the mesh's diagonal are the same point.
const COINCIDENT: f64 = 1e-11;

/// Nodes of triangles with the same corners that are closer than this times their size are one.
const SAME_NODE: f64 = 1e-9;

/// Defects that make a solve meaningless or its matrix singular.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defects {
    /// Triangles without area.
    pub zero_area: Vec<u32>,
    /// Triangles with the same three corners as an earlier one; if curved, with the same nodes.
    pub duplicates: Vec<Duplicate>,
    /// Curved triangles that fold.
    pub folds: Vec<Fold>,
}

/// A triangle with the same three corners as an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The later one.
    pub triangle: u32,
    /// The first one with these corners.
    pub original: u32,
}

impl Defects {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.zero_area.is_empty() && self.duplicates.is_empty() && self.folds.is_empty()
    }

    /// Looks for defects in a valid mesh ([`Mesh::validate`]).
    pub fn of(mesh: &Mesh) -> Self {
        Self::with_welding(mesh, &weld(mesh))
    }

    fn with_welding(mesh: &Mesh, welded: &[u32]) -> Self {
        let zero_area = (0..mesh.triangles.len())
            .into_par_iter()
            .filter(|&t| is_degenerate(mesh.corners(t)))
            .map(|t| t as u32)
            .collect();
        Self { zero_area, duplicates: duplicates(mesh, welded), folds: curved::folds(mesh) }
    }
}

impl fmt::Display for Defects {
    /// One line for each kind of defect.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(first) = self.zero_area.first() {
            write!(f, "{} of zero area (first: triangle {first})", count(self.zero_area.len()))?;
            separator = "\n";
        }
        if let Some(Duplicate { triangle, original }) = self.duplicates.first() {
            let number = count(self.duplicates.len());
            write!(
                f,
                "{separator}{number} with the corners of another one (first: triangle {triangle}, like {original})"
            )?;
            separator = "\n";
        }
        if let Some(Fold { triangle, place: [x, y, z] }) = self.folds.first() {
            let number =
                counted(self.folds.len(), "curved triangle folds", "curved triangles fold");
            write!(
                f,
                "{separator}{number} over (first: triangle {triangle}, at ({x}, {y}, {z})): its nodes are not in order, or \
                 too far from a plane"
            )?;
        }
        Ok(())
    }
}

fn count(triangles: usize) -> String {
    counted(triangles, "triangle", "triangles")
}

pub(crate) fn is_degenerate(corners: [[f64; 3]; 3]) -> bool {
    let longest = longest_side(corners);
    let height = relative_height(corners);
    // Far from the origin, coordinates carry rounding that looks like area.
    let rounding = ROUNDINGS * f64::EPSILON * corners.map(max_norm).into_iter().fold(0.0, f64::max);
    height <= DEGENERATE || height * longest <= rounding
}

/// For each vertex the first vertex at the same point.
fn weld(mesh: &Mesh) -> Vec<u32> {
    coincident(&mesh.vertices, &mesh.vertices)
}

/// For each of `points` the first of them that is the same point, on a surface of these `vertices`.
pub(crate) fn coincident(points: &[[f64; 3]], vertices: &[[f64; 3]]) -> Vec<u32> {
    weld::first_at(points, weld::tolerance(vertices, COINCIDENT))
}

/// Triangles whose corners, as points, are those of an earlier triangle, and whose shape is.
fn duplicates(mesh: &Mesh, welded: &[u32]) -> Vec<Duplicate> {
    let mut keyed: Vec<([u32; 3], u32)> = mesh
        .triangles
        .par_iter()
        .enumerate()
        .map(|(t, corners)| {
            let mut key = corners.map(|v| welded[v as usize]);
            key.sort_unstable();
            (key, t as u32)
        })
        .collect();
    keyed.par_sort_unstable();
    let mut found: Vec<Duplicate> = keyed
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() > 1)
        .flat_map(|same| {
            same.iter().enumerate().filter_map(|(k, &(_, triangle))| {
                let mut earlier = same[..k].iter().map(|&(_, original)| original);
                let original = earlier.find(|&original| same_shape(mesh, original, triangle))?;
                Some(Duplicate { triangle, original })
            })
        })
        .collect();
    found.sort_unstable_by_key(|duplicate| duplicate.triangle);
    found
}

/// Whether two triangles with the same corners go through the same nodes.
fn same_shape(mesh: &Mesh, s: u32, t: u32) -> bool {
    let Some(patches) = &mesh.patches else { return true };
    let [s, t] = [s, t].map(|t| patches.of(t as usize));
    let near = SAME_NODE * longest_side([s[0], s[1], s[2]]);
    s.iter().all(|x| t.iter().any(|y| max_norm(sub(*x, *y)) <= near))
}

/// Text on groups or conductors of several pieces, given by name and number of pieces.
#[must_use]
pub fn separate<'a>(several: impl Iterator<Item = (&'a str, usize)>) -> Option<String> {
    /// Others are only counted.
    const MOST_NAMED: usize = 5;
    let mut texts: Vec<String> =
        several.map(|(name, pieces)| format!("\"{name}\" is {pieces} separate pieces")).collect();
    let more = texts.len().saturating_sub(MOST_NAMED);
    texts.truncate(MOST_NAMED);
    if more > 0 {
        texts.push(format!("{more} more are several"));
    }
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// A physical group or a component as [`Report`] describes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PartReport {
    /// The group's label, or `body_<n>` for a component.
    pub label: String,
    /// Area in the square of the mesh's unit.
    pub area: f64,
    /// Counts, closedness, orientation.
    pub part: Part,
}

/// All that is known about a mesh.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Number of vertices.
    pub vertices: usize,
    /// Number of triangles.
    pub triangles: usize,
    /// Order of the triangles: 1 where they are flat.
    pub order: usize,
    /// Triangles in no physical group.
    pub ungrouped: usize,
    /// Vertices at the same point as an earlier vertex that they are not identified with.
    pub coincident_vertices: usize,
    /// The physical groups, in the mesh's order.
    pub groups: Vec<PartReport>,
    /// For each of them of how many pieces it is that share no edge.
    pub group_pieces: Vec<usize>,
    /// The components joined by shared edges, in the order of their first triangles.
    pub components: Vec<PartReport>,
    /// The whole surface as one part.
    pub whole: Part,
    /// Vertex pairs of the edges with more than two triangles.
    pub non_manifold_edges: Vec<[u32; 2]>,
    /// For each triangle its component, an index into `components`.
    pub component_of: Vec<u32>,
    /// Sizes and shapes.
    pub quality: Quality,
    /// What a solve fails on.
    pub defects: Defects,
}

/// Something about a mesh that a person should know, though it can be solved on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Normals of a part flip sides within it.
    Inconsistent {
        /// The part.
        label: String,
        /// Number of edges where they flip.
        edges: usize,
    },
    /// Normals of a closed part point into it.
    Inward {
        /// The part.
        label: String,
    },
    /// A part encloses nothing.
    Open {
        /// The part.
        label: String,
        /// Number of its boundary edges.
        edges: usize,
    },
    /// More than two triangles meet at edges.
    NonManifold {
        /// Number of such edges.
        edges: usize,
    },
    /// Vertices lie on each other but are different ones.
    Coincident {
        /// Number of vertices that another one lies on.
        vertices: usize,
    },
    /// Most bodies of a mesh without groups are single triangles, so that none of them can be taken
    /// for a conductor.
    Loose(Loose),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inconsistent { label, edges } => {
                write!(
                    f,
                    "\"{label}\": normals flip sides at {}; orient its surfaces alike",
                    counted(*edges, "edge", "edges")
                )
            }
            Self::Inward { label } => {
                write!(
                    f,
                    "\"{label}\": normals point inward; this matters where media meet, not for a conductor's charge"
                )
            }
            Self::Open { label, edges: 0 } => {
                write!(
                    f,
                    "\"{label}\": the surface has no boundary but is not closed: three of its triangles, or another odd number, \
                     meet at edges, as where a sheet ends on another in a T; it is taken as thin sheets"
                )
            }
            Self::Open { label, edges } => {
                write!(
                    f,
                    "\"{label}\": the surface is open ({}); it is taken as a thin sheet",
                    counted(*edges, "boundary edge", "boundary edges")
                )
            }
            Self::NonManifold { edges } => {
                let edges = counted(*edges, "edge has", "edges have");
                write!(f, "{edges} more than two triangles, as where sheets meet in a T")
            }
            Self::Coincident { vertices } => write!(
                f,
                "{} without being shared, so that surfaces count as separate there; if they should be joined, merge them (in \
                 Gmsh: `Coherence Mesh;`)",
                counted(*vertices, "vertex lies on another", "vertices lie on others")
            ),
            Self::Loose(loose) => loose.fmt(f),
        }
    }
}

impl Report {
    /// Studies a mesh in O(n log n).
    ///
    /// # Errors
    /// [`InvalidMesh`] if its arrays do not fit together.
    pub fn of(mesh: &Mesh) -> Result<Self, InvalidMesh> {
        mesh.validate()?;
        let topology = Topology::of(mesh);
        let welded = weld(mesh);
        let coincident = welded.iter().enumerate().filter(|(v, first)| *v != **first as usize);
        let areas = quality::areas(mesh);
        let mut group_areas = vec![0.0; mesh.groups.len()];
        let mut component_areas = vec![0.0; topology.components.len()];
        let mut ungrouped = 0;
        for (triangle, area) in areas.iter().enumerate() {
            component_areas[topology.component_of[triangle] as usize] += area;
            let groups = mesh.groups_of(triangle);
            ungrouped += usize::from(groups.is_empty());
            for &group in groups {
                group_areas[group as usize] += area;
            }
        }
        let describe = |label, area, part| PartReport { label, area, part };
        let triangles = mesh.triangles.len();
        let group_pieces =
            topology::pieces(mesh, triangles, mesh.groups.len(), |t| mesh.groups_of(t));
        let labels = mesh.groups.iter().map(|group| group.label());
        let groups = labels.zip(group_areas).zip(topology.groups);
        let bodies = (1..).map(|n| format!("body_{n}"));
        let components = bodies.zip(component_areas).zip(topology.components);
        Ok(Self {
            vertices: mesh.vertices.len(),
            order: mesh.order(),
            triangles: mesh.triangles.len(),
            ungrouped,
            coincident_vertices: coincident.count(),
            group_pieces,
            groups: groups.map(|((label, area), part)| describe(label, area, part)).collect(),
            components: components
                .map(|((label, area), part)| describe(label, area, part))
                .collect(),
            whole: topology.whole,
            non_manifold_edges: topology.non_manifold_edges,
            component_of: topology.component_of,
            quality: Quality::of(mesh),
            defects: Defects::with_welding(mesh, &welded),
        })
    }

    /// Whether the bodies of a mesh without groups are single triangles, which cannot be
    /// conductors.
    #[must_use]
    pub fn loose(&self) -> Option<Loose> {
        let bodies = self.components.iter().map(|body| body.part.triangles);
        if self.groups.is_empty() { Loose::among(bodies) } else { None }
    }

    /// A sentence on the groups of several pieces, if there are any.
    pub fn separate(&self) -> Option<String> {
        let groups = self.groups.iter().map(|group| group.label.as_str());
        separate(groups.zip(self.group_pieces.iter().copied()).filter(|(_, pieces)| *pieces > 1))
    }

    /// Notes for people: about each group, or each component if there are no groups, and about the
    /// whole.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let parts = if self.groups.is_empty() { &self.components } else { &self.groups };
        let mut warnings: Vec<Warning> = self.loose().map(Warning::Loose).into_iter().collect();
        // Of single triangles there is nothing else to say.
        let parts = if warnings.is_empty() { parts.as_slice() } else { &[] };
        for PartReport { label, part, .. } in parts {
            let label = label.clone();
            match part.orientation() {
                Orientation::Inconsistent => {
                    warnings.push(Warning::Inconsistent { label, edges: part.flipped_edges });
                }
                Orientation::Inward => warnings.push(Warning::Inward { label }),
                Orientation::Open if part.triangles > 0 => {
                    warnings.push(Warning::Open { label, edges: part.boundary_edges });
                }
                Orientation::Open | Orientation::Outward => {}
            }
        }
        if !self.non_manifold_edges.is_empty() {
            warnings.push(Warning::NonManifold { edges: self.non_manifold_edges.len() });
        }
        if self.coincident_vertices > 0 {
            warnings.push(Warning::Coincident { vertices: self.coincident_vertices });
        }
        warnings
    }
}
