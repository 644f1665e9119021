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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Report;
    use crate::generate::{Cube, Resolution, SphereBase, TwoSpheres};
    use proptest::prelude::*;

    const RESOLUTION: Resolution = Resolution::Elements(300);

    #[test]
    fn one_of_two_bodies_moves() {
        let base = SphereBase::Octahedron;
        let two = TwoSpheres { radius: 1.0, distance: 4.0, base, resolution: RESOLUTION };
        let mesh = two.build().unwrap();
        let right = |t: usize| mesh.groups_of(t) == [1];
        let result = moved(&mesh, right, &Motion::along([1.0, 2.0, 3.0]));
        assert_eq!(result.vertices.len(), mesh.vertices.len());
        assert_eq!(result.triangles, mesh.triangles);
        for t in 0..mesh.triangles.len() {
            let by = if right(t) { [1.0, 2.0, 3.0] } else { [0.0; 3] };
            assert_eq!(result.corners(t), mesh.corners(t).map(|corner| add(corner, by)));
        }
    }

    #[test]
    fn a_face_comes_off_its_cube() {
        let cube = Cube { edge: 2.0, grade: 1.0, resolution: RESOLUTION }.build().unwrap();
        let top = |t: usize| cube.corners(t).iter().all(|corner| corner[2] == 1.0);
        let result = moved(&cube, top, &Motion::along([0.0, 0.0, 1.0]));
        assert_eq!(result.validate(), Ok(()));
        let report = Report::of(&result).unwrap();
        assert_eq!(report.components.len(), 2);
        assert_eq!(report.quality.bounding_box, [[-1.0; 3], [1.0, 1.0, 2.0]]);
    }

    proptest! {
        #[test]
        fn motions_keep_distances_and_have_inverses(
            axis in prop::array::uniform3(0.1f64..1.0),
            centre in prop::array::uniform3(-2.0f64..2.0),
            angle in -7.0f64..7.0,
            p in prop::array::uniform3(-2.0f64..2.0),
            q in prop::array::uniform3(-2.0f64..2.0),
        ) {
            let turn = Motion { axis, centre, angle, shift: [0.0; 3] };
            let back = Motion { angle: -angle, ..turn };
            let off = |a: Vector, b: Vector| norm(sub(a, b));
            prop_assert!((off(turn.apply(p), turn.apply(q)) - off(p, q)).abs() < 1e-12);
            prop_assert!(off(back.apply(turn.apply(p)), p) < 1e-12);
            prop_assert!(off(turn.apply(centre), centre) < 1e-12);
        }
    }

    #[test]
    fn a_quarter_turn_is_counter_clockwise() {
        let turn = Motion {
            axis: [0.0, 0.0, 2.0],
            centre: [1.0, 0.0, 0.0],
            angle: std::f64::consts::FRAC_PI_2,
            shift: [0.0, 0.0, 5.0],
        };
        let found = turn.apply([2.0, 0.0, 0.0]);
        assert!(norm(sub(found, [1.0, 1.0, 5.0])) < 1e-15, "{found:?}");
    }
}
