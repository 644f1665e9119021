//! `--deterministic`: the same run gives the same results, to the bit.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::fmm_commands::{cloud, doubles, npy};
use crate::support::Workplace;

/// So many runs at a time on few processors: threads wait for them in another order in each.
const RUNS: usize = 3;

/// Starts the same run several times over, each with a folder of its own for `--output`, and
/// returns what is in these: all files, without what is said of times and memory.
fn repeated(place: &Workplace, arguments: &str) -> Vec<BTreeMap<String, Vec<u8>>> {
    let start = |run: usize| -> Child {
        let line = format!("{arguments} --deterministic --threads 2 --quiet --output run{run}");
        let mut command = place.command(&line);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<Child> = (0..RUNS).map(start).collect();
    for run in started {
        let ended = run.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "farad {arguments}\n{stderr}");
    }
    let content = |run: usize| {
        let folder = format!("run{run}");
        let of_file = |name: String| {
            let bytes = fs::read(place.path(&folder).join(&name)).unwrap();
            let bytes = match name.ends_with(".json") {
                true => untimed(serde_json::from_slice(&bytes).unwrap()).to_string().into_bytes(),
                false => bytes,
            };
            (name, bytes)
        };
        place.list(&folder).into_iter().map(of_file).collect()
    };
    (0..RUNS).map(content).collect()
}

/// Without times, dates and memory, which differ from run to run.
fn untimed(value: Value) -> Value {
    let is_measured = |key: &str| {
        ["timings_s", "memory_bytes", "seconds", "date"].contains(&key) || key.ends_with("_seconds")
    };
    match value {
        Value::Object(of) => {
            let kept = of.into_iter().filter(|(key, _)| !is_measured(key));
            Value::Object(kept.map(|(key, value)| (key, untimed(value))).collect())
        }
        Value::Array(of) => Value::Array(of.into_iter().map(untimed).collect()),
        value => value,
    }
}

/// Asserts that files of repeated runs are the same, and returns their names.
#[track_caller]
fn assert_same(place: &Workplace, arguments: &str) -> Vec<String> {
    let runs = repeated(place, arguments);
    for (number, run) in runs.iter().enumerate() {
        assert!(run.keys().eq(runs[0].keys()), "files of run {number} of farad {arguments}");
        for (name, bytes) in run {
            assert!(*bytes == runs[0][name], "{name} of run {number} of farad {arguments}");
        }
    }
    runs[0].keys().cloned().collect()
}

/// What states have, by fast sums: charges, fields, forces, values at probes.
#[test]
fn states_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_states");
    place.generate("two-spheres --distance 2.3 --grade 3 --elements 900", "two.msh");
    place.case(
        "case.toml",
        "two.msh",
        "[medium]\nrelative_permittivity = 2\n\
         [[conductor]]\nname = \"left\"\ngroup = \"left\"\npotential = 3\n\
         [[conductor]]\nname = \"right\"\ngroup = \"right\"\ncharge = 1e-10\n\
         [external]\nfield = [10, 20, 3]\n\
         [[charge]]\nposition = [0.1, 1.8, 0.3]\ncharge = 1e-10\n\
         [[probe]]\nname = \"line\"\nfrom = [-4, 0.1, 0]\nto = [4, 0.3, 1]\ncount = 200\n\
         [[probe]]\nname = \"box\"\nlow = [-3, -3, 1.5]\nhigh = [3, 3, 3]\ncounts = [20, 20, 20]\n\
         [solver]\nmethod = \"fmm\"\n\
         [output]\nforces = true\npolarisability = true\nvtk_series = true\n",
    );
    let files = assert_same(&place, "solve case.toml");
    for name in ["surface.vtu", "excitations.pvd", "probe_line.csv", "probe_box.vti"] {
        assert!(files.contains(&name.to_owned()), "{name} in {files:?}");
    }
    assert_same(&place, "solve case.toml --method dense");
    let document = place.json("run0/results.json");
    assert_eq!(document["backend"]["deterministic"], true);
    assert_eq!(document["backend"]["used"], "cpu");
    assert!(document["backend"]["simd"].is_string());
    place.must("solve case.toml --quiet --output plain");
    assert_eq!(place.json("plain/results.json")["backend"]["deterministic"], false);
}

