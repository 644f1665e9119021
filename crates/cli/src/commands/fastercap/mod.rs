//! `farad fastercap` and `farad fastcap`: the command lines and the text of FasterCap and FastCap,
//! so that programs that call these can call Farad instead. A program of one of these names, such
//! as a link to `farad`, is the command.

pub(crate) mod request;
pub(crate) mod text;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use farad::{Goal, Level, Options, Outcome, Problem, Solution, Target};
use formats::fastcap::{self, Model};

pub(crate) use self::request::Dialect;
use self::request::{Asked, Request};
use crate::machine;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::interrupt;
use crate::terminal::output::{self, Output};
use crate::terminal::progress::Bars;
use crate::{files, machine::backend};

/// The version of FasterCap whose command line and text these are: callers look for this number,
/// the first in the line that has it, and KLayout-PEX warns of less than 6.0.9.
const VERSION: &str = "6.0.9";

/// Arguments of `farad fastercap` and `farad fastcap`: their own command lines.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// As the program of this name takes them; -? lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// The dialect of a program or command of this name, and the words that follow it.
pub(crate) fn asked(words: &[OsString]) -> Option<(Dialect, &[OsString])> {
    let dialect = |word: &OsString| {
        let stem = Path::new(word).file_stem()?.to_str()?.to_ascii_lowercase();
        match stem.as_str() {
            "fastercap" => Some(Dialect::FasterCap),
            "fastcap" | "fastcap2" => Some(Dialect::FastCap),
            _ => None,
        }
    };
    let (program, rest) = words.split_first()?;
    if let Some(dialect) = dialect(program) {
        return Some((dialect, rest));
    }
    let (command, rest) = rest.split_first()?;
    // Of a command the whole word, not the end of a path.
    let is_command = ["fastercap", "fastcap"].iter().any(|name| command == name);
    is_command.then(|| dialect(command)).flatten().map(|dialect| (dialect, rest))
}

/// How it ended, in the codes of FasterCap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Success = 0,
    /// Nothing else fits: an accuracy that was not reached, checks that failed.
    Other = 1,
    Usage = 64,
    NoFile = 66,
    Memory = 71,
    File = 74,
    Interrupted = 125,
}

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Solves what the words ask for, and tells how it ended.
pub(crate) fn run(dialect: Dialect, words: &[OsString]) -> Code {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let asked = match request::parse(dialect, &words) {
        Ok(asked) => asked,
        Err(message) => {
            output::failure(&Failure::with_help(Exit::Usage, message, "-? lists the options"));
            return Code::Usage;
        }
    };
    let done = match asked {
        Asked::Usage => Output::default().data(usage(dialect)).map_err(Failed::from),
        Asked::Version => Output::default().data(&running(dialect)).map_err(Failed::from),
        Asked::Solve(request) => solve(dialect, &request),
    };
    match done {
        Ok(()) => Code::Success,
        Err(Failed { code, failure }) => {
            output::failure(&failure);
            code
        }
    }
}

struct Failed {
    code: Code,
    failure: Failure,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        let code = match failure.exit {
            Exit::Success => Code::Success,
            Exit::Usage => Code::Usage,
            Exit::BadInput => Code::File,
            Exit::Io => Code::NoFile,
            Exit::Memory => Code::Memory,
            Exit::Interrupted => Code::Interrupted,
            Exit::NotConverged | Exit::NoGpu => Code::Other,
        };
        Self { code, failure }
    }
}

fn usage(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::FasterCap => {
            "Usage: farad fastercap <input file> [-a<relative error>] [options of FasterCap]\n\
             \n  -a<error>  error bar of each entry, relative to the diagonal (default 0.01)\n  \
             -e         write the matrix to a file, too: the input's name with .csv\n  \
             -i         tell times in detail\n  -oi        read the input, and stop\n  \
             -g -v -b   as they are without: Galerkin's method, all text, no window\n  \
             -b? -bv    this text; the version, as does --version\n\n\
             Of no use here, since they follow from the error: -ap -m -mc -t -d -f -pn -pj -pb -ps -ph -o -c -r"
        }
        Dialect::FastCap => {
            "Usage: farad fastcap [-l<list file>] [<panel file>] [-t<error>] [-p<factor>] [options of FastCap]\n\n  \
             -t<error>   error bar of each entry, relative to the diagonal (default 0.01)\n  \
             -p<factor>  multiply all permittivities\n\nOf no use here: -o -d, and those for pictures"
        }
    }
}

