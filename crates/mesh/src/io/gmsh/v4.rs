//! Entities, nodes and elements of MSH 4.1.

use super::content::{Content, SurfaceEntity, element_nodes};
use super::error::{Cause, Subject};
use super::kinds::ElementKind;
use super::lines;
use super::scan::{About, Input, Numbers, Parsed, Record, fail, unexpected, words};
use super::tags::Places;
use crate::surface::usable;
use parallel::prelude::*;
use std::collections::HashMap;

/// `$Entities`, from behind the name to before the end.
pub(super) fn entities<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    entity_lists(content, numbers, false, numbers.begin(input))
}

/// `$PartitionedEntities`, from behind the name to before the end.
pub(super) fn partitioned_entities<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let input = numbers.begin(input);
    let (input, _) = numbers.size(input, "the number of partitions")?;
    let (input, ()) = numbers.end(input)?;
    let input = numbers.begin(input);
    let (input, ghosts) =
        numbers.count(input, "ghost entities", Record { ints: 2, sizes: 0, reals: 0 })?;
    let (mut input, ()) = numbers.end(input)?;
    for _ in 0..ghosts {
        (input, _) = numbers.int(numbers.begin(input), "the tag of a ghost entity")?;
        (input, _) = numbers.int(input, "the partition of a ghost entity")?;
        (input, ()) = numbers.end(input)?;
    }
    entity_lists(content, numbers, true, numbers.begin(input))
}

/// The four lists of entities, by dimension.
fn entity_lists<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    partitioned: bool,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let mut input = input;
    let mut counts = [0; 4];
    let names = ["points", "curves", "surfaces", "volumes"];
    for (dimension, what) in names.into_iter().enumerate() {
        let least = if dimension == 0 {
            Record { ints: 1, sizes: 1, reals: 3 }
        } else {
            Record { ints: 1, sizes: 2, reals: 6 }
        };
        (input, counts[dimension]) = numbers.count(input, what, least)?;
    }
    (input, ()) = numbers.end(input)?;
    let mut surfaces = content.surfaces.take().unwrap_or_default();
    for (dimension, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let (rest, (tag, surface)) =
                entity(numbers, dimension, partitioned, numbers.begin(input))?;
            if dimension == 2 {
                surfaces.insert(tag, surface);
            }
            input = rest;
        }
    }
    content.surfaces = Some(surfaces);
    Ok((input, ()))
}

/// One entity: its tag and, if it is a surface, what is to be known about it.
fn entity<'a, N: Numbers>(
    numbers: N,
    dimension: usize,
    partitioned: bool,
    input: Input<'a>,
) -> Parsed<'a, (i64, SurfaceEntity)> {
    let (mut input, tag) = numbers.int(input, "the tag of an entity")?;
    let mut interface = false;
    if partitioned {
        let (rest, parent) = numbers.int(input, "the dimension of a parent entity")?;
        (input, interface) = (rest, parent > dimension as i64);
        (input, _) = numbers.int(input, "the tag of a parent entity")?;
        (input, _) = int_list(numbers, input, "partitions")?;
    }
    (input, ()) = numbers.skip_reals(input, if dimension == 0 { 3 } else { 6 })?;
    let (mut input, groups) = int_list(numbers, input, "physical tags")?;
    if dimension > 0 {
        (input, _) = int_list(numbers, input, "bounding entities")?;
    }
    let (input, ()) = numbers.end(input)?;
    Ok((input, (tag, SurfaceEntity { groups, interface })))
}

fn int_list<'a, N: Numbers>(
    numbers: N,
    input: Input<'a>,
    what: &'static str,
) -> Parsed<'a, Vec<i64>> {
    let (mut input, count) = numbers.count(input, what, Record { ints: 1, sizes: 0, reals: 0 })?;
    let mut list = Vec::with_capacity(count);
    for _ in 0..count {
        let (rest, value) = numbers.int(input, "a tag")?;
        list.push(value);
        input = rest;
    }
    Ok((input, list))
}

