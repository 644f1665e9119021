use formats::internals::gds::flatten::{Bounds, Flat, flatten, top};
use formats::internals::gds::stream::{Layer, Library};

use super::testing::Writer;

const LAYER: Layer = (1, 0);
const FLAG: [[i32; 2]; 3] = [[0, 0], [4, 0], [0, 2]];

fn library(add: impl FnOnce(&mut Writer)) -> Library {
    let mut file = Writer::new();
    file.begin("flag");
    file.polygon(LAYER, &FLAG);
    file.text(LAYER, "inner", [1, 1]);
    file.end();
    add(&mut file);
    Library::parse(&file.finish()).unwrap()
}

fn flat(library: &Library, window: Option<Bounds>) -> Flat {
    flatten(library, top(library, None).unwrap(), window, false).unwrap()
}

#[test]
fn references_mirror_then_turn_then_move() {
    let library = library(|file| {
        file.begin("middle");
        file.sref("flag", [10, 20], Some((true, 2.0, 90.0)));
        file.end();
        file.begin("top");
        file.sref("middle", [100, 0], Some((false, 1.0, 180.0)));
        file.end();
    });
    let found = flat(&library, None);
    // (x, y) -> 2 (y, x) + (10, 20) -> (100, 0) - that.
    assert_eq!(found.shapes[&LAYER], [vec![vec![[90.0, -20.0], [90.0, -28.0], [86.0, -20.0]]]]);
    assert!(found.labels.is_empty());
    let all = flatten(&library, top(&library, None).unwrap(), None, true).unwrap();
    assert_eq!(all.labels[0].position, [88.0, -22.0]);
}

#[test]
fn arrays_have_all_their_places_or_those_in_the_window() {
    let library = library(|file| {
        file.begin("top");
        file.aref("flag", [300, 200], [[0, 0], [3000, 0], [0, 2000]]);
        file.end();
    });
    assert_eq!(flat(&library, None).shapes[&LAYER].len(), 60_000);
    let some = flat(&library, Some([[97.0, 98.0], [112.0, 112.0]]));
    assert_eq!(some.shapes[&LAYER].len(), 4);
}

#[test]
fn circles_and_missing_cells_are_found() {
    let circle = library(|file| {
        file.begin("a");
        file.sref("b", [0, 0], None);
        file.end();
        file.begin("b");
        file.sref("a", [0, 0], None);
        file.end();
    });
    let k = top(&circle, Some("a")).unwrap();
    let message = flatten(&circle, k, None, false).unwrap_err().to_string();
    assert!(message.contains("\"b\" refers to \"a\""), "{message}");
    let message = top(&circle, Some("c")).unwrap_err().to_string();
    assert!(message.contains("\"flag\", \"a\", \"b\""), "{message}");
    let several = library(|file| {
        file.begin("other");
        file.sref("nothing", [0, 0], None);
        file.end();
    });
    let message = top(&several, None).unwrap_err().to_string();
    assert!(message.contains("\"flag\", \"other\"") && message.contains("`top`"), "{message}");
    assert_eq!(flatten(&several, 1, None, false).unwrap().missing, ["nothing"]);
}

#[test]
fn what_would_never_end_is_refused() {
    let library = library(|file| {
        for (name, of) in [("a", "flag"), ("b", "a"), ("c", "b")] {
            file.begin(name);
            file.aref(of, [1000, 1000], [[0, 0], [10_000, 0], [0, 10_000]]);
            file.end();
        }
    });
    let message = flatten(&library, 3, None, false).unwrap_err().to_string();
    assert!(message.contains("more than 2000000 shapes"), "{message}");
}
