use fmm::internals::gpu::estimate::{Boxes, Planned, Spread};
use fmm::internals::gpu::tuning::enlargement;
use fmm::internals::lists::Lists;
use fmm::internals::morton::MAX_DEPTH;
use fmm::internals::tree::{Crowded, MortonOrder, Root, Tree};
use fmm::{Options, Precision, Stencil};
use samples::{Distribution, Random};

const SURFACE: Spread = Spread { dimension: 2.0, uneven: 1.0 };

fn planned(options: &Options) -> Planned<'_> {
    // One H200.
    let free = 139 << 30;
    Planned { precision: Precision::Single, options, limit: free / 8, free }
}

#[test]
fn boxes_and_lists_are_about_those_of_trees() {
    let options = Options::default().tolerance(1e-5);
    let planned = planned(&options);
    let occupancy = planned.occupancy(1 << 18, 1 << 18);
    for (distribution, dimension) in [(Distribution::Cube, 3.0), (Distribution::Sphere, 2.0)] {
        let points = distribution.points(1 << 18, &mut Random::new(1));
        let spread = Spread::of(&points, occupancy);
        assert!((spread.dimension - dimension).abs() < 0.1, "{distribution:?} {spread:?}");
        let found = planned.boxes(points.len(), occupancy, spread);
        // As `tuning::enlargement` has it for as many.
        let root = Root::around(&[&points]);
        let keys = |root: &Root| MortonOrder::new(root, &points);
        let order = keys(&root);
        let occupied = |level: usize| {
            let shift = 3 * (MAX_DEPTH - level);
            order.keys.chunk_by(|a, b| a >> shift == b >> shift).count()
        };
        let occupied: Vec<usize> = (0..=MAX_DEPTH).map(occupied).collect();
        let factor = enlargement(points.len(), &occupied, occupancy);
        let order = keys(&root.enlarged(factor));
        let tree = Tree::new(&order, None, (2.0 * occupancy) as usize, Crowded::Whole);
        let lists = Lists::new(&tree, Stencil::Reduced, 0, 512);
        let batches = lists.target_blocks.iter().flat_map(|block| &block.batches);
        let near = &lists.near;
        let exact = [
            tree.cells.len(),
            tree.cells.iter().filter(|cell| cell.is_leaf()).count(),
            batches.map(|batch| batch.pairs.len()).sum(),
            (0..near.cells.len()).map(|row| near.row(row).len()).sum(),
        ];
        let Boxes { count, leaves, far, near, .. } = found;
        for (found, exact) in [count, leaves, far, near].into_iter().zip(exact) {
            // Boxes of few levels are those of an even number of them by chance.
            let ratio = found / exact as f64;
            assert!((0.8..1.25).contains(&ratio), "{distribution:?}: {found} of {exact}");
        }
    }
}

#[test]
fn a_thousand_million_points_fit_where_they_should() {
    let options = Options::default().tolerance(1e-5);
    let planned = planned(&options);
    // Ranks keep targets apart from sources.
    for (spread, of_rank) in [(Spread::UNIFORM, 1 << 30), (SURFACE, 3 << 28)] {
        let need = planned.need(1 << 30, None, spread);
        assert!(need.most() < planned.free, "{need:?}");
        assert!(10 * need.planning() < 13 * need.plan(), "{need:?}");
        let need = planned.need(3 << 30, None, spread);
        assert!(need.most() > planned.free, "{need:?}");
        assert!(planned.of_rank(of_rank, of_rank, spread) < planned.free);
    }
}
