//! From atoms to a mesh: a quick attempt whose triangles are checked at the end, and if they are
//! not sound another one in which each change is.

use mesh::Mesh;
use mesh::intersect::intersections;
use mesh::vector::{add, cross, dot, norm, sub};
use parallel::prelude::*;

use crate::balls::{Ball, all_balls, balls};
use crate::connectivity::Connectivity;
use crate::curved::straighten;
use crate::error::Error;
use crate::field::Field;
use crate::gaussian::Gaussian;
use crate::lattice::{FirstMesh, first_mesh};
use crate::offset::Offset;
use crate::options::{Atom, Kind, Options, Resolution};
use crate::parts::{Filled, Part, group, parts};
use crate::remesh::distinct;
use crate::shape::{Shape, Tag};
use crate::triangle::{area_normal, quality};
use crate::union::{Union, union};

/// Lattice constants relative to the details of the surface, at most, and to the triangles' sides.
const DETAIL: f64 = 0.35;
const AREA_DETAIL: f64 = 0.5;
const COARSEST: f64 = 1.5;

/// Attempts. In all but the first one changes are checked, so that the second one is the last
/// where its lattice shows anything; later lattices are finer by this factor, and moved.
const ATTEMPTS: usize = 6;
const FINER_LATTICE: f64 = 0.8;
const MOVED: f64 = 0.37;

/// Rounds of repairs on one lattice, which go on while they leave at most this share of the bad
/// triangles.
const REPAIRS: usize = 5;
const PROGRESS: f64 = 0.7;

/// Share of bad triangles that repairs are not tried with.
const HOPELESS: f64 = 0.02;

/// Wanted lengths at bad places are made smaller by this.
const FINER: f64 = 0.65;

/// Angles in degrees: what every triangle must have, and what is tried to reach.
const LEAST_ANGLE: f64 = 15.0;
const GOOD_ANGLE: f64 = 25.0;

/// Angles that first meshes have after their vertices were moved, and that no change may make
/// smaller then.
const RELAXED_ANGLE: f64 = 18.0;
const KEPT_ANGLE: f64 = 15.5;

/// Parts of a first mesh with less volume than this, in cubes of the lattice constant, are left
/// out: the lattice does not show their shape.
const UNRESOLVED: f64 = 1.0;

/// Triangles over area and density on smooth surfaces: strongly curved places have smaller ones.
const CROWDED: f64 = 1.06;

/// Numbers of triangles may differ from the request by this share, from `MANY` triangles on by
/// the other one, which saves a second mesh.
const NUMBER: f64 = 0.03;
const MANY: f64 = 1e5;
const NUMBER_OF_MANY: f64 = 0.1;

/// Meshes that are made to reach the number.
const TRIES: usize = 4;

/// A surface with its measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Closed triangles with outward normals, which at cavities point into them. Each part is a
    /// physical group. Vertices are on the surface, but for [`Info::off_surface`].
    pub mesh: Mesh,
    /// Outward unit normals of the surface at the vertices, shape (vertices, 3); on creases that of
    /// one of the sides.
    pub normals: Vec<[f64; 3]>,
    /// Properties of the surface.
    pub info: Info,
}

/// Properties of a surface made of atoms.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Parts, bodies first, the largest first, in the order of the mesh's groups.
    pub parts: Vec<Part>,
    /// Cavities that were filled as the options say.
    pub filled: Filled,
    /// Bodies and cavities that are too small for the lattice and were left out.
    pub unresolved: usize,
    /// Of van der Waals and solvent accessible surfaces: area and volume of the union of balls
    /// that they bound, with all that is too small for triangles.
    pub union: Option<Union>,
    /// Vertices that stayed where they were put: corners and ends of creases, tips, and those where
    /// necks or gaps are too narrow for the lattice, which the mesh closes.
    pub closed_places: usize,
    /// Vertices that are not on the surface, because triangles would cross or have small angles
    /// there. They are within the lattice constant of it.
    pub off_surface: usize,
    /// Lattice constant of the first mesh in angstrom.
    pub lattice: f64,
    /// Attempts: in the second and later ones each change was checked for crossings.
    pub attempts: usize,
}

