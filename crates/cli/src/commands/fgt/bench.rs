//! `farad fgt bench`: the time of a sum, its error, and the time that all pairs would take.

use std::num::NonZeroUsize;
use std::time::Instant;

use fgt::{Bandwidths, Grid, Mode, Options, Plan, Sums, Targets, direct};
use samples::{Distribution, Random, mixed_charges};
use serde::Serialize;

use crate::commands::arguments::{distributions, parse_count, parse_number, parse_tolerance};
use crate::commands::median;
use crate::machine::{self, backend, memory};
use crate::report::units;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::Output;
use crate::words::{parser, words};

/// Arguments of `farad fgt bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of points, sources and targets at once
    #[arg(long, value_name = "N", value_parser = parse_count)]
    points: NonZeroUsize,
    /// Dimensions: 1, 2 or 3
    #[arg(long, value_name = "D", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    dimensions: u8,
    /// Bandwidth: the length sqrt(delta) in exp(-r^2 / delta); the points have an extent of about 1
    #[arg(long, value_name = "LENGTH", value_parser = parse_length)]
    bandwidth: f64,
    /// A bandwidth of its own for each source, up to this factor above or below
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    spread: Option<f64>,
    /// Largest error of a value, relative to the largest sum of absolute contributions
    #[arg(long, value_name = "T", value_parser = parse_tolerance)]
    tolerance: f64,
    /// How the points are spread: uniform in the unit cube, uniform on the unit sphere, Plummer's
    /// star cluster, or on both faces of a thin plate with spacings graded 1:1000 toward the edges
    #[arg(long, default_value = "cube", value_parser = distributions())]
    distribution: Distribution,
    /// Densities that go through one sum together
    #[arg(long, value_name = "K", default_value = "1", value_parser = parse_count)]
    densities: NonZeroUsize,
    /// Compute gradients too
    #[arg(long)]
    gradients: bool,
    /// Sum at the points of a regular grid over the sources, with M points along each axis, instead
    /// of at the sources
    #[arg(long, value_name = "M", value_parser = parse_count)]
    grid: Option<NonZeroUsize>,
    /// How each part of the sum is done
    #[arg(long, default_value = "auto", value_parser = parser::<Mode>(&[
        "By the cost model",
        "Pairs within the cut-off alone",
        "The grid alone",
        "All pairs",
    ]))]
    mode: Mode,
    #[command(flatten)]
    on: backend::Args,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    threads: Option<NonZeroUsize>,
    /// Times to apply the sum; the median is reported
    #[arg(long, value_name = "R", default_value = "3", value_parser = parse_count)]
    repeat: NonZeroUsize,
    /// Random targets at which the error is measured; all where there are fewer
    #[arg(long, value_name = "M", default_value = "500", value_parser = parse_count)]
    samples: NonZeroUsize,
    /// Seed of random points, bandwidths and charges
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object to stdout, and nothing else
    #[arg(long)]
    json: bool,
}

words!(Mode {
    "auto" = Self::Auto,
    "pairs" = Self::Pairs,
    "grid" = Self::Grid,
    "direct" = Self::Direct,
});

fn parse_length(text: &str) -> Result<f64, String> {
    parse_number(text, &(1e-100..=1e100), "positive", "")
}

fn parse_factor(text: &str) -> Result<f64, String> {
    parse_number(text, &(1.0..=1e20), "1 to 1e20", "")
}

/// The object that `--json` prints.
#[derive(Clone, Debug, Serialize)]
struct Report {
    points: usize,
    targets: usize,
    dimensions: usize,
    distribution: &'static str,
    bandwidth: f64,
    tolerance: f64,
    densities: usize,
    simd: &'static str,
    threads: usize,
    backend: &'static str,
    /// Its name.
    gpu: Option<String>,
    /// Why there is none, where one was looked for.
    fallback: Option<String>,
    /// Groups of bandwidths, those with a grid, and bandwidths on grids.
    groups: usize,
    grids: usize,
    channels: usize,
    /// Nodes that a point reaches along an axis; 0 without a grid.
    width: usize,
    nodes: u64,
    pairs: u64,
    setup_s: f64,
    /// The median over the repetitions.
    apply_s: f64,
    first_apply_s: f64,
    /// On a GPU the median with charges and sums in its memory.
    device_s: f64,
    /// All pairs in double precision, from the time of those at the sampled targets.
    direct_s: f64,
    /// Gaussians that all pairs would have, per second of `apply`.
    operations_per_second: f64,
    error: f64,
    gradient_error: Option<f64>,
    plan_memory_bytes: u64,
    peak_memory_bytes: Option<u64>,
}

