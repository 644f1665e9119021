//! Warnings of self-checks, in the program's words. docs/results.md explains them to users.

use std::borrow::Cow;

use farad::{Remedy, Solution};
use serde::{Deserialize, Serialize};

/// A broken promise, as results hold it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Warning {
    /// Which check, one of a fixed list of words.
    pub(crate) check: Cow<'static, str>,
    /// Its subject: entries, conductors, charges.
    pub(crate) what: String,
    /// Relative, as is what was promised.
    pub(crate) value: f64,
    pub(crate) promise: f64,
    severity: Severity,
    pub(crate) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Warning,
    Error,
}

impl Warning {
    /// Whether the result is not to be used.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Its beginning in texts.
    pub(crate) fn heading(&self) -> &'static str {
        if self.is_error() { "ERROR" } else { "WARNING" }
    }
}

/// All warnings of a solution.
pub(crate) fn of(solution: &Solution) -> Vec<Warning> {
    let worded = |warning: &farad::Warning| {
        let remedy = warning.remedy.map(|remedy| match remedy {
            Remedy::Tolerance => "; ask for a smaller [solver] tolerance",
            Remedy::Sums => {
                "; ask for a tighter sum with [fmm] tolerance, or use method = \"dense\""
            }
            Remedy::Dense => "; use method = \"dense\", or solve the parts apart",
            Remedy::Mesh => "; check the mesh with `farad mesh check`",
        });
        Warning {
            check: warning.check.into(),
            what: warning.what.clone(),
            value: warning.value,
            promise: warning.promise,
            severity: if warning.is_error { Severity::Error } else { Severity::Warning },
            message: format!("{}{}", warning.message, remedy.unwrap_or_default()),
        }
    };
    solution.warnings.iter().map(worded).collect()
}

/// Whether results are not to be used.
pub(crate) fn failed(warnings: &[Warning]) -> bool {
    warnings.iter().any(Warning::is_error)
}
