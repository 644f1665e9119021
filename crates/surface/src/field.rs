//! What meshing asks of a surface: where it is, and its normal.

use mesh::vector::{Vector, add, dot, scale, sub};

/// Smooth pieces of a surface, as level sets of functions that exist beyond them, with numbers that
/// the field gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// At a distance from a sphere, inwards.
    Sphere(u32),
    /// At a distance from a circle.
    Circle(u32),
    /// At a distance from one of the two ends of an arc.
    Point(u32, u8),
    /// A smooth surface.
    Smooth,
}

/// A point on a surface.
#[derive(Clone, Copy, Debug)]
pub struct Foot {
    /// Where it is.
    pub point: Vector,
    /// Outward unit normal.
    pub normal: Vector,
    /// The piece that the point is on.
    pub feature: Feature,
}

/// The boundary of a solid.
///
/// Values on the points of a lattice are asked for in bulk, so that a fast sum may have them.
pub trait Field: Sync {
    /// Positive inside and negative outside; next to the surface about the distance to it.
    fn value(&self, x: Vector) -> f64;

    /// The values at many points.
    fn values(&self, points: &[Vector], values: &mut Vec<f64>) {
        values.clear();
        values.extend(points.iter().map(|x| self.value(*x)));
    }

    /// Whether all points within `radius` of `centre` are inside, or none is; `None` if that is not
    /// known.
    fn side(&self, centre: Vector, radius: f64) -> Option<bool>;

    /// The point of the surface next to `x`, about, which is close to the surface; `None` if it is
    /// not found.
    fn foot(&self, x: Vector) -> Option<Foot>;

    /// Distance from the skeleton that makes a feature (positive inside the solid), and its
    /// gradient; `None` if there is no skeleton.
    fn distance(&self, _feature: Feature, _x: Vector) -> Option<(f64, Vector)> {
        None
    }

    /// The outward normal of a feature's level set through a point.
    fn normal(&self, feature: Feature, x: Vector) -> Option<Vector> {
        self.distance(feature, x).map(|(_, gradient)| scale(-1.0, gradient))
    }

    /// Where the level sets of two or three features meet, next to `x`.
    fn meet(&self, _features: &[Feature], _x: Vector) -> Option<Vector> {
        None
    }

    /// The tips of the surface that are single points.
    fn tips(&self) -> Vec<Vector> {
        Vec::new()
    }

    /// Box around the surface.
    fn bounds(&self) -> [Vector; 2];

    /// A length that details of the surface have: a typical radius of curvature.
    fn detail(&self) -> f64;

    /// Greatest curvature of the surface at a point of a feature.
    fn curvature(&self, feature: Feature, x: Vector) -> f64;

    /// Curvature of the crease in which two features meet, as far as it is known.
    fn bending(&self, _pair: [Feature; 2]) -> f64 {
        0.0
    }

    /// Smallest distance at which points are distinct.
    fn resolution(&self) -> f64;

    /// Whether a point is on the surface.
    fn is_on(&self, x: Vector) -> bool {
        self.value(x).abs() <= self.resolution()
    }
}

/// Steps of Newton's method.
const STEPS: usize = 30;

/// Newton's method for a point at a distance `level` from all of two or three features; steps are
/// the shortest that fulfil the linear equations.
pub(crate) fn meet(
    field: &impl Field,
    features: &[Feature],
    level: f64,
    x: Vector,
) -> Option<Vector> {
    let mut at = x;
    for _ in 0..STEPS {
        let mut rows = [[0.0; 3]; 3];
        let mut off = [0.0; 3];
        for (k, feature) in features.iter().enumerate() {
            let (distance, gradient) = field.distance(*feature, at)?;
            (off[k], rows[k]) = (distance - level, gradient);
        }
        let worst = off.iter().fold(0.0, |worst: f64, x| worst.max(x.abs()));
        if worst <= 0.25 * field.resolution() {
            return Some(at);
        }
        let step = match features.len() {
            2 => {
                let c = dot(rows[0], rows[1]);
                let determinant = 1.0 - c * c;
                if determinant < 1e-12 {
                    return None;
                }
                let a = (off[0] - c * off[1]) / determinant;
                let b = (off[1] - c * off[0]) / determinant;
                add(scale(a, rows[0]), scale(b, rows[1]))
            }
            3 => solve(rows, off)?,
            _ => return None,
        };
        at = sub(at, step);
    }
    None
}

/// Solves three equations by Cramer's rule.
fn solve(rows: [Vector; 3], right: Vector) -> Option<Vector> {
    use mesh::vector::cross;
    let [a, b, c] = rows;
    let determinant = dot(a, cross(b, c));
    if determinant.abs() < 1e-9 {
        return None;
    }
    let sum = add(
        add(scale(right[0], cross(b, c)), scale(right[1], cross(c, a))),
        scale(right[2], cross(a, b)),
    );
    Some(scale(1.0 / determinant, sum))
}
