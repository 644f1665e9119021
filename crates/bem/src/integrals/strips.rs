//! Integrals over a triangle of another triangle's closed form, strip by strip: the outer half of a
//! pair integral where the two are close, as on both sides of a thin film or gap.
//!
//! At a small height above a triangle closed forms change within about that height across the
//! shadows of its edges. Cutting a large triangle until its parts are as small as that takes as
//! many parts as the shadow is long. Lines along the longest side instead meet a shadow in few
//! places, which are known: [`edge`](super::edge) has points for each line, as many as it has
//! places. What these integrals lack as a function of the line's place are the places where
//! the shadows of vertices are, and where those of edges leave the triangle.

use crate::geometry::triangle::Triangle;
use crate::integrals::edge::{EdgeRule, Line, Singularities, for_parameters};
use crate::integrals::potentials::WeightedPoints;

/// Sets nodes with which the sum of a smooth function times a closed form of `source` is its
/// integral over `of`, about to the rule's accuracy relative to the largest value.
pub fn set_nodes(of: &Triangle, source: &Triangle, rule: &EdgeRule, nodes: &mut WeightedPoints) {
    nodes.clear();
    let longest = (1..3).fold(0, |most, k| if of.lengths[k] > of.lengths[most] { k } else { most });
    let [a, b, c] = [0, 1, 2].map(|k| of.vertices[(longest + k) % 3]);
    let height = 2.0 * of.area / of.lengths[longest];
    let inwards = -of.edge_normals[longest];
    let mut across = Singularities::default();
    for from in [a, b] {
        Line::between(from, c)
            .singularities(source)
            .iter()
            .for_each(|(re, im2)| across.push(re, im2));
    }
    for vertex in &source.vertices {
        let at = (vertex - a).dot(&inwards) / height;
        // The line there, or the nearest one.
        let inside = at.clamp(0.0, 1.0);
        let [start, end] = [a, b].map(|from| from + (c - from) * inside);
        let along = (vertex - start).dot(&of.tangents[longest]);
        let beyond = (-along).max(along - (end - start).norm()).max(0.0);
        let above = (vertex - a).dot(&of.normal);
        across.push(at, (beyond * beyond + above * above) / (height * height));
    }
    for_parameters(&across, rule, |at, weight| {
        let [start, end] = [a, b].map(|from| from + (c - from) * at);
        let line = Line::between(start, end);
        let singular = line.singularities(source);
        line.for_nodes(&singular, rule, |x, along| nodes.push(x, weight * height * along));
    });
}
