//! The sides of surfaces that films are on, and the fields there.

use std::collections::HashMap;
use std::f64::consts::PI;

use mesh::Mesh;
use mesh::curved::{self, Barycentric};
use mesh::mirror::Plane;
use mesh::vector::{Vector, add, dot, norm, scale, sub};
use parallel::prelude::*;

use super::across::Across;
use super::faces::{Faces, Facing};
use super::gap::{Gap, Through};
use super::rims::Rims;
use super::side::{Flux, Side, normal};
use super::squares::{self, AtEdge, Edge, Square, Surface};
use crate::problem::Problem;
use crate::problem::media::Chosen;
use crate::problem::planes::Charged;
use crate::problem::request_fault::FilmFault;
use crate::scene::requests::{Film, Place};

/// The mean field of both sides is that at points so far off a triangle, relative to its size, on
/// either side.
const ASIDE: f64 = 1e-3;

/// Relative error of what images far away make.
const ROUGHLY: f64 = 1e-5;

/// Squares are integrated from so near to edges on, as a share of the cutoff.
const NEARER: f64 = 1e-6;

/// What lies across from a long edge is not everywhere what it is from its middle, and not all
/// corners are right angles: this share of their effect counts as uncertain.
const OF_ACROSS: f64 = 0.1;

/// Exponents of edges without thickness are no more than this.
const OF_SHEETS: f64 = 0.5 + 1e-6;

/// The sides that a film is on.
#[derive(Debug)]
pub(super) struct Part {
    sides: Vec<Side>,
    squares: Vec<Square>,
    /// For a film in an interface of layers: the sides are those of all metal that face the
    /// half-space.
    pub(super) gap: Option<Gap>,
    /// Then what is within the cutoff from edges.
    at_edges: Vec<AtEdge>,
    /// And the integrals from [`NEARER`] of the cutoff on, where a field of others goes through the
    /// triangles.
    to_edges: Vec<Square>,
    mean_is_zero: bool,
}

/// Parts of fluxes.
pub(super) struct Fields<'a> {
    /// The answer that they are of.
    pub(super) unit: &'a bem::Response,
    /// All charge that acts at each triangle's place.
    charge: Vec<f64>,
    /// The mean field of both sides, where it is needed: along the normal, and along the surface.
    mean: HashMap<u32, (f64, Vector)>,
    /// For each part the integrals of [`Gap::integral`].
    pub(super) gaps: Vec<[Through; 2]>,
}

