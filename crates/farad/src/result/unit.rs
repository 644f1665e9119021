//! The units of results.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::units::LengthUnit;

/// The unit of a number of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// F, of capacitances.
    Farad,
    /// F/m, of derivatives of capacitances.
    FaradPerMetre,
    /// V, of potentials.
    Volt,
    /// C, of charges.
    Coulomb,
    /// J, of energies that an accuracy is asked of.
    Joule,
    /// kcal/mol, of energies of molecules.
    KilocaloriePerMole,
    /// N, of forces.
    Newton,
    /// V/m, of fields.
    VoltPerMetre,
    /// A length, of capacitances over 4 pi eps0: m, nm, ...
    Length(LengthUnit),
    /// The cube of a length, of polarisabilities over 4 pi eps0: m^3, nm^3, ...
    Cubed(LengthUnit),
    /// 1, of shares.
    Ratio,
}

/// A text that names no [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a unit of results")]
pub struct UnknownUnit;

impl Unit {
    /// All units, those of lengths last.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [
            Self::Farad,
            Self::FaradPerMetre,
            Self::Volt,
            Self::Coulomb,
            Self::Joule,
            Self::KilocaloriePerMole,
            Self::Newton,
            Self::VoltPerMetre,
            Self::Ratio,
        ];
        let lengths =
            LengthUnit::ALL.into_iter().flat_map(|of| [Self::Length(of), Self::Cubed(of)]);
        others.into_iter().chain(lengths)
    }

    /// As tables and files have it: F, V, C, J, kcal/mol, N, V/m, m, m^3, ..., 1.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Farad => "F",
            Self::FaradPerMetre => "F/m",
            Self::Volt => "V",
            Self::Coulomb => "C",
            Self::Joule => "J",
            Self::KilocaloriePerMole => "kcal/mol",
            Self::Newton => "N",
            Self::VoltPerMetre => "V/m",
            Self::Length(length) => length.name(),
            Self::Cubed(length) => length.cubed(),
            Self::Ratio => "1",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(text: &str) -> Result<Self, UnknownUnit> {
        Self::all().find(|unit| unit.as_str() == text).ok_or(UnknownUnit)
    }
}

/// As its text, which is what files of results have.
impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
