//! Probes, forces, polarisability and diffusion: whole runs.

use serde_json::Value;

use crate::support::Workplace;

/// The numbers of a table's rows.
fn rows(text: &str) -> Vec<Vec<f64>> {
    text.lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect()
}

#[test]
fn potential_and_field_of_a_sphere_along_a_line_at_points_and_on_a_plane() {
    let place = Workplace::new("probes");
    place.generate("sphere --base icosahedron --elements 1280", "sphere.msh");
    place.write("points.csv", "x, y, z\n0, 0, 0.5\n\n2 0 0\n# end\n");
    place.case(
        "sphere.toml",
        "sphere.msh",
        "[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\npotential = 3\n\
         [[probe]]\nname = \"axis\"\nfrom = [0, 0, 0]\nto = [4, 0, 0]\ncount = 9\n\
         [[probe]]\nname = \"some\"\nfile = \"points.csv\"\n\
         [[probe]]\nname = \"plane\"\nlow = [-2, -2, 0]\nhigh = [2, 2, 0]\ncounts = [5, 5, 1]",
    );
    let results = place.solve("sphere.toml");
    assert_eq!(results["probes"][0]["points"], 9);
    assert_eq!(results["probes"][2]["file"], "probe_plane.vti");
    let resolved = place.read("sphere.out/case.resolved.toml");
    assert!(resolved.contains("high = [2.0, 2.0, 0e0]\ncounts = [5, 5, 1]\n"), "{resolved}");
    let axis = rows(&place.read("sphere.out/probe_axis.csv"));
    for row in &axis {
        let &[x, _, _, volt, ex, ..] = row.as_slice() else { panic!("{row:?}") };
        // Facets take 3e-3 of the radius, and the point at 1 lies where they end.
        let (exact, field) = if x < 1.0 { (3.0, 0.0) } else { (3.0 / x, 3.0 / (x * x)) };
        assert!((volt - exact).abs() < 0.02, "{row:?}");
        assert!(x == 1.0 || (ex - field).abs() < 0.02, "{row:?}");
    }
    let some = rows(&place.read("sphere.out/probe_some.csv"));
    assert_eq!((some.len(), &some[1][3..]), (2, &axis[4][3..]));
    for (picture, cells) in [("probe_axis.vtu", 1), ("probe_some.vtu", 2)] {
        let text = place.read(&format!("sphere.out/{picture}"));
        assert!(text.contains("<PointData Scalars=\"potential [V]\">"), "{text}");
        assert!(text.contains(&format!("NumberOfCells=\"{cells}\"")), "{text}");
    }
    let plane = place.read("sphere.out/probe_plane.vti");
    assert!(plane.contains("<PointData Scalars=\"potential [V]\">"), "{plane}");
    assert!(
        plane.contains("ImageData") && plane.contains("WholeExtent=\"0 4 0 4 0 0\""),
        "{plane}"
    );
    // The resolved case says the same.
    let again = place.solve("sphere.out/case.resolved.toml --output again");
    assert_eq!(again["probes"][0]["points"], 9);
}

#[test]
fn probes_say_what_is_wrong_with_them() {
    let place = Workplace::small("probes_wrong");
    let conductor = "[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\npotential = 1\n";
    let probe = |more: &str| format!("{conductor}[[probe]]\nname = \"p\"\n{more}");
    for (more, part) in [
        ("from = [0, 0, 0]\nto = [1, 0, 0]", "either file, or from, to and count"),
        ("file = \"none.csv\"", "the file of points none.csv does not exist"),
        ("low = [0, 0, 0]\nhigh = [1, 1, 0]\ncounts = [2, 2, 2]", "need high above low"),
        ("low = [0, 0, 0]\nhigh = [1, 1, 0]\ncounts = [2, 2, 0.5]", "counts are whole numbers"),
    ] {
        place.case("wrong.toml", "sphere.msh", &probe(more));
        place.farad("solve wrong.toml").fails(3, &[part, "wrong.toml:"]);
    }
    place.write("points.csv", "0 0 0\n1 2\n");
    place.case("wrong.toml", "sphere.msh", &probe("file = \"points.csv\""));
    place
        .farad("solve wrong.toml")
        .fails(3, &["line 2: expected three numbers x, y, z, found 2 words, 2 of them numbers"]);
    place.case("wrong.toml", "sphere.msh", "[[probe]]\nname = \"p\"\nfile = \"points.csv\"");
    place.farad("solve wrong.toml").fails(3, &["there is nothing to probe"]);
    place.case("wrong.toml", "sphere.msh", "[diffusion]\ntemperature = 300");
    place.farad("solve wrong.toml").fails(3, &["viscosity is missing in [diffusion]"]);
    place.case(
        "coated.toml",
        "sphere.msh",
        "[diffusion]\ntemperature = 300\nviscosity = 1e-3\n\
         [[dielectric]]\nname = \"m\"\nrelative_permittivity = 2\ngroup = \"sphere\"\n\
         [[charge]]\nposition = [0, 0, 0]\ncharge = 1\n",
    );
    place.farad("solve coated.toml").fails(3, &["[diffusion] applies to a single conducting body"]);
    let cold = place.read("coated.toml").replace("= 300", "= -300");
    place.write("coated.toml", cold);
    place
        .farad("solve coated.toml")
        .fails(3, &["temperature is out of range", "possible: 1e-30 to 1e30"]);
}

