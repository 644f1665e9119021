//! Problems and their answers.

mod by_points;
mod checks;
mod children;
mod convergence;
mod sampled;
mod shared;
