//! Kernels against their CPU twins and oracles. They skip with a printed reason where there is no
//! GPU, unless FARAD_REQUIRE_GPU=1.

mod estimate;
mod geometry;
mod kernels;
mod memory;
mod plans;
mod rotated_matrices;
mod screened;
mod sums;
mod tables;
mod translations;
mod treecode;

use cuda::Device;

use fmm::internals::gpu::coordinates::Coordinates;
use fmm::internals::gpu::tree;
use fmm::internals::morton::MAX_DEPTH;
use fmm::internals::tree as cpu;
use samples::{Distribution, Random};

/// The GPU, or `None` after saying why the test is skipped.
fn gpu(test: &str) -> Option<Device> {
    cuda::testing::device_for(test, || Device::open(0)).unwrap()
}

fn relative(found: &[f64], exact: &[f64]) -> f64 {
    assert_eq!(found.len(), exact.len());
    let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / exact.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

/// Tree on the CPU and on the device.
fn trees(
    device: &Device,
    sources: &[[f64; 3]],
    targets: Option<&[[f64; 3]]>,
    leaf_size: usize,
) -> (cpu::Tree, tree::Tree) {
    let sets: Vec<&[[f64; 3]]> = std::iter::once(sources).chain(targets).collect();
    let root = cpu::Root::around(&sets);
    let order = cpu::MortonOrder::new(&root, sources);
    let target_order = targets.map(|t| cpu::MortonOrder::new(&root, t));
    let expected = cpu::Tree::new(&order, target_order.as_ref(), leaf_size, cpu::Crowded::Whole);

    let coordinates: Vec<_> =
        sets.iter().map(|set| Coordinates::new(device, set, None).unwrap()).collect();
    let of_device = tree::root(device, &coordinates.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(of_device, root);
    let found = tree::MortonOrder::new(device, &root, &coordinates[0]).unwrap();
    assert_eq!(found.keys.to_vec().unwrap(), order.keys);
    assert_eq!(found.index.to_vec().unwrap(), order.index);
    let boxes = found.occupied(device).unwrap();
    for (level, &boxes) in boxes.iter().enumerate() {
        let mut prefixes: Vec<u64> =
            order.keys.iter().map(|k| k >> (3 * (MAX_DEPTH - level))).collect();
        prefixes.dedup();
        assert_eq!(boxes, prefixes.len(), "level {level}");
    }
    let found_targets =
        coordinates.get(1).map(|set| tree::MortonOrder::new(device, &root, set).unwrap());
    let found =
        tree::Tree::new(device, &root, &found, found_targets.as_ref(), [leaf_size; 2]).unwrap();
    (expected, found)
}

/// Number of boxes.
fn boxes(tree: &tree::Tree) -> usize {
    tree.levels[tree.levels.len() - 1]
}

/// Points that make a deep and uneven tree.
fn uneven(count: usize, seed: u64) -> Vec<[f64; 3]> {
    Distribution::Plummer.points(count, &mut Random::new(seed))
}