fn running(dialect: Dialect) -> String {
    let farad = env!("CARGO_PKG_VERSION");
    match dialect {
        Dialect::FasterCap => {
            format!("Running FasterCap version {VERSION} command line, Farad {farad}")
        }
        Dialect::FastCap => format!("Running fastcap 2.0 command line, Farad {farad}"),
    }
}

fn solve(dialect: Dialect, request: &Request) -> Result<(), Failed> {
    let started = Instant::now();
    backend::use_threads(None)?;
    let output = Output::default();
    output.data(&beginning(dialect, request))?;
    let Model { nets, mut description, mesh, reading, .. } =
        fastcap::read_lenient(&request.input, mesh::files::load)
            .map_err(crate::surfaces::unreadable)?;
    for note in &reading.notes {
        output.data(&format!("Remark: {note}"))?;
    }
    // As these programs do, with warnings.
    description.lenient = true;
    description.relative_permittivity *= request.permittivity;
    let sides = description.surfaces.iter_mut().flat_map(|surface| &mut surface.sides);
    sides.for_each(|side| *side *= request.permittivity);
    let problem = Problem::new(description, mesh).map_err(failure)?;
    for note in problem.notes() {
        output.data(&format!("Warning: {note}"))?;
    }
    let panels = panels(&problem);
    if request.only_reads {
        return Ok(output.data(&panels)?);
    }
    let read_seconds = started.elapsed().as_secs_f64();

    let goal = Goal { accuracy: request.accuracy, target: Target::All, max_seconds: None };
    let options = Options::default()
        .density(farad::density_for(goal.accuracy, &goal.target))
        .memory_limit(machine::available_memory());
    let labels = text::labels(&nets);
    // A reader that has gone is no reason to stop here: the end tells.
    let (mut iterations, mut printed) = (0, Ok(()));
    let mut each = |level: &Level, solution: &Solution| {
        if dialect == Dialect::FasterCap && printed.is_ok() {
            printed = output.data(&iteration(iterations, level, solution, &labels));
        }
        iterations += 1;
    };
    let bars = Bars::new(&output);
    let attained = farad::refine(problem, &goal, &options, &bars, &mut each).map_err(failure)?;
    printed?;
    interrupt::check()?;
    let (matrix, _) = matrices(&attained.solution);
    if dialect == Dialect::FastCap {
        output.data(&text::picofarads(&nets, &matrix))?;
    }
    if request.writes_matrix {
        let file = request.input.with_extension("csv");
        let rows = text::rows(&matrix);
        files::replace(&file, |out| std::io::Write::write_all(out, rows.as_bytes()))?;
        output.data(&format!("Generating capacitance matrix file \"{}\"", file.display()))?;
    }
    let mut ending = String::new();
    if dialect == Dialect::FasterCap {
        let triangles = attained.problem.mesh().triangles.len();
        let _ = writeln!(ending, "Solve statistics:\n{panels}");
        let _ = writeln!(ending, "Number of panels after refinement: {triangles}");
        if request.has_details {
            let timings = &attained.solution.answer.timings;
            let _ = writeln!(ending, "Time for reading input file: {read_seconds:.6}s");
            let _ =
                writeln!(ending, "Time for building potential matrix: {:.6}s", timings.near_field);
            let _ = writeln!(ending, "Time for gmres solving: {:.6}s", timings.solve);
        }
        let kilobytes = machine::peak_memory().unwrap_or(0) / 1024;
        let _ = writeln!(ending, "\nTotal allocated memory: {kilobytes} kilobytes");
        let _ = writeln!(ending, "Total time: {}", text::time(started.elapsed().as_secs_f64()));
        output.data(&ending)?;
    }
    if attained.outcome == Outcome::Reached { Ok(()) } else { Err(not_reached(&attained, &goal)) }
}

