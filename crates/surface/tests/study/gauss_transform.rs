//! Gaussian surfaces' sums over atoms: the loop of `surface` compared with the fast Gauss transform
//! (docs/performance.md, "Molecular surfaces").

use std::sync::Mutex;
use std::time::Instant;

use fgt::{Bandwidths, Mode, Plan, Sums, Targets};
use mesh::generate::Molecule;
use mesh::vector::{Vector, add, norm, scale, sub};
use rayon::prelude::*;
use simd::Level;
use surface::internals::balls::Ball;
use surface::internals::field::{Feature, Field, Foot};
use surface::internals::gaussian::Gaussian;
use surface::internals::lattice::first_mesh;

const DECAY: f64 = 2.3;

/// Runs of which times are medians.
const RUNS: usize = 5;

/// Keeps the nodes whose values a lattice asks for, block by block.
struct Recorder<'a> {
    field: &'a Gaussian,
    blocks: Mutex<Vec<Vec<Vector>>>,
}

impl Field for Recorder<'_> {
    fn value(&self, x: Vector) -> f64 {
        self.field.value(x)
    }

    fn values(&self, points: &[Vector], values: &mut Vec<f64>) {
        self.blocks.lock().unwrap().push(points.to_vec());
        self.field.values(points, values);
    }

    fn side(&self, centre: Vector, radius: f64) -> Option<bool> {
        self.field.side(centre, radius)
    }

    fn foot(&self, x: Vector) -> Option<Foot> {
        self.field.foot(x)
    }

    fn bounds(&self) -> [Vector; 2] {
        self.field.bounds()
    }

    fn detail(&self) -> f64 {
        self.field.detail()
    }

    fn curvature(&self, feature: Feature, x: Vector) -> f64 {
        self.field.curvature(feature, x)
    }

    fn resolution(&self) -> f64 {
        self.field.resolution()
    }
}

/// The atoms as sources of Gaussian functions.
struct Sources {
    centres: Vec<Vector>,
    bandwidths: Vec<f64>,
    charges: Vec<f64>,
}

impl Sources {
    fn new(balls: &[Ball]) -> Self {
        Self {
            centres: balls.iter().map(|ball| ball.centre).collect(),
            bandwidths: balls.iter().map(|ball| ball.radius.powi(2) / DECAY).collect(),
            charges: vec![DECAY.exp(); balls.len()],
        }
    }

    /// Sums at `points` with their gradients, empty if not asked for, and the plan.
    fn sums(&self, points: &[Vector], options: &fgt::Options) -> (Vec<f64>, Vec<f64>, Plan<3>) {
        let bandwidths = Bandwidths::Each(&self.bandwidths);
        let plan = Plan::new(&self.centres, bandwidths, Targets::Points(points), options).unwrap();
        let mut values = vec![0.0; points.len()];
        let mut gradients = vec![0.0; if options.gradient { 3 * points.len() } else { 0 }];
        let slopes = options.gradient.then_some(&mut gradients[..]);
        plan.apply(&self.charges, Sums { values: Some(&mut values), gradients: slopes }).unwrap();
        (values, gradients, plan)
    }
}

/// Points of the surface next to `points`, all at once: Newton's method as in `Gaussian::foot`,
/// each step by the transform.
fn feet(sources: &Sources, mean: f64, points: &[Vector]) -> Vec<Vector> {
    let mut feet = points.to_vec();
    for tolerance in [1e-6, 1e-12] {
        let options = fgt::Options::default().gradient(true).tolerance(tolerance);
        let mut moving: Vec<usize> = (0..points.len()).collect();
        for _ in 0..40 {
            let at: Vec<Vector> = moving.iter().map(|&i| feet[i]).collect();
            let (values, gradients, _) = sources.sums(&at, &options);
            let mut far = Vec::new();
            for ((&i, value), gradient) in moving.iter().zip(values).zip(gradients.chunks_exact(3))
            {
                let gradient = [0, 1, 2].map(|k| gradient[k] / value);
                let slope = norm(gradient);
                let step = (value.ln() / slope).clamp(-mean, mean);
                feet[i] = add(feet[i], scale(-step / slope, gradient));
                if step.abs() > 1e-5 * mean {
                    far.push(i);
                }
            }
            moving = far;
            if moving.is_empty() {
                break;
            }
        }
    }
    feet
}

/// Wall and processor seconds; the latter hardly depend on other work of the machine.
type Seconds = [f64; 2];

/// Seconds of the processor that all threads of this program have taken.
fn processor_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    1e-9 * nanoseconds.sum::<f64>()
}

/// What `run` takes, and its result.
fn timed<R>(run: impl FnOnce() -> R) -> (Seconds, R) {
    let (wall, processor) = (Instant::now(), processor_seconds());
    let result = run();
    ([wall.elapsed().as_secs_f64(), processor_seconds() - processor], result)
}

fn medians(runs: &[Seconds]) -> Seconds {
    [0, 1].map(|k| {
        let mut seconds: Vec<f64> = runs.iter().map(|run| run[k]).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    })
}

/// The points at which errors are measured.
fn sample(points: usize) -> impl Iterator<Item = usize> {
    (0..points).step_by(1 + points / 20_000)
}

/// Largest error of the logarithm of the sum next to the surface.
fn error(field: &Gaussian, points: &[Vector], logarithm: impl Fn(usize, f64) -> f64) -> f64 {
    let errors = sample(points.len()).map(|i| {
        let (sum, gradient, _) = field.terms(Level::detect(), points[i]);
        let slope = norm(scale(1.0 / sum, gradient));
        // Values of the loop are distances, up to the mean radius.
        let is_near = sum.ln().abs() < 0.5 * slope * field.mean;
        if is_near { (logarithm(i, slope) - sum.ln()).abs() } else { 0.0 }
    });
    errors.fold(0.0, f64::max)
}

