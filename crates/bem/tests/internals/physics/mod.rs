//! Problems and their answers.

mod by_points;
mod checks;
mod children;
mod convergence;
mod estimate;
mod sampled;
mod shared;
