//! Charges that a solve has found, from which the next one may start.

use bem::Charges;

/// Charges of triangles over 4 pi eps0, as in [`Charges`].
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Charge of each triangle.
    pub total: Vec<f64>,
    /// Values at its corners, whose mean is the total; empty where densities are constant.
    pub at_corners: Vec<[f64; 3]>,
}

impl Known {
    /// All of its numbers: for each triangle one, or four.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        self.total.iter().chain(self.at_corners.as_flattened()).copied()
    }

    /// The charges of these numbers, on this number of triangles.
    pub fn of_numbers(numbers: &[f64], triangles: usize) -> Self {
        let (total, at_corners) = numbers.split_at(triangles.min(numbers.len()));
        Self { total: total.to_vec(), at_corners: at_corners.as_chunks::<3>().0.to_vec() }
    }
}

impl<'a> From<&'a Known> for Charges<'a> {
    fn from(of: &'a Known) -> Self {
        Self { total: &of.total, at_corners: &of.at_corners }
    }
}

impl From<&bem::Response> for Known {
    fn from(of: &bem::Response) -> Self {
        Self { total: of.charge.clone(), at_corners: of.at_corners.clone() }
    }
}
