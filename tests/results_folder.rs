//! The output folder: what is in it, and what is never touched.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::support::{Workplace, keys, matrix};

const FILES: [&str; 8] = [
    "capacitance_maxwell.csv",
    "capacitance_maxwell_error.csv",
    "capacitance_mutual.csv",
    "capacitance_mutual_error.csv",
    "case.resolved.toml",
    "residuals.csv",
    "results.json",
    "surface.vtu",
];

#[test]
fn the_folder_is_next_to_the_case_and_holds_what_results_json_lists() {
    let place = Workplace::small("folder_default");
    place.case("sub/sphere.toml", "../sphere.msh", "");
    place.must("solve sub/sphere.toml");
    assert_eq!(place.list("sub/sphere.out"), FILES);
    let mut listed: Vec<String> =
        serde_json::from_value(place.json("sub/sphere.out/results.json")["files"].clone()).unwrap();
    listed.sort();
    assert_eq!(listed, FILES);
}

#[test]
fn output_is_relative_to_the_current_folder_and_directory_to_the_case() {
    let place = Workplace::small("folder_relative");
    place.case("sub/sphere.toml", "../sphere.msh", "[output]\ndirectory = \"named\"");
    place.must("solve sub/sphere.toml");
    assert_eq!(place.list("sub/named"), FILES);
    place.must("solve sub/sphere.toml --output here");
    assert_eq!(place.list("here"), FILES);
}

#[test]
fn only_files_of_the_earlier_run_are_replaced() {
    let place = Workplace::small("folder_replace");
    place.must("solve sphere.toml");
    place.write("sphere.out/notes.txt", "mine");
    let before = place.json("sphere.out/results.json");
    place.must("solve sphere.toml --tolerance 1e-4");
    assert_ne!(place.json("sphere.out/results.json"), before);
    assert_eq!(place.read("sphere.out/notes.txt"), "mine");

    // A run that writes fewer files takes the older ones away: nothing stale lies next to new
    // results.
    place.case("sphere.toml", "sphere.msh", "[output]\nvtk = \"none\"");
    place.must("solve sphere.toml");
    assert!(!place.path("sphere.out/surface.vtu").exists());

    // A file of that name that no run wrote is a stranger.
    place.write("sphere.out/surface.vtu", "mine");
    place.case("sphere.toml", "sphere.msh", "");
    let ended = place.farad("solve sphere.toml");
    ended.fails(6, &["surface.vtu", "--overwrite"]);
    assert_eq!(place.read("sphere.out/surface.vtu"), "mine");
    place.must("solve sphere.toml --overwrite");
    assert_ne!(place.read("sphere.out/surface.vtu"), "mine");
    assert_eq!(place.read("sphere.out/notes.txt"), "mine");
}

#[test]
fn a_folder_of_something_else_needs_overwrite() {
    let place = Workplace::small("folder_foreign");
    place.write("work/thesis.tex", "years");
    place.farad("solve sphere.toml --output work").fails(6, &["work", "--overwrite"]);
    assert_eq!(place.list("work"), ["thesis.tex"]);
    place.write("work/results.json", "{\"mine\": true}");
    assert_eq!(place.farad("solve sphere.toml --output work").code, 6);
    place.must("solve sphere.toml --output work --overwrite");
    assert_eq!(place.read("work/thesis.tex"), "years");
    // An empty folder is nobody's.
    std::fs::create_dir(place.path("empty")).unwrap();
    place.must("solve sphere.toml --output empty");
}

#[test]
fn a_listed_path_that_leads_out_of_the_folder_is_not_followed() {
    let place = Workplace::small("folder_traversal");
    place.write("precious.txt", "keep");
    let index = json!({"schema": "farad-results/1", "files": ["../precious.txt", "results.json"]});
    place.write("out/results.json", index.to_string());
    place.must("solve sphere.toml --output out");
    assert_eq!(place.read("precious.txt"), "keep");
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Workplace::small("folder_dry");
    let before = place.list(".");
    let ended = place.must("solve sphere.toml --dry-run");
    assert_eq!(place.list("."), before);
    for part in ["[solver]", "72 triangles", "# 72 unknowns", "sphere.out", "# cpu: about "] {
        assert!(ended.stdout.contains(part), "no \"{part}\" in\n{}", ended.stdout);
    }
    let linear = place.must("solve sphere.toml --dry-run --density linear");
    assert!(linear.stdout.contains("# 216 unknowns"), "{}", linear.stdout);
    place.write("work/thesis.tex", "years");
    assert_eq!(place.farad("solve sphere.toml --dry-run --output work").code, 6);
}

