//! What the reduced stencil and each truncation rule save or cost, as the Markdown table of
//! docs/experiments.md.
//!
//!     cargo run --release --manifest-path benches/Cargo.toml --bin ablation [tolerance]
//!
//! Two samples of 2^18 points with charges of random sign: a lattice whose octree is full, so that
//! counts for an interior box can be compared with those of the literature, and a random cube. All
//! rows of a sample share one leaf size, so they differ in the far field alone. Errors are relative
//! L2 against direct sums in double precision at 2,000 targets.

use std::process::ExitCode;

use fmm::{Densities, Info, Options, Plan, Potentials, Stencil, Truncation, direct};
use samples::{ChargeKind, Distribution, Random};

type Outcome<T> = Result<T, fmm::Error>;

/// Points along an edge of the lattice; 4 of them along an edge of a leaf make 16 leaves per axis:
/// levels 0 to 4.
const LATTICE: usize = 64;
const LATTICE_LEAF: usize = 64;

const POINTS: usize = LATTICE * LATTICE * LATTICE;
const TARGETS: usize = 2000;
const REPEATS: usize = 5;
const SEED: u64 = 1;

fn main() -> ExitCode {
    let tolerance = match std::env::args().nth(1).map(|text| text.parse::<f64>()) {
        None => 1e-5,
        Some(Ok(tolerance)) => tolerance,
        Some(Err(error)) => {
            eprintln!("ablation [tolerance]: {error}");
            return ExitCode::from(2);
        }
    };
    match run(tolerance) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(tolerance: f64) -> Outcome<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("N = {POINTS}, tolerance {tolerance:e}, charges of random sign, {threads} threads.");
    let lattice = lattice();
    for stencil in [Stencil::Full, Stencil::Reduced, Stencil::Shortest] {
        let per_box = translations_of_an_interior_box(&lattice, stencil)?;
        println!(
            "Translations for an interior box of a full tree, {stencil:?} stencil: {per_box}."
        );
    }
    ablate("Lattice (full tree)", &lattice, LATTICE_LEAF, tolerance)?;
    let cube = Distribution::Cube.points(POINTS, &mut Random::new(SEED));
    let chosen = Plan::new(&cube, None, &Options::default().tolerance(tolerance))?;
    ablate("Random cube", &cube, chosen.info().leaf_size, tolerance)
}

/// A cubic lattice of spacing 1.
fn lattice() -> Vec<[f64; 3]> {
    (0..POINTS)
        .map(|i| [i % LATTICE, i / LATTICE % LATTICE, i / (LATTICE * LATTICE)].map(|c| c as f64))
        .collect()
}

/// Translations into one box of the deepest level, its share of those that its parent receives from
/// that level included.
///
/// With targets in one box P of level 3 only, a tree that ends at level 4 has exactly these
/// translations for the 8 children of P more than a tree that ends at level 3. Neighbours and their
/// children exist on all sides of P.
fn translations_of_an_interior_box(lattice: &[[f64; 3]], stencil: Stencil) -> Outcome<f64> {
    const BOX: std::ops::Range<f64> = 24.0..32.0;
    let targets: Vec<[f64; 3]> =
        lattice.iter().filter(|x| x.iter().all(|c| BOX.contains(c))).copied().collect();
    let count = |leaf_size| -> Outcome<u64> {
        let options = Options::default()
            .stencil(Some(stencil))
            .leaf_size(Some(leaf_size))
            .truncation(Truncation::Fixed)
            .truncation_number(Some(1));
        Ok(Plan::new(lattice, Some(&targets), &options)?.info().m2l_count)
    };
    Ok((count(LATTICE_LEAF)? - count(8 * LATTICE_LEAF)?) as f64 / 8.0)
}

/// Prints one sample's table.
fn ablate(name: &str, points: &[[f64; 3]], leaf_size: usize, tolerance: f64) -> Outcome<()> {
    let charges = ChargeKind::Mixed.charges(points, &mut Random::new(SEED + 1));
    let mut random = Random::new(SEED + 2);
    let sampled: Vec<usize> =
        (0..TARGETS).map(|_| (random.uniform() * points.len() as f64) as usize).collect();
    let targets: Vec<[f64; 3]> = sampled.iter().map(|&i| points[i]).collect();
    let mut exact = vec![0.0; TARGETS];
    direct::sum(
        fmm::Kernel::Laplace,
        points,
        &targets,
        Densities { charges: Some(&charges), dipoles: None },
        &mut Potentials { potential: Some(&mut exact), gradient: None },
    )?;

    println!("\n{name}, leaves of at most {leaf_size} points:\n");
    println!(
        "| stencil | truncation | p | mean p' | translations per box | M2L / s | apply / s | error |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for stencil in [Stencil::Full, Stencil::Reduced, Stencil::Shortest] {
        let options = |truncation, truncation_number| {
            Options::default()
                .tolerance(tolerance)
                .leaf_size(Some(leaf_size))
                .stencil(Some(stencil))
                .truncation(truncation)
                .truncation_number(truncation_number)
        };
        let row = |label: &str, options: &Options| -> Outcome<Info> {
            let measured = measure(points, &charges, options)?;
            let error = relative_error(&sampled, &measured.potential, &exact);
            let Measured { info, m2l, apply, .. } = measured;
            println!(
                "| {} | {label} | {} | {:.2} | {:.1} | {m2l:.3} | {apply:.3} | {error:.1e} |",
                format!("{stencil:?}").to_lowercase(),
                info.truncation_number,
                info.mean_truncation_number,
                info.m2l_per_box,
            );
            Ok(info)
        };
        let p = row("fixed", &options(Truncation::Fixed, None))?.truncation_number;
        row("eq. 24, same p", &options(Truncation::WorstCaseBound, Some(p)))?;
        row("eq. 24, p raised to the tolerance", &options(Truncation::WorstCaseBound, None))?;
        row("measured", &options(Truncation::Measured, None))?;
    }
    Ok(())
}

/// One row's plan, times (medians) and potentials.
struct Measured {
    info: Info,
    m2l: f64,
    apply: f64,
    potential: Vec<f64>,
}

fn measure(points: &[[f64; 3]], charges: &[f64], options: &Options) -> Outcome<Measured> {
    let mut plan = Plan::new(points, None, options)?;
    let mut potential = vec![0.0; points.len()];
    let (mut m2l, mut apply) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        plan.apply(
            Densities { charges: Some(charges), dipoles: None },
            Potentials { potential: Some(&mut potential), gradient: None },
        )?;
        m2l.push(plan.stages().m2l);
        apply.push(plan.stages().total);
    }
    Ok(Measured { info: plan.info().clone(), m2l: median(m2l), apply: median(apply), potential })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn relative_error(sampled: &[usize], found: &[f64], exact: &[f64]) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (&i, exact) in sampled.iter().zip(exact) {
        error += (found[i] - exact).powi(2);
        norm += exact.powi(2);
    }
    (error / norm).sqrt()
}
