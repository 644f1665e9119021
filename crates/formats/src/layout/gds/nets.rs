//! Which shapes are connected, and what these nets are called.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mesh::outlines::{self, Polygon, Region};
use mesh::prisms::Point;

use super::stack::{StackLayer, has};
use super::stream::Label;

/// A polygon of one layer; those of a layer do not overlap.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Index of the layer.
    pub layer: usize,
    pub polygon: Polygon,
    bounds: [Point; 2],
}

/// Pieces that are connected, or have one label.
#[derive(Clone, Debug, Default)]
pub struct Net {
    pub name: String,
    pub has_label: bool,
    /// Indices of its pieces.
    pub pieces: Vec<usize>,
    /// How many parts of it do not touch each other.
    pub parts: usize,
}

/// Two labels that differ on what is connected.
#[derive(Clone, Debug, PartialEq)]
pub struct Short {
    pub labels: [Label; 2],
}

/// The nets of a layout.
#[derive(Clone, Debug, Default)]
pub struct Nets {
    /// Those with labels by their names, then all others by layers and places.
    pub nets: Vec<Net>,
    pub shorts: Vec<Short>,
    /// Labels of a layer of which there is nothing where they are, with the layer's index.
    pub astray: Vec<(Label, usize)>,
}

/// The pieces of a layer, in the order of their places.
pub fn pieces(layer: usize, region: Region) -> Vec<Piece> {
    let piece = |polygon: Polygon| {
        let bounds = outlines::bounds(polygon.iter().flatten());
        Piece { layer, polygon, bounds }
    };
    let mut pieces: Vec<Piece> = region.into_iter().map(piece).collect();
    let order = |a: &Piece, b: &Piece| {
        let of = |piece: &Piece| [piece.bounds[0][0], piece.bounds[0][1], piece.bounds[1][0]];
        of(a).partial_cmp(&of(b)).unwrap_or(std::cmp::Ordering::Equal)
    };
    pieces.sort_by(order);
    pieces
}

/// Joins pieces that touch, on layers that do so too, and names the nets by their labels.
pub fn nets(
    pieces: &[Piece],
    labels: &[Label],
    layers: &[StackLayer],
    heights: &[[f64; 2]],
) -> Nets {
    let root_of = joined(pieces, heights);
    let mut found = Nets::default();
    // The labels of each net; those on a layer's pieces in the order of layers.
    let mut named: BTreeMap<usize, Vec<&Label>> = BTreeMap::new();
    for label in labels.iter().filter(|label| !label.text.is_empty()) {
        let of: Vec<usize> =
            (0..layers.len()).filter(|&k| has(&layers[k].labels, label.layer)).collect();
        let Some(&first) = of.first() else { continue };
        let is_under = |piece: &&Piece| {
            let [low, high] = piece.bounds;
            let is_near =
                (0..2).all(|k| low[k] <= label.position[k] && high[k] >= label.position[k]);
            is_near && outlines::covers(&piece.polygon, label.position)
        };
        let at = of
            .iter()
            .find_map(|&k| pieces.iter().position(|piece| piece.layer == k && is_under(&piece)));
        match at {
            Some(piece) => named.entry(root_of[piece]).or_default().push(label),
            None => found.astray.push((label.clone(), first)),
        }
    }
    // Nets of one name are one.
    let mut name_of: BTreeMap<usize, &str> = BTreeMap::new();
    for (root, labels) in &named {
        let first = labels[0];
        name_of.insert(*root, &first.text);
        if let Some(other) = labels.iter().find(|label| label.text != first.text) {
            found.shorts.push(Short { labels: [first.clone(), (*other).clone()] });
        }
    }
    let mut by_name: BTreeMap<&str, Net> = BTreeMap::new();
    let mut others: BTreeMap<usize, Net> = BTreeMap::new();
    let mut parts: HashSet<usize> = HashSet::new();
    for (k, &root) in root_of.iter().enumerate() {
        let net = match name_of.get(&root) {
            Some(&name) => by_name.entry(name).or_insert_with(|| Net {
                name: name.to_owned(),
                has_label: true,
                ..Net::default()
            }),
            None => others.entry(root).or_default(),
        };
        net.parts += usize::from(parts.insert(root));
        net.pieces.push(k);
    }
    let taken: BTreeSet<String> = by_name.keys().map(|name| (*name).to_owned()).collect();
    let mut numbers = vec![0; layers.len()];
    found.nets.extend(by_name.into_values());
    // Roots are first pieces, and these are in the order of layers.
    for mut net in others.into_values() {
        let layer = pieces[net.pieces[0]].layer;
        loop {
            numbers[layer] += 1;
            net.name = format!("{}_{}", layers[layer].name, numbers[layer]);
            if !taken.contains(&net.name) {
                break;
            }
        }
        found.nets.push(net);
    }
    found
}

/// For each piece the first one of those that it is connected with.
fn joined(pieces: &[Piece], heights: &[[f64; 2]]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..pieces.len()).collect();
    let mut order = parent.clone();
    order.sort_by(|a, b| pieces[*a].bounds[0][0].total_cmp(&pieces[*b].bounds[0][0]));
    for (k, &one) in order.iter().enumerate() {
        let a = &pieces[one];
        for &other in &order[k + 1..] {
            let b = &pieces[other];
            if b.bounds[0][0] > a.bounds[1][0] {
                break;
            }
            let [of_a, of_b] = [a, b].map(|piece| heights[piece.layer]);
            let is_apart = of_a[0] > of_b[1] || of_b[0] > of_a[1];
            if is_apart || b.bounds[0][1] > a.bounds[1][1] || a.bounds[0][1] > b.bounds[1][1] {
                continue;
            }
            let roots = [root(&mut parent, one), root(&mut parent, other)];
            if roots[0] != roots[1] && outlines::touch(&a.polygon, &b.polygon) {
                let [low, high] = [roots[0].min(roots[1]), roots[0].max(roots[1])];
                parent[high] = low;
            }
        }
    }
    (0..pieces.len()).map(|k| root(&mut parent, k)).collect()
}

fn root(parent: &mut [usize], mut k: usize) -> usize {
    while parent[k] != k {
        parent[k] = parent[parent[k]];
        k = parent[k];
    }
    k
}