#[test]
fn forces_polarisability_and_diffusion_are_those_of_spheres() {
    let place = Workplace::new("probes_forces");
    place.generate("sphere --base icosahedron --elements 1280", "sphere.msh");
    place.case(
        "grounded.toml",
        "sphere.msh",
        "[[conductor]]\nname = \"a\"\ngroup = \"sphere\"\n[[charge]]\nposition = [3, 0, 0]\ncharge = 1e-9\n\
         [diffusion]\ntemperature = 298.15\nviscosity = 8.9e-4\n\
         [output]\nforces = true\npolarisability = true",
    );
    let results = place.solve("grounded.toml");
    let number = |value: &Value| value.as_f64().unwrap();
    // The image -q/3 at 1/3: q^2/3 / (4 pi eps0 (8/3)^2).
    let force = &results["forces"][0];
    let exact = 1e-18 / 3.0 / (64.0 / 9.0) / (4.0 * std::f64::consts::PI * 8.854_187_818_8e-12);
    assert_eq!(force["body"], "a");
    // Facets take 3e-3 of the radius, which counts up to three times.
    let near =
        |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 1e-2, "{found} {exact}");
    near(number(&force["force_n"][0]), exact);
    for i in 0..3 {
        near(number(&results["polarisability"]["over_4pi_eps0"][i][i]), 1.0);
    }
    let diffusion = &results["hydrodynamics"];
    near(number(&diffusion["hydrodynamic_radius_m"]), 1.0);
    near(
        number(&diffusion["diffusion_m2_per_s"]),
        1.380_649e-23 * 298.15 / (6.0 * std::f64::consts::PI * 8.9e-4),
    );
    let names: Vec<&str> = results["solves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["excitation"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "sources", "field along x", "field along y", "field along z"]);
}

#[test]
fn all_time_is_in_listed_parts() {
    let place = Workplace::new("probes_time");
    place.generate("sphere --elements 800", "sphere.msh");
    let probe = "[external]\nfield = [0, 0, 1]\n[[probe]]\nname = \"p\"\nlow = [2, 2, 2]\nhigh = [3, 3, 3]\ncounts = [60, 60, 60]";
    place.case("sphere.toml", "sphere.msh", probe);
    let ended = place.must("solve sphere.toml");
    assert!(ended.stdout.contains("evaluation "), "{}", ended.stdout);
    let results = place.json("sphere.out/results.json");
    let times = results["timings_s"].as_object().unwrap();
    let seconds = |name: &str| times[name].as_f64().unwrap();
    let outside = ["total", "matvec_mean"];
    let parts: f64 =
        times.keys().filter(|k| !outside.contains(&k.as_str())).map(|k| seconds(k)).sum();
    // What is not listed: reading the case, the start of threads, checks of the folder.
    assert!(parts > 0.85 * seconds("total"), "{times:?}");
    assert!(parts < 1.05 * seconds("total") + 0.02, "{times:?}");
    let besides = seconds("total") - seconds("error_estimate");
    assert!(seconds("evaluation") > 0.1 * besides, "{times:?}");
}
