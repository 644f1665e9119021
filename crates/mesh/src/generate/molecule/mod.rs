//! The surface of a molecule, from the positions and radii of its atoms.

mod field;
mod march;
mod remesh;

use super::{Builder, Error, Resolution, check_length};
use crate::surface::{MAX_COORDINATE, Mesh};
use crate::vector::{Vector, cross, norm, sub};
use field::Field;
use remesh::Remesher;

/// Nodes of the lattice that a surface is found on, at most: half a gibibyte of values.
const MOST_NODES: f64 = 6e7;

/// Spacing of the lattice relative to the sides asked for: coarse enough to leave little to collapse.
const SPACING: f64 = 0.95;

/// A surface is first found with so many lattice spacings to the smallest atom's radius, to know its area.
const FIRST_LOOK: f64 = 1.5;

/// Rounds of making sides alike.
const ROUNDS: usize = 6;

/// A ball of a molecule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Its centre.
    pub centre: [f64; 3],
    /// Its radius; balls of radius 0 do not count.
    pub radius: f64,
}

/// The Gaussian surface of balls: where sum_i exp(decay (1 - |x - c_i|^2 / r_i^2)) = 1 (J. Blinn, A generalization of algebraic
/// surface drawing, 1982). A ball alone is its sphere; balls together blend, the more so the smaller the decay.
///
/// Triangles are close to equilateral and of one size, vertices lie on the surface, and normals point out of the molecule, into
/// cavities too; physical group `molecule`.
#[derive(Clone, Debug, PartialEq)]
pub struct Molecule {
    /// The atoms.
    pub balls: Vec<Ball>,
    /// How fast the Gaussians fall, from 0.5 to 20; 2.3 resembles solvent-excluded surfaces.
    pub decay: f64,
    /// How fine; a number of elements is met to about 5 %.
    pub resolution: Resolution,
}

/// The decay that resembles solvent-excluded surfaces.
pub const DECAY: f64 = 2.3;

impl Molecule {
    /// Makes the mesh.
    pub fn build(&self) -> Result<Mesh, Error> {
        self.resolution.check()?;
        if !(0.5..=20.0).contains(&self.decay) {
            return Err(Error::Decay(self.decay));
        }
        let balls: Vec<Ball> =
            self.balls.iter().copied().filter(|ball| ball.radius != 0.0).collect();
        if balls.is_empty() {
            return Err(Error::None("atoms with a radius"));
        }
        for ball in &balls {
            check_length("the radius of an atom", ball.radius)?;
            if ball.centre.iter().any(|x| x.is_nan() || x.abs() > 1e-3 * MAX_COORDINATE) {
                return Err(Error::Length {
                    what: "a coordinate of an atom",
                    value: ball.centre[0],
                });
            }
        }
        let smallest = balls.iter().map(|ball| ball.radius).fold(f64::INFINITY, f64::min);
        let field = Field::new(&balls, self.decay);
        let mut side = match self.resolution {
            Resolution::Size(size) => size,
            Resolution::Elements(elements) => {
                let raw = march::surface(&field, smallest / FIRST_LOOK, MOST_NODES)?;
                equilateral_side(area(&raw.vertices, &raw.triangles) / elements as f64)
            }
        };
        let mut surface = remeshed(&field, side)?;
        if let Resolution::Elements(elements) = self.resolution {
            // The count follows the square of the side; once is enough.
            side *= (surface.triangles.len() as f64 / elements as f64).sqrt();
            surface = remeshed(&field, side)?;
        }
        let mut builder = Builder::new();
        builder.group("molecule");
        for point in surface.vertices {
            builder.vertex(point);
        }
        for corners in surface.triangles {
            builder.triangle(corners);
        }
        Ok(builder.mesh)
    }
}

/// Vertices and triangles.
#[derive(Clone, Debug, Default)]
struct Surface {
    vertices: Vec<Vector>,
    triangles: Vec<[u32; 3]>,
}

fn remeshed(field: &Field, side: f64) -> Result<Surface, Error> {
    let raw = march::surface(field, SPACING * side, MOST_NODES)?;
    let mut remesher = Remesher::new(raw, side);
    for _ in 0..ROUNDS {
        remesher.round(field);
    }
    Ok(remesher.finish())
}

fn area(vertices: &[Vector], triangles: &[[u32; 3]]) -> f64 {
    triangles
        .iter()
        .map(|corners| {
            let [a, b, c] = corners.map(|v| vertices[v as usize]);
            0.5 * norm(cross(sub(b, a), sub(c, a)))
        })
        .sum()
}

/// The side of the equilateral triangle of an area.
fn equilateral_side(area: f64) -> f64 {
    (4.0 * area / 3f64.sqrt()).sqrt()
}

