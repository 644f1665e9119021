//! A stand-in for a molecule, of any size: atoms that fill a lumpy globule, and their Gaussian
//! surface.

use super::{Error, Resolution, Sphere, SphereBase};
use crate::surface::Mesh;
use crate::vector::{Vector, add, dot, norm, scale, sub};

/// Most atoms of a molecule.
const MOST_ATOMS: usize = 1_000_000;

/// Distance between shells of atoms, in angstrom.
const SHELLS: f64 = 1.8;

/// Area of a shell that an atom has, in square angstrom: with [`SHELLS`], about the density of a
/// protein.
const AREA: f64 = 4.84;

/// Radii of the atoms in turn, in angstrom.
const RADII: [f64; 4] = [1.7, 1.9, 1.5, 1.8];

/// Charges of the atoms in turn, in elementary charges, of sum 0.
const CHARGES: [f64; 4] = [0.3, -0.5, 0.6, -0.4];

/// One in this number of atoms has a whole charge more, two of three positive.
const CHARGED: usize = 40;

/// How fast the Gaussians fall: a value that resembles solvent-excluded surfaces.
const DECAY: f64 = 2.3;

/// Gaussians end at this many radii, at exp(-30) of the level.
const END: f64 = 3.75;

/// Step inward, in angstrom, until the surface is passed; half the size of the smallest bump.
const STEP: f64 = 0.25;

/// Least cosine between the surface's normal and the direction from the centre: beyond, triangles
/// would be stretched too much.
const STEEPEST: f64 = 0.3;

/// An atom of a [`Molecule`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// In angstrom.
    pub position: Vector,
    /// In elementary charges.
    pub charge: f64,
    /// In angstrom.
    pub radius: f64,
}

/// A globule of atoms, the same on every machine, and its surface: where sum_i exp(2.3
/// (1 - |x - c_i|^2 / r_i^2)) = 1 (J. Blinn, ACM Trans. Graphics 1 (1982) 235); physical group
/// `molecule`. Lengths are in angstrom.
///
/// Atoms lie on shells, along a spiral on each, as dense as in a protein; the shells bulge and are
/// longer than wide. The surface is that of a sphere moved along the directions from the centre, so
/// meshes of all sizes have their vertices on the same surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Molecule {
    /// How many atoms.
    pub atoms: usize,
    /// How fine; an element size is that on the sphere that is moved.
    pub resolution: Resolution,
}

impl Molecule {
    /// The atoms with their charges and radii.
    ///
    /// # Errors
    /// [`Error::None`] and [`Error::TooMany`].
    pub fn atoms(&self) -> Result<Vec<Atom>, Error> {
        match self.atoms {
            0 => return Err(Error::None("atoms")),
            n if n > MOST_ATOMS => return Err(Error::TooMany),
            _ => {}
        }
        let n = self.atoms as f64;
        // Shells at SHELLS (k + 1/2) of 4 pi r^2 / AREA atoms, all of them full.
        let volume = 4.0 * std::f64::consts::PI * SHELLS * SHELLS / (3.0 * AREA);
        let shells = (n / volume).cbrt().round().max(1.0) as usize;
        let square = |k: usize| (k as f64 + 0.5).powi(2);
        let all: f64 = (0..shells).map(square).sum();
        let mut atoms = Vec::with_capacity(self.atoms);
        let mut up_to = 0.0;
        for k in 0..shells {
            up_to += square(k);
            let count = (n * up_to / all).round() as usize - atoms.len();
            for i in 0..count {
                let radius = SHELLS * (k as f64 + 0.5);
                let direction = on_spiral(i, count);
                let position = scale(radius * bulge(direction), direction);
                atoms.push(atom(atoms.len(), position));
            }
        }
        Ok(atoms)
    }

    /// Makes the mesh.
    ///
    /// # Errors
    /// As [`Molecule::atoms`], those of the resolution, and [`Error::Folded`].
    pub fn build(&self) -> Result<Mesh, Error> {
        let surface = self.surface()?;
        let atoms = &surface.atoms;
        let mean = atoms.iter().map(|atom| dot(atom.position, atom.position)).sum::<f64>();
        // The mean square distance in a ball is 3/5 of the square of its radius.
        let radius = (mean / (0.6 * atoms.len() as f64)).sqrt() + RADII[0];
        let base = SphereBase::Icosahedron;
        let mut mesh = Sphere { radius, base, resolution: self.resolution }.build()?;
        for vertex in &mut mesh.vertices {
            *vertex = surface.toward(*vertex)?;
        }
        mesh.groups.iter_mut().for_each(|group| group.name = Some("molecule".to_owned()));
        Ok(mesh)
    }
}