#[test]
fn json_alone_is_on_stdout_and_equals_the_file() {
    let place = Workplace::small("folder_json");
    let ended = place.must("solve sphere.toml --json -v");
    assert_eq!(ended.stdout, place.read("sphere.out/results.json"));
    let quiet = place.must("solve sphere.toml --quiet");
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn molecules_have_every_key_of_theirs() {
    let place = Workplace::new("folder_molecule");
    place.write("ion.pqr", "ATOM 1 NA ION 1 0 0 0 1 2\n");
    let liquid = "[diffusion]\ntemperature = 300\nviscosity = 1e-3\n";
    place.write("ion.toml", format!("format = 1\n[[molecule]]\npqr = \"ion.pqr\"\n{liquid}"));
    let results = place.solve("ion.toml");
    let energy = "energy_j energy_kcal_per_mol energy_kj_per_mol energy_kt";
    for (pointer, names) in [
        (
            "/solvation",
            "charges coulomb energy_error_j energy_error_kcal_per_mol energy_error_kj_per_mol energy_error_kt energy_j energy_kcal_per_mol energy_kj_per_mol energy_kt molecules temperature_k total",
        ),
        ("/solvation/coulomb", energy),
        ("/solvation/total", energy),
        (
            "/solvation/molecules/0",
            "atoms charge_e coulomb energy_kcal_per_mol energy_kj_per_mol energy_kt least_distance_m name total",
        ),
        (
            "/hydrodynamics",
            "capacity capacity_error diffusion_m2_per_s friction_kg_per_s hydrodynamic_radius_m viscosity",
        ),
        (
            "/hydrodynamics/viscosity",
            "intrinsic_conductivity intrinsic_viscosity prefactor viscometric_radius_m volume_m3",
        ),
    ] {
        let names: Vec<_> = names.split(' ').collect();
        assert_eq!(keys(results.pointer(pointer).unwrap()), names, "{pointer}");
    }
}

#[test]
fn results_json_has_every_key_of_its_schema() {
    let place = Workplace::small("folder_schema");
    for method in ["dense", "fmm"] {
        let results = place.solve(&format!("sphere.toml --method {method} --threads 1"));
        assert_eq!(results["schema"], "farad-results/1");
        assert_eq!(results["status"], "complete");
        assert_eq!(results["case"], "../sphere.toml");
        assert_eq!(results["solver"], json!({ "method": method, "density": "constant" }));
        assert_eq!(results["backend"]["threads"], 1);
        let expected = [
            ("/backend", "deterministic device fallback requested simd threads used"),
            ("/mesh", "conductors triangles unit"),
            ("/mesh/conductors/0", "area_m2 closed name triangles"),
            (
                "/capacitance",
                "columns conductors maxwell_farad maxwell_farad_error maxwell_over_4pi_eps0 maxwell_over_4pi_eps0_error mutual_farad mutual_farad_error relative_asymmetry",
            ),
            ("/solves/0", "converged excitation iterations reason relative_residual"),
            (
                "/accuracy",
                "fmm_error_potential_v fmm_error_sampled fmm_tolerance gauss_defect solver_tolerance",
            ),
            (
                "/timings_s",
                "error_estimate evaluation fmm_check matvec_mean near_field output plan read self_checks solve total",
            ),
            ("/memory_bytes", "peak"),
            (
                "",
                "accuracy backend capacitance case case_text charges files films forces hydrodynamics made media memory_bytes mesh polarisability probes program reductions refinement schema sensitivities solvation solver solves status timings_s title warnings",
            ),
        ];
        for (pointer, names) in expected {
            let names: Vec<_> = names.split(' ').collect();
            assert_eq!(keys(results.pointer(pointer).unwrap()), names, "{pointer}");
        }
        let dense = method == "dense";
        assert_eq!(results["accuracy"]["fmm_error_sampled"].is_null(), dense);
        assert_eq!(results["accuracy"]["fmm_tolerance"].is_null(), dense);
        // Of an excitation of 1 V: within the solver's tolerance.
        let volt = results["accuracy"]["fmm_error_potential_v"].as_f64();
        assert_eq!(volt.is_none(), dense);
        assert!(volt.is_none_or(|volt| volt > 1e-10 && volt < 1e-6), "{volt:?}");
    }
}

#[test]
fn tables_repeat_the_matrices_with_names_and_unit() {
    let place = Workplace::new("folder_tables");
    place.generate("two-spheres --elements 144", "two.msh");
    place.case("two.toml", "two.msh", "");
    let results = place.solve("two.toml");
    for (file, key, word) in [
        ("capacitance_maxwell.csv", "maxwell_farad", "Maxwell"),
        ("capacitance_mutual.csv", "mutual_farad", "SPICE"),
        ("capacitance_maxwell_error.csv", "maxwell_farad_error", "Maxwell"),
        ("capacitance_mutual_error.csv", "mutual_farad_error", "mutual"),
    ] {
        let text = place.read(&format!("two.out/{file}"));
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert!(rows[0][0].starts_with("unit: farad; ") && rows[0][0].contains(word), "{text}");
        assert_eq!(rows[0][1..], ["left", "right"]);
        assert_eq!([rows[1][0], rows[2][0]], ["left", "right"]);
        let numbers: Vec<Vec<f64>> = rows[1..]
            .iter()
            .map(|row| row[1..].iter().map(|x| x.parse().unwrap()).collect())
            .collect();
        let expected = matrix(&results["capacitance"][key]);
        for (number, expected) in numbers.iter().flatten().zip(expected.iter().flatten()) {
            // serde_json reads numbers to the last digit or the one before.
            assert!((number / expected - 1.0).abs() < 1e-15, "{text}");
        }
    }
    let residuals = place.read("two.out/residuals.csv");
    assert!(residuals.starts_with(
        "excitation,iteration,relative_residual,ended_as,residual_at_end\nleft,0,1e0,,\n"
    ));
    // The file ends at the number that the other results have.
    let last = results["solves"][1]["relative_residual"].as_f64().unwrap();
    let cells: Vec<&str> = residuals.lines().last().unwrap().split(',').collect();
    assert_eq!(cells[3], "converged");
    assert!((cells[4].parse::<f64>().unwrap() / last - 1.0).abs() < 1e-15, "{cells:?}, {last}");
}

#[test]
fn the_surface_is_compressed_binary_with_wide_headers_and_units_in_its_names() {
    let place = Workplace::small("folder_surface");
    place.must("solve sphere.toml");
    let text = place.read("sphere.out/surface.vtu");
    for part in [
        "header_type=\"UInt64\"",
        "compressor=\"vtkZLibDataCompressor\"",
        "format=\"binary\"",
        "\"charge density, sphere at 1 V [C/m^2]\"",
        "\"potential, sphere at 1 V [V]\"",
        "\"conductor id\"",
        "\"body id\"",
        "<CellData Scalars=\"charge density, sphere at 1 V [C/m^2]\">",
        "\"area [m^2]\"",
    ] {
        assert!(text.contains(part), "no {part}");
    }
    place.case("plain.toml", "sphere.msh", "[output]\nvtk = \"plain\"");
    place.must("solve plain.toml");
    assert!(!place.read("plain.out/surface.vtu").contains("compressor"));
}

/// An array of an uncompressed VTK file, each element's bytes read by `number`.
fn array<const N: usize>(text: &str, name: &str, number: fn([u8; N]) -> f64) -> Vec<f64> {
    let (_, rest) = text.split_once(&format!("Name=\"{name}\"")).unwrap();
    let content = rest.split(['>', '<']).nth(1).unwrap();
    let bytes = base64::prelude::BASE64_STANDARD.decode(content).unwrap();
    // 8 bytes say how many follow.
    bytes[8..].as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
}

#[test]
fn a_coat_is_a_body_and_its_charge_is_seen() {
    let place = Workplace::new("folder_coat");
    place.generate("concentric-spheres --elements 400", "coat.msh");
    let dielectric =
        "[[dielectric]]\nname = \"coat\"\ngroup = \"outer\"\nrelative_permittivity = 4\n";
    let conductor =
        "[[conductor]]\nname = \"core\"\ngroup = \"inner\"\n[output]\nvtk = \"plain\"\n";
    place.case("coat.toml", "coat.msh", &format!("{dielectric}{conductor}"));
    let results = place.solve("coat.toml");
    let capacitance = results["capacitance"]["maxwell_farad"][0][0].as_f64().unwrap();
    let text = place.read("coat.out/surface.vtu");
    let all = "charge density, free and bound, core at 1 V [C/m^2]";
    assert!(text.contains(&format!("<CellData Scalars=\"{all}\">")), "{all}");
    let body = array(&text, "body id", |bytes: [u8; 4]| f64::from(i32::from_le_bytes(bytes)));
    let area = array(&text, "area [m^2]", f64::from_le_bytes);
    let density = array(&text, all, f64::from_le_bytes);
    let on = |wanted: f64| -> f64 {
        let each = body.iter().zip(area.iter().zip(&density));
        each.filter(|(body, _)| **body == wanted).map(|(_, (area, density))| area * density).sum()
    };
    // Bound charge adds up to nothing, and what lies on the outside is Q (1 - 1/eps_r), by Gauss's
    // law on both faceted spheres, which the solver keeps to its tolerance of 1e-6.
    assert!(((on(0.0) + on(1.0)) / capacitance - 1.0).abs() < 3e-6, "{} {}", on(0.0), on(1.0));
    assert!((on(1.0) / capacitance - 0.75).abs() < 3e-6, "{}", on(1.0) / capacitance);
}

/// Names that a terminal, a spreadsheet, XML or TOML takes for something else.
const HOSTILE: [&str; 12] = [
    "\u{1b}[31mred\u{1b}]0;owned\u{7}",
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "-2+3",
    "+1+1",
    "\u{fffe}\u{ffff}",
    "\u{7f}\u{85}\u{9b}",
    "\u{202e}gnp.exe",
    "a\"b<c>&]]>--",
    "tab\there, comma",
    "cr\rin\u{b}vt",
    "back\\slash '''",
];

/// A mesh of small tetrahedra, each a group of its own.
fn tetrahedra(names: &[&str]) -> String {
    let count = names.len();
    let mut text = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{count}\n");
    for (k, name) in names.iter().enumerate() {
        text += &format!("2 {} \"{name}\"\n", k + 1);
    }
    text += &format!("$EndPhysicalNames\n$Nodes\n{}\n", 4 * count);
    for k in 0..count {
        for (i, [x, y, z]) in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].iter().enumerate() {
            text += &format!("{} {} {y} {z}\n", 4 * k + i + 1, x + 3 * k);
        }
    }
    text += &format!("$EndNodes\n$Elements\n{}\n", 4 * count);
    for k in 0..count {
        for (i, corners) in [[1, 3, 2], [1, 2, 4], [2, 3, 4], [1, 4, 3]].iter().enumerate() {
            let [a, b, c] = corners.map(|corner| 4 * k + corner);
            text += &format!("{} 2 2 {1} {1} {a} {b} {c}\n", 4 * k + i + 1, k + 1);
        }
    }
    text + "$EndElements\n"
}

