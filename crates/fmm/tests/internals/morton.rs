use fmm::internals::morton::{FEW, KeyRun, Keys, OWN, Sample, of_place, place_of, refine, sorted};
use fmm::internals::tree::{Crowded, MortonOrder, Root, Tree};
use samples::{Distribution, Random};

#[test]
fn the_radix_sort_gives_what_a_comparison_sort_gives() {
    for distribution in Distribution::ALL {
        for n in [0, 1, FEW + 1, 1000, OWN, OWN + 1, 200_000] {
            let mut points = distribution.points(n, &mut Random::new(n as u64 + 1));
            // A far outlier puts all others into one bucket; every third point lies where its
            // neighbour does.
            if n > 3 {
                points[1] = [1e7, 0.0, 0.0];
                (3..n).step_by(3).for_each(|i| points[i] = points[i - 1]);
            }
            let root = Root::around(&[&points]);
            let keys = Keys::new(&root);
            let mut expected: Vec<(u64, u32)> =
                points.iter().enumerate().map(|(i, x)| (keys.of(x), i as u32)).collect();
            expected.sort_unstable();
            let (found, index) = sorted(&root, &points, 0);
            assert!(found.iter().copied().zip(index).eq(expected), "{distribution:?} {n}");
        }
    }
}

#[test]
fn what_was_left_unsorted_is_sorted_where_it_is_needed() {
    for distribution in Distribution::ALL {
        let points = distribution.points(30_000, &mut Random::new(4));
        let root = Root::around(&[&points]);
        let whole = sorted(&root, &points, 0);
        let (mut keys, mut index) = sorted(&root, &points, 700);
        let run = KeyRun { keys: &mut keys, index: &mut index };
        refine(&root, &points, run, 700, &|level, place| {
            let [x, y, z] = place_of(place);
            assert!(of_place([x, y, z]) == place && place >> (3 * level) == 0);
            x % 2 == 1
        });
        assert!(index != whole.1);
        let run = KeyRun { keys: &mut keys, index: &mut index };
        refine(&root, &points, run, 700, &|_, _| true);
        assert!((keys, index) == whole, "{distribution:?}");
    }
}

#[test]
fn boxes_of_few_points_keep_together_unsorted() {
    for distribution in Distribution::ALL {
        for (n, outlier) in [(100, 0.0), (5_000, 1e4), (100_000, 0.0), (100_000, 1e4)] {
            let mut points = distribution.points(n, &mut Random::new(2));
            // Seen from far away the others crowd into boxes smaller than the items' digits
            // tell apart.
            points[7][1] += outlier;
            let root = Root::around(&[&points]);
            let order = MortonOrder::new(&root, &points);
            for leaf_size in [1, 7, 60, 1000] {
                let coarse = MortonOrder::of_leaves(&root, &points, leaf_size);
                let mut seen = coarse.index.clone();
                seen.sort_unstable();
                assert!(seen.iter().copied().eq(0..n as u32));
                let [fine, coarse] = [&order, &coarse]
                    .map(|order| Tree::new(order, None, leaf_size, Crowded::ToTheLast));
                let boxes = |tree: &Tree| -> Vec<_> {
                    tree.cells.iter().map(|c| (c.level, c.place, c.sources.clone())).collect()
                };
                assert!(boxes(&fine) == boxes(&coarse), "{distribution:?} {n} {leaf_size}");
            }
        }
    }
}

#[test]
fn a_sample_finds_the_occupancies() {
    let points = Distribution::Cube.points(300_000, &mut Random::new(1));
    let root = Root { corner: [0.0; 3], side: 1.0 };
    let sample = Sample::new(&root, &points);
    for level in 1..5 {
        // Uniform: the others in a box number (n - 1) / 8^level; the sample's pairs at level 4
        // are some 39,000.
        let expected = (points.len() - 1) as f64 / f64::from(1u32 << (3 * level));
        let found = sample.occupancy(level);
        assert!((found / expected - 1.0).abs() < 0.03, "{level}: {found} {expected}");
    }
}
