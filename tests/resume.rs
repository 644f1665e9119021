//! `--resume`: runs that are killed at any moment go on, with the same results.

#![cfg(unix)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ended, Workplace};

/// What a run is asked to solve to.
const TOLERANCE: f64 = 1e-7;

/// A run without interruption, what it takes, and numbers of its results.
struct Whole<'a> {
    place: &'a Workplace,
    command: String,
    folder: &'static str,
    seconds: f64,
    numbers: Vec<f64>,
    files: Vec<String>,
    /// What it was solved to, relative to the largest number: results may differ by that.
    tolerance: f64,
}

/// What became of runs that were killed.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// Number of these that came after a checkpoint was written.
    kept: usize,
    /// Largest difference of a number from that of the run without interruption, relative to the
    /// largest of all.
    worst: f64,
}

/// Numbers from 0 to 1 that are the same in every run of the tests.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// All numbers of the results that do not depend on how they came about.
fn numbers(results: &Value) -> Vec<f64> {
    fn collect(value: &Value, into: &mut Vec<f64>) {
        match value {
            Value::Number(number) => into.extend(number.as_f64()),
            Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(&results["capacitance"]["maxwell_farad"], &mut found);
    for entry in results["entries"].as_array().into_iter().flatten() {
        collect(&entry["values"], &mut found);
    }
    for run in results["runs"].as_array().into_iter().flatten() {
        collect(&run["maxwell_farad"], &mut found);
    }
    assert!(!found.is_empty(), "{results}");
    found
}

impl<'a> Whole<'a> {
    fn new(place: &'a Workplace, command: &str, folder: &'static str) -> Self {
        let command = format!("{command} -o {folder} --checkpoint-interval 0 -q --backend cpu");
        let begun = Instant::now();
        place.must(&command);
        let seconds = begun.elapsed().as_secs_f64();
        let results = place.json(&format!("{folder}/results.json"));
        // It follows from an accuracy, where one is asked for.
        let tolerance = results["accuracy"]["solver_tolerance"].as_f64().unwrap_or(TOLERANCE);
        let (numbers, files) = (numbers(&results), place.list(folder));
        Self { place, seconds, numbers, files, command, folder, tolerance }
    }

    /// Where the run keeps what it has found.
    fn kept(&self) -> Vec<String> {
        let folder = format!("{}/.farad-checkpoint", self.folder);
        let is_there = self.place.path(&folder).exists();
        if is_there { self.place.list(&folder) } else { Vec::new() }
    }

    fn begin(&self) {
        let _ = fs::remove_dir_all(self.place.path(self.folder));
    }

    /// Starts a run that goes on.
    fn start(&self) -> Child {
        let mut command = self.place.command(&format!("{} --resume", self.command));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Lets a run go on for that long and kills it; whether it was still there.
    fn kill_after(&self, seconds: f64) -> bool {
        let mut run = self.start();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let was_there = run.try_wait().unwrap().is_none();
        run.kill().unwrap();
        run.wait().unwrap();
        was_there
    }

    /// Lets a run go on to its end, and returns how far its numbers are from the expected ones.
    fn finish(&self) -> f64 {
        let ended = self.place.farad(&format!("{} --resume", self.command));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(self.place.list(self.folder), self.files);
        let found = numbers(&self.place.json(&format!("{}/results.json", self.folder)));
        assert_eq!(found.len(), self.numbers.len());
        let size = self.numbers.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let both = found.iter().zip(&self.numbers);
        both.fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs() / size))
    }

    /// Kills this number of runs, each up to three times, at moments between start and end.
    fn killed(&self, kills: usize, seed: u64) -> Tally {
        let (mut random, mut tally) = (Random(seed), Tally::default());
        while tally.kills < kills {
            self.begin();
            for _ in 0..1 + (3.0 * random.next()) as usize {
                if tally.kills < kills && self.kill_after(random.next() * self.seconds) {
                    tally.kills += 1;
                    tally.kept += usize::from(self.kept().len() > 1);
                }
            }
            tally.worst = tally.worst.max(self.finish());
        }
        assert!(tally.worst < self.tolerance, "{}: {tally:?}", self.command);
        tally
    }
}

/// Wires over each other: their case for one solve, and with a sweep.
fn bars(name: &str, elements: usize) -> Workplace {
    let place = Workplace::new(name);
    place.generate(&format!("bus --bars 2 --elements {elements} --binary"), "bus.msh");
    let solver = format!("[solver]\nmethod = \"fmm\"\ntolerance = {TOLERANCE:e}\n");
    place.case("bus.toml", "bus.msh", &solver);
    place.generate(&format!("two-spheres --distance 3 --elements {elements}"), "two.msh");
    let sweep =
        "[[sweep]]\nname = \"gap\"\nvalues = [0, 0.5, 1, 2]\nmove = \"right\"\nalong = [1, 0, 0]\n";
    place.case("sweep.toml", "two.msh", &format!("{solver}{sweep}"));
    place.case("two.toml", "two.msh", &solver);
    place
}

#[test]
fn killed_runs_go_on_with_the_same_results() {
    let place = bars("resume_kills", 200);
    for (command, folder, seed) in [
        ("solve bus.toml", "solve.out", 0x9e37_79b9_7f4a_7c15),
        ("solve two.toml --accuracy 2e-3", "accuracy.out", 0xbf58_476d_1ce4_e5b9),
        ("study two.toml", "study.out", 0x94d0_49bb_1331_11eb),
        ("sweep sweep.toml", "sweep.out", 0x2545_f491_4f6c_dd1d),
    ] {
        Whole::new(&place, command, folder).killed(3, seed);
    }
}

/// The figures of docs/reliability.md:
/// `cargo test --release -p farad-cli --test runs -- --ignored --nocapture a_hundred_kills`
#[test]
#[ignore = "takes minutes"]
fn a_hundred_kills() {
    let place = bars("resume_hundred_kills", 1000);
    for (command, folder, seed) in [
        ("solve bus.toml", "solve.out", 1),
        ("solve two.toml --accuracy 1e-3", "accuracy.out", 2),
        ("study two.toml", "study.out", 3),
        ("sweep sweep.toml", "sweep.out", 4),
    ] {
        let whole = Whole::new(&place, command, folder);
        let tally = whole.killed(100, 0x9e37_79b9_7f4a_7c15 + seed);
        println!("farad {command}: {:.1} s; {tally:?}", whole.seconds);
        let told = whole.damaged(50, seed);
        println!("50 times damaged, {told} times told");
    }
}

impl Whole<'_> {
    /// Resumes `times` times from the checkpoint of a run that was ended by a signal, each time
    /// with some byte of it changed, or a file cut off, and returns how often that was reported.
    fn damaged(&self, times: usize, seed: u64) -> usize {
        let mut random = Random(seed);
        signalled(self).fails(7, &["interrupted"]);
        let folder = self.place.path(self.folder).join(".farad-checkpoint");
        let of = |name: String| (fs::read(folder.join(&name)).unwrap(), folder.join(name));
        let kept: Vec<_> = self.kept().into_iter().map(of).collect();
        let mut told = 0;
        for _ in 0..times {
            self.begin();
            fs::create_dir_all(&folder).unwrap();
            kept.iter().for_each(|(bytes, path)| fs::write(path, bytes).unwrap());
            let (bytes, path) = &kept[(random.next() * kept.len() as f64) as usize];
            let place = (random.next() * bytes.len() as f64) as usize;
            let mut damaged = bytes.clone();
            if random.next() < 0.2 {
                damaged.truncate(place);
            } else {
                damaged[place] ^= 1 + (255.0 * random.next()) as u8;
            }
            fs::write(path, damaged).unwrap();
            let ended = self.place.farad(&format!("{} --resume", self.command.replace(" -q", "")));
            assert_eq!(ended.code, 0, "{}: {}", path.display(), ended.stderr);
            told += usize::from(ended.stderr.contains("damaged"));
            let found = numbers(&self.place.json(&format!("{}/results.json", self.folder)));
            for (a, b) in found.iter().zip(&self.numbers) {
                assert!((a - b).abs() <= self.tolerance * self.numbers[0].abs(), "{a} {b}");
            }
        }
        told
    }
}

