//! Surface elements as they come from a file, and the mesh that they make.

use super::error::Cause;
use super::report::ReadReport;
use crate::geometry::curved;
use crate::patch::node_count;
use crate::planar::polygon::split_quadrangle;
use crate::surface::{Mesh, Patches, PhysicalGroup};
use crate::wording::counted;
use parallel::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Stands for the missing fourth corner of a triangle, and for a vertex that is not used.
pub const NONE: u32 = u32::MAX;

/// Triangles and quadrangles with their physical groups.
#[derive(Default)]
pub struct Faces {
    /// The corners of each; the fourth one of a triangle is [`NONE`].
    pub corners: Vec<[u32; 4]>,
    membership: Vec<u32>,
    /// Those that are curved, in their order.
    curved: Vec<Curved>,
    /// Their nodes, as in the file.
    nodes: Vec<u32>,
    groups: Groups,
}

/// A curved triangle among the faces.
#[derive(Clone, Copy)]
struct Curved {
    face: u32,
    order: usize,
    /// Where its nodes begin.
    first: usize,
    reversed: bool,
}

/// Physical groups in the order of first appearance, and the sets of them that elements are in.
struct Groups {
    tags: Vec<i64>,
    index_of: HashMap<i64, u32>,
    sets: Vec<Vec<u32>>,
    set_of: HashMap<Vec<u32>, u32>,
}

impl Default for Groups {
    fn default() -> Self {
        let set_of = HashMap::from([(Vec::new(), 0)]);
        Self { tags: Vec::new(), index_of: HashMap::new(), sets: vec![Vec::new()], set_of }
    }
}

impl Groups {
    /// The number of a set of physical tags, all positive.
    fn set(&mut self, tags: impl IntoIterator<Item = i64>) -> u32 {
        let mut set: Vec<u32> = Vec::new();
        for tag in tags {
            set.push(*self.index_of.entry(tag).or_insert_with(|| {
                self.tags.push(tag);
                (self.tags.len() - 1) as u32
            }));
        }
        set.sort_unstable();
        set.dedup();
        let sets = &mut self.sets;
        *self.set_of.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            (sets.len() - 1) as u32
        })
    }
}

/// What one element of version 2 holds besides its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label {
    /// Physical tag, 0 for none.
    pub physical: i64,
    /// Elementary entity.
    pub elementary: i64,
}