/// Two triangles with a common side, each a group of its own.
fn touching(names: [&str; 2]) -> String {
    let [a, b] = names;
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"{a}\"\n2 2 \"{b}\"\n$EndPhysicalNames\n\
         $Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
         $Elements\n2\n1 2 2 1 1 1 2 3\n2 2 2 2 2 1 2 4\n$EndElements\n"
    )
}

#[test]
fn names_do_nothing_but_be_read() {
    let place = Workplace::new("folder_names");
    for (k, name) in HOSTILE.iter().enumerate() {
        place.write("n.msh", tetrahedra(&[name, "other"]));
        let more = "[external]\nfield = [0, 0, 1]\n[output]\nforces = true\nvtk = \"plain\"\n";
        place.case("n.toml", "n.msh", more);
        let acts = |text: &str| {
            let turns = '\u{202a}'..='\u{202e}';
            text.chars().any(|c| (c.is_control() && !"\n\t".contains(c)) || turns.contains(&c))
        };
        for arguments in
            ["mesh info n.msh", "solve n.toml", "solve n.toml --json", "solve n.toml --dry-run"]
        {
            let ended = place.must(arguments);
            let told = ended.stdout + &ended.stderr;
            assert!(!acts(&told), "{arguments}, {name:?}: {told:?}");
        }
        // Verdicts on groups that are open and touch along a line.
        place.write("open.msh", touching([name, "other"]));
        let ended = place.must("mesh check open.msh");
        assert!(ended.stdout.contains("touch along a line"), "{}", ended.stdout);
        assert!(!acts(&ended.stdout), "{name:?}: {:?}", ended.stdout);
        // Errors too.
        let unknown = format!("{more}[[conductor]]\nname = \"a\"\ngroup = \"none\"\n");
        place.case("wrong.toml", "n.msh", &unknown);
        let ended = place.farad("solve wrong.toml");
        ended.fails(3, &["none"]);
        assert!(!acts(&ended.stderr), "{:?}", ended.stderr);

        let results = place.json("n.out/results.json");
        let named = results["capacitance"]["conductors"][0].as_str().unwrap().to_owned();
        let table = place.read("n.out/capacitance_maxwell.csv");
        let header = table.lines().next().unwrap();
        let first = header.split(',').nth(1).unwrap().trim_start_matches('"');
        assert!(!first.starts_with(['=', '+', '-', '@']), "{header}");
        // Nor does any table act on the terminal that shows it, or break its lines: as many fields
        // everywhere.
        let tables: Vec<String> =
            place.list("n.out").into_iter().filter(|file| file.ends_with(".csv")).collect();
        assert!(tables.len() >= 3, "{tables:?}");
        for file in tables {
            let table = place.read(&format!("n.out/{file}"));
            assert!(!acts(&table) && !table.contains('\t'), "{file}, {name:?}: {table:?}");
        }
        assert_eq!(table.lines().count(), 3, "{table:?}");
        let surface = place.read("n.out/surface.vtu");
        let is_xml =
            |c: char| !"\u{fffe}\u{ffff}".contains(c) && (c >= ' ' || "\n\r\t".contains(c));
        assert!(surface.chars().all(is_xml), "{name:?}");
        // The resolved case is the same case.
        let again = place.solve(&format!("n.out/case.resolved.toml --output again{k}"));
        assert_eq!(again["capacitance"]["conductors"][0], named.as_str(), "{name:?}");
    }
}

