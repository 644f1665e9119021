//! What a repair did, and what it could not do, in words.

use crate::surface::InvalidMesh;
use crate::vector::Vector;
use crate::wording::counted;
use std::fmt;
use thiserror::Error;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Vertices that no triangle used.
    Unused,
    /// Open edges joined that lay on each other.
    Joined,
    /// Vertices at open edges joined within the tolerance.
    Welded,
    /// Triangles with a vertex twice.
    Repeated,
    /// Triangles on others.
    Duplicate,
    /// Pairs of triangles back to back.
    Folded,
    /// Triangles that stood on the surface, open at a side, or shared no side.
    Flap,
    /// Edges with more than two triangles.
    EdgeParted,
    /// Vertices of several sheets.
    VertexParted,
    /// Edges of slivers made one point.
    Collapsed,
    /// Edges of slivers turned.
    Swapped,
    /// Holes closed.
    Hole,
    /// Triangles turned over.
    Turned,
    /// Parts that face the wrong side, turned.
    PartTurned,
    /// Cavities left out.
    Cavity,
    /// Vertices moved.
    Moved,
    /// Pairs of parts made one.
    United,
    /// Cavities opened.
    Opened,
}

/// One line of the list of what was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// What.
    pub what: What,
    /// How many times.
    pub count: usize,
    /// Where the first was.
    pub place: Vector,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, one, many) = match self.what {
            What::Unused => ("left out", "vertex of no triangle", "vertices of no triangle"),
            What::Joined => {
                ("joined", "open edge that lay on another", "open edges that lay on others")
            }
            What::Welded => (
                "joined",
                "vertex of an open edge with one near it",
                "vertices of open edges with ones near them",
            ),
            What::Repeated => {
                ("left out", "triangle with a corner twice", "triangles with a corner twice")
            }
            What::Duplicate => {
                ("left out", "triangle that lay on another", "triangles that lay on others")
            }
            What::Folded => ("left out", "triangle of a folded pair", "triangles of folded pairs"),
            What::Flap => ("left out", "loose triangle", "loose triangles"),
            What::EdgeParted => (
                "parted the sheets at",
                "edge of more than two triangles",
                "edges of more than two triangles",
            ),
            What::VertexParted => (
                "parted the sheets at",
                "vertex that they shared alone",
                "vertices that they shared alone",
            ),
            What::Collapsed => {
                ("drew together", "short side of a sliver", "short sides of slivers")
            }
            What::Swapped => ("swapped", "long side of a sliver", "long sides of slivers"),
            What::Hole => ("closed", "hole", "holes"),
            What::Turned => ("turned", "triangle over", "triangles over"),
            What::PartTurned => {
                ("turned", "part that faced the wrong side", "parts that faced the wrong side")
            }
            What::Cavity => ("left out", "small cavity", "small cavities"),
            What::Moved => {
                ("moved", "vertex where triangles crossed", "vertices where triangles crossed")
            }
            What::United => (
                "united",
                "pair of parts that went through each other",
                "pairs of parts that went through each other",
            ),
            What::Opened => (
                "opened",
                "cavity that went through the surface",
                "cavities that went through the surface",
            ),
        };
        let [x, y, z] = self.place;
        let first = if self.count > 1 { "first at" } else { "at" };
        write!(f, "{done} {} ({first} ({x}, {y}, {z}))", counted(self.count, one, many))
    }
}

/// The list while it is made: kinds in the order in which they first came.
#[derive(Debug, Default)]
pub(super) struct List {
    actions: Vec<Action>,
}

impl List {
    /// Adds what was done `count` times, if it was.
    pub fn add(&mut self, what: What, count: usize, place: Vector) {
        if count == 0 {
            return;
        }
        match self.actions.iter_mut().find(|action| action.what == what) {
            Some(action) => action.count += count,
            None => self.actions.push(Action { what, count, place }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub fn into_actions(self) -> Vec<Action> {
        self.actions
    }
}

/// Something that keeps a mesh from being the surface of bodies.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// No triangles.
    Empty,
    /// Edges of one triangle.
    Open {
        /// How many.
        edges: usize,
        /// An end of the first.
        place: Vector,
    },
    /// Edges of more than two triangles.
    NonManifold {
        /// How many.
        edges: usize,
        /// An end of the first.
        place: Vector,
    },
    /// Edges whose triangles face different sides.
    Flipped {
        /// How many.
        edges: usize,
        /// An end of the first.
        place: Vector,
    },
    /// Triangles without area.
    ZeroArea {
        /// How many.
        triangles: usize,
        /// A corner of the first.
        place: Vector,
    },
    /// Triangles with the corners of others.
    Duplicate {
        /// How many.
        triangles: usize,
        /// A corner of the first.
        place: Vector,
    },
    /// Triangles that cross or cover each other.
    Crossing {
        /// Pairs of them.
        pairs: usize,
        /// A corner of the first.
        place: Vector,
    },
    /// Parts that face into the solid.
    Turned {
        /// Triangles of them.
        triangles: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, place) = match self {
            Self::Empty => ("no triangle is left that encloses anything".to_owned(), None),
            Self::Open { edges, place } => (
                format!("the surface is open at {}", counted(*edges, "edge", "edges")),
                Some(place),
            ),
            Self::NonManifold { edges, place } => (
                counted(
                    *edges,
                    "edge has more than two triangles",
                    "edges have more than two triangles",
                ),
                Some(place),
            ),
            Self::Flipped { edges, place } => (
                format!(
                    "the surface has one side only: normals flip at {}",
                    counted(*edges, "edge", "edges")
                ),
                Some(place),
            ),
            Self::ZeroArea { triangles, place } => {
                (counted(*triangles, "triangle has no area", "triangles have no area"), Some(place))
            }
            Self::Duplicate { triangles, place } => (
                counted(*triangles, "triangle lies on another", "triangles lie on others"),
                Some(place),
            ),
            Self::Crossing { pairs, place } => (
                counted(
                    *pairs,
                    "pair of triangles goes through each other",
                    "pairs of triangles go through each other",
                ),
                Some(place),
            ),
            Self::Turned { triangles } => (
                format!(
                    "{} into the solid",
                    counted(*triangles, "triangle faces", "triangles face")
                ),
                None,
            ),
        };
        f.write_str(&text)?;
        match place {
            Some([x, y, z]) => write!(f, " (first at ({x}, {y}, {z}))"),
            None => Ok(()),
        }
    }
}

/// Why a mesh could not be repaired.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Arrays that do not fit together.
    #[error(transparent)]
    Invalid(#[from] InvalidMesh),
    /// Curved triangles.
    #[error("the mesh has curved triangles; flat ones alone are repaired, so save it with order 1")]
    Curved,
    /// Nothing encloses anything.
    #[error(
        "no triangles are left after those without area, doubled and loose ones were left out; the \
         file holds no surface"
    )]
    Empty {
        /// Changes made.
        actions: Vec<Action>,
    },
    /// Something that is not repaired.
    #[error("{}", left(faults))]
    Left {
        /// Changes made.
        actions: Vec<Action>,
        /// Remaining faults.
        faults: Vec<Fault>,
    },
}

impl Error {
    /// Changes made before it failed.
    pub fn actions(&self) -> &[Action] {
        match self {
            Self::Empty { actions } | Self::Left { actions, .. } => actions,
            _ => &[],
        }
    }
}

fn left(faults: &[Fault]) -> String {
    let each: Vec<String> = faults.iter().map(Fault::to_string).collect();
    each.join("\n")
}
