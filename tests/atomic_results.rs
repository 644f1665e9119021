//! Results of a run take the place of older ones at once: whatever ends the run, the folder holds
//! the old or the new ones.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Workplace;

/// What becomes of a call: its process is killed before it or after it, the file system has no
/// space, or its disk errs. With each the first call that it happens to, less one: of every two
/// calls each fails in one way, and processes are killed between all of them.
const KINDS: [(&str, usize); 4] = [("kill-before", 1), ("kill-after", 3), ("28", 2), ("5", 1)];

/// An output folder with the results of an older case, and what those of another one look like.
struct Scene {
    place: Workplace,
    old: BTreeMap<String, Vec<u8>>,
    new: BTreeMap<String, Vec<u8>>,
}

/// What a folder holds.
#[derive(Debug, PartialEq)]
enum Found {
    Old,
    New,
    /// The new ones without a file that could not be written, which results.json does not list.
    Lacking,
    /// Neither, and no results.json that says so.
    Unlisted,
}

impl Scene {
    /// `folder` gives the user a folder in the output folder, which then cannot be exchanged as a
    /// whole.
    fn new(name: &str, folder: bool) -> Self {
        let place = Workplace::small(name);
        let probe = |name| {
            format!(
                "[[probe]]\nname = \"{name}\"\nfrom = [0, 0, 9]\nto = [0, 0, 10]\ncount = 300\n"
            )
        };
        let rest = "[external]\nfield = [0, 0, 1]\n[output]\nvtk = \"none\"\n[solver]\nmethod = \"dense\"\n";
        place.case("old.toml", "sphere.msh", &format!("{}{}{rest}", probe("p"), probe("only_old")));
        let medium = "[medium]\nrelative_permittivity = 3\n";
        place.case("new.toml", "sphere.msh", &format!("{medium}{}{rest}", probe("p")));
        // It gets as far as the folder, and no further.
        place.case("next.toml", "sphere.msh", "[solver]\nmethod = \"dense\"");
        place.must("solve new.toml --output s.out");
        let new = files(&place);
        fs::remove_dir_all(place.path("s.out")).unwrap();
        place.must("solve old.toml --output s.out");
        place.write("s.out/notes.txt", "mine");
        std::os::unix::fs::symlink("notes.txt", place.path("s.out/link")).unwrap();
        if folder {
            place.write("s.out/figures/one.svg", "mine");
        }
        let old = files(&place);
        assert!(old.contains_key("probe_only_old.csv") && !new.contains_key("probe_only_old.csv"));
        copy(&place, "s.out", "kept");
        Self { place, old, new }
    }

    /// The folder as it was before the run that is to be disturbed.
    fn restore(&self) {
        let _ = fs::remove_dir_all(self.place.path("s.out"));
        copy(&self.place, "kept", "s.out");
    }

