//! Matrices of fewer nets. They follow from the capacitance matrix and its bars alone
//! ([`crate::Solution::reduced`]).

use crate::analysis::interface::Analysis;
use crate::scene::description::Description;

/// The reductions of a description; what their names mean is found with those of conductors.
pub(crate) struct ReductionAnalysis;

impl Analysis for ReductionAnalysis {
    fn is_requested(&self, description: &Description) -> bool {
        !description.reductions.is_empty()
    }

    fn name_with_all_nets(&self) -> Option<&'static str> {
        Some("a reduction")
    }
}
