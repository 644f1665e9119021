//! The grid in which the triangles near a change of a surface are looked up.

use mesh::vector::Vector;

/// Sides of the grid's cells relative to the wanted side of triangles.
const CELL: f64 = 1.5;

/// Triangles by the cells that their boxes reach, hashed: lists may have some from elsewhere.
pub(crate) struct Guard {
    side: f64,
    lists: Vec<Vec<u32>>,
    /// Changes must not leave triangles with smallest angles of a smaller sine.
    pub floor: f64,
}

impl Guard {
    /// An empty grid for `triangles` triangles of this side.
    pub fn new(side: f64, triangles: usize) -> Self {
        let lists = vec![Vec::new(); (4 * triangles).next_power_of_two()];
        Self { side: CELL * side, lists, floor: 0.0 }
    }

    /// The lists of the cells that the box around some points reaches.
    pub fn reached(&self, points: [Vector; 3]) -> impl Iterator<Item = usize> + use<> {
        let end = |k: usize, pick: fn(f64, f64) -> f64| {
            let [a, b, c] = points;
            (pick(pick(a[k], b[k]), c[k]) / self.side).floor() as i64
        };
        let [x, y, z] = [0, 1, 2].map(|k| end(k, f64::min)..=end(k, f64::max));
        let mask = self.lists.len() - 1;
        let row = move |(y, z): (i64, i64)| {
            x.clone().map(move |x| {
                let hash = (x.wrapping_mul(73_856_093))
                    ^ (y.wrapping_mul(19_349_663))
                    ^ (z.wrapping_mul(83_492_791));
                hash as usize & mask
            })
        };
        z.flat_map(move |z| y.clone().map(move |y| (y, z))).flat_map(row)
    }

    /// The triangles in a list, some of which may be of other cells.
    pub fn listed(&self, list: usize) -> &[u32] {
        &self.lists[list]
    }

    /// Enters a triangle.
    pub fn add(&mut self, t: u32, corners: [Vector; 3]) {
        for list in self.reached(corners) {
            self.lists[list].push(t);
        }
    }

    /// Takes a triangle out, whose corners are where they were when it was entered.
    pub fn remove(&mut self, t: u32, corners: [Vector; 3]) {
        for list in self.reached(corners) {
            let members = &mut self.lists[list];
            if let Some(at) = members.iter().position(|&member| member == t) {
                members.swap_remove(at);
            }
        }
    }
}