    /// The run that writes new results over the old ones.
    fn run(&self) -> Command {
        let mut command = self.place.command("solve new.toml --output s.out --quiet --threads 1");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Which results the folder holds; a results.json that lists what is not there, or is from
    /// elsewhere, fails the test.
    fn found(&self, what: &str) -> Found {
        let found = files(&self.place);
        let mut others = found.clone();
        others.retain(|name, _| !self.old.contains_key(name) && !self.new.contains_key(name));
        assert!(others.is_empty(), "{what}: {:?}", others.keys());
        assert_eq!(self.place.read("s.out/notes.txt"), "mine", "{what}");
        assert!(self.place.path("s.out/link").is_symlink(), "{what}");
        if self.place.path("kept/figures").exists() {
            assert_eq!(self.place.read("s.out/figures/one.svg"), "mine", "{what}");
        }
        if !found.contains_key("results.json") {
            return Found::Unlisted;
        }
        let lacks = |set: &BTreeMap<String, Vec<u8>>| {
            let missing: Vec<&String> =
                set.keys().filter(|name| !found.contains_key(*name)).collect();
            let [missing] = missing[..] else { return false };
            let mut listed: Vec<String> = serde_json::from_slice(&set["results.json"]).unwrap();
            listed.retain(|name| name != missing);
            let mut rest = set.clone();
            rest.remove(missing);
            rest.insert("results.json".to_owned(), serde_json::to_vec(&listed).unwrap());
            found == rest
        };
        match [&self.old, &self.new].map(|set| found == *set) {
            [true, _] => Found::Old,
            [_, true] => Found::New,
            _ if lacks(&self.new) => Found::Lacking,
            _ => panic!("{what}: a mixture of {:?}", found.keys()),
        }
    }

    /// What a run over the folder that writes nothing finds and leaves.
    fn found_by_the_next_run(&self, what: &str) -> Found {
        let ended = self.place.farad("solve next.toml --output s.out --memory-limit 1e-9");
        assert_eq!(ended.code, 5, "{what}: {}", ended.stderr);
        let hidden: Vec<String> =
            self.place.list(".").into_iter().chain(self.place.list("s.out")).collect();
        assert!(!hidden.iter().any(|name| name.starts_with(".farad")), "{what}: {hidden:?}");
        self.found(what)
    }
}

/// The files of results in the folder, without what differs from run to run.
fn files(place: &Workplace) -> BTreeMap<String, Vec<u8>> {
    let mine = ["notes.txt", "link", "figures"];
    let names = place.list("s.out").into_iter();
    let names = names.filter(|name| !name.starts_with(".farad") && !mine.contains(&name.as_str()));
    let content = |name: &String| {
        let bytes = fs::read(place.path(&format!("s.out/{name}"))).unwrap();
        if name != "results.json" {
            return bytes;
        }
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        serde_json::to_vec(&document["files"]).unwrap()
    };
    names.map(|name| (name.clone(), content(&name))).collect()
}

fn copy(place: &Workplace, from: &str, to: &str) {
    let copied = Command::new("cp").arg("-a").args([place.path(from), place.path(to)]).status();
    assert!(copied.unwrap().success());
}

/// Disturbs every `step`-th call that has to do with the folder, in each of these ways.
fn disturb_each_call(name: &str, folder: bool, step: usize) {
    let scene = Scene::new(name, folder);
    let library = scene.place.faults();
    let log = scene.place.path("calls.txt");
    let ended = scene.run().env("LD_PRELOAD", &library).env("FAULT_LOG", &log).status().unwrap();
    assert!(ended.success());
    assert_eq!(scene.found("undisturbed"), Found::New);
    let calls: Vec<String> = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    for part in ["rename", "fsync", "write", "unlink", "open64", "flock", "mkdir"] {
        assert!(calls.iter().any(|call| call.starts_with(part)), "no {part} in {calls:?}");
    }
    // All wait for the disk at the same time; results.json, which lists those that are there, comes
    // after.
    let runs = calls.chunk_by(|a, b| a == b).filter(|run| run[0] == "fsync");
    assert!(runs.map(<[String]>::len).max() >= Some(scene.new.len() - 1), "{calls:?}");
    let mut seen = Vec::new();
    for (kind, first) in KINDS {
        for at in (1 + first % step..=calls.len()).step_by(step) {
            scene.restore();
            let mut run = scene.run();
            run.env("LD_PRELOAD", &library).env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind);
            let ended = run.status().unwrap();
            let what = format!("{kind} at call {at} of {}, {}", calls.len(), calls[at - 1]);
            let found = scene.found(&what);
            match ended.code() {
                Some(0) => assert_eq!(found, Found::New, "{what}"),
                Some(6) => {
                    assert!(matches!(found, Found::Old | Found::Lacking), "{what}: {found:?}")
                }
                code => {
                    assert_eq!(code, None, "{what}");
                    // Files that are moved one by one are unlisted for a moment.
                    assert!(folder || found != Found::Unlisted, "{what}");
                }
            }
            let later = scene.found_by_the_next_run(&what);
            assert_ne!(later, Found::Unlisted, "{what}");
            // Moving one by one begins once it is decided that the new results hold; the next run
            // ends it.
            let ended_later = folder && later == Found::New;
            assert!(later == found || ended_later, "{what}: {found:?}, then {later:?}");
            seen.push(found);
        }
    }
    for wanted in [Found::Old, Found::New, Found::Lacking] {
        assert!(seen.contains(&wanted), "{wanted:?}");
    }
}

/// Kills runs at `count` moments of the time that one takes.
fn kill_at_random(name: &str, count: u32) {
    let scene = Scene::new(name, false);
    let started = Instant::now();
    assert!(scene.run().status().unwrap().success());
    let mut usual = started.elapsed();
    let mut killed = 0;
    for number in 0..count {
        scene.restore();
        let mut child = scene.run().spawn().unwrap();
        // The multiples of the golden ratio are spread evenly over the time in any number.
        let part = (f64::from(number) * 0.618_033_988_749_895).fract();
        std::thread::sleep(usual.mul_f64(1.1 * part) + Duration::from_micros(100));
        let _ = child.kill();
        if child.wait().unwrap().code().is_none() {
            killed += 1;
        } else {
            // The machine may have been busier when the time was taken.
            usual = usual.mul_f64(0.7);
        }
        let what = format!("kill {number}");
        let found = scene.found(&what);
        assert_ne!(found, Found::Unlisted, "{what}");
        assert_eq!(scene.found_by_the_next_run(&what), found, "{what}");
    }
    assert!(2 * killed > count, "{killed} of {count} were killed before their end");
}

#[test]
fn old_or_new_results_whichever_call_is_disturbed() {
    disturb_each_call("atomic_faults", false, 2);
}

#[test]
fn old_or_new_results_where_files_move_one_by_one() {
    disturb_each_call("atomic_faults_inside", true, 3);
}

