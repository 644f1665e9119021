//! A matrix of features: random cases in which every pair of features occurs, each of which must
//! have the same answer however it is asked (docs/validation.md, "The matrix of features").

mod bodies;
mod build;
mod convergence;
mod features;
mod judge;
mod operators;
mod outcome;
mod random;
mod scene;
mod shapes;
mod table;
mod variants;
mod vector;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use convergence::Order;
use features::List;
use judge::{Machine, Verdict};

/// The seed of the slice, and of the whole unless it is given another.
const SEED: u64 = 1;

/// The list of the slice.
const SLICED: List = List { seed: SEED, with_ions: false };

/// Cases that are done in every run of the tests, each asked in half of the ways: of the first 90
/// those that have most pairs of levels for the time that they take, so that each level occurs, and
/// those that did not hold once.
const SLICE: &[usize] =
    &[0, 1, 6, 13, 14, 19, 20, 22, 23, 24, 26, 28, 41, 43, 52, 53, 55, 58, 59, 68, 69, 77, 793];

/// Each case of the slice is asked in one way of this many, and in the first.
const SLICE_SHARE: usize = 2;

/// Cases of the slice, and ways to ask them, that did not hold once.
const ONCE_WRONG: &[(usize, &str)] = &[(0, "by surfaces"), (23, "relisted"), (793, "whole = part")];

fn environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Number of cases at once: the number of cores, or FARAD_MATRIX_JOBS.
fn jobs() -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    environment("FARAD_MATRIX_JOBS").unwrap_or_else(cores)
}

/// Does each of some things, `at_once` at a time.
fn each<T: Sync, U: Send>(things: &[T], at_once: usize, act: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once.clamp(1, things.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(index) else { return };
                    let found = act(thing);
                    done.lock().unwrap().push((index, found));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, found)| found).collect()
}

/// Judges cases of a list, asked in the first way and in one of `share` of the others. Prints each
/// as it ends; folders of those that fail stay.
#[expect(clippy::print_stdout, reason = "who waits for a thousand cases sees them as they end")]
fn judged(
    list: List,
    indices: &[usize],
    share: usize,
    machine: &Machine,
    folder: &Path,
) -> Vec<Verdict> {
    let last = indices.iter().max().copied().unwrap_or(0);
    let features = features::list(list, last + 1);
    println!("{}", machine.text());
    each(indices, jobs(), |&index| {
        let begun = std::time::Instant::now();
        let verdict = judge::judge(list, index, &features[index], share, machine, folder);
        let seconds = begun.elapsed().as_secs_f64();
        if verdict.failed() {
            println!("{}", table::text(&verdict));
        } else {
            let worst = verdict.checks.iter().map(|check| check.worst()).fold(0.0, f64::max);
            println!(
                "case {index}: {} checks hold, to {worst:.2} of the bound, in {seconds:.1} s",
                verdict.checks.len()
            );
            let _ = std::fs::remove_dir_all(&verdict.folder);
        }
        verdict
    })
}

/// The orders of some cases in three meshes each, and what is wrong with them.
fn orders(seed: u64, count: usize, folder: &Path) -> (Vec<Order>, Vec<String>) {
    let indices: Vec<usize> = (0..count).collect();
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for (index, found) in each(&indices, jobs(), |&index| convergence::orders(seed, index, folder))
        .into_iter()
        .enumerate()
    {
        match found {
            Ok(orders) => {
                let failed = orders.iter().filter(|order| order.failed());
                let told = |Order { what, values, order }: &Order| {
                    format!(
                        "case {index}: {what} is {values:?} on three meshes, of order {order:.2}"
                    )
                };
                wrong.extend(failed.map(told));
                all.extend(orders);
            }
            Err(message) => wrong.push(message),
        }
    }
    (all, wrong)
}

/// Judges cases of a list, asked in the first way and in one of `share` of the others.
fn sliced(list: List, indices: &[usize], share: usize, name: &str) -> Vec<Verdict> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let machine = Machine::of_this();
    let verdicts = judged(list, indices, share, &machine, &folder);
    let failed: Vec<String> =
        verdicts.iter().filter(|verdict| verdict.failed()).map(table::text).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    verdicts
}

