//! Which rank does what, where ranks take whole solves.

use std::ops::Range;

/// Deals items, in their order, of which each has so much work: every rank gets consecutive ones,
/// as even as they can be, and the first ranks have some if there are fewer than ranks.
pub fn consecutive(work: &[u64], ranks: usize) -> Vec<Range<usize>> {
    let mut left: u64 = work.iter().sum();
    let mut begin = 0;
    let mut dealt = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        let others = ranks - rank - 1;
        let share = left.div_ceil(others as u64 + 1);
        let (mut end, mut taken) = (begin, 0);
        while let Some(&next) = work.get(end) {
            let is_first = end == begin;
            let is_needed = work.len() - end <= others;
            // Closer to the share with it than without.
            let fits = 2 * taken + next <= 2 * share;
            if others > 0 && !is_first && (is_needed || !fits) {
                break;
            }
            taken += next;
            end += 1;
        }
        left -= taken;
        dealt.push(begin..end);
        begin = end;
    }
    dealt
}

/// Deals items of so much work, whatever their order: the largest first, each to the rank that has
/// least. What each rank gets, in the order of the items.
pub fn largest_first(work: &[u64], ranks: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by_key(|&item| std::cmp::Reverse(work[item]));
    let mut loads = vec![(0_u64, 0_usize); ranks];
    let mut dealt = vec![Vec::new(); ranks];
    for item in order {
        // Among equals the first, by load and then by number of items.
        let Some(rank) = (0..ranks).min_by_key(|&rank| loads[rank]) else { break };
        loads[rank].0 += work[item];
        loads[rank].1 += 1;
        dealt[rank].push(item);
    }
    dealt.iter_mut().for_each(|items| items.sort_unstable());
    dealt
}
