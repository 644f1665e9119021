//! The two sides of surfaces, and the surroundings of their edges.

use std::collections::HashMap;
use std::f64::consts::{PI, TAU};

use mesh::creases::{self, Creases};
use mesh::regions::{self, Places, Position};
use mesh::vector::{Vector, cross, dot, norm, scale, sub};

use super::across::Across;
use super::side::{Flux, Side, normal};
use super::squares::{self, Edge};
use super::wedge::{self, Face};
use crate::problem::media::SURROUNDINGS;
use crate::problem::request_fault::FilmFault;
use crate::problem::{Problem, edges, layers};
use crate::scene::requests::Toward;

/// Surfaces that meet at more than this many degrees have an edge; facets of coarse spheres meet at
/// less.
const EDGE: f64 = 40.0;

/// Where permittivities on both sides differ by less than this share of their sum, charge tells
/// little of the field through an interface.
const ALIKE: f64 = 0.05;

/// The sides of a problem's surfaces.
pub(super) struct Faces<'a> {
    problem: &'a Problem,
    /// The side of solid metal that is outside, for each triangle of some.
    outside: Vec<Option<usize>>,
    /// The dielectric on both sides.
    media: Vec<[Option<u32>; 2]>,
    /// The layer on both sides; none in dielectrics.
    layers: Vec<[Option<usize>; 2]>,
    /// Creases of the mesh with its mirror images.
    creases: Creases,
    /// The triangles at each of those edges.
    at_edge: HashMap<(u32, u32), Vec<u32>>,
}

/// The medium that a film faces.
pub(super) enum Facing {
    Anything,
    Medium(Option<u32>),
    Layer(usize),
}

