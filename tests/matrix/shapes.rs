//! Triangles of bodies, each with what is on its sides.

use super::random::Random;
use super::scene::Label;
use super::vector::{Point, add, cross, dot, scaled, sub, times};

/// A triangle of a body.
#[derive(Clone, Debug)]
pub struct Piece {
    pub corners: [Point; 3],
    /// On the side that the normal points to, and behind it.
    pub sides: [Label; 2],
    /// The conductor that lies on the surface.
    pub film: Option<usize>,
    /// The dielectric in which this is the surface of something else.
    pub within: Option<usize>,
}

/// A body, or several in each other; where it is cut it lies at coordinates of 0 and above.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub pieces: Vec<Piece>,
    /// Points off surfaces, in dielectrics and cavities, and what is there.
    pub spots: Vec<(Point, Label)>,
}

impl Body {
    pub fn map(&mut self, place: impl Fn(Point) -> Point) {
        for piece in &mut self.pieces {
            piece.corners = piece.corners.map(&place);
        }
        self.spots.iter_mut().for_each(|(x, _)| *x = place(*x));
    }

    pub fn turn(&mut self, rotation: [Point; 3]) {
        self.map(|x| times(rotation, x));
    }

    pub fn bounds(&self) -> [Point; 2] {
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for x in self.pieces.iter().flat_map(|piece| piece.corners) {
            bounds[0] = std::array::from_fn(|k| bounds[0][k].min(x[k]));
            bounds[1] = std::array::from_fn(|k| bounds[1][k].max(x[k]));
        }
        bounds
    }

    fn push(&mut self, corners: [Point; 3], sides: [Label; 2], within: Option<usize>) {
        self.pieces.push(Piece { corners, sides, film: None, within });
    }

    /// A triangle whose normal points along `out`.
    fn push_facing(
        &mut self,
        corners: [Point; 3],
        out: Point,
        sides: [Label; 2],
        within: Option<usize>,
    ) {
        let [a, b, c] = corners;
        let faces = dot(cross(sub(b, a), sub(c, a)), out) > 0.0;
        self.push(if faces { [a, b, c] } else { [a, c, b] }, sides, within);
    }
}

/// An ellipsoid about the origin, of n^2 triangles an octant; cut, only where coordinates are not
/// negative.
pub struct Ellipsoid {
    pub axes: Point,
    pub centre: Point,
    pub n: usize,
    pub cut: [bool; 3],
}

impl Ellipsoid {
    pub fn add_to(&self, body: &mut Body, sides: [Label; 2], within: Option<usize>) {
        let n = self.n;
        for octant in 0..8usize {
            let sign: [f64; 3] =
                std::array::from_fn(|k| if octant >> k & 1 == 1 { -1.0 } else { 1.0 });
            if (0..3).any(|k| self.cut[k] && sign[k] < 0.0) {
                continue;
            }
            let point = |i: usize, j: usize| {
                let x = [i as f64, j as f64, (n - i - j) as f64];
                let r = dot(x, x).sqrt();
                // Products with 0 are 0, so halves meet their planes exactly.
                let place = |k: usize| sign[k] * self.axes[k] * x[k] / r + self.centre[k];
                std::array::from_fn(place)
            };
            let mut push = |corners: [Point; 3]| {
                let [a, b, c] = corners;
                let middle = scaled(add(a, add(b, c)), 1.0 / 3.0);
                body.push_facing(corners, sub(middle, self.centre), sides, within);
            };
            for (i, j) in (0..n).flat_map(|i| (0..n - i).map(move |j| (i, j))) {
                push([point(i, j), point(i + 1, j), point(i, j + 1)]);
                if i + j + 1 < n {
                    push([point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)]);
                }
            }
        }
    }
}

/// Cells of a box with walls at `walls` along each axis, each filled with something; faces between
/// cells that differ.
pub struct Cells {
    pub walls: [Vec<f64>; 3],
    /// Squares that the faces of each layer of cells are cut into, along each axis.
    pub squares: [Vec<usize>; 3],
    /// By x, then y, then z.
    pub content: Vec<Label>,
    pub cut: [bool; 3],
}

impl Cells {
    fn count(&self, axis: usize) -> usize {
        self.squares[axis].len()
    }

