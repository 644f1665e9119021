//! What can be wrong with atoms and options.

/// Why a surface could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate or radius is NaN, infinite, or too large.
    #[error(
        "atom {atom} (counted from 0) has the {what} {value}, which is not a usable number; correct the atom or leave it out"
    )]
    NotFinite {
        /// Index of the atom.
        atom: usize,
        /// "coordinate" or "radius".
        what: &'static str,
        /// What was given.
        value: f64,
    },
    /// A radius is negative.
    #[error(
        "atom {atom} (counted from 0) has the negative radius {radius}; radii are lengths in angstrom, and atoms of radius 0 are skipped"
    )]
    NegativeRadius {
        /// Index of the atom.
        atom: usize,
        /// What was given.
        radius: f64,
    },
    /// There is nothing to make a surface of.
    #[error(
        "none of the {atoms} atoms has a radius above 0, so that there is no surface; assign radii, as PDB2PQR does with a force field"
    )]
    NoAtoms {
        /// Number of atoms given.
        atoms: usize,
    },
    /// An option is outside its range.
    #[error("{option} = {value} is out of range: {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// What was given.
        value: f64,
        /// What is possible.
        allowed: &'static str,
    },
    /// The mesh would be too large.
    #[error(
        "about {expected:e} triangles are needed at first, more than the {limit:e} that are allowed; ask for a lower density or fewer elements, or check the unit of the coordinates"
    )]
    TooMany {
        /// Triangles of the first mesh, about.
        expected: f64,
        /// The limit.
        limit: f64,
    },
    /// The surface has no part that triangles of this size resolve.
    #[error(
        "no part of the surface is large enough for triangles of side {side:.3}; ask for a higher density"
    )]
    Unresolved {
        /// Side of the triangles asked for.
        side: f64,
    },
    /// Triangles cross, or are too thin, whatever was tried.
    #[error(
        "the surface has places that triangles of side {side:.3} cannot follow ({crossings} pairs cross, smallest angle {angle:.1} degrees, near {place:?}); ask for a higher density"
    )]
    Quality {
        /// Side of the triangles asked for.
        side: f64,
        /// Pairs of triangles that cross.
        crossings: usize,
        /// Smallest angle in degrees.
        angle: f64,
        /// One of the places.
        place: [f64; 3],
    },
}
