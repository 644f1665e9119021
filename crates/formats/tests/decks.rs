//! FastCap lists as other programs write them: panels that meet in T's, lie on each other, have no
//! area or say what counts for nothing. Each has the capacitance of the same geometry said well.

#![allow(clippy::unwrap_used)] // Clippy knows only test functions themselves, not what they call.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use farad::{Error, Fault, Method, NoProgress, Note, Options, Problem};
use formats::fastcap::{self, Model};
use mesh::check::Defects;
use mesh::files;
use proptest::prelude::*;

fn load<'a>(files: &'a [(&'a str, String)]) -> impl Fn(&Path) -> Result<Vec<u8>, files::Error> {
    |path: &Path| {
        let known = files.iter().find(|(name, _)| Path::new(name) == path);
        let missing =
            || files::Error::Io { path: path.to_owned(), source: ErrorKind::NotFound.into() };
        known.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(missing)
    }
}

/// The model of the first of these files.
fn read(files: &[(&str, String)]) -> Model {
    fastcap::read(Path::new(files[0].0), load(files)).unwrap()
}

fn solved(model: Model) -> Vec<Vec<f64>> {
    let problem = Problem::new(model.description, model.mesh).unwrap();
    // Dense, so that the same surface has the same digits.
    let options = Options::default().method(Method::Dense);
    problem.solve(&options, &NoProgress).unwrap().matrices().maxwell_farad.clone()
}

fn matrix(files: &[(&str, String)]) -> Vec<Vec<f64>> {
    solved(read(files))
}

/// Largest difference of entries, relative to the largest entry.
#[track_caller]
fn same(found: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() <= tolerance * largest, "{found:?}, not {expected:?}");
    }
}

fn notes(model: &Model) -> String {
    model.reading.notes.join("\n")
}

/// The face of a box across an axis, at its low or high end, in `count` x `count` quadrilaterals.
fn face([low, high]: [[f64; 3]; 2], axis: usize, is_high: bool, count: usize) -> String {
    let mut text = String::new();
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    for (i, j) in (0..count * count).map(|k| (k % count, k / count)) {
        text += "Q c";
        for (s, t) in [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)] {
            let along = |axis: usize, k: usize| {
                low[axis] + (high[axis] - low[axis]) * k as f64 / count as f64
            };
            let mut corner = if is_high { high } else { low };
            (corner[u], corner[v]) = (along(u, s), along(v, t));
            write!(text, " {} {} {}", corner[0], corner[1], corner[2]).unwrap();
        }
        text += "\n";
    }
    text
}

/// A box; `counts` are the panels along each side of its faces -x, +x, -y, +y, -z, +z, 0 for none.
fn box_of(bounds: [[f64; 3]; 2], counts: [usize; 6]) -> String {
    let faces = (0..6).map(|k| face(bounds, k / 2, k % 2 == 1, counts[k]));
    format!("0 box\n{}", faces.collect::<String>())
}

const UNIT: [[f64; 3]; 2] = [[0.0; 3], [1.0; 3]];

fn cube(count: usize) -> String {
    box_of(UNIT, [count; 6])
}

/// A conducting cube in the lower of two slabs on each other, its panels and those of the slabs'
/// faces as given.
fn slabs(cube_panels: [usize; 6], lower: [usize; 6], upper: [usize; 6]) -> Vec<Vec<f64>> {
    let list = "C cube.qui 4 0 0 0\nD low.qui 1 4 0 0 0 0.5 0.5 0.5 -\nD wall.qui 4 2 0 0 0 0.5 0.5 0.5\n\
                D high.qui 1 2 0 0 0 0.5 0.5 2.2 -\n";
    let (low, high) = ([[-1.0, -1.0, -1.0], [2.0; 3]], [[-1.0, -1.0, 2.0], [2.0, 2.0, 3.0]]);
    let without = |mut counts: [usize; 6], face: usize| {
        counts[face] = 0;
        counts
    };
    matrix(&[
        ("a.lst", list.to_owned()),
        ("cube.qui", box_of(UNIT, cube_panels)),
        ("low.qui", box_of(low, without(lower, 5))),
        ("wall.qui", format!("0 wall\n{}", face(low, 2, true, lower[5]))),
        ("high.qui", box_of(high, without(upper, 4))),
    ])
}

