//! `kappa`, or `ionic_strength` and `temperature`: ions in a medium.

use std::ops::{Range, RangeInclusive};

use farad::{LengthUnit, units};

use super::diagnostics::{Defect, Sort};
use super::document::Section;

/// What a medium's keys are read with: the unit of the case, and the temperature of `[medium]`.
pub(super) struct Solution {
    unit: Option<LengthUnit>,
    pub(super) temperature: Option<f64>,
    /// Whether a temperature is given, if only a wrong one.
    has_temperature: bool,
    /// Whether a medium's ions are given by their strength.
    pub(super) by_strength: bool,
    /// The key that gave the first medium its ions.
    pub(super) place: Range<usize>,
    /// Sentences on values that are hardly meant: those of another unit, as a rule.
    pub(super) notes: Vec<String>,
}

/// Temperatures of liquids in kelvin; those in degrees Celsius are below.
const LIQUID: RangeInclusive<f64> = 200.0..=400.0;

/// Mol per litre that no solution has.
const MOST_IONS: f64 = 10.0;

/// A note on the temperature of a table that no liquid has.
pub(super) fn implausible(table: &str, kelvin: f64) -> Option<String> {
    (!LIQUID.contains(&kelvin)).then(|| {
        format!(
            "[{table}] temperature = {kelvin} is in kelvin, and hardly that of a liquid: 25 degrees Celsius are 298.15"
        )
    })
}

impl Solution {
    pub(super) fn new(medium: &Section<'_>, unit: Option<LengthUnit>) -> Self {
        let temperature = medium.number("temperature").map(|number| number.value);
        let has_temperature = medium.has("temperature");
        let notes = temperature.and_then(|kelvin| implausible("medium", kelvin));
        let notes = notes.into_iter().collect();
        Self { unit, temperature, has_temperature, by_strength: false, place: 0..0, notes }
    }

    /// Inverse screening length of a table's medium of that permittivity, per unit of length.
    pub(super) fn kappa(&mut self, table: &Section<'_>, permittivity: f64) -> f64 {
        let (given, ions) = (table.number("kappa"), table.number("ionic_strength"));
        let places = [&given, &ions].map(|key| key.as_ref().map(|number| number.span.clone()));
        if let [Some(kappa), Some(ions)] = &places {
            let message = "the medium has both a kappa and an ionic_strength".to_owned();
            let defect = Defect::new(Sort::Value, ions.clone(), message).first(kappa.clone());
            table.report(defect.label("and here").help("one follows from the other: give one"));
            return 0.0;
        }
        let kappa = match (given, ions) {
            (Some(kappa), _) => kappa.value,
            (None, Some(ions)) if ions.value > 0.0 => {
                self.by_strength = true;
                if ions.value > MOST_IONS {
                    self.notes.push(format!(
                        "ionic_strength = {} is in mol/l, and more than any solution has: 150 mmol/l are 0.15",
                        ions.value
                    ));
                }
                let Some(temperature) = self.temperature else {
                    if self.has_temperature {
                        return 0.0;
                    }
                    let message = "ionic_strength needs a temperature".to_owned();
                    let defect = Defect::new(Sort::Missing, ions.span, message);
                    table.report(defect.help(
                        "write temperature = 298.15 (kelvin) in [medium], or kappa instead of both",
                    ));
                    return 0.0;
                };
                let metres = self.unit.map_or(1.0, LengthUnit::metres);
                units::screening(ions.value, permittivity, temperature) * metres
            }
            _ => 0.0,
        };
        if kappa > 0.0 && self.place.is_empty() {
            self.place = places.into_iter().flatten().next().unwrap_or(0..0);
        }
        kappa
    }
}
