//! `[[molecule]]`: surfaces made of the atoms of PQR files.

use crate::support::Workplace;
use serde_json::Value;

/// A Born ion: radius 2, charge 1.
const ION: &str = "ATOM 1 NA ION 1 0.0 0.0 0.0 1.0 2.0\n";

/// Half of e^2 N_A/(4 pi eps0) over 1 angstrom, in kcal/mol.
const BORN: f64 = 166.0318;

fn solvation(results: &Value) -> f64 {
    results["solvation"]["energy_kcal_per_mol"].as_f64().unwrap()
}

fn born(radius: f64, inside: f64, outside: f64) -> f64 {
    BORN / radius * (1.0 / outside - 1.0 / inside)
}

fn case(place: &Workplace, name: &str, text: &str) {
    place.write(name, format!("format = 1\n{text}"));
}

#[test]
fn an_ion_has_its_energy_by_born() {
    let place = Workplace::new("molecule_born");
    place.write("ion.pqr", ION);
    case(&place, "ion.toml", "[[molecule]]\npqr = \"ion.pqr\"\norder = 2\n");
    let found = place.solve("ion.toml");
    // 200 curved triangles enclose the sphere's volume to 1e-4; the bars of the solve are longer.
    let expected = born(2.0, 4.0, 78.54);
    assert!((solvation(&found) / expected - 1.0).abs() < 3e-3, "{found} {expected}");
    assert_eq!(found["media"][1]["name"], "ion");
    assert_eq!(found["media"][1]["relative_permittivity"], 4.0);
    assert_eq!(found["mesh"]["unit"], "angstrom");

    // The resolved case is the same one; the file alone has flat triangles.
    let again = place.solve("ion.out/case.resolved.toml");
    assert!((solvation(&again) / solvation(&found) - 1.0).abs() < 1e-9);
    let alone = place.solve("ion.pqr -o alone");
    assert_eq!(place.json("alone/results.json")["case"], "../ion.pqr");
    assert!((solvation(&alone) / expected - 1.0).abs() < 3e-2, "{alone}");

    // All keys, in another medium and in nanometres.
    let keys = "name = \"sodium\"\nrelative_permittivity = 1\nsurface = \"sas\"\nprobe = 0.5\n\
                elements = 300\norder = 2\ncavities = \"drop\"\n[medium]\nrelative_permittivity = 10\n\
                [mesh]\nunit = \"nm\"\n";
    case(&place, "sas.toml", &format!("[[molecule]]\npqr = \"ion.pqr\"\n{keys}"));
    let found = place.solve("sas.toml");
    let expected = born(2.5, 1.0, 10.0);
    assert!((solvation(&found) / expected - 1.0).abs() < 3e-3, "{found} {expected}");
    let molecule = &found["solvation"]["molecules"][0];
    assert_eq!(molecule["name"], "sodium");
    assert!((molecule["least_distance_m"].as_f64().unwrap() / 2.5e-10 - 1.0).abs() < 1e-2);
}

