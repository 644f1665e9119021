//! Panels, their images in planes, and neighbour search.
//!
//! - `panels`: triangles, centred, scaled and ordered in space (`order`); `patch`: curved ones as
//!   polynomials of two parameters; `neighbours`: a tree over them.
//! - `images`: mirror images in planes; `stack` and `exponentials`: images in layers; `between`:
//!   surfaces in several layers; `far`: distant images, as one smooth sum.
//! - `partition`: panels distributed over ranks.
//!
//! Images are sources only. Entries of the near field are sums over the images of a panel, so
//! unknowns and rows are those of the given surface.

pub(crate) mod between;
pub(crate) mod exponentials;
pub(crate) mod far;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod neighbours;
pub(crate) mod order;
pub(crate) mod panels;
pub(crate) mod partition;
pub(crate) mod patch;
pub(crate) mod stack;
pub(crate) mod triangle;