/// Neighbouring panels that share no vertices: edges end in the middle of others.
#[test]
fn panels_that_meet_in_ts_bound_the_same_media() {
    let conforming = slabs([6; 6], [6; 6], [6; 6]);
    let found = slabs([6, 5, 6, 7, 6, 5], [6, 5, 7, 6, 5, 6], [5, 6, 7, 4, 6, 7]);
    // Panels differ by as much as their number does.
    same(&found, &conforming, 5e-3);
    assert!(read_slabs_is_noted());
}

fn read_slabs_is_noted() -> bool {
    let model = read(&[("a.qui", box_of(UNIT, [2, 3, 2, 2, 2, 2]))]);
    notes(&model).contains("triangles more, where panels meet without common corners")
}

/// Each box of a stack with all its faces: where two touch there are panels of both, and nothing
/// between.
#[test]
fn stacked_boxes_may_each_have_their_face_where_they_touch() {
    let boxes = |list: &str, counts: [usize; 6]| {
        let low = box_of([[-1.0, -1.0, -1.0], [2.0; 3]], [4; 6]);
        let high = box_of([[-1.0, -1.0, 2.0], [2.0, 2.0, 3.0]], counts);
        let wall = format!("0 wall\n{}", face([[-1.0; 3], [2.0; 3]], 2, true, 4));
        let open = box_of([[-1.0, -1.0, -1.0], [2.0; 3]], [4, 4, 4, 4, 4, 0]);
        matrix(&[
            ("a.lst", list.to_owned()),
            ("cube.qui", cube(4)),
            ("low.qui", low),
            ("high.qui", high),
            ("wall.qui", wall),
            ("open.qui", open),
        ])
    };
    let once = boxes(
        "C cube.qui 4 0 0 0\nD open.qui 1 4 0 0 0 0.5 0.5 0.5 -\nD wall.qui 4 2 0 0 0 0.5 0.5 0.5\n\
         D high.qui 1 2 0 0 0 0.5 0.5 2.2 -\n",
        [4, 4, 4, 4, 0, 4],
    );
    let twice = "C cube.qui 4 0 0 0\nD low.qui 1 4 0 0 0 0.5 0.5 0.5 -\nD high.qui 1 2 0 0 0 0.5 0.5 2.2 -\n";
    same(&boxes(twice, [4; 6]), &once, 1e-9);
    // Other panels: pieces of both remain.
    same(&boxes(twice, [4, 4, 4, 4, 3, 4]), &once, 5e-3);
    // Of one medium: the wall between them says nothing.
    let alike = "C cube.qui 4 0 0 0\nD low.qui 1 4 0 0 0 0.5 0.5 0.5 -\nD high.qui 1 4 0 0 0 0.5 0.5 2.2 -\n";
    let one = "C cube.qui 4 0 0 0\nD open.qui 1 4 0 0 0 0.5 0.5 0.5 -\nD high.qui 1 4 0 0 0 0.5 0.5 2.2 -\n";
    same(&boxes(alike, [4; 6]), &boxes(one, [4, 4, 4, 4, 0, 4]), 1e-9);
}

/// A bar of metal up to where two bodies touch, each with its own face there: three panels on a
/// place, in whatever order the lines are.
#[test]
fn metal_that_ends_where_two_bodies_touch_lies_between_them() {
    let (metal, low, high) = (
        "C bar.qui 4 0 0 0\n",
        "D low.qui 1 4 0 0 0 0.5 0.5 0.5 -\n",
        "D high.qui 1 2 0 0 0 0.5 0.5 2.2 -\n",
    );
    let bar = box_of([[0.0; 3], [1.0, 1.0, 2.0]], [4; 6]);
    let (below, above) = ([[-1.0, -1.0, -1.0], [2.0; 3]], [[-1.0, -1.0, 2.0], [2.0, 2.0, 3.0]]);
    let once = matrix(&[
        ("a.lst", format!("{metal}{low}{high}D wall.qui 4 2 0 0 0 0.5 0.5 0.5\n")),
        ("bar.qui", bar.clone()),
        ("low.qui", box_of(below, [6, 6, 6, 6, 6, 0])),
        ("high.qui", box_of(above, [6, 6, 6, 6, 0, 6])),
        ("wall.qui", format!("0 wall\n{}", face(below, 2, true, 6))),
    ]);
    for lines in [[metal, low, high], [low, metal, high], [high, low, metal]] {
        let found = matrix(&[
            ("a.lst", lines.concat()),
            ("bar.qui", bar.clone()),
            ("low.qui", box_of(below, [6; 6])),
            ("high.qui", box_of(above, [6; 6])),
        ]);
        // The same panels, cut elsewhere where they lie on each other.
        same(&found, &once, 1e-3);
    }
}

