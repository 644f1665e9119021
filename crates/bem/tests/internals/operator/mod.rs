//! Operators.

mod discretisation;
mod fast_sum;
