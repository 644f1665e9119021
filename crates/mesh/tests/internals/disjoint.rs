use mesh::disjoint::{DisjointSets, SharedSets};
use parallel::prelude::*;

#[test]
fn sets_joined_side_by_side_are_those_joined_one_after_another() {
    let mut seed = 5u64;
    let mut random = move |below: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as u32 % below
    };
    for (count, pairs) in [(1, 0), (10, 4), (1000, 700), (50_000, 30_000), (50_000, 200_000)] {
        let pairs: Vec<[u32; 2]> = (0..pairs).map(|_| [random(count), random(count)]).collect();
        let mut plain = DisjointSets::new(count as usize);
        pairs.iter().for_each(|&[a, b]| _ = plain.join(a, b));
        let shared = SharedSets::new(count as usize);
        pairs.par_iter().for_each(|&[a, b]| shared.join(a, b));
        let roots: Vec<u32> = (0..count).map(|number| plain.root(number)).collect();
        assert_eq!((0..count).map(|number| shared.root(number)).collect::<Vec<_>>(), roots);
        // Least numbers come first, so labels count them.
        let mut number = 0;
        let mut label_of = vec![0; count as usize];
        let expected: Vec<u32> = (0..count)
            .map(|own| {
                let root = roots[own as usize];
                if root == own {
                    label_of[own as usize] = number;
                    number += 1;
                }
                label_of[root as usize]
            })
            .collect();
        assert_eq!(shared.labels((0..count).into_par_iter()), (expected, number as usize));
    }
}
