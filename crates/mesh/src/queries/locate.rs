//! The location of a point relative to a surface: inside or outside, and the distance.

use parallel::prelude::*;

use crate::geometry::bvh::{Box3, Bvh};
use crate::geometry::curved::bezier::Nets;
use crate::geometry::curved::probe;
use crate::geometry::flat::triangle::{RIM, distance_squared, meeting, solid_angle};
use crate::surface::Mesh;
use crate::vector::{Vector, add, area_normal, dot, norm, scale, sub};

/// A part of the surface counts as one dipole at distances above this times its radius.
const FAR: f64 = 3.0;

/// A point is inside if its winding number is at least this; exact ones of a closed surface are
/// whole.
const INSIDE: f64 = 0.5;

/// The area of the triangles under a node, as a dipole.
#[derive(Clone, Copy, Debug)]
struct Moment {
    centre: Vector,
    /// Sum of the triangles' area vectors.
    area: Vector,
    /// No corner is further from the centre.
    radius: f64,
}

/// A surface, or a part of one, in which points are looked up.
///
/// Inside is decided by the generalised winding number (A. Jacobson, L. Kavan, O. Sorkine-Hornung,
/// Robust inside-outside segmentation using generalized winding numbers, 2013), summed over a tree
/// with dipoles for what is far away (G. Barill and others, Fast winding numbers for soups and
/// clouds, 2018): small gaps and overlaps of the surface do not change the answer.
#[derive(Clone, Debug)]
pub struct Locator {
    /// Corners of the triangles.
    #[doc(hidden)]
    pub corners: Vec<[Vector; 3]>,
    /// Their shapes, where they are curved.
    curved: Option<Curved>,
    /// Their indices in the mesh.
    triangles: Vec<u32>,
    tree: Bvh,
    moments: Vec<Moment>,
}

/// The shapes of curved triangles, and how far each is off from the flat one.
#[derive(Clone, Debug)]
struct Curved {
    nets: Nets,
    bulges: Vec<f64>,
    /// Longest side of a box around all of them.
    size: f64,
}

/// The nearest place of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its distance.
    pub distance: f64,
    /// The triangle it is on.
    pub triangle: u32,
}

impl Locator {
    /// The locator of a valid mesh ([`Mesh::validate`]), in O(n log n).
    pub fn new(mesh: &Mesh) -> Self {
        Self::of_part(mesh, (0..mesh.triangles.len() as u32).collect())
    }

    /// Takes in some triangles of a valid mesh.
    pub fn of_part(mesh: &Mesh, triangles: Vec<u32>) -> Self {
        let corners: Vec<_> = triangles.par_iter().map(|&t| mesh.corners(t as usize)).collect();
        let nets = mesh.patches.as_ref().map(|patches| Nets::of(patches, &triangles));
        let boxes: Vec<Box3> = match &nets {
            None => corners.par_iter().map(|corners| Box3::around(corners)).collect(),
            Some(nets) => {
                (0..corners.len()).into_par_iter().map(|t| Box3::around(nets.hull(t))).collect()
            }
        };
        let tree = Bvh::new(&boxes);
        let moments = moments(&tree, &corners);
        let curved = nets.map(|nets| {
            let bulges = (0..corners.len()).into_par_iter().map(|t| nets.get(t).bulge()).collect();
            let size = tree.nodes.first().map_or(0.0, |root| root.bounds.size());
            Curved { nets, bulges, size }
        });
        Self { corners, curved, triangles, tree, moments }
    }

    /// A box around all triangles; `None` without any.
    pub(crate) fn bounds(&self) -> Option<Box3> {
        self.tree.nodes.first().map(|root| root.bounds)
    }