impl Faces {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.corners.len()
    }

    /// Makes room for elements that are known to come.
    pub fn reserve(&mut self, more: usize) {
        self.corners.reserve(more);
        self.membership.reserve(more);
    }

    /// The number of a set of physical tags, for [`Self::push`].
    pub fn set(&mut self, tags: impl IntoIterator<Item = i64>) -> u32 {
        self.groups.set(tags)
    }

    /// Adds triangles, all in one set.
    pub fn extend(&mut self, triangles: Vec<[u32; 3]>, set: u32, reversed: bool) {
        let face = |[a, b, c]: [u32; 3]| if reversed { [a, c, b, NONE] } else { [a, b, c, NONE] };
        self.membership.extend(std::iter::repeat_n(set, triangles.len()));
        self.corners.par_extend(triangles.into_par_iter().map(face));
    }

    /// Adds an element with three or four corners, turned over on request.
    pub fn push(&mut self, corners: &[u32], set: u32, reversed: bool) {
        let mut face = [NONE; 4];
        for (to, from) in face.iter_mut().zip(corners) {
            *to = *from;
        }
        if reversed {
            // The first corner stays first, as in Gmsh.
            face[1..corners.len().min(4)].reverse();
        }
        self.corners.push(face);
        self.membership.push(set);
    }

    /// Adds a curved triangle with its nodes in Gmsh's order, turned over on request.
    pub fn push_patch(&mut self, order: usize, nodes: &[u32], set: u32, reversed: bool) {
        let (face, first) = (self.corners.len() as u32, self.nodes.len());
        self.curved.push(Curved { face, order, first, reversed });
        self.nodes.extend(nodes);
        self.push(&nodes[..3], set, reversed);
    }

    /// Gives faces their groups from the labels of version 2, one a face, merging repetitions.
    ///
    /// Version 2 writes an element of an entity in several physical groups once for each group. So
    /// elements of one entity with the same corners and different physical tags are one face. The
    /// k-th element of these corners in one group goes with the k-th in another: what occurs twice
    /// in one group is a true duplicate and stays two.
    pub fn merge(&mut self, labels: &[Label], report: &mut ReadReport) {
        let mut groups_of_entity: HashMap<i64, HashSet<i64>> = HashMap::new();
        let mut previous = None;
        for label in labels {
            if label.physical != 0 && previous != Some(*label) {
                groups_of_entity.entry(label.elementary).or_default().insert(label.physical);
            }
            previous = Some(*label);
        }
        let several: HashSet<i64> =
            groups_of_entity.iter().filter(|(_, set)| set.len() > 1).map(|(e, _)| *e).collect();
        let mut kept = 0;
        let mut tags: Vec<Vec<i64>> = Vec::new();
        let mut occurrences: HashMap<([u32; 4], Label), u32> = HashMap::new();
        let mut known: HashMap<([u32; 4], i64, u32), usize> = HashMap::new();
        let mut opposed = 0;
        let mut curved = std::mem::take(&mut self.curved).into_iter().peekable();
        for (face, &label) in labels.iter().enumerate() {
            let own = curved.next_if(|curved| curved.face as usize == face);
            let corners = self.corners[face];
            if label.physical != 0 && several.contains(&label.elementary) {
                let mut key = corners;
                key.sort_unstable();
                let occurrence = occurrences.entry((key, label)).or_default();
                let first = *known.entry((key, label.elementary, *occurrence)).or_insert(kept);
                *occurrence += 1;
                if first < kept {
                    tags[first].push(label.physical);
                    opposed += usize::from(!same_orientation(self.corners[first], corners));
                    report.repeated_for_groups += 1;
                    continue;
                }
            }
            self.corners[kept] = corners;
            self.curved.extend(own.map(|own| Curved { face: kept as u32, ..own }));
            tags.push(if label.physical == 0 { Vec::new() } else { vec![label.physical] });
            kept += 1;
        }
        self.corners.truncate(kept);
        self.membership = tags.into_iter().map(|tags| self.groups.set(tags)).collect();
        if opposed > 0 {
            report.notes.push(note_opposed(opposed));
        }
    }

    /// Splits quadrangles, drops vertices that are not used, and names the groups.
    pub fn into_mesh(
        self,
        vertices: &[[f64; 3]],
        names: &HashMap<i64, String>,
        report: &mut ReadReport,
    ) -> Result<Mesh, Cause> {
        let patches = self.patches(vertices)?;
        let mut mesh = Mesh {
            groups: self
                .groups
                .tags
                .iter()
                .map(|tag| PhysicalGroup { tag: *tag, name: names.get(tag).cloned() })
                .collect(),
            memberships: self.groups.sets,
            triangles: Vec::new(),
            membership: Vec::new(),
            vertices: Vec::new(),
            patches,
        };
        report.vertices = vertices.len();
        if self.corners.par_iter().all(|corners| corners[3] == NONE) {
            let corners = self.corners.par_iter();
            mesh.triangles = corners.map(|&[a, b, c, _]| [a, b, c]).collect();
            mesh.membership = self.membership;
            if are_all_used(vertices.len(), &mesh.triangles) {
                mesh.vertices = vertices.to_vec();
                return Ok(mesh);
            }
            return Ok(without_unused(mesh, vertices, &self.nodes, report));
        }
        for (&[a, b, c, d], &set) in self.corners.iter().zip(&self.membership) {
            if d == NONE {
                mesh.triangles.push([a, b, c]);
                mesh.membership.push(set);
                continue;
            }
            report.split_quadrangles += 1;
            let halves = split_quadrangle(vertices, [a, b, c, d])
                .ok_or_else(|| Cause::Crossed(vertices[a as usize]))?;
            mesh.triangles.extend(halves);
            mesh.membership.extend([set; 2]);
        }
        Ok(without_unused(mesh, vertices, &self.nodes, report))
    }

    /// The patches of the triangles that faces make, if some are curved: all of the highest order.
    fn patches(&self, vertices: &[[f64; 3]]) -> Result<Option<Patches>, Cause> {
        let Some(order) = self.curved.iter().map(|curved| curved.order).max() else {
            return Ok(None);
        };
        let place = |v: u32| vertices[v as usize];
        let mut patches = Patches::new(order);
        patches.nodes.reserve(node_count(order) * self.corners.len());
        let mut curved = self.curved.iter().peekable();
        for (face, &[a, b, c, d]) in (0..).zip(&self.corners) {
            if let Some(own) = curved.next_if(|curved| curved.face == face) {
                let nodes = &self.nodes[own.first..][..node_count(own.order)];
                let nodes: Vec<[f64; 3]> = nodes.iter().map(|&node| place(node)).collect();
                let first = patches.nodes.len();
                if own.order == order {
                    patches.nodes.extend(nodes);
                } else {
                    patches.nodes.extend(curved::part(own.order, &nodes, curved::CORNERS, order));
                }
                if own.reversed {
                    curved::reverse(order, &mut patches.nodes[first..]);
                }
            } else if d == NONE {
                patches.nodes.extend(curved::straight(order, [a, b, c].map(place)));
            } else {
                let halves = split_quadrangle(vertices, [a, b, c, d])
                    .ok_or_else(|| Cause::Crossed(vertices[a as usize]))?;
                let halves = halves.map(|half| curved::straight(order, half.map(place)));
                patches.nodes.extend(halves.into_iter().flatten());
            }
        }
        Ok(Some(patches))
    }
}

/// Whether each of `count` vertices is a corner.
fn are_all_used(vertices: usize, triangles: &[[u32; 3]]) -> bool {
    let used: Vec<AtomicBool> = (0..vertices).map(|_| AtomicBool::new(false)).collect();
    triangles.par_iter().for_each(|corners| {
        corners.iter().for_each(|&v| used[v as usize].store(true, Ordering::Relaxed))
    });
    used.into_par_iter().all(AtomicBool::into_inner)
}

/// The mesh with those of `vertices` that are corners; others may be `nodes` of patches.
fn without_unused(
    mut mesh: Mesh,
    vertices: &[[f64; 3]],
    nodes: &[u32],
    report: &mut ReadReport,
) -> Mesh {
    let mut is_used = vec![false; vertices.len()];
    let corners = mesh.triangles.iter().flatten();
    corners.chain(nodes).for_each(|&node| is_used[node as usize] = true);
    report.dropped_vertices = is_used.iter().filter(|&&is_used| !is_used).count();
    mesh.vertices = vertices.to_vec();
    mesh.drop_unused();
    mesh
}

/// Elements that are in groups of both signs.
pub(super) fn note_opposed(elements: usize) -> String {
    counted(elements, "element is", "elements are")
        + " in one physical group with the surface's orientation and in another against it; the first counts"
}

/// Whether two faces with the same corners run through them in the same sense.
pub fn same_orientation(a: [u32; 4], b: [u32; 4]) -> bool {
    let length = if a[3] == NONE { 3 } else { 4 };
    let (a, b) = (&a[..length], &b[..length]);
    (0..length).any(|shift| (0..length).all(|i| a[i] == b[(i + shift) % length]))
}