/// Its area is worth two triangles: there are some 80, which flat ones enclose 12 % less volume
/// with than the sphere, so that energies are off by a third of that.
#[test]
fn a_small_ion_has_its_energy_by_born() {
    let place = Workplace::new("molecule_small");
    place.write("ion.pqr", ION.replace("2.0\n", "0.2\n"));
    let ion = "[[molecule]]\npqr = \"ion.pqr\"\n";
    case(&place, "flat.toml", ion);
    case(&place, "curved.toml", &format!("{ion}order = 2\n"));
    let expected = born(0.2, 4.0, 78.54);
    for (name, off) in [("flat.toml", 6e-2), ("curved.toml", 3e-3)] {
        let found = solvation(&place.solve(name));
        assert!((found / expected - 1.0).abs() < off, "{name}: {found} {expected}");
    }
    // Among ions bars are of the sphere, too.
    case(&place, "salt.toml", &format!("{ion}[medium]\nkappa = 1.0\n"));
    let found = place.solve("salt.toml");
    let bar = found["solvation"]["energy_error_kcal_per_mol"].as_f64().unwrap();
    let expected = expected - BORN / 78.54 / (1.0 + 0.2);
    let off = (solvation(&found) - expected).abs();
    assert!(off < bar && bar < 0.3 * expected.abs(), "{off} {bar} {expected}");
    place
        .farad("solve salt.toml --max-memory 1e-4 --overwrite")
        .fails(5, &["the solve among ions needs", "KiB", "--memory-limit"]);
    // Finer surfaces have more triangles in spite of the least number.
    let run = place.must("solve salt.toml --accuracy 5e-2 --overwrite");
    let found = place.json("salt.out/results.json");
    let meshes = found["refinement"]["meshes"].as_array().unwrap();
    let triangles: Vec<u64> =
        meshes.iter().map(|mesh| mesh["triangles"].as_u64().unwrap()).collect();
    assert!(triangles.windows(2).all(|pair| 2 * pair[1] > 3 * pair[0] - 20), "{triangles:?}");
    let off = (solvation(&found) - expected).abs();
    let bar = found["solvation"]["energy_error_kcal_per_mol"].as_f64().unwrap();
    assert!(off < bar && bar <= 5e-2 * expected.abs(), "{off} {bar} {}", run.stderr);
    // A number of triangles that are fewer than that is noted.
    case(&place, "few.toml", &format!("{ion}elements = 20\n"));
    let ended = place.must("solve few.toml");
    assert!(ended.stderr.contains(" triangles where 20 were asked for"), "{}", ended.stderr);
}

/// Debye and Hueckel's atmosphere around the ion of Born.
#[test]
fn molecules_may_be_among_ions() {
    let place = Workplace::new("molecule_salt");
    place.write("ion.pqr", ION);
    let medium = "[medium]\nkappa = 1.0\ntemperature = 310\n";
    case(&place, "ion.toml", &format!("[[molecule]]\npqr = \"ion.pqr\"\norder = 2\n{medium}"));
    let found = place.solve("ion.toml");
    let expected = born(2.0, 4.0, 78.54) - BORN / 78.54 / (1.0 + 2.0);
    assert!((solvation(&found) / expected - 1.0).abs() < 3e-3, "{found} {expected}");
    assert_eq!(found["solvation"]["temperature_k"], 310.0);
    // The resolved case gives the same.
    let again = place.solve("ion.out/case.resolved.toml");
    assert_eq!(again["solvation"]["temperature_k"], 310.0);
    assert!((solvation(&again) / solvation(&found) - 1.0).abs() < 1e-9);
}

/// Surfaces are made again, finer each time; the last has the accuracy, and its bar covers what it
/// is off by.
#[test]
fn an_accuracy_among_ions_makes_finer_surfaces() {
    let place = Workplace::new("molecule_salt_accuracy");
    place.write("ion.pqr", ION);
    case(&place, "ion.toml", "[[molecule]]\npqr = \"ion.pqr\"\n[medium]\nkappa = 1.0\n");
    let run = place.must("solve ion.toml --accuracy 5e-3");
    assert!(run.stdout.contains("how far flat triangles are from the surface"), "{}", run.stdout);
    let found = place.json("ion.out/results.json");
    let meshes = found["refinement"]["meshes"].as_array().unwrap();
    assert_eq!(found["refinement"]["ended"], "reached");
    assert!((2..5).contains(&meshes.len()), "{meshes:?}");
    let bar = found["solvation"]["energy_error_kcal_per_mol"].as_f64().unwrap();
    let expected = born(2.0, 4.0, 78.54) - BORN / 78.54 / (1.0 + 2.0);
    let off = (solvation(&found) - expected).abs();
    assert!(off < bar && bar <= 5e-3 * expected.abs(), "{off} {bar} {expected}");
}

/// Ions are kept away by a layer that the program makes, and energies converge to a limit over
/// surfaces that are generated again.
/// Temperatures in degrees Celsius and mmol per litre are as good as numbers go.
#[test]
fn values_that_no_solution_has_are_noted() {
    let place = Workplace::new("molecule_implausible");
    place.write("ion.pqr", ION);
    let run = |kelvin: &str, strength: &str| {
        let salt = format!("[medium]\nionic_strength = {strength}\ntemperature = {kelvin}\n");
        let molecule = "[[molecule]]\npqr = \"ion.pqr\"\nelements = 100\n";
        case(&place, "ion.toml", &format!("{salt}{molecule}"));
        place.must("solve ion.toml").stderr
    };
    let notes = run("25", "150");
    assert!(notes.contains("note: [medium] temperature = 25 is in kelvin"), "{notes}");
    assert!(notes.contains("note: ionic_strength = 150 is in mol/l"), "{notes}");
    assert!(!run("298.15", "0.15").contains("note: "));
    let liquid = "[diffusion]\ntemperature = 20\nviscosity = 1e-3\n";
    case(&place, "ion.toml", &format!("[[molecule]]\npqr = \"ion.pqr\"\nelements = 100\n{liquid}"));
    let notes = place.must("solve ion.toml").stderr;
    assert!(notes.contains("note: [diffusion] temperature = 20 is in kelvin"), "{notes}");
}

