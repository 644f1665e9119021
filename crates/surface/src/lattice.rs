//! A first mesh: marching tetrahedra on a body-centred cubic lattice.
//!
//! Each tetrahedron has at most two triangles, inside of it, with corners on its sides: so the
//! surface is closed, manifold and free of crossings for any values at the nodes. Its sides lie
//! between nodes next to each other of one cubic lattice (7 directions with those between the two
//! lattices), and all tetrahedra are alike.

use crate::error::Error;
use crate::field::{Field, Foot};
use crate::triangle::quality;
use mesh::vector::{Vector, add, cross, dot, norm, scale, sub};
use parallel::prelude::*;

/// Cells of the lattice along the side of a block, of the cubes that it is taken apart into at
/// first, and of the least ones.
const BLOCK: i64 = 8;
const CUBE: i32 = 4;
const LEAST: i32 = 2;

/// Largest number of blocks.
const MOST_BLOCKS: f64 = 5e7;

/// Most triangles of the first mesh.
const MOST_TRIANGLES: f64 = 4e7;

/// Triangles in a block that the surface goes through: about 13 on the square of the constant.
const PER_BLOCK: f64 = 800.0;

/// Halvings of an interval at most.
const HALVINGS: usize = 60;

/// How far a point may move off its side when it is put on the surface, in lattice constants.
const MOVED: f64 = 0.02;

/// And how far aside of the surface's normal.
const ASIDE: f64 = 1e-3;

/// Shares of a side that vertices which are moved along it stay away from its ends, parts of the
/// way to the middle that they go at once, and rounds after which they go all of it.
const INNER: f64 = 0.02;
const TOWARDS: f64 = 0.15;
const RELAXATIONS: usize = 40;

/// Vertices on the surface, and triangles.
pub struct FirstMesh {
    /// The vertices, on the sides of tetrahedra.
    pub vertices: Vec<Vector>,
    /// The vertices as points of the surface, where that is found next to them.
    pub feet: Vec<Option<Foot>>,
    /// The sides of tetrahedra that the vertices are on: wherever on them they are, no triangles
    /// cross.
    pub sides: Vec<[Vector; 2]>,
    /// Indices of the corners, outward normals by the right hand.
    pub triangles: Vec<[u32; 3]>,
}

/// A lattice over the bounds of a field.
struct Lattice {
    origin: Vector,
    /// Half the lattice constant: nodes have coordinates that are all even or all odd.
    half: f64,
    /// Blocks along the first two directions, with one more, for numbers of nodes.
    blocks: [i64; 2],
}

/// A side of a tetrahedron that the surface goes through.
#[derive(Clone, Copy)]
struct Cut {
    key: u64,
    inner: [i32; 3],
    outer: [i32; 3],
    values: [f64; 2],
}

/// What the surface has in one block.
struct Part {
    cuts: Vec<Cut>,
    triangles: Vec<[u32; 3]>,
}

/// The surface of a field on a lattice with a given constant, moved by a share of it.
pub fn first_mesh(field: &impl Field, constant: f64, shift: f64) -> Result<FirstMesh, Error> {
    let [low, high] = field.bounds();
    let origin = low.map(|x| x - (2.0 + shift) * constant);
    let side = BLOCK as f64 * constant;
    let blocks: [f64; 3] =
        std::array::from_fn(|k| ((high[k] + 2.0 * constant - origin[k]) / side).ceil());
    let all = blocks.iter().product::<f64>();
    if all.is_nan() || all > MOST_BLOCKS {
        return Err(Error::TooMany { expected: all, limit: MOST_BLOCKS });
    }
    let blocks = blocks.map(|n| n as i64);
    let numbered = [blocks[0] + 1, blocks[1] + 1];
    let lattice = Lattice { origin, half: 0.5 * constant, blocks: numbered };
    let first_node = |block: i64| {
        let at = [block % blocks[0], block / blocks[0] % blocks[1], block / blocks[0] / blocks[1]];
        at.map(|b| (2 * BLOCK * b) as i32)
    };
    let is_active = |&block: &i64| {
        let first = first_node(block);
        cubes([0; 3], BLOCK as i32, CUBE).any(|low| lattice.side(field, first, low, CUBE).is_none())
    };
    let active: Vec<i64> = (0..all as i64).into_par_iter().filter(is_active).collect();
    let expected = active.len() as f64 * PER_BLOCK;
    if expected > MOST_TRIANGLES {
        return Err(Error::TooMany { expected, limit: MOST_TRIANGLES });
    }
    let part = |&block: &i64| lattice.block(field, first_node(block));
    let parts: Vec<Part> =
        active.par_iter().map(part).filter(|part| !part.triangles.is_empty()).collect();
    let mut cuts: Vec<Cut> = parts.iter().flat_map(|part| part.cuts.iter().copied()).collect();
    sort_cuts(&mut cuts);
    let roots: Vec<(Vector, Option<Foot>)> =
        cuts.par_iter().map(|cut| lattice.root(field, cut)).collect();
    let (vertices, feet) = roots.into_iter().unzip();
    let sides = cuts.iter().map(|cut| [cut.inner, cut.outer].map(|n| lattice.point(n))).collect();
    let number = |part: &Part| -> Vec<[u32; 3]> {
        let numbers: Vec<u32> = part.cuts.iter().map(|cut| place_of(cut, &cuts)).collect();
        part.triangles.iter().map(|t| t.map(|v| numbers[v as usize])).collect()
    };
    let triangles: Vec<_> = parts.par_iter().map(number).collect();
    Ok(FirstMesh { vertices, feet, sides, triangles: triangles.concat() })
}

