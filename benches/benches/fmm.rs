//! One `apply` of the fast sums, and settings in which near pairs or translations dominate it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fmm::samples::{ChargeKind, Distribution, Random};
use fmm::{Densities, Options, Plan, Potentials};

const POINTS: usize = 1 << 17;
const SEED: u64 = 1;

/// Times `Plan::apply` for potentials of one density.
fn apply(
    c: &mut Criterion,
    group: &str,
    name: &str,
    distribution: Distribution,
    options: &Options,
) {
    let points = distribution.points(POINTS, &mut Random::new(SEED));
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(SEED + 1));
    let mut plan = Plan::new(&points, None, options).expect("points of a sample can be planned");
    let mut potential = vec![0.0; POINTS];
    let mut group = c.benchmark_group(group);
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(POINTS as u64));
    group.bench_function(BenchmarkId::new(name, format!("{:e}", options.tolerance)), |b| {
        b.iter(|| {
            plan.apply(
                Densities { charges: Some(black_box(&charges)), dipoles: None },
                Potentials { potential: Some(&mut potential), gradient: None },
            )
        });
    });
    group.finish();
}

fn distributions(c: &mut Criterion) {
    let all = [
        ("cube", Distribution::Cube),
        ("sphere", Distribution::Sphere),
        ("graded plate", Distribution::GradedPlate),
    ];
    for (name, distribution) in all {
        for tolerance in [1e-3, 1e-5, 1e-8] {
            apply(c, "apply", name, distribution, &Options { tolerance, ..Options::default() });
        }
    }
}

/// Leaves of many points leave nearly everything to P2P, leaves of few to M2L.
fn stages(c: &mut Criterion) {
    for tolerance in [1e-5, 1e-8] {
        let with =
            |leaf_size| Options { tolerance, leaf_size: Some(leaf_size), ..Options::default() };
        apply(c, "dominated by", "P2P", Distribution::Cube, &with(1000));
        apply(c, "dominated by", "M2L", Distribution::Cube, &with(20));
    }
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(POINTS as u64));
    for (name, distribution) in [("cube", Distribution::Cube), ("sphere", Distribution::Sphere)] {
        let points = distribution.points(POINTS, &mut Random::new(SEED));
        let options = Options { tolerance: 1e-5, ..Options::default() };
        group.bench_function(name, |b| b.iter(|| Plan::new(black_box(&points), None, &options)));
    }
    group.finish();
}

criterion_group!(benches, distributions, stages, plans);
criterion_main!(benches);
