//! `farad fmm eval`.

use std::path::{Path, PathBuf};

use fmm::{Densities, Mode};

use super::sum::{self, Input, Sums};
use crate::commands::fmm::npy::{self, Array};
use crate::files;
use crate::machine::ranks::Ranks;
use crate::terminal::exit::{Exit, Failure};
use crate::terminal::output::Output;

/// Arguments of `farad fmm eval`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Sum charges at points from .npy files: potential_i = sum_j q_j / |x_i - y_j|

There is no factor 1/(4 pi), and a source at a target's very place contributes nothing.

POINTS has shape (n, 3), CHARGES (n) or (k, n) for k densities, TARGETS (m, 3); without --targets the targets are the
points. DIPOLES, shape (n, 3) or (k, n, 3) like CHARGES, add d_j . (x_i - y_j) / |x_i - y_j|^3. Elements are float64 or
float32, in either index order.

OUT is float64: the potential, shape (m) or (k, m) like CHARGES; with --gradient shape (m, 4) or (k, m, 4), where the
last index runs over potential and its derivatives along x, y and z.

The error is measured against direct sums at some of the targets. More than the tolerance is a warning; more than ten
times the tolerance, or a sum that is no finite number, ends with exit code 4: OUT is written, but not to be trusted."
)]
pub(crate) struct Args {
    /// Places of the sources, shape (n, 3)
    #[arg(value_name = "POINTS.npy")]
    points: PathBuf,
    /// Charges, shape (n) or (k, n)
    #[arg(value_name = "CHARGES.npy")]
    charges: PathBuf,
    /// Dipole moments, shape (n, 3) or (k, n, 3) [default: none]
    #[arg(long, value_name = "D.npy")]
    dipoles: Option<PathBuf>,
    /// Places where the sum is evaluated, shape (m, 3) [default: the points]
    #[arg(long, value_name = "T.npy")]
    targets: Option<PathBuf>,
    /// The file for the sums
    #[arg(short, long, value_name = "OUT.npy")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    sum: sum::Args,
}

/// Reads, sums, writes, reports. The first rank has all points: the sum deals them out.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.sum.several.run(args.sum.on, |ranks| on_rank(args, ranks))
}

/// One rank's share.
fn on_rank(args: &Args, ranks: &Ranks) -> Result<(), Failure> {
    sum::prepare(&args.sum, ranks)?;
    let read = ranks.on_first(|| Arrays::read(args))?;
    let Arrays { points, targets, charges, dipoles } = read.unwrap_or_else(|| Arrays::none(args));
    let points = points.as_chunks().0;
    let targets = targets.as_deref().map(|targets| targets.as_chunks().0);
    let several = charges.shape.len() == 2;
    let count = if several { charges.shape[0] as u64 } else { 1 };
    let input = Input {
        sources: points,
        targets,
        densities: Densities {
            charges: Some(&charges.data),
            dipoles: dipoles.as_ref().map(|dipoles| &dipoles.data[..]),
        },
        count: ranks.gather(&[count])?[0][0] as usize,
        mode: Mode::Auto,
    };
    let sums = sum::run(&args.sum, &input, ranks)?;
    let mut shape = vec![targets.unwrap_or(points).len()];
    if several {
        shape.insert(0, input.count);
    }
    ranks.on_first(|| write(args, sums, shape)).map(|_| ())
}

/// Writes and reports sums of a shape.
fn write(args: &Args, sums: Sums, mut shape: Vec<usize>) -> Result<(), Failure> {
    let report = sums.report.clone();
    let data = if args.sum.gradient { interleave(sums, &mut shape) } else { sums.potential };
    files::replace(&args.output, |out| npy::write(out, &shape, &data))?;

    let file = args.output.display();
    let text = || format!("{}\nWrote {file} {shape:?}", report.text());
    Output::report(args.sum.json, &report, text)?;
    report.judge(&format!("{file} is written, but do not trust it"))
}

/// Contents of the files.
struct Arrays {
    /// Three numbers each.
    points: Vec<f64>,
    targets: Option<Vec<f64>>,
    charges: Array,
    dipoles: Option<Array>,
}

impl Arrays {
    fn read(args: &Args) -> Result<Self, Failure> {
        files::check_vacant(&args.output, args.overwrite)?;
        let points = read_points(&args.points)?;
        let targets = args.targets.as_deref().map(read_points).transpose()?;
        let charges = read_charges(&args.charges, points.len() / 3)?;
        let dipoles = args.dipoles.as_deref().map(|path| read_dipoles(path, &charges.shape));
        Ok(Self { points, targets, dipoles: dipoles.transpose()?, charges })
    }

    /// Output for no points.
    fn none(args: &Args) -> Self {
        let none = || Array { shape: vec![0], data: Vec::new() };
        Self {
            points: Vec::new(),
            targets: args.targets.as_ref().map(|_| Vec::new()),
            charges: none(),
            dipoles: args.dipoles.as_ref().map(|_| none()),
        }
    }
}

/// Points, three numbers each.
fn read_points(path: &Path) -> Result<Vec<f64>, Failure> {
    let array = npy::read(path)?;
    if !matches!(array.shape.as_slice(), [_, 3]) {
        return Err(wrong_shape(path, &array.shape, "(n, 3)"));
    }
    Ok(array.data)
}

fn read_charges(path: &Path, points: usize) -> Result<Array, Failure> {
    let array = npy::read(path)?;
    match array.shape.as_slice() {
        [n] if *n == points => {}
        [k, n] if *n == points && *k > 0 => {}
        shape => return Err(wrong_shape(path, shape, &format!("({points}) or (k, {points})"))),
    }
    check_finite(path, &array, "charge", points)?;
    Ok(array)
}

/// Dipoles for charges of shape `charges`.
fn read_dipoles(path: &Path, charges: &[usize]) -> Result<Array, Failure> {
    let array = npy::read(path)?;
    let expected = [charges, &[3]].concat();
    if array.shape != expected {
        return Err(wrong_shape(path, &array.shape, &tuple(&expected)));
    }
    check_finite(path, &array, "component", charges[charges.len() - 1] * 3)?;
    Ok(array)
}

/// Refuses NaN and infinity; `each` numbers make a density.
fn check_finite(path: &Path, array: &Array, what: &str, each: usize) -> Result<(), Failure> {
    let Some(index) = array.data.iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    let (at, density, value) = (index % each, index / each, array.data[index]);
    let message = format!("{}: {what} {at} of density {density} is {value}", path.display());
    Err(Failure::with_help(Exit::BadInput, message, "strengths must be finite numbers"))
}

fn wrong_shape(path: &Path, shape: &[usize], expected: &str) -> Failure {
    let message = format!("{} has shape {}, expected {expected}", path.display(), tuple(shape));
    Failure::new(Exit::BadInput, message)
}

fn tuple(shape: &[usize]) -> String {
    let sizes: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("({})", sizes.join(", "))
}

/// Potential and gradient of each target in turn, shape (..., 4).
fn interleave(sums: Sums, shape: &mut Vec<usize>) -> Vec<f64> {
    shape.push(4);
    let gradients = sums.gradient.as_chunks::<3>().0;
    sums.potential.iter().zip(gradients).flat_map(|(&p, &[x, y, z])| [p, x, y, z]).collect()
}