/// Sorts cuts by their sides, each of which is kept once.
fn sort_cuts(cuts: &mut Vec<Cut>) {
    cuts.par_sort_unstable_by_key(|cut| cut.key);
    cuts.dedup_by_key(|cut| cut.key);
}

/// The place of a cut among sorted ones.
fn place_of(cut: &Cut, cuts: &[Cut]) -> u32 {
    cuts.partition_point(|other| other.key < cut.key) as u32
}

/// The low corners of the cubes of a size that a larger one is made of.
fn cubes(low: [i32; 3], size: i32, parts: i32) -> impl Iterator<Item = [i32; 3]> {
    let count = size / parts;
    (0..count * count * count).map(move |n| {
        let at = [n % count, n / count % count, n / count / count];
        std::array::from_fn(|k| low[k] + parts * at[k])
    })
}

impl FirstMesh {
    /// Moves vertices along the sides of their tetrahedra, towards the middle, until no triangle's
    /// smallest angle has a sine below `least`; with all in the middle angles are above 35 degrees.
    pub fn relax(&mut self, least: f64) {
        let mut shares: Vec<f64> = self
            .vertices
            .iter()
            .zip(&self.sides)
            .map(|(x, [a, b])| {
                let along = sub(*b, *a);
                (dot(sub(*x, *a), along) / dot(along, along)).clamp(INNER, 1.0 - INNER)
            })
            .collect();
        for round in 0.. {
            self.vertices = shares
                .iter()
                .zip(&self.sides)
                .map(|(t, [a, b])| add(*a, scale(*t, sub(*b, *a))))
                .collect();
            let thin: Vec<u32> = self
                .triangles
                .par_iter()
                .filter(|t| quality(t.map(|v| self.vertices[v as usize])) < least)
                .flatten_iter()
                .copied()
                .collect();
            if thin.is_empty() {
                break;
            }
            let mut moved = vec![false; shares.len()];
            thin.into_iter().for_each(|v| moved[v as usize] = true);
            for (share, _) in shares.iter_mut().zip(moved).filter(|(_, moved)| *moved) {
                let towards = if round < RELAXATIONS { TOWARDS } else { 1.0 };
                *share += towards * (0.5 - *share);
            }
        }
    }
}

impl Lattice {
    fn point(&self, node: [i32; 3]) -> Vector {
        std::array::from_fn(|k| self.origin[k] + f64::from(node[k]) * self.half)
    }

