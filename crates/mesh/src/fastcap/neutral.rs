//! Panels in a PATRAN neutral file: packets of a header card and data cards.
//!
//! Read are nodes (packet 1), triangles and quadrilaterals (packet 2), and names of components (packets 21 and 45). A set of
//! panels joined by shared nodes is a conductor; it has the name of a component that lists one of its elements, else a number.
//! Format: PATRAN Neutral File, packets of type 25, 26, 1, 2, 21 and 99.

use super::panels::{Panel, Panels};
use crate::files::{FormatError, Line, Lines, Problem, parse_real};
use crate::surface::usable;
use crate::vector::Vector;
use std::collections::HashMap;

/// Entity types of elements in packets of names.
const TRIANGLE_NAMED: i64 = 7;
const QUADRILATERAL_NAMED: i64 = 8;

/// Widths of whole numbers and of reals on a card.
const INTEGER_WIDTH: usize = 8;
const REAL_WIDTH: usize = 16;

/// Whether a file is one: it begins with the card of a title, packet 25, where other files of panels begin with a title itself.
pub(super) fn is_neutral(bytes: &[u8]) -> bool {
    let mut lines = Lines::new(bytes);
    let Some(mut line) = lines.next_line() else { return false };
    let words = std::iter::from_fn(|| line.word());
    let numbers: Option<Vec<i64>> =
        words.map(|word| std::str::from_utf8(word).ok()?.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() >= 4 && matches!(numbers[0], 25 | 26))
}

/// An element of three or four corners.
struct Element {
    id: i64,
    nodes: Vec<i64>,
    line: usize,
}

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Panels, FormatError> {
    let mut lines = Lines::new(bytes);
    let mut title = None;
    let mut nodes: HashMap<i64, Vector> = HashMap::new();
    let mut elements: Vec<Element> = Vec::new();
    let mut names: HashMap<i64, String> = HashMap::new();
    let mut other = 0;
    while let Some(mut header) = lines.next_content(b"", false) {
        let kind = header.int("the type of a packet")?;
        let id = header.int("the number of an entity")?;
        let shape = header.int("the second number of a packet")?;
        let cards = header.int("the number of data cards")?;
        if kind == 99 {
            break;
        }
        let cards = u64::try_from(cards).map_err(|_| {
            Problem::expected("the number of data cards", cards.to_string())
                .on_line(header.number())
        })?;
        let cards = lines.room(header.number(), "data cards", cards, 0)?;
        let mut data = Vec::with_capacity(cards.min(16));
        for _ in 0..cards {
            let number = lines.number();
            let truncated = || Problem::Truncated("a data card".into()).on_line(number);
            data.push(lines.next_line().ok_or_else(truncated)?);
        }
        match (kind, data.as_slice()) {
            (25, [card, ..]) => title = Some(card.text()).filter(|text| !text.is_empty()),
            (1, [card, ..]) => {
                let point = reals(card)?;
                if nodes.insert(id, point).is_some() {
                    let message = format!("node {id} occurs a second time; numbers must be unique");
                    return Err(Problem::Other(message).on_line(header.number()));
                }
            }
            (2, [_, card, ..]) if matches!(shape, 3 | 4) => {
                let nodes = integers(card, shape as usize)?;
                elements.push(Element { id, nodes, line: card.number() });
            }
            (2, _) => other += 1,
            (21 | 45, [card, rest @ ..]) => name(&mut names, card, rest)?,
            _ => {}
        }
    }
    if elements.is_empty() {
        return Err(Problem::NoTriangles.on_line(lines.number().max(1)));
    }
    let conductors = conductors(&elements, &names);
    let mut panels = Vec::with_capacity(elements.len());
    for (element, conductor) in elements.iter().zip(conductors) {
        let mut corners = Vec::with_capacity(element.nodes.len());
        for node in &element.nodes {
            corners.push(*nodes.get(node).ok_or_else(|| {
                let message = format!("element {}: there is no node {node}", element.id);
                Problem::Other(message).on_line(element.line)
            })?);
        }
        panels.push(Panel { conductor, corners, reference: None, line: element.line });
    }
    let mut notes = Vec::new();
    if other > 0 {
        notes
            .push(format!("{other} elements that are no triangles or quadrilaterals are left out"));
    }
    Ok(Panels { title, panels, notes })
}

/// The three reals of a card: words, or columns where signs leave no blanks between them.
fn reals(card: &Line<'_>) -> Result<Vector, FormatError> {
    let mut words = *card;
    if words.count() >= 3 {
        return words.point("a coordinate");
    }
    let bytes = card.raw();
    let mut point = [0.0; 3];
    for (i, coordinate) in point.iter_mut().enumerate() {
        let column = bytes.get(REAL_WIDTH * i..bytes.len().min(REAL_WIDTH * (i + 1)));
        let word = column.unwrap_or_default().trim_ascii();
        *coordinate = parse_real(word)
            .filter(|value| usable(*value))
            .ok_or_else(|| card.unexpected("three coordinates", Some(word)))?;
    }
    Ok(point)
}

/// The first `count` whole numbers of a card: words, or columns where there are too few.
fn integers(card: &Line<'_>, count: usize) -> Result<Vec<i64>, FormatError> {
    let mut words = *card;
    if words.count() >= count {
        return (0..count).map(|_| words.int("the number of a node")).collect();
    }
    let bytes = card.raw();
    (0..count)
        .map(|i| {
            let column = bytes.get(INTEGER_WIDTH * i..bytes.len().min(INTEGER_WIDTH * (i + 1)));
            let word = column.unwrap_or_default().trim_ascii();
            let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
            number.ok_or_else(|| card.unexpected("the number of a node", Some(word)))
        })
        .collect()
}

/// Enters a component: its name, then pairs of an entity's type and number.
fn name(
    names: &mut HashMap<i64, String>,
    card: &Line<'_>,
    rest: &[Line<'_>],
) -> Result<(), FormatError> {
    let name = card.text();
    for card in rest {
        let mut card = *card;
        while !card.is_empty() {
            let kind = card.int("the type of an entity")?;
            let id = card.int("the number of an entity")?;
            if matches!(kind, TRIANGLE_NAMED | QUADRILATERAL_NAMED) {
                names.entry(id).or_insert_with(|| name.clone());
            }
        }
    }
    Ok(())
}

/// The name of each element's conductor.
fn conductors(elements: &[Element], names: &HashMap<i64, String>) -> Vec<String> {
    let mut first_at: HashMap<i64, usize> = HashMap::new();
    let mut parent: Vec<usize> = (0..elements.len()).collect();
    for (index, element) in elements.iter().enumerate() {
        for node in &element.nodes {
            let other = *first_at.entry(*node).or_insert(index);
            let (a, b) = (root(&mut parent, index), root(&mut parent, other));
            parent[a.max(b)] = a.min(b);
        }
    }
    let roots: Vec<usize> = (0..elements.len()).map(|e| root(&mut parent, e)).collect();
    let mut name_of: HashMap<usize, String> = HashMap::new();
    for (element, root) in elements.iter().zip(&roots) {
        if let Some(name) = names.get(&element.id) {
            name_of.entry(*root).or_insert_with(|| name.clone());
        }
    }
    let mut unnamed = 0;
    roots
        .iter()
        .map(|root| {
            name_of
                .entry(*root)
                .or_insert_with(|| {
                    unnamed += 1;
                    unnamed.to_string()
                })
                .clone()
        })
        .collect()
}

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}