/// Panels turned in space, with seven digits: what lay on each other does so up to rounding.
#[test]
fn stacks_turned_in_space_are_what_they_were() {
    let turned = |[x, y, z]: [f64; 3], angle: f64| {
        let (s, c) = angle.sin_cos();
        let (x, y) = (c * x - s * y, s * x + c * y);
        let (y, z) = (c * y - s * z, s * y + c * z);
        format!(" {:.6e} {:.6e} {:.6e}", x + 3.0, y + 1.0, z + 2.0)
    };
    let panels = |text: String, angle: f64| {
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let numbers: Vec<f64> = words[2..].iter().map(|word| word.parse().unwrap()).collect();
            let points = numbers.chunks(3).map(|p| turned([p[0], p[1], p[2]], angle));
            format!("Q c{}\n", points.collect::<String>())
        };
        "0 box\n".to_owned() + &text.lines().skip(1).map(line).collect::<String>()
    };
    let (below, above) = ([[-1.0, -1.0, -1.0], [2.0; 3]], [[-1.0, -1.0, 2.0], [2.0, 2.0, 3.0]]);
    let at = |angle: f64| {
        let [low, high] = [[0.5; 3], [0.5, 0.5, 2.5]].map(|x| turned(x, angle));
        matrix(&[
            (
                "a.lst",
                format!(
                    "C bar.qui 4 0 0 0\nC cube.qui 2 0 0 0\nD low.qui 1 4 0 0 0 {low} -\n\
                     D high.qui 1 2 0 0 0 {high} -\n"
                ),
            ),
            ("bar.qui", panels(box_of([[0.0; 3], [1.0, 1.0, 2.0]], [3, 2, 4, 3, 3, 2]), angle)),
            ("cube.qui", panels(box_of([[-0.8, 0.2, 2.0], [-0.2, 0.8, 2.5]], [2; 6]), angle)),
            ("low.qui", panels(box_of(below, [4, 3, 5, 4, 3, 4]), angle)),
            ("high.qui", panels(box_of(above, [3, 4, 5, 2, 5, 4]), angle)),
        ])
    };
    let straight = at(0.0);
    for step in 1..=4 {
        same(&at(0.3 * f64::from(step)), &straight, 2e-3);
    }
}

