//! Options that several commands share, and their values.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use farad::{LengthUnit, ranges};
use samples::Distribution;

use crate::case::{Case, Overrides};
use crate::machine;
use crate::machine::backend::{self, Gpus};
use crate::machine::ranks::Ranks;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;
use crate::words;

/// GPUs that share a command's work.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Several {
    /// How many GPUs of this machine share the work, or "all" of them
    #[arg(long, value_name = "N", value_parser = parse_gpus, conflicts_with = "gpu")]
    gpus: Option<Gpus>,
}

impl Several {
    /// As many ranks as GPUs were asked for: threads of this process, or the processes that were
    /// started together. Returns what `work` makes of the first.
    pub(super) fn run<R: Send>(
        self,
        on: backend::Args,
        work: impl Fn(&Ranks) -> Result<R, Failure> + Sync,
    ) -> Result<R, Failure> {
        if self.gpus.is_some() && on.deterministic {
            return Err(Failure::with_help(
                Exit::Usage,
                "--deterministic asks for sums that are added in a fixed order, and those on GPUs are not",
                "leave out --gpus, or --deterministic",
            ));
        }
        if self.gpus.is_some() && matches!(on.backend, fmm::Backend::Cpu) {
            return Err(Failure::with_help(
                Exit::Usage,
                "--gpus asks for GPUs, --backend cpu for none",
                "leave one of the two out",
            ));
        }
        Ranks::run(self.gpus.map(Gpus::count).transpose()?, on.deterministic, work)
    }
}

fn parse_gpus(text: &str) -> Result<Gpus, String> {
    match text {
        "all" => Ok(Gpus::All),
        text => parse_count(text).map(Gpus::Count),
    }
}

/// Options of every command that solves cases.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Solving {
    #[command(flatten)]
    pub(super) on: backend::Args,
    /// How to solve; overrides solver.method
    #[arg(long, value_parser = words::parser::<bem::Method>(&[
        "Whichever the cost model says is faster",
        "GMRES over the fast multipole method",
        "A dense matrix, factorised",
    ]))]
    method: Option<bem::Method>,
    /// How charge may vary over a triangle; overrides solver.density
    #[arg(long, value_parser = words::parser::<bem::Density>(&[
        "The same everywhere on it",
        "Linear: three times the unknowns, far fewer triangles for digits beyond the third",
    ]))]
    density: Option<bem::Density>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = parse_count)]
    threads: Option<NonZeroUsize>,
    /// Relative residual to reach; overrides solver.tolerance
    #[arg(long, value_name = "T", value_parser = parse_tolerance)]
    tolerance: Option<f64>,
    /// Memory limit in GiB [default: available memory]
    #[arg(long, visible_alias = "max-memory", value_name = "GIB", value_parser = parse_gibibytes)]
    pub(super) memory_limit: Option<u64>,
    /// Write to a folder that holds something else; only files of the same names are replaced
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    listed: Listed,
    /// The file that says what the layers of a GDSII layout are (docs/user-guide.md); overrides
    /// mesh.stack
    #[arg(long, value_name = "STACK.toml")]
    stack: Option<PathBuf>,
    /// Print the content of results.json, and nothing else, to stdout
    #[arg(long)]
    pub(super) json: bool,
}

/// How a run that was cut short is resumed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Resuming {
    /// Resume an earlier run of the same command that was killed or interrupted, from the
    /// checkpoint in the output folder; start from the beginning if there is none
    #[arg(long)]
    pub(super) resume: bool,
    /// Seconds between two writes of the checkpoint; more if a write takes longer than a hundredth
    /// of that
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = parse_seconds)]
    checkpoint_interval: f64,
}

impl Resuming {
    /// Minimum time between two writes.
    pub(super) fn pause(self) -> Duration {
        Duration::from_secs_f64(self.checkpoint_interval)
    }
}

/// How ranks divide the work, in commands of many solves.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Whole {
    /// How processes started by mpirun, or several GPUs, divide the work
    #[arg(long, value_enum, default_value_t)]
    split: SplitWhole,
}

/// The only choice there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum SplitWhole {
    /// Each solves some of the cases
    #[default]
    Cases,
}

/// Options for surfaces as they come, FastCap's files above all.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Listed {
    /// Solve in spite of faults of the geometry, with warnings that count them: bodies through each
    /// other, conductors that touch, media that contradict each other
    #[arg(long)]
    lenient: bool,
    /// Unit of length of a FastCap file: m, cm, mm, um, nm or angstrom [default: m]
    #[arg(long, value_name = "UNIT", value_parser = parse_unit)]
    unit: Option<LengthUnit>,
}

impl Listed {
    /// These options over others.
    pub(super) fn over(&self, overrides: Overrides) -> Overrides {
        Overrides { lenient: self.lenient, unit: self.unit, ..overrides }
    }
}

impl Solving {
    /// The backend of a rank, which has a GPU of its own.
    pub(super) fn of_rank(&self, ranks: &Ranks) -> Self {
        Self { on: self.on.of_rank(ranks), ..self.clone() }
    }

