//! The core: distribution of ranges over threads.

use std::ops::Range;

/// Calls `of` with ranges that together are `0..places`, each place once, from as many threads as
/// there is work for. Ranges have at least `least` places, unless there are fewer, and at most
/// `most`.
///
/// A range is halved while there are more threads than ranges, and again whenever a thread takes a
/// half from another one, as rayon's iterators do.
pub fn run(places: usize, [least, most]: [usize; 2], of: &(dyn Fn(Range<usize>) + Sync)) {
    if places == 0 {
        return;
    }
    let halvings = rayon::current_num_threads().max(places / most.max(1));
    Split { least: least.max(1), of }.run(0..places, halvings, false);
}

struct Split<'a> {
    least: usize,
    of: &'a (dyn Fn(Range<usize>) + Sync),
}

impl Split<'_> {
    fn run(&self, range: Range<usize>, halvings: usize, was_taken: bool) {
        if range.len() / 2 < self.least || (halvings == 0 && !was_taken) {
            return (self.of)(range);
        }
        let least = if was_taken { rayon::current_num_threads() } else { 0 };
        let halvings = least.max(halvings / 2);
        let middle = range.start + range.len() / 2;
        rayon::join_context(
            |context| self.run(range.start..middle, halvings, context.migrated()),
            |context| self.run(middle..range.end, halvings, context.migrated()),
        );
    }
}
