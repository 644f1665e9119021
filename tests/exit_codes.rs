//! Each exit code, as `farad --help` documents it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::support::Workplace;

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
        "fmm bench --n 0 --distribution cube --tolerance 1e-3",
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
}

#[test]
fn io_is_6() {
    let place = Workplace::small("exit_io");
    place.farad("solve none.toml").fails(6, &["none.toml"]);
    place.farad("mesh info none.msh").fails(6, &["none.msh"]);
    place.write("taken", "a file");
    place.farad("solve sphere.toml --output taken").fails(6, &["taken is a file"]);
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
        let bench = "fmm bench --n 10 --distribution cube --tolerance 1e-3 --backend";
        assert_eq!(place.farad(&format!("{bench} {backend}")).code, 8);
    }
    let results = place.solve("sphere.toml");
    assert_eq!(results["backend"]["requested"], "auto");
    assert_eq!(results["backend"]["used"], "cpu");
}

#[cfg(unix)]
#[test]
fn interrupted_is_7_and_leaves_nothing_behind() {
    let place = Workplace::new("exit_interrupt");
    place.generate("sphere --elements 40000 --binary", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let arguments = "solve sphere.toml --method fmm --tolerance 1e-10 -v";
    let mut child = place.command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let solving = lines.by_ref().map_while(Result::ok).any(|line| line.contains("solving"));
    assert!(solving, "the log does not say when the solve begins");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(7), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("interrupted")), "{rest:?}");
    assert!(!place.path("sphere.out").exists());
}