/// The line that starts `$Nodes` and `$Elements`: blocks, records in all, and the range of tags,
/// which is not needed.
fn header<'a, N: Numbers>(
    numbers: N,
    input: Input<'a>,
    what: &'static str,
    least: Record,
) -> Parsed<'a, (usize, usize)> {
    let input = numbers.begin(input);
    let (input, blocks) =
        numbers.count(input, "entity blocks", Record { ints: 3, sizes: 1, reals: 0 })?;
    let (input, total) = numbers.count(input, what, least)?;
    let (input, _) = numbers.size(input, "the smallest tag")?;
    let (input, _) = numbers.size(input, "the largest tag")?;
    let (input, ()) = numbers.end(input)?;
    Ok((input, (blocks, total)))
}

/// Fails, at the section's start, unless its blocks held what it announced.
fn check_sum<'a>(
    start: Input<'a>,
    rest: Input<'a>,
    section: &'static str,
    what: &'static str,
    claimed: usize,
    found: usize,
) -> Parsed<'a, ()> {
    if claimed == found {
        return Ok((rest, ()));
    }
    let (claimed, found) = (claimed as u64, found as u64);
    fail(start, Cause::Sum { section, what, claimed, found })
}

/// `$Nodes`, from behind the name to before the end.
pub(super) fn nodes<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let start = numbers.begin(input);
    let (mut input, (blocks, total)) =
        header(numbers, input, "nodes", Record { ints: 0, sizes: 1, reals: 3 })?;
    content.vertices.reserve(total);
    let mut tags = Vec::new();
    for _ in 0..blocks {
        let (rest, dimension) = numbers.int(numbers.begin(input), "the dimension of an entity")?;
        let (rest, _) = numbers.int(rest, "the tag of an entity")?;
        let (rest, parametric) = numbers.int(rest, "0 or 1 for parametric")?;
        let (rest, count) =
            numbers.count(rest, "nodes in a block", Record { ints: 0, sizes: 1, reals: 3 })?;
        (input, ()) = numbers.end(rest)?;
        let parameters =
            if parametric != 0 && matches!(dimension, 1..=3) { dimension as usize } else { 0 };
        if parameters == 0
            && let Some(rest) = many_nodes(content, numbers, count, input)
        {
            input = rest;
            continue;
        }
        tags.clear();
        tags.reserve(count);
        for _ in 0..count {
            input = numbers.begin(input);
            let (rest, tag) = numbers.size(input, "a node tag")?;
            content.add_node(input, tag)?;
            tags.push(tag);
            (input, ()) = numbers.end(rest)?;
        }
        for &tag in &tags {
            let about = Subject::Node(tag);
            let (rest, point) = numbers.point(numbers.begin(input)).about(about)?;
            let (rest, ()) = numbers.skip_reals(rest, parameters).about(about)?;
            (input, ()) = numbers.end(rest).about(about)?;
            content.vertices.push(point);
        }
    }
    check_sum(start, input, "$Nodes", "nodes", total, content.vertices.len())
}

/// Blocks of fewer records are read one by one.
const MANY: usize = 4096;

/// The usual block of nodes, tags that follow each other and then coordinates, on all cores. `None`
/// if it is another: nothing has been read then, and what is wrong with it is found record by
/// record.
fn many_nodes<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    count: usize,
    input: Input<'a>,
) -> Option<Input<'a>> {
    if count < MANY {
        return None;
    }
    let (rest, first, points) = match numbers.binary() {
        Some(binary) => binary.is_usual().then(|| nodes_of_bytes(input, count))??,
        None => nodes_of_lines(numbers, input, count)?,
    };
    content.node_tags.insert_run(first, u32::try_from(count).ok()?).then(|| {
        content.vertices.extend(points);
        rest
    })
}

/// What follows, the first tag and the points.
type Nodes<'a> = (Input<'a>, u64, Vec<[f64; 3]>);