impl<'a> Faces<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let whole = problem.symmetry.whole(&problem.mesh);
        let count = problem.mesh.triangles.len();
        let surfaces = edges::surfaces(problem);
        let creases = creases::find(whole, |t| surfaces[t % count], EDGE);
        let mut at_edge: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for (t, &[a, b, c]) in whole.triangles.iter().enumerate() {
            if surfaces[t % count].is_some() {
                for (p, q) in [(a, b), (b, c), (c, a)] {
                    if creases.is_sharp(p, q) {
                        at_edge.entry((p.min(q), p.max(q))).or_default().push(t as u32);
                    }
                }
            }
        }
        let media: Vec<[Option<u32>; 2]> = match &problem.media {
            Some(media) => regions::on_both_sides(whole, &media.regions)[..count].to_vec(),
            None => vec![[None; 2]; count],
        };
        let layers = layers(problem, &media);
        Self { problem, outside: outside(problem), media, layers, creases, at_edge }
    }

    pub(super) fn wanted(&self, toward: Option<&Toward>) -> Result<Facing, FilmFault> {
        let description = &self.problem.description;
        match toward {
            None => Ok(Facing::Anything),
            Some(Toward::Layer(layer)) => {
                let stack = description.stack.as_ref().ok_or(FilmFault::NoStack)?;
                let last = stack.layers.len() + 1;
                match *layer <= last {
                    true => Ok(Facing::Layer(*layer)),
                    false => Err(FilmFault::NoLayer { layer: *layer, last }),
                }
            }
            Some(Toward::Medium(_)) if !description.surfaces.is_empty() => {
                Err(FilmFault::BySurfaces)
            }
            Some(Toward::Medium(name)) => {
                let all = &description.dielectrics;
                let index = all.iter().position(|body| body.name == *name);
                if index.is_none() && name != SURROUNDINGS {
                    let available = all.iter().map(|body| body.name.clone());
                    let available = available.chain([SURROUNDINGS.to_owned()]).collect();
                    return Err(FilmFault::NoMedium { name: name.clone(), available });
                }
                Ok(Facing::Medium(index.map(|k| k as u32)))
            }
        }
    }

    fn permittivity(&self, t: usize) -> [f64; 2] {
        let own = self.problem.description.relative_permittivity;
        self.problem.media.as_ref().map_or([own; 2], |media| media.permittivity[t])
    }

    /// The sides of a triangle that a film is on.
    pub(super) fn sides(&self, t: usize, wanted: &Facing) -> Vec<Side> {
        let faces = |side: usize| match wanted {
            Facing::Anything => true,
            Facing::Medium(medium) => self.media[t][side] == *medium,
            Facing::Layer(layer) => self.layers[t][side] == Some(*layer),
        };
        let side = |side: usize, flux: Flux| Side { triangle: t as u32, is_front: side == 0, flux };
        let [front, back] = self.permittivity(t);
        if self.problem.conductors.of_triangle[t].is_none() {
            // The displacement is the same on both sides.
            let is_wanted = front != back && (faces(0) || faces(1));
            let product = front * back;
            let flux = match (front - back).abs() < ALIKE * (front + back) {
                true => Flux::Through(2.0 * product / (front + back)),
                false => Flux::Jump(product / (back - front)),
            };
            return is_wanted.then(|| side(0, flux)).into_iter().collect();
        }
        if let Some(outer) = self.outside[t] {
            let flux = Flux::Charges([1.0, 0.0]);
            return faces(outer).then(|| side(outer, flux)).into_iter().collect();
        }
        let sides = [0, 1].into_iter().filter(|&k| faces(k));
        sides.map(|k| side(k, self.flux(t, k))).collect()
    }

    /// Where the displacement on one side of a sheet comes from.
    fn flux(&self, t: usize, side: usize) -> Flux {
        let permittivity = self.permittivity(t);
        let (own, other) = (permittivity[side], permittivity[1 - side]);
        if own != other {
            // Of free = own E - other E', all = E - E'; both point to this side.
            return Flux::Charges([own, -own * other].map(|x| x / (own - other)));
        }
        let is_beyond = self
            .problem
            .in_layers
            .as_ref()
            .and_then(layers::Place::region)
            .is_some_and(|own| self.layers[t][side].is_some_and(|layer| layer != own));
        if is_beyond { Flux::Beyond(own) } else { Flux::Mean(own) }
    }

    /// The edges at a triangle's sides, and how fields on one side of it grow toward them.
    pub(super) fn edges(&self, side: &Side) -> [Option<Edge>; 3] {
        let t = side.triangle as usize;
        let [a, b, c] = self.problem.mesh.triangles[t];
        [(a, b), (b, c), (c, a)].map(|(p, q)| {
            if !self.creases.is_sharp(p, q) {
                return None;
            }
            let ends = [p, q].map(|v| self.problem.mesh.vertices[v as usize]);
            Some(Edge { ends, exponent: self.exponent(side, [p, q]), across: Across::default() })
        })
    }

    /// All edges of metal without thickness, those of images too.
    pub(super) fn rims(&self) -> Vec<[Vector; 2]> {
        let Problem { symmetry, mesh, conductors, .. } = self.problem;
        let vertices = &symmetry.whole(mesh).vertices;
        let count = mesh.triangles.len();
        let is_metal = |t: &&u32| conductors.of_triangle[**t as usize % count].is_some();
        let is_rim = |all: &[u32]| all.iter().filter(is_metal).count() == 1;
        let rims = self.at_edge.iter().filter(|(_, all)| is_rim(all));
        rims.map(|(&(p, q), _)| [p, q].map(|v| vertices[v as usize])).collect()
    }

    /// Corners of metal without thickness that stick out.
    pub(super) fn corners(&self) -> Vec<Vector> {
        let Problem { symmetry, mesh, conductors, .. } = self.problem;
        let whole = symmetry.whole(mesh);
        let count = mesh.triangles.len();
        // The angle that metal fills at each end of a rim.
        let mut angles: HashMap<u32, f64> = HashMap::new();
        for (&(p, q), all) in &self.at_edge {
            if all.len() == 1 {
                angles.extend([(p, 0.0), (q, 0.0)]);
            }
        }
        let is_metal = |t: &usize| conductors.of_triangle[t % count].is_some();
        for t in (0..whole.triangles.len()).filter(is_metal) {
            for (k, v) in whole.triangles[t].into_iter().enumerate() {
                if let Some(sum) = angles.get_mut(&v) {
                    let x = whole.corners(t);
                    let [a, b] = [1, 2].map(|next| sub(x[(k + next) % 3], x[k]));
                    *sum += norm(cross(a, b)).atan2(dot(a, b));
                }
            }
        }
        let sharp = |(v, angle): (u32, f64)| (angle < PI - EDGE.to_radians()).then_some(v);
        let mut found: Vec<u32> = angles.into_iter().filter_map(sharp).collect();
        found.sort_unstable();
        found.into_iter().map(|v| whole.vertices[v as usize]).collect()
    }

    fn exponent(&self, side: &Side, [p, q]: [u32; 2]) -> f64 {
        let problem = self.problem;
        let whole = problem.symmetry.whole(&problem.mesh);
        let count = problem.mesh.triangles.len();
        let is_metal = |t: usize| problem.conductors.of_triangle[t % count].is_some();
        let first = side.triangle as usize;
        let [from, to] = [p, q].map(|v| whole.vertices[v as usize]);
        let along = scale(1.0 / norm(sub(to, from)), sub(to, from));
        // From the edge into a triangle.
        let into = |t: usize| {
            let off = sub(squares::centroid(whole.corners(t)), from);
            let off = sub(off, scale(dot(off, along), along));
            scale(1.0 / norm(off), off)
        };
        let x = into(first);
        let up = cross(along, x);
        let own = normal(whole.corners(first));
        let sign = if (dot(own, up) > 0.0) == side.is_front { 1.0 } else { -1.0 };
        let y = scale(sign, up);
        let angle = |v: Vector| {
            let angle = dot(v, y).atan2(dot(v, x));
            if angle < -1e-9 { angle + TAU } else { angle.max(0.0) }
        };
        // The permittivity on the side of a triangle that a direction points to.
        let at = |t: usize, direction: Vector| {
            let is_front = dot(normal(whole.corners(t)), direction) > 0.0;
            self.permittivity(t % count)[usize::from(!is_front)]
        };
        let in_layers = |middle: f64| -> Option<f64> {
            let stack = problem.description.stack.as_ref()?;
            let axis = stack.axis;
            let near = |height: &f64| {
                (from[axis] - height).abs() + (to[axis] - height).abs()
                    <= 1e-9 * norm(sub(to, from))
            };
            let interface = stack.interfaces().iter().position(near)?;
            let height = middle.cos() * x[axis] + middle.sin() * y[axis];
            stack.permittivity(if height > 0.0 { interface + 1 } else { interface })
        };
        let mut faces: Vec<Face> = Vec::new();
        let others = self.at_edge.get(&(p.min(q), p.max(q))).into_iter().flatten();
        for t in others.map(|&t| t as usize).filter(|&t| t != first) {
            let direction = into(t);
            // Behind it, as seen from the first.
            let onward = scale(sign, cross(along, direction));
            let permittivity = at(t, onward);
            faces.push(Face { angle: angle(direction), is_metal: is_metal(t), permittivity });
        }
        let mut start = at(first, y);
        if let Some(stack) = &problem.description.stack {
            let vertical: Vector = std::array::from_fn(|k| f64::from(u8::from(k == stack.axis)));
            let level = cross(along, vertical);
            if in_layers(0.1).is_some() && norm(level) > 0.5 {
                for direction in [level, scale(-1.0, level)] {
                    let angle = angle(direction);
                    let permittivity = in_layers(angle + 1e-3).unwrap_or(1.0);
                    faces.push(Face { angle, is_metal: false, permittivity });
                }
                start = in_layers(1e-3).unwrap_or(start);
                for face in faces.iter_mut().filter(|face| face.is_metal) {
                    face.permittivity = in_layers(face.angle + 1e-3).unwrap_or(1.0);
                }
            }
        }
        faces.retain(|face| face.angle > 1e-6);
        if !is_metal(first) && !faces.iter().any(|face| face.is_metal) {
            return 1.0;
        }
        if !is_metal(first) {
            return self.between_metal(start, faces);
        }
        wedge::around(start, faces)
    }

    /// The exponent where the first face, at angle 0, is none of metal.
    fn between_metal(&self, start: f64, mut faces: Vec<Face>) -> f64 {
        faces.sort_by(|a, b| a.angle.total_cmp(&b.angle));
        // Counted from the last face of metal instead.
        let Some(last) = faces.iter().rposition(|face| face.is_metal) else { return 1.0 };
        let shift = TAU - faces[last].angle;
        let first = faces[last].permittivity;
        let here = Face { angle: shift, is_metal: false, permittivity: start };
        let turned = faces.iter().enumerate().filter(|(k, _)| *k != last).map(|(k, face)| {
            let angle = if k > last { face.angle - faces[last].angle } else { face.angle + shift };
            Face { angle, ..*face }
        });
        let all: Vec<Face> = turned.chain([here]).collect();
        wedge::around(first, all)
    }
}

