//! The kernels under `kernels/fgt`, with their arguments.

use cuda::testing::Declared;

pub(super) mod convolve;
pub(super) mod interpolate;
pub(super) mod pairs;
pub(super) mod points;
pub(super) mod spread;

/// The kernels' files, each with the kernels that are declared for it.
pub fn declared() -> Vec<Declared> {
    vec![
        points::declared(),
        pairs::declared(),
        spread::declared(),
        convolve::declared(),
        interpolate::declared(),
    ]
}