/// Layers, whose images far away are summed apart; what follows from the matrix.
#[test]
fn matrices_in_layers_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_layers");
    place.generate("bus --bars 2 --elements 400", "bus.msh");
    place.case(
        "case.toml",
        "bus.msh",
        "[stack]\nat = -4\nbelow = \"ground\"\nabove = 1\n\
         [[layer]]\nthickness = 2\nrelative_permittivity = 11.7\n\
         [[layer]]\nthickness = 14\nrelative_permittivity = 3.9\n\
         [[sensitivity]]\nname = \"bar\"\nshift = \"bar_y1\"\n\
         [[sensitivity]]\nname = \"oxide\"\nlayer = 2\nof = \"thickness\"\n\
         [[film]]\nname = \"skin\"\non = [\"bar_x1\", \"bar_y1\"]\nthickness = 2e-3\n\
         relative_permittivity = 8\n\
         [[reduce]]\nname = \"lower\"\nfloating = [\"bar_y*\"]\n\
         [solver]\nmethod = \"fmm\"\n\
         [output]\nformats = [\"matrix_market\", \"spice\", \"palace\", \"q3d\"]\n",
    );
    assert_same(&place, "solve case.toml");
    // Conductors in two layers, with probes.
    place.case(
        "between.toml",
        "bus.msh",
        "[stack]\nat = -3\nbelow = 11.7\nabove = 1\n\
         [[layer]]\nthickness = 3\nrelative_permittivity = 3.9\n\
         [[conductor]]\nname = \"x\"\ngroup = [\"bar_x1\", \"bar_x2\"]\npotential = 1\n\
         [[conductor]]\nname = \"y\"\ngroup = [\"bar_y1\", \"bar_y2\"]\n\
         [[probe]]\nname = \"line\"\nfrom = [-9, 0.1, 3]\nto = [9, 0.3, 5]\ncount = 100\n\
         [solver]\nmethod = \"fmm\"\n",
    );
    assert_same(&place, "solve between.toml");
}

/// Interfaces, linear densities, planes, curved triangles.
#[test]
fn dielectrics_and_planes_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_dielectrics");
    let coat = "[[dielectric]]\nname = \"coat\"\nrelative_permittivity = 40\ngroup = \"outer\"\n\
         [[conductor]]\nname = \"core\"\ngroup = \"inner\"\npotential = 2\n\
         [[probe]]\nname = \"line\"\nfrom = [-4, 0.1, 0]\nto = [4, 0.3, 1]\ncount = 50\n\
         [output]\nforces = true\n";
    let linear = "[external]\nfield = [0, 0, 300]\n\
         [[charge]]\nposition = [0.2, 1.4, 0.3]\ncharge = 1e-10\n\
         [[sensitivity]]\nname = \"eps\"\npermittivity = \"coat\"\n\
         [[film]]\nname = \"film\"\non = [\"coat\", \"core\"]\nthickness = 1e-3\n\
         relative_permittivity = 4\n\
         [solver]\nmethod = \"fmm\"\ndensity = \"linear\"\n";
    place.generate("concentric-spheres --elements 400", "flat.msh");
    place.case("flat.toml", "flat.msh", &format!("{coat}{linear}"));
    assert_same(&place, "solve flat.toml");
    place.generate("concentric-spheres --elements 200 --order 2", "curved.msh");
    place.case("curved.toml", "curved.msh", &format!("{coat}[solver]\nmethod = \"fmm\"\n"));
    assert_same(&place, "solve curved.toml");
    place.generate("sphere --elements 500", "sphere.msh");
    let plane = |axis: &str, kind: &str| {
        format!("[[plane]]\naxis = \"{axis}\"\nat = -1.5\nkind = \"{kind}\"\n")
    };
    let planes = plane("z", "ground") + &plane("x", "symmetric") + &plane("y", "symmetric");
    let state = "[[conductor]]\nname = \"sphere\"\ngroup = \"sphere\"\npotential = 1000\n\
         [solver]\nmethod = \"fmm\"\n[output]\nforces = true\n";
    place.case("planes.toml", "sphere.msh", &format!("{planes}{state}"));
    assert_same(&place, "solve planes.toml");
}

