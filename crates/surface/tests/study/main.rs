//! The study of docs/validation.md, "Molecular surfaces" (`clusters`), and the timings of
//! docs/performance.md (`ten_thousand`, `loop_and`):
//!
//!     cargo test --release -p farad-surface --test study clusters -- --ignored --nocapture

#![allow(clippy::unwrap_used, clippy::print_stdout)] // Clippy knows only test functions themselves.

mod gauss_transform;

use std::f64::consts::TAU;
use std::time::Instant;

use mesh::check::Report;
use mesh::generate::Molecule;
use mesh::intersect::intersections;
use surface::{Atom, Kind, Options, Resolution, molecular};

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31)
    }

    fn index(&mut self, count: usize) -> usize {
        (count as f64 * self.next()) as usize
    }

    fn radius(&mut self) -> f64 {
        [1.2, 1.5, 1.55, 1.7, 1.8, 1.0][self.index(6)]
    }

    fn in_cube(&mut self, side: f64) -> [f64; 3] {
        [0; 3].map(|_| side * self.next())
    }
}

/// One of 200 clusters of 3 to 300 atoms, with the name of its family.
fn cluster(n: u64) -> (&'static str, Vec<Atom>) {
    let mut random = Random(n + 1);
    for _ in 0..5 {
        random.next();
    }
    let count = (3.0 * 100f64.powf(random.next())) as usize;
    match n % 8 {
        0 => {
            let side = 2.2 * (count as f64).cbrt();
            ("loose", boxful(&mut random, count, side))
        }
        1 => {
            let side = 1.3 * (count as f64).cbrt();
            ("dense", boxful(&mut random, count, side))
        }
        2 => ("chain", chain(&mut random, count)),
        3 => {
            let count = count.clamp(3, 40);
            let radius = random.radius();
            let ring = (0.6 + random.next()) * count as f64 / 4.0;
            let place = |k: usize| {
                let (sin, cos) = (TAU * k as f64 / count as f64).sin_cos();
                [ring * cos, ring * sin, 0.0]
            };
            ("ring", (0..count).map(|k| Atom { centre: place(k), radius }).collect())
        }
        4 => {
            let side = (count as f64).cbrt().ceil().clamp(2.0, 5.0) as usize;
            let (radius, step) = (random.radius(), 1.0 + 3.0 * random.next());
            let place = |k: usize| {
                [k % side, k / side % side, k / side / side].map(|index| step * index as f64)
            };
            ("lattice", (0..side.pow(3)).map(|k| Atom { centre: place(k), radius }).collect())
        }
        5 => ("tangent", tangent(&mut random, count.min(60))),
        6 => ("coplanar", coplanar(&mut random, count)),
        _ => {
            let count = count.max(40);
            let shell = 3.0 + 0.45 * (count as f64).sqrt();
            let place = |k: usize| {
                let z = 1.0 - (2 * k + 1) as f64 / count as f64;
                let (sin, cos) = (2.399_963_229_728_653 * k as f64).sin_cos();
                let out = shell * (1.0 - z * z).sqrt();
                [out * cos, out * sin, shell * z]
            };
            let atom = |k| Atom { centre: place(k), radius: random.radius() };
            ("shell", (0..count).map(atom).collect())
        }
    }
}

fn boxful(random: &mut Random, count: usize, side: f64) -> Vec<Atom> {
    let atom = |_| Atom { centre: random.in_cube(side), radius: random.radius() };
    (0..count).map(atom).collect()
}

fn chain(random: &mut Random, count: usize) -> Vec<Atom> {
    let (mut at, mut direction) = ([0.0; 3], [1.0, 0.0, 0.0]);
    let atom = |_| {
        let turn = random.in_cube(1.2);
        direction = std::array::from_fn(|k| direction[k] + turn[k] - 0.6);
        let length = mesh::vector::norm(direction);
        direction = direction.map(|x| x / length);
        at = std::array::from_fn(|k| at[k] + 1.5 * direction[k]);
        Atom { centre: at, radius: random.radius() }
    };
    (0..count).map(atom).collect()
}

