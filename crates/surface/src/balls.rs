//! The balls whose union a surface is made of: atoms with enlarged radii, without those within
//! others.

use crate::error::Error;
use crate::options::Atom;
use mesh::vector::{Vector, dot, norm, sub};
use std::collections::HashMap;

/// Largest coordinate and radius: cubes of them stay exact enough to compare.
const LARGEST: f64 = 1e9;

/// Balls that are nearer to being within another than this, relative to their radius, are.
const WITHIN: f64 = 1e-9;

/// A ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Its centre.
    pub centre: Vector,
    /// Its radius.
    pub radius: f64,
}

/// The low and the high end of the box around balls.
pub(crate) fn bounding_box(balls: impl Iterator<Item = Ball> + Clone) -> [Vector; 2] {
    [-1.0, 1.0].map(|sign: f64| {
        std::array::from_fn(|k| {
            let ends = balls.clone().map(|ball| sign * ball.centre[k] + ball.radius);
            sign * ends.fold(f64::MIN, f64::max)
        })
    })
}

/// Checks atoms, and gives the balls around them with radii larger by `inflation` that are not
/// within others.
pub fn balls(atoms: &[Atom], inflation: f64) -> Result<Vec<Ball>, Error> {
    Ok(without_contained(&all_balls(atoms, inflation)?))
}

/// As [`balls`], with buried balls.
pub(crate) fn all_balls(atoms: &[Atom], inflation: f64) -> Result<Vec<Ball>, Error> {
    for (atom, Atom { centre, radius }) in atoms.iter().enumerate() {
        if let Some(&value) = centre.iter().find(|x| x.is_nan() || x.abs() > LARGEST) {
            return Err(Error::NotFinite { atom, what: "coordinate", value });
        }
        if radius.is_nan() || radius.abs() > LARGEST {
            return Err(Error::NotFinite { atom, what: "radius", value: *radius });
        }
        if *radius < 0.0 {
            return Err(Error::NegativeRadius { atom, radius: *radius });
        }
    }
    let all: Vec<Ball> = atoms
        .iter()
        .filter(|atom| atom.radius > 0.0)
        .map(|atom| Ball { centre: atom.centre, radius: atom.radius + inflation })
        .collect();
    if all.is_empty() {
        return Err(Error::NoAtoms { atoms: atoms.len() });
    }
    Ok(all)
}

/// Balls that are in no other one; of equal ones the first.
fn without_contained(all: &[Ball]) -> Vec<Ball> {
    let near = Neighbours::new(all);
    let mut found = Vec::new();
    let contained = |i: usize, found: &mut Vec<u32>| {
        near.of(i, found);
        let ball = all[i];
        found.iter().any(|&j| {
            let (j, other) = (j as usize, all[j as usize]);
            let slack = other.radius - ball.radius - norm(sub(other.centre, ball.centre));
            // Of two that contain each other, within the tolerance, one must stay.
            let back = ball.radius - other.radius - norm(sub(other.centre, ball.centre));
            let tolerance = -WITHIN * ball.radius;
            slack >= tolerance && (back < tolerance || j < i)
        })
    };
    (0..all.len()).filter(|&i| !contained(i, &mut found)).map(|i| all[i]).collect()
}

/// Finds the balls that overlap a ball.
pub struct Neighbours<'a> {
    balls: &'a [Ball],
    side: f64,
    cells: HashMap<[i64; 3], Vec<u32>>,
    /// Balls much larger than most, which are compared with all others.
    large: Vec<u32>,
}

impl<'a> Neighbours<'a> {
    /// Sorts the balls into cells.
    pub fn new(balls: &'a [Ball]) -> Self {
        let mut radii: Vec<f64> = balls.iter().map(|ball| ball.radius).collect();
        radii.sort_unstable_by(f64::total_cmp);
        let usual = 1.5 * radii.get(radii.len() / 2).copied().unwrap_or(1.0);
        let side = 2.0 * usual;
        let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
        let mut large = Vec::new();
        for (i, ball) in balls.iter().enumerate() {
            if ball.radius > usual {
                large.push(i as u32);
            } else {
                cells.entry(cell(ball.centre, side)).or_default().push(i as u32);
            }
        }
        Self { balls, side, cells, large }
    }

    /// Balls that overlap ball `i` or touch it, nearest first.
    pub fn of(&self, i: usize, found: &mut Vec<u32>) {
        found.clear();
        let ball = self.balls[i];
        let overlaps = |j: u32| {
            let other = self.balls[j as usize];
            let reach = ball.radius + other.radius;
            let apart = sub(other.centre, ball.centre);
            j as usize != i && dot(apart, apart) <= reach * reach
        };
        if ball.radius > 0.5 * self.side {
            found.extend((0..self.balls.len() as u32).filter(|&j| overlaps(j)));
        } else {
            let [x, y, z] = cell(ball.centre, self.side);
            for n in 0..27 {
                let key = [x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1];
                if let Some(members) = self.cells.get(&key) {
                    found.extend(members.iter().copied().filter(|&j| overlaps(j)));
                }
            }
            found.extend(self.large.iter().copied().filter(|&j| overlaps(j)));
        }
        let distance = |j: &u32| {
            let apart = sub(self.balls[*j as usize].centre, ball.centre);
            dot(apart, apart)
        };
        let mut sorted: Vec<(f64, u32)> = found.iter().map(|j| (distance(j), *j)).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.clear();
        found.extend(sorted.into_iter().map(|(_, j)| j));
    }
}

fn cell(point: Vector, side: f64) -> [i64; 3] {
    point.map(|x| (x / side).floor() as i64)
}
