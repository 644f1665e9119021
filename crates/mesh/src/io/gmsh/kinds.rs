//! Gmsh's element types.

/// The shape of an element.
#[allow(missing_docs)] // Their names say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Point,
    Line,
    Triangle,
    Quadrangle,
    Tetrahedron,
    Hexahedron,
    Prism,
    Pyramid,
    Trihedron,
    Polygon,
    Polyhedron,
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementKind {
    /// Its shape.
    pub shape: Shape,
    /// Number of nodes, corners first; `None` where each element has its own.
    pub nodes: Option<usize>,
}

/// Types by shape, each with its number of nodes (Gmsh's reference manual and its `GmshDefines.h`).
#[rustfmt::skip] // One line a shape, or a few.
pub const FIXED: [(Shape, &[(u8, u16)]); 9] = [
    (Shape::Point, &[(15, 1)]),
    (Shape::Line, &[
        (1, 2), (8, 3), (26, 4), (27, 5), (28, 6), (62, 7), (63, 8), (64, 9),
        (65, 10), (66, 11), (67, 2), (70, 2),
    ]),
    (Shape::Triangle, &[
        (2, 3), (9, 6), (20, 9), (21, 10), (22, 12), (23, 15), (24, 15), (25, 21),
        (42, 28), (43, 36), (44, 45), (45, 55), (46, 66), (52, 18), (53, 21), (54, 24),
        (55, 27), (56, 30), (68, 3),
    ]),
    (Shape::Quadrangle, &[
        (3, 4), (10, 9), (16, 8), (36, 16), (37, 25), (38, 36), (39, 12), (40, 16),
        (41, 20), (47, 49), (48, 64), (49, 81), (50, 100), (51, 121), (57, 24), (58, 28),
        (59, 32), (60, 36), (61, 40),
    ]),
    (Shape::Tetrahedron, &[
        (4, 4), (11, 10), (29, 20), (30, 35), (31, 56), (32, 22), (33, 28), (71, 84),
        (72, 120), (73, 165), (74, 220), (75, 286), (79, 34), (80, 40), (81, 46), (82, 52),
        (83, 58), (137, 16),
    ]),
    (Shape::Hexahedron, &[
        (5, 8), (12, 27), (17, 20), (92, 64), (93, 125), (94, 216), (95, 343), (96, 512),
        (97, 729), (98, 1000), (99, 32), (100, 44), (101, 56), (102, 68), (103, 80), (104, 92),
        (105, 104),
    ]),
    (Shape::Prism, &[
        (6, 6), (13, 18), (18, 15), (90, 40), (91, 75), (106, 126), (107, 196), (108, 288),
        (109, 405), (110, 550), (111, 24), (112, 33), (113, 42), (114, 51), (115, 60), (116, 69),
        (117, 78),
    ]),
    (Shape::Pyramid, &[
        (7, 5), (14, 14), (19, 13), (118, 30), (119, 55), (120, 91), (121, 140), (122, 204),
        (123, 285), (124, 385), (125, 21), (126, 29), (127, 37), (128, 45), (129, 53), (130, 61),
        (131, 69),
    ]),
    (Shape::Trihedron, &[(140, 4)]),
];

/// Types whose elements each say how many nodes they have.
pub const VARIABLE: [(u8, Shape); 7] = [
    (34, Shape::Polygon),
    (35, Shape::Polyhedron),
    (69, Shape::Polygon),
    (133, Shape::Point),
    (134, Shape::Line),
    (135, Shape::Polygon),
    (136, Shape::Polyhedron),
];

/// Types of curved triangles that are kept, with their orders.
pub(super) const PATCHES: [(u8, usize); 3] = [(9, 2), (21, 3), (23, 4)];

impl ElementKind {
    /// The type of a number in a file.
    pub fn of(number: i64) -> Option<Self> {
        let number = u8::try_from(number).ok()?;
        for (shape, types) in FIXED {
            if let Some((_, nodes)) = types.iter().find(|(other, _)| *other == number) {
                return Some(Self { shape, nodes: Some(usize::from(*nodes)) });
            }
        }
        let (_, shape) = *VARIABLE.iter().find(|(other, _)| *other == number)?;
        Some(Self { shape, nodes: None })
    }

    /// How many corners a surface element has: they are its first nodes.
    pub fn surface_corners(self) -> Option<usize> {
        match (self.shape, self.nodes) {
            (Shape::Triangle, Some(_)) => Some(3),
            (Shape::Quadrangle, Some(_)) => Some(4),
            _ => None,
        }
    }

    /// The order of the type with this number, if it is a curved triangle that is kept as one: a
    /// complete one.
    pub fn patch_order(number: i64) -> Option<usize> {
        PATCHES.iter().find(|(other, _)| i64::from(*other) == number).map(|(_, order)| *order)
    }

    /// What people call it, such as "6-node triangle".
    pub fn name(self) -> String {
        let shape = match self.shape {
            Shape::Point => return "point".into(),
            Shape::Line => "line",
            Shape::Triangle => "triangle",
            Shape::Quadrangle => "quadrangle",
            Shape::Tetrahedron => "tetrahedron",
            Shape::Hexahedron => "hexahedron",
            Shape::Prism => "prism",
            Shape::Pyramid => "pyramid",
            Shape::Trihedron => "trihedron",
            Shape::Polygon => "polygon",
            Shape::Polyhedron => "polyhedron",
        };
        self.nodes.map_or_else(|| shape.into(), |nodes| format!("{nodes}-node {shape}"))
    }
}
