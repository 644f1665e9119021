//! Upright prisms made a surface: what layouts of chips and boards describe.
//!
//! Prisms have labels, and of those that cover a place the first counts. Between heights at which
//! prisms begin or end, the plane is cut along all outlines (`slab`, of lines that `cut` has cut).
//! There are walls where labels differ, and faces where they differ between one slab and the next.
//! Every triangle knows the labels on both sides of it; the surface is closed by construction.

pub(crate) mod cut;
mod prism;
mod slab;

use std::collections::{HashMap, HashSet};

use spade::{DelaunayTriangulation, Point2, Triangulation as _};

use crate::geometry::quality::relative_height;
use crate::surface::Mesh;
use crate::{conform, weld};
pub use prism::{Fault, OUTSIDE, Point, Prism};
use slab::{Plan, Segment, Slab};

/// Vertices nearer than this, relative to the size of the whole, are one: where slanted lines
/// cross is rounded.
const WELD: f64 = 1e-9;

/// The surface of prisms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Without groups.
    pub mesh: Mesh,
    /// The labels that each triangle is between: where its normal points to, and behind it. Normals
    /// point out of bodies.
    pub sides: Vec<[u32; 2]>,
}

/// Coordinates other than 0 that can be triangulated: those of `spade`.
const COORDINATES: std::ops::RangeInclusive<f64> =
    spade::MIN_ALLOWED_VALUE..=spade::MAX_ALLOWED_VALUE;

/// Whether a coordinate can be triangulated.
fn is_usable(value: f64) -> bool {
    value == 0.0 || COORDINATES.contains(&value.abs())
}

/// The fault of a coordinate, in words.
fn amiss(value: f64) -> &'static str {
    match value.abs() {
        size if !size.is_finite() => "no finite number",
        size if size > *COORDINATES.end() => "too large",
        _ => "too small, and not 0",
    }
}

fn check_coordinates(prisms: &[Prism]) -> Result<(), Fault> {
    for (k, prism) in prisms.iter().enumerate() {
        let mut all = prism.rings.iter().flatten().flatten().chain(&prism.heights);
        if let Some(&value) = all.find(|value| !is_usable(**value)) {
            return Err(Fault::Coordinate { prism: k, value, why: amiss(value) });
        }
    }
    Ok(())
}

/// Makes the surface on which labels change. Labels that `is_body` holds for are bodies, which must
/// come before all others and must not touch each other.
///
/// # Errors
/// [`Fault`].
pub fn surface(prisms: &[Prism], is_body: impl Fn(u32) -> bool) -> Result<Surface, Fault> {
    check_coordinates(prisms)?;
    let mut heights: Vec<f64> = prisms.iter().flat_map(|prism| prism.heights).collect();
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    let mut builder = Builder {
        prisms,
        is_body,
        mesh: Mesh { memberships: vec![vec![]], ..Mesh::default() },
        sides: Vec::new(),
        vertex_at: HashMap::new(),
        open: HashMap::new(),
        walls: Vec::new(),
    };
    let mut below = Slab::default();
    for (k, &low) in heights.iter().enumerate() {
        let above = match heights.get(k + 1) {
            Some(&high) => Slab::new(prisms, [low, high], &builder.is_body)?,
            None => Slab::default(),
        };
        builder.level(low, &below, &above)?;
        below = above;
    }
    builder.finish()
}

/// A wall that stands on a segment.
struct Wall {
    on: Segment,
    heights: [f64; 2],
    /// The corners of faces on its lower side and on its upper one.
    rims: [Vec<Point>; 2],
}

struct Builder<'a, F> {
    prisms: &'a [Prism],
    is_body: F,
    mesh: Mesh,
    sides: Vec<[u32; 2]>,
    vertex_at: HashMap<[u64; 3], u32>,
    /// Walls whose upper end has not been reached.
    open: HashMap<Segment, Wall>,
    /// They become triangles when all faces are there.
    walls: Vec<Wall>,
}

