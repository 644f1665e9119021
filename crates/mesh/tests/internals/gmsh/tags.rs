use mesh::internals::gmsh::tags::{Refused, Tags};
use proptest::prelude::*;
use std::collections::HashMap;

proptest! {
    /// Runs entered at once leave what their tags leave that are entered one by one.
    #[test]
    fn runs_are_their_tags(runs in prop::collection::vec((0u64..60, 1u32..12), 1..12)) {
        let (mut at_once, mut one_by_one) = (Tags::default(), Tags::default());
        for (first, count) in runs {
            let tags: Vec<u64> = (first..first + u64::from(count)).collect();
            let mut fresh = Tags::default();
            std::mem::swap(&mut fresh, &mut one_by_one);
            let known = fresh.into_places();
            let is_new = tags.iter().all(|tag| known.get(*tag).is_none());
            prop_assert_eq!(at_once.insert_run(first, count), is_new);
            // Rebuilt from what was known, in the order of places.
            let mut all: Vec<(u32, u64)> =
                (0..80).filter_map(|tag| Some((known.get(tag)?, tag))).collect();
            all.sort_unstable();
            let new = if is_new { tags } else { Vec::new() };
            for tag in all.into_iter().map(|(_, tag)| tag).chain(new) {
                prop_assert_eq!(one_by_one.insert(tag), Ok(()));
            }
        }
        let (at_once, one_by_one) = (at_once.into_places(), one_by_one.into_places());
        for tag in 0..80 {
            prop_assert_eq!(at_once.get(tag), one_by_one.get(tag));
        }
    }
}

fn check(tags: &[u64]) {
    let mut ours = Tags::default();
    let mut expected: HashMap<u64, u32> = HashMap::new();
    for &tag in tags {
        let fresh = !expected.contains_key(&tag);
        assert_eq!(ours.insert(tag), if fresh { Ok(()) } else { Err(Refused::Repeated) });
        let next = expected.len() as u32;
        expected.entry(tag).or_insert(next);
    }
    let places = ours.into_places();
    for &tag in tags {
        for probe in [tag, tag.wrapping_add(1), tag.wrapping_sub(1)] {
            assert_eq!(places.get(probe), expected.get(&probe).copied());
        }
    }
}

#[test]
fn extreme_tags() {
    check(&[u64::MAX, 0, u64::MAX - 1, 1, u64::MAX, u64::MAX - 1, 0]);
    check(&[]);
    check(&[5, 6, 7, 3, 4, 5]);
}

#[test]
fn shuffled_tags() {
    let count = 20_011;
    for spread in [1, 1 << 40] {
        let mut tags: Vec<u64> =
            (0..count).map(|k| k * 7919 % count * spread + u64::from(spread > 1)).collect();
        tags.extend([tags[0], tags[count as usize - 1], u64::MAX, 3 * spread / 2 + 1]);
        check(&tags);
    }
}

proptest! {
    #[test]
    fn dense_shuffled(tags in prop::collection::vec(0u64..60, 0..80)) {
        check(&tags);
    }

    #[test]
    fn sparse(tags in prop::collection::vec(any::<u64>(), 0..40)) {
        check(&tags);
    }
}
