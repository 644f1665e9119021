//! Truncation numbers of the expansions that boxes store.

/// Largest truncation number.
pub(crate) const P_MAX: usize = 60;

/// A child's expansion needs this fraction of its parent's truncation number, and [`CHILD_MORE`]:
/// it is seen from at least twice as far in units of its own side, `ln 0.7637 / ln 0.62 = 0.56` in
/// the worst case.
const CHILD_FRACTION: f64 = 0.7;

/// At two digits, where truncation numbers are 2 to 5, the fraction alone leaves errors of the size
/// of the tolerance.
const CHILD_MORE: usize = 1;

/// The truncation numbers of a plan's expansions.
#[derive(Clone, Debug, Default)]
pub struct TruncationNumbers {
    /// Of the multipole expansions of each level; 0 = none is needed.
    pub multipole: Vec<usize>,
    /// Of the local expansions of each level; 0 = none is needed.
    pub local: Vec<usize>,
    /// Mean p' over all translations.
    pub mean: f64,
}

impl TruncationNumbers {
    /// Numbers that M2L with given truncation numbers needs in a tree of `levels` levels;
    /// `translations`: levels of source and target, p', and pairs of boxes.
    pub(crate) fn new(
        levels: usize,
        translations: impl Iterator<Item = ([usize; 2], usize, f64)>,
    ) -> Self {
        let mut numbers = Self { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
        let mut all_pairs = 0.0;
        for ([source, target], p, pairs) in translations {
            numbers.multipole[source] = numbers.multipole[source].max(p);
            numbers.local[target] = numbers.local[target].max(p);
            numbers.mean += p as f64 * pairs;
            all_pairs += pairs;
        }
        numbers.mean /= f64::max(all_pairs, 1.0);
        inherit(&mut numbers.multipole);
        inherit(&mut numbers.local);
        numbers
    }

    /// Numbers of multipole expansions that are evaluated at targets; `evaluated`: levels and p'.
    pub(crate) fn of_multipoles(
        levels: usize,
        evaluated: impl Iterator<Item = (usize, usize)>,
    ) -> Self {
        let mut numbers = Self { multipole: vec![0; levels], local: vec![0; levels], mean: 0.0 };
        for (level, p) in evaluated {
            numbers.multipole[level] = numbers.multipole[level].max(p);
        }
        inherit(&mut numbers.multipole);
        numbers
    }

    /// The largest of all; 0 if nothing is translated.
    pub(crate) fn max(&self) -> usize {
        self.multipole.iter().chain(&self.local).copied().max().unwrap_or(0)
    }

    /// Terms that expansions of both levels have: of a source's multipole, of a target's local.
    pub(crate) fn common(&self, [source, target]: [usize; 2]) -> usize {
        self.multipole[source].min(self.local[target])
    }
}

/// Raises the truncation numbers of levels to what those above need of them.
pub(crate) fn inherit(stored: &mut [usize]) {
    for level in 1..stored.len() {
        let above = stored[level - 1];
        if above > 0 {
            let inherited = (CHILD_FRACTION * above as f64).ceil() as usize + CHILD_MORE;
            stored[level] = stored[level].max(inherited.min(above));
        }
    }
}