impl<'a> Fields<'a> {
    /// Those that these parts need; integrals next to metal may be those of about the same charge,
    /// if there are some.
    pub(super) fn find(
        problem: &Problem,
        unit: &'a bem::Response,
        parts: &[Part],
        gaps: Option<&[[Through; 2]]>,
    ) -> Result<Self, bem::Error> {
        let images = &problem.symmetry.images;
        let on_itself = |(t, q): (usize, &f64)| q * images.factor_of(0, t, 0);
        let charge = unit.charge.iter().enumerate().map(on_itself).collect();
        let parts_with = parts.iter().filter(|part| !part.mean_is_zero);
        let sides = parts_with.flat_map(|part| &part.sides);
        let needing = sides.filter(|side| !matches!(side.flux, Flux::Charges(_)));
        let mut triangles: Vec<u32> = needing.map(|side| side.triangle).collect();
        triangles.sort_unstable();
        triangles.dedup();
        let roughly = |mesh: &Mesh, charges: bem::Charges<'_>, points: &[Vector]| {
            let surface = bem::SurfaceCharge::new(mesh, charges).roughly();
            surface.evaluate(&bem::Excitation::default(), points, true)
        };
        let field = |points: &[Vector]| {
            let charged = Charged { mesh: &problem.mesh, charges: unit.into(), images };
            Ok::<_, bem::Error>(problem.symmetry.values(charged, points, ROUGHLY, roughly)?.field)
        };
        let corners = |t: u32| problem.mesh.corners(t as usize);
        let is_metal = |t: u32| problem.conductors.of_triangle[t as usize].is_some();
        let first = normal(corners(triangles.first().copied().unwrap_or(0)));
        let is_level = |t: &u32| dot(normal(corners(*t)), first).abs() > 1.0 - 1e-9;
        let is_flat = triangles.iter().all(|t| is_metal(*t) && is_level(t));
        // Points on the surface, with the normal there.
        let places = |&t: &u32| -> Vec<(Vector, Vector)> {
            // Next to flat metal the mean of both sides is even, next to facets it is not.
            let points = if is_flat { &[[1.0 / 3.0; 3]][..] } else { &squares::POINTS };
            points.iter().map(|&at| place(&problem.mesh, t as usize, at)).collect()
        };
        let places: Vec<Vec<(Vector, Vector)>> = triangles.iter().map(places).collect();
        let of_triangle = |(&t, places): (&u32, &Vec<(Vector, Vector)>)| -> Vec<Vector> {
            let aside = ASIDE * problem.areas[t as usize].sqrt();
            let both = |&(x, normal)| [1.0, -1.0].map(|sign| add(x, scale(sign * aside, normal)));
            places.iter().flat_map(both).collect()
        };
        let both_sides: Vec<Vec<Vector>> = triangles.iter().zip(&places).map(of_triangle).collect();
        let both_sides = both_sides.concat();
        let found = if both_sides.is_empty() { Vec::new() } else { field(&both_sides)? };
        let mut found = found.chunks_exact(2).map(|both| scale(0.5, add(both[0], both[1])));
        let mut mean = HashMap::new();
        for (t, places) in triangles.into_iter().zip(&places) {
            let share = 1.0 / places.len() as f64;
            let mut sum = (0.0, [0.0; 3]);
            for (&(_, normal), field) in places.iter().zip(&mut found) {
                let through = dot(normal, field);
                sum.0 += share * through;
                sum.1 = add(sum.1, scale(share, sub(field, scale(through, normal))));
            }
            mean.insert(t, sum);
        }
        let own = problem.description.relative_permittivity;
        // No density of the same charge has a smaller square than an even one.
        let of_metal = || {
            let (charge, area) = (0..unit.charge.len())
                .filter(|&t| is_metal(t as u32))
                .fold((0.0, 0.0), |(q, a), t| (q + unit.charge[t].abs(), a + problem.areas[t]));
            (2.0 * PI * own * charge).powi(2) / area
        };
        let integral = |part: &Part| match &part.gap {
            Some(gap) => gap.integral(problem, own, of_metal(), field),
            None => Ok([Through::default(); 2]),
        };
        let gaps = match gaps {
            Some(known) => known.to_vec(),
            None => parts.iter().map(integral).collect::<Result<_, bem::Error>>()?,
        };
        Ok(Self { unit, charge, mean, gaps })
    }
}

impl Part {
    /// The displacement through each triangle that points away from the surface: by charges, which
    /// grow toward edges, and the density of what is even there.
    pub(super) fn fluxes(&self, fields: &Fields<'_>) -> [Vec<f64>; 2] {
        let of = |side: &Side| {
            let t = side.triangle as usize;
            // Densities are 4 pi times charges.
            let [free, own, all] =
                [fields.unit.free_charge[t], fields.unit.charge[t], fields.charge[t]]
                    .map(|charge| 4.0 * PI * charge);
            let (mean, _) = fields.mean.get(&side.triangle).copied().unwrap_or_default();
            let sign = if side.is_front { 1.0 } else { -1.0 };
            match side.flux {
                Flux::Charges([of_free, of_all]) => [of_free * free + of_all * own, 0.0],
                Flux::Mean(eps) => [0.5 * eps * all, eps * sign * mean],
                Flux::Beyond(eps) => [free - 0.5 * eps * all, eps * sign * mean],
                Flux::Jump(factor) => [factor * own, 0.0],
                Flux::Through(factor) => [0.0, factor * mean],
            }
        };
        let both: Vec<[f64; 2]> = self.sides.iter().map(of).collect();
        [0, 1].map(|k| both.iter().map(|flux| flux[k]).collect())
    }

