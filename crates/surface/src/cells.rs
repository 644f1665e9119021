//! Lists of what may be nearest to the points of each cell of a grid.

use crate::arcs::Arc;
use crate::balls::{Ball, bounding_box};
use mesh::vector::{Vector, dot, norm, sub};
use parallel::prelude::*;

/// Most cells of a grid.
const MOST: f64 = 3e7;

/// State of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside of all balls by more than the margin.
    Outside,
    /// Deeper in a ball than the band of interest.
    Deep,
    /// In between: lists are there.
    Near,
}

/// A grid over a union of balls.
pub(crate) struct Cells {
    low: Vector,
    side: f64,
    count: [usize; 3],
    /// Greatest depth of each cell's centre.
    depth: Vec<f64>,
    /// Depths of `Near` cells: from minus the margin to the deepest.
    range: [f64; 2],
    /// Balls in which points of a cell may be deepest.
    pub balls: Lists,
    /// Arcs that may be nearest to points of a cell.
    pub arcs: Lists,
}

/// What may be nearest to the points of a cell, with what it is at the cell's centre: a depth,
/// rounded up, or a distance, rounded down.
pub(crate) type Member = (u32, f32);

/// A list for each cell, nearest first.
#[derive(Default)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    members: Vec<Member>,
}

impl Lists {
    /// The list of a cell.
    pub fn list(&self, cell: usize) -> &[Member] {
        &self.members[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }
}

impl Cells {
    /// Lists for points at most `margin` outside of the balls and `deepest` inside.
    pub fn new(balls: &[Ball], arcs: &[Arc], side: f64, margin: f64, deepest: f64) -> Self {
        let [low, high] = bounding_box(balls.iter().copied());
        let [low, high] = [low.map(|x| x - margin), high.map(|x| x + margin)];
        let extent = sub(high, low);
        let mut side = side;
        while extent.iter().map(|x| (x / side).ceil().max(1.0)).product::<f64>() > MOST {
            side *= 1.2;
        }
        let count = extent.map(|x| (x / side).ceil().max(1.0) as usize);
        let diagonal = side * 3f64.sqrt();
        let range = [-margin - 0.5 * diagonal, deepest + 0.5 * diagonal];
        let mut cells = Self {
            low,
            side,
            count,
            depth: Vec::new(),
            range,
            balls: Lists::default(),
            arcs: Lists::default(),
        };
        let layer = count[0] * count[1];
        // By layers: each task has the cells of one.
        let ball_reach = |ball: &Ball| [ball.radius - range[0]; 3];
        let by_layer = cells.by_layer(balls.len(), |i| (balls[i].centre, ball_reach(&balls[i])));
        let depths = |z: usize| {
            let mut depth = vec![f64::MIN; layer];
            for &i in &by_layer[z] {
                let ball = &balls[i as usize];
                cells.visit(ball.centre, ball_reach(ball), z, |cell, centre| {
                    let own = ball.radius - norm(sub(centre, ball.centre));
                    depth[cell] = depth[cell].max(own);
                });
            }
            depth
        };
        let depth: Vec<Vec<f64>> = (0..count[2]).into_par_iter().map(depths).collect();
        let near = |depth: f64| (range[0]..=range[1]).contains(&depth);
        let ball_lists = |z: usize| {
            let mut found: Vec<(u32, Member)> = Vec::new();
            for &i in &by_layer[z] {
                let ball = &balls[i as usize];
                cells.visit(ball.centre, ball_reach(ball), z, |cell, centre| {
                    let best = depth[z][cell];
                    let own = ball.radius - norm(sub(centre, ball.centre));
                    if near(best) && own >= best - diagonal * 1.0001 {
                        found.push((cell as u32, (i, (own as f32).next_up())));
                    }
                });
            }
            found.sort_unstable_by(|(c, (i, a)), (d, (j, b))| {
                c.cmp(d).then(b.total_cmp(a)).then(i.cmp(j))
            });
            found
        };
        let ball_pairs: Vec<_> = (0..count[2]).into_par_iter().map(ball_lists).collect();
        let longest = range[1] + diagonal;
        let arc_reach = |arc: &Arc| arc.half_box().map(|x| x + longest);
        let by_layer = cells.by_layer(arcs.len(), |i| (arcs[i].centre, arc_reach(&arcs[i])));
        let arc_lists = |z: usize| {
            let mut found: Vec<(u32, u32, f64)> = Vec::new();
            let mut best = vec![f64::MAX; layer];
            for &i in &by_layer[z] {
                let arc = &arcs[i as usize];
                cells.visit(arc.centre, arc_reach(arc), z, |cell, centre| {
                    let deep = depth[z][cell];
                    if !near(deep) || deep < -0.5 * diagonal {
                        return;
                    }
                    // No point of the circle is nearer than this.
                    let from = sub(centre, arc.centre);
                    let most = longest.min(best[cell] + diagonal * 1.0001) + arc.radius;
                    if dot(from, from) > most * most {
                        return;
                    }
                    let distance = arc.nearest(centre).distance;
                    if distance <= longest && distance <= best[cell] + diagonal * 1.0001 {
                        best[cell] = best[cell].min(distance);
                        found.push((cell as u32, i, distance));
                    }
                });
            }
            found.retain(|(cell, _, distance)| {
                *distance <= best[*cell as usize] + diagonal * 1.0001
            });
            let rounded =
                |(cell, i, distance): (u32, u32, f64)| (cell, (i, (distance as f32).next_down()));
            let mut found: Vec<(u32, Member)> = found.into_iter().map(rounded).collect();
            found.sort_unstable_by(|(c, (i, a)), (d, (j, b))| {
                c.cmp(d).then(a.total_cmp(b)).then(i.cmp(j))
            });
            found
        };
        let arc_pairs: Vec<_> = (0..count[2]).into_par_iter().map(arc_lists).collect();
        cells.balls = lists(layer, &ball_pairs);
        cells.arcs = lists(layer, &arc_pairs);
        cells.depth = depth.concat();
        cells
    }

