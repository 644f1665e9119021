//! The heights of the layers that surfaces or points are in.

/// The heights of regions with surfaces or points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    pub(crate) axis: usize,
    pub(crate) bounds: Vec<[f64; 2]>,
}

impl Regions {
    /// In which of them a point is.
    pub(crate) fn of(&self, x: &[f64; 3]) -> usize {
        let z = x[self.axis];
        let off = |[low, high]: &[f64; 2]| (low - z).max(z - high);
        let all = self.bounds.iter().enumerate();
        let nearest = all.min_by(|a, b| off(a.1).total_cmp(&off(b.1)));
        nearest.map_or(0, |(region, _)| region)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.bounds.len().max(1)
    }
}