/// A box without a lower face, in the middle of panels of what it stands on.
#[test]
fn boxes_may_stand_on_panels() {
    // A plate of dielectric, and a box of the same medium on it, open below; metal in the plate.
    let (plate, up) = ([[0.0; 3], [3.0, 3.0, 1.0]], [[1.0, 1.0, 1.0], [2.0; 3]]);
    let list = "C c.qui 3 0 0 0\nD plate.qui 1 3 0 0 0 0.1 0.1 0.1 -\nD hat.qui 1 3 0 0 0 1.5 1.5 1.5 -\n\
                D under.qui 3 3 0 0 0 1 1 9\n";
    let with = |plate: String, hat: [usize; 6]| {
        matrix(&[
            ("a.lst", list.to_owned()),
            ("c.qui", box_of([[1.2, 1.2, 0.25], [1.8, 1.8, 0.75]], [3; 6])),
            ("plate.qui", plate),
            ("hat.qui", box_of(up, hat)),
            ("under.qui", format!("0 u\n{}", face(up, 2, false, 1))),
        ])
    };
    // The plate's panels go on under the hat, which says with its lower face that they do not.
    let closed = with(box_of(plate, [6; 6]), [2; 6]);
    let open: String = box_of(plate, [6; 6])
        .lines()
        .filter(|line| {
            let words: Vec<f64> =
                line.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
            let middle = |axis: usize| words.iter().skip(axis).step_by(3).sum::<f64>() / 4.0;
            let is_covered = (0..2).all(|axis| middle(axis) > 1.0 && middle(axis) < 2.0);
            words.len() != 12 || middle(2) < 0.99 || !is_covered
        })
        .fold(String::new(), |text, line| text + line + "\n");
    same(&with(open, [2, 2, 2, 2, 0, 2]), &closed, 1e-9);
    // Walls of metal on a plate of metal, in the middle of two large panels.
    let walls = |base: usize| {
        matrix(&[
            ("a.lst", "C base.qui 1 0 0 0 +\nC walls.qui 1 0 0 0\n".to_owned()),
            ("base.qui", format!("0 b\n{}", face(plate, 2, true, base))),
            ("walls.qui", box_of(up, [3, 3, 3, 3, 0, 3])),
        ])
    };
    same(&walls(4), &walls(9), 2e-2);
    let model = read(&[
        ("a.lst", "C base.qui 1 0 0 0 +\nC walls.qui 1 0 0 0\n".to_owned()),
        ("base.qui", format!("0 b\n{}", face(plate, 2, true, 1))),
        ("walls.qui", box_of(up, [3, 3, 3, 3, 0, 3])),
    ]);
    // Closed above the plate: its rim alone is open.
    let report = mesh::check::Report::of(&model.mesh).unwrap();
    assert_eq!(report.components.len(), 1);
    let rim = report.whole.boundary_edges;
    assert!(rim >= 4 && report.whole.non_manifold_edges >= 12, "{rim}");
    let area = report.quality.area;
    assert!((area - 14.0).abs() < 1e-9, "{area}");
}

/// The end of a wire in the wall of the dielectric around it: the wall is not there where metal is.
#[test]
fn metal_that_ends_in_a_wall_counts_there() {
    // A cube of dielectric, and a bar of metal that reaches from its middle to the face at x = 3.
    let (body, bar) = ([[0.0; 3], [3.0; 3]], [[1.5, 1.0, 1.0], [3.0, 2.0, 2.0]]);
    let list = "C inside.qui 3 0 0 0 +\nC end.qui 1 0 0 0\nD body.qui 1 3 0 0 0 1 1 1 -\n";
    let inside = box_of(bar, [3, 0, 3, 3, 3, 3]);
    let end = format!("0 end\n{}", face(bar, 0, true, 3));
    let whole = box_of(body, [9; 6]);
    // Without the panels of the wall that the bar covers.
    let hole: String = whole
        .lines()
        .filter(|line| {
            let words: Vec<f64> =
                line.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
            let middle = |axis: usize| words.iter().skip(axis).step_by(3).sum::<f64>() / 4.0;
            let is_inside = |axis: usize| middle(axis) > 1.0 && middle(axis) < 2.0;
            words.len() != 12 || middle(0) < 2.99 || !is_inside(1) || !is_inside(2)
        })
        .fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(whole.lines().count() - hole.lines().count(), 9);
    let with = |body: &str| {
        matrix(&[
            ("a.lst", list.to_owned()),
            ("inside.qui", inside.clone()),
            ("end.qui", end.clone()),
            ("body.qui", body.to_owned()),
        ])
    };
    let expected = with(&hole);
    same(&with(&whole), &expected, 1e-9);
    let coarse = box_of(body, [9, 2, 9, 9, 9, 9]);
    same(&with(&coarse), &expected, 2e-2);
}

