//! Images of surfaces in layers as seen from points in one region: near ones individually, distant
//! ones as one smooth potential.

use std::ops::Range;

use mesh::Mesh;

use super::{Charges, Values};
use crate::Images;
use crate::geometry::far::{FarImages, Weights};
use crate::geometry::image::Image;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::ordered;
use crate::quadrature::rule::Rule;
use crate::sampling::far::values_at;

/// Degree of the rule whose points represent a distant triangle.
const DEGREE: usize = 4;

/// Panels per task.
const TOGETHER: usize = 256;

/// Images of the surfaces of a mesh for points in a region.
#[derive(Clone, Debug)]
pub struct SeenImages {
    near: Images,
    far: Option<Far>,
}

/// In coordinates x' = (x - centre) / scale.
#[derive(Clone, Debug)]
struct Far {
    images: FarImages,
    centre: Vec3,
    scale: f64,
}

impl Far {
    fn scaled(&self, x: &[f64; 3]) -> Vec3 {
        (Vec3::from(*x) - self.centre) / self.scale
    }
}

impl SeenImages {
    /// For these images, as seen from these points in region `to`; potentials of unit charges at a
    /// distance of the structure's size have a relative error of `tolerance`.
    #[must_use]
    pub fn new(
        images: &Images,
        mesh: &Mesh,
        points: &[[f64; 3]],
        to: usize,
        tolerance: f64,
    ) -> Self {
        if !images.has_layers() {
            return Self { near: images.clone(), far: None };
        }
        let nodes = mesh.patches.as_ref().map_or(&[][..], |patches| &patches.nodes);
        let all = mesh.vertices.iter().chain(nodes).chain(points);
        let nothing = [Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY)];
        let [low, high] = all.fold(nothing, |[low, high], x| {
            let x = Vec3::from(*x);
            [low.inf(&x), high.sup(&x)]
        });
        let centre = (low + high) * 0.5;
        let scale = ((high - low).max() * 0.5).max(f64::MIN_POSITIVE);
        let from = images.regions();
        let weight = |g: usize, from: usize| images.factor_between(g, to, from);
        let is_seen = |g: &usize| *g == 0 || (0..from).any(|from| weight(*g, from) != 0.0);
        let seen: Vec<usize> = (0..images.count()).filter(is_seen).collect();
        let image = |&g: &usize| Image::of(images, g, &centre, scale);
        let scaled: Vec<Image> = seen.iter().map(image).collect();
        let bounds = [low, high].map(|x| (x - centre) / scale);
        let weight = |k: usize, _: usize, from: usize| weight(seen[k], from);
        let weights = Weights { regions: [1, from], weight: &weight };
        // Mirror images of one image in layers are close together.
        let group = |k: usize| images.layer_of(seen[k]);
        let found = FarImages::apart(bounds, &scaled, weights, &group, tolerance);
        let Some((near, far)) = found else {
            let layers: Vec<usize> = seen.iter().map(|&g| images.layer_of(g)).collect();
            return Self { near: images.only(&layers), far: None };
        };
        let layers: Vec<usize> = near.iter().map(|&k| group(k)).collect();
        Self { near: images.only(&layers), far: Some(Far { images: far, centre, scale }) }
    }

    /// The near images: values are those of surfaces with these images, plus [`Self::add_far`].
    pub fn near(&self) -> &Images {
        &self.near
    }

    /// Adds, at points, the potential of distant images of charges on triangles of the same mesh,
    /// over 4 pi eps0.
    pub fn add_far(
        &self,
        mesh: &Mesh,
        charges: Charges<'_>,
        points: &[[f64; 3]],
        values: &mut Values,
    ) {
        let Some(far) = &self.far else { return };
        let rule = Rule::of_degree(DEGREE);
        let panels = Panels::without_parts(mesh, |t| t < charges.total.len());
        let add = |own: Range<usize>, moments: &mut [f64]| {
            let (mut at, mut strengths) = (Vec::new(), Vec::new());
            for i in own {
                let t = panels.triangles()[i] as usize;
                let (corners, region) = (charges.corners(t), self.near.region(t));
                for ((y, weight), node) in panels.points(rule, i).zip(rule.nodes()) {
                    let density = node.barycentric.iter().zip(corners).map(|(at, q)| at * q);
                    at.push((far.scaled(&panels.unscaled(&y)), region));
                    strengths.push(weight * density.sum::<f64>());
                }
            }
            far.images.add_charges(&at, &strengths, moments);
        };
        let moments = ordered::sums(0..panels.len(), TOGETHER, far.images.moments(), add);
        let coefficients = far.images.coefficients(&moments);
        let at: Vec<_> = points.iter().map(|x| (far.scaled(x), 0)).collect();
        let with_field = !values.field.is_empty();
        let Values { potential, field, .. } = values;
        let mut add = |_: usize, k: usize, value: f64, gradient: Vec3| {
            potential[k] += value / far.scale;
            if with_field {
                let per_length = far.scale * far.scale;
                field[k].iter_mut().zip(gradient.iter()).for_each(|(e, g)| *e -= g / per_length);
            }
        };
        values_at(&far.images, &at, &coefficients, with_field, &mut add);
    }
}
