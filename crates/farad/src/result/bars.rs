//! Error bars of the matrix. Other values have theirs next to them.

/// Error bars of a solution beyond those of single values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Bars of the entries of the matrix `answer.maxwell`, over 4 pi eps like these. NaN in rows of
    /// conductors that were not excited.
    pub maxwell: Vec<Vec<f64>>,
    /// For each excitation of the solve and each triangle, what error of its energy belongs to each
    /// side: [`bem::ErrorEstimate::sides`].
    pub(crate) sides: Vec<Vec<[f64; 3]>>,
}
