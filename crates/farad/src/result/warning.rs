//! Warnings of self-checks.

use bem::checks::ratio;

/// A result that misses its promise by more than this factor is an error.
const ERROR: f64 = 10.0;

/// A broken promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// Which check, one of a fixed list of words.
    pub check: &'static str,
    /// The entries, conductors or charges concerned.
    pub what: String,
    /// The measured value, relative, as is `promise`.
    pub value: f64,
    /// The bound that it should meet.
    pub promise: f64,
    /// Whether the result is not to be used.
    pub is_error: bool,
    /// The message.
    pub message: String,
    /// Advice, where the message has none.
    pub remedy: Option<Remedy>,
}

/// Advice for a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Ask for a smaller tolerance of the solver.
    Tolerance,
    /// Ask for a smaller tolerance of the fast sums, or for a dense solve.
    Sums,
    /// Ask for a dense solve, or solve the parts apart.
    Dense,
    /// Look for what is wrong with the mesh.
    Mesh,
}

impl Warning {
    pub(crate) fn new(
        check: &'static str,
        what: String,
        [value, promise]: [f64; 2],
        message: String,
    ) -> Self {
        let is_error = ratio(value, promise) > ERROR;
        Self { check, what, value, promise, is_error, message, remedy: None }
    }

    /// Adds what to do.
    pub(crate) fn with(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}
