//! `[medium]`, and ions in any medium: `kappa`, or `ionic_strength` and `temperature`.

use std::ops::{Range, RangeInclusive};

use farad::{Description, LengthUnit, units};

use super::prelude::*;

table! {
    /// `[medium]`.
    MediumTable = "medium";
    @rules [Rule::AtMostOne(&["kappa", "ionic_strength"])];
    relative_permittivity: f64 = PERMITTIVITY, or("1.0; with a `[[molecule]]` 78.54, that of water at 25 degrees Celsius"),
        "permittivity of the medium that fills all space outside the dielectrics";
    kappa: f64 = SCREENING, or("0.0"),
        "inverse of the screening length, per unit of the mesh's coordinates, instead of `ionic_strength`";
    ionic_strength: f64 = SCREENING, or("0.0"),
        "of ions in that medium, in mol/l (above 10 with a note); needs `temperature`";
    temperature: f64 = POSITIVE.said("number above 0"), or("none"),
        "in kelvin: of the ions, and of energies in kT; a note tells where it is hardly a liquid's (below 200 or above 400)";
}

impl MediumTable {
    /// The table of a description whose ions have this temperature in kelvin.
    pub(in crate::case) fn of(description: &Description, temperature: Option<f64>) -> Self {
        Self {
            relative_permittivity: description.relative_permittivity.into(),
            kappa: screened(description.kappa),
            temperature: temperature.into(),
            ..Self::default()
        }
    }
}

/// An inverse screening length, left out where nothing is screened.
pub(super) fn screened(kappa: f64) -> Field<f64> {
    Some(kappa).filter(|kappa| *kappa > 0.0).into()
}

/// The keys of ions in one medium.
pub(in crate::case) struct Ions<'a> {
    pub(in crate::case) kappa: &'a Field<f64>,
    pub(in crate::case) strength: &'a Field<f64>,
}

/// Context for reading a medium: the unit of the case, and the temperature of `[medium]`.
pub(in crate::case) struct Solution {
    unit: Option<LengthUnit>,
    pub(in crate::case) temperature: Option<f64>,
    /// Whether a temperature is given, if only a wrong one.
    has_temperature: bool,
    /// Whether a medium's ions are given by their strength.
    pub(in crate::case) by_strength: bool,
    /// The key that gave the first medium its ions.
    pub(in crate::case) place: Range<usize>,
    /// Sentences on values that are hardly meant: those of another unit, as a rule.
    pub(in crate::case) notes: Vec<String>,
}

/// Temperatures of liquids in kelvin; those in degrees Celsius are below.
const LIQUID: RangeInclusive<f64> = 200.0..=400.0;

/// Mol per litre that no solution has.
const MOST_IONS: f64 = 10.0;

/// A note on the temperature of a table that no liquid has.
pub(in crate::case) fn implausible(table: &str, kelvin: f64) -> Option<String> {
    (!LIQUID.contains(&kelvin)).then(|| {
        format!(
            "[{table}] temperature = {kelvin} is in kelvin, and hardly that of a liquid: 25 degrees Celsius are 298.15"
        )
    })
}

impl Solution {
    pub(in crate::case) fn new(medium: &MediumTable, unit: Option<LengthUnit>) -> Self {
        let temperature = medium.temperature.value;
        let has_temperature = medium.temperature.is_given();
        let notes = temperature.and_then(|kelvin| implausible("medium", kelvin));
        let notes = notes.into_iter().collect();
        Self { unit, temperature, has_temperature, by_strength: false, place: 0..0, notes }
    }

    /// Inverse screening length of a medium of that permittivity, per unit of length.
    pub(in crate::case) fn kappa(
        &mut self,
        top: &Section<'_>,
        ions: Ions<'_>,
        permittivity: f64,
    ) -> f64 {
        let Ions { kappa, strength } = ions;
        let kappa = match (kappa.value, strength.value) {
            (Some(_), Some(_)) => {
                let message = "the medium has both a kappa and an ionic_strength";
                let defect = Defect::clash(message, kappa.span.clone(), strength.span.clone());
                top.report(defect.help("one follows from the other: give one"));
                return 0.0;
            }
            (Some(value), None) => Located { value, span: kappa.span.clone() },
            (None, Some(value)) => {
                let value = self.screening(
                    top,
                    &Located { value, span: strength.span.clone() },
                    permittivity,
                );
                Located { value, span: strength.span.clone() }
            }
            (None, None) => return 0.0,
        };
        if kappa.value > 0.0 && self.place.is_empty() {
            self.place = kappa.span;
        }
        kappa.value
    }

    /// Inverse screening length of ions of a strength in mol/l.
    fn screening(&mut self, top: &Section<'_>, strength: &Located<f64>, permittivity: f64) -> f64 {
        if strength.value <= 0.0 {
            return 0.0;
        }
        self.by_strength = true;
        if strength.value > MOST_IONS {
            self.notes.push(format!(
                "ionic_strength = {} is in mol/l, and more than any solution has: 150 mmol/l are 0.15",
                strength.value
            ));
        }
        let Some(temperature) = self.temperature else {
            if !self.has_temperature {
                let message = "ionic_strength needs a temperature";
                let defect = Defect::new(Sort::Missing, strength.span.clone(), message);
                let help =
                    "write temperature = 298.15 (kelvin) in [medium], or kappa instead of both";
                top.report(defect.help(help));
            }
            return 0.0;
        };
        let metres = self.unit.map_or(1.0, LengthUnit::metres);
        units::screening(strength.value, permittivity, temperature) * metres
    }
}