/// Makes the points, sums, reports.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(note) = backend::use_threads(args.threads)? {
        Output::default().note(&note);
    }
    let (n, k) = (args.points.get(), args.densities.get());
    let dimensions = u32::from(args.dimensions);
    let m = args.grid.map_or(Some(n), |m| m.get().checked_pow(dimensions));
    // Coordinates, charges and sums; the least that a plan keeps of each point.
    let values = 2 + u64::from(args.gradients) * u64::from(dimensions);
    let point = (k as u64).checked_mul(8 * values).and_then(|bytes| bytes.checked_add(24 + 120));
    let all = m.and_then(|m| n.checked_add(m)).and_then(|all| point?.checked_mul(all as u64));
    memory::check("the sum", all, None, "ask for fewer points or densities")?;
    let on = resolve(args.on)?;
    let report = match args.dimensions {
        1 => measure::<1>(args, on),
        2 => measure::<2>(args, on),
        _ => measure::<3>(args, on),
    }?;
    Output::report(args.json, &report, || report.text())?;
    report.judge()
}

/// The library's name for the backend.
fn resolve(on: backend::Args) -> Result<fgt::Backend, Failure> {
    match on.resolve()? {
        fmm::Backend::Cpu => Ok(fgt::Backend::Cpu),
        fmm::Backend::Cuda => Ok(fgt::Backend::Cuda),
        fmm::Backend::Auto => Ok(fgt::Backend::Auto),
        fmm::Backend::Hybrid => Err(Failure::with_help(
            Exit::Usage,
            "sums of Gaussians run on cores or on a GPU, not on both at once",
            "use --backend cuda or --backend cpu",
        )),
    }
}

/// Plans, sums and compares.
fn measure<const D: usize>(args: &Args, on: fgt::Backend) -> Result<Report, Failure> {
    let (n, k) = (args.points.get(), args.densities.get());
    let random = &mut Random::new(args.seed);
    let points: Vec<[f64; D]> = args.distribution.points(n, random);
    let square = args.bandwidth * args.bandwidth;
    let each: Option<Vec<f64>> = args.spread.map(|factor| {
        let one = |random: &mut Random| square * factor.powf(4.0 * random.uniform() - 2.0);
        (0..n).map(|_| one(random)).collect()
    });
    let bandwidths = each.as_deref().map_or(Bandwidths::Same(square), Bandwidths::Each);
    let grid = args.grid.map(|m| around(&points, m.get()));
    let targets = grid.as_ref().map_or(Targets::Sources, Targets::Grid);
    let options = Options::default()
        .tolerance(args.tolerance)
        .mode(args.mode)
        .gradient(args.gradients)
        .backend(on)
        .gpu(args.on.gpu)
        .densities(k);
    let plan = Plan::new(&points, bandwidths, targets, &options)?;
    interrupt::check()?;
    let places = grid.as_ref().map(Grid::points);
    let places = places.as_deref().unwrap_or(&points);
    let m = places.len();
    let (mut values, mut gradients) =
        (vec![0.0; k * m], vec![0.0; if args.gradients { k * m * D } else { 0 }]);
    let mut charges = Vec::new();
    let (mut times, mut on_device) = (Vec::new(), Vec::new());
    for _ in 0..args.repeat.get() {
        // New ones for each: nothing is left from the last time.
        charges = mixed_charges(k * n, random);
        let out = args.gradients.then_some(&mut gradients[..]);
        let seconds = plan.apply(&charges, Sums { values: Some(&mut values), gradients: out })?;
        times.push(seconds.total);
        on_device.push(seconds.device);
        interrupt::check()?;
    }
    let peak_memory_bytes = machine::peak_memory();
    let first_apply_s = times[0];
    let (apply_s, device_s) = (median(times), median(on_device));

    let chosen: Vec<usize> = match m <= args.samples.get() {
        true => (0..m).collect(),
        false => (0..args.samples.get()).map(|_| random.below(m)).collect(),
    };
    let sampled: Vec<[f64; D]> = chosen.iter().map(|&i| places[i]).collect();
    let s = sampled.len();
    let (mut exact, mut slopes) =
        (vec![0.0; k * s], vec![0.0; if args.gradients { k * s * D } else { 0 }]);
    let started = Instant::now();
    let out = args.gradients.then_some(&mut slopes[..]);
    let sums = &mut Sums { values: Some(&mut exact), gradients: out };
    direct::sum(&points, bandwidths, &sampled, &charges, sums)?;
    let direct_s = started.elapsed().as_secs_f64() * m as f64 / s.max(1) as f64;

    // The largest sums of absolute contributions: those that errors are relative to.
    let scales = |weight: &dyn Fn(usize) -> f64| -> Result<Vec<f64>, Failure> {
        let absolute: Vec<f64> =
            charges.iter().enumerate().map(|(i, q)| q.abs() * weight(i % n)).collect();
        let mut all = vec![0.0; k * s];
        let sums = &mut Sums { values: Some(&mut all), gradients: None };
        direct::sum(&points, bandwidths, &sampled, &absolute, sums)?;
        Ok(all.chunks(s.max(1)).map(|own| own.iter().fold(0.0, |a: f64, &b| a.max(b))).collect())
    };
    let worst = |found: &[f64], exact: &[f64], width: usize, scales: &[f64]| -> f64 {
        let mut worst = 0.0f64;
        for (density, scale) in scales.iter().enumerate() {
            for (i, &target) in chosen.iter().enumerate() {
                for axis in 0..width {
                    let found = found[(density * m + target) * width + axis];
                    let difference = (found - exact[(density * s + i) * width + axis]).abs();
                    let error = if difference == 0.0 { 0.0 } else { difference / scale };
                    worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
                }
            }
        }
        worst
    };
    let error = worst(&values, &exact, 1, &scales(&|_| 1.0)?);
    let gradient_error = if args.gradients {
        let width = |j: usize| (2.0 / each.as_ref().map_or(square, |each| each[j])).sqrt();
        Some(worst(&gradients, &slopes, D, &scales(&width)?))
    } else {
        None
    };
    let info = plan.info();
    Ok(Report {
        points: n,
        targets: m,
        dimensions: D,
        distribution: args.distribution.name(),
        bandwidth: args.bandwidth,
        tolerance: args.tolerance,
        densities: k,
        simd: simd::Level::chosen().name(),
        threads: machine::threads(),
        backend: match info.backend {
            fgt::Backend::Cuda => "cuda",
            fgt::Backend::Cpu | fgt::Backend::Auto => "cpu",
        },
        gpu: info.gpu.clone(),
        fallback: info.fallback.clone(),
        groups: info.groups,
        grids: info.grids,
        channels: info.channels,
        width: info.width,
        nodes: info.nodes,
        pairs: info.pairs,
        setup_s: info.setup_seconds,
        apply_s,
        first_apply_s,
        device_s,
        direct_s,
        operations_per_second: k as f64 * n as f64 * m as f64 / apply_s,
        error,
        gradient_error,
        plan_memory_bytes: info.memory_bytes,
        peak_memory_bytes,
    })
}

