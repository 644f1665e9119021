//! Layouts of chips as problems: layers of metal between heights, vias between these, dielectrics,
//! and for each conductor its shapes on the layers.
//!
//! [`pex25d`] reads the text format of KLayout-PEX, [`gds`] GDSII files with a file that says what
//! their layers are. Both make a `Layout`, `scene` finds what claims which place, and prisms
//! become the surface. Where everything lies in one medium between layers without end, these are
//! layers of the description; else dielectrics become bodies in the part of the plane around the
//! layout. `docs/user-guide.md` has the formats.

mod content;
pub mod gds;
pub mod pex25d;
mod scene;

use bem::{Beyond, Mirror, Stack, StackLayer};
use mesh::Mesh;
use mesh::files::{Error, Reading};
use mesh::mirror::Plane;
use mesh::outlines::bounds;
use mesh::prisms::{self, OUTSIDE, Prism};

use crate::roles::{self, Role, Roles};
use crate::scene::description::Description;
use crate::scene::requests::Reduction;
use crate::units::LengthUnit;
use content::{FINER, Layout, Owner, whole};
use scene::{Claim, Metal, Place, Scene};

/// Layers' images are as exact as the first of these for which there are few enough.
const IMAGES: [f64; 3] = [1e-6, 1e-5, 1e-4];

/// The name of the reduced matrix in which conductors of no net float.
pub const WITHOUT_FLOATING: &str = "without_floating";

/// The name of the reduced matrix in which conductors of no net are at 0 V.
pub const WITHOUT_GROUNDED: &str = "without_grounded";

/// The axis that layers are perpendicular to.
const UP: usize = 2;

/// A layout as a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name of the layout's cell, if the file has it.
    pub title: Option<String>,
    /// Nets and floating conductors in the order of their shapes, media, the ground plane.
    pub description: Description,
    /// Conductors and interfaces in the unit of the description.
    pub mesh: Mesh,
    /// What was read, and sentences for people about it.
    pub reading: Reading,
}