    /// How many times the surface goes round a point: 1 inside a closed surface with normals
    /// outward, -1 with normals inward, 0 outside; something between for open surfaces. Exact to
    /// about 0.02 away from the surface.
    pub fn winding_number(&self, point: [f64; 3]) -> f64 {
        let mut sum = 0.0;
        let enters = |sum: &mut f64, index: usize| {
            let moment = &self.moments[index];
            let toward = sub(moment.centre, point);
            let distance = norm(toward);
            let is_far = distance > FAR * moment.radius;
            if is_far {
                *sum += dot(moment.area, toward) / (distance * distance * distance);
            }
            !is_far
        };
        self.tree.visit(&mut sum, enters, |sum, members| {
            *sum += members.iter().map(|&t| self.solid_angle(point, t as usize)).sum::<f64>();
        });
        sum / (4.0 * std::f64::consts::PI)
    }

    /// The solid angle under which a point sees a triangle. If curved, that of flat parts: what
    /// their sides are off from their neighbours' sides is far away from the point.
    fn solid_angle(&self, point: Vector, t: usize) -> f64 {
        match &self.curved {
            Some(Curved { nets, bulges, .. }) if bulges[t] > 0.0 => {
                let is_far = probe::is_far(point, self.corners[t], bulges[t]);
                if is_far {
                    solid_angle(point, self.corners[t])
                } else {
                    probe::solid_angle(point, nets.get(t))
                }
            }
            _ => solid_angle(point, self.corners[t]),
        }
    }

    /// Whether a point is enclosed, whichever way normals point.
    pub fn contains(&self, point: [f64; 3]) -> bool {
        self.winding_number(point).abs() > INSIDE
    }

    /// The point of the surface closest to a point; `None` without triangles.
    ///
    /// Of curved triangles the distance is that of one of their points. Where many are almost as
    /// close, as from the centre of a sphere, it may be larger than the least by a thousandth.
    pub fn nearest(&self, point: [f64; 3]) -> Option<Nearest> {
        if let Some(curved) = &self.curved {
            return self.nearest_of_curved(point, curved);
        }
        let mut best = (f64::INFINITY, None);
        let gap = |bounds: &Box3| bounds.distance_squared(point);
        let enters = |best: &(f64, _), gap: f64, _| gap < best.0;
        self.tree.visit_nearest(&mut best, gap, enters, |best, t| {
            let squared = distance_squared(point, self.corners[t as usize]);
            if squared < best.0 {
                *best = (squared, Some(t));
            }
        });
        let (squared, triangle) = best;
        let triangle = self.triangles[triangle? as usize];
        Some(Nearest { distance: squared.sqrt(), triangle })
    }
}

impl Locator {
    /// [`Locator::nearest`] of curved triangles.
    fn nearest_of_curved(&self, point: Vector, curved: &Curved) -> Option<Nearest> {
        let Curved { nets, bulges, size } = curved;
        let mut search = probe::Search::new(point, *size);
        let gap = |bounds: &Box3| bounds.distance_squared(point).sqrt();
        let enters = |search: &probe::Search, gap: f64, _| gap < search.most();
        self.tree.visit_nearest(&mut search, gap, enters, |search, t| {
            let distance = distance_squared(point, self.corners[t as usize]).sqrt();
            search.add(t, distance, bulges[t as usize], || nets.get(t as usize));
        });
        let (triangle, distance) = search.finish()?;
        Some(Nearest { distance, triangle: self.triangles[triangle as usize] })
    }

    /// Where a line meets a triangle: how far along it, and the least barycentric coordinate there;
    /// of a curved one each place, or each place at a rim of its parts. With the corners there.
    fn meetings(
        &self,
        from: Vector,
        direction: Vector,
        t: usize,
        mut visit: impl FnMut(f64, f64, [Vector; 3]),
    ) {
        match &self.curved {
            Some(Curved { nets, bulges, .. }) if bulges[t] > 0.0 => {
                probe::meetings(from, direction, nets.get(t), |part| {
                    if let Some((along, margin)) = meeting(from, direction, part) {
                        visit(along, margin, part);
                    }
                });
            }
            _ => {
                let corners = self.corners[t];
                if let Some((along, margin)) = meeting(from, direction, corners) {
                    visit(along, margin, corners);
                }
            }
        }
    }
}

