//! The same case said in other ways: as a whole without planes, turned, scaled, shifted,
//! renumbered. Each comes with how to take its numbers back.

use std::collections::HashMap;

use super::outcome::{COULOMB, Outcome};
use super::random::Random;
use super::scene::{Charge, Conductor, Dielectric, Scene, Setting};
use super::vector::{Point, dot, norm, scaled, sub, times};

type Back = Box<dyn Fn(&Outcome) -> Outcome + Send + Sync>;

/// Another way to say a case.
pub struct Variant {
    pub scene: Scene,
    /// Its numbers as those of the first.
    pub back: Back,
}

fn transposed(m: [Point; 3]) -> [Point; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

/// A signed permutation of the axes.
fn signed_permutation(random: &mut Random) -> [Point; 3] {
    let order = random.permutation(3);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| if order[i] == j { random.sign() } else { 0.0 })
    })
}

/// Turned by any angle, or with planes to other axes and perhaps mirrored.
pub fn turned(scene: &Scene, random: &mut Random) -> Variant {
    let is_free = scene.planes.is_empty();
    let rotation = if is_free { random.rotation() } else { signed_permutation(random) };
    let turn = move |x: Point| times(rotation, x);
    let mut other = scene.clone();
    other.map(turn);
    other.field = turn(scene.field);
    for plane in &mut other.planes {
        let mut at = [0.0; 3];
        at[plane.axis] = 1.0;
        let along = turn(at);
        plane.axis = (0..3).find(|&k| along[k] != 0.0).unwrap();
        plane.at *= along[plane.axis];
    }
    let inverse = transposed(rotation);
    // Torques are axial: a mirror image turns them around.
    let [a, b, c] = rotation;
    let handed = dot(a, super::vector::cross(b, c)).signum();
    let back = move |found: &Outcome| {
        let mut found = found.clone();
        let turn_back = |x: Point| times(inverse, x);
        for (force, torque) in found.forces.values_mut() {
            (*force, *torque) = (turn_back(*force), scaled(turn_back(*torque), handed));
        }
        found.probes.iter_mut().for_each(|(_, field)| *field = turn_back(*field));
        // R^T A R, by rows and by columns.
        found.polarisability = found.polarisability.map(|a| {
            let half = transposed(a).map(turn_back);
            transposed(half).map(turn_back)
        });
        found
    };
    Variant { scene: other, back: Box::new(back) }
}

