//! Layouts of chips as problems: the text format PEX25D of KLayout-PEX.
//!
//! A file has layers of metal between heights, vias between these, dielectrics, and for each
//! conductor its shapes on the layers. Where everything lies in one medium between layers without
//! end, these are layers of the description; else dielectrics become bodies in the part of the
//! plane around the layout. `docs/user-guide.md` has the records that are read.
//!
//! ```
//! use farad::{Options, Problem, Quiet, pex25d};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "PEX25D 1.0\nUNITS LENGTH um GRID 0.001\nGROUND_PLANE sub Z_OFFSETS -0.3 0\n\
//!             METAL met1 Z_OFFSETS 1 1.4\nCONDUCTOR a a\n\
//!             BOX CONDUCTOR a LAYER met1 LL 0 0 UR 4 1\n";
//! let model = pex25d::read(Path::new("bar.pex25d"), false, |_| Ok(text.into()))?;
//! let solution = Problem::new(model.description, model.mesh)?.solve(&Options::default(), &Quiet)?;
//! assert_eq!(solution.matrices().maxwell_farad.len(), 1);
//! # Ok(())
//! # }
//! ```

mod scene;
mod text;

use std::path::Path;

use bem::{Beyond, Mirror, Stack, StackLayer};
use mesh::Mesh;
use mesh::files::{Error, Reading};
use mesh::mirror::Plane;
use mesh::prisms::{self, OUTSIDE, Prism};

use crate::description::Description;
use crate::reduction::Reduction;
use crate::roles::{self, Role, Roles};
use crate::units::LengthUnit;
use scene::{Claim, Place, Scene};
use text::Text;

/// Layers' images are as exact as the first of these for which there are few enough.
const IMAGES: [f64; 3] = [1e-6, 1e-5, 1e-4];

/// The matrix without floating conductors.
pub const WITHOUT_FLOATING: &str = "without_floating";

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

/// Whether the name ends in .pex25d.
pub fn is_name(path: &Path) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case("pex25d"))
}

/// Reads a file and those that it includes, whose bytes `load` gets; [`mesh::files::load`] gets
/// them from the disk. Records that are not known are skipped if this is `lenient`.
///
/// # Errors
/// Those of `load`, and [`Error::Format`], with the line, what is wrong and what to do.
pub fn read(
    path: &Path,
    lenient: bool,
    mut load: impl FnMut(&Path) -> Result<Vec<u8>, Error>,
) -> Result<Model, Error> {
    let mut text = Text::default();
    text.read(path, lenient, &mut load)?;
    let mut scene = Scene::new(&text)?;
    let stack = stack(&scene).and_then(|stack| with_images(stack, &scene));
    let bodies = if stack.is_some() { &[][..] } else { &scene.claims };
    let background = if stack.is_some() { 1.0 } else { scene.background };
    let (media, prisms) = prisms(&text, &scene, bodies, background);
    let first_medium = 1 + scene.nets.len() as u32;
    let is_net = |label: u32| label != OUTSIDE && label < first_medium;
    let prisms::Surface { mut mesh, sides } =
        prisms::surface(&prisms, is_net).map_err(|fault| meeting(&text, &scene, fault))?;
    // The ground plane is there without faces in it.
    let is_above =
        |t: usize| mesh.corners(t).iter().any(|x| scene.ground.is_none_or(|ground| x[UP] > ground));
    let kept: Vec<usize> = (0..sides.len()).filter(|&t| is_above(t)).collect();
    let sides: Vec<[u32; 2]> = kept.iter().map(|&t| sides[t]).collect();
    mesh.triangles = kept.iter().map(|&t| mesh.triangles[t]).collect();
    mesh.drop_unused();
    let per_unit = (1.0 / text.grid).round();
    let is_fraction = (per_unit * text.grid - 1.0).abs() < 1e-9;
    let length = |steps: f64| if is_fraction { steps / per_unit } else { steps * text.grid };
    mesh.vertices.iter_mut().flatten().for_each(|x| *x = length(*x));
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
    description.unit = text.unit.unwrap_or(LengthUnit::Micrometre);
    match stack {
        Some(stack) if stack.layers.is_empty() => {
            description.relative_permittivity = scene.background;
            description.planes = ground(&scene, length);
        }
        Some(stack) => {
            let thin =
                |layer: StackLayer| StackLayer { thickness: length(layer.thickness), ..layer };
            let layers = stack.layers.into_iter().map(thin).collect();
            description.stack = Some(Stack { at: length(stack.at), layers, ..stack });
        }
        None => description.planes = ground(&scene, length),
    }
    let floating: Vec<String> =
        scene.nets.iter().filter(|net| net.is_floating).map(|net| net.name.clone()).collect();
    if !floating.is_empty() && floating.len() < scene.nets.len() {
        let name = WITHOUT_FLOATING.to_owned();
        description.reductions.push(Reduction { name, floating, ..Reduction::default() });
    }
    let has_field = bodies.iter().any(|claim| matches!(claim.place, Place::Field));
    if has_field {
        let [[x, y], [u, v]] = scene.field;
        scene.notes.push(format!(
            "layers of dielectric end at the domain's walls, {} by {} {}; DOMAIN_MARGIN and DOMAIN_BOX say where these are",
            length(u - x),
            length(v - y),
            description.unit.name()
        ));
    }
    let format = format!("PEX25D {}", text.version);
    let elements = vec![("triangle".to_owned(), mesh.triangles.len())];
    let reading = Reading { format, elements, notes: scene.notes, normals: None };
    Ok(Model { title: text.title, description, mesh, reading })
}

