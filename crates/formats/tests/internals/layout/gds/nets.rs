use formats::internals::gds::nets::{Nets, Piece, Short, nets, pieces};
use formats::internals::gds::stack::{Span, StackLayer};
use formats::internals::gds::stream::Label;
use mesh::outlines::Polygon;
use mesh::prisms::Point;

fn square(low: Point, high: Point) -> Polygon {
    vec![vec![low, [high[0], low[1]], high, [low[0], high[1]]]]
}

fn layer(name: &str, gds: i16, labels: Option<i16>) -> StackLayer {
    let labels = labels.map(|kind| (gds, Some(kind))).into_iter().collect();
    let span = Span::Heights([0.0; 2]);
    StackLayer { name: name.to_owned(), line: 1, gds: vec![(gds, None)], labels, span }
}

fn label(text: &str, position: Point) -> Label {
    Label { layer: (1, 5), text: text.to_owned(), position, at: 0 }
}

/// Two wires below, one above, and a via from the second one to that.
fn found(labels: &[Label], more: &[(usize, Polygon)]) -> Nets {
    let layers = [layer("low", 1, Some(5)), layer("high", 2, None), layer("via", 3, None)];
    let heights = [[0.0, 1.0], [2.0, 3.0], [1.0, 2.0]];
    let mut regions = vec![
        vec![square([0.0, 0.0], [100.0, 10.0]), square([0.0, 20.0], [100.0, 30.0])],
        vec![square([40.0, -50.0], [50.0, 90.0])],
        vec![square([42.0, 22.0], [48.0, 28.0])],
    ];
    more.iter().for_each(|(layer, polygon)| regions[*layer].push(polygon.clone()));
    let pieces: Vec<Piece> = (0..).zip(regions).flat_map(|(k, region)| pieces(k, region)).collect();
    nets(&pieces, labels, &layers, &heights)
}

fn names(found: &Nets) -> Vec<(&str, usize)> {
    found.nets.iter().map(|net| (net.name.as_str(), net.pieces.len())).collect()
}

#[test]
fn vias_join_what_they_touch_alone() {
    let labels = [label("b", [50.0, 30.0]), label("elsewhere", [200.0, 0.0])];
    let nets = found(&labels, &[]);
    assert_eq!(names(&nets), [("b", 3), ("low_1", 1)]);
    assert_eq!((nets.astray.len(), nets.shorts.len()), (1, 0));
    // A name that a label has is not given again.
    let nets = found(&[label("low_1", [50.0, 30.0])], &[]);
    assert_eq!(names(&nets), [("low_1", 3), ("low_2", 1)]);
}

#[test]
fn one_name_is_one_net_and_two_names_are_a_short() {
    let nets = found(&[label("a", [1.0, 1.0]), label("a", [1.0, 21.0])], &[]);
    assert_eq!(names(&nets), [("a", 4)]);
    assert_eq!(nets.nets[0].parts, 2);
    let labels = [label("a", [1.0, 1.0]), label("b", [1.0, 21.0])];
    assert!(found(&labels, &[]).shorts.is_empty());
    // The wires touch at a corner.
    let nets = found(&labels, &[(0, square([100.0, 10.0], [110.0, 20.0]))]);
    assert_eq!(nets.shorts, [Short { labels }]);
}
