//! Boundary operators: a fast sum over quadrature points and a near field that corrects it, or a
//! dense matrix.

pub(crate) mod algebra;
pub(crate) mod dense;
pub(crate) mod discretisation;
pub(crate) mod far;
pub(crate) mod fast_sum;
pub(crate) mod host;
pub(crate) mod layer;
pub(crate) mod points;
mod product;
pub(crate) mod sampling;
pub(crate) mod surface;