impl Model {
    /// The problem that a layout describes.
    fn new(mut layout: Layout) -> Result<Self, Error> {
        let scene = Scene::new(&layout)?;
        let stack = stack(&scene).and_then(|stack| with_images(stack, &scene));
        let bodies = if stack.is_some() { &[][..] } else { &scene.claims };
        let background = if stack.is_some() { 1.0 } else { scene.background };
        let (media, prisms) = prisms(&layout, &scene, bodies, background);
        let first_medium = 1 + scene.nets.len() as u32;
        let is_net = |label: u32| label != OUTSIDE && label < first_medium;
        let prisms::Surface { mut mesh, sides } =
            prisms::surface(&prisms, is_net).map_err(|fault| no_surface(&layout, &scene, fault))?;
        // The ground plane is there without faces in it.
        let is_above = |t: usize| {
            mesh.corners(t).iter().any(|x| scene.ground.is_none_or(|ground| x[UP] > ground))
        };
        let kept: Vec<usize> = (0..sides.len()).filter(|&t| is_above(t)).collect();
        let sides: Vec<[u32; 2]> = kept.iter().map(|&t| sides[t]).collect();
        mesh.triangles = kept.iter().map(|&t| mesh.triangles[t]).collect();
        mesh.drop_unused();
        let per_unit = (1.0 / layout.grid).round();
        let is_fraction = (per_unit * layout.grid - 1.0).abs() < 1e-9;
        let length = |steps: f64| if is_fraction { steps / per_unit } else { steps * layout.grid };
        let height = |steps: f64| match is_fraction {
            // Two roundings would show.
            true => (steps * FINER).round() / (per_unit * FINER),
            false => length(steps),
        };
        for [x, y, z] in &mut mesh.vertices {
            (*x, *y, *z) = (length(*x), length(*y), height(*z));
        }
        let medium = |label: u32| {
            let own = label.checked_sub(first_medium).map_or(background, |k| media[k as usize]);
            own.to_bits()
        };
        let mut roles = Roles::default();
        let mut role_of = Vec::with_capacity(sides.len());
        for (triangle, [front, back]) in mesh.triangles.iter_mut().zip(sides) {
            let role = if is_net(back) {
                let conductor = Some(back as usize - 1);
                Role { conductor, thin: false, sides: [medium(front); 2] }
            } else {
                let mut sides = [medium(front), medium(back)];
                if sides[0] > sides[1] {
                    sides.reverse();
                    triangle.swap(1, 2);
                }
                Role { conductor: None, thin: false, sides }
            };
            role_of.push(roles.index(role) as u32);
        }
        let names: Vec<String> = scene.nets.iter().map(|net| net.name.clone()).collect();
        let mut description = roles::grouped(&mut mesh, &roles.all, &role_of, names);
        description.unit = layout.unit.unwrap_or(LengthUnit::Micrometre);
        match stack {
            Some(stack) if stack.layers.is_empty() => {
                description.relative_permittivity = scene.background;
                description.planes = ground(&scene, height);
            }
            Some(stack) => {
                let thin =
                    |layer: StackLayer| StackLayer { thickness: height(layer.thickness), ..layer };
                let layers = stack.layers.into_iter().map(thin).collect();
                description.stack = Some(Stack { at: height(stack.at), layers, ..stack });
            }
            None => description.planes = ground(&scene, height),
        }
        let of = |owner: &Owner| -> Vec<String> {
            let own = scene.nets.iter().filter(|net| net.owner == *owner);
            own.map(|net| net.name.clone()).collect()
        };
        let [floating, grounded] = [of(&Owner::Floating), of(&Owner::Grounded)];
        let all = scene.nets.len();
        if !floating.is_empty() && floating.len() < all {
            let name = WITHOUT_FLOATING.to_owned();
            description.reductions.push(Reduction { name, floating, ..Reduction::default() });
        }
        if !grounded.is_empty() && grounded.len() < all {
            let name = WITHOUT_GROUNDED.to_owned();
            description.reductions.push(Reduction { name, grounded, ..Reduction::default() });
        }
        let has_field = bodies.iter().any(|claim| matches!(claim.place, Place::Field));
        if has_field {
            let [[x, y], [u, v]] = scene.field;
            layout.notes.push(format!(
                "layers of dielectric end at the domain's walls, {} by {} {}; {} where these are",
                length(u - x),
                length(v - y),
                description.unit.name(),
                layout.domain_said_by
            ));
        }
        let elements = vec![("triangle".to_owned(), mesh.triangles.len())];
        let reading =
            Reading { format: layout.format, elements, notes: layout.notes, normals: None };
        Ok(Self { title: layout.title, description, mesh, reading })
    }
}

/// The layers without end, in grid units, if there is nothing but these and metal in some of them:
/// films are of the permittivity around them.
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
    Some(Stack {
        axis: UP,
        at,
        below: if scene.ground.is_some() { Beyond::Ground } else { beyond },
        layers: layers.collect(),
        above: beyond,
        tolerance: IMAGES[0],
    })
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
    let all = IMAGES.into_iter().map(|tolerance| Stack { tolerance, ..stack.clone() });
    all.into_iter().find(|stack| match regions[..] {
        [region] => stack.images(region, size).is_ok(),
        _ => bem::Between::new(stack, &regions, size).is_ok(),
    })
}

fn ground(scene: &Scene, height: impl Fn(f64) -> f64) -> Vec<Mirror> {
    let plane = |at: f64| Mirror { plane: Plane { axis: UP, at: height(at) }, odd: true };
    scene.ground.map(plane).into_iter().collect()
}

