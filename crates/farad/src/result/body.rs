//! Properties of all bodies together: polarisability, diffusion, intrinsic viscosity.

/// Dipole moment of all bodies together over a uniform field, conductors uncharged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polarisability {
    /// Over 4 pi eps0, in the cube of the problem's unit: column k is the moment in a field along
    /// axis k.
    pub over_4pi_eps0: [[f64; 3]; 3],
}

/// Hydrodynamic properties of a body whose surface is all conductors, or that of molecules taken as
/// one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hydrodynamics {
    /// C/(4 pi eps0) of the body, in the problem's unit; also the hydrodynamic radius.
    pub capacity: f64,
    /// Its bar; `None` unless wanted.
    pub capacity_bar: Option<f64>,
    /// m^2/s.
    pub diffusion: f64,
    /// Friction coefficient in kg/s.
    pub friction: f64,
    /// What the polarisability tells, where it is known and the body is closed.
    pub viscosity: Option<Viscosity>,
}

/// What a body adds to the viscosity of a dilute suspension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viscosity {
    /// In the cube of the problem's unit, without cavities.
    pub volume: f64,
    /// Mean polarisability of the body as a conductor over the volume: 3 for a sphere.
    pub intrinsic_conductivity: f64,
    /// What that is multiplied with.
    pub prefactor: f64,
    /// Per volume fraction: 5/2 for a sphere.
    pub intrinsic_viscosity: f64,
    /// Radius of the sphere of the same intrinsic viscosity times volume, in the problem's unit.
    pub viscometric_radius: f64,
}
