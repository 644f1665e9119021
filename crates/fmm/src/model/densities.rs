//! Source strengths that go into a sum, and the arrays that its results go to.

use crate::error::Error;
use crate::model::Options;

/// Source strengths of one `apply`: k densities over n sources, in the caller's order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Densities<'a> {
    /// Charges q, shape (k, n).
    pub charges: Option<&'a [f64]>,
    /// Dipole moments d, shape (k, n, 3): a source adds `d . (x - y) / |x - y|^3`.
    pub dipoles: Option<&'a [f64]>,
}

impl<'a> Densities<'a> {
    /// Charges and dipoles of one density over `n` sources, empty where there are none.
    pub(crate) fn of(&self, density: usize, n: usize) -> (&'a [f64], &'a [f64]) {
        let charges = self.charges.map_or(&[][..], |q| &q[density * n..(density + 1) * n]);
        let dipoles = self.dipoles.map_or(&[][..], |d| &d[density * 3 * n..(density + 1) * 3 * n]);
        (charges, dipoles)
    }
}

/// Where one `apply` writes its sums: k densities at m targets, in the caller's order; what was
/// there is overwritten.
#[derive(Debug, Default)]
pub struct Potentials<'a> {
    /// Potential, shape (k, m).
    pub potential: Option<&'a mut [f64]>,
    /// Gradient with respect to the target, shape (k, m, 3).
    pub gradient: Option<&'a mut [f64]>,
}

impl Potentials<'_> {
    /// A shorter borrow.
    pub(crate) fn reborrowed(&mut self) -> Potentials<'_> {
        Potentials {
            potential: self.potential.as_deref_mut(),
            gradient: self.gradient.as_deref_mut(),
        }
    }
}

/// What a plan was made for: every `apply` has to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) sources: usize,
    pub(crate) targets: usize,
    gradient: bool,
    dipoles: bool,
}

impl Planned {
    /// For `sources` and `targets` points of the caller.
    pub(crate) fn new(sources: usize, targets: usize, options: &Options) -> Self {
        Self { sources, targets, gradient: options.gradient, dipoles: options.dipoles }
    }

    /// An error if gradients are asked for that were not planned.
    pub(crate) fn check_gradient(&self, is_wanted: bool) -> Result<(), Error> {
        let fits = self.gradient || !is_wanted;
        fits.then_some(()).ok_or(Error::NotPlanned { what: "gradient" })
    }

    /// The number of densities k of an `apply`.
    pub(crate) fn count(
        &self,
        densities: &Densities<'_>,
        potentials: &Potentials<'_>,
    ) -> Result<usize, Error> {
        self.check_gradient(potentials.gradient.is_some())?;
        if densities.dipoles.is_some() && !self.dipoles {
            return Err(Error::NotPlanned { what: "dipoles" });
        }
        count_densities(self.sources, self.targets, densities, potentials)
    }
}

/// The number of densities k that the arrays' lengths agree on.
pub(crate) fn count_densities(
    n: usize,
    m: usize,
    densities: &Densities<'_>,
    potentials: &Potentials<'_>,
) -> Result<usize, Error> {
    let arrays = [
        ("charges", densities.charges.map(<[_]>::len), n),
        ("dipoles", densities.dipoles.map(<[_]>::len), 3 * n),
        ("potential", potentials.potential.as_ref().map(|a| a.len()), m),
        ("gradient", potentials.gradient.as_ref().map(|a| a.len()), 3 * m),
    ];
    let mut k = None;
    for (what, length, unit) in arrays {
        let Some(found) = length else { continue };
        let here = found.checked_div(unit).unwrap_or(0);
        let expected = k.unwrap_or(here.max(1)) * unit;
        if found != expected {
            return Err(Error::Length { what, expected, found });
        }
        if unit > 0 {
            k.get_or_insert(here.max(1));
        }
    }
    Ok(k.unwrap_or(0))
}
