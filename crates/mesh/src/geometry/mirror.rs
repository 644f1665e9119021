//! Mirror images of surfaces in planes that are perpendicular to the axes.
//!
//! A mesh on one side of some planes stands for itself and all its images. Image g of the mesh,
//! g = 0 .. 2^planes, is mirrored in those planes k whose bit 2^k is set in g; its triangles follow
//! those of image g - 1, in the same order.

use thiserror::Error;

use crate::geometry::curved;
use crate::geometry::weld;
use crate::patch::node_count;
use crate::surface::Mesh;
use crate::vector::Vector;

/// Vertices this near to a plane, relative to the mesh's diagonal, lie in it.
const IN_PLANE: f64 = 1e-9;

/// The plane in which one coordinate has a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// 0, 1, 2 for a plane perpendicular to x, y, z.
    pub axis: usize,
    /// The coordinate along that axis.
    pub at: f64,
}

impl Plane {
    /// The image of a point.
    pub fn reflect(&self, x: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| if k == self.axis { 2.0 * self.at - x[k] } else { x[k] })
    }
}

/// Why a surface has no image in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A triangle lies in the plane, and so does its image.
    #[error("triangle {0} lies in it")]
    InPlane(u32),
    /// There are triangles on both sides.
    #[error("triangles {0} and {1} lie on different sides of it")]
    BothSides(u32, u32),
    /// A triangle goes through the plane.
    #[error("triangle {0} goes through it")]
    Through(u32),
}

/// Where the triangles of a surface lie that has an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// 1 if they lie where the coordinate is larger than the plane's, -1 if where it is less; 0
    /// without triangles.
    pub side: f64,
    /// A length below which a point lies in the plane.
    pub tolerance: f64,
    /// Triangles with a vertex in the plane.
    pub touching: Vec<u32>,
}

/// The side of the plane that the triangles lie on for which `keep` holds.
///
/// # Errors
/// [`enum@Error`].
pub fn place(mesh: &Mesh, plane: &Plane, keep: impl Fn(usize) -> bool) -> Result<Placed, Error> {
    let tolerance = weld::tolerance(&mesh.vertices, IN_PLANE);
    let mut placed = Placed { side: 0.0, tolerance, touching: Vec::new() };
    let mut first = 0;
    for t in (0..mesh.triangles.len()).filter(|&t| keep(t)) {
        let corners = mesh.corners(t);
        let nodes = mesh.patches.as_ref().map_or(&corners[..], |patches| patches.of(t));
        let heights: Vec<f64> = nodes.iter().map(|x| x[plane.axis] - plane.at).collect();
        let above = heights.iter().any(|h| *h > tolerance);
        let below = heights.iter().any(|h| *h < -tolerance);
        let side = match (above, below) {
            (true, true) => return Err(Error::Through(t as u32)),
            (false, false) => return Err(Error::InPlane(t as u32)),
            (true, false) => 1.0,
            (false, true) => -1.0,
        };
        if placed.side == 0.0 {
            (placed.side, first) = (side, t as u32);
        } else if placed.side != side {
            return Err(Error::BothSides(first, t as u32));
        }
        if heights.iter().any(|h| h.abs() <= tolerance) {
            placed.touching.push(t as u32);
        }
    }
    Ok(placed)
}

/// The mesh with all its images, which share the vertices that lie in a plane: 2^planes times as
/// many triangles, normals mirrored too.
#[must_use]
pub fn unfolded(mesh: &Mesh, planes: &[Plane]) -> Mesh {
    let tolerance = weld::tolerance(&mesh.vertices, IN_PLANE);
    let mut whole = mesh.clone();
    for plane in planes {
        let image: Vec<u32> = (0..whole.vertices.len())
            .map(|v| {
                let x = whole.vertices[v];
                if (x[plane.axis] - plane.at).abs() <= tolerance {
                    return v as u32;
                }
                whole.vertices.push(plane.reflect(x));
                whole.vertices.len() as u32 - 1
            })
            .collect();
        // A mirrored triangle has the opposite orientation.
        let mirrored =
            |[a, b, c]: [u32; 3]| [image[a as usize], image[c as usize], image[b as usize]];
        let images: Vec<[u32; 3]> = whole.triangles.iter().map(|&t| mirrored(t)).collect();
        whole.triangles.extend(images);
        whole.membership.extend_from_within(..);
        whole.with_patches(|whole, patches| {
            let mut images = patches.nodes.clone();
            for nodes in images.chunks_exact_mut(node_count(patches.order)) {
                let off = |x: &Vector| (x[plane.axis] - plane.at).abs() > tolerance;
                nodes.iter_mut().filter(|x| off(x)).for_each(|x| *x = plane.reflect(*x));
                curved::reverse(patches.order, nodes);
            }
            patches.nodes.extend(images);
            patches.put_corners(whole);
        });
    }
    whole
}

/// Adds a mesh of which every point is moved, and triangles are reversed if it is
/// mirrored; groups are those that are there.
pub fn append(whole: &mut Mesh, mesh: &Mesh, place: impl Fn(Vector) -> Vector, is_mirrored: bool) {
    let first = whole.vertices.len() as u32;
    whole.vertices.extend(mesh.vertices.iter().map(|&x| place(x)));
    whole.triangles.extend(mesh.triangles.iter().map(|t| {
        let [a, b, c] = t.map(|v| first + v);
        if is_mirrored { [a, c, b] } else { [a, b, c] }
    }));
    whole.membership.extend(&mesh.membership);
    if let (Some(all), Some(patches)) = (&mut whole.patches, &mesh.patches) {
        let mut nodes: Vec<Vector> = patches.nodes.iter().map(|&x| place(x)).collect();
        if is_mirrored {
            let each = nodes.chunks_exact_mut(node_count(patches.order));
            each.for_each(|nodes| curved::reverse(patches.order, nodes));
        }
        all.nodes.extend(nodes);
    }
}
