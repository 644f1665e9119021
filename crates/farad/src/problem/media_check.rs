//! Checks that media given by the sides of surfaces do not contradict each other.

use mesh::Mesh;
use mesh::curved::area_normal;
use mesh::locate::Locator;
use mesh::topology::Topology;
use mesh::vector::{cross, dot, norm, sub};

/// Number of triangles of each component from which straight lines are drawn.
const SAMPLES: usize = 3;

/// Barycentric coordinates of the centre.
const CENTRE: [f64; 3] = [1.0 / 3.0; 3];

/// A corner of a triangle at an edge: the edge's vertices in order, whether the triangle runs along
/// it in that order, the triangle.
type Side = ([u32; 2], bool, usize);

/// Two triangles that have different media on sides which face each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// The triangles.
    pub triangles: [usize; 2],
    /// Where, in the mesh's unit.
    pub(crate) place: [f64; 3],
    /// Whether they share an edge; otherwise there is nothing but space between them.
    pub meet: bool,
    /// How many edges there are at which media contradict each other, or 1.
    pub(crate) count: usize,
}

/// A contradiction of the media on the front and the back of each triangle, if there is one: first
/// where surfaces meet, then across the space between them. `keep` selects the triangles that
/// count.
pub fn find(
    mesh: &Mesh,
    permittivity: &[[f64; 2]],
    keep: impl Fn(usize) -> bool,
    is_conductor: impl Fn(usize) -> bool,
) -> Option<Contradiction> {
    let kept: Vec<u32> = (0..mesh.triangles.len()).filter(|&t| keep(t)).map(|t| t as u32).collect();
    let sides = sorted_sides(mesh, &kept);
    let edges = sides.chunk_by(|a, b| a.0 == b.0);
    let mut all = edges.filter_map(|around| at_edge(mesh, around, permittivity, &is_conductor));
    let met = all.next().map(|(edge, triangles)| {
        let place = mesh.vertices[edge[0] as usize];
        Contradiction { triangles, place, meet: true, count: 1 + all.count() }
    });
    met.or_else(|| {
        // Where an interface ends, both its media meet in the space beyond its rim: lines across
        // space prove nothing.
        let ends =
            |around: &[Side]| around.len() == 1 && around.iter().any(|side| !is_conductor(side.2));
        let any_ends = sides.chunk_by(|a, b| a.0 == b.0).any(ends);
        if any_ends { None } else { across_space(mesh, kept, permittivity, &is_conductor) }
    })
}

fn sorted_sides(mesh: &Mesh, kept: &[u32]) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::with_capacity(3 * kept.len());
    for t in kept.iter().map(|&t| t as usize) {
        let corners = mesh.triangles[t];
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            sides.push(([a.min(b), a.max(b)], a < b, t));
        }
    }
    sides.sort_unstable();
    sides
}

/// The edge and two triangles of those around it.
fn at_edge(
    mesh: &Mesh,
    around: &[Side],
    permittivity: &[[f64; 2]],
    is_conductor: impl Fn(usize) -> bool,
) -> Option<([u32; 2], [usize; 2])> {
    let [(edge, forth, s), (_, back, t)] = *around else {
        return around_edge(mesh, around, permittivity, is_conductor);
    };
    // Metal has a side without a medium, unless it lies between two.
    let counts = |t: usize| !is_conductor(t) || permittivity[t][0] != permittivity[t][1];
    let [front, behind] = permittivity[t];
    // Neighbours that face one side run through their edge in opposite directions.
    let other = if forth != back { [front, behind] } else { [behind, front] };
    (counts(s) && counts(t) && permittivity[s] != other).then_some((edge, [s, t]))
}

/// The same where three triangles or more meet: each sector between two of them has one medium,
/// unless it is the inside of metal.
fn around_edge(
    mesh: &Mesh,
    around: &[Side],
    permittivity: &[[f64; 2]],
    is_conductor: impl Fn(usize) -> bool,
) -> Option<([u32; 2], [usize; 2])> {
    let edge = around.first()?.0;
    if around.len() < 3 {
        return None;
    }
    let mut sorted: Vec<(f64, &Side)> =
        around.iter().map(|side| (angle_about(mesh, edge, side.2), side)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let next = sorted.iter().cycle().skip(1);
    sorted.iter().zip(next).find_map(|((_, first), (_, second))| {
        let ((_, forth, s), (_, onward, t)) = (**first, **second);
        // A triangle that runs along its edge has its front where angles grow.
        let after = permittivity[s][usize::from(!forth)];
        let before = permittivity[t][usize::from(onward)];
        (after != before && !(is_conductor(s) && is_conductor(t))).then_some((edge, [s, t]))
    })
}

/// The angle of a triangle about one of its edges, in a frame that is the same for all triangles at
/// this edge.
fn angle_about(mesh: &Mesh, edge: [u32; 2], t: usize) -> f64 {
    let [along, arm] = mesh.directions_at(t, edge);
    // The axis least parallel to the edge defines the frame.
    let axis = (0..3).min_by(|&i, &j| along[i].abs().total_cmp(&along[j].abs())).unwrap_or(0);
    let mut unit = [0.0; 3];
    unit[axis] = 1.0;
    let v = cross(along, unit);
    let u = cross(v, along).map(|x| x / norm(along));
    dot(arm, v).atan2(dot(arm, u))
}

/// Lines from both sides of some triangles of every component to what they meet first: between
/// interfaces, or an interface and metal, there is one medium.
fn across_space(
    mesh: &Mesh,
    kept: Vec<u32>,
    permittivity: &[[f64; 2]],
    is_conductor: impl Fn(usize) -> bool,
) -> Option<Contradiction> {
    let component_of = Topology::of(mesh).component_of;
    let mut members: Vec<Vec<usize>> = Vec::new();
    for t in kept.iter().map(|&t| t as usize) {
        let index = component_of[t] as usize;
        members.resize(members.len().max(index + 1), Vec::new());
        members[index].push(t);
    }
    let locator = Locator::of_part(mesh, kept);
    let samples = |members: &Vec<usize>| -> Vec<usize> {
        (0..SAMPLES).filter_map(|k| members.get(k * members.len() / SAMPLES).copied()).collect()
    };
    let lines = members.iter().flat_map(samples).flat_map(|t| [(t, 0), (t, 1)]);
    lines.into_iter().find_map(|(t, side)| {
        let centre = mesh.point(t, CENTRE);
        let normal = normal(mesh, t).map(|x| if side == 0 { x } else { -x });
        let hit = locator.first_hit(centre, normal, t as u32)?;
        let other = hit.triangle as usize;
        let facing = usize::from(hit.is_along_normal);
        let both_metal = is_conductor(t) && is_conductor(other);
        let contradictory = !both_metal && permittivity[t][side] != permittivity[other][facing];
        let triangles = [t, other];
        contradictory.then_some(Contradiction { triangles, place: centre, meet: false, count: 1 })
    })
}

/// The normal at the centre.
fn normal(mesh: &Mesh, t: usize) -> [f64; 3] {
    match &mesh.patches {
        Some(patches) => area_normal(patches.order, patches.of(t), CENTRE),
        None => {
            let [a, b, c] = mesh.corners(t);
            cross(sub(b, a), sub(c, a))
        }
    }
}
