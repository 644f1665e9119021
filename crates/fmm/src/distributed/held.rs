//! Strengths and sums in the order in which a rank holds its points, kept from sum to sum: new
//! memory would take as long as what is done with it.

use std::ops::{Deref, DerefMut};

use cuda::{Device, Pinned};

use crate::Error;

/// The arrays that one rank holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub charges: Array,
    pub dipoles: Array,
    pub potential: Array,
    pub gradient: Array,
}

/// Numbers on the host, page-locked where they are copied to and from a GPU.
#[derive(Debug)]
pub(super) enum Array {
    Plain(Vec<f64>),
    Pinned(Pinned<f64>),
}

impl Held {
    /// Makes room; for copies to and from `device`, if there is one.
    pub(super) fn resize(
        &mut self,
        lengths: impl Iterator<Item = usize>,
        device: Option<&Device>,
    ) -> Result<(), Error> {
        let Self { charges, dipoles, potential, gradient } = self;
        for (array, length) in [charges, dipoles, potential, gradient].into_iter().zip(lengths) {
            if array.len() == length {
                continue;
            }
            // The old one goes first.
            *array = Array::default();
            *array = match device {
                None => Array::Plain(vec![0.0; length]),
                Some(device) => Array::Pinned(device.pinned(length)?),
            };
        }
        Ok(())
    }
}

impl Default for Array {
    fn default() -> Self {
        Self::Plain(Vec::new())
    }
}

impl Deref for Array {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Self::Plain(values) => values,
            Self::Pinned(values) => values,
        }
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut [f64] {
        match self {
            Self::Plain(values) => values,
            Self::Pinned(values) => values,
        }
    }
}
