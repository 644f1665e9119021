//! Parts of a mesh put elsewhere.

use crate::surface::Mesh;
use crate::vector::{Vector, add, cross, dot, norm, scale, sub};

/// A rigid motion: first about an axis, then along a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Direction of the axis, of any length but zero.
    pub axis: [f64; 3],
    /// A point of the axis.
    pub centre: [f64; 3],
    /// In radians, counter-clockwise seen from the axis's tip.
    pub angle: f64,
    /// Added last.
    pub shift: [f64; 3],
}

impl Motion {
    /// A shift alone.
    pub fn along(shift: [f64; 3]) -> Self {
        Self { axis: [0.0, 0.0, 1.0], centre: [0.0; 3], angle: 0.0, shift }
    }

    /// A point moved: Rodrigues' formula.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        if self.angle == 0.0 {
            return add(point, self.shift);
        }
        let axis = scale(1.0 / norm(self.axis), self.axis);
        let arm = sub(point, self.centre);
        let (sin, cos) = self.angle.sin_cos();
        let turned = add(
            add(scale(cos, arm), scale(sin, cross(axis, arm))),
            scale((1.0 - cos) * dot(axis, arm), axis),
        );
        add(add(self.centre, turned), self.shift)
    }
}

/// A valid mesh ([`Mesh::validate`]) whose triangles for which `moves` holds are moved.
///
/// Vertices that they share with triangles that stay are duplicated: the moved part is detached.
pub fn moved(mesh: &Mesh, moves: impl Fn(usize) -> bool, motion: &Motion) -> Mesh {
    const UNSET: u32 = u32::MAX;
    let mut stays = vec![false; mesh.vertices.len()];
    let which: Vec<bool> = (0..mesh.triangles.len()).map(moves).collect();
    for (corners, _) in mesh.triangles.iter().zip(&which).filter(|(_, moves)| !**moves) {
        corners.iter().for_each(|&v| stays[v as usize] = true);
    }
    let mut result = mesh.clone();
    let mut place_of: Vec<u32> = vec![UNSET; mesh.vertices.len()];
    for (corners, _) in result.triangles.iter_mut().zip(&which).filter(|(_, moves)| **moves) {
        for vertex in corners {
            let old = *vertex as usize;
            if place_of[old] == UNSET {
                let point: Vector = motion.apply(mesh.vertices[old]);
                if stays[old] {
                    place_of[old] = result.vertices.len() as u32;
                    result.vertices.push(point);
                } else {
                    place_of[old] = old as u32;
                    result.vertices[old] = point;
                }
            }
            *vertex = place_of[old];
        }
    }
    result.with_patches(|result, patches| {
        for t in (0..which.len()).filter(|&t| which[t]) {
            patches.of_mut(t).iter_mut().for_each(|node| *node = motion.apply(*node));
        }
        patches.put_corners(result);
    });
    result
}
