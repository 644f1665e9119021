//! Each exit code, as `farad --help` documents it.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Ended, Workplace};

#[test]
fn help_documents_all_codes() {
    let help = Workplace::new("exit_help").must("--help").stdout;
    for (code, word) in [
        (0, "success"),
        (2, "usage"),
        (3, "bad input"),
        (4, "not converged"),
        (5, "memory"),
        (6, "I/O"),
        (7, "interrupted"),
        (8, "no GPU"),
    ] {
        assert!(help.contains(&format!("  {code}  {word}")), "{code}: {help}");
    }
}

#[test]
fn usage_is_2() {
    let place = Workplace::small("exit_usage");
    for arguments in [
        "",
        "solve",
        "frobnicate",
        "solve sphere.toml --tolerance 2",
        "solve sphere.toml --threads 0",
        "solve sphere.toml --method quick",
        "solve sphere.toml --json --dry-run",
        "mesh generate sphere -o a.msh",
        "mesh generate sphere --size 1 --elements 8 -o a.msh",
        "fmm bench --points 0 --distribution cube --tolerance 1e-3",
    ] {
        assert_eq!(place.farad(arguments).code, 2, "farad {arguments}");
    }
}

#[test]
fn bad_input_is_3() {
    let place = Workplace::new("exit_input");
    place.write("broken.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n");
    place.case("broken.toml", "broken.msh", "");
    place.farad("solve broken.toml").fails(3, &["broken.msh", "line"]);
    place.farad("mesh info broken.msh").fails(3, &["broken.msh"]);
}

#[test]
fn not_converged_is_4_and_keeps_the_partial_results() {
    let place = Workplace::new("exit_converged");
    place.generate("two-spheres --elements 400", "two.msh");
    place.case("two.toml", "two.msh", "[solver]\nmax_iterations = 1\nmethod = \"fmm\"");
    let ended = place.farad("solve two.toml --tolerance 1e-9");
    ended.fails(
        4,
        &[
            "2 of 2 solves did not converge",
            "\"left\" at 1 V: the iteration limit was reached",
            "max_iterations",
            "two.out",
        ],
    );
    let results = place.json("two.out/results.json");
    assert_eq!(results["status"], "not_converged");
    assert_eq!(results["solves"][0]["converged"], false);
    assert_eq!(results["solves"][0]["reason"], "max_iterations");
    assert!(place.path("two.out/surface.vtu").is_file());
}

