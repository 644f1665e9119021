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

/// Films of the permittivity around them are not there: images stand for the layers, without a
/// domain.
#[test]
fn layers_without_other_bodies_go_by_images() {
    let place = Workplace::new("layout_images");
    let layers = "METAL top Z_OFFSETS 4 4.5\nDIELECTRIC_SIMPLE oxide WRAPS low PERMITTIVITY 4 BETWEEN low top\n";
    let film = "DIELECTRIC_CONFORMAL film WRAPS low PERMITTIVITY 4 THICKNESS_OVER_WRAPPED 0.1 \\\n\
                THICKNESS_BESIDE_WRAPPED 0.1 THICKNESS_ON_FIELD 0.05\n";
    let plain = solved(&place, "plain", &format!("{PLATES}{layers}"));
    assert_eq!(solved(&place, "film", &format!("{PLATES}{layers}{film}")), plain);
}

#[test]
fn what_cannot_be_read_is_reported_with_its_line() {
    let place = Workplace::new("layout_errors");
    for (name, more, line, words) in [
        ("keyword", "WALL a b\n", 9, "WALL is not known"),
        (
            "corners",
            "POLYGON CONDUCTOR a LAYER low OUTER 0 0 1 1\n",
            9,
            "the polygon has a ring of 2 corners",
        ),
        ("layer", "BOX CONDUCTOR a LAYER lov LL 0 0 UR 1 1\n", 9, "no METAL or VIA called lov"),
        (
            "nets",
            "BOX CONDUCTOR b LAYER low LL 9 9 UR 11 11\n",
            9,
            "touches or overlaps that of net \"A\" on low in line 7",
        ),
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
fn faults_of_gdsii_are_reported_with_their_place() {
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
        (
            "short",
            &short,
            ["one net has the labels \"A\" at (5, 5) um and \"C\" at (2, 2.5) um", "--lenient"],
        ),
        (
            "several",
            &several,
            ["no other cell refers to \"one\", \"other\": name the one to solve as `top`", "byte"],
        ),
        (
            "missing",
            &missing,
            ["cells that are referred to are not in the file: \"nowhere\"", "--lenient"],
        ),
    ] {
        place.write("stack.toml", STACK);
        place.write(&format!("{name}.gds"), layout);
        place.farad(&format!("solve {name}.gds --stack stack.toml")).fails(3, &words);
    }
    for (name, note) in [("short", ": it is called \"A\""), ("missing", "are not in the file")] {
        let ended = place.must(&format!("solve {name}.gds --stack stack.toml --lenient --dry-run"));
        assert!(ended.stderr.contains(note), "{}", ended.stderr);
    }
    place
        .farad("solve several.gds")
        .fails(3, &["several.gds does not say at which heights its layers are", "--stack"]);
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
    place.farad("solve sphere.toml --stack stack.toml").fails(
        2,
        &["the stack file stack.toml is for GDSII layouts (.gds), and sphere.msh is none"],
    );
    place.case("gds.toml", "several.gds", "");
    place.farad("solve gds.toml").fails(3, &["`stack` in [mesh]"]);
}

/// One mistake each in a text that is right, and texts that are wrong as a whole.
#[test]
fn mistakes_in_texts_are_reported_in_their_words() {
    let place = Workplace::new("layout_words");
    place.write("loop.pex25d", "INCLUDE loop.pex25d\n");
    let told = |part: &str| place.farad("solve wrong.pex25d --dry-run").fails(3, &[part]);
    for (more, part) in [
        ("METAL x Z_OFFSETS 3 3", "METAL x: the lower height must come first"),
        (
            "GROUND_PLANE g Z_OFFSETS 0 0.5\nGROUND_PLANE h Z_OFFSETS 0 0.5",
            "there is a GROUND_PLANE already",
        ),
        (
            "DIELECTRIC_CONFORMAL f WRAPS low PERMITTIVITY 2 THICKNESS_OVER_WRAPPED -1 THICKNESS_BESIDE_WRAPPED 1 THICKNESS_ON_FIELD 0",
            "THICKNESS_OVER_WRAPPED is negative; it is a thickness",
        ),
        (
            "DIELECTRIC_BACKGROUND o PERMITTIVITY 4\nDIELECTRIC_BACKGROUND o PERMITTIVITY 4",
            "there is a DIELECTRIC_BACKGROUND already",
        ),
        ("CONDUCTOR a A", "there is a CONDUCTOR a already"),
        (
            "BOX CONDUCTOR a LAYER low LL 0 0 UR 1e20 1",
            "is 100000000000000000000, which is too far away",
        ),
        ("DOMAIN_MARGIN X -1 Y 0 Z 0", "a margin is negative"),
        ("DOMAIN_BOX LL 1 0 0 UR 0 1 1", "the lower left corner (LL) must come first"),
        (
            "BOX CONDUCTOR a LAYER low LL 0 0 UR 0 1",
            "the box has no area; its lower left corner (LL) must come first",
        ),
        (
            "POLYGON CONDUCTOR a LAYER low OUTER 0 0 1 0 1",
            "after \"1\", a coordinate x, its y is missing",
        ),
        ("CONDUCTOR a A extra", "CONDUCTOR: expected the end of the record, found \"extra\""),
        ("BOX CONDUCTOR c LAYER low LL 0 0 UR 1 1", "there is no CONDUCTOR c"),
        (
            "CONDUCTOR A FLOATING\nBOX CONDUCTOR A LAYER low LL 20 0 UR 21 1",
            "the floating conductor A has the name of a net: give it another name",
        ),
        ("METAL low Z_OFFSETS 4 5", "has something called low already"),
        (
            "VIA v CONNECTS low nothing",
            "there is no ground plane, metal, via or dielectric called nothing",
        ),
        ("INCLUDE loop.pex25d", "too many files are included, or they include each other"),
        ("INCLUDE none.pex25d", "none.pex25d cannot be read"),
    ] {
        place.write("wrong.pex25d", format!("{HEAD}{PLATES}{more}\n"));
        told(part);
    }
    for (text, part) in [
        (
            "UNITS LENGTH um GRID 0.001\n",
            "the first record must be the version, such as PEX25D 1.0",
        ),
        ("PEX25D 2.0\n", "this is version 2.0; versions 1.x are read"),
        ("PEX25D 1.0\n", "there is no shape in it; shapes are records BOX and POLYGON"),
        (
            "PEX25D 1.0\nMETAL low Z_OFFSETS 1 1.4\n",
            "lengths need UNITS LENGTH ... GRID ... in a line before",
        ),
    ] {
        place.write("wrong.pex25d", text);
        told(part);
    }
    place.write("wrong.pex25d", b"PEX25D 1.0\n\xff\n");
    told("the text is not UTF-8");
    place.write("odd.pex25d", format!("{HEAD}{PLATES}WALL a\n"));
    let ended = place.must("solve odd.pex25d --dry-run --lenient");
    for note in [
        "records that are not known are skipped: WALL",
        "there is no DIELECTRIC_BACKGROUND: it is vacuum",
    ] {
        assert!(ended.stderr.contains(note), "{}", ended.stderr);
    }
    let bodies = "GROUND_PLANE sub Z_OFFSETS -0.3 0\nMETAL top Z_OFFSETS 4 4.5\n\
                  DIELECTRIC_SIMPLE oxide WRAPS sub PERMITTIVITY 4 BETWEEN sub top\n\
                  DOMAIN_MARGIN X 40 Y 40 Z 5\nCONDUCTOR f FLOATING\n\
                  BOX CONDUCTOR f LAYER top LL 30 0 UR 31 1\n\
                  DIELECTRIC_CONFORMAL film WRAPS top PERMITTIVITY 2 THICKNESS_OVER_WRAPPED 0.2 \\\n\
                  THICKNESS_BESIDE_WRAPPED 0.1 THICKNESS_ON_FIELD 0\n";
    place.write("bodies.pex25d", format!("{HEAD}{PLATES}{bodies}"));
    let ended = place.must("solve bodies.pex25d --dry-run");
    let note = "layers of dielectric end at the domain's walls";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

/// A record of GDSII: what it is, the kind of its data, and these.
type Record<'a> = (u8, u8, &'a [u8]);

/// A cell: its name and what adds to it.
type Cell<'a> = (&'a str, &'a dyn Fn(&mut Writer));

/// Records that follow each other.
fn records(all: &[Record<'_>]) -> impl Fn(&mut Writer) + use<> {
    let all: Vec<(u8, u8, Vec<u8>)> =
        all.iter().map(|(is, kind, data)| (*is, *kind, data.to_vec())).collect();
    move |file| all.iter().for_each(|(is, kind, data)| file.record(*is, *kind, data))
}

#[test]
fn mistakes_in_gdsii_are_reported_in_their_words() {
    let place = Workplace::new("layout_gds_words");
    place.write("stack.toml", STACK);
    let told = |layout: &[u8], part: &str| {
        place.write("wrong.gds", layout);
        place.farad("solve wrong.gds --stack stack.toml --dry-run").fails(3, &[part]);
    };
    const END: Record<'_> = (0x11, 0, &[]);
    const AT: Record<'_> = (0x10, 3, &[0; 8]);
    const OF_A: Record<'_> = (0x12, 6, b"a\0");
    const SREF: Record<'_> = (0x0A, 0, &[]);
    const AREF: Record<'_> = (0x0B, 0, &[]);
    const PATH: Record<'_> = (0x09, 0, &[]);
    const LAYER: Record<'_> = (0x0D, 2, &[0, 1]);
    let [twice, back, huge] = [2.0, -1.0, 1e5].map(Writer::real);
    let of_elements: [(&[Record<'_>], &str); 9] = [
        (&[AREF, OF_A, (0x13, 2, &[0, 1]), AT, END], "COLROW has two numbers"),
        (&[(0x08, 0, &[]), LAYER, END], "this BOUNDARY has no XY"),
        (&[(0x08, 0, &[]), (0x0D, 2, &[]), AT, END], "LAYER has 0 bytes of data, which cannot be"),
        (
            &[PATH, LAYER, (0x21, 2, &[0, 3]), AT, END],
            "the PATH has PATHTYPE 3; those that there are are 0, 1, 2 and 4",
        ),
        (&[SREF, AT, END], "this SREF has no SNAME"),
        (
            &[SREF, OF_A, (0x1A, 1, &[0, 4]), (0x1B, 5, &twice), AT, END],
            "magnifications and angles that are absolute (bits 13 and 14 of STRANS) are not read",
        ),
        (&[SREF, OF_A, (0x1B, 5, &back), AT, END], "the magnification -1 or the angle 0 cannot be"),
        (
            &[AREF, OF_A, AT, END],
            "this AREF needs COLROW with two numbers greater than 0, and three points",
        ),
        (&[SREF, OF_A, AT], "the record ENDEL is missing before it, of the SREF"),
    ];
    for (elements, part) in of_elements {
        told(&cell_of(records(elements)), part);
    }
    let cells = |all: &[Cell<'_>]| {
        let mut file = Writer::new();
        for (name, add) in all {
            file.begin(name);
            add(&mut file);
            file.end();
        }
        file.finish()
    };
    let to = |name: &'static str| move |file: &mut Writer| file.sref(name, [0, 0], None);
    told(&cells(&[]), "the file has no cells");
    told(&cells(&[("a", &plates), ("a", &plates)]), "there is a cell \"a\" already, at byte");
    told(&cells(&[("a", &to("b")), ("b", &to("a"))]), "all cells refer to each other in circles");
    told(
        &cells(&[("top", &to("a")), ("a", &to("b")), ("b", &to("a"))]),
        "the cell \"b\" refers to \"a\", which is made of it",
    );
    let far = records(&[SREF, OF_A, (0x1B, 5, &huge), AT, END]);
    told(
        &cells(&[("top", &far), ("a", &plates)]),
        "database units from the origin, which is too far",
    );
    let many = |file: &mut Writer| file.aref("a", [30_000; 2], [[0, 0], [30_000, 0], [0, 30_000]]);
    told(
        &cells(&[("top", &many), ("a", &plates)]),
        "choose a smaller cell (`top`) or a `window` in the stack file",
    );
    let mut deep = Writer::new();
    for k in 0..300 {
        deep.begin(&format!("c{k}"));
        deep.sref(&format!("c{}", k + 1), [0, 0], None);
        deep.end();
    }
    deep.begin("c300");
    plates(&mut deep);
    deep.end();
    told(&deep.finish(), "cells are nested more than 256 deep");

    // Of a library: the version, dates and a name come first.
    let whole = cell_of(plates);
    let units = whole.windows(4).position(|head| head[2..] == [0x03, 5]).unwrap();
    let with = |units_record: &[u8]| [&whole[..units], units_record, &whole[units + 20..]].concat();
    let zero = [&[0, 20, 0x03, 5][..], &Writer::real(1e-3), &Writer::real(0.0)].concat();
    let one = [&[0, 12, 0x03, 5][..], &Writer::real(1e-3)].concat();
    told(&with(&zero), "the database unit is 0e0 m, which cannot be");
    told(&with(&one), "UNITS has two numbers");
    told(&with(&[]), "the file has no UNITS, so its lengths are not known");
    let nameless = |without: &[u8], part: &str| {
        let at = whole.windows(4).position(|head| head == [0, 8, 0x06, 6]).unwrap();
        told(&[&whole[..at], without].concat(), part);
    };
    nameless(&[0, 4, 0x07, 0, 0, 4, 0x04, 0], "the cell has no name");
    nameless(
        &[0, 8, 0x06, 6, b't', b'o', b'p', 0, 0, 4, 0x04, 0],
        "the record ENDSTR is missing before it",
    );
}

#[test]
fn what_is_odd_in_gdsii_is_noted() {
    let place = Workplace::new("layout_gds_notes");
    place.write("stack.toml", STACK);
    let odd = cell_of(|file| {
        plates(file);
        file.polygon((7, 3), &rectangle([0, 0], [9, 9]));
        file.path(LOW, 0, 0, &[[0, 20_000], [9_000, 20_000]], None);
        file.polygon(LOW, &rectangle([30_000, 0], [40_000, 9_000]));
        file.text((1, 7), "A", [35_000, 5_000]);
        file.text((1, 7), "Z", [50_000, 50_000]);
    });
    place.write("odd.gds", odd);
    let ended = place.must("solve odd.gds --stack stack.toml --dry-run");
    for note in [
        "layers that the stack file does not name are left out, with their shapes: 7/3",
        "paths without width are left out: 1",
        "labels with no shape of their layer under them: \"Z\"",
        "parts that do not touch are one net because their labels are the same: \"A\" (2 parts)",
    ] {
        assert!(ended.stderr.contains(note), "{note}: {}", ended.stderr);
    }
    let bare = cell_of(|file| file.polygon(LOW, &rectangle([0, 0], [9_000, 9_000])));
    place.write("bare.gds", bare);
    let ended = place.must("solve bare.gds --stack stack.toml --dry-run");
    let note = "nets without a label: 1; all are conductors of the matrix";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

#[test]
fn mistakes_in_stack_files_are_reported_in_their_words() {
    let place = Workplace::new("layout_stack_words");
    place.write("plates.gds", cell_of(plates));
    let told = |stack: &str, part: &str| {
        place.write("stack.toml", stack);
        place
            .farad("solve plates.gds --stack stack.toml --dry-run")
            .fails(3, &["stack.toml", part]);
    };
    let film = "[[dielectric]]\nname = \"f\"\nrelative_permittivity = 2\n";
    told(&format!("margin = -1\n{STACK}"), "margin is negative");
    told(
        &format!("window = [0, 0, 0, 1]\n{STACK}"),
        "window is [x, y of the lower left corner, x, y of the upper right one] in um",
    );
    told(
        &format!("{STACK}{film}wraps = \"x\"\nover = 1\n"),
        "the film f wraps x, which is no metal, no via and no film",
    );
    told(&STACK.replace("\"low\"", "\"\""), "the name is empty");
    told(&format!("{STACK}{film}wraps = \"low\"\nover = -1\n"), "over is negative");
    told(&STACK.replace("1.4", "1e30"), "lengths are in um, and at most 1e6");
    let nothing = film.replace("= 2", "= 0");
    told(
        &format!("{STACK}{nothing}wraps = \"low\"\n"),
        "relative_permittivity is 0; it must be from 1e-12 to 1e12",
    );
    place.write("stack.toml", format!("top = \"x\"\n{STACK}"));
    let ended = place.farad("solve plates.gds --stack stack.toml --dry-run");
    ended.fails(3, &["there is no cell \"x\"; there are \"top\""]);
    place.write("stack.toml", format!("window = [90, 90, 91, 91]\n{STACK}"));
    let ended = place.farad("solve plates.gds --stack stack.toml --dry-run");
    ended.fails(3, &["no shape on the layers of the stack file reaches into its `window`"]);
}
