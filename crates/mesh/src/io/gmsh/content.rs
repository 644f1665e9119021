//! What is gathered from the sections of an MSH file, whatever its version.

use super::error::{Cause, Subject};
use super::faces::{Faces, Label, note_opposed};
use super::kinds::ElementKind;
use super::report::ReadReport;
use super::scan::{About, Fault, Input, Numbers, Parsed, fail, line};
use super::tags::{Places, Refused, Tags};
use crate::geometry::curved;
use crate::patch::{MAX_NODES, node_count};
use crate::surface::Mesh;
use crate::wording::{counted, note_split};
use std::collections::HashMap;

/// What the file says about a surface.
pub(super) struct SurfaceEntity {
    /// Signed physical tags.
    pub groups: Vec<i64>,
    /// Whether it only separates two partitions of a volume.
    pub interface: bool,
}

/// What has been read so far.
pub(super) struct Content {
    pub vertices: Vec<[f64; 3]>,
    pub node_tags: Tags,
    pub element_tags: Tags,
    /// Elements by number of type.
    counts: [usize; 256],
    pub faces: Faces,
    /// Of the faces, in version 2.
    pub labels: Vec<Label>,
    /// The surface entities of version 4; `None` until the file gives entities.
    pub surfaces: Option<HashMap<i64, SurfaceEntity>>,
    /// Faces in groups of both signs, in version 4.
    pub opposed: usize,
    /// Of physical groups, by dimension and tag.
    pub names: HashMap<(i64, i64), String>,
    pub report: ReadReport,
}

impl Content {
    /// Of nothing.
    pub fn new() -> Self {
        Self {
            vertices: Vec::new(),
            node_tags: Tags::default(),
            element_tags: Tags::default(),
            counts: [0; 256],
            faces: Faces::default(),
            labels: Vec::new(),
            surfaces: None,
            opposed: 0,
            names: HashMap::new(),
            report: ReadReport::default(),
        }
    }

    /// Enters a node.
    pub fn add_node<'a>(&mut self, place: Input<'a>, tag: u64) -> Parsed<'a, ()> {
        match self.node_tags.insert(tag) {
            Ok(()) => Ok((place, ())),
            Err(Refused::Repeated) => fail(place, Cause::RepeatedNode(tag)),
            Err(Refused::Full) => fail(place, Cause::TooMany("nodes")),
        }
    }

    /// Enters an element of the type with the given number.
    pub fn add_element<'a>(&mut self, place: Input<'a>, tag: u64, number: i64) -> Parsed<'a, ()> {
        self.count_elements(number, 1);
        match self.element_tags.insert(tag) {
            Ok(()) => Ok((place, ())),
            Err(Refused::Repeated) => fail(place, Cause::RepeatedElement(tag)),
            Err(Refused::Full) => fail(place, Cause::TooMany("elements")),
        }
    }

    /// Adds an element of the type with the given number, which has `corners` corners, turned over
    /// on request.
    pub fn add_face(
        &mut self,
        number: i64,
        corners: usize,
        nodes: &FirstNodes,
        set: u32,
        reversed: bool,
    ) {
        match ElementKind::patch_order(number) {
            Some(order) => {
                self.faces.push_patch(order, &nodes[..node_count(order)], set, reversed);
            }
            None => self.faces.push(&nodes[..corners], set, reversed),
        }
    }

    /// Counts `more` elements of the type with the given number.
    pub fn count_elements(&mut self, number: i64, more: usize) {
        if let Some(count) = usize::try_from(number).ok().and_then(|i| self.counts.get_mut(i)) {
            *count += more;
        }
    }

    /// Makes the mesh, when the whole file has been read.
    pub fn finish(&mut self, end: Input) -> Result<(Mesh, ReadReport), nom::Err<Fault>> {
        let mut report = std::mem::take(&mut self.report);
        let mut faces = std::mem::take(&mut self.faces);
        let cause = match faces.len() {
            0 => Some(Cause::NoTriangles { found: self.describe_counts() }),
            // Each may be split in two.
            n if n > (u32::MAX / 2) as usize => Some(Cause::TooMany("surface elements")),
            _ => None,
        };
        if let Some(cause) = cause {
            self.report = report;
            return fail(end, cause).map(|(_, never): (Input, _)| never);
        }
        for (number, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(kind) = ElementKind::of(number as i64) {
                report.elements.push((kind.name(), count));
                let is_flat =
                    kind.surface_corners().is_none_or(|corners| kind.nodes == Some(corners));
                if !is_flat && ElementKind::patch_order(number as i64).is_none() {
                    report.flattened += count;
                }
            }
        }
        if !self.labels.is_empty() {
            faces.merge(&self.labels, &mut report);
        }
        if self.opposed > 0 {
            report.notes.push(note_opposed(self.opposed));
        }
        let names = std::mem::take(&mut self.names);
        let names: HashMap<i64, String> = names
            .into_iter()
            .filter(|((dimension, _), name)| *dimension == 2 && !name.is_empty())
            .map(|((_, tag), name)| (tag, name))
            .collect();
        match faces.into_mesh(&self.vertices, &names, &mut report) {
            Ok(mut mesh) => {
                let mut torn = 0;
                mesh.with_patches(|mesh, patches| torn = curved::share_sides(mesh, patches));
                report.take_notes();
                report.notes.extend((torn > 0).then(|| note_torn(torn)));
                Ok((mesh, report))
            }
            Err(cause) => {
                self.report = report;
                fail(end, cause).map(|(_, never): (Input, _)| never)
            }
        }
    }

    fn describe_counts(&self) -> String {
        let kinds: Vec<String> = (0..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .filter_map(|(number, count)| {
                ElementKind::of(number).map(|kind| format!("{count} of type {}", kind.name()))
            })
            .collect();
        match kinds.as_slice() {
            [] => "no elements".into(),
            kinds => format!("only elements of other types: {}", kinds.join(", ")),
        }
    }
}