/// Metal without thickness, listed once for each medium next to it.
#[test]
fn a_plate_between_two_media_may_be_listed_against_each() {
    let plate =
        |count: usize| format!("0 p\n{}", face([[1.0, 1.0, 1.0], [2.0, 2.0, 1.0]], 2, true, count));
    let block = box_of([[0.0; 3], [3.0, 3.0, 1.0]], [6, 6, 6, 6, 6, 6]);
    let with = |list: &str| {
        matrix(&[
            ("a.lst", list.to_owned()),
            ("p.qui", plate(4)),
            ("q.qui", plate(3)),
            ("block.qui", block.clone()),
        ])
    };
    let body = "D block.qui 1 5 0 0 0 1 1 0.5 -\n";
    let expected = with(&format!("B p.qui 1 5 0 0 0 1 1 0.5 -\n{body}"));
    same(&with(&format!("C p.qui 1 0 0 0 +\nC p.qui 5 0 0 0\n{body}")), &expected, 1e-9);
    same(&with(&format!("{body}C p.qui 1 0 0 0 +\nC q.qui 5 0 0 0\n")), &expected, 2e-2);
    // Once is enough where it covers the interface.
    same(&with(&format!("C p.qui 1 0 0 0\n{body}")), &expected, 1e-9);
    same(&with(&format!("C p.qui 5 0 0 0\n{body}")), &expected, 1e-9);
    // Without an interface at its place, neighbours or what is above and below tell the sides.
    let mut hole = String::from("0 block\n");
    for line in block.lines().skip(1) {
        let words: Vec<f64> =
            line.split_whitespace().skip(2).filter_map(|word| word.parse().ok()).collect();
        let middle = |axis: usize| words.iter().skip(axis).step_by(3).sum::<f64>() / 4.0;
        let is_covered = (0..2).all(|axis| middle(axis) > 1.0 && middle(axis) < 2.0);
        if middle(2) < 0.99 || !is_covered {
            hole += line;
            hole += "\n";
        }
    }
    let found = matrix(&[
        (
            "a.lst",
            "C p.qui 5 0 0 0 +\nC p.qui 1 0 0 0\nD hole.qui 1 5 0 0 0 1 1 0.5 -\n".to_owned(),
        ),
        ("p.qui", plate(4)),
        ("hole.qui", hole),
    ]);
    same(&found, &expected, 1e-9);
    let alone = [("a.lst", "C p.qui 5 0 0 0 +\nC p.qui 1 0 0 0\n".to_owned()), ("p.qui", plate(1))];
    let message = fastcap::read(Path::new("a.lst"), load(&alone)).unwrap_err().to_string();
    assert!(message.contains("line 2 of p.qui (line 1 of the list)"), "{message}");
    assert!(message.contains("give it by one B line"), "{message}");
}

#[test]
fn panels_listed_twice_or_in_pieces_count_once() {
    let expected = matrix(&[("a.qui", cube(4))]);
    let twice = cube(4) + &face(UNIT, 1, true, 4);
    let model = read(&[("a.qui", twice)]);
    assert!(notes(&model).contains("64 triangles lie on others: each place counts once"));
    same(&solved(model), &expected, 1e-9);
    let found = matrix(&[("a.qui", cube(4) + &face(UNIT, 1, true, 3))]);
    same(&found, &expected, 2e-2);
    // A box on a box, of one net: the face between them is inside of metal.
    let long = matrix(&[("a.qui", box_of([[0.0; 3], [2.0, 1.0, 1.0]], [4, 4, 4, 4, 4, 4]))]);
    let two =
        matrix(&[("a.lst", "C c.qui 1 0 0 0 +\nC c.qui 1 1 0 0\n".to_owned()), ("c.qui", cube(4))]);
    same(&two, &long, 1e-2);
}

#[test]
fn what_has_no_area_or_says_nothing_is_left_out() {
    let expected = matrix(&[("a.lst", "C c.qui 3 0 0 0\n".into()), ("c.qui", cube(4))]);
    let flat = "T c 0 0 2 1 0 2 2 0 2\nQ c 0 0 5 1 0 5 2 0 5 3 0 5\nT c 1 1 1 1 1 1 0 0 7\n";
    let list = "C c.qui 3 0 0 0\nD d.qui 3 3 0.2 0 0 9 9 9\n";
    let model = read(&[
        ("a.lst", list.to_owned()),
        ("c.qui", cube(4) + flat),
        ("d.qui", box_of([[-1.0; 3], [2.0; 3]], [2; 6])),
    ]);
    let notes = notes(&model);
    let equal = "24 panels of interfaces with the same permittivity on both sides are left out";
    assert!(notes.contains(equal), "{notes}");
    assert!(notes.contains("3 triangles of no area are left out"), "{notes}");
    assert_eq!(model.description.surfaces, []);
    assert_eq!(model.description.relative_permittivity, 3.0);
    same(&solved(model), &expected, 1e-9);
}