    /// A number for the side between two nodes, whichever way around: by blocks, so that what is
    /// close is so in memory, too.
    fn key(&self, a: [i32; 3], b: [i32; 3]) -> u64 {
        let reversed = |v: &[i32; 3]| [v[2], v[1], v[0]];
        let (low, high) = if reversed(&a) < reversed(&b) { (a, b) } else { (b, a) };
        let [block, node] = [0, 1].map(|k| {
            let [x, y, z] = low.map(|x| {
                let x = i64::from(x) + 2;
                [x / (2 * BLOCK), x % (2 * BLOCK)][k]
            });
            let [nx, ny] = if k == 0 { self.blocks } else { [2 * BLOCK; 2] };
            x + nx * (y + ny * z)
        });
        let step: [i32; 3] = std::array::from_fn(|k| high[k] - low[k]);
        let direction = match step {
            [2, 0, 0] => 0,
            [0, 2, 0] => 1,
            [0, 0, 2] => 2,
            [x, y, _] => 3 + u64::from(x > 0) + 2 * u64::from(y > 0),
        };
        (block * (2 * BLOCK).pow(3) + node) as u64 * 8 + direction
    }

    /// The side of the surface that all nodes of a cube's tetrahedra are on, if it is known.
    fn side(&self, field: &impl Field, first: [i32; 3], low: [i32; 3], size: i32) -> Option<bool> {
        let centre = self.point(std::array::from_fn(|k| first[k] + 2 * low[k] + size));
        field.side(centre, f64::from(size + 1) * self.half * 3f64.sqrt())
    }

    /// The triangles of the tetrahedra at the even nodes of a block.
    fn block(&self, field: &impl Field, first: [i32; 3]) -> Part {
        // Even nodes from 0 to 2 BLOCK, odd ones from -1 to 2 BLOCK + 1.
        let [evens, odds] = [BLOCK as i32 + 1, BLOCK as i32 + 2];
        let index = |[x, y, z]: [i32; 3]| {
            let index = if x & 1 == 0 {
                x / 2 + evens * (y / 2 + evens * (z / 2))
            } else {
                let [x, y, z] = [x, y, z].map(|x| (x + 1) / 2);
                evens * evens * evens + x + odds * (y + odds * z)
            };
            index as usize
        };
        let nodes = |low: [i32; 3], size: i32| {
            let of = |count: i32, start: i32| {
                (0..count * count * count).map(move |n| {
                    let at = [n % count, n / count % count, n / count / count];
                    std::array::from_fn(|k| 2 * low[k] + start + 2 * at[k])
                })
            };
            of(size + 1, 0).chain(of(size + 2, -1))
        };
        // Cubes that the surface may go through; of others the sign is enough.
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let mut may_be_near = |cube: [i32; 3], size: i32| {
            let side = self.side(field, first, cube, size);
            far.extend(side.map(|inside| (cube, size, inside)));
            side.is_none()
        };
        for cube in cubes([0; 3], BLOCK as i32, CUBE) {
            if may_be_near(cube, CUBE) {
                near.extend(cubes(cube, CUBE, LEAST).filter(|&part| may_be_near(part, LEAST)));
            }
        }
        let mut part = Part { cuts: Vec::new(), triangles: Vec::new() };
        let mut values = vec![f64::NAN; (evens.pow(3) + odds.pow(3)) as usize];
        let (mut asked, mut points) = (Vec::new(), Vec::new());
        for node in near.iter().flat_map(|&cube| nodes(cube, LEAST)) {
            let value = &mut values[index(node)];
            if value.is_nan() {
                *value = 0.0;
                asked.push(index(node));
                points.push(self.point(std::array::from_fn(|k| first[k] + node[k])));
            }
        }
        let mut found = Vec::with_capacity(points.len());
        field.values(&points, &mut found);
        asked.iter().zip(&found).for_each(|(&n, &value)| values[n] = value);
        if found.iter().all(|v| *v > 0.0) || !found.iter().any(|v| *v > 0.0) {
            return part;
        }
        for (cube, size, inside) in far {
            for node in nodes(cube, size) {
                let value = &mut values[index(node)];
                if value.is_nan() {
                    *value = if inside { f64::INFINITY } else { f64::NEG_INFINITY };
                }
            }
        }
        let value = |node: [i32; 3]| values[index(std::array::from_fn(|k| node[k] - first[k]))];
        let mut corners: Vec<[Cut; 3]> = Vec::new();
        let cells = near.iter().flat_map(|&cube| cubes(cube, LEAST, 1));
        for cell in cells {
            let node: [i32; 3] = std::array::from_fn(|k| first[k] + 2 * cell[k]);
            for k in 0..3 {
                let (u, v) = ((k + 1) % 3, (k + 2) % 3);
                let mut end = node;
                end[k] += 2;
                let ring = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(|[s, t]| {
                    let mut at = node;
                    at[k] += 1;
                    at[u] += s;
                    at[v] += t;
                    at
                });
                for side in 0..4 {
                    let tetrahedron = [node, end, ring[side], ring[(side + 1) % 4]];
                    self.cut(tetrahedron, tetrahedron.map(value), &mut corners);
                }
            }
        }
        part.cuts = corners.as_flattened().to_vec();
        sort_cuts(&mut part.cuts);
        let numbers = |t: &[Cut; 3]| [0, 1, 2].map(|k| place_of(&t[k], &part.cuts));
        part.triangles = corners.iter().map(numbers).collect();
        part
    }