#[test]
fn ions_are_kept_away_by_a_stern_layer() {
    let place = Workplace::new("molecule_stern");
    place.write("ion.pqr", ION);
    let medium = "[medium]\nkappa = 1.0\n";
    let layer = "[[molecule]]\npqr = \"ion.pqr\"\nelements = 320\nstern = 1.5\n";
    case(&place, "ion.toml", &format!("{layer}order = 2\n{medium}"));
    let found = place.solve("ion.toml");
    let expected = born(2.0, 4.0, 78.54) - BORN / 78.54 / (1.0 + 3.5);
    assert!((solvation(&found) / expected - 1.0).abs() < 3e-3, "{found} {expected}");
    assert_eq!(found["media"][2]["name"], "ion stern layer");
    let again = place.solve("ion.out/case.resolved.toml");
    assert!((solvation(&again) / solvation(&found) - 1.0).abs() < 1e-9);

    case(&place, "flat.toml", &format!("{layer}{medium}"));
    place.must("study flat.toml --quiet");
    let study = place.json("flat.study/results.json");
    assert_eq!((&study["refinement"], &study["status"]), (&"remade".into(), &"complete".into()));
    let energy = &study["entries"][0];
    let limit = energy["extrapolated"].as_f64().unwrap();
    assert!((limit / expected - 1.0).abs() < 3e-3, "{energy} {expected}");

    // It may not lie within the surface.
    let thin = format!("[[molecule]]\npqr = \"ion.pqr\"\nstern = 1.0\n{medium}");
    case(&place, "thin.toml", &thin);
    place.farad("solve thin.toml").fails(3, &["stern layer of 1.0 angstrom", "thin.toml:4"]);
}

/// Ions far from each other, and next to a conductor that a mesh has.
#[test]
fn several_molecules_and_a_mesh_are_one_case() {
    let place = Workplace::new("molecule_several");
    place.write("a.pqr", "ATOM 1 NA ION 1 -300.0 0.0 0.0 1.0 2.0\n");
    place.write("b.pqr", "ATOM 1 CL ION 1 300.0 0.0 0.0 -1.0 3.0\n");
    place.generate("sphere --radius 5 --elements 72", "ball.msh");
    let two = "[[molecule]]\npqr = \"a.pqr\"\norder = 2\n[[molecule]]\npqr = \"b.pqr\"\n\
               relative_permittivity = 2\n";
    let mesh = "[mesh]\nfile = \"ball.msh\"\nunit = \"angstrom\"\n";
    case(&place, "both.toml", &format!("{two}{mesh}"));
    let found = place.solve("both.toml");
    let energies: Vec<f64> = found["solvation"]["molecules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|molecule| molecule["energy_kcal_per_mol"].as_f64().unwrap())
        .collect();
    // What is 300 away adds some thousandth; the flat triangles of `b` some percent.
    for (energy, expected, within) in
        [(energies[0], born(2.0, 4.0, 78.54), 1e-2), (energies[1], born(3.0, 2.0, 78.54), 3e-2)]
    {
        assert!((energy / expected - 1.0).abs() < within, "{energy} {expected}");
    }
    let names: Vec<&str> = found["mesh"]["conductors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sphere"]);
}