/// The ways of the transform, with their names.
fn ways() -> Vec<(String, fgt::Options)> {
    let mut ways = Vec::new();
    for (mode, name) in [(Mode::Auto, "automatic"), (Mode::Grid, "grid")] {
        for (gradient, what) in [(true, "gradients"), (false, "values")] {
            let options = fgt::Options::default().mode(mode).gradient(gradient);
            ways.push((format!("{name}, {what}"), options));
        }
    }
    ways
}

/// Times of the loop and of the transform at points, and their errors.
fn compare(
    field: &Gaussian,
    sources: &Sources,
    points: &[Vector],
    name: &str,
    by_loop: impl Fn() -> Vec<f64>,
) {
    let ways = ways();
    let mut loop_seconds = Vec::new();
    let mut seconds = vec![(Vec::new(), Vec::new()); ways.len()];
    for _ in 0..RUNS {
        loop_seconds.push(timed(&by_loop).0);
        for ((_, options), (total, setup)) in ways.iter().zip(&mut seconds) {
            let (second, (.., plan)) = timed(|| sources.sums(points, options));
            total.push(second);
            setup.push([plan.info().setup_seconds; 2]);
        }
    }
    let by = medians(&loop_seconds);
    let values = by_loop();
    let off = error(field, points, |i, slope| values[i] * slope);
    println!(
        "{name}, {} points: loop {:.3} s, processor {:.3} s, error {off:.0e}",
        points.len(),
        by[0],
        by[1]
    );
    for ((way, options), (total, setup)) in ways.iter().zip(seconds) {
        let (values, _, plan) = sources.sums(points, options);
        let off = error(field, points, |i, _| values[i].ln());
        let (total, [setup, _]) = (medians(&total), medians(&setup));
        let pairs = plan.info().pairs as f64 / points.len() as f64;
        let [wall, processor] = [0, 1].map(|k| total[k] / by[k]);
        println!(
            "    {way}: {:.3} s, {setup:.3} of it setup; ratio {wall:.2}, by processor time \
             {processor:.2}; {} grids, {pairs:.0} pairs, error {off:.0e}",
            total[0],
            plan.info().grids,
        );
    }
}

/// Times of points of the surface, one by one by the loop and all at once by the transform.
fn compare_feet(field: &Gaussian, sources: &Sources, points: &[Vector]) {
    let by_loop = || -> Vec<Option<Foot>> { points.par_iter().map(|x| field.foot(*x)).collect() };
    let mut runs = [Vec::new(), Vec::new()];
    let mut worst = 0.0f64;
    for _ in 0..RUNS {
        let (seconds, one_by_one) = timed(by_loop);
        runs[0].push(seconds);
        let (seconds, at_once) = timed(|| feet(sources, field.mean, points));
        runs[1].push(seconds);
        for (one, other) in one_by_one.iter().zip(&at_once) {
            worst = worst.max(one.map_or(0.0, |foot| norm(sub(foot.point, *other))));
        }
    }
    let [one_by_one, at_once] = runs.map(|runs| medians(&runs));
    let [wall, processor] = [0, 1].map(|k| at_once[k] / one_by_one[k]);
    println!(
        "feet of {} points: loop {:.3} s; ratio {wall:.2}, by processor time {processor:.2}; apart \
         {worst:.0e}",
        points.len(),
        one_by_one[0]
    );
}

#[test]
#[ignore = "a timing"]
fn the_loop_and_the_transform() {
    for atoms in [1_300, 10_000, 100_000] {
        let globule = Molecule { atoms, resolution: mesh::generate::Resolution::Elements(8) };
        let balls: Vec<Ball> = globule
            .atoms()
            .unwrap()
            .iter()
            .map(|atom| Ball { centre: atom.position, radius: atom.radius })
            .collect();
        let sources = Sources::new(&balls);
        let field = Gaussian::new(balls, DECAY);
        let mut last = 0.0;
        for density in [1.0, 4.0, 16.0, 64.0] {
            // As `build` takes it from the density: up to 16 details of the surface limit it.
            let side = (4.0 * 1.06 / (3f64.sqrt() * density)).sqrt();
            let constant = (0.35 * field.mean).min(1.5 * side);
            if constant == last || density > 16.0 && atoms > 1_300 {
                continue;
            }
            last = constant;
            let recorder = Recorder { field: &field, blocks: Mutex::new(Vec::new()) };
            let ([seconds, _], first) = timed(|| first_mesh(&recorder, constant, 0.0).unwrap());
            println!(
                "{atoms} atoms, density {density}, lattice {constant:.3}: first mesh {seconds:.2} s"
            );
            let blocks = recorder.blocks.into_inner().unwrap();
            let nodes = blocks.concat();
            compare(&field, &sources, &nodes, "lattice", || {
                let values = blocks.par_iter().flat_map_iter(|block| {
                    let mut values = Vec::new();
                    field.values(block, &mut values);
                    values
                });
                values.collect()
            });
            let vertices = &first.vertices;
            compare(&field, &sources, vertices, "vertices", || {
                vertices.par_iter().map(|x| field.value(*x)).collect()
            });
            let middles: Vec<Vector> =
                first.sides.iter().map(|[a, b]| scale(0.5, add(*a, *b))).collect();
            compare_feet(&field, &sources, &middles);
        }
    }
}
