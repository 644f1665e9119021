//! A case with given features, its sizes, places and media drawn at random.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::features::{
    Charges, Conductors, Density, Features, Field, Film, Forces, Ions, Permittivity, Planes,
    Polarisability, Probes, Spread, Standing, Tolerance,
};
use super::random::Random;
use super::scene::{self, Charge, Conductor, Dielectric, Label, Plane, Scene, Setting};
use super::shapes::Body;
use super::vector::{Point, add, distance, dot, norm, scaled, sub};

/// Draws until something with these features comes out.
pub fn scene(features: &Features, random: &mut Random) -> Option<Scene> {
    (0..400).find_map(|_| Builder::new(features, random).build())
}

/// A case in the making.
pub struct Builder<'a> {
    pub features: &'a Features,
    pub random: &'a mut Random,
    /// The kind of plane across each axis: true = ground.
    pub plane: [Option<bool>; 3],
    pub conductors: usize,
    dielectrics: usize,
    bodies: Vec<Body>,
}

/// On both sides of a patch; inside of metal that of the other side.
fn permittivities(scene: &Scene, [front, back]: [Label; 2]) -> [f64; 2] {
    let of = |label: Label| match label {
        Label::Surroundings => Some(scene.surroundings),
        Label::Dielectric(index) => Some(scene.dielectrics[index].permittivity),
        Label::Metal(_) => None,
    };
    let other = of(front).or(of(back)).unwrap_or(scene.surroundings);
    [front, back].map(|label| of(label).unwrap_or(other))
}

fn bits(x: Point) -> [u64; 3] {
    // Both zeros are one place.
    x.map(|c| (c + 0.0).to_bits())
}

impl<'a> Builder<'a> {
    fn new(features: &'a Features, random: &'a mut Random) -> Self {
        let (ground, symmetric) = features.planes().counts();
        let mut plane = [None; 3];
        for (k, axis) in random.permutation(3).into_iter().enumerate() {
            plane[axis] = if k < ground {
                Some(true)
            } else if k < ground + symmetric {
                Some(false)
            } else {
                None
            };
        }
        Self { features, random, plane, conductors: 0, dielectrics: 0, bodies: Vec::new() }
    }

    pub fn planes(&self) -> usize {
        self.plane.iter().flatten().count()
    }

    pub fn conductor(&mut self) -> usize {
        self.conductors += 1;
        self.conductors - 1
    }

    pub fn dielectric(&mut self) -> usize {
        self.dielectrics += 1;
        self.dielectrics - 1
    }

    fn build(mut self) -> Option<Scene> {
        let count = self.features.bodies() as usize + 1;
        for index in 0..count {
            let (mut body, cut) = self.body(index, count)?;
            self.place(index, count, &mut body, cut);
            self.bodies.push(body);
        }
        if self.features.film() == Film::Present {
            self.cover()?;
        }
        let (ground, symmetric) = self.features.planes().counts();
        let touches = |body: &Body| {
            let corners = body.pieces.iter().flat_map(|piece| piece.corners);
            corners.into_iter().any(|x| (0..3).any(|k| self.plane[k].is_some() && x[k] == 0.0))
        };
        let is_cut = self.bodies.iter().any(touches);
        if ground + symmetric > 0 && is_cut != (self.features.standing() == Standing::Cut) {
            return None;
        }
        if (self.conductors > 0) != (self.features.conductors() != Conductors::Absent) {
            return None;
        }
        self.scene()
    }

