//! An image of panels, in scaled coordinates.

use crate::geometry::images::Images;
use crate::geometry::patch::Patch;
use crate::geometry::triangle::Vec3;

/// An image in scaled coordinates: x_k becomes `scale[k]` x_k + `shift[k]`.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// 1, or -1 for a reflection.
    pub scale: [f64; 3],
    /// Along each axis.
    pub shift: [f64; 3],
    /// Factor of charges, with one region, unless a panel lies on its own image.
    pub factor: f64,
}

/// The identity.
pub(super) const ITSELF: Image = Image { scale: [1.0; 3], shift: [0.0; 3], factor: 1.0 };

impl Image {
    /// Image `g` in coordinates (x - centre) / scale.
    pub(crate) fn of(images: &Images, g: usize, centre: &Vec3, scale: f64) -> Self {
        // The image of the centre, which is the origin here, gives the shift.
        let moved = Vec3::from(images.reflect(g, (*centre).into()));
        Self {
            scale: images.flips(g).map(|flip| if flip { -1.0 } else { 1.0 }),
            shift: ((moved - centre) / scale).into(),
            factor: images.factor(g),
        }
    }

    /// The image of a point.
    pub fn place(&self, x: &Vec3) -> Vec3 {
        Vec3::from_fn(|k, _| self.scale[k] * x[k] + self.shift[k])
    }

    /// x_k becomes `map[k]` x_k + `map[3 + k]`; charges are multiplied by `map[6]`.
    pub(crate) fn map(&self) -> [f64; 7] {
        let ([a, b, c], [s, t, u]) = (self.scale, self.shift);
        [a, b, c, s, t, u, self.factor]
    }

    pub(super) fn is_mirrored(&self) -> bool {
        self.scale.iter().product::<f64>() < 0.0
    }

    pub(super) fn of_patch(&self, patch: &Patch) -> Patch {
        patch.moved_to(&self.scale, &self.shift, self.is_mirrored())
    }

    pub(super) fn of_panel(&self, corners: &[Vec3; 3]) -> [Vec3; 3] {
        let [a, b, c] = corners.each_ref().map(|v| self.place(v));
        // A mirrored image has the opposite orientation.
        if self.is_mirrored() { [a, c, b] } else { [a, b, c] }
    }
}