/// Layout programs scale lengths by permittivities: all of them a millionth, say.
#[test]
fn permittivities_scale_everything() {
    let at = |scale: f64| {
        let list = format!(
            "C c.qui {} 0 0 0\nC c.qui {} 4 0 0\nD d.qui {} {} 0 0 0 0.5 0.5 0.2 -\n",
            2.4 * scale,
            scale,
            scale,
            2.4 * scale
        );
        let body = box_of([[-1.0; 3], [2.0; 3]], [3; 6]);
        matrix(&[("a.lst", list), ("c.qui", cube(3)), ("d.qui", body)])
    };
    let micro: Vec<Vec<f64>> =
        at(1e-6).into_iter().map(|row| row.into_iter().map(|c| 1e6 * c).collect()).collect();
    same(&micro, &at(1.0), 1e-9);
}

/// FasterCap's forms: panels within the list, colours, a reference point for each panel, names with
/// brackets.
#[test]
fn sections_colours_and_brackets_are_read() {
    let net = |text: String| text.replace(" c ", " net<3>[0](a) ");
    let panels = net(cube(3));
    let list = "C cube 1.0 0 0 0 + 0xf000002f\nC cube 1.0 3 0 0 0xF0\nEnd\n";
    let model = read(&[(
        "a.lst",
        format!("{list}\nFile cube\n{}End\n", panels.replacen("0 box\n", "", 1)),
    )]);
    let names: Vec<&str> = model.description.conductors.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["net<3>[0](a)"]);
    assert_eq!(model.place_of(0).unwrap(), "line 6 of a.lst (line 1 of the list)");
    let coloured = panels.replace("(a)", "(a) 0x123456");
    let apart = matrix(&[
        ("a.lst", "C cube.qui 1.0 0 0 0 +\nC cube.qui 1.0 3 0 0\n".to_owned()),
        ("cube.qui", coloured),
    ]);
    same(&solved(model), &apart, 1e-12);
    let twice = format!("{list}File cube\n{panels}End\nFile cube\n{panels}End\n");
    let message = fastcap::read(Path::new("a.lst"), load(&[("a.lst", twice)])).unwrap_err();
    assert!(message.to_string().contains("there is a section \"cube\" already"), "{message}");
    let message = fastcap::read(Path::new("a.lst"), load(&[("a.lst", list.to_owned())]));
    let message = message.unwrap_err().to_string();
    assert!(message.contains("line 1") && message.contains("cube does not exist"), "{message}");
    // Each triangle with its own point, across from where the line's would be.
    let (own, one): (String, String) = cube(3)
        .lines()
        .skip(1)
        .map(|line| (format!("{line} 0.5 0.5 0.5\n"), format!("{line}\n")))
        .unzip();
    let with = |panels: String, reference: &str| {
        matrix(&[
            ("a.lst", format!("C c.qui 2 0 0 0\nD d.qui 1 2 0 0 0 {reference} -\n")),
            ("c.qui", box_of([[0.25; 3], [0.75; 3]], [2; 6])),
            ("d.qui", format!("0 d\n{panels}")),
        ])
    };
    same(&with(own, "9 9 9"), &with(one, "0.5 0.5 0.5"), 1e-12);
}

/// A conductor inside of another's metal sees nothing but that.
#[test]
fn metal_in_metal_takes_charge_of_its_shell_alone() {
    let alone = matrix(&[("a.qui", box_of([[-1.0; 3], [2.0; 3]], [4; 6]))]);
    let found = matrix(&[
        ("a.lst", "C shell.qui 1 0 0 0\nC c.qui 1 0 0 0\n".to_owned()),
        ("shell.qui", box_of([[-1.0; 3], [2.0; 3]], [4; 6])),
        ("c.qui", cube(3)),
    ]);
    // Within the shell the potential of panels with constant charge is the same to some
    // thousandths.
    let all: f64 = found.iter().flatten().sum();
    assert!((all / alone[0][0] - 1.0).abs() < 5e-3, "{found:?}");
    assert!((found[1][0] + found[1][1]).abs() < 5e-3 * found[1][1], "{found:?}");
}