/// The first nodes of an element.
pub(super) type FirstNodes = [u32; MAX_NODES];

/// Reads the nodes of an element of a kind, each with `read`, to its end, and looks them up. `None`
/// of one with a number of nodes of its own: a line of text is passed over.
pub(super) fn element_nodes<'a, N: Numbers>(
    numbers: N,
    [start, mut input]: [Input<'a>; 2],
    places: &Places,
    tag: u64,
    kind: ElementKind,
    read: impl Fn(Input<'a>) -> Parsed<'a, u64>,
) -> Parsed<'a, Option<FirstNodes>> {
    let about = Subject::Element(tag);
    let Some(nodes) = kind.nodes else {
        if numbers.is_text() {
            return line(input).map(|(rest, _)| (rest, None));
        }
        return fail(start, Cause::VariableType(kind.name())).about(about);
    };
    let mut first = [0; MAX_NODES];
    for index in 0..nodes {
        let (rest, node) = read(input).about(about)?;
        let Some(place) = places.get(node) else {
            return fail(input, Cause::UnknownNode(node)).about(about);
        };
        if let Some(first) = first.get_mut(index) {
            *first = place;
        }
        input = rest;
    }
    Ok((input, Some(first)))
}

/// Sides that are not the same curve for all triangles there.
fn note_torn(sides: usize) -> String {
    counted(sides, "side is", "sides are")
        + " another curve for one triangle than for the next: the surface has gaps there"
}

impl ReadReport {
    /// Puts into words what people should know.
    fn take_notes(&mut self) {
        let notes = [
            (
                self.flattened,
                "element of higher order is read as flat: only its corners count",
                "elements of higher order are read as flat: only their corners count",
            ),
            (
                self.interfaces,
                "element is left out that only separates partitions of a volume, as it belongs to no surface",
                "elements are left out that only separate partitions of a volume, as they belong to no surface",
            ),
            (
                self.reversed,
                "element is turned over, since its physical groups take it with a negative sign",
                "elements are turned over, since their physical groups take them with a negative sign",
            ),
        ];
        if self.split_quadrangles > 0 {
            self.notes.push(note_split(self.split_quadrangles));
        }
        for (count, one, many) in notes {
            if count > 0 {
                self.notes.push(counted(count, one, many));
            }
        }
    }
}
