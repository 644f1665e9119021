//! What the names in a file stand for: bodies between heights, and which comes first where several
//! claim a place.

use std::collections::HashMap;

use mesh::files::Error;
use mesh::outlines::{Region, bounds, difference, grown, intersection, union};
use mesh::prisms::Point;

use super::content::{At, Dielectric, Domain, Extent, Layout, Named, Owner, whole};

/// A conductor, or several of one net.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub name: String,
    /// Whether it is a net, or what becomes of it.
    pub owner: Owner,
}

/// Where a body is in the plane.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Everywhere.
    Field,
    Region(Region),
}

/// A dielectric's body between two heights.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub place: Place,
    pub heights: [f64; 2],
    pub permittivity: f64,
}

/// A shape of a net between two heights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metal {
    pub net: usize,
    /// Index of the shape.
    pub shape: usize,
    pub heights: [f64; 2],
}

pub(super) struct Scene {
    pub nets: Vec<Net>,
    pub metals: Vec<Metal>,
    /// The corners of the box around them.
    pub metal: [[f64; 3]; 2],
    /// Those that come first count.
    pub claims: Vec<Claim>,
    pub background: f64,
    /// The height of the ground plane's upper side.
    pub ground: Option<f64>,
    /// The part of the plane in which what has no end is modelled.
    pub field: [Point; 2],
}

impl Scene {
    pub(super) fn new(layout: &Layout) -> Result<Self, Error> {
        let mut layers = layers(layout)?;
        let (nets, metals) = nets(layout, &layers)?;
        let ground = layout.ground.as_ref().map(|ground| ground.value[1]);
        for metal in &metals {
            let low = metal.heights[0];
            if let Some(ground) = ground.filter(|ground| low <= *ground) {
                let shape = &layout.shapes[metal.shape];
                let message = format!(
                    "a shape of net \"{}\" on {} {} the ground plane, so that the net is at 0 V itself: leave its shapes out",
                    nets[metal.net].name,
                    shape.layer,
                    if low < ground { "reaches below the upper side of" } else { "stands on" }
                );
                return Err(layout.error(shape.at, message));
            }
        }
        let field = field(layout)?;
        let order = order(layout, &layers)?;
        let mut solids: HashMap<&str, Vec<Claim>> = HashMap::new();
        if let Some(ground) = &layout.ground {
            let claim = Claim { place: Place::Field, heights: ground.value, permittivity: 1.0 };
            solids.insert(&ground.name, vec![claim]);
        }
        let mut claims = Vec::new();
        for k in order {
            let dielectric = &layout.dielectrics[k];
            let solid = match &dielectric.value.extent {
                Extent::Between(ends) => {
                    let [low, high] = [0, 1].map(|end| layers.get(&ends[end]).map(|h| h[0]));
                    let (Some(low), Some(high)) = (low, high) else {
                        let unknown = if low.is_none() { &ends[0] } else { &ends[1] };
                        return Err(unknown_name(layout, dielectric.at, unknown));
                    };
                    let permittivity = dielectric.value.permittivity;
                    vec![Claim { place: Place::Field, heights: [low, high], permittivity }]
                }
                Extent::Heights(heights) => {
                    let permittivity = dielectric.value.permittivity;
                    vec![Claim { place: Place::Field, heights: *heights, permittivity }]
                }
                Extent::Film { over, beside, on_field } => {
                    let wraps = dielectric.value.wraps();
                    if !solids.contains_key(wraps) {
                        let solid = of_layer(layout, &metals, wraps, layers[wraps]);
                        solids.insert(wraps, solid);
                    }
                    let bottom = layers[wraps][0];
                    film(&solids[wraps], dielectric, bottom, [*over, *beside, *on_field], field)
                }
            };
            let solid: Vec<Claim> =
                solid.into_iter().filter(|claim| claim.heights[0] < claim.heights[1]).collect();
            let extent = match &dielectric.value.extent {
                Extent::Between(_) | Extent::Heights(_) => solid.first().map(|claim| claim.heights),
                Extent::Film { over, on_field, .. } => {
                    let [low, high] = layers[dielectric.value.wraps()];
                    Some([low, whole((high + over).max(low + on_field))])
                }
            };
            layers.insert(dielectric.name.clone(), extent.unwrap_or_default());
            claims.extend(solid.iter().cloned());
            solids.insert(&dielectric.name, solid);
        }
        let [low, high] = outline(layout);
        let heights = bounds(metals.iter().map(|metal| &metal.heights));
        let metal = [[low[0], low[1], heights[0][0]], [high[0], high[1], heights[1][1]]];
        let background = layout.background;
        Ok(Self { nets, metals, metal, claims, background, ground, field })
    }
}

