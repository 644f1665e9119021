//! What a dry run predicts.

use crate::support::Workplace;

/// MiB of memory that a dry run predicts.
fn predicted(text: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with("# cpu: about ")).unwrap();
    let memory = line.split(", ").nth(1).and_then(|memory| memory.split_once(' ')).unwrap();
    let unit = if memory.1.starts_with("GiB") { 1024.0 } else { 1.0 };
    memory.0.parse::<f64>().unwrap() * unit
}

#[test]
fn memory_of_a_closed_surface_is_not_that_of_pieces_with_rims() {
    let place = Workplace::new("estimate_sphere");
    place.generate("sphere --elements 60000", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let told = place.must("solve sphere.toml --dry-run --threads 1 --backend cpu").stdout;
    assert!(told.contains("from its beginning and solves of two pieces"), "{told}");
    let results = place.solve("sphere.toml --threads 1 --backend cpu");
    let Some(taken) = results["memory_bytes"]["peak"].as_f64() else { return };
    let ratio = predicted(&told) / (taken / 1024f64.powi(2));
    assert!((0.7..1.3).contains(&ratio), "{ratio}\n{told}");
}

#[test]
fn what_is_left_out_of_estimates_is_said() {
    let place = Workplace::new("estimate_films");
    place.generate("plate --elements 14000", "plate.msh");
    let film = "[stack]\nbelow = 11.7\n[[film]]\nname = \"below\"\non = [\"plate\"]\nlayer = 0\n\
                thickness = 1e-3\nrelative_permittivity = 4\ncutoff = 0.01\n";
    place.case("plate.toml", "plate.msh", film);
    let told = place.must("solve plate.toml --dry-run --threads 1 --backend cpu").stdout;
    assert!(told.contains("# what films take comes on top of that"), "{told}");
    let small = Workplace::small("estimate_small");
    let told = small.must("solve sphere.toml --dry-run --backend cpu").stdout;
    assert!(told.contains("by solving it") && !told.contains("on top"), "{told}");
}

#[test]
fn pieces_with_a_matrix_are_small() {
    let place = Workplace::new("estimate_dense");
    place.generate("sphere --elements 14000", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    let dense = "solve sphere.toml --dry-run --threads 1 --backend cpu --method dense";
    let told = place.must(dense).stdout;
    // 13,448^2 entries of 8 bytes.
    assert!((1350.0..1800.0).contains(&predicted(&told)), "{told}");
    let told = place.must(&format!("{dense} --memory-limit 0.25")).stdout;
    assert!(told.contains("256 MiB are free, it may be refused"), "{told}");
}
