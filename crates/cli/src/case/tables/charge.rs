//! `[[charge]]` and `[external]`: point charges and a uniform field.

use farad::{Amount, Charge};

use super::prelude::*;

/// Units of charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::case) enum ChargeUnit {
    Coulomb,
    Elementary,
}

words!(ChargeUnit { "C" = Self::Coulomb, "e" = Self::Elementary });

table! {
    /// `[[charge]]`.
    ChargeTable = "charge" repeated;
    position: [f64; 3] = VECTOR, REQUIRED, "position in the mesh's unit";
    charge: f64 = QUANTITY, REQUIRED, "the charge, in `unit`";
    unit: ChargeUnit = Spec::choice(ChargeUnit::WORDS), or("C"),
        "coulomb, or elementary charges (1.602176634e-19 C)";
}

table! {
    /// `[external]`.
    ExternalTable = "external";
    field: [f64; 3] = VECTOR.said("[Ex, Ey, Ez], V/m"), or("[0.0, 0.0, 0.0]"),
        "uniform external field; its potential is 0 at the origin of the mesh's coordinates";
}

/// Reads every `[[charge]]`; defects are reported to the document.
pub(in crate::case) fn read(top: &Section<'_>) -> Vec<Located<Charge>> {
    let read = |table: ChargeTable| {
        let (position, charge) = (table.position.located()?, table.charge.value?);
        let amount = match table.unit.or(ChargeUnit::Coulomb) {
            ChargeUnit::Elementary => Amount::Elementary(charge),
            ChargeUnit::Coulomb => Amount::Coulomb(charge),
        };
        let charge = Charge { position: position.value, amount };
        Some(Located { value: charge, span: position.span })
    };
    top.tables().into_iter().filter_map(read).collect()
}

impl ChargeTable {
    /// The table of a charge.
    pub(in crate::case) fn of(charge: &Charge) -> Self {
        let (amount, unit) = match charge.amount {
            Amount::Coulomb(amount) => (amount, ChargeUnit::Coulomb),
            Amount::Elementary(amount) => (amount, ChargeUnit::Elementary),
        };
        Self {
            position: charge.position.into(),
            charge: amount.into(),
            unit: unit.into(),
            ..Self::default()
        }
    }
}