/// Surfaces made of atoms, charges in molecules, ions.
#[test]
fn molecules_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_molecules");
    place.generate("molecule --atoms 60 --elements 800", "molecule.msh");
    let molecule = "format = 1\n[[molecule]]\npqr = \"molecule.pqr\"\ndensity = 1\n";
    let ions = "stern = 2\n[medium]\nrelative_permittivity = 78.54\nionic_strength = 0.15\n\
         temperature = 298.15\n[output]\ndx = 4\n[solver]\nmethod = \"fmm\"\n";
    place.write("ions.toml", format!("{molecule}{ions}"));
    assert_same(&place, "solve ions.toml");
    let water = "[medium]\nrelative_permittivity = 78.54\ntemperature = 298.15\n\
         [output]\nforces = true\nviewers = [\"pymol\", \"chimerax\"]\ndx = 4\n\
         [solver]\nmethod = \"fmm\"\n";
    place.write("water.toml", format!("{molecule}{water}"));
    assert_same(&place, "solve water.toml");
    let diffusion = "[diffusion]\ntemperature = 298\nviscosity = 8.9e-4\n";
    place.write("diffusion.toml", format!("{molecule}{diffusion}"));
    assert_same(&place, "solve diffusion.toml");
}

/// Meshes that are refined by sums of errors; commands of many solves.
#[test]
fn refinements_studies_and_sweeps_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_refinements");
    place.generate("two-spheres --distance 2.5 --elements 200", "two.msh");
    place.case(
        "case.toml",
        "two.msh",
        "[[conductor]]\nname = \"left\"\ngroup = \"left\"\npotential = 1\n\
         [[conductor]]\nname = \"right\"\ngroup = \"right\"\n\
         [output]\nforces = true\n\
         [[sweep]]\nname = \"gap\"\nvalues = [0, 1]\nmove = \"right\"\nalong = [1, 0, 0]\n",
    );
    assert_same(&place, "solve case.toml --accuracy 1e-2 --method fmm");
    assert_same(&place, "solve case.toml --accuracy 2e-2 --accuracy-of F(left)");
    assert_same(&place, "study case.toml --levels 3 --method fmm");
    assert_same(&place, "sweep case.toml --method fmm");
}

/// Sums over points in space, in single and double precision.
#[test]
fn fast_sums_are_the_same_to_the_bit() {
    let place = Workplace::new("deterministic_sums");
    let charges = cloud(&place, 20_000);
    place.write("charges.npy", npy("<f8", false, "(20000,)", &doubles(&charges)));
    for options in ["--tolerance 1e-5", "--tolerance 1e-8 --gradient"] {
        let start = |run: usize| {
            let files = format!("points.npy charges.npy --overwrite -o sums{run}.npy");
            let line = format!("fmm eval {files} {options} --deterministic --threads 2");
            let mut command = place.command(&line);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let started: Vec<Child> = (0..RUNS).map(start).collect();
        for run in started {
            let ended = run.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        let read = |run: usize| fs::read(place.path(&format!("sums{run}.npy"))).unwrap();
        let first = read(0);
        assert!((1..RUNS).all(|run| read(run) == first), "{options}");
    }
}

#[test]
fn what_is_not_deterministic_is_refused() {
    let place = Workplace::small("deterministic_refused");
    for backend in ["cuda", "hybrid"] {
        let refused =
            place.farad(&format!("solve sphere.toml --deterministic --backend {backend}"));
        refused.fails(2, &["--deterministic", backend, "whatever order they come"]);
    }
    let refused = place.farad("solve sphere.toml --deterministic --gpus 2");
    refused.fails(2, &["--deterministic", "--gpus"]);
    let refused = place.farad("solve sphere.toml --deterministic --accuracy 1e-2 --max-time 9");
    refused.fails(2, &["--deterministic", "--max-time"]);
    assert!(!place.path("sphere.out").exists());
}