    /// For each layer of cells what may reach it.
    fn by_layer(&self, items: usize, item: impl Fn(usize) -> (Vector, Vector)) -> Vec<Vec<u32>> {
        let mut by_layer = vec![Vec::new(); self.count[2]];
        for i in 0..items {
            let (centre, reach) = item(i);
            let [first, last] = self.span(2, centre, reach);
            by_layer[first..last].iter_mut().for_each(|layer| layer.push(i as u32));
        }
        by_layer
    }

    /// Cells along one direction that a box reaches.
    fn span(&self, k: usize, centre: Vector, reach: Vector) -> [usize; 2] {
        let at = |x: f64| ((x - self.low[k]) / self.side).floor();
        let first = at(centre[k] - reach[k]).max(0.0) as usize;
        let last = (at(centre[k] + reach[k]) + 1.0).clamp(0.0, self.count[k] as f64) as usize;
        [first, last.max(first)]
    }

    /// Calls `each` with the cells of a layer in a box, and their centres.
    fn visit(&self, centre: Vector, reach: Vector, z: usize, mut each: impl FnMut(usize, Vector)) {
        let [[x0, x1], [y0, y1]] = [0, 1].map(|k| self.span(k, centre, reach));
        for y in y0..y1 {
            for x in x0..x1 {
                each(x + self.count[0] * y, self.centre([x, y, z]));
            }
        }
    }

    fn centre(&self, cell: [usize; 3]) -> Vector {
        std::array::from_fn(|k| self.low[k] + (cell[k] as f64 + 0.5) * self.side)
    }

    /// The cell that a point is in, if it is in the grid.
    pub fn cell(&self, x: Vector) -> Option<usize> {
        let mut at = [0; 3];
        for k in 0..3 {
            let index = (x[k] - self.low[k]) / self.side;
            if !(index >= 0.0 && index < self.count[k] as f64) {
                return None;
            }
            at[k] = index as usize;
        }
        Some(at[0] + self.count[0] * (at[1] + self.count[1] * at[2]))
    }

    /// State of a cell.
    pub fn place(&self, cell: usize) -> Place {
        let depth = self.depth[cell];
        if depth < self.range[0] {
            Place::Outside
        } else if depth > self.range[1] {
            Place::Deep
        } else {
            Place::Near
        }
    }

    /// Whether no ball comes as near as `distance` to the centres of cells outside.
    pub fn is_clear(&self, distance: f64) -> bool {
        distance < -self.range[0]
    }

    /// Greatest depth of the centre of a cell.
    pub fn depth(&self, cell: usize) -> f64 {
        self.depth[cell]
    }

    /// Distance from a cell's centre to its corners.
    pub fn half_diagonal(&self) -> f64 {
        0.5 * self.side * 3f64.sqrt()
    }

    /// Distance of a point from the centre of its cell.
    pub fn off_centre(&self, x: Vector) -> f64 {
        let square = |k: usize| {
            let index = (x[k] - self.low[k]) / self.side;
            (index - index.floor() - 0.5).powi(2)
        };
        self.side * (square(0) + square(1) + square(2)).sqrt()
    }
}

/// Puts sorted members of cells together, layer by layer.
fn lists(layer: usize, found: &[Vec<(u32, Member)>]) -> Lists {
    let mut starts = vec![0u32; layer * found.len() + 1];
    for (z, found) in found.iter().enumerate() {
        found.iter().for_each(|(cell, _)| starts[z * layer + *cell as usize + 1] += 1);
    }
    for cell in 1..starts.len() {
        starts[cell] += starts[cell - 1];
    }
    let members = found.iter().flatten().map(|(_, member)| *member).collect();
    Lists { starts, members }
}