    /// The choices of a case for a solve here and now.
    pub(super) fn options(&self, case: &Case) -> Result<farad::Options, Failure> {
        Ok(case
            .options
            .clone()
            .memory_limit(self.memory_limit.or_else(machine::available_memory))
            .backend(self.on.resolve()?)
            .gpu(self.on.gpu)
            .deterministic(self.on.deterministic))
    }

    /// Loads a case with these options and `overrides` over its own, and sets threads and output
    /// up, on all ranks; these then have the same case. Collective.
    pub(super) fn begin(
        &self,
        ranks: &Ranks,
        case: &Path,
        verbose: bool,
        overrides: Overrides,
    ) -> Result<(Case, Output), Failure> {
        let output = self.set_up(ranks, verbose)?;
        let case = ranks.agree(self.load(case, overrides))?;
        if ranks.size() > 1 {
            let inputs = ranks.agree(case.fingerprint())?;
            ranks.check_same("the case, or a file that it names,", inputs)?;
        }
        Ok((case, output))
    }

    /// Sets threads and output up, once. Ranks on one machine share its processors and memory, and
    /// the first alone tells how it goes. Collective.
    pub(super) fn set_up(&self, ranks: &Ranks, verbose: bool) -> Result<Output, Failure> {
        ranks.agree(self.on.resolve())?;
        let here = ranks.here()[1];
        machine::share_memory_among(here);
        // Before anything that uses them: a list file is read with its mesh.
        let note = ranks.agree(backend::use_threads_of(ranks, self.threads))?;
        let quiet = self.quiet || !ranks.is_first();
        let output = Output { quiet, json: self.json, verbose };
        if let Some(note) = note {
            output.note(&note);
        }
        Ok(output)
    }

    /// Loads a case with these options over its own.
    pub(super) fn load(&self, case: &Path, overrides: Overrides) -> Result<Case, Failure> {
        let overrides = Overrides {
            tolerance: self.tolerance,
            method: self.method,
            density: self.density,
            stack: self.stack.clone(),
            ..self.listed.over(overrides)
        };
        let case = Case::load(case, &overrides)?;
        if let Some(limit) = self.memory_limit.or_else(machine::available_memory) {
            case.description.check_memory(limit).map_err(|error| case.failed(error))?;
        }
        Ok(case)
    }
}

/// Takes the names of all distributions of points.
pub(super) fn distributions() -> impl TypedValueParser<Value = Distribution> {
    let names = Distribution::ALL.map(Distribution::name);
    PossibleValuesParser::new(names).try_map(|name| {
        Distribution::ALL.into_iter().find(|d| d.name() == name).ok_or("unknown distribution")
    })
}

fn parse_unit(text: &str) -> Result<LengthUnit, String> {
    LengthUnit::from_name(text).ok_or_else(|| {
        format!("must be one of {}", LengthUnit::ALL.map(LengthUnit::name).join(", "))
    })
}

/// A number in a range, which is called `wanted`; `example` is added for words that are no number.
pub(super) fn parse_number(
    text: &str,
    range: &RangeInclusive<f64>,
    wanted: &str,
    example: &str,
) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if range.contains(&value) => Ok(value),
        Ok(_) => Err(format!("must be {wanted}")),
        Err(_) => Err(format!("must be a number{example}")),
    }
}

/// A tolerance that the sums and solvers are built for.
pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    parse_number(text, &ranges::TOLERANCE, "from 1e-12 to 0.1", " such as 1e-6")
}

/// An accuracy that arithmetic supports.
pub(super) fn parse_accuracy(text: &str) -> Result<f64, String> {
    let range = ranges::ACCURACY;
    let low = format!("from {:e} (less is beyond what double precision supports)", range.start());
    parse_number(text, &range, &format!("{low} to 0.1"), " such as 1e-3")
}

/// How many of something: 1 or more, also as 1e6.
pub fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    NonZeroUsize::new(parse_whole(text)?).ok_or_else(|| "must be 1 or greater".to_owned())
}

/// How many of something, also as 1e6; none of it may do.
pub(super) fn parse_whole(text: &str) -> Result<usize, String> {
    let whole = text.parse::<u64>().ok().or_else(|| match text.parse::<f64>() {
        // Beyond, not every whole number is a floating-point number.
        Ok(value) if value.fract() == 0.0 && (0.0..=9e15).contains(&value) => Some(value as u64),
        _ => None,
    });
    let whole = whole.and_then(|count| usize::try_from(count).ok());
    whole.ok_or_else(|| "must be a whole number, such as 1000 or 1e6".to_owned())
}

/// A time that may be none.
fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("must be a number of seconds from 0 on".to_owned()),
    }
}

/// GiB to bytes.
fn parse_gibibytes(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok((value * f64::from(1 << 30)) as u64),
        _ => Err("must be a number of GiB greater than 0".to_owned()),
    }
}

/// A length or another quantity that must be greater than zero.
pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    // From the least positive number on.
    parse_number(text, &(f64::from_bits(1)..=f64::MAX), "greater than 0", "")
}
