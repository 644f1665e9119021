//! Layouts (.pex25d, .gds): solved as they are, against the same problems described otherwise.

use serde_json::Value;

use crate::gds_writer::{Writer, cell_of};
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
    femtofarads(&results)
}

fn femtofarads(results: &Value) -> Vec<Vec<f64>> {
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
    let case = femtofarads(&case);
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

/// The layers of `PLATES`.
const STACK: &str = "[[metal]]\nname = \"low\"\ngds = \"1/0\"\nfrom = 1\nto = 1.4\n\
                     [[metal]]\nname = \"high\"\ngds = \"2\"\nfrom = 2\nto = 2.4\n";
const LOW: (i16, i16) = (1, 0);
const HIGH: (i16, i16) = (2, 0);

fn rectangle([x, y]: [i32; 2], [u, v]: [i32; 2]) -> [[i32; 2]; 4] {
    [[x, y], [u, y], [u, v], [x, v]]
}

/// The same plates as in `PLATES`, with labels.
fn plates(file: &mut Writer) {
    let plate = rectangle([0, 0], [10_000, 10_000]);
    file.polygon(LOW, &plate);
    file.polygon(HIGH, &plate);
    file.text((1, 7), "A", [5_000, 5_000]);
    file.text((2, 7), "B", [10_000, 5_000]);
}

/// What a layout and a stack give, for an accuracy of 1 %.
fn solved_gds(place: &Workplace, name: &str, layout: &[u8], stack: &str) -> Value {
    place.write(&format!("{name}.gds"), layout);
    place.write(&format!("stacks/{name}.toml"), stack);
    place.solve(&format!("{name}.gds --stack stacks/{name}.toml --accuracy 0.01"))
}

/// The surface that a layout and a stack make.
fn surface(place: &Workplace, name: &str, layout: &[u8], stack: &str) -> String {
    place.write(&format!("{name}.gds"), layout);
    place.write(&format!("{name}.toml"), stack);
    place.must(&format!("mesh convert {name}.gds --stack {name}.toml -o {name}.msh"));
    place.read(&format!("{name}.msh"))
}

#[test]
fn plates_of_gdsii_and_of_text_are_the_same() {
    let place = Workplace::new("layout_gds_plates");
    let layers = "GROUND_PLANE sub Z_OFFSETS -0.3 0\nMETAL top Z_OFFSETS 4 4.5\n\
                  DIELECTRIC_SIMPLE oxide WRAPS sub PERMITTIVITY 4 BETWEEN sub top\n";
    let text = solved(&place, "text", &format!("{PLATES}{layers}"));
    let oxide = "[[dielectric]]\nname = \"oxide\"\nrelative_permittivity = 4\nfrom = 0\nto = 4\n";
    let stack = format!("ground = 0\n{STACK}{oxide}");
    let results = solved_gds(&place, "plates", &cell_of(plates), &stack);
    assert_near(&femtofarads(&results), &text, 1e-9);
    assert!(place.read("plates.out/case.resolved.toml").contains("title = \"top\""));
    // As a case of its own, and once more as the run left it.
    let head = "format = 1\n[mesh]\nfile = \"plates.gds\"\nstack = \"stacks/plates.toml\"\nunit = \"um\"\n";
    let medium =
        "[stack]\nbelow = \"ground\"\n[[layer]]\nthickness = 4\nrelative_permittivity = 4\n";
    place.write("case.toml", format!("{head}{medium}"));
    let case = place.solve("case.toml --accuracy 0.01");
    assert_near(&femtofarads(&case), &text, 1e-3);
    let again = place.solve("plates.out/case.resolved.toml --overwrite");
    assert_near(&femtofarads(&again), &text, 1e-9);
}

#[test]
fn paths_and_arrays_are_the_shapes_that_they_stand_for() {
    let place = Workplace::new("layout_gds_shapes");
    let path = cell_of(|file| {
        file.path(LOW, 4, 400, &[[0, 0], [3_000, 0], [3_000, 2_000]], Some([100, -300]));
    });
    let polygon = cell_of(|file| {
        let corner = [[2_800, 1_700], [2_800, 200], [-100, 200]];
        let rest = [[-100, -200], [3_200, -200], [3_200, 1_700]];
        file.polygon(LOW, &[corner, rest].concat());
    });
    let expected = surface(&place, "polygon", &polygon, STACK);
    assert_eq!(surface(&place, "path", &path, STACK), expected);
    let bar = rectangle([0, 0], [500, 2_000]);
    let mut array = Writer::new();
    array.begin("bar");
    array.polygon(HIGH, &bar);
    array.end();
    array.begin("top");
    array.aref("bar", [3, 2], [[0, 0], [3_000, 0], [0, 6_000]]);
    array.sref("bar", [9_000, 0], Some((false, 1.0, 90.0)));
    array.end();
    let boxes = cell_of(|file| {
        for k in 0..6 {
            let [x, y] = [k % 3 * 1_000, k / 3 * 3_000];
            file.polygon(HIGH, &rectangle([x, y], [x + 500, y + 2_000]));
        }
        file.polygon(HIGH, &rectangle([7_000, 0], [9_000, 500]));
    });
    let expected = surface(&place, "boxes", &boxes, STACK);
    assert_eq!(surface(&place, "array", &array.finish(), STACK), expected);
}

#[test]
fn shapes_that_touch_through_a_via_are_one_net() {
    let place = Workplace::new("layout_gds_nets");
    let layout = cell_of(|file| {
        file.polygon(LOW, &rectangle([0, 0], [10_000, 1_000]));
        file.polygon((3, 0), &rectangle([2_200, 200], [2_800, 800]));
        file.polygon(HIGH, &rectangle([2_000, -4_000], [3_000, 5_000]));
        // Of two shapes that touch, with a label on one of them.
        file.polygon(HIGH, &rectangle([6_000, -4_000], [7_000, 2_000]));
        file.polygon(HIGH, &rectangle([6_000, 2_000], [7_000, 5_000]));
        file.polygon(HIGH, &rectangle([9_000, -4_000], [10_000, 5_000]));
        file.polygon((9, 9), &rectangle([0, 0], [1, 1]));
        file.text((1, 0), "A", [5_000, 500]);
        file.text((2, 5), "B", [6_500, 4_000]);
    });
    let via = "[[via]]\nname = \"via\"\ngds = \"3\"\nconnects = [\"low\", \"high\"]\n";
    let results = solved_gds(&place, "via", &layout, &format!("{STACK}{via}"));
    let names = |results: &Value| -> Vec<String> {
        let all = results["capacitance"]["conductors"].as_array().unwrap().iter();
        all.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&results), ["A", "B", "high_1"]);
    assert!(place.list("via.out").iter().any(|name| name.contains("without_floating")));
    let text = "METAL low Z_OFFSETS 1 1.4\nMETAL high Z_OFFSETS 2 2.4\nVIA via CONNECTS low high\n\
                CONDUCTOR a A\nCONDUCTOR b B\nCONDUCTOR f FLOATING\n\
                BOX CONDUCTOR a LAYER low LL 0 0 UR 10 1\n\
                BOX CONDUCTOR a LAYER via LL 2.2 0.2 UR 2.8 0.8\n\
                BOX CONDUCTOR a LAYER high LL 2 -4 UR 3 5\n\
                BOX CONDUCTOR b LAYER high LL 6 -4 UR 7 5\n\
                BOX CONDUCTOR f LAYER high LL 9 -4 UR 10 5\n";
    assert_near(&femtofarads(&results), &solved(&place, "text", text), 0.01);
    let check = place.must("mesh check via.gds --stack stacks/via.toml").stdout;
    assert!(check.contains("OK: the mesh can be solved on."), "{check}");
    let notes = place.farad("solve via.gds --stack stacks/via.toml --dry-run").stderr;
    for words in ["9/9 (1)", "nets without a label: 1"] {
        assert!(notes.contains(words), "no {words} in {notes}");
    }
    // A window without the label of B, whose wire is at 0 V then.
    let stack = format!("window = [0, -4, 7.5, 1]\nunlabelled = \"ground\"\n{STACK}{via}");
    let results = solved_gds(&place, "window", &layout, &stack);
    assert_eq!(names(&results), ["A", "high_1"]);
    assert!(place.list("window.out").iter().any(|name| name.contains("without_grounded")));
}

