//! Solves that are cut short and go on from the answers that were kept.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bem::{
    Cells, CheckpointStore, Electrostatics, Error, Excitation, FixedCharge, Images, Media, Medium,
    Method, NoProgress, PointCharge, Progress, Ranks, SolveOptions, Stage, StopReason,
    electrostatics,
};
use mesh::Mesh;
use mesh::generate::{Bus, Resolution, Sphere, SphereBase};

/// Keeps answers in memory, and stops a solve after this number of iterations.
#[derive(Default)]
struct StoredAnswers {
    answers: Mutex<HashMap<u64, Vec<f64>>>,
    asked: Mutex<Vec<u64>>,
    iterations: AtomicU64,
    most: u64,
    always: bool,
}

impl Progress for StoredAnswers {
    fn advance(&self, stage: Stage, _: u64, _: u64) -> bool {
        stage != Stage::Solve || self.iterations.fetch_add(1, Ordering::SeqCst) + 1 < self.most
    }

    fn checkpoint_store(&self) -> Option<&dyn CheckpointStore> {
        Some(self)
    }
}

impl CheckpointStore for StoredAnswers {
    fn load(&self, equations: u64) -> Option<Vec<f64>> {
        self.asked.lock().unwrap().push(equations);
        self.answers.lock().unwrap().get(&equations).cloned()
    }

    fn is_due(&self) -> bool {
        self.always
    }

    fn store(&self, equations: u64, answer: Vec<f64>) {
        self.answers.lock().unwrap().insert(equations, answer);
    }
}

/// Ten bars.
fn bus() -> (Mesh, Vec<Option<u32>>) {
    let resolution = Resolution::Elements(720);
    let bus = Bus { bars: 5, width: 1.0, spacing: 1.0, gap: 1.0, grade: 1.0, resolution };
    let mesh = bus.build().unwrap();
    let conductor = (0..mesh.triangles.len()).map(|t| mesh.groups_of(t).first().copied());
    let conductor = conductor.collect();
    (mesh, conductor)
}

fn solve(excitations: &[Excitation], progress: &dyn Progress) -> Result<Electrostatics, Error> {
    solve_among(Ranks::default(), excitations, progress)
}

fn solve_among(
    ranks: Ranks,
    excitations: &[Excitation],
    progress: &dyn Progress,
) -> Result<Electrostatics, Error> {
    let (mesh, conductor) = bus();
    let media = Media {
        conductor: &conductor,
        conductors: 10,
        permittivity: &vec![[1.0; 2]; mesh.triangles.len()],
        images: &Images::default(),
        bodies: &[],
    };
    let method = Method::Fmm;
    let options = SolveOptions::default().method(method).tolerance(1e-8).ranks(ranks);
    electrostatics(&mesh, media, excitations, &options, progress)
}

fn each_at_one() -> Vec<Excitation> {
    let at = |k: usize| (0..10).map(|c| if c == k { 1.0 } else { 0.0 }).collect();
    (0..10).map(|k| Excitation::default().potentials(at(k))).collect()
}

fn iterations(answer: &Electrostatics) -> usize {
    assert!(answer.responses.iter().all(|of| of.reason == StopReason::Converged));
    answer.responses.iter().map(|of| of.iterations).max().unwrap()
}

fn assert_same(a: &Electrostatics, b: &Electrostatics) {
    let size = a.responses[0].conductor_charge[0].abs();
    for (a, b) in a.responses.iter().zip(&b.responses) {
        for (a, b) in a.conductor_charge.iter().zip(&b.conductor_charge) {
            assert!((a - b).abs() <= 1e-7 * size, "{a} {b}");
        }
    }
}

#[test]
fn a_solve_goes_on_where_it_was_stopped() {
    let mut excitations = each_at_one();
    // A charge, for which weak bodies are solved on for.
    let charge = PointCharge { position: [0.0, 0.0, 40.0], charge: 1.0, permittivity: 1.0 };
    let driven = excitations[0].clone().charges(vec![charge]);
    excitations.push(driven);
    let whole = solve(&excitations, &NoProgress).unwrap();
    let all = iterations(&whole);
    for (most, always) in [(3, false), (all as u64 - 1, false), (3, true)] {
        let stopped = StoredAnswers { most, always, ..StoredAnswers::default() };
        assert!(matches!(solve(&excitations, &stopped), Err(Error::Interrupted)));
        let answers = stopped.answers.into_inner().unwrap();
        assert_eq!(answers.len(), excitations.len());
        let resumed =
            StoredAnswers { answers: answers.into(), most: u64::MAX, ..StoredAnswers::default() };
        let answer = solve(&excitations, &resumed).unwrap();
        assert_same(&whole, &answer);
        let rest = iterations(&answer);
        assert!(rest + most as usize <= all + 3, "{rest} after {most} of {all}");
    }
}

#[test]
fn what_is_through_takes_no_iteration() {
    let excitations = each_at_one();
    let first = StoredAnswers { most: u64::MAX, ..StoredAnswers::default() };
    let whole = solve(&excitations, &first).unwrap();
    let answers = first.answers.into_inner().unwrap();
    let again =
        StoredAnswers { answers: answers.into(), most: u64::MAX, ..StoredAnswers::default() };
    let answer = solve(&excitations, &again).unwrap();
    assert_eq!(iterations(&answer), 0);
    for (a, b) in whole.responses.iter().zip(&answer.responses) {
        assert_eq!(a.charge, b.charge);
    }
    // The equations have the same numbers, each its own.
    let mut asked = again.asked.into_inner().unwrap();
    assert_eq!(asked.len(), excitations.len());
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), excitations.len());
}