/// Larger or smaller by `factor`, potentials as they were, in a unit of this length in metres.
pub fn scaled_by(scene: &Scene, factor: f64, unit: (&'static str, f64)) -> Variant {
    let mut other = scene.clone();
    let length = factor / unit.1;
    other.map(|x| scaled(x, length));
    other.planes.iter_mut().for_each(|plane| plane.at *= length);
    other.unit = unit;
    other.field = scaled(scene.field, 1.0 / factor);
    let kappa = other.ions.iter_mut().flat_map(|ions| &mut ions.kappa);
    kappa.for_each(|kappa| *kappa /= length);
    other.charges.iter_mut().for_each(|charge| charge.coulomb *= factor);
    for conductor in &mut other.conductors {
        if let Setting::Charge(charge) = &mut conductor.setting {
            *charge *= factor;
        }
    }
    let back = move |found: &Outcome| {
        let mut found = found.clone();
        found.capacitance.iter_mut().flatten().for_each(|c| *c /= factor);
        found.conductors.iter_mut().for_each(|(_, charge)| *charge /= factor);
        found.energy = found.energy.map(|energy| energy / factor);
        found.energy_bar = found.energy_bar.map(|bar| bar / factor);
        found.forces.values_mut().for_each(|(_, torque)| *torque = scaled(*torque, 1.0 / factor));
        found.probes.iter_mut().for_each(|(_, field)| *field = scaled(*field, factor));
        found.polarisability =
            found.polarisability.map(|a| a.map(|row| row.map(|x| x / (factor * factor * factor))));
        found
    };
    Variant { scene: other, back: Box::new(back) }
}

/// Elsewhere, by some sizes of it; potentials change by that of the field.
pub fn shifted(scene: &Scene, by: Point) -> Variant {
    let mut other = scene.clone();
    other.moved(by);
    let grounded = |k: usize| scene.planes.iter().any(|plane| plane.ground && plane.axis == k);
    let along = std::array::from_fn(|k| if grounded(k) { 0.0 } else { by[k] });
    let volt = -dot(scene.field, along);
    if volt != 0.0 {
        for conductor in &mut other.conductors {
            conductor.setting = match conductor.setting {
                Setting::None => Setting::Potential(volt),
                Setting::Potential(own) => Setting::Potential(own + volt),
                charge => charge,
            };
        }
    }
    let back = move |found: &Outcome| {
        let mut found = found.clone();
        found.conductors.iter_mut().for_each(|(own, _)| *own -= volt);
        found.probes.iter_mut().for_each(|(own, _)| *own -= volt);
        found
    };
    Variant { scene: other, back: Box::new(back) }
}

/// Vertices and triangles in another order, and their corners too; some triangles run around the
/// other way.
pub fn renumbered(scene: &Scene, flip: bool, random: &mut Random) -> Variant {
    let mut other = scene.clone();
    let vertex = random.permutation(scene.vertices.len());
    for (old, &new) in vertex.iter().enumerate() {
        other.vertices[new] = scene.vertices[old];
    }
    for (new, old) in random.permutation(scene.triangles.len()).into_iter().enumerate() {
        let mut corners = scene.triangles[old].map(|v| vertex[v as usize] as u32);
        corners.rotate_left(random.below(3));
        if flip && random.chance(0.5) {
            corners.swap(0, 1);
        }
        other.triangles[new] = corners;
        other.patch_of[new] = scene.patch_of[old];
    }
    Variant { scene: other, back: Box::new(Outcome::clone) }
}

/// Dielectrics list the surfaces of what is in them, or no longer do.
pub fn relisted(scene: &Scene) -> Option<Variant> {
    let mut other = scene.clone();
    other.lists_all = !scene.lists_all;
    // What a dielectric lists it is; what it does not list, but has in it, is part of it where
    // forces are meant.
    let changed: Vec<String> = scene
        .dielectrics
        .iter()
        .filter(|d| !d.optional.is_empty())
        .map(|d| d.name.clone())
        .collect();
    let any = !changed.is_empty();
    let back = move |found: &Outcome| Outcome { other_bodies: changed.clone(), ..found.clone() };
    any.then(|| Variant { scene: other, back: Box::new(back) })
}

/// Media given on the sides of surfaces, where there are no charges that would have to lie in one.
pub fn by_sides(scene: &Scene) -> Option<Variant> {
    let mut other = scene.clone();
    other.by_sides = true;
    let dielectrics: Vec<String> = scene.dielectrics.iter().map(|d| d.name.clone()).collect();
    let possible = !dielectrics.is_empty() && scene.charges.is_empty();
    let back =
        move |found: &Outcome| Outcome { other_bodies: dielectrics.clone(), ..found.clone() };
    possible.then(|| Variant { scene: other, back: Box::new(back) })
}

/// Ions given by their strength, not by what they do.
pub fn by_strength(scene: &Scene) -> Option<Variant> {
    let mut other = scene.clone();
    other.ions.as_mut()?.by_strength = true;
    Some(Variant { scene: other, back: Box::new(Outcome::clone) })
}

/// An image: a bit for each plane that it is mirrored in.
type Image = usize;

/// A part with its planes, which go to 0: there mirroring is exact and the field's potential is 0.
#[derive(Clone)]
struct Mirrored {
    part: Scene,
    /// The grounded planes' bits.
    ground: Image,
}

impl Mirrored {
    fn new(part: &Scene) -> Self {
        let grounded = part.planes.iter().enumerate().filter(|(_, plane)| plane.ground);
        Self { part: part.clone(), ground: grounded.map(|(k, _)| 1 << k).sum() }
    }

    fn images(&self) -> std::ops::Range<Image> {
        0..1 << self.part.planes.len()
    }

    /// The sign of an image's charges.
    fn sign(&self, g: Image) -> f64 {
        if (g & self.ground).count_ones() % 2 == 1 { -1.0 } else { 1.0 }
    }

    /// Where a point of the part is once its planes are at 0.
    fn home(&self, mut x: Point) -> Point {
        self.part.planes.iter().for_each(|plane| x[plane.axis] -= plane.at);
        x
    }

    fn image(&self, x: Point, g: Image) -> Point {
        let mut x = self.home(x);
        for (_, plane) in self.part.planes.iter().enumerate().filter(|(k, _)| g >> k & 1 == 1) {
            x[plane.axis] = -x[plane.axis];
        }
        x.map(|c| c + 0.0)
    }

    /// The bits of the planes that patches touch: across these a body is one with its image.
    fn touched(&self, patches: &[usize]) -> Image {
        let planes = self.part.planes.iter().enumerate();
        let touched = planes.filter(|(_, plane)| self.part.touches(patches, **plane));
        touched.map(|(k, _)| 1 << k).sum()
    }

    /// The images of a body that are not one with an earlier one, being one across the planes of
    /// `one`.
    fn classes(&self, one: Image) -> impl Iterator<Item = Image> {
        self.images().filter(move |g| g & one == 0)
    }

    /// The patches of a class of images.
    fn members(&self, patches: &[usize], class: Image, one: Image) -> Vec<usize> {
        let of = self.images().filter(|g| g & !one == class);
        of.flat_map(|g| patches.iter().map(move |p| g * self.part.patches + p)).collect()
    }

    /// All triangles, without the planes and without bodies and charges.
    fn surface(&self) -> Scene {
        let part = &self.part;
        let mut whole = Scene {
            vertices: Vec::new(),
            triangles: Vec::new(),
            patch_of: Vec::new(),
            conductors: Vec::new(),
            dielectrics: Vec::new(),
            charges: Vec::new(),
            planes: Vec::new(),
            probes: part.probes.iter().map(|&x| self.home(x)).collect(),
            patches: part.patches * self.images().len(),
            ..part.clone()
        };
        let mut vertex_of: HashMap<[u64; 3], u32> = HashMap::new();
        for g in self.images() {
            for (corners, patch) in part.triangles.iter().zip(&part.patch_of) {
                let mut corners = corners.map(|v| {
                    let x = self.image(part.vertices[v as usize], g);
                    *vertex_of.entry(x.map(f64::to_bits)).or_insert_with(|| {
                        whole.vertices.push(x);
                        whole.vertices.len() as u32 - 1
                    })
                });
                if g.count_ones() % 2 == 1 {
                    corners.swap(1, 2);
                }
                whole.triangles.push(corners);
                whole.patch_of.push(g * part.patches + patch);
            }
        }
        whole
    }

    /// The conductors of the whole that are images of one of the part, each with its image.
    fn conductors(&self, conductor: &Conductor, one: Image) -> Vec<(Conductor, Image)> {
        let even = self.classes(one).filter(|g| g & self.ground == 0).count();
        let of_class = |class: Image| {
            let name = named(&conductor.name, class);
            let sign = self.sign(class);
            let setting = match conductor.setting {
                Setting::None => Setting::None,
                Setting::Potential(volt) => Setting::Potential(sign * volt),
                Setting::Charge(charge) => Setting::Charge(sign * charge / even as f64),
            };
            let patches = self.members(&conductor.patches, class, one);
            (Conductor { name, patches, setting }, class)
        };
        self.classes(one).map(of_class).collect()
    }

    fn dielectrics(&self, dielectric: &Dielectric) -> Vec<Dielectric> {
        let one = self.touched(&dielectric.patches);
        let of_class = |class: Image| Dielectric {
            name: named(&dielectric.name, class),
            permittivity: dielectric.permittivity,
            patches: self.members(&dielectric.patches, class, one),
            optional: self.members(&dielectric.optional, class, one),
        };
        self.classes(one).map(of_class).collect()
    }

    /// All charges; those in a plane of symmetry are their own images.
    fn charges(&self) -> Vec<Charge> {
        let mut all: Vec<Charge> = Vec::new();
        for g in self.images() {
            for charge in &self.part.charges {
                let position = self.image(charge.position, g);
                if all.iter().all(|known| known.position != position) {
                    let coulomb = self.sign(g) * charge.coulomb;
                    all.push(Charge { position, coulomb, ..*charge });
                }
            }
        }
        all
    }

    /// How many charges of the whole a charge of the part stands for.
    fn copies(&self, charge: &Charge) -> f64 {
        let planes = || self.part.planes.iter().filter(|plane| !plane.ground);
        let own = planes().filter(|plane| charge.position[plane.axis] == plane.at).count();
        2.0f64.powi((planes().count() - own) as i32)
    }

    /// The outcome of the part from that of the whole, whose conductors `of_part` lists for each of
    /// the part, with their images.
    fn back(&self, found: &Outcome, of_part: &[Vec<(usize, Image)>]) -> Outcome {
        let no_ground = |own: &&(usize, Image)| own.1 & self.ground == 0;
        let entry = |rows: &[(usize, Image)], columns: &[(usize, Image)]| -> f64 {
            let rows = rows.iter().filter(no_ground);
            rows.flat_map(|(i, _)| columns.iter().map(move |(j, g)| (*i, *j, *g)))
                .map(|(i, j, g)| self.sign(g) * found.capacitance[i][j])
                .sum()
        };
        let row = |rows: &Vec<(usize, Image)>| of_part.iter().map(|own| entry(rows, own)).collect();
        let conductor = |own: &Vec<(usize, Image)>| {
            let charge = own.iter().filter(no_ground).map(|(i, _)| found.conductors[*i].1).sum();
            (found.conductors[own[0].0].0, charge)
        };
        let from_ground = self.ground_terms();
        let reaction: Vec<f64> =
            found.reaction.iter().zip(&from_ground).map(|(volt, more)| volt + more).collect();
        let each = self.part.charges.iter().zip(&reaction);
        let energy: f64 = each.map(|(q, volt)| 0.5 * self.copies(q) * q.coulomb * volt).sum();
        let has_state = !found.conductors.is_empty();
        Outcome {
            capacitance: of_part.iter().map(row).collect(),
            conductors: of_part.iter().filter(|_| has_state).map(conductor).collect(),
            energy: found.energy.map(|_| energy),
            reaction,
            ..found.clone()
        }
    }

    /// What images in ground planes make at each charge of the part: in the whole they are charges
    /// of their own.
    fn ground_terms(&self) -> Vec<f64> {
        let at = |charge: &Charge| -> f64 {
            let here = self.image(charge.position, 0);
            let mut known: Vec<Point> = Vec::new();
            let mut volt = 0.0;
            for g in self.images().filter(|g| g & self.ground != 0) {
                for other in &self.part.charges {
                    let x = self.image(other.position, g);
                    if !known.contains(&x) {
                        known.push(x);
                        let Charge { coulomb, permittivity, .. } = other;
                        volt += self.sign(g) * COULOMB * coulomb
                            / (permittivity * norm(sub(here, x)) * self.part.unit.1);
                    }
                }
            }
            volt
        };
        self.part.charges.iter().map(at).collect()
    }
}

/// The name of an image of a body.
fn named(name: &str, class: Image) -> String {
    if class == 0 { name.to_owned() } else { format!("{name}_{class}") }
}

/// All there is with its images, without planes.
pub fn whole(scene: &Scene) -> Option<Variant> {
    if scene.planes.is_empty() {
        return None;
    }
    let mirrored = Mirrored::new(scene);
    let mut whole = mirrored.surface();
    // For each conductor of the part those of the whole, with their images.
    let mut of_part: Vec<Vec<(usize, Image)>> = Vec::new();
    let mut other_bodies = Vec::new();
    for conductor in &scene.conductors {
        let touched = mirrored.touched(&conductor.patches);
        // In fields through a plane of symmetry a conductor and its image are one.
        let one = if scene.polarisability { mirrored.images().len() - 1 } else { touched };
        if one != touched {
            other_bodies.push(conductor.name.clone());
        }
        let (own, images): (Vec<_>, Vec<_>) =
            mirrored.conductors(conductor, one).into_iter().unzip();
        of_part.push((whole.conductors.len()..).zip(images).collect());
        whole.conductors.extend(own);
    }
    let dielectrics = scene.dielectrics.iter();
    whole.dielectrics = dielectrics.flat_map(|own| mirrored.dielectrics(own)).collect();
    whole.charges = mirrored.charges();
    let back = move |found: &Outcome| Outcome {
        other_bodies: other_bodies.clone(),
        ..mirrored.back(found, &of_part)
    };
    Some(Variant { scene: whole, back: Box::new(back) })
}
