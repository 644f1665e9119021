//! Derivatives of the capacitance matrix in case files and results.

use crate::support::{Workplace, matrix};

const WANTED: &str = "[stack]\nbelow = \"ground\"\nat = -3.0\n[[layer]]\nthickness = 1\nrelative_permittivity = 4\n\
     [[sensitivity]]\nname = \"up\"\nshift = [\"bar_y1\"]\n\
     [[sensitivity]]\nname = \"oxide\"\nlayer = 1\n\
     [[sensitivity]]\nname = \"air\"\nlayer = 2\n\
     [[sensitivity]]\nname = \"thick\"\nlayer = 1\nof = \"thickness\"\n";

/// Two bars over two that cross them.
fn bus(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.generate("bus --bars 2 --elements 200", "bus.msh");
    place
}

#[test]
fn sensitivities_are_in_all_results_and_in_the_resolved_case() {
    let place = bus("sensitivities");
    place.case("bus.toml", "bus.msh", WANTED);
    let shown = place.must("solve bus.toml").stdout;
    for part in [
        "Sensitivity up, by shifts of bar_y1",
        "F/m along z",
        "Sensitivity oxide, by the relative permittivity of layer 1",
        "participation",
        "Sensitivity thick, by the thickness of layer 1",
    ] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    let results = place.json("bus.out/results.json");
    let maxwell = matrix(&results["capacitance"]["maxwell_farad"]);
    let [up, oxide, air, thick] = &results["sensitivities"].as_array().unwrap()[..] else {
        panic!("{}", results["sensitivities"])
    };
    assert_eq!([&up["by"], &up["unit"]], ["shift", "F/m"]);
    assert!(up["at"].is_null() && up["participation"].is_null());
    assert_eq!(up["derivatives"].as_array().unwrap().len(), 3);
    assert_eq!([&thick["by"], &thick["unit"]], ["thickness", "F/m"]);
    assert_eq!(thick["at"], 1.0);
    assert_eq!([&oxide["by"], &oxide["unit"], &air["by"]], ["permittivity", "F", "permittivity"]);
    for k in 0..maxwell.len() {
        let share = |of: &serde_json::Value| of["participation"][k].as_f64().unwrap();
        let derivative = |of: &serde_json::Value| matrix(&of["derivatives"][0])[k][k];
        assert!((share(oxide) + share(air) - 1.0).abs() < 2e-3);
        assert!((4.0 * derivative(oxide) / maxwell[k][k] / share(oxide) - 1.0).abs() < 1e-9);
        // Farther from the ground there is less charge.
        assert!(derivative(thick) < 0.0);
    }
    let files = ["up_x", "up_y", "up_z", "oxide", "air", "thick"];
    let found = [up, up, up, oxide, air, thick];
    for (k, (file, of)) in files.iter().zip(found).enumerate() {
        let text = place.read(&format!("bus.out/sensitivity_{file}.csv"));
        assert!(text.starts_with("unit: farad; sensitivity "), "{text}");
        let last: f64 = text.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
        let axis = if k < 3 { k } else { 0 };
        let expected = matrix(&of["derivatives"][axis])[0][0];
        assert!((last / expected - 1.0).abs() < 1e-15, "{last:e} {expected:e}");
        let text = place.read(&format!("bus.out/sensitivity_{file}_error.csv"));
        assert!(text.starts_with("unit: farad; error bars of the sensitivity "), "{text}");
        let bar: f64 = text.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
        let expected = matrix(&of["derivatives_error"][axis])[0][0];
        assert!(bar > 0.0 && (bar / expected - 1.0).abs() < 1e-15, "{bar:e} {expected:e}");
    }
    assert!(up["participation_error"].is_null());
    let bar = oxide["participation_error"][0].as_f64().unwrap();
    assert!(bar > 0.0 && bar < 0.1, "{bar}");
    assert!(shown.split("participation").nth(1).unwrap().contains(" +- "), "{shown}");
    place.must("solve bus.out/case.resolved.toml --overwrite");
    assert_eq!(place.json("bus.out/results.json")["sensitivities"], results["sensitivities"]);
}

#[test]
fn faults_are_reported_with_their_place() {
    let place = bus("sensitivity_faults");
    let fails = |tables: &str, parts: &[&str]| {
        place.case("faults.toml", "bus.msh", tables);
        place.farad("solve faults.toml").fails(3, parts);
    };
    fails(
        "[[sensitivity]]\nname = \"a\"\n[[sensitivity]]\nname = \"a/b\"\nshift = \"bar_x1\"\n\
         [[sensitivity]]\nname = \"c\"\nshift = \"bar_x1\"\nof = \"thickness\"\n\
         [[sensitivity]]\nname = \"c\"\npermittivity = \"surroundings\"\n\
         [[sensitivity]]\nname = \"c_error\"\npermittivity = \"surroundings\"\n",
        &[
            "neither shift, permittivity nor layer",
            "becomes that of a file",
            "there is no layer",
            "two sensitivities are called",
            "sensitivity_c_error.csv is the name of another result",
        ],
    );
    fails(
        "[[sensitivity]]\nname = \"a\"\nshift = \"bar_z1\"\n[[sensitivity]]\nname = \"b\"\nlayer = 1\n\
         [[sensitivity]]\nname = \"c\"\npermittivity = \"glass\"\n",
        &["no conductor or dielectric \"bar_z1\"", "no layer 1", "no dielectric \"glass\""],
    );
}

/// Along y and z nothing changes by symmetry, but for noise: next to its bar it is 0.
#[test]
fn what_vanishes_is_written_as_zero() {
    let place = Workplace::new("sensitivities_zero");
    place.generate("two-spheres --elements 144", "two.msh");
    place.case("two.toml", "two.msh", "[[sensitivity]]\nname = \"s\"\nshift = [\"right\"]\n");
    let text = place.must("solve two.toml").stdout;
    let along = |axis: &str| {
        let rows = text.split(&format!("F/m along {axis}")).nth(1).unwrap().lines().skip(1).take(2);
        let cells = rows.flat_map(|row| row.split_whitespace().skip(1));
        let cells: Vec<String> = cells.map(str::to_owned).collect();
        // Numbers and bars with a sign between them.
        cells.chunks(3).map(|cell| (cell[0].clone(), cell[2].clone())).collect::<Vec<_>>()
    };
    let is_zero = |x: &str| x.bytes().all(|b| b"0.-".contains(&b));
    assert!(along("x").iter().all(|(x, bar)| !is_zero(x) && !is_zero(bar)), "{text}");
    for axis in ["y", "z"] {
        let found = along(axis);
        assert!(
            found.len() == 4 && found.iter().all(|(x, bar)| is_zero(x) && !is_zero(bar)),
            "{text}"
        );
    }
}