impl Info {
    /// The smallest angle of any triangle in degrees.
    pub fn min_angle(&self) -> f64 {
        self.parts.iter().map(|part| part.min_angle).fold(60.0, f64::min)
    }
}

/// The surface of a molecule: closed, manifold, oriented triangles that do not cross, with angles
/// of at least 15 degrees and vertices on the surface.
///
/// Where the surface touches itself, or is a sheet thinner than its triangles, no such triangles
/// exist; a few vertices are next to it there ([`Info::off_surface`]).
///
/// The result does not depend on the number of threads.
///
/// # Errors
/// [`Error`], with the atom or option that it is about.
pub fn molecular(atoms: &[Atom], options: &Options) -> Result<Surface, Error> {
    options.check()?;
    let probe = options.probe;
    match options.kind {
        Kind::SolventExcluded => of_field(&Offset::new(balls(atoms, probe)?, probe), options),
        Kind::VanDerWaals => of_union(balls(atoms, 0.0)?, options),
        Kind::SolventAccessible => of_union(balls(atoms, probe)?, options),
        Kind::Gaussian => of_field(&Gaussian::new(all_balls(atoms, 0.0)?, options.decay), options),
    }
}

/// The surface of a union of balls, whose area and volume are known.
fn of_union(balls: Vec<Ball>, options: &Options) -> Result<Surface, Error> {
    let union = union(&balls);
    let mut surface = of_field(&Offset::new(balls, 0.0), options)?;
    surface.info.union = Some(union);
    Ok(surface)
}

/// Finds the side of triangles that gives the number asked for.
fn of_field<F: Field>(field: &F, options: &Options) -> Result<Surface, Error> {
    let side_of = |density: f64| (4.0 * CROWDED / (3f64.sqrt() * density)).sqrt();
    let elements = match options.resolution {
        Resolution::Density(density) => return of_side(field, side_of(density), options),
        Resolution::Elements(elements) => elements as f64,
    };
    // The area by a first mesh.
    let first = first_mesh(field, AREA_DETAIL * field.detail(), 0.0)?;
    let twice_area = |t: &[u32; 3]| norm(area_normal(t.map(|v| first.vertices[v as usize])));
    let area = 0.5 * first.triangles.iter().map(twice_area).sum::<f64>();
    drop(first);
    let mut side = side_of(elements / area);
    let mut best: Option<(f64, Surface)> = None;
    for _ in 0..TRIES {
        let surface = match of_side(field, side, options) {
            Ok(surface) => surface,
            Err(error) => return best.map(|(_, surface)| surface).ok_or(error),
        };
        let ratio = surface.mesh.triangles.len() as f64 / elements;
        let off = ratio.ln().abs();
        if best.as_ref().is_none_or(|(best, _)| off < *best) {
            best = Some((off, surface));
        }
        if off < if elements < MANY { NUMBER } else { NUMBER_OF_MANY } {
            break;
        }
        side *= ratio.sqrt();
    }
    best.map(|(_, surface)| surface).ok_or(Error::Unresolved { side })
}