#[test]
fn damage_does_no_harm() {
    let place = bars("resume_damage", 200);
    for (command, folder) in [("study two.toml", "study.out"), ("sweep sweep.toml", "sweep.out")] {
        Whole::new(&place, command, folder).damaged(4, 0x9e37_79b9_7f4a_7c15);
    }
}

/// Ends a run by a signal once its checkpoint has more than the manifest.
fn signalled(whole: &Whole<'_>) -> Ended {
    whole.begin();
    let mut command = whole.place.command(&format!("{} --resume", whole.command));
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while whole.kept().len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Command::new("kill").args(["-TERM", &run.id().to_string()]).status();
    assert!(sent.unwrap().success());
    run.wait_with_output().unwrap().into()
}

#[test]
fn what_is_kept_is_of_the_same_inputs_and_whole() {
    let place = bars("resume_inputs", 1000);
    let whole = Whole::new(&place, "solve bus.toml", "bus.out");
    signalled(&whole).fails(7, &["interrupted; no results were written", "--resume"]);
    let kept = whole.kept();
    let command = format!("{} --resume", whole.command);
    // Other inputs are refused, and nothing is lost by that.
    let text = place.read("bus.toml");
    place.write("bus.toml", text.replace("\"m\"", "\"mm\""));
    place.farad(&command).fails(
        3,
        &["the checkpoint in", "belongs to a different run", "the case bus.toml", "differ"],
    );
    place.write("bus.toml", &text);
    place.farad(&format!("{command} --tolerance 1e-6")).fails(3, &["command line"]);
    let mesh = fs::read(place.path("bus.msh")).unwrap();
    place.generate("bus --bars 2 --elements 2000 --binary", "other.msh");
    fs::copy(place.path("other.msh"), place.path("bus.msh")).unwrap();
    place.farad(&command).fails(3, &["the file bus.msh differs"]);
    place.write("bus.msh", mesh);
    assert_eq!(whole.kept(), kept);
    // Any damaged part is reported and not used.
    let loud = command.replace(" -q", "");
    for name in &kept {
        let path = place.path("bus.out/.farad-checkpoint").join(name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let ended = place.must(&loud);
    let told = [
        "is damaged or of another version: the run starts from the beginning",
        "is damaged: what it had is computed again",
    ];
    assert!(told.iter().any(|words| ended.stderr.contains(words)), "{}", ended.stderr);
    assert!(whole.finish() < whole.tolerance);
    // There is nothing any more.
    assert!(place.must(&loud).stderr.contains("there is no checkpoint"));
}

#[test]
fn a_signal_has_the_run_kept_and_a_new_run_begins_anew() {
    let place = bars("resume_signal", 1000);
    let whole = Whole::new(&place, "solve bus.toml", "bus.out");
    // Nothing is written while the run goes on, but when it is asked to end.
    let command = whole.command.replace("--checkpoint-interval 0", "--checkpoint-interval 1e9");
    whole.begin();
    let run = place.command(&command).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs_f64(0.8 * whole.seconds));
    let kept = whole.kept();
    let sent = Command::new("kill").args(["-TERM", &run.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let ended: Ended = run.wait_with_output().unwrap().into();
    assert!(kept.is_empty(), "{kept:?}");
    if ended.code == 7 && !whole.kept().is_empty() {
        assert!(whole.kept().iter().any(|name| name.starts_with("charges-")));
        assert!(whole.finish() < whole.tolerance);
    }
    signalled(&whole).fails(7, &["interrupted"]);
    let ended = place.must(&whole.command.replace(" -q", ""));
    let told = "the checkpoint of an earlier run in the output folder is removed";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(place.list("bus.out"), whole.files);
}

#[test]
fn the_second_run_in_a_folder_names_the_first() {
    let place = bars("resume_second", 1000);
    let whole = Whole::new(&place, "solve bus.toml", "bus.out");
    whole.begin();
    let mut first = whole.start();
    while whole.kept().is_empty() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let second = place.farad(&format!("{} --resume", whole.command));
    second.fails(6, &["another run", &format!("process {}", first.id()), "bus.out"]);
    first.kill().unwrap();
    first.wait().unwrap();
    // A dead one is in nobody's way.
    assert!(whole.finish() < whole.tolerance);
}

/// A mesh that is saved again at the moment when it is opened for the second time, which is after
/// it was read and before what was found was kept, or the reverse: what is kept is of the bytes
/// that were solved for.
#[cfg(target_os = "linux")]
#[test]
fn what_is_kept_is_of_the_bytes_that_were_read() {
    let place = Workplace::new("resume_swapped");
    let library = place.faults();
    let meshes = || {
        place.generate("sphere --elements 1200 --overwrite", "mesh.msh");
        place.generate("sphere --radius 2 --elements 1200 --overwrite", "other.msh");
    };
    let swapped = |command: &str| {
        let mut run = place.command(command);
        run.env("LD_PRELOAD", &library).env("FAULT_SWAP", "2");
        run.stdout(Stdio::null()).stderr(Stdio::piped());
        run
    };
    let solver = "[solver]\nmethod = \"fmm\"\ntolerance = 1e-7\n";
    place.case("case.toml", "mesh.msh", solver);
    meshes();
    let study = "study case.toml -o study --checkpoint-interval 0 -q";
    let mut run = swapped(study).spawn().unwrap();
    let kept = place.path("study/.farad-checkpoint/mesh-0");
    while !kept.exists() {
        assert!(run.try_wait().unwrap().is_none(), "the study ended before it was killed");
        std::thread::sleep(Duration::from_millis(2));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    // It is another one now, if it was not before.
    let _ = fs::rename(place.path("other.msh"), place.path("mesh.msh"));
    let resumed = place.farad(&format!("{study} --resume"));
    resumed.fails(3, &["belongs to a different run", "the file mesh.msh differs"]);

    // A sweep knows what its files hold before it reads them for its runs.
    meshes();
    let sweep =
        "[[sweep]]\nname = \"eps\"\nvalues = [1, 2]\nset = \"medium.relative_permittivity\"\n";
    place.case("sweep.toml", "mesh.msh", sweep);
    let ended: Ended = swapped("sweep sweep.toml -q").output().unwrap().into();
    ended.fails(6, &["mesh.msh", "it was saved again since this run first read it"]);
}
