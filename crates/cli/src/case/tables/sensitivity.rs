//! `[[sensitivity]]`: derivatives of the capacitance matrix.

use std::ops::Range;

use farad::{Parameter, Sensitivity};

use super::file_names;
use super::prelude::*;

/// The end of the names of tables of error bars.
const BARS: &str = "_error";

/// Names that become those of files, but not those of error bars.
const NAME: Spec = Spec::pattern("^(?!.*_error$)[A-Za-z0-9_-]+$", FILE_LETTERS);

/// The property of a layer that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::case) enum OfLayer {
    Permittivity,
    Thickness,
}

words!(OfLayer { "permittivity" = Self::Permittivity, "thickness" = Self::Thickness });

table! {
    /// `[[sensitivity]]`.
    SensitivityTable = "sensitivity" repeated;
    @rules [
        Rule::OneSet(&[&["shift"], &["permittivity"], &["layer"]]),
        Rule::Needs("of", &["layer"]),
    ];
    name: String = NAME, REQUIRED, "name in the results: `sensitivity_NAME.csv`";
    shift: Names = NAMES, or("none"),
        "conductors and dielectrics that are shifted together, along x, y and z: three matrices in farad a metre";
    permittivity: String = TEXT, or("none"),
        "a dielectric, or \"surroundings\": the derivative by its relative permittivity, in farad";
    layer: usize = Spec::integer(0, 1000), or("none"),
        "a [layer](#layer): 1 is the lowest, 0 the region below all layers, their number plus 1 the region above all";
    of: OfLayer = Spec::choice(OfLayer::WORDS), or("\"permittivity\""),
        "what of the layer changes; by its thickness the derivative is in farad a metre";
}

/// Reads every `[[sensitivity]]` with its place; defects are reported to the document. Names are
/// compared with the mesh later.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<(Sensitivity, Range<usize>)> {
    let mut read: Vec<(Sensitivity, Range<usize>)> = Vec::new();
    for table in top.tables::<SensitivityTable>() {
        let by = table.parameter(top);
        let (Some(name), Some(by)) = (table.name.located(), by) else { continue };
        let first = read.iter().find(|(known, _)| known.name == name.value);
        let first = first.map(|(_, first)| first);
        file_names::check(top, ["sensitivity", "sensitivities"], &name, first);
        if name.value.ends_with(BARS) {
            let message = format!("sensitivity_{}.csv is the name of another result", name.value);
            let defect = Defect::new(Sort::Value, name.span.clone(), message);
            top.report(defect.help("choose another name"));
        }
        read.push((Sensitivity { name: name.value, by }, name.span));
    }
    read
}

impl SensitivityTable {
    fn parameter(&self, top: &Section<'_>) -> Option<Parameter> {
        let keys = [
            ("shift", self.shift.is_given()),
            ("permittivity", self.permittivity.is_given()),
            ("layer", self.layer.is_given()),
        ];
        let given: Vec<&str> =
            keys.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect();
        if given.len() != 1 {
            let message = match given.len() {
                0 => "nothing changes: there is neither shift, permittivity nor layer".to_owned(),
                _ => format!("{} both say what changes", given.join(" and ")),
            };
            let defect = Defect::new(Sort::Value, self.place(), message);
            top.report(defect.help("write one of them, and another [[sensitivity]] for another"));
            return None;
        }
        if self.of.is_given() && given != ["layer"] {
            let message = "`of` says what of a layer changes, and there is no layer";
            top.report(Defect::new(Sort::Value, self.place(), message));
        }
        if let Some(shift) = &self.shift.value {
            return Some(Parameter::Shift(shift.items.clone()));
        }
        if let Some(name) = &self.permittivity.value {
            return Some(Parameter::Permittivity(name.clone()));
        }
        let layer = self.layer.value?;
        Some(match self.of.value {
            Some(OfLayer::Thickness) => Parameter::Thickness(layer),
            _ => Parameter::OfLayer(layer),
        })
    }

    /// The table of a derivative.
    pub(in crate::case) fn of(sensitivity: &Sensitivity) -> Self {
        let mut table = Self { name: (&sensitivity.name).into(), ..Self::default() };
        match &sensitivity.by {
            Parameter::Shift(names) => table.shift = names.into(),
            Parameter::Permittivity(name) => table.permittivity = name.into(),
            Parameter::OfLayer(layer) => table.set_layer(*layer, OfLayer::Permittivity),
            Parameter::Thickness(layer) => table.set_layer(*layer, OfLayer::Thickness),
        }
        table
    }

    fn set_layer(&mut self, layer: usize, of: OfLayer) {
        self.layer = layer.into();
        self.of = of.into();
    }
}
