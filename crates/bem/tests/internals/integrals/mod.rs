//! Integrals over triangles and pairs of them.

mod curved;
mod edge;
mod linear_nodes;
mod linear_pair;
mod pair;
mod potentials;
mod screened;
mod solid_angle;
mod touching;
