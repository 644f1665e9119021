//! Layouts of chips as problems: layers of metal between heights, vias between these, dielectrics,
//! and for each conductor its shapes on the layers.
//!
//! [`pex25d`] reads the text format of KLayout-PEX, [`gds`] GDSII files with a file that says what
//! their layers are. Both make a `Layout`, `scene` finds what claims which place, and prisms
//! become the surface. Where everything lies in one medium between layers without end, these are
//! layers of the description; else dielectrics become bodies in the part of the plane around the
//! layout. `docs/user-guide.md` has the formats.

mod bodies;
mod content;
mod faults;
pub mod gds;
mod layers;
pub mod pex25d;
mod scene;

use bem::{Mirror, Stack};
use farad::{Description, LengthUnit, Reduction};
use mesh::Mesh;
use mesh::files::{Error, Reading};
use mesh::mirror::Plane;
use mesh::prisms;

use crate::roles::{self, Role, Roles};
use bodies::Bodies;
use content::{FINER, Layout, Owner, UP};
use faults::no_surface;
use scene::{Net, Place, Scene};

/// The name of the reduced matrix in which conductors of no net float.
pub const WITHOUT_FLOATING: &str = "without_floating";

/// The name of the reduced matrix in which conductors of no net are at 0 V.
pub const WITHOUT_GROUNDED: &str = "without_grounded";

/// A layout as a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name of the layout's cell, if the file has it.
    pub title: Option<String>,
    /// Nets and floating conductors in the order of their shapes, media, the ground plane.
    pub description: Description,
    /// Conductors and interfaces in the unit of the description.
    pub mesh: Mesh,
    /// Counts of the file's content, and sentences for people about it.
    pub reading: Reading,
}

impl Model {
    /// The problem that a layout describes.
    fn new(mut layout: Layout) -> Result<Self, Error> {
        let scene = Scene::new(&layout)?;
        let stack = layers::layers(&scene);
        let (claims, background) = match stack {
            Some(_) => (&[][..], 1.0),
            None => (&scene.claims[..], scene.background),
        };
        let bodies = Bodies::new(&layout, &scene, claims, background);
        let prisms::Surface { mut mesh, sides } =
            prisms::surface(&bodies.prisms, |label| bodies.is_net(label))
                .map_err(|fault| no_surface(&layout, &scene, fault))?;
        let sides = above_ground(&mut mesh, &sides, scene.ground);
        let scale = Scale::new(layout.grid);
        for [x, y, z] in &mut mesh.vertices {
            (*x, *y, *z) = (scale.length(*x), scale.length(*y), scale.height(*z));
        }
        let mut roles = Roles::default();
        let role_of = assign(&mut mesh, &sides, &bodies, &mut roles);
        let names: Vec<String> = scene.nets.iter().map(|net| net.name.clone()).collect();
        let mut description = roles::grouped(&mut mesh, &roles.all, &role_of, names);
        description.unit = layout.unit.unwrap_or(LengthUnit::Micrometre);
        surround(&mut description, stack, &scene, scale);
        description.reductions = reductions(&scene.nets);
        if claims.iter().any(|claim| matches!(claim.place, Place::Field)) {
            let [[x, y], [u, v]] = scene.field;
            layout.notes.push(format!(
                "layers of dielectric end at the domain's walls, {} by {} {}; {} where these are",
                scale.length(u - x),
                scale.length(v - y),
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

/// Lengths of a layout, which are in grid units, in the unit of the description.
#[derive(Clone, Copy)]
struct Scale {
    grid: f64,
    /// Grid units in a unit, if that is a whole number: quotients by it are the nearest numbers to
    /// decimal fractions.
    per_unit: Option<f64>,
}

impl Scale {
    fn new(grid: f64) -> Self {
        let per_unit = (1.0 / grid).round();
        let is_whole = (per_unit * grid - 1.0).abs() < 1e-9;
        Self { grid, per_unit: is_whole.then_some(per_unit) }
    }

    fn length(self, steps: f64) -> f64 {
        self.per_unit.map_or(steps * self.grid, |per_unit| steps / per_unit)
    }

    /// Heights are multiples of a fraction of the grid.
    fn height(self, steps: f64) -> f64 {
        match self.per_unit {
            // Two roundings would show.
            Some(per_unit) => (steps * FINER).round() / (per_unit * FINER),
            None => self.length(steps),
        }
    }
}

/// Leaves out triangles in the ground plane, which is there without faces in it. Returns the sides
/// of the others.
fn above_ground(mesh: &mut Mesh, sides: &[[u32; 2]], ground: Option<f64>) -> Vec<[u32; 2]> {
    let is_above =
        |t: usize| mesh.corners(t).iter().any(|x| ground.is_none_or(|ground| x[UP] > ground));
    let kept: Vec<usize> = (0..sides.len()).filter(|&t| is_above(t)).collect();
    mesh.triangles = kept.iter().map(|&t| mesh.triangles[t]).collect();
    mesh.drop_unused();
    kept.iter().map(|&t| sides[t]).collect()
}

/// Finds the role of each triangle by the labels on its sides. Interfaces are turned so that the
/// lower permittivity is in front.
fn assign(mesh: &mut Mesh, sides: &[[u32; 2]], bodies: &Bodies, roles: &mut Roles) -> Vec<u32> {
    let medium = |label: u32| bodies.permittivity(label).to_bits();
    let mut role_of = Vec::with_capacity(sides.len());
    for (triangle, &[front, back]) in mesh.triangles.iter_mut().zip(sides) {
        let role = if bodies.is_net(back) {
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
    role_of
}

/// Adds what has no surface: layers or the medium around all, and the ground plane.
fn surround(description: &mut Description, stack: Option<Stack>, scene: &Scene, scale: Scale) {
    match stack {
        Some(mut stack) if !stack.layers.is_empty() => {
            stack.at = scale.height(stack.at);
            for layer in &mut stack.layers {
                layer.thickness = scale.height(layer.thickness);
            }
            description.stack = Some(stack);
            return;
        }
        Some(_) => description.relative_permittivity = scene.background,
        None => {}
    }
    let plane = |height: f64| Plane { axis: UP, at: scale.height(height) };
    let ground = scene.ground.map(|height| Mirror { plane: plane(height), odd: true });
    description.planes = ground.into_iter().collect();
}

/// The reduced matrices without the conductors of no net, where there are others.
fn reductions(nets: &[Net]) -> Vec<Reduction> {
    let names = |owner: Owner| -> Vec<String> {
        nets.iter().filter(|net| net.owner == owner).map(|net| net.name.clone()).collect()
    };
    let [floating, grounded] = [names(Owner::Floating), names(Owner::Grounded)];
    let is_some = |names: &[String]| !names.is_empty() && names.len() < nets.len();
    let mut reductions = Vec::new();
    if is_some(&floating) {
        let name = WITHOUT_FLOATING.to_owned();
        reductions.push(Reduction::default().name(name).floating(floating));
    }
    if is_some(&grounded) {
        let name = WITHOUT_GROUNDED.to_owned();
        reductions.push(Reduction::default().name(name).grounded(grounded));
    }
    reductions
}