fn faults(model: &Model, lenient: bool) -> Result<Problem, Vec<Fault>> {
    let description = model.description.clone().lenient(lenient);
    Problem::new(description, model.mesh.clone()).map_err(|error| match error {
        Error::Faults(faults) => faults,
        other => panic!("{other}"),
    })
}

/// Faults are errors, or on request notes that count them; then the solve is as the notes say.
#[test]
fn faults_of_the_geometry_are_allowed_on_request() {
    let big = box_of([[-1.0; 3], [2.0; 3]], [2; 6]);
    let outside = read(&[
        ("a.lst", "C c.qui 3.9 0 0 0\nD big.qui 1 3.9 0 0 0 9 0.4 0.4\n".to_owned()),
        ("c.qui", cube(2)),
        ("big.qui", big.clone()),
    ]);
    let found = faults(&outside, false).unwrap_err();
    let [Fault::Contradiction { meet: true, count, .. }] = found[..] else { panic!("{found:?}") };
    assert!(count > 3);
    assert!(found[0].to_string().contains("the first of"), "{}", found[0]);
    assert_eq!(found[0].triangles().len(), 2);
    let allowed = faults(&outside, true).unwrap();
    assert_eq!(allowed.notes(), [Note::Allowed(found[0].clone())]);
    let solution = allowed.solve(&Options::default(), &NoProgress).unwrap();
    let warning = solution.warnings.iter().find(|warning| warning.check == "geometry").unwrap();
    assert!(!warning.is_error && warning.value == count as f64, "{warning:?}");
    // Bodies through each other, and conductors that touch.
    let two = |at: &str| {
        read(&[("a.lst", format!("C c.qui 1 0 0 0\nC c.qui 1 {at}\n")), ("c.qui", cube(1))])
    };
    for (at, crossing) in [("0.5 0.4 0.3", true), ("1 1 0.3", false), ("1 1 0", false)] {
        let model = two(at);
        let found = faults(&model, false).unwrap_err();
        assert_eq!(matches!(found[..], [Fault::Crossing { .. }]), crossing, "{at}: {found:?}");
        let problem = faults(&model, true).unwrap();
        assert!(problem.notes().contains(&Note::Allowed(found[0].clone())), "{at}");
        let c = &problem.solve(&Options::default(), &NoProgress).unwrap();
        let c = &c.matrices().maxwell_farad;
        assert!(c[0][0] > 0.0 && c[0][1] < 0.0, "{c:?}");
    }
}

#[test]
fn panels_on_one_place_that_contradict_each_other_are_refused_or_counted() {
    let list = "C c.qui 1 9 0 0\nD p.qui 1 2 0 0 0 0 0 9\nD p.qui 3 4 0 0 0 0 0 9\n";
    let files = [
        ("a.lst", list.to_owned()),
        ("c.qui", cube(1)),
        ("p.qui", format!("0 p\n{}", face(UNIT, 2, false, 2))),
    ];
    let message = fastcap::read(Path::new("a.lst"), load(&files)).unwrap_err().to_string();
    for part in ["line 2 of the list", "line 3 of the list", "1|2 and 3|4", "--lenient"] {
        assert!(message.contains(part), "no \"{part}\" in {message}");
    }
    let model = fastcap::read_lenient(Path::new("a.lst"), load(&files)).unwrap();
    assert!(
        notes(&model)
            .contains("8 places have panels of different media: those of the later line count"),
        "{}",
        notes(&model)
    );
    let last = model.description.surfaces.last().unwrap();
    assert_eq!((model.description.surfaces.len(), last.sides), (2, [3.0, 4.0]));
    // Conductors that touch by a face, and one that lies wholly on another.
    let two = [("a.lst", "C c.qui 1 0 0 0\nC c.qui 1 1 0 0\n".to_owned()), ("c.qui", cube(1))];
    let message = fastcap::read(Path::new("a.lst"), load(&two)).unwrap_err().to_string();
    for part in ["(line 1 of the list)", "(line 2 of the list)", "touch or go through each other"] {
        assert!(message.contains(part), "no \"{part}\" in {message}");
    }
    let model = fastcap::read_lenient(Path::new("a.lst"), load(&two)).unwrap();
    assert!(notes(&model).contains("2 places have panels of different conductors"));
    let all = [("a.lst", "C c.qui 1 0 0 0\nC c.qui 1 0 0 0\n".to_owned()), ("c.qui", cube(1))];
    let message = fastcap::read_lenient(Path::new("a.lst"), load(&all)).unwrap_err().to_string();
    let part = "all panels of conductor \"c%GROUP2\" lie on those of conductor \"c%GROUP1\"";
    assert!(message.contains(part), "{message}");
}