fn nodes_of_bytes(input: Input, count: usize) -> Option<Nodes> {
    let (tags, rest) = input.split_at_checked(8 * count)?;
    let (points, rest) = rest.split_at_checked(24 * count)?;
    let first = follow_each_other::<1>(tags)?;
    let point = |record: &[u8]| {
        let point = words::<3>(record).map(f64::from_le_bytes);
        point.iter().all(|&x| usable(x)).then_some(point)
    };
    let points: Option<Vec<[f64; 3]>> = points.par_chunks_exact(24).map(point).collect();
    Some((rest, first, points?))
}

fn nodes_of_lines<N: Numbers>(numbers: N, input: Input, count: usize) -> Option<Nodes> {
    let (_, first) = numbers.size(input, "a node tag").ok()?;
    let (points, _) = lines::read(input, count, |line, number| {
        let (rest, ()) = next_tag(numbers, line, first, number)?;
        numbers.end(rest)
    })?;
    let (rest, points) = lines::read(points, count, |line, _| {
        let (rest, point) = numbers.point(line)?;
        let (rest, ()) = numbers.end(rest)?;
        Ok((rest, point))
    })?;
    Some((rest, first, points))
}

/// The tag of record `number` if tags follow each other.
fn next_tag<N: Numbers>(numbers: N, record: Input, first: u64, number: usize) -> Parsed<()> {
    match numbers.size(record, "a tag")? {
        (rest, tag) if first.checked_add(number as u64) == Some(tag) => Ok((rest, ())),
        _ => unexpected(record, "the tag after the one before"),
    }
}

/// The usual block of triangles, as [`many_nodes`].
fn many_triangles<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    places: &Places,
    count: usize,
    input: Input<'a>,
) -> Option<(Input<'a>, Vec<[u32; 3]>)> {
    if count < MANY {
        return None;
    }
    let (rest, first, triangles) = match numbers.binary() {
        Some(binary) => binary.is_usual().then(|| triangles_of_bytes(input, count, places))??,
        None => triangles_of_lines(numbers, input, count, places)?,
    };
    let fits = content.element_tags.insert_run(first, u32::try_from(count).ok()?);
    fits.then_some((rest, triangles))
}

/// What follows, the first tag and the corners.
type Triangles<'a> = (Input<'a>, u64, Vec<[u32; 3]>);

fn triangles_of_bytes<'a>(
    input: Input<'a>,
    count: usize,
    places: &Places,
) -> Option<Triangles<'a>> {
    let (records, rest) = input.split_at_checked(32 * count)?;
    let first = follow_each_other::<4>(records)?;
    let corners = |record: &[u8]| {
        let [_, a, b, c] = words::<4>(record).map(u64::from_le_bytes);
        Some([places.get(a)?, places.get(b)?, places.get(c)?])
    };
    let triangles: Option<Vec<[u32; 3]>> = records.par_chunks_exact(32).map(corners).collect();
    Some((rest, first, triangles?))
}

fn triangles_of_lines<'a, N: Numbers>(
    numbers: N,
    input: Input<'a>,
    count: usize,
    places: &Places,
) -> Option<Triangles<'a>> {
    let (_, first) = numbers.size(input, "an element tag").ok()?;
    let (rest, triangles) = lines::read(input, count, |line, number| {
        let (mut rest, ()) = next_tag(numbers, line, first, number)?;
        let mut corners = [0; 3];
        for corner in &mut corners {
            let (after, node) = numbers.size(rest, "a node")?;
            let Some(place) = places.get(node) else { return unexpected(rest, "a known node") };
            (rest, *corner) = (after, place);
        }
        let (rest, ()) = numbers.end(rest)?;
        Ok((rest, corners))
    })?;
    Some((rest, first, triangles))
}

/// The first tag of records of `words` words, if the other tags follow it one by one.
fn follow_each_other<const WORDS: usize>(records: &[u8]) -> Option<u64> {
    let tag = |record: &[u8]| u64::from_le_bytes(words::<1>(record)[0]);
    let first = tag(records);
    let records = records.par_chunks_exact(8 * WORDS).enumerate();
    records.all(|(k, record)| first.checked_add(k as u64) == Some(tag(record))).then_some(first)
}