#[test]
fn what_is_wrong_with_gdsii_is_told_with_its_place() {
    let place = Workplace::new("layout_gds_errors");
    let whole = cell_of(plates);
    let short = cell_of(|file| {
        plates(file);
        file.text((1, 7), "C", [2_000, 2_500]);
    });
    let unknown = cell_of(|file| file.polygon((7, 3), &rectangle([0, 0], [9, 9])));
    let mut several = Writer::new();
    for name in ["one", "other"] {
        several.begin(name);
        plates(&mut several);
        several.end();
    }
    let mut missing = Writer::new();
    missing.begin("top");
    plates(&mut missing);
    missing.sref("nowhere", [0, 0], None);
    missing.end();
    let (several, missing) = (several.finish(), missing.finish());
    let at = format!("byte {}", whole.len() - 8);
    for (name, layout, words) in [
        ("truncated", &whole[..whole.len() - 6], ["it is truncated", at.as_str()]),
        ("text", &b"PEX25D 1.0"[..], ["no GDSII file", "byte 0"]),
        ("unknown", &unknown, ["(1/0, 2): the cell has 7/3", "\"top\""]),
        ("short", &short, ["\"A\" at (5, 5) um and \"C\" at (2, 2.5) um", "--lenient"]),
        ("several", &several, ["\"one\", \"other\"", "`top`"]),
        ("missing", &missing, ["\"nowhere\"", "--lenient"]),
    ] {
        place.write("stack.toml", STACK);
        place.write(&format!("{name}.gds"), layout);
        place.farad(&format!("solve {name}.gds --stack stack.toml")).fails(3, &words);
    }
    for name in ["short", "missing"] {
        place.must(&format!("solve {name}.gds --stack stack.toml --lenient --dry-run"));
    }
    place.farad("solve several.gds").fails(3, &["--stack"]);
    place.write("stack.toml", format!("top = \"one\"\nground = 1\n{STACK}"));
    let ended = place.farad("solve several.gds --stack stack.toml");
    ended.fails(3, &["stack.toml", "line 3", "stands on the ground plane"]);
    place.write("stack.toml", format!("{STACK}colour = 1\n"));
    let ended = place.farad("solve several.gds --stack stack.toml");
    ended.fails(3, &["line 11", "unknown field `colour`"]);
    place.write("plates.pex25d", format!("{HEAD}{PLATES}"));
    place.farad("solve plates.pex25d --stack stack.toml").fails(2, &["none", "leave it out"]);
    place.generate("sphere --elements 72", "sphere.msh");
    place.case("sphere.toml", "sphere.msh", "");
    place.farad("solve sphere.toml --stack stack.toml").fails(2, &["sphere.msh is none"]);
    place.case("gds.toml", "several.gds", "");
    place.farad("solve gds.toml").fails(3, &["`stack` in [mesh]"]);
}