    /// The integrals of the field along the surface over each triangle, by its values at some
    /// points; nothing on metal.
    pub(super) fn along(&self, problem: &Problem, fields: &Fields<'_>) -> [Vec<f64>; 3] {
        let of = |(side, square): (&Side, &Square)| {
            let t = side.triangle as usize;
            if problem.conductors.of_triangle[t].is_some() {
                return [0.0; 3];
            }
            let (_, along) = fields.mean.get(&side.triangle).copied().unwrap_or_default();
            scale(problem.areas[t] * square.over_points(), along)
        };
        let all: Vec<Vector> = self.sides.iter().zip(&self.squares).map(of).collect();
        [0, 1, 2].map(|k| all.iter().map(|field| field[k]).collect())
    }

    /// The integral of the square of these densities.
    pub(super) fn square(&self, [charges, even]: [&[f64]; 2]) -> Integral {
        sum(&self.squares, [charges, even])
    }

    /// Integral of the square within the cutoff on metal minus that off it, in an interface of
    /// layers.
    pub(super) fn more_on_metal(&self, [charges, even]: [&[f64]; 2]) -> Integral {
        let none = vec![0.0; charges.len()];
        let of = |of: &AtEdge| {
            let (singular, more) = (of.of(charges), of.more);
            let cut = more.apart.abs() + OF_ACROSS * more.found.abs();
            [singular * more.found, singular * cut]
        };
        let each: Vec<[f64; 2]> = self.at_edges.par_iter().map(of).collect();
        let add = |sum: [f64; 2], of: &[f64; 2]| [sum[0] + of[0], sum[1] + of[1]];
        let [found, cut] = each.iter().fold([0.0; 2], add);
        // The even field adds to it on metal, also by its product with the other; off the metal
        // that product is no part of the tension.
        let added = |squares: &[Square]| {
            sum(squares, [charges, even]).found - sum(squares, [charges, &none]).found
        };
        let of_even = match self.to_edges.is_empty() {
            true => 0.0,
            false => added(&self.to_edges) - added(&self.squares),
        };
        // Where what is even changes within the cutoff, there is as much more of it, or less.
        Integral { found: found + of_even, each: Vec::new(), cut: cut + of_even.abs() }
    }

    /// The triangle of each side.
    pub(super) fn triangles(&self) -> impl Iterator<Item = usize> {
        self.sides.iter().map(|side| side.triangle as usize)
    }

    /// Whether there is a field along any of the surfaces.
    pub(super) fn has_along(&self) -> bool {
        self.sides.iter().any(|side| matches!(side.flux, Flux::Jump(_) | Flux::Through(_)))
    }
}

/// An integral over the sides that a film is on.
#[derive(Clone, Debug, Default)]
pub(super) struct Integral {
    pub(super) found: f64,
    /// The part of each side that its own charge makes.
    pub(super) each: Vec<f64>,
    /// Uncertainty of the part within a cutoff.
    pub(super) cut: f64,
}

impl Integral {
    /// `self + factor * other`.
    pub(super) fn and(mut self, factor: f64, other: &Self) -> Self {
        self.each.resize(self.each.len().max(other.each.len()), 0.0);
        self.each.iter_mut().zip(&other.each).for_each(|(sum, of)| *sum += factor * of);
        let (found, cut) = (self.found + factor * other.found, self.cut + factor * other.cut);
        Self { found, each: self.each, cut }
    }
}

fn sum(squares: &[Square], [charges, even]: [&[f64]; 2]) -> Integral {
    let each: Vec<f64> = squares.par_iter().map(|square| square.of(charges, even)).collect();
    // In their order: the same sums on any number of threads.
    Integral { found: each.iter().sum(), each, cut: 0.0 }
}

/// A point of a triangle, and the normal there.
fn place(mesh: &Mesh, t: usize, at: Barycentric) -> (Vector, Vector) {
    let normal = match &mesh.patches {
        Some(patches) => {
            let normal = curved::area_normal(patches.order, patches.of(t), at);
            scale(1.0 / norm(normal), normal)
        }
        None => normal(mesh.corners(t)),
    };
    (mesh.point(t, at), normal)
}