fn unknown_name(layout: &Layout, at: At, name: &str) -> Error {
    let message = format!(
        "there is no ground plane, metal, via or dielectric called {name}, or it is made of this one"
    );
    layout.error(at, message)
}

/// The heights of ground plane, metals and vias.
pub(super) fn layers(layout: &Layout) -> Result<HashMap<String, [f64; 2]>, Error> {
    let mut layers = HashMap::new();
    let names = layout.ground.iter().chain(&layout.metals).map(|layer| (&layer.name, layer.at));
    let names = names.chain(layout.vias.iter().map(|via| (&via.name, via.at)));
    let names = names.chain(layout.dielectrics.iter().map(|of| (&of.name, of.at)));
    let mut seen = HashMap::new();
    for (name, at) in names {
        if let Some(former) = seen.insert(name, at) {
            let message = format!("{} has something called {name} already", former.place);
            return Err(layout.error(at, message));
        }
    }
    for layer in layout.ground.iter().chain(&layout.metals) {
        layers.insert(layer.name.clone(), layer.value);
    }
    // Vias may stand on vias.
    let mut left: Vec<&Named<[String; 2]>> = layout.vias.iter().collect();
    while !left.is_empty() {
        let before = left.len();
        let mut fault = None;
        left.retain(|via| {
            let [below, above] = &via.value;
            let (Some(below), Some(above)) = (layers.get(below), layers.get(above)) else {
                return true;
            };
            let heights = [below[1], above[0]];
            if heights[0] >= heights[1] {
                fault = fault.or(Some(via.at));
            }
            layers.insert(via.name.clone(), heights);
            false
        });
        if let Some(at) = fault {
            let message = "the via has no height: it goes from the top of the first layer to the bottom of the second one, \
                           which must lie above it";
            return Err(layout.error(at, message));
        }
        if left.len() == before {
            let via = left[0];
            let unknown = via.value.iter().find(|name| !layers.contains_key(*name));
            return Err(unknown_name(layout, via.at, unknown.map_or("", String::as_str)));
        }
    }
    Ok(layers)
}

/// The nets that have shapes, and these.
fn nets(
    layout: &Layout,
    layers: &HashMap<String, [f64; 2]>,
) -> Result<(Vec<Net>, Vec<Metal>), Error> {
    let of_name: HashMap<&str, &Named<Owner>> =
        layout.conductors.iter().map(|conductor| (conductor.name.as_str(), conductor)).collect();
    let is_layer = |name: &str| {
        layout.metals.iter().any(|metal| metal.name == name)
            || layout.vias.iter().any(|via| via.name == name)
    };
    let (mut nets, mut metals): (Vec<Net>, Vec<Metal>) = (Vec::new(), Vec::new());
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    for (shape, of) in layout.shapes.iter().enumerate() {
        let Some(conductor) = of_name.get(of.conductor.as_str()) else {
            let message = format!("there is no CONDUCTOR {}", of.conductor);
            return Err(layout.error(of.at, message));
        };
        if !is_layer(&of.layer) {
            let message = format!("there is no METAL or VIA called {}", of.layer);
            return Err(layout.error(of.at, message));
        }
        let (name, owner) = match &conductor.value {
            Owner::Net(name) => (name, &conductor.value),
            other => (&conductor.name, other),
        };
        let net = *index_of.entry(name).or_insert_with(|| {
            nets.push(Net { name: name.clone(), owner: owner.clone() });
            nets.len() - 1
        });
        if nets[net].owner != *owner {
            let message = format!(
                "the floating conductor {name} has the name of a net: give it another name"
            );
            return Err(layout.error(conductor.at, message));
        }
        metals.push(Metal { net, shape, heights: layers[&of.layer] });
    }
    Ok((nets, metals))
}

