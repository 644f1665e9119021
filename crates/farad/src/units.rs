//! Units: lengths of a mesh, farads, energies; and the format of numbers in messages.

use std::f64::consts::PI;

/// Vacuum permittivity in F/m, CODATA 2022.
pub const EPSILON_0: f64 = 8.854_187_818_8e-12;

/// Elementary charge in coulomb, exact since 2019.
pub const ELEMENTARY_CHARGE: f64 = 1.602_176_634e-19;

/// Avogadro's constant in 1/mol, exact since 2019.
const AVOGADRO: f64 = 6.022_140_76e23;

/// Boltzmann's constant in J/K, exact since 2019.
const BOLTZMANN: f64 = 1.380_649e-23;

/// Joules of a (thermochemical) calorie.
const CALORIE: f64 = 4.184;

/// The unit that a mesh's coordinates are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// 1 m.
    Metre,
    /// 1e-2 m.
    Centimetre,
    /// 1e-3 m.
    Millimetre,
    /// 1e-6 m.
    Micrometre,
    /// 1e-9 m.
    Nanometre,
    /// 1e-10 m.
    Angstrom,
}

impl LengthUnit {
    /// Every unit, largest first.
    pub const ALL: [Self; 6] = [
        Self::Metre,
        Self::Centimetre,
        Self::Millimetre,
        Self::Micrometre,
        Self::Nanometre,
        Self::Angstrom,
    ];

    /// Its name, that of its cube, and one of it in metres.
    fn row(self) -> (&'static str, &'static str, f64) {
        match self {
            Self::Metre => ("m", "m^3", 1.0),
            Self::Centimetre => ("cm", "cm^3", 1e-2),
            Self::Millimetre => ("mm", "mm^3", 1e-3),
            Self::Micrometre => ("um", "um^3", 1e-6),
            Self::Nanometre => ("nm", "nm^3", 1e-9),
            Self::Angstrom => ("angstrom", "angstrom^3", 1e-10),
        }
    }

    /// Its name: m, cm, mm, um, nm or angstrom.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The name of its cube.
    #[must_use]
    pub fn cubed(self) -> &'static str {
        self.row().1
    }

    /// One of this unit in metres.
    pub fn metres(self) -> f64 {
        self.row().2
    }

    /// The unit of this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }
}

/// Farads of a capacitance given as the length C/(4 pi eps0).
#[must_use]
pub fn farads(length: f64, unit: LengthUnit) -> f64 {
    4.0 * PI * EPSILON_0 * length * unit.metres()
}

/// An energy in joule as kJ/mol.
#[must_use]
pub fn kilojoule_per_mole(joule: f64) -> f64 {
    joule * AVOGADRO * 1e-3
}

/// The inverse of Debye's screening length in 1/m, of an ionic strength in mol/l in a medium of
/// this relative permittivity at a temperature in kelvin: kappa^2 = 2 e^2 N_A I / (eps kT).
#[must_use]
pub fn screening(ionic_strength: f64, relative_permittivity: f64, temperature: f64) -> f64 {
    let ions = 2.0 * 1e3 * ionic_strength * AVOGADRO;
    let squared = ELEMENTARY_CHARGE.powi(2) * ions
        / (EPSILON_0 * relative_permittivity * BOLTZMANN * temperature);
    squared.sqrt()
}

/// An energy in joule over kT.
#[must_use]
pub fn over_thermal(joule: f64, temperature: f64) -> f64 {
    joule / (BOLTZMANN * temperature)
}

/// An energy in joule as kcal/mol.
#[must_use]
pub fn kilocalorie_per_mole(joule: f64) -> f64 {
    kilojoule_per_mole(joule) / CALORIE
}

/// Diffusion constant in m^2/s of a body of this hydrodynamic radius in metres, by Stokes and
/// Einstein: k T / (6 pi eta R), with kelvin and pascal seconds.
#[must_use]
pub fn diffusion(radius: f64, temperature: f64, viscosity: f64) -> f64 {
    BOLTZMANN * temperature / friction(radius, viscosity)
}

/// Friction coefficient in kg/s of a body of this hydrodynamic radius in metres, by Stokes.
#[must_use]
pub fn friction(radius: f64, viscosity: f64) -> f64 {
    6.0 * PI * viscosity * radius
}

/// The shortest text that reads back to the same number.
#[must_use]
pub fn shortest(value: f64) -> String {
    if (1e-3..1e6).contains(&value.abs()) { format!("{value:?}") } else { format!("{value:e}") }
}

/// A count with its digits in groups of three: 1,048,576.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
