//! The parts of a surface: bodies and cavities.

use crate::measure::Measure;
use crate::options::{Cavities, Options};
use mesh::orient::enclosures;
use mesh::topology::Topology;
use mesh::{Mesh, PhysicalGroup};

/// What a part bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A body, from outside.
    Body,
    /// A hollow within a body: normals point into it.
    Cavity,
}

/// A closed part of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name of its group in the mesh: `molecule`, or `molecule_1`, ... of several; `cavity_1`, ...
    pub name: String,
    /// What it bounds.
    pub kind: PartKind,
    /// Number of triangles.
    pub triangles: usize,
    /// Area of the surface in square angstrom, by triangles of order 2.
    pub area: f64,
    /// Volume that the part encloses, in cubic angstrom, positive; likewise.
    pub volume: f64,
    /// Smallest angle of its triangles, through corners, in degrees.
    pub min_angle: f64,
}

/// Cavities that were filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filled {
    /// How many.
    pub count: usize,
    /// Their volume in cubic angstrom.
    pub volume: f64,
    /// The area of the surface that is gone with them, in square angstrom.
    pub area: f64,
}

/// The parts of a mesh, the part of each triangle (`u32::MAX` of those to leave out), and what was
/// filled.
pub(crate) fn parts(
    mesh: &Mesh,
    measures: &[Measure],
    options: &Options,
) -> (Vec<Part>, Vec<u32>, Filled) {
    let topology = Topology::of(mesh);
    let within = enclosures(mesh, &topology);
    let count = topology.components.len();
    let mut sums = vec![[0.0; 2]; count];
    for (&c, measure) in topology.component_of.iter().zip(measures) {
        let sum = &mut sums[c as usize];
        *sum = [sum[0] + measure[0], sum[1] + measure[1]];
    }
    let volume = |c: usize| sums[c][1];
    let is_cavity = |c: usize| topology.components[c].signed_volume < 0.0;
    let is_filled = |c: usize| {
        is_cavity(c) && (options.cavities == Cavities::Drop || -volume(c) < options.min_cavity)
    };
    // What lies in a filled cavity is gone, too.
    let is_gone = |c: usize| {
        let parent = |&c: &usize| within[c].parent.map(|parent| parent as usize);
        std::iter::successors(Some(c), parent).take(count + 1).any(is_filled)
    };
    let gone: Vec<bool> = (0..count).map(is_gone).collect();
    let filled = (0..count).filter(|&c| is_filled(c));
    let filled = filled.fold(Filled::default(), |sum, c| Filled {
        count: sum.count + 1,
        volume: sum.volume - volume(c),
        area: sum.area,
    });
    let area = (0..count).filter(|&c| gone[c]).map(|c| sums[c][0]).sum();
    let filled = Filled { area, ..filled };
    let mut kept: Vec<usize> = (0..count).filter(|&c| !gone[c]).collect();
    // Bodies first, the largest ones first; triangles decide between equal ones.
    kept.sort_by(|&a, &b| {
        let size = |c: usize| volume(c).abs();
        is_cavity(a).cmp(&is_cavity(b)).then(size(b).total_cmp(&size(a)))
    });
    let bodies = kept.iter().filter(|&&c| !is_cavity(c)).count();
    let mut number = vec![u32::MAX; count];
    let mut all = Vec::with_capacity(kept.len());
    for (n, &c) in kept.iter().enumerate() {
        number[c] = n as u32;
        let (kind, name) = match bodies {
            _ if is_cavity(c) => (PartKind::Cavity, format!("cavity_{}", n + 1 - bodies)),
            1 => (PartKind::Body, "molecule".to_owned()),
            _ => (PartKind::Body, format!("molecule_{}", n + 1)),
        };
        all.push(Part {
            name,
            kind,
            triangles: topology.components[c].triangles,
            area: sums[c][0],
            volume: volume(c).abs(),
            min_angle: 180.0,
        });
    }
    for (t, &c) in topology.component_of.iter().enumerate() {
        if let Some(part) = all.get_mut(number[c as usize] as usize) {
            let corners = mesh.corners(t);
            part.min_angle =
                part.min_angle.min(crate::triangle::quality(corners).asin().to_degrees());
        }
    }
    let part_of = topology.component_of.iter().map(|&c| number[c as usize]).collect();
    (all, part_of, filled)
}

/// Puts the triangles of parts into groups of their names, and leaves the others out.
pub(crate) fn group(mesh: &mut Mesh, parts: &[Part], part_of: &[u32]) {
    mesh.groups = parts
        .iter()
        .enumerate()
        .map(|(n, part)| PhysicalGroup { tag: n as i64 + 1, name: Some(part.name.clone()) })
        .collect();
    mesh.memberships =
        std::iter::once(vec![]).chain((0..parts.len() as u32).map(|n| vec![n])).collect();
    let mut kept = part_of.iter().map(|&part| part != u32::MAX);
    if let Some(patches) = &mut mesh.patches {
        let count = mesh::patch::node_count(patches.order);
        let nodes = patches.nodes.chunks_exact(count).zip(part_of);
        patches.nodes =
            nodes.filter(|(_, part)| **part != u32::MAX).flat_map(|(n, _)| n.to_vec()).collect();
    }
    mesh.triangles.retain(|_| kept.next().unwrap_or(true));
    mesh.membership =
        part_of.iter().filter(|part| **part != u32::MAX).map(|part| part + 1).collect();
}