/// The sides that a film is on, and their edges.
pub(super) struct Selected {
    sides: Vec<Side>,
    edges: Vec<[Option<Edge>; 3]>,
    /// Height of an interface, and the permittivity of the half-space next to it.
    interface: Option<[f64; 2]>,
    /// All edges of metal without thickness, and corners in an interface.
    rims: Vec<[Vector; 2]>,
    corners: Vec<Vector>,
}

/// The sides that a film is on.
pub(super) fn find(problem: &Problem, film: &Film) -> Result<Selected, FilmFault> {
    let (names, toward) = match &film.place {
        Place::On { names, toward } => (names, toward),
        Place::Interface(interface) => return in_interface(problem, film, *interface),
    };
    if names.is_empty() {
        return Err(FilmFault::Nothing);
    }
    let known = &problem.conductors.names;
    let dielectrics = &problem.description.dielectrics;
    for name in names {
        if !known.contains(name) && !dielectrics.iter().any(|body| body.name == *name) {
            let others = dielectrics.iter().map(|body| body.name.clone());
            let available = known.iter().cloned().chain(others).collect();
            return Err(FilmFault::Unknown { name: name.clone(), available });
        }
    }
    let faces = Faces::new(problem);
    let wanted = faces.wanted(toward.as_ref())?;
    let bodies = dielectrics.iter().filter(|body| names.contains(&body.name));
    let of_bodies = Chosen::by_lists(&problem.mesh, bodies.map(|body| &body.groups[..]));
    let is_of = |t: usize| match problem.conductors.of_triangle[t] {
        Some(owner) => names.contains(&known[owner as usize]),
        None => of_bodies.has(t),
    };
    let mut sides = Vec::new();
    for t in (0..problem.mesh.triangles.len()).filter(|&t| is_of(t)) {
        sides.extend(faces.sides(t, &wanted));
    }
    if sides.is_empty() {
        return Err(FilmFault::Nowhere);
    }
    selected(problem, film, &faces, sides, None)
}

/// The sides of all metal that face a half-space on one side of an interface.
fn in_interface(problem: &Problem, film: &Film, interface: usize) -> Result<Selected, FilmFault> {
    let stack = problem.description.stack.as_ref().ok_or(FilmFault::NoStack)?;
    let unknown = FilmFault::NoInterface { interface };
    let interfaces = stack.interfaces();
    let Some(&height) = interfaces.get(interface) else { return Err(unknown) };
    let is_last = interface + 1 == interfaces.len();
    let half_spaces = [(is_last, interface + 1), (interface == 0, 0)];
    let half_space = half_spaces
        .into_iter()
        .filter(|(is_there, _)| *is_there)
        .find_map(|(_, layer)| Some((layer, stack.permittivity(layer)?)));
    let owner = &problem.conductors.of_triangle;
    let metal: Vec<usize> = (0..owner.len()).filter(|&t| owner[t].is_some()).collect();
    let lies_there = |&t: &usize| problem.mesh.corners(t).iter().all(|x| x[stack.axis] == height);
    let Some((layer, permittivity)) = half_space else { return Err(unknown) };
    if problem.media.is_some() || metal.is_empty() || !metal.iter().all(lies_there) {
        return Err(unknown);
    }
    let faces = Faces::new(problem);
    let wanted = Facing::Layer(layer);
    let sides = metal.into_iter().flat_map(|t| faces.sides(t, &wanted)).collect();
    selected(problem, film, &faces, sides, Some([height, permittivity]))
}

