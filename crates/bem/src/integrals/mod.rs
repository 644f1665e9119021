//! Closed forms over one triangle, and integrals over pairs of them.

pub(crate) mod curved;
pub(crate) mod curved_potentials;
pub(crate) mod edge;
pub(crate) mod linear;
pub(crate) mod linear_nodes;
pub(crate) mod linear_pair;
pub(crate) mod outer;
pub(crate) mod pair;
pub(crate) mod potentials;
pub(crate) mod screened;
pub(crate) mod solid_angle;
pub(crate) mod strips;
pub(crate) mod touching;