#[test]
fn molecules_through_each_other_are_distinguished_by_name() {
    let place = Workplace::new("molecule_crossing");
    place.write("a.pqr", ION);
    // Centres apart, surfaces not.
    place.write("b.pqr", "ATOM 1 NA ION 1 3.5 0.0 0.0 1.0 2.0\n");
    place.write("c.pqr", "ATOM 1 N X 1 9.0 9.0 0.0 1.0 2.0\nATOM 7 C ION 1 1.5 0.0 0.0 1.0 2.0\n");
    let two = |b: &str| format!("[[molecule]]\npqr = \"a.pqr\"\n[[molecule]]\npqr = \"{b}\"\n");
    case(&place, "crossing.toml", &two("b.pqr"));
    let ended = place.farad("solve crossing.toml");
    ended.fails(3, &["crossing.toml:3", "and here", "ION 1 on line 1", "go through", "merge"]);
    // No two spheres meet, but one is where the probe does not get to between two others.
    place.write("pair.pqr", "ATOM 1 N X 1 0 -2.6 0 1 2\nATOM 2 N X 1 0 2.6 0 1 2\n");
    place.write("third.pqr", "ATOM 1 NA ION 1 0.4 0 0 1.0 0.55\n");
    let both = "[[molecule]]\npqr = \"pair.pqr\"\n[[molecule]]\npqr = \"third.pqr\"\n";
    case(&place, "between.toml", both);
    let ended = place.farad("solve between.toml");
    ended.fails(3, &["between.toml:3", "\"pair\" and \"third\" go through each other", "merge"]);
    case(&place, "inside.toml", &two("c.pqr"));
    let ended = place.farad("solve inside.toml");
    ended.fails(3, &["inside.toml:3", "\"a\" (NA of ION 1 on line 1)", "C of ION 1 on line 2"]);
    case(&place, "same.toml", &two("a.pqr"));
    place.farad("solve same.toml").fails(3, &["are called \"a\"", "same.toml:3", "again here"]);
    // A group of the mesh has the name.
    place.generate("sphere --radius 50 --elements 72", "ball.msh");
    let mesh = "[mesh]\nfile = \"ball.msh\"\nunit = \"angstrom\"\n[[molecule]]\npqr = \"a.pqr\"\n";
    case(&place, "group.toml", &format!("{mesh}name = \"sphere\"\n"));
    place.farad("solve group.toml").fails(3, &["has a group \"sphere\" already"]);
}

#[test]
fn files_that_make_no_molecule_are_refused_at_their_lines() {
    let place = Workplace::new("molecule_refused");
    case(&place, "a.toml", "[[molecule]]\npqr = \"a.pqr\"\n");
    place.farad("solve a.toml").fails(3, &["a.toml:3", "does not exist"]);
    for (text, parts) in [
        ("", &["a.pqr", "no atoms"][..]),
        ("data_1ABC\nloop_\n", &["a.pqr", "line 1", "this is an mmCIF file, not PQR", "pdb2pqr"]),
        ("ATOM 1 N ALA 1 0 0 0 1.0\n", &["a.pqr", "line 1", "radius"]),
        (
            "REMARK\nATOM 1 N ALA 1 0 0 0 1.0 1.5\nATOM 2 H ALA 1 2 0 0 1.0 0.0\n",
            &["a.pqr", "H of ALA 1 on line 3", "radius 0", "no other atom"],
        ),
        (
            "ATOM 1 N ALA 1 0 0 0 1.0 1.5\nATOM 2 N ALA 1 0 0 0 1.0 1.5\n",
            &["a.pqr", "line 2", "the one of line 1"],
        ),
        (
            "ATOM 1 N ALA 1 0 0 0 1.0 1.5\nATOM 2 H ALA 1 1.45 0 0 1.0 0.0\n",
            &["a.toml:3", "a.pqr", "(line 2)", "radii"],
        ),
    ] {
        place.write("a.pqr", text);
        place.farad("solve a.toml").fails(3, parts);
    }
    // A hydrogen of radius 0 inside the atom that it is bound to is as good as any.
    place.write("a.pqr", "ATOM 1 N ALA 1 0 0 0 -0.4 1.5\nATOM 2 H ALA 1 1.0 0 0 0.4 0.0\n");
    place.must("solve a.toml");
    for name in ["a.pdb", "a.cif", "a.txt"] {
        place.write(name, ION);
        case(&place, "b.toml", &format!("[[molecule]]\npqr = \"{name}\"\n"));
        place.farad("solve b.toml").fails(3, &["b.toml:3", "pdb2pqr"]);
    }
    case(
        &place,
        "c.toml",
        "[mesh]\nsmooth = 30\n[[molecule]]\npqr = \"a.pqr\"\nelements = 50\ndensity = 3\n",
    );
    place.farad("solve c.toml").fails(3, &["smooth", "density and by elements"]);
}