#[test]
fn guesses_of_any_quality_do_no_harm() {
    let excitations = each_at_one();
    let first = StoredAnswers { most: u64::MAX, ..StoredAnswers::default() };
    let whole = solve(&excitations, &first).unwrap();
    let answers = first.answers.into_inner().unwrap();
    for spoil in [
        |x: &mut Vec<f64>| x.truncate(10),
        |x: &mut Vec<f64>| x[7] = f64::NAN,
        |x: &mut Vec<f64>| x.iter_mut().for_each(|x| *x = -3.0 * *x + 0.1),
    ] {
        let mut answers = answers.clone();
        answers.values_mut().for_each(spoil);
        let spoilt =
            StoredAnswers { answers: answers.into(), most: u64::MAX, ..StoredAnswers::default() };
        assert_same(&whole, &solve(&excitations, &spoilt).unwrap());
    }
}

#[test]
fn ranks_that_share_a_solve_go_on_where_they_were_stopped() {
    let mut excitations = each_at_one();
    excitations.truncate(3);
    let charge = PointCharge { position: [0.0, 0.0, 40.0], charge: 1.0, permittivity: 1.0 };
    excitations.push(excitations[0].clone().charges(vec![charge]));
    let whole = solve(&excitations, &NoProgress).unwrap();
    let all = iterations(&whole);
    let most = all as u64 / 2;
    // The first keeps answers, whoever it is that stops.
    for who_stops in [0, 2] {
        let stopped = StoredAnswers {
            most: if who_stops == 0 { most } else { u64::MAX },
            ..StoredAnswers::default()
        };
        let stops = Stops { most, iterations: AtomicU64::new(0) };
        comm::run(3, |group| {
            let progress: &dyn Progress = match group.rank() {
                0 => &stopped,
                rank if rank == who_stops => &stops,
                _ => &NoProgress,
            };
            let ended = solve_among(Ranks(group.clone()), &excitations, progress);
            assert!(matches!(ended, Err(Error::Interrupted)));
        });
        let answers = stopped.answers.into_inner().unwrap();
        assert_eq!(answers.len(), excitations.len());
        // The same number of ranks continues, or one alone.
        for ranks in [1, 2] {
            let kept = || StoredAnswers {
                answers: answers.clone().into(),
                most: u64::MAX,
                ..StoredAnswers::default()
            };
            let found = comm::run(ranks, |group| {
                let kept = kept();
                let progress: &dyn Progress = if group.rank() == 0 { &kept } else { &NoProgress };
                solve_among(Ranks(group.clone()), &excitations, progress).unwrap()
            });
            for answer in &found {
                assert_same(&whole, answer);
                let rest = iterations(answer);
                assert!(rest + most as usize <= all + 3, "{rest} after {most} of {all}");
            }
        }
    }
}

/// The third rank stops it; the first has the answer, whatever the number of ranks that go on.
#[test]
fn solves_with_ions_go_on_where_they_were_stopped() {
    let (base, resolution) = (SphereBase::Icosahedron, Resolution::Elements(320));
    let mesh = Sphere { radius: 2.0, base, resolution }.build().unwrap();
    let media =
        [(80.0, 0.3), (4.0, 0.0)].map(|(permittivity, kappa)| Medium { permittivity, kappa });
    let sides = vec![[0, 1]; mesh.triangles.len()];
    let charges = [FixedCharge { position: [0.9, 0.4, -0.2], charge: 1.0, region: 1 }];
    let solve = |ranks: Ranks, progress: &dyn Progress| {
        let options = SolveOptions::default().method(Method::Fmm).tolerance(1e-9).ranks(ranks);
        let cells = Cells { media: &media, sides: &sides };
        bem::poisson_boltzmann(&mesh, cells, &charges, &options, progress)
    };
    let whole = solve(Ranks::default(), &NoProgress).unwrap();
    let stopped = StoredAnswers { most: u64::MAX, ..StoredAnswers::default() };
    comm::run(3, |group| {
        let stops = Stops { most: 4, iterations: AtomicU64::new(0) };
        let progress: &dyn Progress = match group.rank() {
            0 => &stopped,
            2 => &stops,
            _ => &NoProgress,
        };
        let ended = solve(Ranks(group.clone()), progress);
        assert!(matches!(ended, Err(Error::Interrupted)));
    });
    let answers = stopped.answers.into_inner().unwrap();
    assert_eq!(answers.len(), 1);
    for ranks in [1, 2] {
        let found = comm::run(ranks, |group| {
            let answers = answers.clone().into();
            let stored = StoredAnswers { answers, most: u64::MAX, ..StoredAnswers::default() };
            let progress: &dyn Progress = if group.rank() == 0 { &stored } else { &NoProgress };
            let screened = solve(Ranks(group.clone()), progress).unwrap();
            assert!(screened.has_converged());
            (screened.surface_potentials(mesh.triangles.len()), screened.info.iterations)
        });
        let expected = whole.surface_potentials(mesh.triangles.len());
        for (potentials, iterations) in found {
            assert!(iterations < whole.info.iterations, "{iterations}");
            let off = potentials.iter().zip(&expected).map(|(a, b)| (a / b - 1.0).abs());
            assert!(off.fold(0.0, f64::max) < 1e-6);
        }
    }
}

/// Stops a solve after this number of iterations, and keeps nothing.
struct Stops {
    most: u64,
    iterations: AtomicU64,
}

impl Progress for Stops {
    fn advance(&self, stage: Stage, _: u64, _: u64) -> bool {
        stage != Stage::Solve || self.iterations.fetch_add(1, Ordering::SeqCst) + 1 < self.most
    }
}