/// All bodies above the ground plane: metal first, whose labels are its net's number from 1, then
/// these dielectrics. Also the permittivities of the labels after those of nets.
fn prisms(
    layout: &Layout,
    scene: &Scene,
    claims: &[Claim],
    background: f64,
) -> (Vec<f64>, Vec<Prism>) {
    let mut prisms: Vec<Prism> = scene
        .metals
        .iter()
        .map(|metal| Prism {
            rings: layout.shapes[metal.shape].polygon.clone(),
            heights: metal.heights,
            label: 1 + metal.net as u32,
        })
        .collect();
    let [low, high] = scene.field;
    let field = vec![vec![vec![low, [high[0], low[1]], high, [low[0], high[1]]]]];
    let mut media: Vec<f64> = Vec::new();
    for claim in claims {
        let label = if claim.permittivity == background {
            OUTSIDE
        } else {
            let known = media.iter().position(|own| *own == claim.permittivity);
            let index = known.unwrap_or_else(|| {
                media.push(claim.permittivity);
                media.len() - 1
            });
            (1 + scene.nets.len() + index) as u32
        };
        let [bottom, top] = claim.heights;
        let heights = [scene.ground.map_or(bottom, |ground| bottom.max(ground)), top];
        if heights[0] >= heights[1] {
            continue;
        }
        let region = match &claim.place {
            Place::Field => &field,
            Place::Region(region) => region,
        };
        prisms.extend(region.iter().map(|rings| Prism { rings: rings.clone(), heights, label }));
    }
    (media, prisms)
}

/// The error of shapes that no surface can be made of.
fn no_surface(layout: &Layout, scene: &Scene, fault: prisms::Fault) -> Error {
    let unit = layout.unit.map_or("", LengthUnit::name);
    // A coordinate in the file's unit.
    let told = |steps: f64| match steps * layout.grid {
        x if x == 0.0 || (1e-3..1e6).contains(&x.abs()) => format!("{}", (1e6 * x).round() / 1e6),
        x => format!("{x:.3e}"),
    };
    match fault {
        prisms::Fault::Meeting { prisms, .. } => meeting(layout, scene, prisms),
        prisms::Fault::Coordinate { prism, value, why } => {
            let value = told(value);
            let Some(metal) = scene.metals.get(prism) else {
                let at = layout.dielectrics.first().map_or(layout.shapes[0].at, |first| first.at);
                let message = format!(
                    "the body of a dielectric has a coordinate of {value} {unit}, which is {why}: look at the heights and thicknesses \
                     of dielectrics, and at how far the domain goes"
                );
                return layout.error(at, message);
            };
            let shape = &layout.shapes[metal.shape];
            let message = format!(
                "this shape of net \"{}\" on {} has a coordinate of {value} {unit}, which is {why}: look at its corners, and at the \
                 heights of its layer",
                scene.nets[metal.net].name, shape.layer
            );
            layout.error(shape.at, message)
        }
        prisms::Fault::Crossings { at: [x, y] } => {
            let is_there = |metal: &&Metal| {
                let ring = layout.shapes[metal.shape].polygon.first();
                let [low, high] = bounds(ring.into_iter().flatten());
                (low[0]..=high[0]).contains(&x) && (low[1]..=high[1]).contains(&y)
            };
            let there = scene.metals.iter().rfind(is_there);
            let shape = &layout.shapes[there.map_or(0, |metal| metal.shape)];
            let message = format!(
                "outlines cross too often, or at too small an angle, around ({}, {}) {unit}, as that of this shape on {} does: move \
                 its corners by a step of the grid, or leave out what other shapes cover",
                told(x),
                told(y),
                shape.layer
            );
            layout.error(shape.at, message)
        }
    }
}

/// The error of two nets that touch, at the later shape.
fn meeting(layout: &Layout, scene: &Scene, prisms: [usize; 2]) -> Error {
    let [a, b] = prisms.map(|k| scene.metals[k.min(scene.metals.len() - 1)]);
    let (former, later) = if a.shape < b.shape { (a, b) } else { (b, a) };
    let [of_former, of_later] = [former, later].map(|metal| &layout.shapes[metal.shape]);
    let message = format!(
        "this shape of net \"{}\" on {} touches or overlaps that of net \"{}\" on {} in {}: leave a gap between them, or give both \
         the same net",
        scene.nets[later.net].name,
        of_later.layer,
        scene.nets[former.net].name,
        of_former.layer,
        of_former.at.place
    );
    layout.error(of_later.at, message)
}