/// The numbers of a column of a table.
fn column(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = header.iter().position(|heading| *heading == name);
    let at = at.unwrap_or_else(|| panic!("no {name} in {header:?}"));
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

/// Asserts that a script for a viewer has no commands but those that we write, as the viewer reads
/// it. PyMOL and ChimeraX cut lines into commands at semicolons, PyMOL before it knows a comment;
/// Tcl has commands in brackets, too, and comments that go on in the next line.
#[track_caller]
fn assert_runs_only_ours(script: &str, text: &str) {
    let (ours, cuts): (&[&str], &[char]) = match script {
        "view.cxc" => (&["open", "volume", "color", "view"], &[';']),
        "view.pml" => (&["load", "alter", "hide", "set", "ramp_new", "show", "zoom"], &[';']),
        _ => (&["set", "mol", "color", "file", "info"], &[';', '[']),
    };
    let is_inert = |c: char| c.is_ascii_alphanumeric() || " .,:-_".contains(c);
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            assert!(comment.chars().all(is_inert), "{script}: {line}");
            continue;
        }
        assert!(!line.contains(['`', '\\', '@']), "{script}: {line}");
        for command in line.split(cuts) {
            // Lists of PyMOL are in brackets.
            let word = command.split_whitespace().next().unwrap_or_default();
            assert!(ours.contains(&word), "{script}: \"{word}\" in {line}");
        }
    }
}

