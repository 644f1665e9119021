//! Every pair of points is summed once, and full trees take as many translations as the literature
//! counts.

use proptest::prelude::*;

use fmm::Stencil;
use fmm::internals::lists::{Lists, acceptance, offset};
use fmm::internals::tree::{Cell, Crowded, MortonOrder, Root, Tree};
use samples::{Distribution, Random};

/// Points of one kind.
fn points(kind: usize, count: usize, random: &mut Random) -> Vec<[f64; 3]> {
    match kind {
        0..4 => Distribution::ALL[kind].points(count, random),
        // Few places, many points at each.
        4 => (0..count).map(|_| std::array::from_fn(|_| 0.25 * random.below(3) as f64)).collect(),
        // Clusters a millionth of the whole in size, and a few points between.
        5 => {
            let centres = Distribution::Cube.points(3, random);
            (0..count)
                .map(|i| {
                    let size = if i % 10 == 0 { 1.0 } else { 1e-6 };
                    centres[i % 3].map(|c| c + size * random.uniform())
                })
                .collect()
        }
        // On a line along an axis.
        _ => (0..count).map(|_| [0.5, random.uniform().powi(4), 0.5]).collect(),
    }
}

const KINDS: usize = 7;

/// How often each pair of a target and a source is summed: by P2P of their leaves, or by M2L of
/// boxes that hold them.
fn coverage(tree: &Tree, lists: &Lists, targets: usize, sources: usize) -> Vec<u8> {
    let mut times = vec![0u8; targets * sources];
    let mut add = |target: &Cell, source: &Cell| {
        for t in target.targets.clone() {
            let row = &mut times[t as usize * sources..][..sources];
            for times in &mut row[source.sources.start as usize..source.sources.end as usize] {
                *times = times.saturating_add(1);
            }
        }
    };
    for (row, &target) in lists.near.cells.iter().enumerate() {
        for &source in lists.near.row(row) {
            let [target, source] = [target, source].map(|i| &tree.cells[i as usize]);
            assert!(target.is_leaf() && source.is_leaf());
            add(target, source);
        }
    }
    for block in &lists.target_blocks {
        for batch in &block.batches {
            let first = tree.levels[batch.source_level as usize].start;
            for pair in &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize] {
                let source = &tree.cells[first + pair[0] as usize];
                add(&tree.cells[block.cells.start + pair[1] as usize], source);
            }
        }
    }
    times
}

/// Asserts that translations are between boxes that the rule accepts, by the vectors of their
/// batches.
fn assert_apart(tree: &Tree, lists: &Lists, stencil: Stencil) {
    let accepted = acceptance(stencil);
    for block in &lists.target_blocks {
        for batch in &block.batches {
            let first = tree.levels[batch.source_level as usize].start;
            for pair in &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize] {
                let source = &tree.cells[first + pair[0] as usize];
                let target = &tree.cells[block.cells.start + pair[1] as usize];
                let offset = offset(source, target);
                assert_eq!(offset, lists.vectors[batch.vector as usize].offset);
                let r2: i64 = offset.iter().map(|&o| i64::from(o) * i64::from(o)).sum();
                assert!(r2 >= accepted[usize::from(source.level.abs_diff(target.level))]);
            }
        }
    }
}

proptest! {
    // A fixed sequence of cases: the same on every machine.
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x11575),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_pair_of_points_is_summed_once(
        seed in any::<u64>(),
        kinds in (0..KINDS, 0..KINDS),
        counts in (1usize..400, 1usize..400),
        apart in any::<bool>(),
        leaf_size in 1usize..40,
        stencil in prop::sample::select(vec![Stencil::Full, Stencil::Reduced, Stencil::Shortest]),
        direct in prop::sample::select(vec![0u64, 30, 3000]),
        block_size in 1usize..200,
    ) {
        let mut random = Random::new(seed);
        let sources = points(kinds.0, counts.0, &mut random);
        let targets = apart.then(|| points(kinds.1, counts.1, &mut random));
        let sets: Vec<&[[f64; 3]]> =
            std::iter::once(&sources[..]).chain(targets.as_deref()).collect();
        let root = Root::around(&sets);
        let order = MortonOrder::new(&root, &sources);
        let target_order = targets.as_ref().map(|points| MortonOrder::new(&root, points));
        let tree = Tree::new(&order, target_order.as_ref(), leaf_size, Crowded::ToTheLast);
        let lists = Lists::new(&tree, stencil, direct, block_size);
        let m = targets.as_ref().map_or(sources.len(), Vec::len);
        let times = coverage(&tree, &lists, m, sources.len());
        if let Some(wrong) = times.iter().position(|&times| times != 1) {
            let (target, source) = (wrong / sources.len(), wrong % sources.len());
            panic!("target {target}, source {source}: {} times", times[wrong]);
        }
        assert_apart(&tree, &lists, stencil);
        let pairs: u64 = (0..lists.near.cells.len())
            .map(|row| {
                let target = tree.cells[lists.near.cells[row] as usize].targets.len() as u64;
                let sources = lists.near.row(row).iter();
                sources.map(|&s| target * tree.cells[s as usize].sources.len() as u64).sum::<u64>()
            })
            .sum();
        assert_eq!(pairs, lists.near_pairs);
    }
}

/// Translations to each box: those of a full tree of `levels` levels with one point a leaf.
fn translations_of_a_lattice(stencil: Stencil, levels: u32) -> (Tree, Vec<u32>) {
    let boxes = 1usize << levels;
    let points: Vec<[f64; 3]> = (0..boxes.pow(3))
        .map(|i| {
            [i % boxes, i / boxes % boxes, i / boxes / boxes]
                .map(|c| (c as f64 + 0.5) / boxes as f64)
        })
        .collect();
    // The cube of the boxes, which is a little larger than that of the points.
    let root = Root { corner: [0.0; 3], side: 1.0 };
    let tree = Tree::new(&MortonOrder::new(&root, &points), None, 1, Crowded::ToTheLast);
    let lists = Lists::new(&tree, stencil, 0, 512);
    let mut received = vec![0; tree.cells.len()];
    for block in &lists.target_blocks {
        for batch in &block.batches {
            for pair in &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize] {
                received[block.cells.start + pair[1] as usize] += 1;
            }
        }
    }
    (tree, received)
}

#[test]
fn an_interior_box_takes_119_translations() {
    const LEVELS: u32 = 5;
    // To a box of the lowest level, which nothing finer is translated to, and to one of the others.
    // In an infinite tree seven of eight boxes more are of the lowest level: the mean is (7
    // lowest + other) / 8.
    for (stencil, lowest, other, mean) in [
        (Stencil::Full, 189, 189, 189),
        (Stencil::Reduced, 109, 189, 119),
        (Stencil::Shortest, 61, 189, 77),
    ] {
        assert_eq!(7 * lowest + other, 8 * mean);
        let (tree, received) = translations_of_a_lattice(stencil, LEVELS);
        let mut seen = [0; 2];
        for (cell, &received) in tree.cells.iter().zip(&received) {
            let level = u32::from(cell.level);
            // Its parent's neighbours are all there.
            let interior = |&i: &u32| (2..(1u32 << level).saturating_sub(2)).contains(&i);
            if level < 4 || !cell.place.iter().all(interior) {
                continue;
            }
            let expected = if level == LEVELS { lowest } else { other };
            assert_eq!(received, expected, "{stencil:?} level {level} {:?}", cell.place);
            seen[usize::from(level == LEVELS)] += 1;
        }
        assert_eq!(seen, [12usize.pow(3), 28usize.pow(3)]);
    }
}