/// What a line meets first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance from the line's beginning, in lengths of its direction.
    pub along: f64,
    /// The triangle that it meets.
    pub triangle: u32,
    /// Whether the line goes where the triangle's normal points.
    pub is_along_normal: bool,
}

impl Locator {
    /// The first place where a line from a point in a direction of any length meets the surface,
    /// `except` for one triangle; `None` if it meets none, or the first of them so near to its rim
    /// that another might be meant.
    pub fn first_hit(&self, from: [f64; 3], direction: [f64; 3], except: u32) -> Option<Hit> {
        let mut best: Option<(Hit, bool)> = None;
        let enters = |best: &mut Option<(Hit, bool)>, index: usize| {
            let reach = best.map_or(f64::INFINITY, |(hit, _)| hit.along);
            self.tree.nodes[index].bounds.is_met_by(from, direction, reach)
        };
        self.tree.visit(&mut best, enters, |best, members| {
            for &t in members.iter().filter(|&&t| self.triangles[t as usize] != except) {
                self.meetings(from, direction, t as usize, |along, margin, corners| {
                    if best.is_none_or(|(hit, _)| along < hit.along) {
                        let triangle = self.triangles[t as usize];
                        let is_along_normal = dot(direction, area_normal(corners)) > 0.0;
                        let hit = Hit { along, triangle, is_along_normal };
                        *best = Some((hit, margin > RIM));
                    }
                });
            }
        });
        best.filter(|(_, clear)| *clear).map(|(hit, _)| hit)
    }
}

impl Locator {
    /// How many triangles a line from a point meets, `except` for one; `None` if it comes near the
    /// rim of any.
    pub(crate) fn crossings(
        &self,
        from: [f64; 3],
        direction: [f64; 3],
        except: u32,
    ) -> Option<usize> {
        let mut count = Some(0);
        let enters = |count: &mut Option<usize>, index: usize| {
            let bounds = &self.tree.nodes[index].bounds;
            count.is_some() && bounds.is_met_by(from, direction, f64::INFINITY)
        };
        self.tree.visit(&mut count, enters, |count, members| {
            for &t in members.iter().filter(|&&t| self.triangles[t as usize] != except) {
                self.meetings(from, direction, t as usize, |_, margin, _| {
                    *count = count.filter(|_| margin > RIM).map(|count| count + 1);
                });
            }
        });
        count
    }
}

/// The moments of all nodes; children come after their parents.
fn moments(tree: &Bvh, corners: &[[Vector; 3]]) -> Vec<Moment> {
    let mut sums: Vec<(Vector, Vector, f64)> = vec![([0.0; 3], [0.0; 3], 0.0); tree.nodes.len()];
    for index in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        let mut sum = ([0.0; 3], [0.0; 3], 0.0);
        let mut take = |(area, weighted, total): (Vector, Vector, f64)| {
            sum = (add(sum.0, area), add(sum.1, weighted), sum.2 + total);
        };
        if node.count > 0 {
            for &t in tree.members(node) {
                let [a, b, c] = corners[t as usize];
                let area = scale(0.5, area_normal([a, b, c]));
                let size = norm(area);
                take((area, scale(size / 3.0, add(add(a, b), c)), size));
            }
        } else {
            take(sums[node.children as usize]);
            take(sums[node.children as usize + 1]);
        }
        sums[index] = sum;
    }
    let nodes = tree.nodes.iter().zip(&sums);
    nodes
        .map(|(node, &(area, weighted, total))| {
            let middle = scale(0.5, add(node.bounds.low, node.bounds.high));
            let centre = if total > 0.0 { scale(1.0 / total, weighted) } else { middle };
            let reach =
                |i: usize| (node.bounds.high[i] - centre[i]).max(centre[i] - node.bounds.low[i]);
            Moment { centre, area, radius: norm([reach(0), reach(1), reach(2)]) }
        })
        .collect()
}