/// `$Elements`, from behind the name to before the end.
pub(super) fn elements<'a, N: Numbers>(
    content: &mut Content,
    numbers: N,
    places: &Places,
    input: Input<'a>,
) -> Parsed<'a, ()> {
    let start = numbers.begin(input);
    let (mut input, (blocks, total)) =
        header(numbers, input, "elements", Record { ints: 0, sizes: 2, reals: 0 })?;
    let mut found = 0;
    for _ in 0..blocks {
        let block_start = numbers.begin(input);
        let (rest, dimension) = numbers.int(block_start, "the dimension of an entity")?;
        let (rest, entity) = numbers.int(rest, "the tag of an entity")?;
        let place = rest;
        let (rest, number) = numbers.int(rest, "an element type")?;
        let Some(kind) = ElementKind::of(number) else {
            return fail(place, Cause::UnknownType(number));
        };
        let least = Record { ints: 0, sizes: 1 + kind.nodes.unwrap_or(0), reals: 0 };
        let (rest, count) = numbers.count(rest, "elements in a block", least)?;
        (input, ()) = numbers.end(rest)?;
        found += count;
        let mut corners_of_kind = kind.surface_corners();
        let mut set = 0;
        let mut reversed = false;
        if corners_of_kind.is_some() && count > 0 {
            let (_, sense) = sense(content.surfaces.as_ref(), block_start, dimension, entity)?;
            if sense.interface {
                content.report.interfaces += count;
                corners_of_kind = None;
            } else {
                reversed = sense.negative && !sense.positive;
                content.report.reversed += if reversed { count } else { 0 };
                content.opposed += if sense.negative && sense.positive { count } else { 0 };
                content.faces.reserve(count);
                set = content.faces.set(sense.groups);
            }
        }
        if corners_of_kind == Some(3)
            && kind.nodes == Some(3)
            && let Some((rest, triangles)) = many_triangles(content, numbers, places, count, input)
        {
            content.count_elements(number, count);
            content.faces.extend(triangles, set, reversed);
            input = rest;
            continue;
        }
        for _ in 0..count {
            input = numbers.begin(input);
            let (rest, tag) = numbers.size(input, "an element tag")?;
            content.add_element(input, tag, number)?;
            let inputs = [input, rest];
            let (rest, nodes) = element_nodes(numbers, inputs, places, tag, kind, |input| {
                numbers.size(input, "a node of an element")
            })?;
            let Some(nodes) = nodes else {
                input = rest;
                continue;
            };
            if let Some(corners) = corners_of_kind {
                content.add_face(number, corners, &nodes, set, reversed);
            }
            (input, ()) = numbers.end(rest).about(Subject::Element(tag))?;
        }
    }
    check_sum(start, input, "$Elements", "elements", total, found)
}

/// The physical groups of an entity, and which signs they take it with.
///
/// `Physical Surface(5) = {-1}` makes Gmsh write -5 for surface 1 and leave the elements as they
/// are: group 5 takes them turned over.
struct Sense {
    groups: Vec<i64>,
    positive: bool,
    negative: bool,
    /// Whether the entity only separates two partitions of a volume.
    interface: bool,
}

fn sense<'a>(
    surfaces: Option<&HashMap<i64, SurfaceEntity>>,
    place: Input<'a>,
    dimension: i64,
    entity: i64,
) -> Parsed<'a, Sense> {
    let mut sense =
        Sense { groups: Vec::new(), positive: false, negative: false, interface: false };
    // Without entities, or on a volume's own faces, there are no groups of surfaces.
    if let Some(surfaces) = surfaces
        && dimension == 2
    {
        let Some(SurfaceEntity { groups, interface }) = surfaces.get(&entity) else {
            return fail(place, Cause::UnknownEntity(entity));
        };
        sense.interface = *interface;
        sense.positive = groups.iter().any(|tag| *tag > 0);
        sense.negative = groups.iter().any(|tag| *tag < 0);
        sense.groups = groups.iter().map(|tag| tag.saturating_abs()).filter(|t| *t > 0).collect();
    }
    Ok((place, sense))
}
