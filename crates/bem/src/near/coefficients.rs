//! The near field of layers between spaces: a sparse matrix over coefficients, assembled from blocks of pairs of panels.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::geometry::neighbours::Neighbours;
use crate::geometry::panels::Panels;
use crate::geometry::triangle::Vec3;
use crate::integrals::linear_nodes::Block;
use crate::integrals::linear_pair::{double_layer, single_layer, transposed};
use crate::integrals::potentials::WeightedPoints;
use crate::near::Selection;
use crate::near::accuracy::Accuracy;
use crate::near::pairs::{RowKind, SOLID_ANGLES};
use crate::quadrature::sums::Rule;
use crate::space::{Test, TestTrial};

/// Panels whose rows one task assembles.
const CHUNK: usize = 256;

/// Linear densities are seen as far as this, in diameters of a panel: their moments fade more slowly than charges do.
const DIAMETERS: f64 = 3.05;

/// Exact integrals, and what quadrature points make of them, between panels with linear functions:
/// int_i int_j lambda_k(x) mu_l(y) times the kernel. For collocation the outer integral is the centroid's value times the area,
/// a third of it for each k.
pub(crate) struct Blocks<'a> {
    pub(crate) panels: &'a Panels,
    pub(crate) kernel: RowKind,
    pub(crate) test: Test,
    pub(crate) accuracy: &'a Accuracy,
}

impl Blocks<'_> {
    /// The integrals between panels `i` (tested) and `j`.
    pub(crate) fn exact(&self, i: usize, j: usize, nodes: &mut WeightedPoints) -> Block {
        let (s, t) = (self.panels.panel(i), self.panels.panel(j));
        if self.kernel != RowKind::Single && i == j {
            return Block::default();
        }
        match (self.test, self.kernel) {
            (Test::Means(_), RowKind::Single) => {
                let (first, second) = self.panels.ordered(i, j);
                let (s, t) = (self.panels.panel(first), self.panels.panel(second));
                let block = single_layer(&s, &t, &self.accuracy.pairs, nodes);
                if first == i { block } else { transposed(block) }
            }
            (Test::Means(_), RowKind::Double) => double_layer(&s, &t, SOLID_ANGLES, nodes),
            (Test::Means(_), RowKind::Adjoint) => {
                transposed(double_layer(&t, &s, SOLID_ANGLES, nodes))
            }
            (Test::Centroids, kernel) => {
                let at = t.linear_potentials(s.centroid.into());
                let values = match kernel {
                    RowKind::Single => at.single_layer,
                    RowKind::Double => at.double_layer,
                    _ => at.gradient.map(|gradient| Vec3::from(gradient).dot(&s.normal)),
                };
                [values.map(|value| value * s.area / 3.0); 3]
            }
            (_, RowKind::None) => Block::default(),
        }
    }

    /// The same summed over the points of the first rule on `i` and of the second on `j`; coincident points add nothing.
    pub(crate) fn by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> Block {
        let panels = self.panels;
        let normal = match self.kernel {
            RowKind::Double => panels.panel(j).normal,
            RowKind::Adjoint => -panels.panel(i).normal,
            _ => Vec3::zeros(),
        };
        let areas = panels.areas()[i] * panels.areas()[j];
        let single = self.kernel == RowKind::Single;
        let mut block = Block::default();
        for ((x, w), node) in outer.on(panels.vertices(i)).zip(outer.nodes()) {
            let mut sums = [0.0; 3];
            for ((y, v), node) in inner.on(panels.vertices(j)).zip(inner.nodes()) {
                let r = x - y;
                let r2 = r.norm_squared();
                if r2 > 0.0 {
                    let inverse = 1.0 / r2.sqrt();
                    let value = if single { inverse } else { normal.dot(&r) * inverse / r2 };
                    (0..3).for_each(|l| sums[l] += v * node.barycentric[l] * value);
                }
            }
            for (row, share) in block.iter_mut().zip(node.barycentric) {
                (0..3).for_each(|l| row[l] += areas * w * share * sums[l]);
            }
        }
        block
    }

    /// Exact integrals less those by points, if the points are not good enough.
    fn correction(
        &self,
        selection: &Selection,
        i: usize,
        j: usize,
        nodes: &mut WeightedPoints,
    ) -> Option<Block> {
        let [rule, finer] = selection.rules;
        let outer = self.test.rule(rule);
        let areas = self.panels.areas();
        let size = (areas[i] * areas[j]).sqrt();
        let large = |error: f64| {
            let small = error / size <= selection.error;
            !small // so that NaN is kept
        };
        let plain = self.by_points([outer, rule], i, j);
        let apart = (self.panels.centroid(i) - self.panels.centroid(j)).norm();
        if apart < self.panels.radius(i) + self.panels.radius(j) {
            // Rules of any order may agree by chance: nothing but the integral itself tells.
            let difference = minus(&self.exact(i, j, nodes), &plain);
            return large(largest(&difference)).then_some(difference);
        }
        // One side at a time: errors of the two sides do not cancel here.
        let of = |rules| largest(&minus(&self.by_points(rules, i, j), &plain));
        let mut error = of([outer, finer]);
        if let Test::Means(_) = self.test {
            error += of([finer, rule]);
        }
        large(error).then(|| minus(&self.exact(i, j, nodes), &plain))
    }
}