/// Two residues off the middle of one sphere, and what programs that show molecules read.
#[test]
fn results_of_molecules_are_for_their_programs() {
    let place = Workplace::new("molecule_outputs");
    let atoms = "ATOM      1  C   BIG A   1       0.000   0.000   0.000  0.5000 4.0000\n\
                 ATOM      2  H1  BIG A   1       1.000   0.000   0.000  0.3000 0.0000\n\
                 ATOM      3  N   A;[ A   2      -1.000   1.000   0.000 -0.2000 1.0000\n";
    place.write("two.pqr", atoms);
    let title = "title = \"Two; system touch made; \\n/open('made', 'w')\\n[exec touch made] $(x) `y` \\\\\"\n";
    let output = "[output]\nviewers = [\"chimerax\", \"pymol\", \"vmd\"]\ndx = 2.5\n";
    let probe = "[[probe]]\nname = \"near\"\nlow = [10, 0, 0]\nhigh = [12, 3, 2]\ncounts = [2, 4, 3]\n\
                 [[probe]]\nname = \"flat\"\nlow = [10, 0, 0]\nhigh = [12, 3, 0]\ncounts = [2, 4, 1]\n";
    case(
        &place,
        "two.toml",
        &format!("{title}[[molecule]]\npqr = \"two.pqr\"\ndensity = 1\n{output}{probe}"),
    );
    let found = place.solve("two.toml");
    let solvation = &found["solvation"];
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
    // 1 kT is 0.5925 kcal/mol at 298.15 K.
    let ratio = of(solvation, "energy_kcal_per_mol") / of(solvation, "energy_kt");
    assert!((ratio - 0.592_48).abs() < 1e-4, "{ratio}");
    assert_eq!(of(solvation, "temperature_k"), 298.15);

    let residues = place.read("two.out/residues.csv");
    assert!(residues.contains("\ntwo,A,BIG,1,2,0.8000,"), "{residues}");
    for (name, expected) in [
        ("solvation energy [kcal/mol]", of(solvation, "energy_kcal_per_mol")),
        ("solvation energy [kT]", of(solvation, "energy_kt")),
        ("Coulomb energy [kcal/mol]", of(&solvation["coulomb"], "energy_kcal_per_mol")),
        ("total energy [kcal/mol]", of(&solvation["total"], "energy_kcal_per_mol")),
    ] {
        let parts = column(&residues, name);
        assert_eq!(parts.len(), 2);
        assert!((parts.iter().sum::<f64>() / expected - 1.0).abs() < 1e-9, "{name}");
    }

    // The atoms as they were, in their columns, with potentials for charges.
    let reaction =
        column(&place.read("two.out/reaction_potential.csv"), "reaction potential [kT/e]");
    let pqr = place.read("two.out/potential.pqr");
    let lines: Vec<&str> = pqr.lines().filter(|line| line.starts_with("ATOM")).collect();
    for ((line, original), volt) in lines.iter().zip(atoms.lines()).zip(&reaction) {
        let original = original.trim_start();
        assert_eq!(line[..54], original[..54]);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.len(), 11);
        assert!((words[9].parse::<f64>().unwrap() - volt).abs() < 1e-4, "{line}");
        assert_eq!(words[10], original.split_whitespace().last().unwrap());
    }

    // OpenDX has z fastest, the table of points in a case of their own x fastest.
    let dx = place.read("two.out/probe_near.dx");
    for part in [
        "counts 2 4 3\n",
        "origin 1e1 0e0 0e0\n",
        "delta 0.000000e+00 1e0 0.000000e+00\n",
        "items 24 data",
    ] {
        assert!(dx.contains(part), "no {part:?} in {dx}");
    }
    let values: Vec<f64> = dx
        .lines()
        .filter(|line| line.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
        .flat_map(|line| line.split_whitespace().map(|word| word.parse().unwrap()))
        .collect();
    assert_eq!(values.len(), 24);
    let line = "[[probe]]\nname = \"z\"\nfrom = [10, 0, 0]\nto = [10, 0, 2]\ncount = 3\n";
    case(&place, "line.toml", &format!("[[molecule]]\npqr = \"two.pqr\"\ndensity = 1\n{line}"));
    place.must("solve line.toml");
    let volts = column(&place.read("line.out/probe_z.csv"), "potential [V]");
    for (value, volt) in values.iter().zip(volts) {
        assert!((value / (volt / 0.025_692_6) - 1.0).abs() < 1e-4, "{value} {volt}");
    }

    // Maps only where they are asked for, and of boxes only.
    let files = place.list("two.out");
    for name in [
        "view.cxc",
        "view.pml",
        "view_vmd.tcl",
        "surface.stl",
        "atoms.vtu",
        "probe_potential.dx",
        "probe_near.vti",
    ] {
        assert!(files.iter().any(|file| file == name), "no {name} in {files:?}");
    }
    assert!(!files.iter().any(|file| file == "probe_flat.dx"));
    // There are no conductors, and so no matrix.
    assert!(!files.iter().any(|file| file.starts_with("capacitance_")), "{files:?}");
    assert!(
        !place
            .list("line.out")
            .iter()
            .any(|file| file.ends_with(".dx") || file.starts_with("view"))
    );
    let map = place.read("two.out/probe_potential.dx");
    assert!(map.contains("counts 10 10 9\n"), "{}", &map[..200]);
    for (script, parts) in [
        ("view.cxc", ["open potential.pqr", "open probe_potential.dx", "color electrostatic"]),
        ("view.pml", ["load potential.pqr", "load probe_potential.dx", "set surface_color"]),
        ("view_vmd.tcl", ["potential.pqr", "probe_potential.dx", "mol color Volume 0"]),
    ] {
        let text = place.read(&format!("two.out/{script}"));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert_runs_only_ours(script, &text);
    }
    let stl = std::fs::read(place.path("two.out/surface.stl")).unwrap();
    let triangles = found["mesh"]["triangles"].as_u64().unwrap() as usize;
    assert_eq!(stl.len(), 84 + 50 * triangles);

    // Every triangle has a potential, and the resolved case the same files.
    let potentials = column(&place.read("two.out/surface_potential.csv"), "potential [kT/e]");
    assert_eq!(potentials.len(), triangles);
    place.must("solve two.out/case.resolved.toml");
    assert_eq!(place.list("two.out"), files);

    // Maps need atoms.
    place.generate("sphere --elements 72", "sphere.msh");
    place.case("no.toml", "sphere.msh", "[output]\ndx = 1");
    place.farad("solve no.toml").fails(3, &["atoms of molecules"]);
}

