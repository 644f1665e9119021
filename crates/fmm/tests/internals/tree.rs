use fmm::internals::morton::MAX_DEPTH;
use fmm::internals::tree::{Crowded, MortonOrder, Root, Tree, side};

fn points(n: usize) -> Vec<[f64; 3]> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| [next(), next() * next(), next().powi(3)]).collect()
}

#[test]
fn every_point_is_in_one_leaf_and_inside_its_box() {
    let points = points(5000);
    let root = Root::around(&[&points]);
    let order = MortonOrder::new(&root, &points);
    let tree = Tree::new(&order, None, 20, Crowded::ToTheLast);
    let mut seen = vec![false; points.len()];
    for cell in tree.cells.iter().filter(|c| c.is_leaf()) {
        assert!(cell.sources.len() <= 20 && !cell.sources.is_empty());
        assert_eq!(cell.sources, cell.targets);
        for i in cell.sources.clone() {
            let i = order.index[i as usize] as usize;
            assert!(!std::mem::replace(&mut seen[i], true));
            let c = cell.centre();
            let x: [f64; 3] = std::array::from_fn(|k| (points[i][k] - root.corner[k]) / root.side);
            let half = 0.5 * side(cell.level) * (1.0 + 1e-9);
            assert!((0..3).all(|k| (x[k] - c[k]).abs() <= half));
        }
    }
    assert!(seen.into_iter().all(|s| s));
    for (i, cell) in tree.cells.iter().enumerate() {
        for child in cell.children().filter(|_| !cell.is_leaf()) {
            assert_eq!(tree.cells[child].parent as usize, i);
        }
    }
}

#[test]
fn points_that_no_level_parts_are_one_box_of_each() {
    let mut points = vec![[0.25, 0.5, 0.75]; 100];
    let sizes = |points: &[[f64; 3]]| -> Vec<usize> {
        let root = Root::around(&[points]);
        let tree = Tree::new(&MortonOrder::new(&root, points), None, 10, Crowded::ToTheLast);
        tree.levels.iter().map(ExactSizeIterator::len).collect()
    };
    assert_eq!(sizes(&points), [1; MAX_DEPTH + 1]);
    points.push([0.25, 0.5, 0.7500001]);
    let mut expected = [1; MAX_DEPTH + 1];
    expected[1] = 2;
    assert_eq!(sizes(&points), expected);
    let root = Root::around(&[&points]);
    let order = MortonOrder::new(&root, &points);
    assert_eq!(Tree::new(&order, None, 10, Crowded::Whole).depth(), 1);
}

#[test]
fn no_points_and_one_point_make_a_root() {
    let root = Root::around(&[&[]]);
    assert_eq!(Tree::new(&MortonOrder::new(&root, &[]), None, 10, Crowded::Whole).cells.len(), 1);
    let one = [[3.0, 4.0, 5.0]];
    let root = Root::around(&[&one]);
    assert_eq!(Tree::new(&MortonOrder::new(&root, &one), None, 10, Crowded::Whole).cells.len(), 1);
}