#[test]
fn memory_is_5() {
    let place = Workplace::new("exit_memory");
    place.generate("sphere --elements 3000", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    // The octahedron gives 2888 triangles: a dense matrix of 8 x 2888^2 bytes.
    let ended = place.farad("solve sphere.toml --method dense --memory-limit 0.01");
    ended.fails(5, &["the dense matrix needs 63.6 MiB", "10.2 MiB", "--memory-limit"]);
    assert!(!place.path("sphere.out").exists());
    // Values at probes count, before anything is solved.
    let probe = "[external]\nfield = [0, 0, 1]\n[[probe]]\nname = \"p\"\nlow = [2, 2, 2]\nhigh = [3, 3, 3]\ncounts = [200, 200, 100]";
    place.case("probes.toml", "sphere.msh", probe);
    let ended = place.farad("solve probes.toml --memory-limit 0.1");
    ended.fails(5, &["4,000,000 points of probes", "102 MiB", "fewer points"]);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_refuses_is_5() {
    let place = Workplace::new("exit_refused");
    place.generate("sphere --elements 20000 --binary", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "[solver]\nmethod = \"dense\"");
    let limited = |kibibytes: u64, arguments: &str| {
        let farad = env!("CARGO_BIN_EXE_farad");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {kibibytes}; exec {farad} {arguments}")]);
        Ended::from(shell.current_dir(place.path(".")).stdin(Stdio::null()).output().unwrap())
    };
    // 8 x 20,000^2 bytes are 3.2 GB: refused by the limit that `ulimit` sets, and with a larger
    // --memory-limit, by the system.
    limited(1_500_000, "solve sphere.toml").fails(5, &["the dense matrix needs", "--memory-limit"]);
    let ended = limited(1_500_000, "solve sphere.toml --memory-limit 100");
    ended.fails(5, &["out of memory", "refused", "--method fmm"]);
    assert_eq!(place.list("."), ["sphere.msh", "sphere.toml"]);
    for sizes in ["--n 1000000000000", "--n 18446744073709551615", "--n 1000 --densities 1e12"] {
        let ended =
            limited(6_000_000, &format!("fmm bench {sizes} --distribution cube --tolerance 1e-3"));
        ended.fails(5, &["the sum of", "ask for fewer"]);
    }
    let repeat =
        "fmm bench --points 100 --repeat 18446744073709551615 --distribution cube --tolerance 1e-3";
    limited(6_000_000, repeat).fails(2, &["at most 1000000"]);
}

/// Memory that is refused at any moment of a run, above all while the table of temporary files is
/// written to: with a folder of so long a name, paths take most of the memory.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_refused_at_any_moment_ends_the_run() {
    let place = Workplace::small("exit_refused_moments");
    let library = place.faults();
    let folder = format!("{}/o", ["d".repeat(200), "e".repeat(200), "f".repeat(200)].join("/"));
    let command =
        format!("solve sphere.toml -o {folder} --threads 1 --checkpoint-interval 0 --quiet");
    let refused = |number: usize| {
        let mut run = place.command(&command);
        run.env("LD_PRELOAD", &library).env("FAULT_REFUSE", format!("600 999 {number}"));
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run
    };
    let demands = place.path("demands");
    assert!(refused(0).env("FAULT_DEMANDS", &demands).status().unwrap().success());
    let demands: usize = place.read("demands").parse().unwrap();
    let mut left = 0;
    let mut codes = std::collections::BTreeMap::<_, usize>::new();
    for number in (1..=demands).step_by(demands.div_ceil(25)) {
        fs::remove_dir_all(place.path(&folder)).unwrap();
        let mut run = refused(number).spawn().unwrap();
        let begun = Instant::now();
        let ended = loop {
            if let Some(ended) = run.try_wait().unwrap() {
                break ended;
            }
            if begun.elapsed() > Duration::from_secs(30) {
                run.kill().unwrap();
                panic!("refused memory for the time {number} of {demands}, the run never ends");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        *codes.entry(ended.code()).or_default() += 1;
        // The C library asks for some of it, which comes as an error of a call.
        assert!(matches!(ended.code(), Some(0 | 5 | 6)), "{number} of {demands}: {ended}");
        let _ = fs::create_dir(place.path(&folder));
        let is_left = |name: &String| name.starts_with(".farad-tmp");
        left += usize::from(place.list(&folder).iter().any(is_left));
    }
    assert!(codes[&Some(5)] > 5, "{codes:?}");
    // Nothing is touched while results take their place, at the end; the next run does the rest.
    assert!(4 * left < codes[&Some(5)], "{left} of {codes:?}");
    place.must(&command);
    assert!(!place.list(&folder).iter().any(|name| name.starts_with(".farad")));
}

#[test]
fn more_threads_than_the_machine_has_are_not_started() {
    let place = Workplace::small("exit_threads");
    let most = std::thread::available_parallelism().unwrap().get();
    let ended = place.must("solve sphere.toml --threads 4000");
    let told = format!("4000 threads were asked for; {most} are used");
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    assert_eq!(place.json("sphere.out/results.json")["backend"]["threads"], most);
    let mut command = place.command("solve sphere.toml --json");
    let output = command.env("RAYON_NUM_THREADS", "1000000").output().unwrap();
    assert_eq!(Ended::from(output).code, 0);
}

#[test]
fn numbers_on_the_command_line_are_explained() {
    let place = Workplace::small("exit_numbers");
    let bench = "fmm bench --distribution cube --tolerance 1e-3";
    place.must(&format!("{bench} --n 1e2"));
    place.farad(&format!("{bench} --n 1.5")).fails(2, &["must be a whole number"]);
    place.farad("solve sphere.toml --threads 0").fails(2, &["must be 1 or greater"]);
}

/// Of a checkout it is that of git; results name the program's, too.
#[test]
fn the_version_has_the_commit() {
    let place = Workplace::small("exit_version");
    let told = place.must("--version").stdout;
    let commit =
        told.trim().strip_prefix(concat!("farad ", env!("CARGO_PKG_VERSION"), " (commit "));
    let commit = commit.and_then(|commit| commit.strip_suffix(')')).unwrap().to_owned();
    let is_hash = commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_checkout = crate::support::repository().join(".git").is_dir();
    assert!(is_hash || !is_checkout && commit == "unknown", "{told}");
    assert!(place.must("info").stdout.contains(&commit));
    let made = place.solve("sphere.toml")["made"].clone();
    assert_eq!(made["commit"], commit.as_str());
    // The year of the clock.
    let date = made["date"].as_str().unwrap();
    assert!(date.len() == 20 && date[..4].parse::<u32>().unwrap() > 2025 && date.ends_with('Z'));
    assert_eq!(
        crate::support::keys(&made),
        ["commit", "date", "processor", "processors", "system"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_6() {
    let place = Workplace::new("exit_full");
    for arguments in ["--help", "--version", "solve --help", "completions bash", "schema", "info"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = place.command(arguments).stdout(full).output().unwrap();
        Ended::from(ended).fails(6, &["cannot write to standard output"]);
    }
    // Results that exist all the same are reported.
    let place = Workplace::small("exit_full_table");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = place.command("solve sphere.toml").stdout(full).output().unwrap();
    Ended::from(ended).fails(6, &["standard output", "the results are written, in sphere.out"]);
    assert_eq!(place.json("sphere.out/results.json")["status"], "complete");
}

#[test]
fn io_is_6() {
    let place = Workplace::small("exit_io");
    place.farad("solve none.toml").fails(6, &["none.toml"]);
    place.farad("mesh info none.msh").fails(6, &["none.msh"]);
    #[cfg(unix)]
    place.farad("solve /dev/zero").fails(6, &["/dev/zero is not a file but a device or a pipe"]);
    place.farad("report .").fails(6, &["holds no results: there is no results.json"]);
    place.write("taken", "a file");
    place
        .farad("solve sphere.toml --output taken")
        .fails(6, &["the output folder taken is a file"]);
    place.farad("solve sphere.toml --output taken/deeper").fails(6, &["taken"]);
    place.farad("fmm eval a.npy b.npy --tolerance 1e-3 -o c.npy").fails(6, &["a.npy"]);
}

#[test]
fn a_gpu_asked_for_is_8() {
    let place = Workplace::small("exit_gpu");
    for backend in ["cuda", "hybrid"] {
        // Nor is there one with this number where there are some.
        let backend = format!("{backend} --gpu 99");
        let ended = place.farad(&format!("solve sphere.toml --backend {backend}"));
        let name = backend.trim_end_matches(" --gpu 99");
        ended.fails(8, &[&format!("no GPU for --backend {name}")]);
        let bench = "fmm bench --points 10 --distribution cube --tolerance 1e-3 --backend";
        assert_eq!(place.farad(&format!("{bench} {backend}")).code, 8);
    }
    let ended = place.farad("solve sphere.toml --gpus 99");
    let words = ["no GPU for --gpus: ", "--gpus 99 of "];
    assert!(
        ended.code == 8 && words.iter().any(|part| ended.stderr.contains(part)),
        "{}",
        ended.stderr
    );
    let results = place.solve("sphere.toml");
    assert_eq!(results["backend"]["requested"], "auto");
    assert_eq!(results["backend"]["used"], "cpu");
}

/// A run that has begun to solve, and what it logs from there on.
#[cfg(unix)]
fn solving(mut command: Command) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let solving = lines.by_ref().map_while(Result::ok).any(|line| line.contains("solving"));
    assert!(solving, "the log does not say when the solve begins");
    (child, lines)
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[cfg(unix)]
#[test]
fn ignored_signals_stay_ignored() {
    let place = Workplace::new("exit_nohup");
    place.generate("sphere --elements 5000 --binary", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "[solver]\nmethod = \"fmm\"");
    // As `nohup` and background jobs of shells have it.
    for signal in ["HUP", "INT"] {
        let farad = env!("CARGO_BIN_EXE_farad");
        let mut shell = Command::new("sh");
        shell.current_dir(place.path("."));
        shell.args(["-c", &format!("trap '' {signal}; exec {farad} solve sphere.toml -v")]);
        let (mut child, lines) = solving(shell);
        send(&format!("-{signal}"), &child);
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}: {rest:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_run_at_once_and_leaves_nothing() {
    let place = Workplace::new("exit_twice");
    place.generate("sphere --elements 40000 --binary", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let command = place.command("solve sphere.toml --method fmm --tolerance 1e-10 -v");
    let (mut child, lines) = solving(command);
    send("-TERM", &child);
    // Two that arrive together are one.
    std::thread::sleep(Duration::from_millis(20));
    send("-TERM", &child);
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(place.list("."), ["sphere.msh", "sphere.toml"]);
}

#[cfg(unix)]
#[test]
fn interrupted_is_7_and_leaves_nothing_behind() {
    let place = Workplace::new("exit_interrupt");
    place.generate("sphere --elements 40000 --binary", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let arguments = "solve sphere.toml --method fmm --tolerance 1e-10 -v";
    let (mut child, lines) = solving(place.command(arguments));
    send("-TERM", &child);
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(7), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("interrupted")), "{rest:?}");
    assert!(!place.path("sphere.out").exists());
}

#[test]
fn errors_are_json_for_those_who_asked_for_json() {
    let place = Workplace::small("exit_json");
    place.case("wrong.toml", "sphere.msh", "[[conductor]]\nname = \"a\"\ngroup = \"none\"\n");
    for (arguments, code, part) in [
        ("solve wrong.toml --json", 3, "none"),
        ("solve nowhere.toml --json", 6, "nowhere.toml"),
        ("solve sphere.toml --json --threads 0", 2, "must be 1 or greater"),
        ("solve sphere.toml --json --method dense --memory-limit 1e-6", 5, "the dense matrix"),
    ] {
        let ended = place.farad(arguments);
        ended.fails(code, &[part]);
        let error: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(error["schema"], "farad-error/1");
        assert_eq!(error["exit"], code);
        let told = error.to_string();
        assert!(told.contains(part), "{told}");
    }
    // What has been printed as JSON already is not followed by more.
    let case = "[solver]\nmethod = \"fmm\"\nmax_iterations = 1\n";
    place.case("hard.toml", "sphere.msh", case);
    let ended = place.farad("solve hard.toml --json --tolerance 1e-11");
    assert_eq!(ended.code, 4, "{}", ended.stderr);
    let results: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(results["status"], "not_converged");
}

/// Messages say what is wrong with an option, not only that it is wrong.
#[test]
fn wrong_options_are_reported_in_their_words() {
    let place = Workplace::small("exit_words");
    for (arguments, part) in [
        ("solve sphere.toml --tolerance 2", "must be from 1e-12 to 0.1"),
        ("solve sphere.toml --tolerance x", "must be a number such as 1e-6"),
        ("solve sphere.toml --accuracy x", "must be a number such as 1e-3"),
        (
            "solve sphere.toml --resume --checkpoint-interval x",
            "must be a number of seconds from 0 on",
        ),
        ("solve sphere.toml --memory-limit 0", "must be a number of GiB greater than 0"),
        ("mesh generate sphere --size 0 -o x.msh", "must be greater than 0"),
        ("mesh generate sphere --size x -o x.msh", "must be a number"),
        (
            "solve sphere.toml --gpus 2 --backend cpu",
            "--gpus asks for GPUs, --backend cpu for none",
        ),
        (
            "solve sphere.toml --gpus 2 --deterministic",
            "--deterministic asks for sums that are added in a fixed order, and those on GPUs are not",
        ),
        (
            "solve sphere.toml --accuracy 1e-2 --max-time 5 --deterministic",
            "--deterministic gives the same results each time, but a time limit depends on",
        ),
        (
            "fmm bench --points 100 --distribution cube --tolerance 1e-3 --repeat 2000000",
            "must be at most 1000000",
        ),
        (
            "fmm bench --points 100 --distribution cube --tolerance 1e-3 --kappa=-1",
            "must be a finite number, 0 or more",
        ),
        ("fgt bench --points 100 --tolerance 1e-3 --bandwidth x", "must be a number"),
        ("fgt bench --points 100 --tolerance 1e-3 --bandwidth 0", "must be positive"),
        (
            "fgt bench --points 100 --tolerance 1e-3 --bandwidth 0.1 --spread 0.5",
            "must be 1 to 1e20",
        ),
        ("fgt bench --points 100 --tolerance 1e-3 --bandwidth 0.1 --spread x", "must be a number"),
        ("mesh repair sphere.msh -o y.msh --tolerance x", "not a number"),
        ("mesh repair sphere.msh -o y.msh --tolerance 1", "must lie between 0 and 0.5"),
        ("mesh repair sphere.msh -o y.msh --drop-cavities-below=-1", "must be a volume, 0 or more"),
    ] {
        place.farad(arguments).fails(2, &[part]);
    }
    let ended = place.must("mesh generate cube --elements 12 --order 2 -o cube.msh");
    let note = "--order has no effect: this shape is flat, and so are its triangles";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

/// A launcher says in the environment that it started several.
#[test]
fn processes_that_cannot_share_a_command_are_refused() {
    let place = Workplace::small("exit_launched");
    let launched = |arguments: &str| {
        let mut command = place.command(arguments);
        command.envs([("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", "0")]);
        Ended::from(command.output().unwrap())
    };
    let part = "2 processes of farad mesh were started together, but it runs in one";
    launched("mesh info sphere.msh").fails(2, &[part]);
    let part = "2 processes were started together, but this farad is built without MPI";
    if cfg!(not(feature = "mpi")) {
        launched("solve sphere.toml").fails(2, &[part]);
    }
}
