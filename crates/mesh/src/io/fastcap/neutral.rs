//! Panels in a PATRAN neutral file: packets of a header card and data cards.
//!
//! Read are nodes (packet 1), triangles and quadrilaterals (packet 2), the grid points and patches
//! that they were meshed from (31 and 33), the table of elements of each patch (45), and the names
//! of components (21); others are skipped. As FastCap has it, patches joined by grid points are a
//! conductor. Elements of no patch are joined by the nodes that they share. A conductor has the
//! name of a component that lists one of its patches or elements, else a number. Format: PATRAN
//! Neutral File, packets of type 25, 26, 1, 2, 21, 31, 33, 45 and 99.

use super::panels::{Panel, Panels, printable};
use crate::geometry::weld;
use crate::io::files::{Cause, FormatError, Line, Lines, parse_real};
use crate::surface::usable;
use crate::topology::disjoint::DisjointSets;
use crate::vector::Vector;
use crate::wording::counted;
use std::collections::HashMap;

/// Entity types in packets of names.
const PATCH_NAMED: i64 = 3;
const TRIANGLE_NAMED: i64 = 7;
const QUADRILATERAL_NAMED: i64 = 8;

/// In a table of elements, what says that they mesh a patch.
const OF_PATCH: i64 = 3;

/// Cards of a patch before the one with the numbers of its corners.
const BEFORE_CORNERS: usize = 9;

/// Entries of a table of elements: four numbers, then that of the element.
const ENTRY: usize = 5;

/// Widths of whole numbers and of reals on a card.
const INTEGER_WIDTH: usize = 8;
const REAL_WIDTH: usize = 16;

/// Grid points closer than this times the size of all are one.
const SAME_GRID: f64 = 1e-6;

/// Whether a file is one: it begins with the card of a title, packet 25, where other files of
/// panels begin with a title itself.
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

/// What elements belong to, and what that is called.
#[derive(Default)]
struct Geometry {
    /// Grid points by number.
    grids: Vec<(i64, Vector)>,
    /// Patches by number, with the grid points at their corners.
    patches: Vec<(i64, [i64; 4])>,
    /// The patch of each element that has one.
    patch_of: HashMap<i64, i64>,
    /// Names by type and number of what is named.
    names: HashMap<(Named, i64), String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Named {
    Patch,
    Element,
}

/// Reads the content of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Panels, FormatError> {
    let mut lines = Lines::new(bytes);
    let mut title = None;
    let mut nodes: HashMap<i64, Vector> = HashMap::new();
    let mut elements: Vec<Element> = Vec::new();
    let mut geometry = Geometry::default();
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
            Cause::expected("the number of data cards", cards.to_string()).on_line(header.number())
        })?;
        let cards = lines.room(header.number(), "data cards", cards, 0)?;
        let mut data = Vec::with_capacity(cards.min(16));
        for _ in 0..cards {
            let number = lines.number();
            let truncated = || Cause::Truncated("a data card".into()).on_line(number);
            data.push(lines.next_line().ok_or_else(truncated)?);
        }
        match (kind, data.as_slice()) {
            (25, [card, ..]) => title = printable(&card.text()),
            (1, [card, ..]) => {
                let point = reals(card)?;
                if nodes.insert(id, point).is_some() {
                    let message = format!("node {id} occurs a second time; numbers must be unique");
                    return Err(Cause::Other(message).on_line(header.number()));
                }
            }
            (2, [_, card, ..]) if matches!(shape, 3 | 4) => {
                let what = "the number of a node";
                let nodes = match shape {
                    3 => integers::<3>(card, 0, what)?.to_vec(),
                    _ => integers::<4>(card, 0, what)?.to_vec(),
                };
                elements.push(Element { id, nodes, line: card.number() });
            }
            (2, _) => other += 1,
            (21, [card, rest @ ..]) => name(&mut geometry.names, card, rest)?,
            (31, [card, ..]) => geometry.grids.push((id, reals(card)?)),
            (33, cards) => {
                if let Some(card) = cards.get(BEFORE_CORNERS) {
                    geometry.patches.push((id, integers(card, 3, "the number of a grid point")?));
                }
            }
            (45, [_, card, rest @ ..]) => table(&mut geometry.patch_of, shape, card, rest)?,
            _ => {}
        }
    }
    if elements.is_empty() {
        return Err(Cause::NoTriangles.on_line(lines.number().max(1)));
    }
    let conductors = conductors(&elements, &geometry);
    let mut panels = Vec::with_capacity(elements.len());
    for (element, conductor) in elements.iter().zip(conductors) {
        let mut corners = Vec::with_capacity(element.nodes.len());
        for node in &element.nodes {
            corners.push(*nodes.get(node).ok_or_else(|| {
                let message = format!("element {}: there is no node {node}", element.id);
                Cause::Other(message).on_line(element.line)
            })?);
        }
        panels.push(Panel { conductor, corners, reference: None, line: element.line });
    }
    let mut notes = Vec::new();
    if other > 0 {
        notes.push(counted(
            other,
            "element that is no triangle or quadrilateral is left out",
            "elements that are no triangles or quadrilaterals are left out",
        ));
    }
    Ok(Panels { title, panels, renames: Vec::new(), notes })
}

