//! Which rank does what, where ranks take whole solves.

use std::ops::Range;

/// Deals items, in their order, of which each has so much work: every rank gets consecutive ones,
/// as even as they can be, and the first ranks have some if there are fewer than ranks.
pub(crate) fn consecutive(work: &[u64], ranks: usize) -> Vec<Range<usize>> {
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
pub(crate) fn largest_first(work: &[u64], ranks: usize) -> Vec<Vec<usize>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_items_are_dealt_evenly_and_each_once() {
        let lengths = |work: &[u64], ranks: usize| -> Vec<usize> {
            let dealt = consecutive(work, ranks);
            assert_eq!(dealt.len(), ranks);
            let all: Vec<usize> = dealt.iter().cloned().flatten().collect();
            assert!(all.into_iter().eq(0..work.len()), "{work:?} among {ranks}: {dealt:?}");
            dealt.into_iter().map(|items| items.len()).collect()
        };
        assert_eq!(lengths(&[1; 7], 3), [3, 2, 2]);
        assert_eq!(lengths(&[1; 4], 3), [2, 1, 1]);
        assert_eq!(lengths(&[1; 2], 4), [1, 1, 0, 0]);
        assert_eq!(lengths(&[], 2), [0, 0]);
        assert_eq!(lengths(&[5; 6], 1), [6]);
        // Of unequal work; where there are items for all, all have some.
        assert_eq!(lengths(&[6, 1, 1, 1, 1, 1, 1], 2), [1, 6]);
        assert_eq!(lengths(&[1, 1, 1, 9], 2), [3, 1]);
        assert_eq!(lengths(&[1, 1, 9], 3), [1, 1, 1]);
        assert_eq!(lengths(&[9, 1, 1], 3), [1, 1, 1]);
        assert_eq!(lengths(&[0, 0, 0], 2), [2, 1]);
    }

    #[test]
    fn large_items_are_dealt_first() {
        assert_eq!(largest_first(&[1, 9, 2, 8, 1], 2), [vec![0, 1, 4], vec![2, 3]]);
        assert_eq!(largest_first(&[0, 0, 0], 2), [vec![0, 2], vec![1]]);
        assert_eq!(largest_first(&[4], 3), [vec![0], vec![], vec![]]);
    }
}