/// A grid over the box of the points, `count` along each axis.
fn around<const D: usize>(points: &[[f64; D]], count: usize) -> Grid<D> {
    let mut grid = Grid { origin: [0.0; D], spacing: [1.0; D], shape: [count; D] };
    for axis in 0..D {
        let all = || points.iter().map(|x| x[axis]);
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        grid.origin[axis] = low;
        grid.spacing[axis] = (high - low) / (count.max(2) - 1) as f64;
    }
    grid
}

impl Report {
    /// A failure where the sums miss their tolerance.
    fn judge(&self) -> Result<(), Failure> {
        let error = self.error.max(self.gradient_error.unwrap_or(0.0));
        if error <= self.tolerance {
            return Ok(());
        }
        Err(Failure::with_help(
            Exit::NotConverged,
            format!("the error is {error:.1e}, the tolerance {:.1e}", self.tolerance),
            "sum with --mode pairs or --mode direct; where those agree with each other and not with this, please report it",
        ))
    }

    /// The report for people.
    fn text(&self) -> String {
        let memory = self.peak_memory_bytes.map_or("not known".to_owned(), units::bytes);
        let slopes = self
            .gradient_error
            .map_or_else(String::new, |error| format!(", of gradients {error:.2e}"));
        let per_second = self.targets as f64 / self.apply_s;
        let gpu = self.gpu.as_ref().map_or_else(String::new, |name| {
            let seconds = units::duration(self.device_s);
            format!("\n  gpu      {name}: {seconds} with data in its memory")
        });
        let first = if self.first_apply_s > self.apply_s {
            format!("; the first {}", units::duration(self.first_apply_s))
        } else {
            String::new()
        };
        format!(
            "{} sources ({}), {} targets, {} dimensions, {}, {} with {} threads\n\
             \x20 groups   {} of bandwidths, {} with grids, {} channels\n\
             \x20 grid     {} nodes, windows of {}\n\
             \x20 pairs    {} one by one\n\
             \x20 setup    {}\n\
             \x20 apply    {} ({per_second:.2e} targets/s, {:.2e} op/s{first})\n\
             \x20 direct   {} for all pairs, {:.0} times as long\n\
             \x20 error    {:.2e} against direct sums (asked for {:.1e}){slopes}\n\
             \x20 memory   {memory} at the peak{gpu}",
            units::count(self.points as u64),
            self.distribution,
            units::count(self.targets as u64),
            self.dimensions,
            self.backend,
            self.simd,
            self.threads,
            self.groups,
            self.grids,
            self.channels,
            units::count(self.nodes),
            self.width,
            units::count(self.pairs),
            units::duration(self.setup_s),
            units::duration(self.apply_s),
            self.operations_per_second,
            units::duration(self.direct_s),
            self.direct_s / self.apply_s,
            self.error,
            self.tolerance,
        )
    }
}