/// Names need be no text: those of two cases that differ in such bytes alone are two.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_have_folders_of_their_own() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Workplace::small("results_bytes");
    for name in [b"a\xfe", b"a\xff"] {
        let named = |end: &str| {
            place.path(".").join(std::ffi::OsStr::from_bytes(&[name, end.as_bytes()].concat()))
        };
        std::fs::copy(place.path("sphere.toml"), named(".toml")).unwrap();
        let ended = place.command("solve").arg(named(".toml")).output().unwrap();
        assert!(ended.status.success());
        assert!(named(".out").join("results.json").is_file());
    }
}

/// What cannot be written, as on a full disk, is left out: here all that is longer than a limit.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_written_withholds_no_other() {
    let place = Workplace::new("results_full");
    place.generate("sphere --elements 1200", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "[solver]\nmethod = \"fmm\"");
    let farad = env!("CARGO_BIN_EXE_farad");
    // In units of 512 bytes.
    let limited = format!(
        "ulimit -f 40; exec {farad} solve sphere.toml --report --checkpoint-interval 0 --threads 1"
    );
    let mut shell = std::process::Command::new("sh");
    let ended = shell.args(["-c", &limited]).current_dir(place.path(".")).output().unwrap();
    let ended = crate::support::Ended::from(ended);
    ended.fails(6, &["cannot write sphere.out/surface.vtu"]);
    ended.fails(6, &["all other results are in sphere.out", "the same command with --resume"]);
    assert!(ended.stdout.contains("Capacitance"), "{}", ended.stdout);
    let results = place.json("sphere.out/results.json");
    let listed = |results: &Value| -> Vec<String> {
        let files = results["files"].as_array().unwrap().iter();
        let mut files: Vec<String> = files.map(|file| file.as_str().unwrap().to_owned()).collect();
        files.sort();
        files
    };
    let mut there = place.list("sphere.out");
    there.retain(|name| name != ".farad-checkpoint");
    assert_eq!(there, listed(&results));
    assert!(there.contains(&"capacitance_maxwell.csv".to_owned()), "{there:?}");
    assert!(!there.contains(&"surface.vtu".to_owned()), "{there:?}");
    let resumed = place.must("solve sphere.toml --report --resume");
    assert!(!resumed.stderr.contains("there is no checkpoint"), "{}", resumed.stderr);
    let again = place.json("sphere.out/results.json");
    let iterations = |results: &Value| results["solves"][0]["iterations"].as_u64().unwrap();
    assert!(iterations(&again) < iterations(&results));
    assert_eq!(place.list("sphere.out"), listed(&again));
    assert!(place.path("sphere.out/surface.vtu").is_file());
    assert!(place.path("sphere.out/report.html").is_file());
}