#[test]
#[ignore = "takes minutes; every call in all ways"]
fn old_or_new_results_whichever_call_is_disturbed_in_all_ways() {
    disturb_each_call("atomic_faults_all", false, 1);
    disturb_each_call("atomic_faults_inside_all", true, 1);
}

#[test]
fn old_or_new_results_after_kills() {
    kill_at_random("atomic_kills", 20);
}

#[test]
#[ignore = "takes a minute; the 100 kills of docs/reliability.md"]
fn old_or_new_results_after_100_kills() {
    kill_at_random("atomic_kills_100", 100);
}

#[test]
fn the_second_of_two_writers_is_refused() {
    let place = Workplace::new("atomic_writers");
    place.generate("sphere --elements 40000 --binary", "sphere.msh");
    place.generate("sphere --elements 72", "small.msh");
    place.case("long.toml", "sphere.msh", "[solver]\nmethod = \"fmm\"");
    place.case("short.toml", "small.msh", "");
    let mut long =
        place.command("solve long.toml --output o.out --quiet --tolerance 1e-10").spawn().unwrap();
    let begun = Instant::now();
    while !place.path("o.out").exists() || place.list("o.out").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60) && long.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    for options in ["", " --overwrite"] {
        let ended = place.farad(&format!("solve short.toml --output o.out{options}"));
        ended.fails(6, &["another run is writing", "o.out", "--output"]);
    }
    long.kill().unwrap();
    long.wait().unwrap();
    // A lock dies with its owner, and the files that the owner left are removed.
    place.must("solve short.toml --output o.out");
    assert!(!place.list("o.out").iter().any(|name| name.starts_with('.')));
}

#[test]
fn pairs_of_runs_never_mix() {
    let scene = Scene::new("atomic_pairs", false);
    for number in 0..10 {
        scene.restore();
        let mut old = scene.place.command("solve old.toml --output s.out --quiet --threads 1");
        old.stderr(Stdio::null()).stdout(Stdio::null());
        let mut pair = [scene.run(), old].map(|mut command| command.spawn().unwrap());
        let codes: Vec<_> = pair.iter_mut().map(|child| child.wait().unwrap().code()).collect();
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 6))), "{codes:?}");
        let found = scene.found(&format!("pair {number}"));
        assert_ne!(found, Found::Unlisted);
    }
}

#[test]
fn devices_pipes_and_folders_are_never_replaced() {
    let place = Workplace::small("atomic_special");
    assert!(Command::new("mkfifo").arg(place.path("pipe.msh")).status().unwrap().success());
    fs::create_dir(place.path("folder.msh")).unwrap();
    std::os::unix::fs::symlink("/dev/null", place.path("device.msh")).unwrap();
    for (name, what) in
        [("pipe.msh", "a pipe"), ("folder.msh", "a folder"), ("device.msh", "a device")]
    {
        let ended =
            place.farad(&format!("mesh generate sphere --elements 72 -o {name} --overwrite"));
        ended.fails(6, &[what, "never replaced"]);
    }
    fs::create_dir_all(place.path("o.out/surface.vtu")).unwrap();
    place
        .farad("solve sphere.toml --output o.out --overwrite")
        .fails(6, &["surface.vtu is a folder"]);
    fs::remove_dir(place.path("o.out/surface.vtu")).unwrap();
    assert!(
        Command::new("mkfifo").arg(place.path("o.out/surface.vtu")).status().unwrap().success()
    );
    place
        .farad("solve sphere.toml --output o.out --overwrite")
        .fails(6, &["surface.vtu is a pipe"]);
    assert_eq!(place.list("o.out"), ["surface.vtu"]);
}

#[test]
fn names_of_255_bytes_are_written() {
    let place = Workplace::new("atomic_names");
    for length in [242, 243, 250, 255] {
        let name = format!("{}.msh", "a".repeat(length - 4));
        place.must(&format!("mesh generate sphere --elements 72 -o {name}"));
        assert!(place.path(&name).is_file());
    }
    let folder = "b".repeat(255);
    place.generate("sphere --elements 72", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    place.must(&format!("solve sphere.toml --output {folder}"));
    place.must(&format!("solve sphere.toml --output {folder}"));
    assert!(place.list(".").iter().all(|name| !name.starts_with('.')));
}

#[test]
fn a_limit_of_file_size_is_an_error_that_leaves_nothing() {
    let place = Workplace::small("atomic_limit");
    let farad = env!("CARGO_BIN_EXE_farad");
    // 2 blocks of 512 or of 1024 bytes, whichever the shell counts in.
    for arguments in
        ["solve sphere.toml --output o.out", "mesh generate sphere --elements 5000 -o big.msh"]
    {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -f 2; exec {farad} {arguments}")]);
        let ended = shell.current_dir(place.path(".")).output().unwrap();
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(6), "{error}");
        assert!(error.contains("cannot write"), "{error}");
        assert_eq!(place.list("."), ["sphere.msh", "sphere.toml"]);
    }
}
