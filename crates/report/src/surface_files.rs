//! The names of the files that show the surface of results.

/// The surface as one file.
pub const SURFACE: &str = "surface.vtu";

/// The file that names its pieces.
pub const SURFACE_INDEX: &str = "surface.pvtu";