/// The part of the plane in which what has no end is modelled.
fn field(layout: &Layout) -> Result<[Point; 2], Error> {
    let [low, high] = outline(layout);
    let margin = match layout.domain {
        Some(Domain::Box(field)) => return Ok(field),
        Some(Domain::Margin(margin)) => margin,
        None => [(high[0] - low[0]).max(high[1] - low[1]); 2],
    };
    Ok([[low[0] - margin[0], low[1] - margin[1]], [high[0] + margin[0], high[1] + margin[1]]])
}

/// The corners of the rectangle around all shapes.
fn outline(layout: &Layout) -> [Point; 2] {
    bounds(layout.shapes.iter().flat_map(|shape| shape.polygon.iter().flatten()))
}

/// The dielectrics, those first that count first: on metal before those on them.
fn order(layout: &Layout, layers: &HashMap<String, [f64; 2]>) -> Result<Vec<usize>, Error> {
    let mut depths: HashMap<&str, usize> = layers.keys().map(|name| (name.as_str(), 0)).collect();
    let is_on = |k: &usize| layout.dielectrics[*k].value.wraps.is_some();
    let all = 0..layout.dielectrics.len();
    let (mut left, last): (Vec<usize>, Vec<usize>) = all.partition(is_on);
    let mut depth = 0;
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_next = |k: &usize| {
            depths.get(layout.dielectrics[*k].value.wraps()).is_some_and(|of| *of == depth)
        };
        let (next, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(is_next);
        if next.is_empty() {
            let first = &layout.dielectrics[others[0]];
            return Err(unknown_name(layout, first.at, first.value.wraps()));
        }
        depth += 1;
        depths.extend(next.iter().map(|&k| (layout.dielectrics[k].name.as_str(), depth)));
        order.extend(next);
        left = others;
    }
    order.extend(last);
    Ok(order)
}

/// The metal of a layer, of all nets.
fn of_layer(layout: &Layout, metals: &[Metal], layer: &str, heights: [f64; 2]) -> Vec<Claim> {
    let own = metals.iter().map(|metal| &layout.shapes[metal.shape]);
    let own: Vec<_> =
        own.filter(|shape| shape.layer == layer).map(|shape| shape.polygon.clone()).collect();
    if own.is_empty() {
        return Vec::new();
    }
    vec![Claim { place: Place::Region(union(&own)), heights, permittivity: 1.0 }]
}

/// What a film on a body is: the body wider and higher, and a layer where the body is not.
fn film(
    wrapped: &[Claim],
    of: &Named<Dielectric>,
    bottom: f64,
    [over, beside, on_field]: [f64; 3],
    [low, high]: [Point; 2],
) -> Vec<Claim> {
    let permittivity = of.value.permittivity;
    let field = vec![vec![vec![low, [high[0], low[1]], high, [low[0], high[1]]]]];
    let mut claims = Vec::new();
    let mut covered = Some(Region::new());
    for Claim { place, heights, .. } in wrapped {
        let heights = [heights[0], whole(heights[1] + over)];
        let place = match place {
            Place::Field => {
                covered = None;
                Place::Field
            }
            Place::Region(region) => {
                covered.iter_mut().for_each(|covered| covered.extend(region.iter().cloned()));
                let wide = if beside > 0.0 { grown(region, beside) } else { region.clone() };
                Place::Region(intersection(&wide, &field))
            }
        };
        claims.push(Claim { place, heights, permittivity });
    }
    if on_field > 0.0
        && let Some(covered) = covered
    {
        let place = if covered.is_empty() {
            Place::Field
        } else {
            Place::Region(difference(&field, &covered))
        };
        claims.push(Claim { place, heights: [bottom, whole(bottom + on_field)], permittivity });
    }
    claims
}
