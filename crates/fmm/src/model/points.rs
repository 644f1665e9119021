//! Sources and targets in the caller's order, and the checks of them.

use parallel::prelude::*;

use crate::error::Error;

/// Sources and targets in the caller's order; without targets they are the sources.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// Sources.
    pub sources: &'a [[f64; 3]],
    /// Targets; none: the sources.
    pub targets: Option<&'a [[f64; 3]]>,
}

impl Points<'_> {
    /// The number of targets.
    pub(crate) fn target_count(&self) -> usize {
        self.targets.map_or(self.sources.len(), <[_]>::len)
    }

    /// Sources, and targets if they are others.
    pub(crate) fn sets(&self) -> Vec<&[[f64; 3]]> {
        std::iter::once(self.sources).chain(self.targets).collect()
    }

    /// Checks that there are not too many, and that all coordinates are numbers.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_points("source", self.sources)?;
        check_points("target", self.targets.unwrap_or(&[]))
    }
}

/// Points that 32-bit indices address, with room for padding.
const MAX_POINTS: usize = u32::MAX as usize - 64;

pub(crate) fn check_count(what: &'static str, count: usize) -> Result<(), Error> {
    if count > MAX_POINTS {
        return Err(Error::TooMany { what, count, limit: MAX_POINTS });
    }
    Ok(())
}

fn check_points(what: &'static str, points: &[[f64; 3]]) -> Result<(), Error> {
    check_count(what, points.len())?;
    let finite = |x: &[f64; 3]| x.iter().all(|c| c.is_finite());
    // Without an early end the loop is a plain pass over memory.
    let all = |some: &[[f64; 3]]| some.iter().fold(true, |all, x| all & finite(x));
    if points.par_chunks(4096).all(all) {
        return Ok(());
    }
    match points.iter().position(|x| !finite(x)) {
        Some(index) => Err(Error::NotFinite { what, index, point: points[index] }),
        None => Ok(()),
    }
}
