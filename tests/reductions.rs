//! Matrices made of the capacitance matrix: floating nets, grounded ones, groups.

use crate::support::{Workplace, matrix};

/// Two bars over two that cross them: bar_x1, bar_x2, bar_y1, bar_y2.
fn bus(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.generate("bus --bars 2 --elements 200", "bus.msh");
    place
}

const REDUCTIONS: &str = "[[reduce]]\nname = \"wires\"\nfloating = \"bar_y*\"\n\
     [[reduce]]\nname = \"pair\"\nbetween = [\"bar_y1\", \"bar_x1\"]\ngrounded = \"bar_x2\"\n\
     [[reduce]]\nname = \"nets\"\n[reduce.group]\nvdd = [\"bar_x2\", \"bar_y1\"]\n";

/// Row and column names of a table, and its numbers.
fn table(place: &Workplace, file: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = place.read(file);
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names: Vec<String> = rows.next().unwrap()[1..].iter().map(ToString::to_string).collect();
    let rows: Vec<Vec<&str>> = rows.collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), names);
    let numbers = rows.iter().map(|row| row[1..].iter().map(|x| x.parse().unwrap()).collect());
    (names, numbers.collect())
}

#[test]
fn reductions_are_in_all_results_and_in_the_resolved_case() {
    let place = bus("reductions");
    place.case("bus.toml", "bus.msh", REDUCTIONS);
    let shown = place.must("solve bus.toml").stdout;
    for part in ["Reduction wires: its Maxwell matrix", "capacitance between bar_y1 and bar_x1  "] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    let results = place.json("bus.out/results.json");
    let [wires, pair, nets] = &results["reductions"].as_array().unwrap()[..] else { panic!() };
    let maxwell = matrix(&results["capacitance"]["maxwell_farad"]);
    let own = maxwell[0][0];
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * own, "{a} {b}");

    assert_eq!(nets["conductors"], serde_json::json!(["bar_x1", "vdd", "bar_y2"]));
    let summed = matrix(&nets["maxwell_farad"]);
    near(summed[0][1], maxwell[0][1] + maxwell[0][2]);
    near(summed[1][1], maxwell[1][1] + maxwell[1][2] + maxwell[2][1] + maxwell[2][2]);

    // By Cramer's rule: the floating ones have no charge.
    let c = |i: usize, j: usize| maxwell[i][j];
    let determinant = c(2, 2) * c(3, 3) - c(2, 3) * c(3, 2);
    let through = |i: usize, j: usize| {
        let y1 = c(3, 3) * c(2, j) - c(2, 3) * c(3, j);
        let y2 = c(2, 2) * c(3, j) - c(3, 2) * c(2, j);
        (c(i, 2) * y1 + c(i, 3) * y2) / determinant
    };
    let floating = matrix(&wires["maxwell_farad"]);
    for i in 0..2 {
        for j in 0..2 {
            near(floating[i][j], c(i, j) - through(i, j));
        }
    }
    assert!(wires["between_farad"].is_null() && wires["between_farad_error"].is_null());

    assert_eq!(pair["conductors"], serde_json::json!(["bar_y1", "bar_x1"]));
    let two = matrix(&pair["maxwell_farad"]);
    let sum: f64 = two.iter().flatten().sum();
    let expected = (two[0][0] * two[1][1] - two[0][1] * two[1][0]) / sum;
    near(pair["between_farad"].as_f64().unwrap(), expected);
    let bar = pair["between_farad_error"].as_f64().unwrap();
    assert!(bar > 0.0 && bar < 0.5 * expected, "{bar}");

    for reduction in [wires, pair, nets] {
        let name = reduction["name"].as_str().unwrap();
        for (file, key) in [("", "maxwell_farad"), ("_error", "maxwell_farad_error")] {
            let (names, numbers) = table(&place, &format!("bus.out/capacitance_{name}{file}.csv"));
            assert_eq!(serde_json::json!(names), reduction["conductors"], "{name}");
            for (found, expected) in numbers.iter().zip(matrix(&reduction[key])) {
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found / expected - 1.0).abs() < 1e-15, "{name} {key}");
                }
            }
        }
    }

    // The resolved case is the same case. What is not asked for any more goes.
    let again = place.solve("bus.out/case.resolved.toml --output again");
    assert_eq!(again["reductions"][1]["conductors"], pair["conductors"]);
    assert_eq!(again["reductions"][2]["conductors"], nets["conductors"]);
    place.case(
        "bus.toml",
        "bus.msh",
        "[solver]\nerror_bars = false\n[[reduce]]\nname = \"r\"\ngrounded = \"bar_x1\"",
    );
    let results = place.solve("bus.toml");
    assert!(results["reductions"][0]["maxwell_farad_error"].is_null());
    let files = place.list("bus.out");
    assert!(files.contains(&"capacitance_r.csv".to_owned()), "{files:?}");
    assert!(
        !files.iter().any(|file| file.contains("wires") || file.contains("error")),
        "{files:?}"
    );
    // Sweeps have them in their table.
    let sweep = "[[sweep]]\nname = \"gap\"\nvalues = [0.0, 1.0]\nmove = [\"bar_y1\", \"bar_y2\"]\nalong = [0, 0, 1]\n";
    place.case("sweep.toml", "bus.msh", &format!("{sweep}{REDUCTIONS}"));
    place.must("sweep sweep.toml");
    let swept = place.json("sweep.sweep/results.json");
    let names: Vec<_> =
        swept["quantities"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let at =
        names.iter().position(|name| name.contains("pair: C between bar_y1 and bar_x1")).unwrap();
    let value = |run: usize| swept["runs"][run]["quantities"][at].as_f64().unwrap();
    assert!((value(0) / expected - 1.0).abs() < 1e-3 && value(1) < 0.9 * value(0), "{}", value(1));
}

