//! Nodes and elements of MSH 2.2 (and 2.0 and 2.1, which differ in tags that do not matter here).

use super::content::{Content, element_nodes};
use super::error::{Cause, Subject};
use super::faces::Label;
use super::kinds::ElementKind;
use super::scan::{About, Input, Numbers, Parsed, Record, Text, fail};
use super::tags::Places;

/// Tags are `int` in this version, and positive.
fn tag<'a, N: Numbers>(numbers: N, input: Input<'a>, what: &'static str) -> Parsed<'a, u64> {
    let (rest, value) = numbers.int(input, what)?;
    match u64::try_from(value) {
        Ok(tag) => Ok((rest, tag)),
        Err(_) => fail(input, Cause::Tag { what, allowed: "positive", value }),
    }
}

/// The number of records: text, in binary files too.
fn count<'a, N: Numbers>(
    numbers: N,
    input: Input<'a>,
    what: &'static str,
    least: Record,
) -> Parsed<'a, usize> {
    let input = Text.begin(input);
    let (rest, claimed) = Text.size(input, what)?;
    let (rest, ()) = Text.end(rest)?;
    numbers.check_room(input, rest, claimed, what, least)
}

/// `$Nodes` and `$ParametricNodes`, from behind the name to before the end.
pub(super) fn nodes<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    parametric: bool,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let (mut input, count) =
        count(numbers, input, "nodes", Record { ints: 1, sizes: 0, reals: 3 })?;
    content.vertices.reserve(count);
    for _ in 0..count {
        input = numbers.begin(input);
        let (rest, node) = tag(numbers, input, "a node tag")?;
        content.add_node(input, node)?;
        let about = Subject::Node(node);
        let (mut rest, point) = numbers.point(rest).about(about)?;
        if parametric {
            let (after, dimension) =
                numbers.int(rest, "the dimension of an entity").about(about)?;
            let (after, _) = numbers.int(after, "the tag of an entity").about(about)?;
            let parameters = if matches!(dimension, 1 | 2) { dimension as usize } else { 0 };
            (rest, ()) = numbers.skip_reals(after, parameters).about(about)?;
        }
        (input, ()) = numbers.end(rest).about(about)?;
        content.vertices.push(point);
    }
    Ok((input, ()))
}

/// `$Elements`, from behind the name to before the end.
pub(super) fn elements<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    places: &Places,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let start = input;
    // The smallest element is a point: tag and node, since binary files give type and number of
    // tags once for many.
    let (mut input, total) =
        count(numbers, input, "elements", Record { ints: 2, sizes: 0, reals: 0 })?;
    let mut left = total;
    while left > 0 {
        let (rest, block) = block(numbers, numbers.begin(input))?;
        if block.elements > left as u64 {
            let found = (total - left) as u64 + block.elements;
            let claimed = total as u64;
            let cause = Cause::Sum { section: "$Elements", what: "elements", claimed, found };
            return fail(start, cause);
        }
        left -= block.elements as usize;
        input = rest;
        for _ in 0..block.elements {
            (input, ()) = element(content, numbers, places, &block, input)?;
        }
    }
    Ok((input, ()))
}

/// What comes before elements: in text for each, in binary files for many.
struct ElementBlock {
    number: i64,
    kind: ElementKind,
    elements: u64,
    tags: i64,
    /// The element's own tag, which in text precedes the rest.
    tag: Option<u64>,
}

fn block<'a, N: Numbers>(numbers: N, input: Input<'a>) -> Parsed<'a, ElementBlock> {
    if !numbers.is_text() {
        return block_header(numbers, input, None);
    }
    let (rest, element) = tag(numbers, input, "an element tag")?;
    block_header(numbers, rest, Some(element)).about(Subject::Element(element))
}

fn block_header<'a, N: Numbers>(
    numbers: N,
    input: Input<'a>,
    element: Option<u64>,
) -> Parsed<'a, ElementBlock> {
    let (rest, number) = numbers.int(input, "an element type")?;
    let Some(kind) = ElementKind::of(number) else {
        return fail(input, Cause::UnknownType(number));
    };
    let (rest, elements) = match element {
        Some(_) => (rest, 1),
        None => tag(numbers, rest, "the number of elements")?,
    };
    let place = rest;
    let what = "the number of an element's tags";
    let (rest, tags) = numbers.int(rest, what)?;
    if tags < 0 {
        return fail(place, Cause::Tag { what, allowed: "0 or more", value: tags });
    }
    Ok((rest, ElementBlock { number, kind, elements, tags, tag: element }))
}

fn element<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    places: &Places,
    block: &ElementBlock,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let (rest, element) = match block.tag {
        Some(element) => (input, element),
        None => tag(numbers, input, "an element tag")?,
    };
    let about = Subject::Element(element);
    content.add_element(input, element, block.number).about(about)?;
    let mut rest = rest;
    let mut label = Label { physical: 0, elementary: 0 };
    for index in 0..block.tags {
        let (after, value) = numbers.int(rest, "an element's tag").about(about)?;
        match index {
            0 => label.physical = value,
            1 => label.elementary = value,
            // Partitions and parents.
            _ => {}
        }
        rest = after;
    }
    let inputs = [input, rest];
    let (rest, nodes) = element_nodes(numbers, inputs, places, element, block.kind, |input| {
        tag(numbers, input, "a node of an element")
    })?;
    let Some(nodes) = nodes else { return Ok((rest, ())) };
    if let Some(corners) = block.kind.surface_corners() {
        let reversed = label.physical < 0;
        label.physical = label.physical.saturating_abs();
        content.report.reversed += usize::from(reversed);
        // Groups follow when all elements are known.
        content.add_face(block.number, corners, &nodes, 0, reversed);
        content.labels.push(label);
    }
    numbers.end(rest).about(about)
}
