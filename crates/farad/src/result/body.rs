//! Properties of all bodies together: polarisability, diffusion, intrinsic viscosity.

use serde::Serialize;

use crate::units::{self, LengthUnit};

/// Dipole moment of all bodies together over a uniform field, conductors uncharged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Polarisability {
    /// Over 4 pi eps0, in the cube of the problem's unit: column k is the moment in a field along
    /// axis k.
    pub over_4pi_eps0: [[f64; 3]; 3],
    /// In C m^2/V.
    pub c_m2_per_v: [[f64; 3]; 3],
    /// Bars over 4 pi eps0; `None` unless wanted, and where fields go through planes of symmetry,
    /// which takes solves of their own.
    pub over_4pi_eps0_error: Option<[[f64; 3]; 3]>,
}

impl Polarisability {
    /// The polarisability of this tensor over 4 pi eps0, in the cube of `unit`, without bars.
    #[must_use]
    pub fn new(over_4pi_eps0: [[f64; 3]; 3], unit: LengthUnit) -> Self {
        let to_si = units::farads(unit.metres().powi(2), unit);
        let c_m2_per_v = over_4pi_eps0.map(|row| row.map(|value| value * to_si));
        Self { over_4pi_eps0, c_m2_per_v, over_4pi_eps0_error: None }
    }
}

/// Hydrodynamic properties of a body whose surface is all conductors, or that of molecules taken as
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hydrodynamics {
    /// C/(4 pi eps0) of the body, in the problem's unit.
    pub capacity: f64,
    /// Its bar; `None` unless wanted.
    pub capacity_error: Option<f64>,
    /// This length in metres.
    pub hydrodynamic_radius_m: f64,
    /// m^2/s.
    #[serde(rename = "diffusion_m2_per_s")]
    pub diffusion: f64,
    /// Friction coefficient in kg/s.
    #[serde(rename = "friction_kg_per_s")]
    pub friction: f64,
    /// By the polarisability, if it is known and the body is closed.
    pub viscosity: Option<Viscosity>,
}

/// Contribution of a body to the viscosity of a dilute suspension.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Viscosity {
    /// In the cube of the problem's unit, without cavities.
    #[serde(skip)]
    pub volume: f64,
    /// This volume in cubic metres.
    pub volume_m3: f64,
    /// Mean polarisability of the body as a conductor over the volume: 3 for a sphere.
    pub intrinsic_conductivity: f64,
    /// Intrinsic viscosity over intrinsic conductivity.
    pub prefactor: f64,
    /// Per volume fraction: 5/2 for a sphere.
    pub intrinsic_viscosity: f64,
    /// Radius of the sphere of the same intrinsic viscosity times volume, in the problem's unit.
    #[serde(skip)]
    pub viscometric_radius: f64,
    /// This radius in metres.
    pub viscometric_radius_m: f64,
}
