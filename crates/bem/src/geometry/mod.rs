//! Panels, their images in planes, and neighbour search.

pub(crate) mod between;
pub(crate) mod exponentials;
pub(crate) mod far;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod neighbours;
pub(crate) mod panels;
pub(crate) mod patch;
pub(crate) mod share;
pub(crate) mod stack;
pub(crate) mod triangle;
