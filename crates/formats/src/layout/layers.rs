//! Layers of dielectric without end, where nothing else is in a layout.

use bem::{Between, Beyond, Stack, StackLayer};

use super::content::{UP, whole};
use super::scene::{Claim, Metal, Place, Scene};

/// Layers' images are as exact as the first of these for which there are few enough.
const IMAGES: [f64; 3] = [1e-6, 1e-5, 1e-4];

/// The layers, in grid units, if there is nothing but these and metal in some of them: films are of
/// the permittivity around them. They are exact enough and no interface is inside of metal.
pub(super) fn layers(scene: &Scene) -> Option<Stack> {
    with_images(stack(scene)?, scene)
}

/// The layers, if there is nothing else.
fn stack(scene: &Scene) -> Option<Stack> {
    let floor = scene.ground.unwrap_or(f64::NEG_INFINITY);
    let mut heights: Vec<f64> = scene.claims.iter().flat_map(|claim| claim.heights).collect();
    heights.retain(|height| *height > floor);
    heights.extend(scene.ground);
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    let mut layers: Vec<(f64, f64)> = Vec::new();
    for pair in heights.windows(2) {
        let is_in = |claim: &&Claim| claim.heights[0] <= pair[0] && claim.heights[1] >= pair[1];
        let here: Vec<&Claim> = scene.claims.iter().filter(is_in).collect();
        let field = here.iter().position(|claim| matches!(claim.place, Place::Field));
        let permittivity = field.map_or(scene.background, |first| here[first].permittivity);
        let mut films = here[..field.unwrap_or(here.len())].iter();
        if films.any(|film| film.permittivity != permittivity) {
            return None;
        }
        match layers.last() {
            Some((_, last)) if *last == permittivity => {}
            _ => layers.push((pair[0], permittivity)),
        }
    }
    // What is like the background at the ends belongs to it.
    let mut top = heights.last().copied().unwrap_or(0.0);
    while let Some((low, _)) = layers.last().filter(|(_, own)| *own == scene.background) {
        top = *low;
        layers.pop();
    }
    if scene.ground.is_none() && layers.first().is_some_and(|(_, own)| *own == scene.background) {
        layers.remove(0);
    }
    let at = layers.first().map_or(top, |(low, _)| *low);
    let bounds: Vec<f64> = layers.iter().map(|(low, _)| *low).chain([top]).collect();
    let layers = layers.iter().zip(&bounds[1..]).map(|((low, permittivity), high)| StackLayer {
        thickness: whole(high - low),
        permittivity: *permittivity,
    });
    let beyond = Beyond::Dielectric(scene.background);
    let below = if scene.ground.is_some() { Beyond::Ground } else { beyond };
    Some(
        Stack::default()
            .axis(UP)
            .at(at)
            .below(below)
            .layers(layers.collect())
            .above(beyond)
            .tolerance(IMAGES[0]),
    )
}

/// The layers, if images stand for them exactly enough, and no interface is inside of metal.
fn with_images(stack: Stack, scene: &Scene) -> Option<Stack> {
    if stack.layers.is_empty() {
        return Some(stack);
    }
    let [low, high] = scene.metal;
    let size = (0..3).map(|k| (high[k] - low[k]).powi(2)).sum::<f64>().sqrt();
    let mut regions = match stack.region(low[UP], high[UP], 0.0) {
        Some(region) => vec![region],
        None => {
            let of = |metal: &Metal| stack.region(metal.heights[0], metal.heights[1], 0.0);
            scene.metals.iter().map(of).collect::<Option<Vec<usize>>>()?
        }
    };
    regions.sort_unstable();
    regions.dedup();
    let all = IMAGES.into_iter().map(|tolerance| stack.clone().tolerance(tolerance));
    all.into_iter().find(|stack| match regions[..] {
        [region] => stack.images(region, size).is_ok(),
        _ => Between::new(stack, &regions, size).is_ok(),
    })
}