    /// What a cell holds; the surroundings outside of the box, and what is mirrored beyond a cut.
    pub fn at(&self, cell: [i64; 3]) -> Label {
        let mut index = 0;
        for k in 0..3 {
            let c = if cell[k] < 0 && self.cut[k] { -1 - cell[k] } else { cell[k] };
            if c < 0 || c >= self.count(k) as i64 {
                return Label::Surroundings;
            }
            index = index * self.count(k) + c as usize;
        }
        self.content[index]
    }

    /// Whether each content, the surroundings among them, meets itself only in faces, and whether
    /// conductors keep apart.
    pub fn is_sound(&self) -> bool {
        let n: [i64; 3] = std::array::from_fn(|k| self.count(k) as i64);
        let all = (0..=n[0])
            .flat_map(|x| (0..=n[1]).flat_map(move |y| (0..=n[2]).map(move |z| [x, y, z])));
        for corner in all {
            let cell =
                |bits: usize| self.at(std::array::from_fn(|k| corner[k] - (bits >> k & 1) as i64));
            let around: [Label; 8] = std::array::from_fn(cell);
            // Nor do cells of one content meet in an edge alone: those across one of the four about
            // it.
            for (axis, side) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1usize)]) {
                let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
                let at = side << axis;
                let ring = [at, at | u, at | u | v, at | v].map(|bits| around[bits]);
                let crossed = |i: usize| {
                    ring[i] == ring[i + 2] && ring[i + 1] != ring[i] && ring[(i + 3) % 4] != ring[i]
                };
                if crossed(0) || crossed(1) {
                    return false;
                }
            }
            for (a, b) in (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))) {
                if let (Label::Metal(i), Label::Metal(j)) = (around[a], around[b])
                    && i != j
                {
                    return false;
                }
                // Cells of one content are connected by faces, within the eight around each corner.
                if around[a] == around[b] && !joined(&around, a, b) {
                    return false;
                }
            }
        }
        true
    }

    pub fn add_to(&self, body: &mut Body, random: &mut Random) {
        let lines: [Vec<Vec<f64>>; 3] = std::array::from_fn(|k| {
            (0..self.count(k))
                .map(|c| {
                    let (low, high, m) =
                        (self.walls[k][c], self.walls[k][c + 1], self.squares[k][c]);
                    let place = |i: usize| {
                        if i == m { high } else { low + (high - low) * i as f64 / m as f64 }
                    };
                    (0..=m).map(place).collect()
                })
                .collect()
        });
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for (a, b, c) in (0..=self.count(axis)).flat_map(|a| {
                (0..self.count(u)).flat_map(move |b| (0..self.count(v)).map(move |c| (a, b, c)))
            }) {
                let cell = |layer: i64| {
                    let mut cell = [0; 3];
                    (cell[axis], cell[u], cell[v]) = (layer, b as i64, c as i64);
                    self.at(cell)
                };
                let (below, above) = (cell(a as i64 - 1), cell(a as i64));
                if below == above {
                    continue;
                }
                let along = random.chance(0.5);
                for (p, q) in
                    lines[u][b].windows(2).flat_map(|p| lines[v][c].windows(2).map(move |q| (p, q)))
                {
                    let corner = |s: f64, t: f64| {
                        let mut x = [self.walls[axis][a]; 3];
                        (x[u], x[v]) = (s, t);
                        x
                    };
                    let square = [
                        corner(p[0], q[0]),
                        corner(p[1], q[0]),
                        corner(p[1], q[1]),
                        corner(p[0], q[1]),
                    ];
                    for triangle in halves(square, along) {
                        let mut out = [0.0; 3];
                        out[axis] = 1.0;
                        body.push_facing(triangle, out, [above, below], None);
                    }
                }
            }
        }
        let all = (0..self.count(0)).flat_map(|x| {
            (0..self.count(1)).flat_map(move |y| (0..self.count(2)).map(move |z| [x, y, z]))
        });
        for cell in all {
            let content = self.at(cell.map(|c| c as i64));
            if matches!(content, Label::Dielectric(_)) {
                let middle =
                    |k: usize| 0.47 * self.walls[k][cell[k]] + 0.53 * self.walls[k][cell[k] + 1];
                body.spots.push((std::array::from_fn(middle), content));
            }
        }
    }
}

