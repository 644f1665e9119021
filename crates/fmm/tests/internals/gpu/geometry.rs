//! Prefix sums, sort, tree and lists.

use super::{boxes, gpu, trees, uneven};
use fmm::Stencil;
use fmm::internals::gpu::lists::Lists;
use fmm::internals::gpu::primitives::{Scan, Sort};
use fmm::internals::gpu::tree;
use fmm::internals::lists as cpu;
use samples::{Distribution, Random};

#[test]
fn prefix_sums_are_those_of_a_loop() {
    let Some(device) = gpu("prefix_sums_are_those_of_a_loop") else { return };
    let scan = Scan::new(&device).unwrap();
    let mut random = Random::new(1);
    for n in [1, 31, 2048, 2049, 5_000_000] {
        let values: Vec<u32> = (0..n).map(|_| random.below(100) as u32).collect();
        let buffer = device.upload(&values).unwrap();
        scan.run(&device, &buffer, n).unwrap();
        let mut sum = 0;
        let expected: Vec<u32> = values
            .iter()
            .map(|v| {
                sum += v;
                sum - v
            })
            .collect();
        assert_eq!(buffer.to_vec().unwrap(), expected, "n = {n}");
    }
}

#[test]
fn sorting_is_stable_and_complete() {
    let Some(device) = gpu("sorting_is_stable_and_complete") else { return };
    let sort = Sort::of_points(&device).unwrap();
    let mut random = Random::new(2);
    for n in [2, 4096, 100_001] {
        // Many equal keys, and all 63 bits.
        let keys: Vec<u64> = (0..n)
            .map(|i| {
                let key = (random.uniform() * 9.2e18) as u64;
                if i % 3 == 0 { key >> 55 << 55 } else { key }
            })
            .collect();
        let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
        expected.sort();
        let mut keys = device.upload(&keys).unwrap();
        let mut values = device.upload(&(0..n as u32).collect::<Vec<_>>()).unwrap();
        sort.run(&device, &mut keys, &mut values, n, 0..63).unwrap();
        let found: Vec<(u64, u32)> =
            keys.to_vec().unwrap().into_iter().zip(values.to_vec().unwrap()).collect();
        assert_eq!(found, expected, "n = {n}");
    }
}

#[test]
fn trees_are_the_cpu_s() {
    let Some(device) = gpu("trees_are_the_cpu_s") else { return };
    let targets = Distribution::Sphere.points(5000, &mut Random::new(5));
    for (points, targets) in [
        (Distribution::Cube.points(20_000, &mut Random::new(3)), None),
        (uneven(20_000, 4), None),
        (uneven(7000, 6), Some(&targets[..])),
        (vec![[0.5, 0.5, 0.5]; 100], None),
    ] {
        let (expected, found) = trees(&device, &points, targets, 25);
        let mut cells = vec![tree::Cell::default(); boxes(&found)];
        found.cells.read(0, &mut cells).unwrap();
        assert_eq!(boxes(&found), expected.cells.len());
        for (cell, twin) in cells.iter().zip(&expected.cells) {
            assert_eq!(cell.place, twin.place);
            assert_eq!(cell.level, u32::from(twin.level));
            assert_eq!(cell.child_count, u32::from(twin.child_count));
            assert_eq!(cell.parent, twin.parent);
            assert_eq!(cell.sources, [twin.sources.start, twin.sources.end]);
            assert_eq!(cell.targets, [twin.targets.start, twin.targets.end]);
            if twin.child_count > 0 {
                assert_eq!(cell.first_child, twin.first_child);
            }
        }
    }
}

#[test]
fn lists_are_the_cpu_s() {
    let Some(device) = gpu("lists_are_the_cpu_s") else { return };
    let targets = Distribution::Sphere.points(5000, &mut Random::new(5));
    for stencil in [Stencil::Reduced, Stencil::Full] {
        for (points, targets) in [
            (Distribution::Cube.points(20_000, &mut Random::new(3)), None),
            (uneven(20_000, 4), None),
            (uneven(7000, 6), Some(&targets[..])),
        ] {
            let (twin, tree) = trees(&device, &points, targets, 25);
            // A table that is too small for all batches grows.
            let lists = Lists::with_table(&device, &tree, Some(stencil), 64).unwrap();
            assert!(lists.batches.len() > 64);
            let expected = cpu::Lists::new(&twin, stencil, 0, 512);
            let split = |pairs: Vec<u64>| -> Vec<(u32, u32)> {
                pairs.into_iter().map(|p| (p as u32, (p >> 32) as u32)).collect()
            };
            let mut far = vec![0; lists.begins[lists.batches.len()] as usize];
            lists.far.read(0, &mut far).unwrap();
            let far = split(far);
            let mut found = far.clone();
            let mut wanted = Vec::new();
            for block in &expected.target_blocks {
                for batch in &block.batches {
                    let first = twin.levels[batch.source_level as usize].start;
                    for pair in &block.pairs[batch.pairs.start as usize..batch.pairs.end as usize] {
                        let target = block.cells.start as u32 + pair[1];
                        wanted.push((first as u32 + pair[0], target));
                    }
                }
            }
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
            for (i, batch) in lists.batches.iter().enumerate() {
                for &(s, t) in &far[lists.begins[i] as usize..lists.begins[i + 1] as usize] {
                    let (s, t) = (&twin.cells[s as usize], &twin.cells[t as usize]);
                    assert_eq!(cpu::offset(s, t), batch.offset);
                    assert_eq!(batch.source_level, u32::from(s.level));
                    assert_eq!(batch.target_level(), t.level as usize);
                }
            }
            let (begins, entries) =
                (lists.near_begins.to_vec().unwrap(), lists.entries.to_vec().unwrap());
            let rows = begins.windows(2).zip(0u32..).flat_map(|(ends, target)| {
                let row = &entries[ends[0] as usize..ends[1] as usize];
                row.iter().map(move |&source| (source, target))
            });
            let mut near: Vec<(u32, u32)> = rows.collect();
            let mut wanted = Vec::new();
            let mut pairs = 0;
            for (row, &t) in expected.near.cells.iter().enumerate() {
                for &s in expected.near.row(row) {
                    wanted.push((s, t));
                    pairs += twin.cells[s as usize].sources.len() as u64
                        * twin.cells[t as usize].targets.len() as u64;
                }
            }
            near.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(near, wanted);
            assert_eq!(lists.pairs, pairs);
        }
    }
}