/// The layers without end, in grid units, if there is nothing but these and metal in one of them.
fn stack(scene: &Scene) -> Option<Stack> {
    if scene.claims.iter().any(|claim| !matches!(claim.place, Place::Field)) {
        return None;
    }
    let floor = scene.ground.unwrap_or(f64::NEG_INFINITY);
    let mut heights: Vec<f64> = scene.claims.iter().flat_map(|claim| claim.heights).collect();
    heights.retain(|height| *height > floor);
    heights.extend(scene.ground);
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    let mut layers: Vec<(f64, f64)> = Vec::new();
    for pair in heights.windows(2) {
        let is_in = |claim: &&Claim| claim.heights[0] <= pair[0] && claim.heights[1] >= pair[1];
        let first = scene.claims.iter().find(is_in);
        let permittivity = first.map_or(scene.background, |claim| claim.permittivity);
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
    // An interface inside of metal, or metal on both sides of one.
    let [low, high] = scene.metal.map(|corner| corner[UP]);
    let inner = if layers.is_empty() { &[][..] } else { &bounds };
    if inner.iter().any(|bound| low < *bound && high > *bound) {
        return None;
    }
    let layers = layers.iter().zip(&bounds[1..]).map(|((low, permittivity), high)| StackLayer {
        thickness: high - low,
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

/// The layers, if images stand for them exactly enough.
fn with_images(stack: Stack, scene: &Scene) -> Option<Stack> {
    if stack.layers.is_empty() {
        return Some(stack);
    }
    let [low, high] = scene.metal;
    let size = (0..3).map(|k| (high[k] - low[k]).powi(2)).sum::<f64>().sqrt();
    let region = stack.region(low[UP], high[UP], 0.0)?;
    let all = IMAGES.into_iter().map(|tolerance| Stack { tolerance, ..stack.clone() });
    all.into_iter().find(|stack| stack.images(region, size).is_ok())
}

fn ground(scene: &Scene, length: impl Fn(f64) -> f64) -> Vec<Mirror> {
    let plane = |at: f64| Mirror { plane: Plane { axis: UP, at: length(at) }, odd: true };
    scene.ground.map(plane).into_iter().collect()
}

/// All bodies above the ground plane: metal first, whose labels are its net's number from 1, then
/// these dielectrics. Also the permittivities of the labels after those of nets.
fn prisms(text: &Text, scene: &Scene, claims: &[Claim], background: f64) -> (Vec<f64>, Vec<Prism>) {
    let mut prisms: Vec<Prism> = scene
        .metals
        .iter()
        .map(|metal| Prism {
            rings: text.shapes[metal.shape].polygon.clone(),
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

/// The error of two nets that touch, at the later shape.
fn meeting(text: &Text, scene: &Scene, fault: prisms::Fault) -> Error {
    let prisms::Fault::Meeting { prisms, .. } = fault else {
        return text.error(text.shapes[0].at, fault.to_string());
    };
    let [a, b] = prisms.map(|k| scene.metals[k.min(scene.metals.len() - 1)]);
    let (former, later) = if a.shape < b.shape { (a, b) } else { (b, a) };
    let [of_former, of_later] = [former, later].map(|metal| &text.shapes[metal.shape]);
    let message = format!(
        "this shape of net \"{}\" on {} touches or overlaps that of net \"{}\" on {} in line {}: leave a gap between them, or give both \
         the same net",
        scene.nets[later.net].name,
        of_later.layer,
        scene.nets[former.net].name,
        of_former.layer,
        of_former.at.line
    );
    text.error(of_later.at, message)
}
