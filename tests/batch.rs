//! `farad batch`.

use crate::support::{Ended, Workplace};
use serde_json::Value;

fn ion(x: f64, radius: f64) -> String {
    format!("ATOM 1 NA ION 1 {x} 0.0 0.0 1.0 {radius}\n")
}

fn rows(place: &Workplace, folder: &str) -> Vec<Value> {
    place.json(&format!("{folder}/results.json"))["molecules"].as_array().unwrap().clone()
}

#[test]
fn molecules_are_solved_in_turn_and_once() {
    let place = Workplace::new("batch");
    place.write("ions/small.pqr", ion(0.0, 2.0));
    place.write("ions/large.pqr", ion(0.0, 4.0));
    place.write("ions/notes.txt", "none");
    place.write("broken.pqr", "ATOM 1 N ALA 1 0 0 0 1.0\n");
    place.write("template.toml", "format = 1\n[[molecule]]\npqr = \"anything.pqr\"\norder = 2\n");
    let command = "batch template.toml ions broken.pqr --reference large --difference";
    let run = || {
        let mut command = place.command(command);
        Ended::from(command.arg("change = small - large").output().unwrap())
    };
    let ended = run();
    // The broken one does not stop the others, and its failure is the command's.
    ended.fails(3, &["1 of 3 molecules have no reliable results:\n", "broken", "line 1"]);
    assert!(ended.stderr.contains(" kcal/mol, "), "{}", ended.stderr);
    for part in ["solvation - large", "change = small - large", "failed"] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    let found = rows(&place, "template.batch");
    let of = |row: &Value, key: &str| row[key].as_f64().unwrap();
    let names: Vec<&str> = found.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["large", "small", "broken"]);
    let status: Vec<&str> = found.iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["complete", "complete", "failed"]);
    // Twice the radius, half the energy, by Born.
    let key = "solvation_kcal_per_mol";
    assert!((of(&found[1], key) / of(&found[0], key) / 2.0 - 1.0).abs() < 3e-3);
    let document = place.json("template.batch/results.json");
    assert_eq!((&document["status"], &document["solved"]), (&"incomplete".into(), &2.into()));
    let change = of(&document["differences"][0], key);
    assert!((change - (of(&found[1], key) - of(&found[0], key))).abs() < 1e-9);
    assert!(place.path("template.batch/small/surface.vtu").exists());
    let table = place.read("template.batch/batch.csv");
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(place.read("template.batch/differences.csv").contains("small - large"));

    // What is complete stays; what failed, what is new and what changed is solved.
    place.write("broken.pqr", ion(0.0, 3.0));
    place.write("ions/small.pqr", ion(0.0, 1.0));
    assert_eq!(run().code, 0);
    let again = rows(&place, "template.batch");
    assert_eq!(place.json("template.batch/results.json")["solved"], 2);
    assert_eq!(again[0], found[0]);
    assert!((of(&again[1], key) / of(&found[1], key) / 2.0 - 1.0).abs() < 3e-3);
    let ended = run();
    assert!(ended.code == 0 && ended.stderr.contains(": done already"), "{}", ended.stderr);
    assert_eq!(place.json("template.batch/results.json")["solved"], 0);
    assert_eq!(rows(&place, "template.batch"), again);

    // So does what another batch in the same folder leaves out.
    place.must("batch template.toml broken.pqr");
    assert_eq!(rows(&place, "template.batch").len(), 1);
    assert_eq!(run().code, 0);
    assert_eq!(place.json("template.batch/results.json")["solved"], 0);
}