#[test]
fn nothing_temporary_is_left() {
    let place = Workplace::small("folder_temporary");
    place.must("solve sphere.toml");
    let hidden: Vec<_> =
        place.list("sphere.out").into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [""; 0]);
    assert!(matches!(place.json("sphere.out/results.json"), Value::Object(_)));
}

/// A matrix of many conductors is there once, a line for each row, and pictures are of some.
#[test]
fn results_of_many_conductors_stay_small() {
    let place = Workplace::new("folder_many");
    let names: Vec<String> = (0..210).map(|k| format!("net_{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    place.write("many.msh", tetrahedra(&names));
    place.case("many.toml", "many.msh", "[output]\nvtk = \"plain\"");
    let shown = place.must("solve many.toml --tolerance 1e-3").stdout;
    assert!(shown.contains("surface.vtu has the first 64 of 210 excitations"), "{shown}");
    let text = place.read("many.out/results.json");
    // 17 digits of an entry and 3 of its bar, and some 250 characters of each conductor and solve.
    let most = 210 * 210 * (24 + 9) + 210 * 600;
    assert!(text.len() < most && text.lines().count() < 20 * 210, "{}", text.len());
    let results = place.json("many.out/results.json");
    let of = |key: &str| &results["capacitance"][key];
    assert_eq!(matrix(of("maxwell_farad")).concat().len(), 210 * 210);
    assert_eq!(matrix(of("maxwell_farad_error")).concat().len(), 210 * 210);
    for form in ["mutual_farad", "maxwell_over_4pi_eps0", "mutual_farad_error"] {
        assert!(of(form).is_null(), "{form}");
    }
    assert_eq!(place.read("many.out/capacitance_mutual.csv").lines().count(), 211);
    let surface = place.read("many.out/surface.vtu");
    assert!(surface.contains("\"potential, net_63 at 1 V [V]\"") && !surface.contains("net_64 "));
    place.case(
        "some.toml",
        "many.msh",
        "[output]\nvtk_excitations = 0\n[solver]\nnets = \"net_7\"",
    );
    place.must("solve some.toml --tolerance 1e-3");
    assert!(!place.read("some.out/surface.vtu").contains("at 1 V"));
}
