//! Three meshes of random smooth bodies: results converge at second order, that of flat facets with
//! vertices on the surface (docs/validation.md).

use std::path::Path;

use super::outcome::{self, Outcome, Way};
use super::random::Random;
use super::scene::{Charge, Conductor, Dielectric, Label, Plane, Scene, Setting};
use super::shapes::{Body, Ellipsoid};
use super::vector::{Point, scaled};

/// Triangles along an edge of an octant, on each of the meshes.
const MESHES: [usize; 3] = [4, 8, 16];

/// What the order may be. At h = radius / 4 the next term, of fourth order, is some percent of the
/// change from the first mesh to the second, which takes a tenth off the order (measured: 1.79 to
/// 1.94, median 1.88, in twelve cases).
const ORDERS: std::ops::Range<f64> = 1.7..2.2;

/// The order that one number shows.
#[derive(Clone, Debug)]
pub struct Order {
    pub what: String,
    pub values: [f64; 3],
    pub order: f64,
}

impl Order {
    pub fn failed(&self) -> bool {
        !ORDERS.contains(&self.order)
    }
}

/// What a case consists of, whatever its mesh.
struct Plan {
    core: Ellipsoid,
    coat: Option<f64>,
    other: Option<Ellipsoid>,
    permittivity: f64,
    charge: Option<(Point, f64)>,
    plane: Option<Plane>,
    /// Whether the core is a conductor.
    metal: bool,
}

fn plan(random: &mut Random) -> Plan {
    let axes = [0; 3].map(|_| random.between(0.7, 1.0));
    let plane = random.chance(0.5).then(|| {
        let (axis, ground) = (random.below(3), random.chance(0.5));
        Plane { axis, at: 0.0, ground }
    });
    let metal = random.chance(0.6);
    let coat = random.chance(0.5).then(|| random.between(1.4, 1.8));
    // Cut by the plane, or off it.
    let (mut centre, mut cut) = ([0.0; 3], [false; 3]);
    if let Some(plane) = plane {
        if plane.ground && metal {
            centre[plane.axis] = 1.0 + 1.8 * axes[plane.axis];
        } else {
            cut[plane.axis] = true;
        }
    }
    let free = (0..3).find(|&k| plane.is_none_or(|plane| plane.axis != k)).unwrap_or(0);
    let mut far = centre;
    far[free] += 4.0;
    let other = random.chance(0.5).then(|| Ellipsoid {
        axes: [0; 3].map(|_| random.between(0.7, 1.0)),
        centre: far,
        n: 1,
        cut: [false; 3],
    });
    let other = other.filter(|_| !cut.contains(&true) && metal);
    let mut position = scaled(centre, 1.0);
    position[free] -= 2.9;
    if let Some(plane) = plane {
        position[plane.axis] += 0.4;
    }
    let charge =
        (!metal || random.chance(0.5)).then(|| (position, random.between(0.5, 2.0) * 1e-10));
    let core = Ellipsoid { axes, centre, n: 1, cut };
    Plan { core, coat, other, permittivity: random.log_between(2.0, 80.0), charge, plane, metal }
}

