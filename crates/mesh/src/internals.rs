//! What the program `tests/internals` looks into: no part of the interface, free to change.

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
    pub use crate::geometry::curved::{QUARTERS, grid, side_nodes};

    use crate::geometry::curved::nodes_along;
    use crate::surface::Mesh;
    use crate::topology::{Side, Sides};

    /// For each edge and each triangle there: where the nodes of all triangles have those along the
    /// edge, the same way for all.
    pub fn nodes_at_edges(mesh: &Mesh, order: usize) -> Vec<Vec<Vec<usize>>> {
        let of = |side: &Side| nodes_along(mesh, order, side);
        Sides::of(mesh).edges().map(|edge| edge.iter().map(of).collect()).collect()
    }
}

pub mod files {
    pub mod lines {
        pub use crate::io::files::lines::vertex;
    }
}

pub mod generate {
    pub mod grading {
        pub use crate::generate::grading::{Toward, cells_for_size, largest_cell, nodes};
    }

    pub mod molecule {
        pub use crate::generate::molecule::{Ray, Surface, on_spiral};
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
    pub use crate::geometry::flat::meeting::{apart, side};
    pub use crate::queries::intersect::hubs;
}

pub mod lift {
    pub use crate::refine::lift::{DIGITS, UNIT, too_bent};
}

pub mod local_refine {
    pub use crate::refine::local_refine::EQUAL;
    pub use crate::vector::longest_side;
}

pub mod locate {
    pub use crate::geometry::flat::triangle::{
        distance_squared, meeting, solid_angle, to_triangle,
    };
}

pub mod measure {
    pub use crate::measure::samples;
}

pub mod orient {
    pub use crate::bodies::orient::turn;
}

pub mod overlay {
    pub use crate::planar::overlay::is_in_plane;
}

pub mod polygon {
    pub use crate::planar::polygon::{split_quadrangle, triangulate};
}

pub mod prisms {
    pub mod cut {
        pub use crate::planar::prisms::cut::{Line, cut, cut_within, is_split};
    }
}

pub mod proximity {
    pub use crate::queries::proximity::between_triangles;
}

pub mod refine {
    pub use crate::refine::numbered;
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
