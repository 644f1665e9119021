//! One `apply` of the fast sums, P2P and M2L alone compared with the machine's limits, and
//! planning.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use farad_benches::limits;
use fmm::{Densities, Info, Options, Plan, Potentials, StageSeconds};
use samples::{ChargeKind, Distribution, Random};

const POINTS: usize = 1 << 17;
const SEED: u64 = 1;

/// Times `Plan::apply` for potentials of one density.
fn apply(c: &mut Criterion, name: &str, distribution: Distribution, options: &Options) {
    let points = distribution.points(POINTS, &mut Random::new(SEED));
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(SEED + 1));
    let mut plan = Plan::new(&points, None, options).expect("points of a sample can be planned");
    let mut potential = vec![0.0; POINTS];
    let mut group = c.benchmark_group("apply");
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
            apply(c, name, distribution, &Options::default().tolerance(tolerance));
        }
    }
}

/// Wall time of one stage alone, whatever the rest of the sum takes, as a rate: near pairs of P2P,
/// multiply-adds of M2L.
///
/// With large leaves nearly all work is P2P, with small ones M2L. The machine's limits are printed
/// first.
fn stages(c: &mut Criterion) {
    println!("{}\n", limits::measure(threads()).text());
    for tolerance in [1e-3, 1e-5, 1e-8, 1e-11] {
        stage(c, "P2P", tolerance, 1000, |info| info.p2p_pairs, |seconds| seconds.p2p);
        stage(c, "M2L", tolerance, 20, multiply_adds, |seconds| seconds.m2l);
    }
}

/// Threads of the sums: those of the default pool.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Times the stages that `seconds` selects; `work` is the work of one sum in them.
fn stage(
    c: &mut Criterion,
    name: &str,
    tolerance: f64,
    leaf_size: usize,
    work: impl Fn(&Info) -> u64,
    seconds: impl Fn(&StageSeconds) -> f64,
) {
    let points = Distribution::Cube.points(POINTS, &mut Random::new(SEED));
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(SEED + 1));
    let options = Options::default().tolerance(tolerance).leaf_size(Some(leaf_size));
    let mut plan = Plan::new(&points, None, &options).expect("points of a sample can be planned");
    let mut potential = vec![0.0; POINTS];
    let mut group = c.benchmark_group(name);
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(work(plan.info())));
    group.bench_function(BenchmarkId::from_parameter(format!("{tolerance:e}")), |b| {
        b.iter_custom(|iterations| {
            let mut total = 0.0;
            for _ in 0..iterations {
                let densities = Densities { charges: Some(black_box(&charges)), dipoles: None };
                let potentials = Potentials { potential: Some(&mut potential), gradient: None };
                plan.apply(densities, potentials).expect("the arrays fit");
                total += seconds(plan.stages());
            }
            Duration::from_secs_f64(total)
        });
    });
    group.finish();
}

/// Multiply-adds of all M2L as rotation, coaxial translation and rotation, at the mean p': a lower
/// bound of the work done.
fn multiply_adds(info: &Info) -> u64 {
    let p = info.mean_truncation_number;
    let rotations = 2.0 * p * (2.0 * p * p + 1.0) / 3.0;
    let coaxial = p * (p + 1.0) * (2.0 * p + 1.0) / 3.0 - p * p;
    let turns = 4.0 * p * (p - 1.0);
    (info.m2l_count as f64 * (rotations + coaxial + turns)) as u64
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(POINTS as u64));
    for (name, distribution) in [("cube", Distribution::Cube), ("sphere", Distribution::Sphere)] {
        let points = distribution.points(POINTS, &mut Random::new(SEED));
        let options = Options::default().tolerance(1e-5);
        group.bench_function(name, |b| b.iter(|| Plan::new(black_box(&points), None, &options)));
    }
    group.finish();
}

criterion_group!(benches, distributions, stages, plans);
criterion_main!(benches);
