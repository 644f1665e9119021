//! Layouts (.pex25d): solved as they are, against the same problems described otherwise.

use crate::support::{Workplace, matrix};

const HEAD: &str = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\n";

/// Two plates of 10 um, 0.6 um apart.
const PLATES: &str = "METAL low Z_OFFSETS 1 1.4\nMETAL high Z_OFFSETS 2 2.4\n\
                      CONDUCTOR a A\nCONDUCTOR b B\nBOX CONDUCTOR a LAYER low LL 0 0 UR 10 10\n\
                      POLYGON CONDUCTOR b LAYER high OUTER 0 0 10 0 10 10 0 10\n";

/// The Maxwell matrix in femtofarads, for an accuracy of 1 %.
fn solved(place: &Workplace, name: &str, text: &str) -> Vec<Vec<f64>> {
    let file = format!("{name}.pex25d");
    place.write(&file, format!("{HEAD}{text}"));
    let results = place.solve(&format!("{file} --accuracy 0.01"));
    let found = matrix(&results["capacitance"]["maxwell_farad"]);
    found.into_iter().map(|row| row.into_iter().map(|x| 1e15 * x).collect()).collect()
}

fn assert_near(found: &[Vec<f64>], expected: &[Vec<f64>], share: f64) {
    for (row, other) in found.iter().zip(expected) {
        for (x, y) in row.iter().zip(other) {
            assert!((x - y).abs() < share * expected[0][0], "{found:?} {expected:?}");
        }
    }
}

/// eps0 A/d = 1.476 fF, and what fringes at the rims add; the medium is a factor.
#[test]
fn plates_have_their_capacitance_in_any_medium() {
    let place = Workplace::new("layout_plates");
    let found = solved(&place, "plates", PLATES);
    let ideal = 8.854_187_812_8e-3 * 100.0 / 0.6;
    assert!(-found[0][1] > ideal && -found[0][1] < 1.3 * ideal, "{found:?}");
    let filled =
        solved(&place, "filled", &format!("{PLATES}DIELECTRIC_BACKGROUND o PERMITTIVITY 4\n"));
    let quarter: Vec<Vec<f64>> =
        filled.iter().map(|row| row.iter().map(|x| 0.25 * x).collect()).collect();
    assert_near(&quarter, &found, 0.005);
}

/// Layers without end are those of a case; as bodies that end far away they give the same.
#[test]
fn layers_are_those_of_a_case_and_of_bodies() {
    let place = Workplace::new("layout_layers");
    let layers = "GROUND_PLANE sub Z_OFFSETS -0.3 0\nMETAL top Z_OFFSETS 4 4.5\n\
                  DIELECTRIC_SIMPLE oxide WRAPS sub PERMITTIVITY 4 BETWEEN sub top\n";
    let found = solved(&place, "layers", &format!("{PLATES}{layers}"));
    place.write("plates.pex25d", format!("{HEAD}{PLATES}"));
    place.write(
        "case.toml",
        "format = 1\n[mesh]\nfile = \"plates.pex25d\"\nunit = \"um\"\n[stack]\nbelow = \"ground\"\n\
         [[layer]]\nthickness = 4\nrelative_permittivity = 4\n",
    );
    let case = place.solve("case.toml --accuracy 0.01");
    let case: Vec<Vec<f64>> = matrix(&case["capacitance"]["maxwell_farad"])
        .into_iter()
        .map(|row| row.into_iter().map(|x| 1e15 * x).collect())
        .collect();
    assert_near(&found, &case, 1e-3);
    // A film around metal far away makes bodies of the layers.
    let far = "DOMAIN_MARGIN X 40 Y 40 Z 5\nCONDUCTOR f FLOATING\n\
               BOX CONDUCTOR f LAYER top LL 30 0 UR 31 1\n\
               DIELECTRIC_CONFORMAL film WRAPS top PERMITTIVITY 2 THICKNESS_OVER_WRAPPED 0.2 \\\n\
               THICKNESS_BESIDE_WRAPPED 0.1 THICKNESS_ON_FIELD 0\n";
    let bodies = solved(&place, "bodies", &format!("{PLATES}{layers}{far}"));
    assert_near(&bodies, &found, 0.03);
    assert!(place.list("bodies.out").iter().any(|name| name.contains("without_floating")));
}

/// A net of two wires and a via is one body; a crossing net on the upper layer touches neither.
#[test]
fn wires_joined_by_a_via_are_one_conductor() {
    let place = Workplace::new("layout_via");
    let text = "METAL low Z_OFFSETS 1 1.4\nMETAL high Z_OFFSETS 2 2.4\nVIA via CONNECTS low high\n\
                CONDUCTOR a A\nCONDUCTOR b B\nBOX CONDUCTOR a LAYER low LL 0 0 UR 10 1\n\
                BOX CONDUCTOR a LAYER via LL 2.2 0.2 UR 2.8 0.8\n\
                BOX CONDUCTOR a LAYER high LL 2 -4 UR 3 5\n\
                BOX CONDUCTOR b LAYER high LL 6 -4 UR 7 5\n";
    place.write("via.pex25d", format!("{HEAD}{text}"));
    let check = place.must("mesh check via.pex25d").stdout;
    assert!(check.contains("OK: the mesh can be solved on."), "{check}");
    let found = solved(&place, "via", text);
    // Without the via the wires are two conductors at one potential: it hardly changes the sum.
    let apart = text.replace("BOX CONDUCTOR a LAYER via LL 2.2 0.2 UR 2.8 0.8\n", "");
    assert_near(&solved(&place, "apart", &apart), &found, 0.03);
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let place = Workplace::new("layout_errors");
    for (name, more, line, words) in [
        ("keyword", "WALL a b\n", 9, "WALL is not known"),
        ("corners", "POLYGON CONDUCTOR a LAYER low OUTER 0 0 1 1\n", 9, "2 corners"),
        ("layer", "BOX CONDUCTOR a LAYER lov LL 0 0 UR 1 1\n", 9, "no METAL or VIA called lov"),
        ("nets", "BOX CONDUCTOR b LAYER low LL 9 9 UR 11 11\n", 9, "net \"A\" on low in line 7"),
        ("clause", "WRAPS x\n", 9, "\\ at the end"),
        ("grid", "BOX CONDUCTOR a LAYER low LL 0 0 UR 0.0005 1\n", 9, "no multiple of the GRID"),
        ("cycle", "DIELECTRIC_SIMPLE x WRAPS x PERMITTIVITY 2 BETWEEN low high\n", 9, "called x"),
        ("ground", "GROUND_PLANE g Z_OFFSETS 0 1\n", 7, "stands on the ground plane"),
    ] {
        let file = format!("{name}.pex25d");
        place.write(&file, format!("{HEAD}{PLATES}{more}"));
        let line = format!("line {line}");
        place.farad(&format!("solve {file}")).fails(3, &[words, &line]);
    }
    place.must("solve keyword.pex25d --lenient");
}
