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
        /// Triangles that each body has at least, about: a ball of 80 has 93 % of its area.
        least: usize = 80,
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
const MIN_ELEMENTS: f64 = 20.0;

impl Options {
    /// Refuses what is out of range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (density, elements) = match self.resolution {
            Resolution::Density(density) => (density, f64::INFINITY),
            Resolution::Elements(elements) => (1.0, elements as f64),
        };
        let checks = [
            ("probe", self.probe, 0.0..=1e6, "0 to 1e6 angstrom"),
            ("density", density, 1e-12..=1e12, "a positive number of triangles per area"),
            ("elements", elements, MIN_ELEMENTS..=f64::INFINITY, "at least 20"),
            ("least", self.least as f64, 0.0..=1e12, "0 to 1e12"),
            ("order", self.order as f64, 1.0..=2.0, "1 or 2"),
            ("min_cavity", self.min_cavity, 0.0..=f64::MAX, "0 or a volume"),
            ("decay", self.decay, 0.1..=100.0, "0.1 to 100"),
        ];
        match checks.into_iter().find(|(_, value, range, _)| !range.contains(value)) {
            Some((option, value, _, allowed)) => Err(Error::Option { option, value, allowed }),
            None => Ok(()),
        }
    }
}
