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

/// A mesh of `count` tetrahedra, each a conductor.
fn tetrahedra(count: usize) -> String {
    let mut text = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{count}\n");
    for k in 1..=count {
        text += &format!("2 {k} \"g{k}\"\n");
    }
    text += &format!("$EndPhysicalNames\n$Nodes\n{}\n", 4 * count);
    for k in 0..count {
        let at = [k % 10, k / 10 % 10, k / 100].map(|place| 3 * place);
        for (i, corner) in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].iter().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|axis| at[axis] + corner[axis]);
            text += &format!("{} {x} {y} {z}\n", 4 * k + i + 1);
        }
    }
    text += &format!("$EndNodes\n$Elements\n{}\n", 4 * count);
    for k in 0..count {
        for (i, corners) in [[1, 3, 2], [1, 2, 4], [1, 4, 3], [2, 3, 4]].iter().enumerate() {
            let [a, b, c] = corners.map(|corner| 4 * k + corner);
            text += &format!("{} 2 2 {} {} {a} {b} {c}\n", 4 * k + i + 1, k + 1, k + 1);
        }
    }
    text + "$EndElements\n"
}

#[test]
fn a_solve_that_takes_more_than_the_limit_is_not_begun() {
    let place = Workplace::new("estimate_limit");
    place.write("many.msh", tetrahedra(120));
    place.case("many.toml", "many.msh", "");
    // Its matrix takes 1.8 MiB, and data of 120 excitations much more; fewer take less.
    let farad = |more: &str| {
        place.farad(&format!(
            "solve many.toml --threads 1 --backend cpu --memory-limit 0.004 {more}"
        ))
    };
    farad("").fails(5, &["the dense solve needs", "more than the 4.1 MiB", "fewer conductors"]);
    farad("--method fmm").fails(5, &["the fast solve needs", "raise --memory-limit"]);
    assert!(!place.path("many.out").exists());
    place.must("solve many.toml --threads 1 --backend cpu --memory-limit 0.004 --nets g1,g2,g3");
}

#[test]
fn a_small_problem_that_takes_long_is_estimated_from_pieces() {
    let place = Workplace::new("estimate_slow");
    let mut comb = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\nGROUND_PLANE g Z_OFFSETS -1 0\n\
                    METAL m Z_OFFSETS 1.0 1.5\nMETAL t Z_OFFSETS 3.0 3.5\n\
                    DIELECTRIC_SIMPLE ox WRAPS g PERMITTIVITY 3.9 BETWEEN g t\n\
                    DIELECTRIC_BACKGROUND air PERMITTIVITY 1\n\
                    CONDUCTOR a A\nCONDUCTOR b B\n"
        .to_owned();
    for k in 0..50 {
        let (name, x, y) = (["a", "b"][k % 2], 2 * k, 2 * (k % 2));
        let corners = format!("LL {x} {y} UR {} {}", x + 1, y + 22);
        comb += &format!("BOX CONDUCTOR {name} LAYER m {corners}\n");
    }
    place.write("comb.pex25d", &comb);
    let told = place.must("solve comb.pex25d --dry-run --threads 1 --backend cpu").stdout;
    assert!(told.contains("from solves of small pieces of it in "), "{told}");
    assert!(told.contains("good to a factor of two"), "{told}");
    assert!(predicted(&told) > 30.0, "{told}");
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