impl Plan {
    fn scene(&self, n: usize) -> Scene {
        let mut body = Body::default();
        let core = if self.metal { Label::Metal(0) } else { Label::Dielectric(0) };
        let coat = Label::Dielectric(usize::from(!self.metal));
        let outer = if self.coat.is_some() { coat } else { Label::Surroundings };
        let sized = |ellipsoid: &Ellipsoid, factor: f64| Ellipsoid {
            axes: scaled(ellipsoid.axes, factor),
            centre: ellipsoid.centre,
            n,
            cut: ellipsoid.cut,
        };
        let mut ends = Vec::new();
        sized(&self.core, 1.0).add_to(&mut body, [outer, core], None);
        ends.push(body.pieces.len());
        if let Some(factor) = self.coat {
            sized(&self.core, factor).add_to(&mut body, [Label::Surroundings, coat], None);
        }
        ends.push(body.pieces.len());
        if let Some(other) = &self.other {
            sized(other, 1.0).add_to(&mut body, [Label::Surroundings, Label::Metal(1)], None);
        }
        ends.push(body.pieces.len());
        let mut scene = Scene {
            vertices: Vec::new(),
            triangles: Vec::new(),
            patch_of: Vec::new(),
            patches: 3,
            sides: Vec::new(),
            by_sides: false,
            surroundings: 1.0,
            ions: None,
            conductors: Vec::new(),
            dielectrics: Vec::new(),
            charges: Vec::new(),
            field: [0.0; 3],
            planes: self.plane.into_iter().collect(),
            probes: Vec::new(),
            forces: true,
            polarisability: self.plane.is_none(),
            tolerance: 1e-6,
            density: "constant",
            unit: ("m", 1.0),
            lists_all: true,
        };
        let mut known = std::collections::HashMap::new();
        for (index, piece) in body.pieces.iter().enumerate() {
            let corners = piece.corners.map(|x| {
                let x = x.map(|c| c + 0.0);
                *known.entry(x.map(f64::to_bits)).or_insert_with(|| {
                    scene.vertices.push(x);
                    scene.vertices.len() as u32 - 1
                })
            });
            scene.triangles.push(corners);
            scene.patch_of.push(ends.iter().filter(|end| index >= **end).count());
        }
        let conductor = |name: &str, patch: usize, volt: f64| Conductor {
            name: name.to_owned(),
            patches: vec![patch],
            setting: Setting::Potential(volt),
        };
        let dielectric = |name: &str, permittivity: f64, patch: usize| Dielectric {
            name: name.to_owned(),
            permittivity,
            patches: vec![patch],
            optional: Vec::new(),
        };
        if self.metal {
            scene.conductors.push(conductor("core", 0, 1.0));
        } else {
            scene.dielectrics.push(dielectric("core", self.permittivity, 0));
        }
        if self.coat.is_some() {
            scene.dielectrics.push(dielectric("coat", 0.5 * self.permittivity + 1.0, 1));
        }
        if self.other.is_some() {
            scene.conductors.push(conductor("other", 2, -0.5));
        }
        if let Some((position, coulomb)) = self.charge {
            scene.charges.push(Charge { position, coulomb, permittivity: 1.0 });
        }
        // Groups without triangles are no groups.
        let used = (0..3).filter(|patch| scene.patch_of.contains(patch)).max().unwrap_or(0);
        scene.patches = used + 1;
        scene
    }
}

/// Numbers that are no small differences of large ones.
fn numbers(found: &Outcome) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (i, row) in found.capacitance.iter().enumerate() {
        all.push((format!("C{0}{0}", i + 1), row[i]));
    }
    if let [first, _] = &found.capacitance[..] {
        all.push(("C12".to_owned(), first[1]));
    }
    all.extend(found.energy.map(|energy| ("energy".to_owned(), energy)));
    if let Some(a) = found.polarisability {
        all.push(("polarisability".to_owned(), (a[0][0] + a[1][1] + a[2][2]) / 3.0));
    }
    all
}

/// The orders of case `index` of a seed; what the program said if it refuses it.
pub fn orders(seed: u64, index: usize, folder: &Path) -> Result<Vec<Order>, String> {
    let plan = plan(&mut Random::of(seed ^ 0xc0, index as u64));
    let folder = folder.join(format!("order_{seed}_{index}"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut found = Vec::new();
    for n in MESHES {
        let name = format!("mesh_{n}");
        plan.scene(n).write(&folder, &name);
        let outcome = outcome::run(&folder, &name, &Way::new("fmm")).map_err(|ended| {
            format!("{}: exit {}: {}", folder.display(), ended.code, ended.message)
        })?;
        found.push(numbers(&outcome));
    }
    let [first, second, third] = &found[..] else { return Err("no three meshes".to_owned()) };
    let each = first.iter().zip(second).zip(third);
    let orders: Vec<Order> = each
        .map(|((a, b), c)| Order {
            what: a.0.clone(),
            values: [a.1, b.1, c.1],
            order: ((b.1 - a.1) / (c.1 - b.1)).log2(),
        })
        .collect();
    if !orders.iter().any(Order::failed) {
        let _ = std::fs::remove_dir_all(&folder);
    }
    Ok(orders)
}
