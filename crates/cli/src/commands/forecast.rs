//! What a solve will take on this machine: pieces of its surfaces are solved, and what they take is
//! carried on to all of them.

use std::fmt::Write as _;
use std::time::Instant;

use farad::{Method, Options, Problem, Solver};

use super::arguments::Solving;
use crate::case::Case;
use crate::machine;
use crate::machine::backend::Backend;
use crate::report::units;
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;
use crate::terminal::progress::Bars;

/// The larger piece is this share of the surfaces,
const SHARE: usize = 8;

/// but no more than so many triangles,
const MOST: usize = 1 << 17;

/// and no fewer for each thread than keep it busy. Fewer of the whole are solved as they are: that
/// takes a second or two.
const OF_THREAD: usize = 8192;

/// The smaller piece is this share of the larger one.
const SMALLER: usize = 4;

/// Seconds to write what is known of a triangle (docs/performance.md, "Estimates").
const WRITING: f64 = 0.8e-6;

/// A solve's expected cost.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    seconds: f64,
    /// Bytes of the whole process at most, where the system tells.
    memory: Option<u64>,
}

/// What one solve took.
#[derive(Clone, Copy, Debug)]
struct Took {
    panels: f64,
    seconds: f64,
    bytes: Option<f64>,
}

/// Lines, each with "# ", that tell what solves will take by each backend that is here, or by the
/// one that was chosen. So many seconds have gone by already, and will again.
///
/// # Errors
/// Ctrl-C.
pub(super) fn lines(
    (case, problem): (&Case, &Problem),
    solving: &Solving,
    reading: f64,
    output: &Output,
) -> Result<String, Failure> {
    let started = Instant::now();
    let panels = problem.panels();
    let least = OF_THREAD * machine::threads();
    let larger = (panels / SHARE).clamp(least, MOST.max(least));
    let pieces = if panels <= larger { vec![] } else { vec![larger / SMALLER, larger] };
    let pieces: Result<Vec<Problem>, farad::Error> =
        pieces.into_iter().map(|triangles| problem.piece(triangles)).collect();
    let pieces = pieces.map_err(|error| case.failed(error))?;
    let options = solving.options(case)?;
    let mut text = String::new();
    for (name, backend) in backends(solving.on.backend, &options) {
        let options = Options { backend, ..options.clone() };
        let found = of_backend((case, problem, &pieces), &options, output)?;
        let memory = found
            .memory
            .map_or_else(String::new, |bytes| format!(", {} of memory", units::bytes(bytes)));
        let seconds = units::duration(reading + found.seconds);
        let _ = writeln!(text, "# {name}: about {seconds}{memory}");
    }
    let how = match pieces.is_empty() {
        true => "by solving it",
        false => "from solves of two pieces of it",
    };
    let what = match case.goal.is_some() {
        true => "the first mesh; finer ones will follow",
        false => "the whole run",
    };
    let spent = units::duration(started.elapsed().as_secs_f64());
    Ok(format!(
        "# estimates of {what}, {how} in {spent}; seconds are good to some 30 %, memory to some 60 %:\n{text}"
    ))
}

/// Those to tell of, by name.
fn backends(asked: Backend, options: &Options) -> Vec<(&'static str, fmm::Backend)> {
    let [cpu, cuda, hybrid] = [
        (Backend::Cpu.name(), fmm::Backend::Cpu),
        (Backend::Cuda.name(), fmm::Backend::Cuda),
        (Backend::Hybrid.name(), fmm::Backend::Hybrid),
    ];
    match asked {
        Backend::Auto if fmm::check_gpu(options.gpu).is_err() => vec![cpu],
        Backend::Auto if options.deterministic => vec![cpu],
        Backend::Auto => vec![cpu, cuda, hybrid],
        Backend::Cpu => vec![cpu],
        Backend::Cuda => vec![cuda],
        Backend::Hybrid => vec![hybrid],
    }
}

fn of_backend(
    (case, problem, pieces): (&Case, &Problem, &[Problem]),
    options: &Options,
    output: &Output,
) -> Result<Forecast, Failure> {
    let panels = problem.panels();
    let writing = WRITING * problem.mesh().triangles.len() as f64;
    let took = |problem: &Problem, options: &Options| took(case, problem, options, output);
    let on_gpu = !matches!(options.backend, fmm::Backend::Cpu);
    let [smaller, larger] = pieces else {
        // Kernels are compiled once and for all.
        if on_gpu {
            took(problem, options)?;
        }
        let found = took(problem, options)?;
        let memory = machine::peak_memory();
        return Ok(Forecast { seconds: found.seconds + writing, memory });
    };
    // As for the whole: pieces are small enough for a dense solve.
    let method = match options.method {
        Method::Auto => Method::Fmm,
        method => method,
    };
    let options = Options { method, ..options.clone() };
    // The first solve also starts threads, and compiles and loads kernels, which depend on sizes.
    took(if on_gpu { larger } else { smaller }, &options)?;
    let took = [took(smaller, &options)?, took(larger, &options)?];
    let whole = panels as f64;
    tracing::debug!(?took, whole, "pieces");
    let at = took.map(|took| took.panels);
    let (seconds, bytes) = (took.map(|took| took.seconds), took.map(|took| took.bytes));
    let carried_on = |values: [f64; 2]| match method {
        Method::Dense => cubic(at, values, whole),
        _ => linear(at, values, whole),
    };
    machine::return_free_memory();
    let held = machine::resident_memory();
    let memory = match (bytes, held) {
        ([Some(smaller), Some(larger)], Some(held)) => {
            Some(held + carried_on([smaller, larger]) as u64)
        }
        _ => None,
    };
    Ok(Forecast { seconds: carried_on(seconds) + writing, memory })
}

/// The value at `whole` of what grows as the number of panels, from those of two pieces.
fn linear(at: [f64; 2], [smaller, larger]: [f64; 2], whole: f64) -> f64 {
    // What does not grow is positive, and so is what does.
    let slope = ((larger - smaller) / (at[1] - at[0])).clamp(0.0, larger / at[1]);
    larger + slope * (whole - at[1])
}

/// The same where pairs are integrated, and a matrix is factorised.
fn cubic(at: [f64; 2], values: [f64; 2], whole: f64) -> f64 {
    let [smaller, larger] = [0, 1].map(|k| values[k] / at[k].powi(2));
    let slope = ((larger - smaller) / (at[1] - at[0])).max(0.0);
    (larger + slope * (whole - at[1])) * whole.powi(2)
}

/// Solves a problem and forgets the answer.
fn took(
    case: &Case,
    problem: &Problem,
    options: &Options,
    output: &Output,
) -> Result<Took, Failure> {
    let silent = Output { quiet: true, ..*output };
    let bars = Bars::new(&silent);
    machine::return_free_memory();
    let before = machine::restart_peak_memory().then(machine::resident_memory).flatten();
    let started = Instant::now();
    let solved = Solver::default().solve(problem, options, &bars);
    let seconds = started.elapsed().as_secs_f64();
    let solution = solved.map_err(|error| case.failed(error))?;
    tracing::debug!(
        timings = ?solution.answer.timings,
        checks = solution.check_seconds,
        bars = solution.estimate_seconds,
        evaluation = solution.evaluation_seconds,
        "a piece"
    );
    let bytes = match (before, machine::peak_memory()) {
        (Some(before), Some(peak)) => Some(peak.saturating_sub(before) as f64),
        _ => None,
    };
    Ok(Took { panels: problem.panels() as f64, seconds, bytes })
}