/// Stokes and Einstein of a sphere of radius 10.
#[test]
fn molecules_have_hydrodynamic_properties() {
    let place = Workplace::new("molecule_hydrodynamics");
    place.write("ball.pqr", "ATOM 1 NA ION 1 0.0 0.0 0.0 1.0 10.0\n");
    let liquid = "[diffusion]\ntemperature = 298.15\nviscosity = 8.9e-4\n";
    let molecule = "[[molecule]]\npqr = \"ball.pqr\"\nelements = 300\norder = 2\n";
    case(&place, "ball.toml", &format!("{molecule}{liquid}"));
    let found = place.solve("ball.toml");
    let of = |pointer: &str| found.pointer(pointer).unwrap().as_f64().unwrap();
    let is_near = |value: f64, expected: f64| {
        assert!((value / expected - 1.0).abs() < 3e-3, "{value} {expected}")
    };
    is_near(of("/hydrodynamics/hydrodynamic_radius_m"), 1e-9);
    is_near(of("/hydrodynamics/diffusion_m2_per_s"), 2.4538e-10);
    is_near(of("/hydrodynamics/friction_kg_per_s"), 6.0 * std::f64::consts::PI * 8.9e-4 * 1e-9);
    is_near(of("/hydrodynamics/viscosity/intrinsic_viscosity"), 2.5);
    is_near(of("/hydrodynamics/viscosity/viscometric_radius_m"), 1e-9);
    is_near(of("/hydrodynamics/viscosity/volume_m3"), 4.188_79e-27);
    // The energy is still that of the dielectric.
    is_near(solvation(&found), born(10.0, 4.0, 78.54));
    assert!(of("/hydrodynamics/capacity_error") > 0.0);

    // A conductor tells it with its polarisability; with both, nobody knows what the body is.
    place.generate("sphere --radius 10 --elements 720", "ball.msh");
    let mesh = "[mesh]\nfile = \"ball.msh\"\nunit = \"angstrom\"\n";
    case(&place, "metal.toml", &format!("{mesh}{liquid}[output]\npolarisability = true\n"));
    let metal = place.solve("metal.toml");
    let viscosity = &metal["hydrodynamics"]["viscosity"]["intrinsic_viscosity"];
    assert!((viscosity.as_f64().unwrap() / 2.5 - 1.0).abs() < 2e-2, "{viscosity}");
    place.write("far.pqr", "ATOM 1 NA ION 1 50.0 0.0 0.0 1.0 2.0\n");
    case(&place, "both.toml", &format!("{mesh}[[molecule]]\npqr = \"far.pqr\"\n{liquid}"));
    place.farad("solve both.toml").fails(3, &["[diffusion] applies to a single conducting body"]);
}

/// What a forecast leaves out, such as the program itself, does not grow with the mesh.
#[cfg(target_os = "linux")]
#[test]
fn forecasts_of_memory_among_ions_grow_as_memory_does() {
    let place = Workplace::new("molecule_memory");
    let of = |triangles: usize| {
        place.generate(&format!("sphere --elements {triangles}"), &format!("{triangles}.msh"));
        let mesh = format!("[mesh]\nfile = \"{triangles}.msh\"\nunit = \"angstrom\"\n");
        let body =
            "[[dielectric]]\nname = \"ball\"\ngroup = \"sphere\"\nrelative_permittivity = 2\n";
        let rest = "[[charge]]\nposition = [0.2, 0, 0]\ncharge = 1\n[solver]\ntolerance = 1e-4\n";
        let medium = "[medium]\nrelative_permittivity = 80\nkappa = 0.1\n";
        case(&place, "ball.toml", &format!("{mesh}{medium}{body}{rest}"));
        let peak = place.solve("ball.toml")["memory_bytes"]["peak"].as_f64().unwrap();
        let refused = place.farad("solve ball.toml --max-memory 1e-3 --overwrite").stderr;
        let (_, needs) = refused.split_once("needs ").unwrap();
        let (needs, _) = needs.split_once(" MiB").unwrap();
        [needs.parse::<f64>().unwrap(), peak / 1048576.0]
    };
    let (small, large) = (of(1000), of(6000));
    let [needed, taken] = [0, 1].map(|k| large[k] - small[k]);
    // Threads hold some memory that they do not use.
    assert!(needed > 0.8 * taken, "{needed} MiB for {taken} MiB");
    assert!(needed < 2.0 * taken, "{needed} MiB for {taken} MiB");
}