fn minus(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|k| std::array::from_fn(|l| a[k][l] - b[k][l]))
}

/// Largest entry of a block between functions of unit norm on panels of unit area: the constant 1 and two linear ones, all
/// orthogonal to each other.
fn largest(block: &Block) -> f64 {
    let (root2, root6) = (2f64.sqrt(), 6f64.sqrt());
    let rotated = |[a, b, c]: [f64; 3]| [a + b + c, root6 * (a - b), root2 * (2.0 * c - a - b)];
    let rows = block.map(rotated);
    let column = |l: usize| rotated([rows[0][l], rows[1][l], rows[2][l]]);
    (0..3).flat_map(column).fold(0.0, |most, entry: f64| {
        // NaN must come through.
        if entry.abs() <= most { most } else { entry.abs() }
    })
}

/// What the points leave, over coefficients: parts that are to be added up.
pub(crate) struct SpaceNear {
    chunks: Vec<Chunk>,
}

/// What some panels add to their rows.
struct Chunk {
    rows: Vec<u32>,
    /// Where the entries of each row begin and, at last, where they end.
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SpaceNear {
    pub(crate) fn new(blocks: &Blocks<'_>, pairing: &TestTrial) -> Self {
        let panels = blocks.panels;
        let n = panels.len();
        let diameters = blocks.accuracy.selection.diameters.max(DIAMETERS);
        let selection = Selection { diameters, ..blocks.accuracy.selection.clone() };
        let reach = selection.reach(panels);
        let search = Neighbours::new(&panels.centroids()[..n], &reach);
        let chunk = |first: usize| {
            let mut nodes = WeightedPoints::default();
            let mut found = Vec::new();
            let mut walk = search.walk();
            let mut sums: HashMap<(u32, u32), f64> = HashMap::new();
            for i in first..n.min(first + CHUNK) {
                found.clear();
                walk.of(i, &mut found);
                for &j in &found {
                    let j = j as usize;
                    let Some(block) = blocks.correction(&selection, i, j, &mut nodes) else {
                        continue;
                    };
                    pairing.for_entries((i, j), &block, |row, column, value| {
                        *sums.entry((row, column)).or_default() += value;
                    });
                }
            }
            Chunk::new(sums)
        };
        Self { chunks: (0..n).into_par_iter().step_by(CHUNK).map(chunk).collect() }
    }

    /// y += A x for one column.
    pub(crate) fn multiply_add(&self, x: &[f64], y: &mut [f64]) {
        let products: Vec<Vec<f64>> =
            self.chunks.par_iter().map(|chunk| chunk.multiply(x)).collect();
        for (chunk, products) in self.chunks.iter().zip(products) {
            chunk.rows.iter().zip(products).for_each(|(&row, value)| y[row as usize] += value);
        }
    }
}

impl Chunk {
    fn new(sums: HashMap<(u32, u32), f64>) -> Self {
        let mut entries: Vec<((u32, u32), f64)> = sums.into_iter().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        let mut chunk = Self { rows: vec![], starts: vec![0], columns: vec![], values: vec![] };
        for ((row, column), value) in entries {
            if chunk.rows.last() != Some(&row) {
                chunk.rows.push(row);
                chunk.starts.push(chunk.columns.len() as u32);
            }
            chunk.columns.push(column);
            chunk.values.push(value);
            if let Some(end) = chunk.starts.last_mut() {
                *end = chunk.columns.len() as u32;
            }
        }
        chunk
    }

    fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let row = |range: &[u32]| {
            let range = range[0] as usize..range[1] as usize;
            let terms = self.columns[range.clone()].iter().zip(&self.values[range]);
            terms.map(|(&column, value)| value * x[column as usize]).sum()
        };
        self.starts.windows(2).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

    use super::*;
    use crate::space::FunctionSpace;

    /// What points and corrections leave of each layer, relative to the root mean square of the density, for constant, linear and
    /// random ones: without a fast sum, in some rows.
    #[test]
    fn errors_are_those_asked_for() {
        let resolution = Resolution::Elements(320);
        let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
        let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
        let tolerance = 1e-5;
        let accuracy = Accuracy::new(tolerance, 1);
        let mut nodes = WeightedPoints::default();
        for (name, mesh) in
            [("sphere", sphere.build().unwrap()), ("cube", cube(1.0)), ("graded", cube(30.0))]
        {
            let panels = Panels::new(&mesh, |_| true);
            let n = panels.len();
            let selection = Selection { diameters: DIAMETERS, ..accuracy.selection.clone() };
            let reach = selection.reach(&panels);
            let densities: Vec<Vec<[f64; 3]>> = vec![
                vec![[1.0; 3]; n],
                (0..n).map(|i| panels.vertices(i).map(|v| v.x)).collect(),
                (0..3 * n)
                    .map(|i| (7.3 * i as f64 * i as f64).sin())
                    .collect::<Vec<_>>()
                    .chunks(3)
                    .map(|v| [v[0], v[1], v[2]])
                    .collect(),
            ];
            for (kernel, test) in [
                (RowKind::Single, Test::Means(FunctionSpace::Linear)),
                (RowKind::Double, Test::Means(FunctionSpace::Linear)),
                (RowKind::Adjoint, Test::Centroids),
            ] {
                let blocks = Blocks { panels: &panels, kernel, test, accuracy: &accuracy };
                let rules = [test.rule(accuracy.rule), accuracy.rule];
                // Squares of errors of means over thirds of panels, so to speak, and of the density.
                let mut squares = vec![[0.0; 2]; densities.len()];
                let mut kept = 0;
                for i in (0..n).step_by(9) {
                    let mut errors = vec![[0.0; 3]; densities.len()];
                    for j in 0..n {
                        let apart = (panels.centroid(i) - panels.centroid(j)).norm();
                        let near = apart < reach[i].max(reach[j])
                            && blocks.correction(&selection, i, j, &mut nodes).is_some();
                        if near {
                            kept += 1;
                            continue;
                        }
                        let exact = blocks.exact(i, j, &mut nodes);
                        let left = minus(&exact, &blocks.by_points(rules, i, j));
                        for (errors, x) in errors.iter_mut().zip(&densities) {
                            for k in 0..3 {
                                errors[k] += (0..3).map(|l| left[k][l] * x[j][l]).sum::<f64>();
                            }
                        }
                    }
                    let area = panels.areas()[i];
                    for ((squares, errors), x) in squares.iter_mut().zip(errors).zip(&densities) {
                        let square = |x: [f64; 3]| area * x.iter().map(|x| x * x).sum::<f64>();
                        squares[0] += square(errors.map(|e| 3.0 * e / area));
                        squares[1] += square(x[i]);
                    }
                }
                assert!(kept < n.div_ceil(9) * n * 3 / 4, "nearly all pairs are near");
                for [error, size] in squares {
                    let left = (error / size).sqrt() / (2.0 * std::f64::consts::PI);
                    println!(
                        "{name} {kernel:?} {test:?}: {left:.1e}, {} a row",
                        kept / n.div_ceil(9)
                    );
                    assert!(
                        left > 0.0 && left < tolerance,
                        "{name} {kernel:?} {test:?}: {left:.1e}"
                    );
                }
            }
        }
    }
}
