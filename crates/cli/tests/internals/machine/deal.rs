use farad_cli::internals::machine::{consecutive, largest_first};

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
