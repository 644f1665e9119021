//! What screened expansions of leaves need on the device besides harmonics: radial functions and
//! derivatives of each level (module `radial` of the CPU).

use cuda::{Buffer, Device, Error, OfReals, Real};

use super::layouts::Radial;
use super::tables;
use crate::Precision;
use crate::expansions::radial;
use crate::expansions::screened::Screening;
use crate::expansions::screened_tables::{ScreenedGradient, ScreenedTables};
use crate::truncation::TruncationNumbers;

/// Radial tables of all levels.
#[derive(Debug)]
pub(super) struct Radials {
    pub(super) multipole: Buffer<Radial>,
    pub(super) local: Buffer<Radial>,
    /// Kept for the kernels that read them.
    _values: Buffer<u8>,
    _derivatives: Buffer<u8>,
}

/// What levels need, one after the other.
#[derive(Default)]
struct Stack {
    values: Vec<f64>,
    derivatives: Vec<(u32, u32, f64)>,
}

impl Stack {
    /// Adds a level; addresses are counted from the beginning, in numbers and in entries.
    fn push(&mut self, p: usize, of: &radial::Radial<f64>, gradient: &ScreenedGradient) -> Radial {
        if p == 0 {
            return Radial::default();
        }
        let series = self.values.len() as u64;
        let terms = of.series().each_ref().map(|terms| terms.len() as u32);
        self.values.extend(of.series().iter().flatten());
        let ratios = self.values.len() as u64;
        let begin = self.derivatives.len();
        if terms[0] == 0 {
            // Boxes that feel nothing: kappa's powers may be beyond single precision.
            self.values.resize(self.values.len() + 2 * (p - 1), 0.0);
            let derivatives = begin as u64;
            return Radial { series, ratios, derivatives, terms, ..Radial::default() };
        }
        self.values.extend(of.ratios().as_flattened());
        let ends = std::array::from_fn(|axis| {
            let entry = |e: &crate::expansions::harmonics::Entry| {
                (e.row as u32, e.column as u32, of.scaled(e))
            };
            self.derivatives.extend(gradient.within(p, axis).map(entry));
            (self.derivatives.len() - begin) as u32
        });
        Radial { series, ratios, derivatives: begin as u64, terms, ends, unused: 0 }
    }
}

impl Radials {
    /// The tables of a plan; `None` without screening.
    pub(super) fn new(
        device: &Device,
        precision: Precision,
        screening: Screening,
        numbers: &TruncationNumbers,
    ) -> Result<Option<Self>, Error> {
        let Some(tables) = ScreenedTables::<f64>::new(screening, numbers) else {
            return Ok(None);
        };
        let mut stack = Stack::default();
        let mut levels = |numbers: &[usize], radials: &[radial::Radial<f64>]| -> Vec<Radial> {
            let of = |(&p, radial)| stack.push(p, radial, &tables.gradient);
            numbers.iter().zip(radials).map(of).collect()
        };
        let mut multipole = levels(&numbers.multipole, &tables.multipole);
        let mut local = levels(&numbers.local, &tables.local);
        let values = device.upload(&precision.encode(stack.values))?;
        let derivatives =
            device.upload(&tables::derivative_bytes(precision, &stack.derivatives))?;
        let number = precision.bytes();
        let entry = super::kernels::Derivative::size(number) as u64;
        let number = Real::size(number) as u64;
        for level in multipole.iter_mut().chain(&mut local) {
            level.series = values.address() + number * level.series;
            level.ratios = values.address() + number * level.ratios;
            level.derivatives = derivatives.address() + entry * level.derivatives;
        }
        let (multipole, local) = (device.upload(&multipole)?, device.upload(&local)?);
        Ok(Some(Self { multipole, local, _values: values, _derivatives: derivatives }))
    }
}