    /// Moves a body to where it is apart from those before it.
    fn place(&mut self, index: usize, count: usize, body: &mut Body, mut cut: [bool; 3]) {
        let spread = self.features.spread();
        let last = index + 1 == count && index > 0;
        if spread == Spread::Small && last {
            let factor = self.random.log_between(1e-3, 0.1);
            body.map(|x| scaled(x, factor));
        }
        let [low, high] = body.bounds();
        let size = norm(sub(high, low));
        if index == 0 {
            cut = std::array::from_fn(|k| cut[k]);
        }
        let near_plane = if spread == Spread::Near { 0.03 } else { 0.3 };
        let mut by: Point = std::array::from_fn(|k| match (cut[k], self.plane[k]) {
            (true, _) => 0.0,
            (false, Some(_)) => self.random.between(0.3, 1.5) * near_plane * size - low[k],
            (false, None) => self.random.between(-0.3, 0.3) * size,
        });
        if index > 0 {
            let free: Vec<usize> = (0..3).filter(|&k| !cut[k]).collect();
            let axis = self.random.of_these(&free);
            let others = self.bodies.iter().map(Body::bounds);
            let [below, above] = others
                .map(|[low, high]| [low[axis], high[axis]])
                .fold([f64::INFINITY, f64::NEG_INFINITY], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
            let gap = match spread {
                Spread::Even | Spread::Small => self.random.between(0.15, 0.8) * size,
                Spread::Near => self.random.log_between(0.01, 0.1) * size,
                Spread::Far if last => self.random.log_between(10.0, 1e4) * size,
                Spread::Far => 0.5 * size,
            };
            by[axis] = if self.plane[axis].is_some() || self.random.chance(0.5) {
                above + gap - low[axis]
            } else {
                below - gap - high[axis]
            };
        }
        body.map(|x| add(x, by));
    }

    /// Puts metal on a part of some dielectric's surface.
    fn cover(&mut self) -> Option<()> {
        let is_metal = |label: &Label| matches!(label, Label::Metal(_));
        let mut metal = HashSet::new();
        for piece in self.bodies.iter().flat_map(|body| &body.pieces) {
            if piece.film.is_some() || piece.sides.iter().any(is_metal) {
                metal.extend(piece.corners.map(bits));
            }
        }
        let plane = self.plane;
        let grounded = move |x: &Point| (0..3).any(|k| plane[k] == Some(true) && x[k] == 0.0);
        let mut order = self.random.permutation(self.bodies.len());
        order.truncate(1.max(order.len()));
        let up = self.random.direction();
        for index in order {
            let body = &mut self.bodies[index];
            let middle =
                |corners: [Point; 3]| dot(up, add(corners[0], add(corners[1], corners[2])));
            let mut possible: Vec<usize> = (0..body.pieces.len())
                .filter(|&p| {
                    let piece = &body.pieces[p];
                    let dielectric =
                        piece.sides.iter().any(|side| matches!(side, Label::Dielectric(_)));
                    dielectric
                        && !piece.sides.iter().any(is_metal)
                        && piece.film.is_none()
                        && !piece.corners.iter().any(|x| grounded(x) || metal.contains(&bits(*x)))
                })
                .collect();
            possible.sort_by(|&a, &b| {
                middle(body.pieces[b].corners).total_cmp(&middle(body.pieces[a].corners))
            });
            if possible.len() < 4 {
                continue;
            }
            let share = self.random.between(0.2, 0.6);
            possible.truncate(4.max((share * possible.len() as f64) as usize));
            let conductor = self.conductors;
            self.conductors += 1;
            possible.iter().for_each(|&p| body.pieces[p].film = Some(conductor));
            return Some(());
        }
        None
    }

    fn permittivity(&mut self) -> f64 {
        let ordinary = [1.5, 2.0, 2.2, 3.9, 4.0, 7.5, 11.7, 80.0];
        if self.random.chance(0.7) {
            self.random.of_these(&ordinary)
        } else {
            self.random.log_between(1.2, 100.0)
        }
    }

    fn scene(mut self) -> Option<Scene> {
        let f = self.features;
        let factor = self.random.of_these(&[1.0, 0.8, 0.37, 2.9, 13.0]);
        for body in &mut self.bodies {
            body.map(|x| scaled(x, factor));
        }
        let mut scene = Scene {
            vertices: Vec::new(),
            triangles: Vec::new(),
            patch_of: Vec::new(),
            patches: 0,
            sides: Vec::new(),
            by_sides: false,
            surroundings: 1.0,
            ions: None,
            conductors: Vec::new(),
            dielectrics: Vec::new(),
            charges: Vec::new(),
            field: [0.0; 3],
            planes: Vec::new(),
            probes: Vec::new(),
            forces: f.forces() == Forces::Present,
            polarisability: f.polarisability() == Polarisability::Present,
            tolerance: match f.tolerance() {
                Tolerance::E4 => 1e-4,
                Tolerance::E6 => 1e-6,
                Tolerance::E8 => 1e-8,
            },
            density: match f.density() {
                Density::Constant => "constant",
                Density::Linear => "linear",
            },
            unit: ("m", 1.0),
            lists_all: self.random.chance(0.5),
        };
        let sides = self.surfaces(&mut scene);
        let typical = self.bodies.iter().map(|body| {
            let [low, high] = body.bounds();
            norm(sub(high, low))
        });
        let typical = typical.fold(0.0, f64::max);
        self.media(&mut scene);
        scene.sides = sides.into_iter().map(|sides| permittivities(&scene, sides)).collect();
        self.charges(&mut scene, typical)?;
        self.ions(&mut scene, typical);
        if f.field() == Field::Present {
            let ground = (0..3).find(|&k| self.plane[k] == Some(true));
            for k in 0..3 {
                let allowed = match ground {
                    Some(axis) => k == axis,
                    None => self.plane[k].is_none(),
                };
                if allowed {
                    scene.field[k] = self.random.sign() * self.random.between(0.3, 2.0) / typical;
                }
            }
        }
        if f.probes() == Probes::Present {
            self.probes(&mut scene)?;
        }
        if f.planes() != Planes::Absent {
            let mut by = [0.0; 3];
            for k in 0..3 {
                if let Some(ground) = self.plane[k] {
                    let at = self.random.of_these(&[0.0, 0.0, -1.3, 0.7]) * typical;
                    // A plane far from bodies costs digits of theirs, so it stays near.
                    by[k] = at;
                    scene.planes.push(Plane { axis: k, at: 0.0, ground });
                }
            }
            scene.moved(by);
        }
        self.settings(&mut scene, typical);
        Some(scene)
    }

    /// Vertices, triangles and patches. Returns what is on the sides of each patch.
    fn surfaces(&mut self, scene: &mut Scene) -> Vec<[Label; 2]> {
        type Key = (usize, [Label; 2], Option<usize>, Option<usize>);
        let mut vertex_of: HashMap<[u64; 3], u32> = HashMap::new();
        let mut patch_of: BTreeMap<Key, usize> = BTreeMap::new();
        for (index, body) in self.bodies.iter().enumerate() {
            for piece in &body.pieces {
                let corners = piece.corners.map(|x| {
                    *vertex_of.entry(bits(x)).or_insert_with(|| {
                        scene.vertices.push(x.map(|c| c + 0.0));
                        scene.vertices.len() as u32 - 1
                    })
                });
                let count = patch_of.len();
                let key = (index, piece.sides, piece.film, piece.within);
                let patch = *patch_of.entry(key).or_insert(count);
                scene.triangles.push(corners);
                scene.patch_of.push(patch);
            }
        }
        scene.patches = patch_of.len();
        let belongs = |wanted: &dyn Fn(&Key) -> bool| -> Vec<usize> {
            let mut patches: Vec<usize> =
                patch_of.iter().filter(|(key, _)| wanted(key)).map(|(_, patch)| *patch).collect();
            patches.sort_unstable();
            patches
        };
        for c in 0..self.conductors {
            let patches = belongs(&|(_, sides, film, _)| {
                *film == Some(c) || sides.contains(&Label::Metal(c))
            });
            scene.conductors.push(Conductor {
                name: format!("c{c}"),
                patches,
                setting: Setting::None,
            });
        }
        for d in 0..self.dielectrics {
            let bounds =
                |sides: &[Label; 2]| sides.contains(&Label::Dielectric(d)) && sides[0] != sides[1];
            let patches = belongs(&|(_, sides, ..)| bounds(sides));
            let optional = belongs(&|(_, sides, _, within)| bounds(sides) && *within == Some(d));
            let name = format!("d{d}");
            scene.dielectrics.push(Dielectric { name, permittivity: 1.0, patches, optional });
        }
        let mut sides = vec![[Label::Surroundings; 2]; scene.patches];
        patch_of.iter().for_each(|((_, of, ..), patch)| sides[*patch] = *of);
        sides
    }

    fn media(&mut self, scene: &mut Scene) {
        let kind = self.features.permittivity();
        scene.surroundings = match kind {
            Permittivity::Low => self.random.of_these(&[80.0, 78.5, 20.0, 1e3]),
            _ if self.random.chance(0.6) => 1.0,
            _ => self.permittivity(),
        };
        for index in 0..scene.dielectrics.len() {
            scene.dielectrics[index].permittivity = match kind {
                Permittivity::Ordinary => self.permittivity(),
                Permittivity::High if index == 0 || self.random.chance(0.5) => {
                    self.random.log_between(1e2, 1e4)
                }
                Permittivity::High => self.permittivity(),
                Permittivity::Low => self.random.log_between(0.5, 4.0),
            };
        }
    }

    fn ions(&mut self, scene: &mut Scene, typical: f64) {
        let kind = self.features.ions();
        if kind == Ions::Absent {
            return;
        }
        let kappa = |medium: usize| {
            let has = medium == 0 || kind == Ions::Everywhere && self.random.chance(0.7);
            if has { self.random.log_between(0.03, 30.0) / typical } else { 0.0 }
        };
        let kappa = (0..=scene.dielectrics.len()).map(kappa).collect();
        scene.ions = Some(scene::Ions { kappa, by_strength: false });
    }

    /// Distance from surfaces, in edges of the triangle that is nearest so measured; `x` keeps off
    /// planes too.
    fn clearance(&self, x: Point) -> f64 {
        let pieces = self.bodies.iter().flat_map(|body| &body.pieces);
        let of = |corners: [Point; 3]| distance(x, corners) / norm(sub(corners[1], corners[0]));
        pieces.map(|piece| of(piece.corners)).fold(f64::INFINITY, f64::min)
    }

    /// A point about some body, on the right side of planes.
    fn somewhere(&mut self) -> Point {
        let body = self.random.below(self.bodies.len());
        let [low, high] = self.bodies[body].bounds();
        let size = norm(sub(high, low));
        std::array::from_fn(|k| {
            let x = self.random.between(low[k] - 0.3 * size, high[k] + 0.3 * size);
            if self.plane[k].is_some() && x < 0.02 * size { 0.02 * size + x.abs() } else { x }
        })
    }

    fn charges(&mut self, scene: &mut Scene, typical: f64) -> Option<()> {
        let kind = self.features.charges();
        if kind == Charges::Absent {
            return Some(());
        }
        let spots: Vec<(Point, Label)> =
            self.bodies.iter().flat_map(|body| body.spots.clone()).collect();
        let wanted = 1 + self.random.below(3);
        for _ in 0..200 {
            if scene.charges.len() == wanted {
                break;
            }
            let (mut x, mut place) = (self.somewhere(), Label::Surroundings);
            let is_first = scene.charges.is_empty();
            if kind == Charges::Inside && (is_first || self.random.chance(0.5)) {
                if spots.is_empty() {
                    return None;
                }
                (x, place) = self.random.of_these(&spots);
            } else {
                if kind == Charges::InPlane && (is_first || self.random.chance(0.5)) {
                    let symmetric: Vec<usize> =
                        (0..3).filter(|&k| self.plane[k] == Some(false)).collect();
                    x[self.random.of_these(&symmetric)] = 0.0;
                }
                let in_box = |body: &Body| {
                    let [low, high] = body.bounds();
                    (0..3).all(|k| low[k] <= x[k] && x[k] <= high[k])
                };
                if self.bodies.iter().any(in_box) {
                    continue;
                }
            }
            let apart = scene.charges.iter().all(|q| norm(sub(x, q.position)) > 0.05 * typical);
            if self.clearance(x) < if place == Label::Surroundings { 0.5 } else { 0.2 } || !apart {
                continue;
            }
            let coulomb = self.random.sign() * self.random.between(0.3, 3.0) * 1e-10 * typical;
            let permittivity = match place {
                Label::Dielectric(index) => scene.dielectrics[index].permittivity,
                _ => scene.surroundings,
            };
            scene.charges.push(Charge { position: x, coulomb, permittivity });
        }
        (!scene.charges.is_empty()).then_some(())
    }

    fn probes(&mut self, scene: &mut Scene) -> Option<()> {
        for _ in 0..300 {
            if scene.probes.len() == 8 {
                return Some(());
            }
            let x = self.somewhere();
            let [low, high] = self.bodies[0].bounds();
            let size = norm(sub(high, low));
            let apart = scene.charges.iter().all(|q| norm(sub(x, q.position)) > 0.1 * size);
            if self.clearance(x) > 0.05 && apart {
                scene.probes.push(x);
            }
        }
        None
    }

    fn settings(&mut self, scene: &mut Scene, typical: f64) {
        let kind = self.features.conductors();
        for (index, conductor) in scene.conductors.iter_mut().enumerate() {
            let volt = self.random.sign() * self.random.between(0.5, 5.0);
            let coulomb =
                if index > 0 && self.random.chance(0.4) { 0.0 } else { volt * 3e-11 * typical };
            let set = index == 0 || self.random.chance(0.7);
            conductor.setting = match kind {
                Conductors::Potential if set => Setting::Potential(volt),
                Conductors::Floating if set => Setting::Charge(coulomb),
                Conductors::Mixed => {
                    let choice = if index < 2 { index } else { self.random.below(3) };
                    [Setting::Charge(coulomb), Setting::Potential(volt), Setting::None][choice]
                }
                _ => Setting::None,
            };
        }
    }
}