/// Atoms on a helix, as many as a small protein has: 1.4 apart along it, of radii 1.5 to 1.9, turns 4.5 apart that blend.
///
/// A stand-in of any size for a molecule, the same on every machine. Lengths are in angstrom.
pub fn helix(atoms: usize) -> Vec<Ball> {
    const RADIUS: f64 = 8.0;
    const PITCH: f64 = 4.5;
    const STEP: f64 = 1.4;
    let turn = (std::f64::consts::TAU * RADIUS).hypot(PITCH);
    (0..atoms)
        .map(|k| {
            let along = STEP * k as f64 / turn;
            let angle = std::f64::consts::TAU * along;
            let centre = [RADIUS * angle.cos(), RADIUS * angle.sin(), PITCH * along];
            Ball { centre, radius: [1.7, 1.9, 1.5, 1.8][k % 4] }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::intersect::intersections;
    use crate::topology::{Orientation, Topology};

    fn ball(x: f64, radius: f64) -> Ball {
        Ball { centre: [x, 0.0, 0.0], radius }
    }

    fn build(balls: Vec<Ball>, elements: usize) -> Mesh {
        let resolution = Resolution::Elements(elements);
        Molecule { balls, decay: DECAY, resolution }.build().unwrap()
    }

    fn check(mesh: &Mesh, elements: usize) -> Report {
        let report = Report::of(mesh).unwrap();
        assert!(report.defects.is_empty() && report.non_manifold_edges.is_empty());
        assert!(report.whole.closed && report.whole.flipped_edges == 0);
        let ratio = report.triangles as f64 / elements as f64;
        assert!((0.9..1.1).contains(&ratio), "{} triangles", report.triangles);
        assert!(report.quality.min_angle.median > 45.0, "{:?}", report.quality.min_angle);
        assert!(report.quality.min_angle.min > 12.0, "{:?}", report.quality.min_angle);
        let edges = report.quality.edge_length;
        assert!(edges.max < 2.2 * edges.median && edges.min > 0.35 * edges.median, "{edges:?}");
        report
    }

    #[test]
    fn one_atom_is_its_sphere() {
        let mesh = build(vec![ball(3.0, 2.0), ball(9.0, 0.0)], 2000);
        let report = check(&mesh, 2000);
        for vertex in &mesh.vertices {
            assert!((norm(sub(*vertex, [3.0, 0.0, 0.0])) - 2.0).abs() < 1e-6);
        }
        // Facets of an inscribed sphere: the volume lacks about 2 pi / (N / 2) of itself.
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 8.0;
        assert!((0.99..1.0).contains(&(report.whole.signed_volume / volume)));
        assert_eq!(Topology::of(&mesh).components.len(), 1);
    }

    #[test]
    fn two_atoms_blend_or_stay_apart() {
        let near = build(vec![ball(0.0, 1.5), ball(2.2, 1.2)], 1500);
        check(&near, 1500);
        assert_eq!(Topology::of(&near).components.len(), 1);
        assert_eq!(intersections(&near), []);
        let apart = build(vec![ball(0.0, 1.5), ball(9.0, 1.2)], 1500);
        check(&apart, 1500);
        assert_eq!(Topology::of(&apart).components.len(), 2);
    }

    #[test]
    fn a_hollow_shell_of_atoms_has_a_cavity_whose_normals_point_into_it() {
        let golden = std::f64::consts::PI * (5f64.sqrt() - 1.0);
        let balls: Vec<Ball> = (0..400)
            .map(|k| {
                let z = 1.0 - 2.0 * (f64::from(k) + 0.5) / 400.0;
                let (r, angle) = ((1.0 - z * z).sqrt(), golden * f64::from(k));
                Ball {
                    centre: [8.0 * r * angle.cos(), 8.0 * r * angle.sin(), 8.0 * z],
                    radius: 1.5,
                }
            })
            .collect();
        let mesh = build(balls, 8000);
        check(&mesh, 8000);
        let parts = Topology::of(&mesh).components;
        let mut orientations: Vec<_> = parts.iter().map(|part| part.orientation()).collect();
        orientations.sort_by_key(|orientation| *orientation == Orientation::Inward);
        assert_eq!(orientations, [Orientation::Outward, Orientation::Inward]);
    }

    #[test]
    fn a_helix_is_one_closed_surface() {
        let mesh = build(helix(100), 6000);
        check(&mesh, 6000);
        assert_eq!(intersections(&mesh), []);
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let refused =
            |balls, decay, resolution| Molecule { balls, decay, resolution }.build().unwrap_err();
        let elements = Resolution::Elements(100);
        assert!(matches!(refused(vec![], DECAY, elements), Error::None(_)));
        assert!(matches!(refused(vec![ball(0.0, 1.0)], 0.1, elements), Error::Decay(_)));
        assert!(matches!(refused(vec![ball(0.0, -1.0)], DECAY, elements), Error::Length { .. }));
        assert!(matches!(
            refused(vec![ball(f64::NAN, 1.0)], DECAY, elements),
            Error::Length { .. }
        ));
        let far = vec![ball(0.0, 1.0), ball(1e9, 1.0)];
        assert!(matches!(refused(far, DECAY, elements), Error::Lattice));
        assert!(matches!(
            refused(vec![ball(0.0, 1.0)], DECAY, Resolution::Size(1e-6)),
            Error::Lattice
        ));
    }
}