/// The three reals of a card: words, or columns where signs leave no blanks between them.
fn reals(card: &Line<'_>) -> Result<Vector, FormatError> {
    let mut words = *card;
    if words.count() >= 3 {
        return words.point("a coordinate");
    }
    let mut point = [0.0; 3];
    for (i, coordinate) in point.iter_mut().enumerate() {
        let word = column(card, REAL_WIDTH * i, REAL_WIDTH);
        *coordinate = parse_real(word)
            .filter(|value| usable(*value))
            .ok_or_else(|| card.unexpected("three coordinates", Some(word)))?;
    }
    Ok(point)
}

/// The whole numbers of a card behind `reals` reals: words, or columns where there are too few.
fn integers<const N: usize>(
    card: &Line<'_>,
    reals: usize,
    what: &str,
) -> Result<[i64; N], FormatError> {
    let mut numbers = [0; N];
    let mut words = *card;
    if words.count() >= reals + N {
        for _ in 0..reals {
            words.real("a coordinate of a patch")?;
        }
        for number in &mut numbers {
            *number = words.int(what)?;
        }
        return Ok(numbers);
    }
    for (i, number) in numbers.iter_mut().enumerate() {
        let word = column(card, REAL_WIDTH * reals + INTEGER_WIDTH * i, INTEGER_WIDTH);
        let parsed = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        *number = parsed.ok_or_else(|| card.unexpected(what, Some(word)))?;
    }
    Ok(numbers)
}

/// The word in `width` columns of a card from `start` on.
fn column<'a>(card: &Line<'a>, start: usize, width: usize) -> &'a [u8] {
    let bytes = card.raw();
    bytes.get(start..bytes.len().min(start + width)).unwrap_or_default().trim_ascii()
}

/// Enters the elements that a patch is meshed with; tables of lines and solids are skipped.
fn table(
    patch_of: &mut HashMap<i64, i64>,
    elements: i64,
    card: &Line<'_>,
    rest: &[Line<'_>],
) -> Result<(), FormatError> {
    let head: [i64; 6] = integers(card, 0, "the number of a node")?;
    if head[4] != OF_PATCH {
        return Ok(());
    }
    let mut left = elements;
    let mut entry = 0;
    for card in rest {
        let mut card = *card;
        while left > 0 && !card.is_empty() {
            let number = card.int("the number of an element")?;
            entry += 1;
            if entry == ENTRY {
                patch_of.insert(number.saturating_abs(), head[5]);
                (left, entry) = (left - 1, 0);
            }
        }
    }
    Ok(())
}

/// Enters a component: its name, then pairs of an entity's type and number.
fn name(
    names: &mut HashMap<(Named, i64), String>,
    card: &Line<'_>,
    rest: &[Line<'_>],
) -> Result<(), FormatError> {
    let Some(name) = printable(&card.text()) else { return Ok(()) };
    for card in rest {
        let mut card = *card;
        while !card.is_empty() {
            let kind = card.int("the type of an entity")?;
            let id = card.int("the number of an entity")?;
            let named = match kind {
                PATCH_NAMED => Named::Patch,
                TRIANGLE_NAMED | QUADRILATERAL_NAMED => Named::Element,
                _ => continue,
            };
            names.entry((named, id)).or_insert_with(|| name.clone());
        }
    }
    Ok(())
}

/// The name of each element's conductor.
fn conductors(elements: &[Element], geometry: &Geometry) -> Vec<String> {
    let patches: HashMap<i64, usize> =
        geometry.patches.iter().enumerate().map(|(index, (id, _))| (*id, index)).collect();
    let patch_of = |element: &Element| -> Option<usize> {
        patches.get(geometry.patch_of.get(&element.id)?).copied()
    };
    // Elements first, then patches.
    let mut sets = DisjointSets::new(elements.len() + geometry.patches.len());
    let mut join = |a: usize, b: usize| sets.join(a as u32, b as u32);
    let mut first_at: HashMap<i64, usize> = HashMap::new();
    for (index, element) in elements.iter().enumerate() {
        if let Some(patch) = patch_of(element) {
            join(index, elements.len() + patch);
            continue;
        }
        for node in &element.nodes {
            let other = *first_at.entry(*node).or_insert(index);
            join(index, other);
        }
    }
    let points: Vec<Vector> = geometry.grids.iter().map(|(_, point)| *point).collect();
    let same = weld::first_at(&points, weld::tolerance(&points, SAME_GRID));
    let grids: HashMap<i64, u32> =
        geometry.grids.iter().zip(same).map(|((id, _), first)| (*id, first)).collect();
    let mut first_at: HashMap<u32, usize> = HashMap::new();
    for (index, (_, corners)) in geometry.patches.iter().enumerate() {
        for grid in corners.iter().filter_map(|corner| grids.get(corner)) {
            let other = *first_at.entry(*grid).or_insert(index);
            join(elements.len() + index, elements.len() + other);
        }
    }
    let roots: Vec<u32> = (0..elements.len() as u32).map(|e| sets.root(e)).collect();
    let mut name_of: HashMap<u32, String> = HashMap::new();
    for (element, root) in elements.iter().zip(&roots) {
        let own = geometry.names.get(&(Named::Element, element.id));
        let of_patch = || {
            let (id, _) = geometry.patches.get(patch_of(element)?)?;
            geometry.names.get(&(Named::Patch, *id))
        };
        if let Some(name) = own.or_else(of_patch) {
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
