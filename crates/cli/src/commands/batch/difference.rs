//! Differences of energies, such as those of binding: `binding = complex - a - b`.

use serde::Serialize;

use super::rows::Row;
use crate::terminal::exit::{Exit, Failure};

/// A sum of rows with signs.
#[derive(Clone, Debug)]
pub struct Difference {
    name: String,
    /// Factor and index of a row.
    pub terms: Vec<(f64, usize)>,
}

/// Its value.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub(super) name: String,
    pub terms: String,
    /// Null where one of the rows has none.
    pub solvation_kcal_per_mol: Option<f64>,
    pub solvation_error_kcal_per_mol: Option<f64>,
    pub(super) coulomb_kcal_per_mol: Option<f64>,
    pub total_kcal_per_mol: Option<f64>,
}

/// Reads `NAME = A - B + C`, whose letters are names of rows.
pub fn parse(text: &str, names: &[&str]) -> Result<Difference, Failure> {
    let wrong = |message: String| {
        let help = "write --difference \"binding = complex - a - b\", with the names of PQR files without .pqr";
        Failure::with_help(Exit::Usage, format!("--difference \"{text}\": {message}"), help)
    };
    let (name, sum) = text.split_once('=').ok_or_else(|| wrong("it has no =".to_owned()))?;
    let spaced = sum.replace('+', " + ");
    let mut terms = Vec::new();
    let mut sign = Some(1.0);
    for word in spaced.split_whitespace() {
        match (word, sign) {
            // Names may have hyphens, so that minus signs stand alone.
            ("+", None) => sign = Some(1.0),
            ("-", None) => sign = Some(-1.0),
            ("-", Some(1.0)) if terms.is_empty() => sign = Some(-1.0),
            (word, Some(factor)) => {
                let row = names.iter().position(|known| *known == word);
                let row = row.ok_or_else(|| wrong(format!("no molecule is called \"{word}\"")))?;
                terms.push((factor, row));
                sign = None;
            }
            (word, None) => {
                return Err(wrong(format!("a sign between blanks is missing before \"{word}\"")));
            }
        }
    }
    if terms.is_empty() || sign.is_some() || name.trim().is_empty() {
        return Err(wrong("a name is missing".to_owned()));
    }
    Ok(Difference { name: name.trim().to_owned(), terms })
}

impl Difference {
    /// Its value, with the sum of the bars.
    pub fn of(&self, rows: &[Row]) -> Found {
        let sum = |value: fn(&Row) -> Option<f64>, sign: fn(f64) -> f64| -> Option<f64> {
            self.terms.iter().map(|(factor, row)| Some(sign(*factor) * value(&rows[*row])?)).sum()
        };
        let signed = |factor: f64| factor;
        let term = |(index, (factor, row)): (usize, &(f64, usize))| {
            let sign = match (index, *factor < 0.0) {
                (0, false) => "",
                (0, true) => "- ",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            format!("{sign}{}", rows[*row].name)
        };
        Found {
            name: self.name.clone(),
            terms: self.terms.iter().enumerate().map(term).collect(),
            solvation_kcal_per_mol: sum(|row| row.solvation_kcal_per_mol, signed),
            solvation_error_kcal_per_mol: sum(|row| row.solvation_error_kcal_per_mol, f64::abs),
            coulomb_kcal_per_mol: sum(|row| row.coulomb_kcal_per_mol, signed),
            total_kcal_per_mol: sum(|row| row.total_kcal_per_mol, signed),
        }
    }
}
