//! What the program `tests/internals` looks into: no part of the interface, free to change.
//!
//! What is private in a module that is public has a function here that passes on to it.

pub mod bezier {
    pub use crate::geometry::curved::bezier::{Bezier, index};
}

pub mod creases {
    use crate::topology::creases::Creases;

    /// No creases, of a mesh with `vertices` vertices.
    pub fn none(vertices: usize) -> Creases {
        Creases { edges: Vec::new(), on: vec![false; vertices] }
    }
}

pub mod crossing {
    pub use crate::geometry::curved::crossing::Part;
}

pub mod curved {
    use crate::geometry::curved;
    use crate::geometry::curved::Barycentric;
    use crate::surface::{Mesh, Patches};
    use crate::topology::{Side, Sides};

    pub const QUARTERS: [[Barycentric; 3]; 4] = curved::QUARTERS;

    pub fn grid(steps: usize) -> impl Iterator<Item = Barycentric> {
        curved::grid(steps)
    }

    pub fn side_nodes(order: usize, side: usize) -> impl Iterator<Item = usize> {
        curved::side_nodes(order, side)
    }

    /// For each edge and each triangle there: where the nodes of all triangles have those along the
    /// edge, the same way for all.
    pub fn nodes_at_edges(mesh: &Mesh, order: usize) -> Vec<Vec<Vec<usize>>> {
        let at = |side: &Side| curved::nodes_along(mesh, order, side);
        Sides::of(mesh).edges().map(|edge| edge.iter().map(at).collect()).collect()
    }

    pub fn put_corners(patches: &mut Patches, mesh: &Mesh) {
        patches.put_corners(mesh);
    }

    pub fn with_patches(mesh: &mut Mesh, change: impl FnOnce(&Mesh, &mut Patches)) {
        mesh.with_patches(change);
    }
}

pub mod files {
    pub mod lines {
        use crate::io::files::{FormatError, Line};

        pub use crate::io::files::lines::vertex;

        pub fn size(line: &mut Line<'_>, what: &str) -> Result<u64, FormatError> {
            line.size(what)
        }
    }
}

pub mod generate {
    pub mod grading {
        pub use crate::generate::grading::{Toward, cells_for_size, largest_cell, nodes};
    }

    pub mod molecule {
        pub use crate::generate::molecule::{Ray, Surface, on_spiral};

        use crate::generate::{Error, Molecule};

        pub fn surface(molecule: &Molecule) -> Result<Surface, Error> {
            molecule.surface()
        }
    }
}

pub mod gmsh {
    pub mod faces {
        pub use crate::io::gmsh::faces::{Faces, NONE, same_orientation};
    }

    pub mod kinds {
        pub use crate::io::gmsh::kinds::{ElementKind, FIXED, Shape, VARIABLE};
    }

    pub mod scan {
        pub use crate::io::gmsh::scan::{excerpt, int_of_text, size_of_text};
    }

    pub mod tags {
        pub use crate::io::gmsh::tags::{Refused, Tags};
    }
}

pub mod intersect {
    use crate::geometry::flat::meeting;
    use crate::queries::intersect;
    use crate::surface::Mesh;
    use crate::vector::Vector;

    pub fn apart(sides: [i8; 3]) -> bool {
        meeting::apart(sides)
    }

    pub fn hubs(mesh: &Mesh) -> Vec<u32> {
        intersect::hubs(mesh)
    }

    pub fn side(triangle: [Vector; 3], point: Vector) -> i8 {
        meeting::side(triangle, point)
    }
}

pub mod lift {
    use crate::refine::lift;
    use crate::surface::Mesh;

    pub const DIGITS: f64 = lift::DIGITS;
    pub const UNIT: f64 = lift::UNIT;

    pub fn too_bent(mesh: &Mesh) -> Vec<usize> {
        lift::too_bent(mesh)
    }
}

pub mod local_refine {
    use crate::refine::local_refine;
    use crate::vector::Vector;

    pub const EQUAL: f64 = local_refine::EQUAL;

    pub fn longest_side(corners: [Vector; 3]) -> f64 {
        local_refine::longest_side(corners)
    }
}

pub mod locate {
    use crate::geometry::flat::triangle;
    use crate::queries::locate::Locator;
    use crate::vector::Vector;

    pub fn corners(locator: &Locator) -> &[[Vector; 3]] {
        &locator.corners
    }

    pub fn distance_squared(point: Vector, corners: [Vector; 3]) -> f64 {
        triangle::distance_squared(point, corners)
    }

    pub fn meeting(from: Vector, direction: Vector, corners: [Vector; 3]) -> Option<(f64, f64)> {
        triangle::meeting(from, direction, corners)
    }

    pub fn solid_angle(point: Vector, corners: [Vector; 3]) -> f64 {
        triangle::solid_angle(point, corners)
    }

    pub fn to_triangle(point: Vector, corners: [Vector; 3]) -> Vector {
        triangle::to_triangle(point, corners)
    }
}

pub mod measure {
    pub use crate::measure::samples;
}

pub mod orient {
    use crate::bodies::orient;
    use crate::surface::Mesh;

    pub fn turn(mesh: &mut Mesh, which: &[bool]) {
        orient::turn(mesh, which);
    }
}

pub mod overlay {
    use crate::planar::overlay;
    use crate::vector::Vector;

    pub fn is_in_plane(p: &[Vector; 3], q: &[Vector; 3], tolerance: f64) -> bool {
        overlay::is_in_plane(p, q, tolerance)
    }
}

pub mod polygon {
    use crate::planar::polygon;
    use crate::vector::Vector;

    pub fn split_quadrangle(vertices: &[Vector], corners: [u32; 4]) -> Option<[[u32; 3]; 2]> {
        polygon::split_quadrangle(vertices, corners)
    }

    pub fn triangulate(points: &[Vector], tolerance: f64) -> Vec<[usize; 3]> {
        polygon::triangulate(points, tolerance)
    }
}

pub mod prisms {
    pub mod cut {
        pub use crate::planar::prisms::cut::{Line, cut, cut_within, is_split};
    }
}

pub mod proximity {
    use crate::queries::proximity;
    use crate::vector::Vector;

    pub fn between_triangles(from: [Vector; 3], to: [Vector; 3]) -> Vector {
        proximity::between_triangles(from, to)
    }
}

pub mod refine {
    use crate::refine::{self, Error};

    pub fn numbered(count: u64) -> Result<usize, Error> {
        refine::numbered(count)
    }
}

pub mod repair {
    pub mod cut {
        pub use crate::repair::cut::{Point, pieces};
    }
}

pub mod sheet {
    pub use crate::geometry::curved::sheet::Sheet;
}

pub mod wording {
    pub use crate::wording::counted;
}
