//! Lengths of a mesh, farads, and how numbers with units are written for people.

use std::f64::consts::PI;

/// Vacuum permittivity in F/m, CODATA 2022.
pub(crate) const EPSILON_0: f64 = 8.854_187_818_8e-12;

/// Elementary charge in coulomb, exact since 2019.
pub(crate) const ELEMENTARY_CHARGE: f64 = 1.602_176_634e-19;

/// Avogadro's constant in 1/mol, exact since 2019.
const AVOGADRO: f64 = 6.022_140_76e23;

/// Boltzmann's constant in J/K, exact since 2019.
const BOLTZMANN: f64 = 1.380_649e-23;

/// Joules of a (thermochemical) calorie.
const CALORIE: f64 = 4.184;

/// The unit that a mesh's coordinates are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthUnit {
    Metre,
    Centimetre,
    Millimetre,
    Micrometre,
    Nanometre,
    Angstrom,
}

impl LengthUnit {
    /// Every unit, largest first.
    pub(crate) const ALL: [Self; 6] = [
        Self::Metre,
        Self::Centimetre,
        Self::Millimetre,
        Self::Micrometre,
        Self::Nanometre,
        Self::Angstrom,
    ];

    /// The name in case files and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Metre => "m",
            Self::Centimetre => "cm",
            Self::Millimetre => "mm",
            Self::Micrometre => "um",
            Self::Nanometre => "nm",
            Self::Angstrom => "angstrom",
        }
    }

    /// The name of its cube.
    pub(crate) fn cubed(self) -> &'static str {
        match self {
            Self::Metre => "m^3",
            Self::Centimetre => "cm^3",
            Self::Millimetre => "mm^3",
            Self::Micrometre => "um^3",
            Self::Nanometre => "nm^3",
            Self::Angstrom => "angstrom^3",
        }
    }

    /// The unit that a case file's name stands for.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// One of this unit in metres.
    pub(crate) fn metres(self) -> f64 {
        match self {
            Self::Metre => 1.0,
            Self::Centimetre => 1e-2,
            Self::Millimetre => 1e-3,
            Self::Micrometre => 1e-6,
            Self::Nanometre => 1e-9,
            Self::Angstrom => 1e-10,
        }
    }
}

/// Farads of a capacitance given as the length C/(4 pi eps0).
pub(crate) fn farads(length: f64, unit: LengthUnit) -> f64 {
    4.0 * PI * EPSILON_0 * length * unit.metres()
}

/// "1 charge", "1,200 charges".
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// An energy in joule as kJ/mol.
pub(crate) fn kilojoule_per_mole(joule: f64) -> f64 {
    joule * AVOGADRO * 1e-3
}

/// An energy in joule as kcal/mol.
pub(crate) fn kilocalorie_per_mole(joule: f64) -> f64 {
    kilojoule_per_mole(joule) / CALORIE
}

/// Diffusion constant in m^2/s of a body of this hydrodynamic radius in metres, by Stokes and Einstein: k T / (6 pi eta R), with
/// kelvin and pascal seconds.
pub(crate) fn diffusion(radius: f64, temperature: f64, viscosity: f64) -> f64 {
    BOLTZMANN * temperature / (6.0 * PI * viscosity * radius)
}

/// A power of 1000 with its SI prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix {
    pub(crate) symbol: &'static str,
    pub(crate) factor: f64,
}

/// The SI prefix in which `value` is between 1 and 1000.
pub(crate) fn prefix(value: f64) -> Prefix {
    const PREFIXES: [Prefix; 9] = [
        Prefix { symbol: "", factor: 1.0 },
        Prefix { symbol: "m", factor: 1e-3 },
        Prefix { symbol: "u", factor: 1e-6 },
        Prefix { symbol: "n", factor: 1e-9 },
        Prefix { symbol: "p", factor: 1e-12 },
        Prefix { symbol: "f", factor: 1e-15 },
        Prefix { symbol: "a", factor: 1e-18 },
        Prefix { symbol: "z", factor: 1e-21 },
        Prefix { symbol: "y", factor: 1e-24 },
    ];
    // The last digit that is shown may round 0.9999999 up to 1.
    let fits = |prefix: &&Prefix| value.abs() >= prefix.factor * 0.999_999_5;
    PREFIXES.iter().find(fits).copied().unwrap_or(PREFIXES[0])
}

/// Digits after the leading one that a mesh can make true at best.
const DIGITS: usize = 5;

/// A number with [`DIGITS`] + 1 significant digits, plain where that is short.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if (1e-4..1e7).contains(&size) {
        let decimals = decimals(size);
        format!("{value:.decimals$}")
    } else {
        format!("{value:.DIGITS$e}")
    }
}

/// Decimals that give `size` [`DIGITS`] + 1 significant digits.
pub(crate) fn decimals(size: f64) -> usize {
    if size == 0.0 || !size.is_finite() {
        return DIGITS;
    }
    let magnitude = size.log10().floor() as i64;
    usize::try_from(DIGITS as i64 - magnitude).unwrap_or(0)
}

/// The shortest text that reads back to the same number.
pub(crate) fn shortest(value: f64) -> String {
    if (1e-3..1e6).contains(&value.abs()) { format!("{value:?}") } else { format!("{value:e}") }
}

/// Seconds with three digits: "0.012 s", "34.5 s", "12 min 3 s".
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{s:.3} s"),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

/// Bytes in the binary unit that keeps three digits.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A count with its digits in groups of three: 1,048,576.
pub(crate) fn count(value: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn a_sphere_of_one_metre_has_111_picofarad() {
        // 4 pi eps0 = 1e7/c^2 to ten digits (SI 2019), c = 299792458 m/s.
        let expected = 1e7 / 299_792_458.0_f64.powi(2);
        assert_relative_eq!(farads(1.0, LengthUnit::Metre), expected, max_relative = 1e-9);
        assert_relative_eq!(
            farads(1.0, LengthUnit::Nanometre),
            1e-9 * expected,
            max_relative = 1e-9
        );
    }

    #[test]
    fn prefixes_keep_numbers_between_1_and_1000() {
        for (value, symbol) in
            [(1.1e-10, "p"), (1e-12, "p"), (9.999e-13, "f"), (-2e-16, "a"), (3.0, "")]
        {
            assert_eq!(prefix(value).symbol, symbol, "{value}");
        }
        assert_eq!(prefix(0.0).factor, 1.0);
    }

    #[test]
    fn counts_are_grouped() {
        let grouped = [0, 999, 1000, 1_048_576].map(count);
        assert_eq!(grouped, ["0", "999", "1,000", "1,048,576"]);
    }

    #[test]
    fn every_unit_is_found_by_its_name() {
        for unit in LengthUnit::ALL {
            assert_eq!(LengthUnit::from_name(unit.name()), Some(unit));
        }
        assert_eq!(LengthUnit::from_name("inch"), None);
    }

    #[test]
    fn six_significant_digits() {
        let pairs = [
            (0.66067815409957, "0.660678"),
            (73.512345678, "73.5123"),
            (-0.000123456789, "-0.000123457"),
            (123456789.0, "1.23457e8"),
            (0.0, "0"),
        ];
        for (value, expected) in pairs {
            assert_eq!(significant(value), expected);
        }
    }

    #[test]
    fn numbers_read_back() {
        for value in [1.0, 3e-7, 0.1, 81.25, 1e12, 0.3 * 1e-6] {
            let table: toml::Table = format!("x = {}", shortest(value)).parse().unwrap();
            assert_eq!(table["x"].as_float(), Some(value));
        }
    }
}
