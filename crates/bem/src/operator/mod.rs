//! Boundary operators: a fast sum over quadrature points and a near field that corrects it, or a
//! dense matrix.
//!
//! `layer` is the boundary operator: rows of kinds V, K, K' or none, images, and degrees of freedom
//! that are charges of panels or functions of a space. `discretisation` builds one: accuracy,
//! smallest gap, near field, fast sum (`fast_sum`). `product` computes products on processors, and
//! `host` solves. `surface` offers the layers to users of the library, and `algebra` combines
//! operators.

pub(crate) mod algebra;
pub(crate) mod dense;
pub(crate) mod discretisation;
pub(crate) mod fast_sum;
pub(crate) mod host;
pub(crate) mod layer;
mod product;
pub(crate) mod surface;
