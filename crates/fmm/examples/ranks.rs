//! Time of a sum on ranks that are threads of one process, and on one rank of as many threads,
//! and what each rank does by stage.
//!
//!     cargo run --release -p farad-fmm --example ranks -- sphere 4194304 16 1 5
//!
//! Arguments: distribution, points, ranks, threads of each, sums, and if not cpu the backend, cuda
//! or hybrid: ranks share the GPUs there are. In place of a distribution a file of points may be
//! given, of float64 in NumPy's format, shape (n, 3), the first `points` of which are used. Charges
//! are of random sign, the tolerance is 1e-5. Wall times are medians of alternating sums without
//! the first.

#![allow(clippy::print_stdout)] // a program

use std::error::Error;
use std::time::Instant;

use fmm::{Backend, Densities, Options, Plan, Potentials, distributed};
use samples::{ChargeKind, Distribution, Random};

/// What one rank took: planning, each sum, and its stages, which are medians.
struct Taken {
    setup: f64,
    sums: Vec<f64>,
    stages: Vec<(String, f64)>,
    /// By the cost model: the largest share over the mean share, and the work of each stage.
    imbalance: f64,
    work: [f64; 6],
    between_gpus: Option<bool>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [distribution, n, ranks, threads, repeat, rest @ ..] = &arguments[..] else {
        return Err("arguments: distribution, points, ranks, threads of each, sums".into());
    };
    let (n, ranks): (usize, usize) = (n.parse()?, ranks.parse()?);
    let (threads, repeat): (usize, usize) = (threads.parse()?, repeat.parse()?);
    let found = Distribution::ALL.into_iter().find(|d| d.name() == distribution);
    let points: Vec<[f64; 3]> = match found {
        Some(distribution) => distribution.points(n, &mut Random::new(1)),
        None => points_of_file(distribution)?.into_iter().take(n).collect(),
    };
    let n = points.len();
    let charges = ChargeKind::Mixed.charges(&points, &mut Random::new(2));
    let backend = match rest.first().map(String::as_str) {
        None | Some("cpu") => Backend::Cpu,
        Some("cuda") => Backend::Cuda,
        Some("hybrid") => Backend::Hybrid,
        Some(other) => return Err(format!("no backend {other}").into()),
    };
    let gpus = if backend == Backend::Cpu { 1 } else { fmm::gpus()?.len().max(1) };
    let options = Options::default().tolerance(1e-5).backend(backend);

    let one = rayon::ThreadPoolBuilder::new().num_threads(ranks * threads).build()?;
    let (setup, sums) = one.install(|| {
        let started = Instant::now();
        let mut plan = Plan::new(&points, None, &options)?;
        let setup = started.elapsed().as_secs_f64();
        let mut potential = vec![0.0; n];
        let sums = timed_sums(repeat, || {
            let to = Potentials { potential: Some(&mut potential), gradient: None };
            plan.apply(Densities { charges: Some(&charges), dipoles: None }, to)
        })?;
        Ok::<_, fmm::Error>((setup, sums))
    })?;
    println!("one: setup {setup:.3} s, sum {:.4} s", median(&sums));