#[test]
fn mistakes_in_reductions_have_their_places() {
    let place = bus("reductions_wrong");
    place.case(
        "form.toml",
        "bus.msh",
        "[[reduce]]\nname = \"mutual\"\ngroup = [\"a\"]\n[[reduce]]\nname = \"a/b\"\nbetween = \"bar_x1\"\n\
         [[reduce]]\nname = \"x_error\"\nfloat = \"a\"\n[[reduce]]\nname = \"a/b\"\nfloating = 3\n",
    );
    place.farad("solve form.toml").fails(
        3,
        &[
            "form.toml:6:8",
            "capacitance_mutual.csv is the name of another result",
            "form.toml:7:9",
            "expected a table of names for group",
            "write group = { a = [\"b\", \"c\"] }",
            "form.toml:9:8",
            "letters, digits, _ and -",
            "form.toml:10:11",
            "between has two nets, not 1",
            "did you mean `floating`?",
            "capacitance_x_error.csv is the name of another result",
            "two reductions are called \"a/b\"",
            "expected text in quotes for floating",
        ],
    );
    place.case(
        "names.toml",
        "bus.msh",
        "[[reduce]]\nname = \"a\"\nfloating = [\"bar_x1\", \"bar_z1\", \"fill_*\"]\ngrounded = [\"bar_x1\"]\n\
         [[reduce]]\nname = \"b\"\ngroup = { bar_x1 = [\"bar_x2\"], v = [\"bar_y1\"], w = [\"bar_y1\"] }\n\
         [[reduce]]\nname = \"c\"\ngrounded = [\"bar_x*\"]\nfloating = \"*_y*\"\n\
         [[reduce]]\nname = \"d\"\nbetween = [\"bar_x1\", \"bar_x2\"]\nfloating = [\"bar_y1\"]\n",
    );
    place.farad("solve names.toml").fails(
        3,
        &[
            "names.toml:7:13",
            "in the reduction \"a\", net \"bar_x1\" is listed twice",
            "names.toml:7:23",
            "there is no net \"bar_z1\"",
            "did you mean \"bar_x1\"?",
            "names.toml:7:33",
            "no net fits \"fill_*\"",
            "there are \"bar_x1\", \"bar_x2\", \"bar_y1\", \"bar_y2\"",
            "names.toml:11:11",
            "there is a net \"bar_x1\" outside of the group of this name",
            "net \"bar_y1\" is listed twice",
            "names.toml:13:8",
            "no net is left: all are grounded or float",
            "names.toml:19:13",
            "leave out floating, or between",
        ],
    );
}

#[test]
fn further_forms_are_files_of_the_run() {
    let place = bus("reductions_forms");
    let more =
        format!("[output]\nformats = [\"spice\", \"palace\"]\nspice_threshold = 0.2\n{REDUCTIONS}");
    place.case("bus.toml", "bus.msh", &more);
    let results = place.solve("bus.toml");
    let files = place.list("bus.out");
    for name in ["", "_wires", "_pair", "_nets"] {
        for file in
            ["capacitance{}.sp", "terminal-C{}.csv", "terminal-Cm{}.csv", "terminal-Cinv{}.csv"]
        {
            assert!(files.contains(&file.replace("{}", name)), "{file} {name} {files:?}");
        }
    }
    assert!(
        !files.iter().any(|file| file.ends_with(".mtx") || file.ends_with(".txt")),
        "{files:?}"
    );
    let circuit = place.read("bus.out/capacitance_wires.sp");
    assert!(circuit.contains(".subckt bus_wires bar_x1 bar_x2\n"), "{circuit}");
    // Two neighbours have more than a fifth of their total between them, others less.
    let circuit = place.read("bus.out/capacitance.sp");
    assert!(circuit.contains("less than 0.2 of the smaller"), "{circuit}");
    let maxwell = matrix(&results["capacitance"]["maxwell_farad"]);
    let inverse: Vec<Vec<f64>> = place
        .read("bus.out/terminal-Cinv.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).map(|x| x.trim().parse().unwrap()).collect())
        .collect();
    for i in 0..4 {
        for j in 0..4 {
            let product: f64 = (0..4).map(|k| maxwell[i][k] * inverse[k][j]).sum();
            // The matrix is symmetric to the solver's tolerance.
            assert!((product - f64::from(i == j)).abs() < 1e-5, "{i} {j} {product}");
        }
    }
    place.must("solve bus.toml --format q3d --format matrix_market");
    let files = place.list("bus.out");
    assert!(
        !files.iter().any(|file| file.ends_with(".sp") || file.starts_with("terminal")),
        "{files:?}"
    );
    for file in ["capacitance_maxwell.mtx", "capacitance_pair.mtx", "capacitance_q3d.txt"] {
        assert!(files.contains(&file.to_owned()), "{files:?}");
    }
    let resolved = place.read("bus.out/case.resolved.toml");
    assert!(
        resolved.contains("formats = [\"matrix_market\", \"q3d\"]\nspice_threshold = 0.2\n"),
        "{resolved}"
    );
    place.case("wrong.toml", "bus.msh", "[output]\nformats = [\"spcie\"]\n");
    place.farad("solve wrong.toml").fails(3, &["wrong.toml:6:12", "did you mean \"spice\"?"]);
}