/// Spheres that touch along the axes.
fn tangent(random: &mut Random, count: usize) -> Vec<Atom> {
    let mut all = vec![Atom { centre: [0.0; 3], radius: random.radius() }];
    while all.len() < count {
        let index = random.index(all.len());
        let (mut atom, radius) = (all[index], random.radius());
        let sign = if random.next() < 0.5 { -1.0 } else { 1.0 };
        atom.centre[random.index(3)] += sign * (atom.radius + radius);
        all.push(Atom { radius, ..atom });
    }
    all
}

/// Atoms in a plane, copies, atoms within others and without radius.
fn coplanar(random: &mut Random, count: usize) -> Vec<Atom> {
    let side = 2.0 * (count as f64).sqrt();
    let mut all: Vec<Atom> = Vec::new();
    for k in 0..count {
        let [x, y, _] = random.in_cube(side);
        all.push(match k % 5 {
            3 => all[k / 2],
            4 => Atom { radius: 0.5 * all[k - 2].radius, ..all[k - 2] },
            _ => {
                let radius = if k % 7 == 2 { 0.0 } else { random.radius() };
                Atom { centre: [x, y, 0.0], radius }
            }
        });
    }
    all
}

/// Whatever is returned is sound; the number of clusters that are refused is printed.
#[test]
#[ignore = "takes up to half an hour"]
fn clusters_of_all_kinds() {
    let kinds = [Kind::SolventExcluded, Kind::SolventAccessible, Kind::Gaussian, Kind::VanDerWaals];
    for kind in kinds {
        let (mut meshed, mut worst, start) = (0, 60.0f64, Instant::now());
        let mut refused: Vec<String> = Vec::new();
        for n in 0..200 {
            let (family, atoms) = cluster(n);
            let surface = match molecular(&atoms, &Options::default().kind(kind)) {
                Ok(surface) => surface,
                Err(error) => {
                    refused.push(format!("{family} {n}: {error}"));
                    continue;
                }
            };
            let report = Report::of(&surface.mesh).unwrap();
            assert!(report.whole.closed && report.whole.flipped_edges == 0, "{n}");
            assert!(report.non_manifold_edges.is_empty() && report.defects.is_empty(), "{n}");
            assert_eq!(intersections(&surface.mesh), [], "{n}");
            worst = worst.min(report.quality.min_angle.min);
            meshed += 1;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{kind:?}: {meshed} of 200, least angle {worst:.1}, {seconds:.0} s");
        refused.iter().for_each(|line| println!("    {line}"));
        assert!(worst >= 15.0);
    }
}

/// A globule of 10,000 atoms in 500,000 triangles.
#[test]
#[ignore = "a timing"]
fn ten_thousand_atoms() {
    let globule = Molecule { atoms: 10_000, resolution: mesh::generate::Resolution::Elements(8) };
    let atoms: Vec<Atom> = globule
        .atoms()
        .unwrap()
        .iter()
        .map(|atom| Atom { centre: atom.position, radius: atom.radius })
        .collect();
    let runs = [
        (Kind::SolventExcluded, Resolution::Density(4.0)),
        (Kind::SolventExcluded, Resolution::Elements(500_000)),
        (Kind::Gaussian, Resolution::Density(4.0)),
        (Kind::Gaussian, Resolution::Elements(500_000)),
    ];
    for (kind, resolution) in runs {
        let start = Instant::now();
        let options = Options::default().kind(kind).resolution(resolution);
        let surface = molecular(&atoms, &options).unwrap();
        let (triangles, info) = (surface.mesh.triangles.len(), surface.info);
        println!(
            "{kind:?}, {triangles} triangles, {:.1} s, least angle {:.1}, {} parts, {} attempts",
            start.elapsed().as_secs_f64(),
            info.min_angle(),
            info.parts.len(),
            info.attempts
        );
    }
}
