//! What all parts of a plan on a device share.

use cuda::{Device, Precision};

/// What all parts of a plan share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common<'a> {
    pub(super) device: &'a Device,
    pub(super) precision: Precision,
    pub(super) dimensions: usize,
    pub(super) gradient: bool,
    pub(super) rough: bool,
}

/// The macro by which kernels know the format.
pub(super) fn precision_macro(precision: Precision) -> String {
    let (name, bits) = precision.as_macro();
    format!("{name}={bits}")
}