    let all = comm::run(ranks, |group| {
        let own: Vec<usize> = (group.rank()..n).step_by(ranks).collect();
        let points: Vec<[f64; 3]> = own.iter().map(|&i| points[i]).collect();
        let charges: Vec<f64> = own.iter().map(|&i| charges[i]).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| error.to_string())?;
        let options = options.clone().gpu(group.rank() % gpus);
        pool.install(|| {
            let started = Instant::now();
            let mut plan = distributed::Plan::new(group, &points, None, &options)?;
            let setup = started.elapsed().as_secs_f64();
            let mut potential = vec![0.0; points.len()];
            let mut stages: Vec<(String, Vec<f64>)> = Vec::new();
            let mut clocks = vec![processor_time()];
            let sums = timed_sums(repeat, || {
                let to = Potentials { potential: Some(&mut potential), gradient: None };
                plan.apply(Densities { charges: Some(&charges), dipoles: None }, to)?;
                clocks.push(processor_time());
                let of = plan.stages();
                let seconds = [of.p2m, of.m2m, of.m2l, of.l2l, of.l2p, of.p2p, of.device];
                let of_stages = STAGES
                    .iter()
                    .chain(&["on the device"])
                    .map(|&name| name.to_owned())
                    .zip(seconds);
                let spans = plan.timeline().iter();
                let spans = spans.map(|span| (format!("'{}'", span.stage), span.end - span.begin));
                for (i, (name, seconds)) in of_stages.chain(spans).enumerate() {
                    match stages.get_mut(i) {
                        Some((_, all)) => all.push(seconds),
                        None => stages.push((name, vec![seconds])),
                    }
                }
                Ok(())
            })?;
            let mut stages: Vec<(String, f64)> =
                stages.into_iter().map(|(name, all)| (name, median(&all))).collect();
            let processor = (clocks[clocks.len() - 1] - clocks[1]) / repeat as f64;
            stages.push(("processor time".to_owned(), processor));
            let info = plan.rank_info();
            let (imbalance, work) = (info.imbalance, info.work.stages());
            let between_gpus = info.between_gpus;
            Ok::<_, fmm::Error>(Taken { setup, sums, stages, imbalance, work, between_gpus })
        })
        .map_err(|error| error.to_string())
    });
    let all = all.into_iter().collect::<Result<Vec<Taken>, String>>()?;
    let first = &all[0];
    println!(
        "{ranks} x {threads}: setup {:.3} s, sum {:.4} s, imbalance by the model {:.3}",
        first.setup,
        median(&first.sums),
        first.imbalance
    );
    if let Some(between_gpus) = first.between_gpus {
        println!("peer copies between GPUs: {between_gpus}");
    }
    println!("stages in ms: mean and largest of the ranks, then all");
    for (i, (stage, _)) in first.stages.iter().enumerate() {
        print_row(stage, all.iter().map(|taken| 1e3 * taken.stages[i].1));
    }
    println!("work by the cost model in millions");
    for (i, stage) in STAGES.iter().enumerate() {
        print_row(stage, all.iter().map(|taken| 1e-6 * taken.work[i]));
    }
    Ok(())
}

/// Points of a file as `numpy.save` writes them.
fn points_of_file(path: &str) -> Result<Vec<[f64; 3]>, Box<dyn Error>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let header = bytes.get(8..10).ok_or("no file of NumPy")?;
    let header = 10 + usize::from(u16::from_le_bytes([header[0], header[1]]));
    let values = bytes.get(header..).ok_or("a file cut short")?;
    let number = |place: &[u8; 8]| f64::from_le_bytes(*place);
    let values: Vec<f64> = values.as_chunks().0.iter().map(number).collect();
    Ok(values.as_chunks().0.to_vec())
}

/// The stages in the order of [`distributed::StageWork::stages`].
const STAGES: [&str; 6] = ["P2M", "M2M", "M2L", "L2L", "L2P", "P2P"];

/// Prints the numbers of all ranks.
fn print_row(name: &str, of: impl Iterator<Item = f64>) {
    let of: Vec<f64> = of.collect();
    let mean = of.iter().sum::<f64>() / of.len() as f64;
    let most = of.iter().fold(0.0, |most: f64, &time| most.max(time));
    let of: Vec<String> = of.iter().map(|time| format!("{time:.1}")).collect();
    println!("{name:>32} {mean:8.2} {most:8.2}   {}", of.join(" "));
}

/// Wall seconds of sums, after one that is not counted.
fn timed_sums(
    repeat: usize,
    mut sum: impl FnMut() -> Result<(), fmm::Error>,
) -> Result<Vec<f64>, fmm::Error> {
    sum()?;
    (0..repeat)
        .map(|_| {
            let started = Instant::now();
            sum()?;
            Ok(started.elapsed().as_secs_f64())
        })
        .collect()
}

/// Seconds of processor time that the threads of this pool have had, where the kernel counts them.
fn processor_time() -> f64 {
    let of_thread = |_: rayon::BroadcastContext<'_>| {
        let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        counted.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(f64::NAN)
    };
    1e-9 * rayon::broadcast(of_thread).iter().sum::<f64>()
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
