//! The same case said in other ways: as a whole without planes, turned, scaled, shifted, renumbered. Each comes with how to take
//! its numbers back.

use std::collections::HashMap;

use super::outcome::{COULOMB, Outcome};
use super::random::Random;
use super::scene::{Charge, Conductor, Dielectric, Plane, Scene, Setting};
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

/// Larger or smaller by `factor`, potentials as they were, in a unit of so many metres.
pub fn scaled_by(scene: &Scene, factor: f64, unit: (&'static str, f64)) -> Variant {
    let mut other = scene.clone();
    let length = factor / unit.1;
    other.map(|x| scaled(x, length));
    other.planes.iter_mut().for_each(|plane| plane.at *= length);
    other.unit = unit;
    other.field = scaled(scene.field, 1.0 / factor);
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

/// Vertices and triangles in another order, and their corners too; some triangles run around the other way.
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
    // What a dielectric lists it is; what it does not list, but has in it, is part of it where forces are meant.
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

/// An image: a bit for each plane that it is mirrored in.
type Image = usize;

/// All there is with its images, without planes.
pub fn whole(scene: &Scene) -> Option<Variant> {
    if scene.planes.is_empty() {
        return None;
    }
    let planes = scene.planes.clone();
    let images: Vec<Image> = (0..1 << planes.len()).collect();
    let across = |g: Image, k: usize| g >> k & 1 == 1;
    let ground =
        planes.iter().enumerate().filter(|(_, p)| p.ground).map(|(k, _)| 1 << k).sum::<usize>();
    let sign = move |g: Image| if (g & ground).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
    // Planes go to 0, where mirroring is exact and the field's potential is 0.
    let home = |x: Point| {
        let mut x = x;
        planes.iter().for_each(|plane| x[plane.axis] -= plane.at);
        x
    };
    let mirrored = |x: Point, g: Image| {
        let mut x = home(x);
        for (_, plane) in planes.iter().enumerate().filter(|(k, _)| across(g, *k)) {
            x[plane.axis] = -x[plane.axis];
        }
        x.map(|c| c + 0.0)
    };
    let mut other = Scene {
        vertices: Vec::new(),
        triangles: Vec::new(),
        patch_of: Vec::new(),
        conductors: Vec::new(),
        dielectrics: Vec::new(),
        charges: Vec::new(),
        planes: Vec::new(),
        probes: scene.probes.iter().map(|&x| home(x)).collect(),
        patches: scene.patches * images.len(),
        ..scene.clone()
    };
    let mut vertex_of: HashMap<[u64; 3], u32> = HashMap::new();
    for &g in &images {
        for (corners, patch) in scene.triangles.iter().zip(&scene.patch_of) {
            let mut corners = corners.map(|v| {
                let x = mirrored(scene.vertices[v as usize], g);
                *vertex_of.entry(x.map(f64::to_bits)).or_insert_with(|| {
                    other.vertices.push(x);
                    other.vertices.len() as u32 - 1
                })
            });
            if g.count_ones() % 2 == 1 {
                corners.swap(1, 2);
            }
            other.triangles.push(corners);
            other.patch_of.push(g * scene.patches + patch);
        }
    }
    // Images that are one body: those across planes that it touches.
    let joined = |patches: &[usize]| -> Image {
        let touched =
            planes.iter().enumerate().filter(|(_, plane)| scene.touches(patches, **plane));
        touched.map(|(k, _)| 1 << k).sum()
    };
    let classes = |one: Image| images.iter().copied().filter(move |g| g & one == 0);
    let members = |patches: &[usize], class: Image, one: Image| -> Vec<usize> {
        let of = images.iter().filter(|&&g| g & !one == class);
        of.flat_map(|g| patches.iter().map(|p| g * scene.patches + p).collect::<Vec<_>>()).collect()
    };
    // For each conductor of the part those of the whole, with their images.
    let mut of_part: Vec<Vec<(usize, Image)>> = Vec::new();
    let mut other_bodies = Vec::new();
    for conductor in &scene.conductors {
        let touched = joined(&conductor.patches);
        // In fields through a plane of symmetry a conductor and its image are one.
        let one = if scene.polarisability { images.len() - 1 } else { touched };
        if one != touched {
            other_bodies.push(conductor.name.clone());
        }
        let even = classes(one).filter(|g| g & ground == 0).count();
        let mut own = Vec::new();
        for class in classes(one) {
            let name = if class == 0 {
                conductor.name.clone()
            } else {
                format!("{}_{class}", conductor.name)
            };
            let setting = match conductor.setting {
                Setting::None => Setting::None,
                Setting::Potential(volt) => Setting::Potential(sign(class) * volt),
                Setting::Charge(charge) => Setting::Charge(sign(class) * charge / even as f64),
            };
            own.push((other.conductors.len(), class));
            let patches = members(&conductor.patches, class, one);
            other.conductors.push(Conductor { name, patches, setting });
        }
        of_part.push(own);
    }
    for dielectric in &scene.dielectrics {
        let one = joined(&dielectric.patches);
        for class in classes(one) {
            let Dielectric { name, permittivity, .. } = dielectric.clone();
            let name = if class == 0 { name } else { format!("{name}_{class}") };
            let patches = members(&dielectric.patches, class, one);
            let optional = members(&dielectric.optional, class, one);
            other.dielectrics.push(Dielectric { name, permittivity, patches, optional });
        }
    }
    for &g in &images {
        for charge in &scene.charges {
            let position = mirrored(charge.position, g);
            if other.charges.iter().all(|known| known.position != position) {
                let coulomb = sign(g) * charge.coulomb;
                other.charges.push(Charge { position, coulomb, ..*charge });
            }
        }
    }
    let of_ground: Vec<(Image, f64)> =
        images.iter().filter(|g| *g & ground != 0).map(|&g| (g, sign(g))).collect();
    let from_ground = ground_terms(scene, mirrored, &of_ground);
    let ground_planes = ground.count_ones();
    let charges = scene.charges.clone();
    let copies: Vec<f64> = charges
        .iter()
        .map(|charge| {
            let in_plane = |p: &&Plane| !p.ground && charge.position[p.axis] == p.at;
            let in_planes = planes.iter().filter(in_plane).count();
            2.0f64.powi((planes.len() - ground_planes as usize - in_planes) as i32)
        })
        .collect();
    let back = move |found: &Outcome| {
        let no_ground = |own: &&(usize, Image)| own.1 & ground == 0;
        let capacitance = of_part
            .iter()
            .map(|rows| {
                let entry = |columns: &Vec<(usize, Image)>| {
                    let rows = rows.iter().filter(no_ground);
                    rows.flat_map(|(i, _)| columns.iter().map(move |(j, g)| (*i, *j, *g)))
                        .map(|(i, j, g)| sign(g) * found.capacitance[i][j])
                        .sum::<f64>()
                };
                of_part.iter().map(entry).collect()
            })
            .collect();
        let conductor = |own: &Vec<(usize, Image)>| {
            let charge = own.iter().filter(no_ground).map(|(i, _)| found.conductors[*i].1).sum();
            (found.conductors[own[0].0].0, charge)
        };
        let has_state = !found.conductors.is_empty();
        let reaction: Vec<f64> =
            found.reaction.iter().zip(&from_ground).map(|(volt, more)| volt + more).collect();
        let each = charges.iter().zip(&reaction).zip(&copies);
        let energy: f64 = each.map(|((q, volt), copies)| 0.5 * copies * q.coulomb * volt).sum();
        Outcome {
            capacitance,
            conductors: if has_state {
                of_part.iter().map(conductor).collect()
            } else {
                Vec::new()
            },
            energy: found.energy.map(|_| energy),
            reaction,
            forces: found.forces.clone(),
            forces_relative_to: found.forces_relative_to.clone(),
            probes: found.probes.clone(),
            polarisability: found.polarisability,
            is_coarse: found.is_coarse,
            other_bodies: other_bodies.clone(),
        }
    };
    Some(Variant { scene: other, back: Box::new(back) })
}

/// What images in ground planes make at each charge of the part: in the whole they are charges of their own.
fn ground_terms(
    scene: &Scene,
    mirrored: impl Fn(Point, Image) -> Point,
    of_ground: &[(Image, f64)],
) -> Vec<f64> {
    let at = |charge: &Charge| -> f64 {
        let here = mirrored(charge.position, 0);
        let mut known: Vec<Point> = Vec::new();
        let mut volt = 0.0;
        for &(g, sign) in of_ground {
            for other in &scene.charges {
                let x = mirrored(other.position, g);
                if !known.contains(&x) {
                    known.push(x);
                    let Charge { coulomb, permittivity, .. } = other;
                    volt += sign * COULOMB * coulomb
                        / (permittivity * norm(sub(here, x)) * scene.unit.1);
                }
            }
        }
        volt
    };
    scene.charges.iter().map(at).collect()
}