#[test]
fn features_in_pairs_agree_however_they_are_asked() {
    let last = SLICE.iter().max().copied().unwrap_or(0);
    let features = features::list(SLICED, last + 1);
    for &factor in SLICED.varied() {
        let (name, levels) = features::FACTORS[factor];
        for (level, of) in levels.iter().enumerate() {
            let occurs = SLICE.iter().any(|&index| features[index].0[factor] == level);
            assert!(occurs, "no case of the slice has {name}={of}");
        }
    }
    let verdicts = sliced(SLICED, SLICE, SLICE_SHARE, "matrix_slice");
    for (index, check) in ONCE_WRONG {
        let verdict = verdicts.iter().find(|verdict| verdict.index == *index).unwrap();
        assert!(verdict.checks.iter().any(|own| own.name == *check), "{index}: no check {check}");
    }
}

/// Cases with ions that are done in every run of the tests: of the first ones those that take least
/// time, each asked in one way of this many.
const SLICE_WITH_IONS: &[usize] = &[2, 3, 6];
const SHARE_WITH_IONS: usize = 3;

/// All ways to say a case occur, each in some case.
#[test]
fn cases_with_ions_agree_however_they_are_asked() {
    let list = List { seed: SEED, with_ions: true };
    let verdicts = sliced(list, SLICE_WITH_IONS, SHARE_WITH_IONS, "matrix_ions");
    let checks = verdicts.iter().flat_map(|verdict| &verdict.checks);
    let asked: Vec<&str> = checks.map(|check| check.name).collect();
    for name in
        ["turned", "scaled", "other unit", "shifted", "renumbered", "flipped", "by strength"]
    {
        assert!(asked.contains(&name), "{name} is not among {asked:?}");
    }
}

#[test]
fn smooth_bodies_converge_at_second_order() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("matrix_orders");
    let (orders, wrong) = orders(SEED, 3, &folder);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(orders.len() >= 3);
}

/// Operators of the library, between constants and linear functions.
#[test]
fn operators_are_the_same_however_the_mesh_is_said() {
    let mut random = random::Random::new(SEED);
    let mut done = 0;
    for features in features::list(SLICED, 80) {
        let Some(scene) = build::scene(&features, &mut random) else { continue };
        // Near sheets ask for more digits than a tolerance of operators says.
        if features.spread() != features::Spread::Even || scene.triangles.len() > 160 {
            continue;
        }
        let (ratio, what) = operators::worst(&scene, 1e-5, 1, &mut random);
        assert!(ratio <= 1.0, "{what}: {ratio} of the bound, {:?}", features.names());
        done += 1;
        if done == 3 {
            break;
        }
    }
    assert_eq!(done, 3);
}

/// The whole matrix: FARAD_MATRIX_CASES cases of the seed FARAD_MATRIX_SEED, or its case
/// FARAD_MATRIX_CASE alone. Cases that fail stay in FARAD_MATRIX_FOLDER, with tables of all.
#[test]
#[ignore = "takes minutes to hours; cargo test --release --test runs matrix_whole -- --ignored --nocapture"]
fn matrix_whole() {
    let seed = environment("FARAD_MATRIX_SEED").unwrap_or(SEED);
    let count = environment("FARAD_MATRIX_CASES").unwrap_or(100);
    let first = environment("FARAD_MATRIX_FIRST").unwrap_or(0);
    let only: Option<usize> = environment("FARAD_MATRIX_CASE");
    let folder: Option<PathBuf> = environment("FARAD_MATRIX_FOLDER");
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("matrix"));
    std::fs::create_dir_all(&folder).unwrap();
    let machine = Machine::of_this();
    let list = List { seed, with_ions: environment("FARAD_MATRIX_IONS").unwrap_or(false) };
    let indices: Vec<usize> =
        only.map_or_else(|| (first..first + count).collect(), |index| vec![index]);
    let verdicts = judged(list, &indices, 1, &machine, &folder);
    let of_smooth = if only.is_some() || list.with_ions { 0 } else { count / 25 };
    let (orders, wrong) = orders(seed, of_smooth, &folder);
    let text = table::markdown(seed, &verdicts, &orders, &wrong);
    std::fs::write(folder.join("matrix.md"), &text).unwrap();
    std::fs::write(folder.join("matrix.tsv"), table::lines(&verdicts)).unwrap();
    println!("{text}");
    let failed = verdicts.iter().filter(|verdict| verdict.failed()).count();
    assert!(failed == 0 && wrong.is_empty(), "{failed} cases failed: see {}", folder.display());
}