    /// Adds the triangles of a tetrahedron.
    fn cut(&self, nodes: [[i32; 3]; 4], values: [f64; 4], found: &mut Vec<[Cut; 3]>) {
        let (mut inner, mut outer) = ([0; 4], [0; 4]);
        let (mut inners, mut outers) = (0, 0);
        for k in 0..4 {
            if values[k] > 0.0 {
                inner[inners] = k;
                inners += 1;
            } else {
                outer[outers] = k;
                outers += 1;
            }
        }
        let cut = |i: usize, o: usize| Cut {
            key: self.key(nodes[i], nodes[o]),
            inner: nodes[i],
            outer: nodes[o],
            values: [values[i], values[o]],
        };
        let mut push = |triangle: [Cut; 3]| {
            // Twice the middles of the sides; the normal must point from within outwards.
            let middle = |cut: &Cut| -> Vector {
                std::array::from_fn(|k| f64::from(cut.inner[k] + cut.outer[k]))
            };
            let [a, b, c] = [0, 1, 2].map(|k| middle(&triangle[k]));
            let out: Vector =
                std::array::from_fn(|k| f64::from(triangle[0].outer[k] - triangle[0].inner[k]));
            let [p, q, r] = triangle;
            found.push(if dot(cross(sub(b, a), sub(c, a)), out) > 0.0 {
                [p, q, r]
            } else {
                [p, r, q]
            });
        };
        match inners {
            1 => push([0, 1, 2].map(|k| cut(inner[0], outer[k]))),
            3 => push([0, 1, 2].map(|k| cut(inner[k], outer[0]))),
            2 => {
                let [a, b] = [inner[0], inner[1]];
                let [c, d] = [outer[0], outer[1]];
                let corners = [cut(a, c), cut(a, d), cut(b, d), cut(b, c)];
                push([corners[0], corners[1], corners[2]]);
                push([corners[0], corners[2], corners[3]]);
            }
            _ => {}
        }
    }

    /// The point of the surface on a side, or next to it: an interval with different signs at its
    /// ends is made shorter by the regula falsi (Illinois variant), until the surface is close.
    fn root(&self, field: &impl Field, cut: &Cut) -> (Vector, Option<Foot>) {
        let (a, b) = (self.point(cut.inner), self.point(cut.outer));
        let at = |t: f64| add(a, scale(t, sub(b, a)));
        let [mut low, mut high] = [0.0, 1.0];
        let known = |value: f64, x: Vector| if value.is_finite() { value } else { field.value(x) };
        let (mut inside, mut outside) = (known(cut.values[0], a), known(cut.values[1], b));
        let mut t = 0.5;
        for step in 0..HALVINGS {
            let fast = step % 4 != 3 && inside - outside > 0.0;
            t = if fast {
                low + (high - low) * inside / (inside - outside)
            } else {
                0.5 * (low + high)
            };
            let point = at(t);
            // Along the normal alone: the foot of a point next to a crease may be on the crease.
            let near = |foot: &Foot| {
                let moved = sub(foot.point, point);
                norm(moved) < 2.0 * MOVED * self.half
                    && norm(cross(moved, foot.normal)) < ASIDE * self.half
            };
            if let Some(foot) = field.foot(point).filter(near) {
                return (foot.point, Some(foot));
            }
            let value = field.value(point);
            if value > 0.0 {
                (low, inside) = (t, value);
                outside *= 0.5;
            } else {
                (high, outside) = (t, value);
                inside *= 0.5;
            }
        }
        (at(t), field.foot(at(t)))
    }
}