/// Quadrilaterals that are not flat, or have a notch, are two triangles that cover them.
#[test]
fn quadrilaterals_need_be_neither_flat_nor_convex() {
    // A roof over the unit square as four triangles, as two folded quadrilaterals, and with
    // notches.
    let (rim, top) = (["0 0 0", "1 0 0", "1 1 0", "0 1 0"], "0.5 0.5 0.4");
    let corners = |k: usize| (rim[k % 4], rim[(k + 1) % 4], rim[(k + 2) % 4]);
    let triangles: String = (0..4)
        .map(|k| {
            let (a, b, _) = corners(k);
            format!("T c {a} {b} {top}\n")
        })
        .collect();
    let folded: String = [0, 2]
        .iter()
        .map(|&k| {
            let (a, b, c) = corners(k);
            format!("Q c {a} {b} {c} {top}\n")
        })
        .collect();
    let expected = matrix(&[("a.qui", format!("0 t\n{triangles}"))]);
    same(&matrix(&[("a.qui", format!("0 q\n{folded}"))]), &expected, 1e-9);
    // An arrow's head, which only the longer diagonal cuts inside, and its two halves.
    let arrow = "0 a\nQ c 0 10 0 -1 0 0 0 5 0 1 0 0\n".to_owned();
    let halves = "0 a\nT c 0 10 0 -1 0 0 0 5 0\nT c 0 10 0 0 5 0 1 0 0\n".to_owned();
    same(&matrix(&[("a.qui", arrow)]), &matrix(&[("a.qui", halves)]), 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Boxes of one net anywhere on a grid, through each other too: each place counts once, and
    /// nothing is left that cannot be solved on.
    #[test]
    fn boxes_of_one_net_cover_what_they_cover(
        boxes in proptest::collection::vec((
            [0usize..4, 0usize..4, 0usize..4],
            [1usize..4, 1usize..4, 1usize..4],
            [1usize..4, 1usize..4, 1usize..4],
        ), 1..5),
    ) {
        let (mut list, mut squares) = (String::new(), HashSet::new());
        let mut files = vec![("a.lst".to_owned(), String::new())];
        for (index, (at, size, counts)) in boxes.iter().enumerate() {
            let to = |f: &dyn Fn(usize) -> usize| [f(0) as f64, f(1) as f64, f(2) as f64];
            let bounds = [to(&|k| at[k]), to(&|k| at[k] + size[k])];
            let counts = std::array::from_fn(|face| counts[face / 2]);
            files.push((format!("{index}.qui"), box_of(bounds, counts)));
            let join = if index + 1 < boxes.len() { "+" } else { "" };
            writeln!(list, "C {index}.qui 1 0 0 0 {join}").unwrap();
            for axis in 0..3 {
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                for (i, j) in (0..size[u]).flat_map(|i| (0..size[v]).map(move |j| (i, j))) {
                    for height in [at[axis], at[axis] + size[axis]] {
                        squares.insert((axis, height, at[u] + i, at[v] + j));
                    }
                }
            }
        }
        files[0].1 = list;
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        let model = read(&files);
        prop_assert_eq!(model.mesh.validate(), Ok(()));
        prop_assert!(Defects::of(&model.mesh).is_empty());
        let area: f64 = mesh::quality::areas(&model.mesh).iter().sum();
        prop_assert!((area - squares.len() as f64).abs() < 1e-4, "{} {}", area, squares.len());
        prop_assert!(Problem::new(model.description, model.mesh).is_ok());
    }
}