/// Attempts on lattices for triangles of a given side.
fn of_side<F: Field>(field: &F, side: f64, options: &Options) -> Result<Surface, Error> {
    let coarsest = (DETAIL * field.detail()).min(COARSEST * side);
    let mut last = Error::Unresolved { side };
    for attempt in 0..ATTEMPTS {
        let k = attempt.saturating_sub(1) as f64;
        let lattice = coarsest * FINER_LATTICE.powf(k);
        let (mut shape, unresolved) = first_shape(field, lattice, MOVED * k, attempt > 0)?;
        if shape.mesh.triangles.is_empty() {
            continue;
        }
        if attempt > 0 {
            shape.watch(side);
            shape.keep_angles(KEPT_ANGLE.to_radians().sin());
            shape.settle();
        }
        shape.collapse_tiny();
        shape.cut_creases();
        shape.tidy();
        shape.set_sizes(side, options.least);
        shape.remesh();
        match repair(&mut shape, side) {
            Ok(()) => {
                let attempts = attempt + 1;
                shape.settle();
                return Ok(finish(&shape, options, unresolved, side, lattice, attempts));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Triangles on a lattice with their normals, and the number of parts left out.
fn first_shape<F: Field>(
    field: &F,
    lattice: f64,
    shift: f64,
    relaxed: bool,
) -> Result<(Shape<'_, F>, usize), Error> {
    let mut first = first_mesh(field, lattice, shift)?;
    if relaxed {
        first.relax(RELAXED_ANGLE.to_radians().sin());
    }
    let unresolved = drop_unresolved(&mut first, UNRESOLVED * lattice.powi(3));
    let mesh = Connectivity::new(first.vertices.len(), first.triangles)
        .ok_or(Error::Unresolved { side: lattice })?;
    let feet: Vec<_> = first
        .vertices
        .par_iter()
        .zip(&first.feet)
        .map(|(&x, &foot)| {
            let foot = if relaxed { field.foot(x) } else { foot };
            foot.map_or((x, [0.0; 3], Tag::Corner), |foot| {
                let place = if relaxed { x } else { foot.point };
                (place, foot.normal, Tag::Smooth(foot.feature))
            })
        })
        .collect();
    let shape = Shape {
        field,
        mesh,
        places: feet.iter().map(|f| f.0).collect(),
        normals: feet.iter().map(|f| f.1).collect(),
        tags: feet.iter().map(|f| f.2).collect(),
        sizes: vec![lattice; feet.len()],
        guard: None,
    };
    Ok((shape, unresolved))
}

/// Leaves out components of little volume, and counts them.
fn drop_unresolved(first: &mut FirstMesh, least: f64) -> usize {
    let vertices = std::mem::take(&mut first.vertices);
    let triangles = std::mem::take(&mut first.triangles);
    let mut mesh = Mesh { vertices, triangles, ..Mesh::default() };
    let (component_of, count) = mesh::topology::components(&mesh);
    let mut volumes = vec![0.0; count];
    let origin = mesh.vertices.first().copied().unwrap_or_default();
    for (t, &c) in component_of.iter().enumerate() {
        let [a, b, c3] = mesh.corners(t).map(|x| sub(x, origin));
        volumes[c as usize] += dot(a, cross(b, c3)) / 6.0;
    }
    let is_kept = |c: u32| volumes[c as usize].abs() >= least;
    let unresolved = (0..count as u32).filter(|&c| !is_kept(c)).count();
    if unresolved > 0 {
        let mut kept = component_of.iter().map(|&c| is_kept(c));
        mesh.triangles.retain(|_| kept.next().unwrap_or(true));
    }
    first.vertices = mesh.vertices;
    first.triangles = mesh.triangles;
    unresolved
}

/// Improves triangles until none crosses another one and none has too small an angle.
fn repair<F: Field>(shape: &mut Shape<'_, F>, side: f64) -> Result<(), Error> {
    let mut before = usize::MAX;
    for _ in 0..REPAIRS {
        shape.improve(GOOD_ANGLE.to_radians().sin());
        let (mesh, alive) = flat(shape);
        let crossings = intersections(&mesh);
        let least = LEAST_ANGLE.to_radians().sin();
        let is_thin = |t: &u32| quality(shape.corners(*t)) < least;
        let thin = alive.par_iter().copied().filter(is_thin).collect::<Vec<u32>>();
        let crossing = crossings.iter().flat_map(|pair| pair.triangles);
        let doubled = doubled(&mesh).into_iter().map(|t| alive[t as usize]);
        let bad: Vec<u32> =
            crossing.map(|t| alive[t as usize]).chain(thin).chain(doubled).collect();
        let Some(&first) = bad.first() else {
            return Ok(());
        };
        let hopeless = bad.len() as f64 > HOPELESS * alive.len() as f64;
        if hopeless || bad.len() as f64 > PROGRESS * before as f64 {
            let angle = shape.worst().asin().to_degrees();
            let place = shape.corners(first)[0];
            return Err(Error::Quality { side, crossings: crossings.len(), angle, place });
        }
        before = bad.len();
        let corners = bad.iter().flat_map(|&t| shape.mesh.triangles[t as usize]).collect();
        for v in distinct(corners) {
            shape.sizes[v as usize] *= FINER;
        }
        shape.grade();
        shape.rounds(2);
    }
    let angle = shape.worst().asin().to_degrees();
    Err(Error::Quality { side, crossings: before, angle, place: shape.places[0] })
}

/// Triangles with the same corners as another one.
fn doubled(mesh: &Mesh) -> Vec<u32> {
    let key = |t: u32| {
        let mut corners = mesh.corners(t as usize).map(|x| x.map(f64::to_bits));
        corners.sort_unstable();
        (corners, t)
    };
    let mut keys: Vec<_> = (0..mesh.triangles.len() as u32).into_par_iter().map(key).collect();
    keys.par_sort_unstable();
    let pairs = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.flat_map(|pair| [pair[0].1, pair[1].1]).collect()
}

/// The flat mesh, and the numbers of its triangles in the shape.
fn flat<F: Field>(shape: &Shape<'_, F>) -> (Mesh, Vec<u32>) {
    let (triangles, kept) = shape.mesh.compact();
    let vertices = kept.iter().map(|&v| shape.places[v as usize]).collect();
    let membership = vec![0; triangles.len()];
    let mesh =
        Mesh { vertices, triangles, membership, memberships: vec![vec![]], ..Mesh::default() };
    (mesh, shape.mesh.alive())
}

/// The mesh of a sound shape, with its measures.
fn finish<F: Field>(
    shape: &Shape<'_, F>,
    options: &Options,
    unresolved: usize,
    side: f64,
    lattice: f64,
    attempts: usize,
) -> Surface {
    let (mut mesh, alive) = flat(shape);
    let kept = shape.mesh.compact().1;
    let origin = mesh.vertices.first().copied().unwrap_or_default();
    let measures = shape.measures(&alive, side, origin);
    let (parts, part_of, filled) = parts(&mesh, &measures, options);
    if options.order == 2 {
        mesh.patches = Some(shape.patches(&alive));
        straighten(&mut mesh);
    }
    group(&mut mesh, &parts, &part_of);
    let mut used = vec![false; mesh.vertices.len()];
    mesh.triangles.as_flattened().iter().for_each(|&v| used[v as usize] = true);
    let of_used = kept.iter().zip(&used).filter(|(_, used)| **used);
    let normals = of_used.map(|(&v, _)| shape.normal(v)).collect();
    mesh.drop_unused();
    let closed_places = kept.iter().filter(|&&v| shape.tags[v as usize] == Tag::Corner).count();
    let is_off = |v: &&u32| {
        let (at, normal) = (shape.places[**v as usize], shape.normals[**v as usize]);
        (attempts > 1 || normal == [0.0; 3]) && !shape.field.is_on(at)
    };
    let off_surface = kept.par_iter().filter(is_off).count();
    let union = None;
    let info =
        Info { parts, filled, unresolved, union, closed_places, off_surface, lattice, attempts };
    Surface { mesh, normals, info }
}

impl<F: Field> Shape<'_, F> {
    /// The normal of a vertex; that of the triangles around it where the surface's is not known.
    fn normal(&self, v: u32) -> [f64; 3] {
        let normal = self.normals[v as usize];
        if dot(normal, normal) > 0.5 {
            return normal;
        }
        let around = self.mesh.around(v).map(|h| area_normal(self.corners(h / 3)));
        let sum = around.fold([0.0; 3], add);
        let length = norm(sum).max(f64::MIN_POSITIVE);
        sum.map(|x| x / length)
    }
}
