//! What a caller may choose about a surface.

use crate::error::Error;

/// A sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// Its centre, in angstrom.
    pub centre: [f64; 3],
    /// Its radius, in angstrom; atoms of radius 0 are skipped.
    pub radius: f64,
}

/// Which surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Solvent excluded: the boundary of what no probe sphere outside all atoms covers
    /// (\[Connolly1983\]).
    #[default]
    SolventExcluded,
    /// The boundary of the union of the atoms.
    VanDerWaals,
    /// Solvent accessible: that of the atoms with radii larger by the probe's, where centres of
    /// probes can be.
    SolventAccessible,
    /// Where a sum of Gaussian functions of the atoms is 1.
    Gaussian,
}

/// How fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolution {
    /// Triangles per square angstrom.
    Density(f64),
    /// Triangles in all, about.
    Elements(usize),
}

/// What becomes of cavities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cavities {
    /// They are parts of the surface.
    #[default]
    Keep,
    /// They are filled: only outer surfaces are left.
    Drop,
}

::options::options! {
    /// Choices for [`molecular`](crate::molecular).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Options {
        /// Which surface.
        kind: Kind = Kind::SolventExcluded,
        /// Radius of the probe in angstrom, 0 or greater, for surfaces of solvent: 1.4 for water.
        probe: f64 = 1.4,
        /// How fine.
        resolution: Resolution = Resolution::Density(4.0),
        /// Order of the triangles: 1 flat, 2 curved, with middles of sides on the surface.
        order: usize = 1,
        /// Whether cavities are kept.
        cavities: Cavities = Cavities::Keep,
        /// Cavities of less volume than this, in cubic angstrom, are filled.
        min_cavity: f64 = 0.0,
        /// The Gaussian functions are exp(-decay (|x - a|^2 / r^2 - 1)).
        decay: f64 = 2.3,
    }
}

/// Fewest triangles that may be asked for.
const MIN_ELEMENTS: usize = 20;

impl Options {
    /// Refuses what is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |option, value, allowed| Err(Error::Option { option, value, allowed });
        let in_range = |x: f64, low: f64, high: f64| (low..=high).contains(&x);
        if !in_range(self.probe, 0.0, 1e6) {
            return refuse("probe", self.probe, "0 to 1e6 angstrom");
        }
        match self.resolution {
            Resolution::Density(density) if !in_range(density, 1e-12, 1e12) => {
                return refuse("density", density, "a positive number of triangles per area");
            }
            Resolution::Elements(elements) if elements < MIN_ELEMENTS => {
                return refuse("elements", elements as f64, "at least 20");
            }
            _ => {}
        }
        if !(1..=2).contains(&self.order) {
            return refuse("order", self.order as f64, "1 or 2");
        }
        if !in_range(self.min_cavity, 0.0, f64::MAX) {
            return refuse("min_cavity", self.min_cavity, "0 or a volume");
        }
        if !in_range(self.decay, 0.1, 100.0) {
            return refuse("decay", self.decay, "0.1 to 100");
        }
        Ok(())
    }
}