#[test]
fn coarser_surfaces_give_bars_to_energies_in_salt() {
    let place = Workplace::new("batch_bars");
    place.write("ion.pqr", ion(0.0, 2.0));
    let water = "[medium]\nrelative_permittivity = 80\nkappa = 0.125\n";
    let molecule = "[[molecule]]\nrelative_permittivity = 4\ndensity = 4\n";
    place.write("salt.toml", format!("format = 1\n{water}{molecule}"));
    place.must("batch salt.toml ion.pqr --quiet");
    let of = |key: &str| rows(&place, "salt.batch")[0][key].clone();
    let key = "solvation_error_kcal_per_mol";
    // Born's, with the ions kept off at the ball's radius.
    let coulomb = 332.063_713_3;
    let kappa = 0.125;
    let exact = coulomb / (2.0 * 2.0) * (1.0 / (80.0 * (1.0 + 2.0 * kappa)) - 0.25);
    let covers = |most: f64| {
        let (energy, bar) = (of("solvation_kcal_per_mol").as_f64(), of(key).as_f64());
        let (error, bar) = ((energy.unwrap() - exact).abs(), bar.unwrap());
        assert!(error < bar && bar < most * error, "{energy:?} with {bar}, off by {error}");
        bar
    };
    // The bar of the solve, from fewer of its own triangles.
    let own = covers(5.0);
    // Molecules solved without these bars are solved again.
    place.must("batch salt.toml ion.pqr --bars --quiet");
    assert_ne!(covers(3.0), own);
    // Surfaces of an accuracy are finer than those, and have bars.
    place.write("exact.toml", format!("format = 1\n{water}{molecule}[solver]\naccuracy = 2e-2\n"));
    let both = place.farad("batch exact.toml ion.pqr --bars --quiet");
    assert!(both.stderr.contains("--bars compares with coarser surfaces"), "{}", both.stderr);
    place.must("batch exact.toml ion.pqr --quiet");
    let row = rows(&place, "exact.batch")[0].clone();
    let [energy, bar] = ["solvation_kcal_per_mol", key].map(|key| row[key].as_f64().unwrap());
    assert!((energy - exact).abs() < bar && bar <= 2e-2 * energy.abs(), "{energy} {bar}");
}

#[test]
fn lists_stand_for_their_files_and_wrong_ones_are_reported() {
    let place = Workplace::new("batch_lists");
    place.write("a/ion.pqr", ion(0.0, 2.0));
    place.write("b/ion.pqr", ion(0.0, 3.0));
    place.write("list", "# two of one name\na/ion.pqr\nb/ion.pqr\n");
    place.must("batch list --quiet");
    let names: Vec<Value> =
        rows(&place, "farad.batch").iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["ion", "ion_2"]);
    place.write("wrong", "a/ion.pqr\na/ion.pdb\n");
    place.farad("batch wrong").fails(3, &["wrong: line 2"]);
    place.write("a.pdb", "ATOM\n");
    // Hydrodynamic properties are in the table where the template asks for them.
    let liquid = "[diffusion]\ntemperature = 300\nviscosity = 1e-3\n";
    place.write("liquid.toml", format!("format = 1\n[[molecule]]\nelements = 300\n{liquid}"));
    place.must("batch liquid.toml a/ion.pqr --quiet");
    let radius = rows(&place, "liquid.batch")[0]["hydrodynamic_radius_m"].as_f64().unwrap();
    assert!((radius / 2e-10 - 1.0).abs() < 2e-2, "{radius}");
    assert!(place.read("liquid.batch/batch.csv").contains(",hydrodynamic radius [m],"));
    place.farad("batch a.pdb").fails(3, &["PDB file", "pdb2pqr"]);
    place.farad("batch a/ion.pqr --reference nobody").fails(2, &["nobody", "\"ion\""]);
    place.farad("batch a/ion.pqr --difference x=y").fails(2, &["no molecule is called \"y\""]);
    // A template of two molecules has no place for the file.
    let one = "[[molecule]]\npqr = \"a/ion.pqr\"\n";
    place.write("two.toml", format!("format = 1\n{one}{one}"));
    place.farad("batch two.toml a/ion.pqr").fails(3, &["a template has one [[molecule]]"]);
}

#[test]
fn wrong_inputs_are_reported_in_their_words() {
    let place = Workplace::new("batch_words");
    for (name, x) in [("a", 0.0), ("b", 9.0)] {
        place.write(&format!("{name}.pqr"), ion(x, 2.0));
    }
    for name in ["t.toml", "u.toml"] {
        place.write(name, "format = 1\n[[molecule]]\npqr = \"a.pqr\"\n");
    }
    place.write("list.txt", "a.pqr\nb.xyz\n");
    place.write("empty/none.txt", "");
    for (arguments, code, part) in [
        ("batch t.toml u.toml a.pqr", 2, "t.toml and u.toml are two templates"),
        ("batch empty", 2, "there is no PQR file to solve for"),
        ("batch list.txt", 3, "list.txt: line 2 is no path of a PQR file"),
        ("batch t.toml a.pqr b.pqr --reference c", 2, "--reference c: no molecule is called that"),
    ] {
        place.farad(arguments).fails(code, &[part]);
    }
    for (difference, part) in [
        ("x", "it has no ="),
        ("x = a b", "a sign between blanks is missing before \"b\""),
        ("x = a -", "a name is missing"),
        ("x = a - c", "no molecule is called \"c\""),
    ] {
        let mut command = place.command("batch t.toml a.pqr b.pqr --difference");
        Ended::from(command.arg(difference).output().unwrap()).fails(2, &[part]);
    }
}
