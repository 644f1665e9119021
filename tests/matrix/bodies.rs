//! Bodies with given features, about the origin.

use super::build::Builder;
use super::features::{Conductors, Dielectrics, Film, Shape, Standing};
use super::scene::Label;
use super::shapes::{Body, Cells, Ellipsoid, Plate, Prism};
use super::vector::{Point, scaled};

impl Builder<'_> {
    /// A body about the origin, and where it is cut.
    pub fn body(&mut self, index: usize, count: usize) -> Option<(Body, [bool; 3])> {
        let f = self.features;
        let wants_metal = f.conductors() != Conductors::Absent;
        let has_dielectric = f.dielectrics() != Dielectrics::Absent;
        let needs_metal =
            wants_metal && self.conductors == 0 && index + 1 == count && f.film() == Film::Absent;
        let mut kind = if index == 0 { f.dielectrics() } else { Dielectrics::Solid };
        if !has_dielectric || (index > 0 && wants_metal && (needs_metal || self.random.chance(0.6)))
        {
            kind = Dielectrics::Absent;
        }
        let mut shape = f.shape();
        if index > 0 && self.random.chance(0.3) {
            shape = self.random.of_these(&[Shape::Ellipsoid, Shape::Boxes, Shape::Prism]);
        }
        if shape == Shape::Plates && kind != Dielectrics::Absent {
            shape = Shape::Boxes;
        }
        // Metal inside or on the first body.
        let with_metal = match kind {
            Dielectrics::Absent | Dielectrics::Covered => true,
            Dielectrics::Coat | Dielectrics::Shell | Dielectrics::Walls => {
                wants_metal && (count == 1 && f.film() == Film::Absent || self.random.chance(0.6))
            }
            Dielectrics::Solid => false,
        };
        let mut cut = [false; 3];
        if f.standing() == Standing::Cut {
            let share = if index == 0 { 0.85 } else { 0.4 };
            for k in 0..3 {
                let possible = match self.plane[k] {
                    None => false,
                    Some(true) => {
                        !with_metal || matches!(kind, Dielectrics::Walls | Dielectrics::Covered)
                    }
                    Some(false) => true,
                };
                cut[k] = possible && self.random.chance(share);
            }
        }
        if index > 0 && cut == [true; 3] {
            cut[self.random.below(3)] = false;
        }
        if shape == Shape::Prism {
            cut = [false, false, cut[2]];
        }
        let mut body = Body::default();
        let axes = [0; 3].map(|_| self.random.between(0.45, 1.0));
        match shape {
            Shape::Ellipsoid => self.ellipsoids(&mut body, kind, with_metal, axes, cut),
            Shape::Boxes if matches!(kind, Dielectrics::Walls | Dielectrics::Covered) => {
                self.cells(&mut body, kind, with_metal, axes, cut)?;
            }
            Shape::Boxes => self.boxes(&mut body, kind, with_metal, axes, cut),
            Shape::Prism => {
                let inside = if kind == Dielectrics::Absent {
                    Label::Metal(self.conductor())
                } else {
                    Label::Dielectric(self.dielectric())
                };
                let (sides, layers) = (3 + self.random.below(5), 1 + self.random.below(3));
                let prism = Prism { axes, sides, layers, cut: cut[2] };
                prism.add_to(&mut body, [Label::Surroundings, inside]);
            }
            Shape::Plates => self.plates(&mut body, axes, &mut cut),
        }
        if cut == [false; 3] && self.random.chance(0.5) {
            let rotation = self.random.rotation();
            body.turn(rotation);
        }
        Some((body, cut))
    }

    /// The contents of nested surfaces from the outermost on.
    fn layers(&mut self, kind: Dielectrics, with_metal: bool) -> Vec<Label> {
        match kind {
            Dielectrics::Absent if self.random.chance(0.15) => {
                // A hollow conductor.
                let metal = Label::Metal(self.conductor());
                vec![metal, Label::Surroundings]
            }
            Dielectrics::Absent => vec![Label::Metal(self.conductor())],
            Dielectrics::Coat => {
                let outer = Label::Dielectric(self.dielectric());
                let mut layers = vec![outer];
                if !with_metal || self.random.chance(0.25) {
                    layers.push(Label::Dielectric(self.dielectric()));
                }
                if with_metal {
                    layers.push(Label::Metal(self.conductor()));
                }
                layers
            }
            Dielectrics::Shell => {
                let mut layers = vec![Label::Dielectric(self.dielectric()), Label::Surroundings];
                if with_metal {
                    layers.push(Label::Metal(self.conductor()));
                } else if self.random.chance(0.3) {
                    layers.push(Label::Dielectric(self.dielectric()));
                }
                layers
            }
            _ => vec![Label::Dielectric(self.dielectric())],
        }
    }

    /// In which dielectric the surface between two layers lies, if that need not list it.
    fn within(outer: Label, inner: Label) -> Option<usize> {
        match (outer, inner) {
            (Label::Dielectric(k), Label::Dielectric(_) | Label::Metal(_)) => Some(k),
            _ => None,
        }
    }

    fn ellipsoids(
        &mut self,
        body: &mut Body,
        kind: Dielectrics,
        with_metal: bool,
        axes: Point,
        cut: [bool; 3],
    ) {
        let layers = self.layers(kind, with_metal);
        let halves = cut.iter().filter(|c| **c).count();
        // With many images, or many layers, fewer triangles do.
        let many = self.planes() - halves > 1 || layers.len() > 2;
        let n = 3 + halves + if many { 0 } else { self.random.below(2) };
        let direction = [0.61, 0.53, 0.59];
        let (mut outer, mut axes, mut centre) = (Label::Surroundings, axes, [0.0; 3]);
        for (index, &inner) in layers.iter().enumerate() {
            let ellipsoid = Ellipsoid { axes, centre, n, cut };
            ellipsoid.add_to(body, [outer, inner], Self::within(outer, inner));
            let share = self.random.between(0.45, 0.7);
            let last = index + 1 == layers.len();
            if !matches!(inner, Label::Metal(_)) {
                let at = if last { 0.35 } else { 0.5 * (0.93 + share) };
                let spot = std::array::from_fn(|k| centre[k] + at * axes[k] * direction[k]);
                body.spots.push((spot, inner));
            }
            let smallest = axes.into_iter().fold(f64::INFINITY, f64::min);
            for k in (0..3).filter(|&k| !cut[k]) {
                centre[k] += self.random.between(-0.1, 0.1) * smallest;
            }
            axes = scaled(axes, share);
            outer = inner;
        }
    }

    /// Boxes in each other.
    fn boxes(
        &mut self,
        body: &mut Body,
        kind: Dielectrics,
        with_metal: bool,
        axes: Point,
        cut: [bool; 3],
    ) {
        let layers = self.layers(kind, with_metal);
        let (mut walls, mut squares) = ([const { Vec::new() }; 3], [const { Vec::new() }; 3]);
        for k in 0..3 {
            let (mut highs, mut lows) = (Vec::new(), Vec::new());
            let (mut high, mut low) = (axes[k], -axes[k]);
            for _ in &layers {
                highs.push(high);
                lows.push(low);
                high *= self.random.between(0.45, 0.7);
                low *= self.random.between(0.45, 0.7);
            }
            highs.reverse();
            let across = if layers.len() > 1 { 1 } else { 2 } + self.random.below(2);
            if cut[k] {
                walls[k] = [vec![0.0], highs].concat();
                squares[k] = [vec![across], vec![1; layers.len() - 1]].concat();
            } else {
                walls[k] = [lows, highs].concat();
                squares[k] =
                    [vec![1; layers.len() - 1], vec![across], vec![1; layers.len() - 1]].concat();
            }
        }
        let counts: [usize; 3] = std::array::from_fn(|k| squares[k].len());
        let depth = |k: usize, c: usize| {
            let from_above = counts[k] - 1 - c;
            if cut[k] { from_above } else { from_above.min(c) }
        };
        let mut content = Vec::new();
        for x in 0..counts[0] {
            for y in 0..counts[1] {
                for z in 0..counts[2] {
                    content.push(layers[depth(0, x).min(depth(1, y)).min(depth(2, z))]);
                }
            }
        }
        let first = body.pieces.len();
        Cells { walls, squares, content, cut }.add_to(body, self.random);
        for piece in &mut body.pieces[first..] {
            let [a, b] = piece.sides;
            let place = |label: Label| layers.iter().position(|l| *l == label);
            // Cavities hold the same as the surroundings; those are within nothing.
            if let (Some(a), Some(b)) = (place(a), place(b)) {
                let (outer, inner) = (layers[a.min(b)], layers[a.max(b)]);
                piece.within = Self::within(outer, inner);
            }
        }
    }

    /// Cells with walls in common.
    fn cells(
        &mut self,
        body: &mut Body,
        kind: Dielectrics,
        with_metal: bool,
        axes: Point,
        cut: [bool; 3],
    ) -> Option<()> {
        let counts = [0; 3].map(|_| 1 + self.random.below(3));
        let mut contents = vec![Label::Dielectric(self.dielectric())];
        if kind == Dielectrics::Walls || self.random.chance(0.5) {
            contents.push(Label::Dielectric(self.dielectric()));
        }
        if with_metal {
            contents.push(Label::Metal(self.conductor()));
            if self.random.chance(0.3) {
                contents.push(Label::Metal(self.conductor()));
            }
        }
        let wanted = contents.clone();
        contents.extend([contents[0], contents[0]]);
        if self.random.chance(0.5) {
            contents.push(Label::Surroundings);
        }
        let walls = std::array::from_fn(|k| {
            let mut at = if cut[k] { 0.0 } else { -axes[k] };
            let mut walls = vec![at];
            for _ in 0..counts[k] {
                at += 2.0 * axes[k] / counts[k] as f64 * self.random.between(0.4, 1.0);
                walls.push(at);
            }
            walls
        });
        let squares = std::array::from_fn(|k| {
            (0..counts[k])
                .map(|_| if counts[k] == 1 { 2 } else { 1 } + self.random.below(2))
                .collect()
        });
        let mut cells = Cells { walls, squares, content: Vec::new(), cut };
        let total = counts.iter().product();
        for _ in 0..60 {
            cells.content = (0..total).map(|_| self.random.of_these(&contents)).collect();
            let all_there = wanted.iter().all(|label| cells.content.contains(label));
            if !all_there || !cells.is_sound() {
                continue;
            }
            let grounded =
                |x: Point| (0..3).any(|k| self.plane[k] == Some(true) && cut[k] && x[k] == 0.0);
            let mut made = body.clone();
            cells.add_to(&mut made, self.random);
            let shorted = made.pieces.iter().any(|piece| {
                piece.sides.iter().any(|side| matches!(side, Label::Metal(_)))
                    && piece.corners.into_iter().any(grounded)
            });
            if !shorted {
                *body = made;
                return Some(());
            }
        }
        None
    }

    /// One plate, or two that face each other.
    fn plates(&mut self, body: &mut Body, axes: Point, cut: &mut [bool; 3]) {
        let free: Vec<usize> = (0..3).filter(|k| !cut[*k]).collect();
        let axis = if free.is_empty() { 2 } else { self.random.of_these(&free) };
        cut[axis] = false;
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let gap = self.random.log_between(0.05, 0.5);
        let two = self.random.chance(0.5);
        for at in if two { vec![-0.5 * gap, 0.5 * gap] } else { vec![0.0] } {
            let conductor = self.conductor();
            let squares = [0; 2].map(|_| 3 + self.random.below(3));
            let shrink = if self.random.chance(0.5) { 1.0 } else { self.random.between(0.5, 1.0) };
            let half = [shrink * axes[u], shrink * axes[v]];
            let plate = Plate { axis, half, at, squares, cut: [cut[u], cut[v]] };
            plate.add_to(body, conductor, self.random);
        }
    }
}
