use fmm::internals::geometry::{Geometry, Points};
use fmm::internals::treecode::{geometry, order};
use fmm::{Info, Options, Precision};
use samples::{Distribution, Random};

#[test]
fn every_pair_of_points_is_settled_once() {
    for distribution in Distribution::ALL {
        let sources = distribution.points(20_000, &mut Random::new(1));
        for (count, far) in [(1, 0.0), (30, 0.0), (30, 2.0), (4000, 0.3)] {
            let mut targets = distribution.points(count, &mut Random::new(2));
            targets.iter_mut().for_each(|x: &mut [f64; 3]| x[0] += far);
            for targets in [Some(&targets[..]), None] {
                let options = Options::default().tolerance(1e-3);
                let points = Points { sources: &sources, targets };
                let mut info = Info::default();
                let ordered = order(points, &options, Precision::Single);
                let geometry = geometry(points, ordered, &options, Precision::Single, &mut info);
                let Geometry { tree, far, .. } = geometry;
                let rows = far.unwrap();
                let pairs = |(row, targets): &(u32, std::ops::Range<u32>)| {
                    let of = |i: usize| tree.cells[rows.entries[i] as usize].sources.len();
                    let sources: usize = rows.range(*row as usize).map(of).sum();
                    (sources * targets.len()) as u64
                };
                let far: u64 = rows.jobs.iter().flatten().map(pairs).sum();
                let m = targets.map_or(sources.len(), <[_]>::len);
                assert_eq!(info.p2p_pairs + far, (sources.len() * m) as u64);
            }
        }
    }
}