impl<F: Fn(u32) -> bool> Builder<'_, F> {
    /// What is at a height: faces, and ends of walls.
    fn level(&mut self, z: f64, below: &Slab, above: &Slab) -> Result<(), Fault> {
        let [under, over] = [below, above].map(|slab| slab.segments.iter());
        let mut lines: Vec<[Point; 2]> = under.chain(over).map(Segment::ends).collect();
        lines.sort_by_key(|line| line.map(|x| x.map(f64::to_bits)));
        lines.dedup();
        let plan = Plan::new(lines.into_iter())?;
        let mut used = HashSet::new();
        for (corners, centre) in plan.triangles() {
            let [under, over] = [below, above].map(|slab| slab.label_at(centre));
            if under == over {
                continue;
            }
            self.check([under, over], centre, z)?;
            used.extend(corners.map(bits));
            self.add(corners.map(|[x, y]| [x, y, z]), [over, under]);
        }
        let rim = |on: &Segment| plan.on(on.ends(), |at| used.contains(&bits(at)));
        for on in below.segments.iter().filter(|on| above.segments.binary_search(on).is_err()) {
            if let Some(mut wall) = self.open.remove(on) {
                (wall.heights[1], wall.rims[1]) = (z, rim(on));
                self.walls.push(wall);
            }
        }
        for &on in &above.segments {
            if !self.open.contains_key(&on) {
                self.check(on.sides, on.middle(), z)?;
                self.open.insert(on, Wall { on, heights: [z; 2], rims: [rim(&on), vec![]] });
            }
        }
        Ok(())
    }

    /// Refuses two bodies next to each other.
    fn check(&self, labels: [u32; 2], [x, y]: Point, z: f64) -> Result<(), Fault> {
        if !labels.iter().all(|label| (self.is_body)(*label)) {
            return Ok(());
        }
        let reaches = |prism: &Prism| {
            let holds = |k: usize, x: f64| {
                let mut points = prism.rings.iter().flatten().map(|point| point[k]);
                points.clone().any(|at| at <= x) && points.any(|at| at >= x)
            };
            prism.heights[0] <= z && prism.heights[1] >= z && holds(0, x) && holds(1, y)
        };
        let of = |label: u32| {
            let is_there = |prism: &Prism| prism.label == label && reaches(prism);
            self.prisms.iter().position(is_there).unwrap_or(0)
        };
        Err(Fault::Meeting { prisms: labels.map(of), at: [x, y, z] })
    }

    /// Adds a triangle between the labels in front and behind.
    fn add(&mut self, corners: [[f64; 3]; 3], [front, back]: [u32; 2]) {
        let mut triangle = corners.map(|corner| {
            let corner = corner.map(|x| x + 0.0);
            let next = self.mesh.vertices.len() as u32;
            let vertex = *self.vertex_at.entry(corner.map(f64::to_bits)).or_insert(next);
            if vertex == next {
                self.mesh.vertices.push(corner);
            }
            vertex
        });
        let is_turned = (self.is_body)(front);
        if is_turned {
            triangle.swap(1, 2);
        }
        self.mesh.triangles.push(triangle);
        self.mesh.membership.push(0);
        self.sides.push(if is_turned { [back, front] } else { [front, back] });
    }

    fn finish(mut self) -> Result<Surface, Fault> {
        let walls = std::mem::take(&mut self.walls);
        // Heights at which something has a corner, over each point of the plane.
        let mut columns: HashMap<[u64; 2], Vec<f64>> = HashMap::new();
        for &[x, y, z] in &self.mesh.vertices {
            columns.entry(bits([x, y])).or_default().push(z);
        }
        for wall in &walls {
            for end in wall.on.ends() {
                columns.entry(bits(end)).or_default().extend(wall.heights);
            }
        }
        for heights in columns.values_mut() {
            heights.sort_by(f64::total_cmp);
            heights.dedup();
        }
        for wall in &walls {
            self.raise(wall, &columns)?;
        }
        let Self { mut mesh, mut sides, .. } = self;
        let tolerance = weld::tolerance(&mesh.vertices, WELD);
        let first = weld::first_at(&mesh.vertices, tolerance);
        mesh.triangles.iter_mut().flatten().for_each(|v| *v = first[*v as usize]);
        let is_high = |t: usize| relative_height(mesh.corners(t)) > WELD;
        let kept: Vec<usize> = (0..mesh.triangles.len()).filter(|&t| is_high(t)).collect();
        mesh.triangles = kept.iter().map(|&t| mesh.triangles[t]).collect();
        mesh.membership.truncate(kept.len());
        sides = kept.iter().map(|&t| sides[t]).collect();
        sides = conform::conform(&mut mesh, tolerance).iter().map(|&t| sides[t as usize]).collect();
        mesh.drop_unused();
        Ok(Surface { mesh, sides })
    }

    /// Cuts a wall into triangles that meet what is next to it.
    fn raise(&mut self, wall: &Wall, columns: &HashMap<[u64; 2], Vec<f64>>) -> Result<(), Fault> {
        let ([a, b], [low, high]) = (wall.on.ends(), wall.heights);
        let far = |x: Point| (x[0] - a[0]).hypot(x[1] - a[1]);
        // Along the wall and upward, and in space.
        let mut corners = Vec::new();
        for (rim, z) in wall.rims.iter().zip(wall.heights) {
            corners.extend(rim.iter().map(|&x| ([far(x), z], x)));
        }
        for (end, along) in [(a, 0.0), (b, far(b))] {
            let heights = columns.get(&bits(end)).into_iter().flatten();
            let inside = heights.filter(|z| (low..=high).contains(*z));
            corners.extend(inside.map(|&z| ([along, z], end)));
        }
        let mut plan = DelaunayTriangulation::<Point2<f64>>::new();
        let mut places = Vec::with_capacity(corners.len());
        for ([s, z], [x, y]) in corners {
            let vertex = plan.insert(Point2::new(s, z));
            let vertex = vertex.map_err(|_| Fault::Crossings { at: [x, y] })?;
            if vertex.index() == places.len() {
                places.push([x, y, z]);
            }
        }
        // They face the right side of the segment.
        let [left, right] = wall.on.sides;
        for face in plan.inner_faces() {
            self.add(face.vertices().map(|v| places[v.fix().index()]), [right, left]);
        }
        Ok(())
    }
}

fn bits(at: Point) -> [u64; 2] {
    at.map(|x| (x + 0.0).to_bits())
}