impl Molecule {
    /// The surface of its atoms.
    #[doc(hidden)]
    pub fn surface(&self) -> Result<Surface, Error> {
        let atoms = self.atoms()?;
        let reach = |atom: &Atom| norm(atom.position) + END * atom.radius;
        let farthest = atoms.iter().map(reach).fold(0.0, f64::max);
        Ok(Surface { atoms, farthest })
    }
}

/// The surface of a molecule.
pub struct Surface {
    /// The atoms.
    pub atoms: Vec<Atom>,
    /// All of it is nearer to the centre.
    pub farthest: f64,
}

impl Surface {
    /// Its point in the direction of another, from the centre.
    pub(super) fn toward(&self, point: Vector) -> Result<Vector, Error> {
        let direction = scale(1.0 / norm(point), point);
        Ray::new(&self.atoms, direction, self.farthest).surface()
    }
}

/// Atom `index` of the globule; coordinates have three decimals.
fn atom(index: usize, position: Vector) -> Atom {
    let whole = match (index % CHARGED, index / CHARGED % 3) {
        (0, 0 | 1) => 1.0,
        (0, _) => -1.0,
        _ => 0.0,
    };
    Atom {
        position: position.map(|x| (x * 1e3).round() / 1e3),
        charge: CHARGES[index % 4] + whole,
        radius: RADII[index % 4],
    }
}

/// Direction `i` of `count` along a spiral that covers the sphere evenly.
pub fn on_spiral(i: usize, count: usize) -> Vector {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let z = 1.0 - (2.0 * i as f64 + 1.0) / count as f64;
    let (across, angle) = ((1.0 - z * z).sqrt(), golden * i as f64);
    [across * angle.cos(), across * angle.sin(), z]
}

/// By how much a direction is stretched: longer along z, with lobes.
fn bulge([x, y, z]: Vector) -> f64 {
    1.0 + 0.15 * (1.5 * z * z - 0.5) + 0.25 * x * y * z + 0.06 * (x * x - y * y)
}

/// The Gaussians along a direction from the centre.
pub struct Ray {
    direction: Vector,
    /// Centres and radii of the atoms that reach it.
    balls: Vec<(Vector, f64)>,
    farthest: f64,
}

impl Ray {
    /// Of the atoms that reach it.
    pub fn new(atoms: &[Atom], direction: Vector, farthest: f64) -> Self {
        let reaches = |atom: &&Atom| {
            let along = dot(atom.position, direction);
            let square = dot(atom.position, atom.position) - along * along;
            along > -END * atom.radius && square < (END * atom.radius).powi(2)
        };
        let balls = atoms.iter().filter(reaches).map(|atom| (atom.position, atom.radius));
        Self { direction, balls: balls.collect(), farthest }
    }

    /// Logarithm of the sum over the level, and its gradient.
    pub fn level(&self, x: Vector) -> (f64, Vector) {
        let (mut sum, mut slope) = (0.0, [0.0; 3]);
        for (centre, radius) in &self.balls {
            let r = sub(x, *centre);
            let value = (DECAY * (1.0 - dot(r, r) / (radius * radius))).exp();
            sum += value;
            slope = add(slope, scale(-2.0 * DECAY * value / (radius * radius), r));
        }
        (sum.max(f64::MIN_POSITIVE).ln(), scale(1.0 / sum.max(f64::MIN_POSITIVE), slope))
    }

    /// The outermost point on the surface.
    fn surface(&self) -> Result<Vector, Error> {
        let at = |distance: f64| scale(distance, self.direction);
        let mut outside = self.farthest;
        let mut inside = outside;
        while self.level(at(inside)).0 < 0.0 {
            outside = inside;
            inside -= STEP;
            if inside <= 0.0 {
                return Err(Error::Folded);
            }
        }
        // Newton's method on the logarithm, which is nearly a parabola, kept within the bracket.
        let mut distance = 0.5 * (inside + outside);
        for _ in 0..60 {
            let (value, slope) = self.level(at(distance));
            if value > 0.0 {
                inside = distance
            } else {
                outside = distance
            }
            let next = distance - value / dot(slope, self.direction);
            let next =
                if next > inside && next < outside { next } else { 0.5 * (inside + outside) };
            let done = (next - distance).abs() <= 1e-13 * self.farthest;
            distance = next;
            if done {
                break;
            }
        }
        let (_, slope) = self.level(at(distance));
        if -dot(slope, self.direction) < STEEPEST * norm(slope) {
            return Err(Error::Folded);
        }
        Ok(at(distance))
    }
}
