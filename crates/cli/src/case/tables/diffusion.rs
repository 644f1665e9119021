//! `[diffusion]`: the liquid in which a body diffuses.

use farad::Diffusion;

use super::prelude::*;

table! {
    /// `[diffusion]`.
    DiffusionTable = "diffusion";
    temperature: f64 = POSITIVE.said("number, kelvin"), REQUIRED, "temperature of the solvent";
    viscosity: f64 = POSITIVE.said("number, pascal seconds"), REQUIRED,
        "viscosity of the solvent; water at 25 degrees Celsius has 8.9e-4";
}

/// The liquid, if a diffusion constant is wanted.
pub(in crate::case) fn read(top: &Section<'_>) -> Option<Diffusion> {
    let table = top.has_table::<DiffusionTable>().then(|| top.table::<DiffusionTable>())?;
    Some(Diffusion { temperature: table.temperature.value?, viscosity: table.viscosity.value? })
}

impl DiffusionTable {
    /// The table of a liquid.
    pub(in crate::case) fn of(diffusion: &Diffusion) -> Self {
        Self {
            temperature: diffusion.temperature.into(),
            viscosity: diffusion.viscosity.into(),
            ..Self::default()
        }
    }
}
