//! Shares of the energy in films in case files and results.

use crate::support::Workplace;

const WANTED: &str = "[stack]\nbelow = 11.7\n\
     [[film]]\nname = \"below\"\non = \"plate\"\nlayer = 0\nthickness = 1e-3\nrelative_permittivity = 4\ncutoff = 0.01\n\
     [[film]]\nname = \"above\"\non = [\"plate\"]\nlayer = 1\nthickness = 1e-3\nrelative_permittivity = 4\ncutoff = 0.01\n\
     [[film]]\nname = \"beside\"\ninterface = 0\nthickness = 1e-3\nrelative_permittivity = 2\ncutoff = 0.01\n";

fn plate(name: &str) -> Workplace {
    let place = Workplace::new(name);
    place.generate("plate --grade 2 --elements 400", "plate.msh");
    place
}

#[test]
fn films_are_in_all_results_and_in_the_resolved_case() {
    let place = plate("films");
    place.case("plate.toml", "plate.msh", WANTED);
    let shown = place.must("solve plate.toml").stdout;
    let heading = shown.lines().find(|line| line.contains("participation of")).unwrap();
    assert!(["below", "above", "beside"].iter().all(|name| heading.contains(name)), "{shown}");
    let results = place.json("plate.out/results.json");
    let films = results["films"].as_array().unwrap();
    assert_eq!(films.len(), 3);
    let share = |k: usize| films[k]["participation"][0].as_f64().unwrap();
    let bar = |k: usize| films[k]["participation_error"][0].as_f64().unwrap();
    assert_eq!([&films[0]["name"], &films[2]["name"]], ["below", "beside"]);
    assert_eq!([&films[0]["thickness_m"], &films[2]["relative_permittivity"]], [1e-3, 2.0]);
    // The field is the same above, below and, by the tension, along the plane around the plate.
    assert!((share(0) / share(1) / 11.7f64.powi(2) - 1.0).abs() < 1e-6);
    assert!((share(2) / share(1) / 8.0 - 1.0).abs() < 0.05);
    assert!((0..3).all(|k| 0.0 < bar(k) && bar(k) < 0.2 * share(k)));
    place.must("solve plate.out/case.resolved.toml --overwrite");
    // Parallel sums have no order.
    let again = place.json("plate.out/results.json");
    for (k, film) in again["films"].as_array().unwrap().iter().enumerate() {
        assert_eq!(film["name"], films[k]["name"]);
        let found = film["participation"][0].as_f64().unwrap();
        assert!((found / share(k) - 1.0).abs() < 1e-9, "{film} {}", films[k]);
    }
}

#[test]
fn faults_of_films_are_reported_with_their_place() {
    let place = plate("film_faults");
    let fails = |tables: &str, parts: &[&str]| {
        place.case("faults.toml", "plate.msh", tables);
        place.farad("solve faults.toml").fails(3, parts);
    };
    let of = "thickness = 1e-3\nrelative_permittivity = 4\n";
    fails(
        &format!(
            "[[film]]\nname = \"a\"\n{of}[[film]]\nname = \"b\"\non = \"plate\"\nmedium = \"x\"\nlayer = 1\n{of}\
             [[film]]\nname = \"b\"\ninterface = 0\nlayer = 1\n{of}\
             [[film]]\nname = \"c\"\non = \"plate\"\nthickness = 0\nrelative_permittivity = 4\n"
        ),
        &[
            "neither on nor interface",
            "medium and layer both",
            "next to both of its media",
            "two films are called \"b\"",
            "thickness",
        ],
    );
    fails(
        &format!(
            "[[film]]\nname = \"a\"\non = \"plate\"\n{of}[[film]]\nname = \"b\"\non = \"pad\"\n{of}\
             [[film]]\nname = \"c\"\ninterface = 0\n{of}"
        ),
        &["give a cutoff", "no conductor or dielectric \"pad\"", "there are no layers"],
    );
}