/// Whether two of the eight cells about a corner are joined by cells of their content.
fn joined(around: &[Label; 8], a: usize, b: usize) -> bool {
    let mut reached = 1usize << a;
    for _ in 0..8 {
        for cell in 0..8 {
            let next = |k: usize| reached >> (cell ^ (1 << k)) & 1 == 1;
            if around[cell] == around[a] && (0..3).any(next) {
                reached |= 1 << cell;
            }
        }
    }
    reached >> b & 1 == 1
}

fn halves([a, b, c, d]: [Point; 4], along: bool) -> [[Point; 3]; 2] {
    if along { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
}

/// A prism along z on a polygon with corners on an ellipse; cut, only where z is not negative.
pub struct Prism {
    pub axes: Point,
    pub sides: usize,
    pub layers: usize,
    pub cut: bool,
}

impl Prism {
    pub fn add_to(&self, body: &mut Body, sides: [Label; 2]) {
        let m = self.sides;
        let point = |i: usize, share: f64, z: f64| {
            let angle = (0.3 + (i % m) as f64) * std::f64::consts::TAU / m as f64;
            [share * self.axes[0] * angle.cos(), share * self.axes[1] * angle.sin(), z]
        };
        let (first, high) = (if self.cut { 0.0 } else { -self.axes[2] }, self.axes[2]);
        let level = |l: usize| {
            if l == self.layers {
                high
            } else {
                first + (high - first) * l as f64 / self.layers as f64
            }
        };
        for i in 0..m {
            for l in 0..self.layers {
                let square = [
                    point(i, 1.0, level(l)),
                    point(i + 1, 1.0, level(l)),
                    point(i + 1, 1.0, level(l + 1)),
                    point(i, 1.0, level(l + 1)),
                ];
                let out = [square[0][0] + square[1][0], square[0][1] + square[1][1], 0.0];
                for triangle in halves(square, i % 2 == 0) {
                    body.push_facing(triangle, out, sides, None);
                }
            }
            for z in if self.cut { vec![high] } else { vec![-high, high] } {
                let out = [0.0, 0.0, z];
                body.push_facing(
                    [[0.0, 0.0, z], point(i, 0.5, z), point(i + 1, 0.5, z)],
                    out,
                    sides,
                    None,
                );
                let square = [
                    point(i, 0.5, z),
                    point(i + 1, 0.5, z),
                    point(i + 1, 1.0, z),
                    point(i, 1.0, z),
                ];
                for triangle in halves(square, i % 2 == 1) {
                    body.push_facing(triangle, out, sides, None);
                }
            }
        }
        if matches!(sides[1], Label::Dielectric(_)) {
            body.spots.push(([0.11 * self.axes[0], -0.07 * self.axes[1], 0.46 * high], sides[1]));
        }
    }
}

/// A rectangle without thickness across `axis`, cut where it says.
pub struct Plate {
    pub axis: usize,
    pub half: [f64; 2],
    pub at: f64,
    pub squares: [usize; 2],
    pub cut: [bool; 2],
}

impl Plate {
    pub fn add_to(&self, body: &mut Body, conductor: usize, random: &mut Random) {
        let line = |k: usize| -> Vec<f64> {
            let (low, m) = (if self.cut[k] { 0.0 } else { -self.half[k] }, self.squares[k]);
            let place = |i: usize| {
                if i == m { self.half[k] } else { low + (self.half[k] - low) * i as f64 / m as f64 }
            };
            (0..=m).map(place).collect()
        };
        let lines = [line(0), line(1)];
        let (u, v) = ((self.axis + 1) % 3, (self.axis + 2) % 3);
        for (p, q) in lines[0].windows(2).flat_map(|p| lines[1].windows(2).map(move |q| (p, q))) {
            let corner = |s: f64, t: f64| {
                let mut x = [self.at; 3];
                (x[u], x[v]) = (s, t);
                x
            };
            let square =
                [corner(p[0], q[0]), corner(p[1], q[0]), corner(p[1], q[1]), corner(p[0], q[1])];
            for corners in halves(square, random.chance(0.5)) {
                let sides = [Label::Surroundings; 2];
                body.pieces.push(Piece { corners, sides, film: Some(conductor), within: None });
            }
        }
    }
}
