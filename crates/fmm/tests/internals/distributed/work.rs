use fmm::distributed::Plan;
use fmm::internals::geometry::Geometry;
use fmm::internals::lanes;
use fmm::{Options, Precision};
use samples::{Distribution, Random};

/// One rank's work by stage, each in units of its own: terms of points, and of
/// translations p^3, vectors of `lanes` lanes filled up; near pairs.
fn counted(geometry: &Geometry, [m2m, l2l]: [f64; 2], lanes: usize) -> [f64; 6] {
    let Geometry { tree, lists, numbers, .. } = geometry;
    let terms = |points: usize, p: usize| (points.next_multiple_of(2 * lanes) * p * p) as f64;
    let [mut p2m, mut l2p, mut m2l, mut p2p] = [0.0; 4];
    for (i, cell) in tree.cells.iter().enumerate().filter(|(_, cell)| cell.is_leaf()) {
        let level = usize::from(cell.level);
        if geometry.is_own(i) {
            p2m += terms(cell.sources.len(), numbers.multipole[level]);
        }
        l2p += terms(cell.targets.len(), numbers.local[level]);
    }
    for batch in lists.target_blocks.iter().flat_map(|block| &block.batches) {
        m2l += f64::from(batch.order).powi(3) * batch.pairs.len().next_multiple_of(lanes) as f64;
    }
    for rows in [&lists.near, &lists.halo] {
        for (row, &target) in rows.cells.iter().enumerate() {
            let near = rows.row(row).iter().map(|&s| tree.cells[s as usize].sources.len());
            let targets = tree.cells[target as usize].targets.len().next_multiple_of(lanes);
            p2p += (targets * near.sum::<usize>()) as f64;
        }
    }
    [p2m, m2m, m2l, l2l, l2p, p2p]
}

/// The shares of ranks by stage are within a sixth of those of what their engines do, and the
/// shares of all stages together are even.
#[test]
fn shares_of_the_work_are_those_of_what_is_done() {
    const RANKS: usize = 8;
    for distribution in [Distribution::Plummer, Distribution::GradedPlate] {
        let points: Vec<[f64; 3]> = distribution.points(60_000, &mut Random::new(3));
        let options = Options::default().tolerance(1e-5);
        let ranks = comm::run(RANKS, |group| {
            let own: Vec<[f64; 3]> =
                points.iter().skip(group.rank()).step_by(RANKS).copied().collect();
            let plan = Plan::new(group, &own, None, &options).unwrap();
            let lanes = lanes(simd::check().unwrap(), Precision::Single);
            let Some((geometry, between)) = plan.in_single_precision(lanes) else {
                panic!("{:?}", plan.info())
            };
            (counted(geometry, between, lanes), plan.rank_info().clone())
        });
        for stage in 0..6 {
            let done: f64 = ranks.iter().map(|(done, _)| done[stage]).sum();
            let work: f64 = ranks.iter().map(|(_, info)| info.work.stages()[stage]).sum();
            for (rank, (own, info)) in ranks.iter().enumerate() {
                let ratio = info.work.stages()[stage] / work / (own[stage] / done);
                let of = format!("{distribution:?}, stage {stage}, rank {rank}: {ratio}");
                assert!((6.0 / 7.0..7.0 / 6.0).contains(&ratio), "{of}");
            }
        }
        let totals: Vec<f64> = ranks.iter().map(|(_, info)| info.work.total()).collect();
        let mean = totals.iter().sum::<f64>() / RANKS as f64;
        let most = totals.iter().fold(0.0, |most: f64, &work| most.max(work)) / mean;
        let said = ranks[0].1.imbalance;
        assert!(most < 1.15 && (most - said).abs() < 1e-9, "{distribution:?}: {most} {said}");
    }
}