fn selected(
    problem: &Problem,
    film: &Film,
    faces: &Faces<'_>,
    sides: Vec<Side>,
    interface: Option<[f64; 2]>,
) -> Result<Selected, FilmFault> {
    let edges: Vec<[Option<Edge>; 3]> = sides.iter().map(|side| faces.edges(side)).collect();
    if let Some(cutoff) = film.cutoff
        && edges.iter().flatten().any(Option::is_some)
        && sides.iter().all(|side| is_within(problem, side, cutoff, &edges))
    {
        return Err(FilmFault::Within(cutoff));
    }
    let is_sheet =
        |edges: &[Option<Edge>; 3]| edges.iter().flatten().any(|edge| edge.exponent <= OF_SHEETS);
    if film.cutoff.is_none()
        && let Some(k) = edges.iter().position(is_sheet)
    {
        let owner = problem.conductors.of_triangle[sides[k].triangle as usize];
        let listed = || match &film.place {
            Place::On { names, .. } => names.join(", "),
            Place::Interface(_) => String::new(),
        };
        let name = owner.map(|k| problem.conductors.names[k as usize].clone());
        return Err(FilmFault::Sheet(name.unwrap_or_else(listed)));
    }
    let rims = faces.rims();
    let corners = if interface.is_some() { faces.corners() } else { Vec::new() };
    Ok(Selected { sides, edges, interface, rims, corners })
}

/// The distance from this height to the nearest ground of the layers.
fn to_ground(problem: &Problem, height: f64) -> f64 {
    let Some(stack) = &problem.description.stack else { return f64::INFINITY };
    let interfaces = stack.interfaces();
    let ends = [(stack.below, interfaces.first()), (stack.above, interfaces.last())];
    let of_grounds = ends.into_iter().filter(|(end, _)| *end == bem::Beyond::Ground);
    let distances = of_grounds.filter_map(|(_, at)| Some((height - at?).abs()));
    distances.fold(f64::INFINITY, f64::min)
}

/// Whether a triangle is nearer to edges than that as a whole.
fn is_within(problem: &Problem, side: &Side, cutoff: f64, edges: &[[Option<Edge>; 3]]) -> bool {
    let near =
        |x: &Vector| edges.iter().flatten().flatten().any(|edge| edge.distance(*x) <= cutoff);
    let corners = problem.mesh.corners(side.triangle as usize);
    corners.iter().all(near) && near(&squares::centroid(corners))
}

impl Part {
    /// The integrals over these sides.
    pub(super) fn new(problem: &Problem, film: &Film, selected: Selected) -> Self {
        let Selected { sides, mut edges, interface, rims, corners } = selected;
        let rims = Rims::new(rims);
        let ground = interface.map_or(0.0, |[height, _]| to_ground(problem, height).recip());
        edges.par_iter_mut().zip(&sides).for_each(|(edges, side)| {
            let t = side.triangle as usize;
            let is_metal = problem.conductors.of_triangle[t].is_some();
            let sheets = edges.iter_mut().flatten().filter(|edge| edge.exponent <= OF_SHEETS);
            for edge in sheets.filter(|_| is_metal) {
                let inside = squares::centroid(problem.mesh.corners(t));
                edge.across = Across::from(edge.ends, inside, &rims);
                edge.across.ground = ground;
                edge.across.corner = Across::to_corner(edge.ends, &corners);
            }
        });
        let triangles: Vec<(u32, bool)> =
            sides.iter().map(|side| (side.triangle, side.is_front)).collect();
        let surface = Surface::new(&problem.mesh, &problem.areas, &triangles, &edges);
        let from = film.cutoff.unwrap_or(0.0);
        let axis = problem.description.stack.as_ref().map_or(2, |stack| stack.axis);
        let gap =
            interface.map(|[height, eps]| Gap::new(problem, Plane { axis, at: height }, eps, from));
        let (mut at_edges, mut to_edges) = (Vec::new(), Vec::new());
        let all: Vec<usize> = (0..sides.len()).collect();
        let mean_is_zero = is_even(problem);
        if gap.is_some() {
            at_edges = surface.within(from);
            if !mean_is_zero {
                to_edges = surface.beyond(NEARER * from, &all);
            }
        }
        let squares = surface.beyond(from, &all);
        Self { sides, squares, gap, at_edges, to_edges, mean_is_zero }
    }
}

/// Whether all metal lies in the interface of two half-spaces, so that no field of the other
/// charges goes through it.
fn is_even(problem: &Problem) -> bool {
    let stack = problem.description.stack.as_ref();
    let has_two = stack.is_some_and(|stack| stack.layers.is_empty());
    let is_flat = problem.in_layers.as_ref().is_some_and(|place| place.low == place.high);
    has_two && is_flat && problem.media.is_none()
}