/// The first lines of the output: program, input and requested accuracy.
fn beginning(dialect: Dialect, request: &Request) -> String {
    let mut text = running(dialect) + "\n";
    if dialect == Dialect::FasterCap {
        text += "Starting capacitance extraction with the following parameters:\n";
    }
    let _ = writeln!(text, "Input file: {}", request.input.display());
    let _ = writeln!(text, "Auto calculation with max error: {}", text::general(request.accuracy));
    for remark in &request.remarks {
        let _ = writeln!(text, "Remark: {remark}");
    }
    if dialect == Dialect::FasterCap {
        text += "\n3D Solver Engine invoked\nSolution scheme (-g): Galerkin\n";
    }
    text
}

/// The panels of the input, as triangles.
fn panels(problem: &Problem) -> String {
    let owner = &problem.conductors().of_triangle;
    let conductors = owner.iter().filter(|owner| owner.is_some()).count();
    format!(
        "Number of input panels: {} of which {conductors} conductors and {} dielectric",
        owner.len(),
        owner.len() - conductors
    )
}

/// The matrix in farad, both sides of each coupling the same, and its bars.
fn matrices(solution: &Solution) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let even = |of: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| f64::midpoint(of[i][j], of[j][i]);
        (0..of.len()).map(|i| (0..of.len()).map(|j| entry(i, j)).collect()).collect()
    };
    let matrix = even(solution.matrices().maxwell_farad);
    let bars = solution.matrix_bars().map(|bars| even(bars.maxwell_farad));
    let none = || vec![vec![f64::INFINITY; matrix.len()]; matrix.len()];
    let bars = bars.unwrap_or_else(none);
    (matrix, bars)
}

/// Results on one mesh. The norm that callers compare with the requested error is that of the bars,
/// which estimate the difference from the exact matrix.
fn iteration(number: usize, level: &Level, solution: &Solution, labels: &[String]) -> String {
    let (matrix, bars) = matrices(solution);
    let kilobytes = machine::resident_memory().unwrap_or(0) / 1024;
    let mut text = format!("Iteration number #{number} ***************************\n\n");
    let _ = writeln!(text, "Number of panels after refinement: {}", level.triangles);
    text += &text::matrix(labels, &matrix, &bars);
    let _ = writeln!(
        text,
        "\nWeighted Frobenius norm of the difference between capacitance (auto option): {}",
        text::general(text::relative_norm(&matrix, &bars))
    );
    let _ = writeln!(
        text,
        "Error bar of {}, relative to the diagonal: {}",
        level.name(),
        text::general(level.relative)
    );
    let _ = writeln!(text, "Iteration time: {}", text::time(level.seconds));
    let _ = writeln!(text, "Iteration allocated memory: {kilobytes} kilobytes\n");
    text
}

/// The failure of a problem that cannot be solved.
fn failure(error: farad::Error) -> Failed {
    let failure = match error {
        farad::Error::Solve(error) => error.into(),
        error => Failure::with_help(
            Exit::BadInput,
            error,
            "`farad import` makes a mesh of the list, and `farad mesh check` shows where it is wrong",
        ),
    };
    failure.into()
}

/// The failure of an accuracy that was not reached.
fn not_reached(attained: &farad::Attained, goal: &Goal) -> Failed {
    let reached = attained.levels.last().map_or(f64::NAN, |level| level.relative);
    let why = match &attained.outcome {
        Outcome::Size(why) | Outcome::Next(why) => why.clone(),
        Outcome::Unsolved => "the solve did not converge, or its self-checks failed".to_owned(),
        Outcome::Vanishing => "an entry is zero within its error bar".to_owned(),
        Outcome::Stalled | Outcome::Time | Outcome::Reached => {
            "the error bars no longer shrink on finer meshes".to_owned()
        }
    };
    Failure::new(
        Exit::NotConverged,
        format!(
            "an error of {} was not reached, the bars are {reached:.1e}: {why}",
            text::general(goal.accuracy)
        ),
    )
    .into()
}