/// The outer side of each triangle of solid metal, without anything inside.
fn outside(problem: &Problem) -> Vec<Option<usize>> {
    let whole = problem.symmetry.whole(&problem.mesh);
    let count = problem.mesh.triangles.len();
    let mut found = vec![None; count];
    let surfaces = edges::surfaces(problem);
    let is_metal = |t: usize| problem.conductors.of_triangle[t % count].is_some();
    let metal: Vec<u32> =
        (0..whole.triangles.len()).filter(|&t| is_metal(t)).map(|t| t as u32).collect();
    let places = Places::new(whole);
    for region in regions::parts(whole, &metal, &[]).into_iter().filter_map(|(_, part)| part) {
        let is_surface = |&(t, position): &(u32, Position)| {
            position == Position::Inside && surfaces[t as usize % count].is_some()
        };
        let has_surfaces = places.of(&region).iter().any(is_surface);
        let has_charges = problem.sources.iter().any(|source| region.contains(source.position));
        if has_surfaces || has_charges {
            continue;
        }
        for &(t, inward) in region.boundary.iter().filter(|(t, _)| (*t as usize) < count) {
            found[t as usize] = Some(usize::from(inward));
        }
    }
    found
}

/// The layer on both sides of each triangle.
fn layers(problem: &Problem, media: &[[Option<u32>; 2]]) -> Vec<[Option<usize>; 2]> {
    let region = problem.in_layers.as_ref().and_then(layers::Place::region);
    let (Some(stack), Some(region)) = (&problem.description.stack, region) else {
        return vec![[None; 2]; media.len()];
    };
    let [low, high] = stack.bounds(region);
    let of = |(t, media): (usize, &[Option<u32>; 2])| {
        let corners = problem.mesh.corners(t);
        let lies_at = |height: f64| corners.iter().all(|x| x[stack.axis] == height);
        let is_up = usize::from(normal(corners)[stack.axis] < 0.0);
        // Above and below.
        let [above, below] = match (lies_at(low), lies_at(high)) {
            (true, _) => [Some(region), region.checked_sub(1)],
            (_, true) => [Some(region + 1), Some(region)],
            _ => [Some(region); 2],
        };
        let mut both = [above, below];
        both.rotate_left(is_up);
        [0, 1].map(|side| if media[side].is_some() { None } else { both[side] })
    };
    media.iter().enumerate().map(of).collect()
}
