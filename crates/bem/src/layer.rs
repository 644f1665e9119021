//! Single layer, double layer and adjoint double layer over panels: fast sum over quadrature points and near-field correction.
//!
//! Unknowns are charges of panels, rows means over panels, and there is no factor 1/(4 pi):
//!
//! ```text
//! single:  A_ij = 1/(A_i A_j) int_i int_j 1 / |x - y|
//! double:  A_ij = 1/(A_i A_j) int_i int_j n_y . (x - y) / |x - y|^3        (panel j carries dipoles along its normal)
//! adjoint: A_ij = 1/(A_i A_j) int_i int_j n_x . grad_x 1 / |x - y|         (the transposed double layer)
//! ```
//!
//! Rows of one operator may be of different kinds, which is how conductors and interfaces share one fast sum.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use crate::Error;
use crate::gmres::{LinearOperator, Slack};
use crate::ladder::Ladder;
use crate::near::{Near, Needs, PairIntegrals};
use crate::pair::PairQuadrature;
use crate::panels::Panels;
use crate::points::Points;
use crate::potentials::Nodes;
use crate::product::{self, Rule};
use crate::single_layer::{self, SampledError, SingleLayerPairs};
use crate::solid_angle_pair::solid_angle_over;
use crate::triangle::Vec3;

/// Accuracy of exact solid angles, unless a solve asks for more.
pub(crate) const SOLID_ANGLES: f64 = 1e-6;

/// Points of different panels nearer than this share of the panels' size add terms to the gradient that dwarf what the
/// correction leaves of them: that needs all digits.
pub(crate) const COINCIDENT: f64 = 0.03;

/// Rows that one task works at a time.
const ROWS: usize = 64;

/// What a row of the operator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Mean potential.
    Single,
    /// Mean potential of dipoles along the normals.
    Double,
    /// Mean normal derivative of the potential.
    Adjoint,
    /// An empty row.
    None,
}

/// Entries between panels, each of the kind of its row.
pub(crate) struct LayerPairs<'a> {
    panels: &'a Panels,
    /// One a panel.
    kernels: &'a [Kernel],
    single: SingleLayerPairs<'a>,
    /// What charges in space ask for beyond the panels' own weights.
    needs: Option<&'a Needs>,
    solid_angles: f64,
}

/// Room that integrals of many pairs share.
#[derive(Default)]
pub(crate) struct Scratch {
    single: single_layer::Scratch,
    nodes: Nodes,
}

impl<'a> LayerPairs<'a> {
    /// Rows of these kinds, potentials by `quadrature`, solid angles to [`SOLID_ANGLES`].
    pub(crate) fn new(
        panels: &'a Panels,
        kernels: &'a [Kernel],
        quadrature: PairQuadrature,
    ) -> Self {
        let single = SingleLayerPairs { panels, quadrature };
        Self { panels, kernels, single, needs: None, solid_angles: SOLID_ANGLES }
    }

    /// The same with solid angles to this accuracy.
    pub(crate) fn with_solid_angles(self, solid_angles: f64) -> Self {
        Self { solid_angles, ..self }
    }

    /// The same where charges in space have these needs.
    pub(crate) fn with_needs(self, needs: &'a Needs) -> Self {
        Self { needs: Some(needs), ..self }
    }

    fn kernel(&self, i: usize) -> Kernel {
        self.kernels[i % self.kernels.len()]
    }

    /// Entry (i, j), exact to the accuracy asked for; either may be an image.
    pub(crate) fn entry(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        match self.kernel(i) {
            Kernel::Single => {
                let (first, second) = self.panels.ordered(i, j);
                self.single.exact(first, second, &mut scratch.single)[0]
            }
            Kernel::Double => self.double(i, j, &mut scratch.nodes),
            Kernel::Adjoint => self.double(j, i, &mut scratch.nodes),
            Kernel::None => 0.0,
        }
    }

    /// Mean over panel `i` of the solid angle of panel `j`, over the area of `j`.
    fn double(&self, i: usize, j: usize, nodes: &mut Nodes) -> f64 {
        let (s, t) = (self.panels.panel(i), self.panels.panel(j));
        if i == j {
            return 0.0;
        }
        solid_angle_over(&s, &t, self.solid_angles, nodes) / (s.area * t.area)
    }
}

impl PairIntegrals for LayerPairs<'_> {
    type Scratch = Scratch;

    /// Images of panels come in groups of reflections, which leave it so.
    fn is_symmetric(&self) -> bool {
        self.kernels.iter().all(|&kernel| kernel == Kernel::Single)
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        let forth = self.entry(i, j, scratch);
        let same = [i, j].iter().all(|&k| self.kernel(k) == Kernel::Single);
        [forth, if same || i == j { forth } else { self.entry(j, i, scratch) }]
    }

    fn weights(&self, panels: &Panels, i: usize, j: usize) -> [f64; 2] {
        let (of_potentials, of_slopes) = (panels.weights(i, j), panels.weights_of_slopes(i, j));
        let weight = |[row, column]: [usize; 2], side: usize| {
            let needed = self.needs.map_or(0.0, |needs| needs.weight(panels, row, column));
            match self.kernel(row) {
                Kernel::Single => of_potentials[side].max(needed),
                Kernel::Double | Kernel::Adjoint | Kernel::None => of_slopes[side].max(needed),
            }
        };
        [weight([i, j], 0), weight([j, i], 1)]
    }

    fn by_points(&self, [outer, inner]: [&Rule; 2], i: usize, j: usize) -> [f64; 2] {
        let panels = self.panels;
        let [s, t] = [i, j].map(|k| panels.vertices(k));
        let kernels = [i, j].map(|k| self.kernel(k));
        // Rules change places with the panels: both entries are over the same points.
        let has_field = |kernel| matches!(kernel, Kernel::Double | Kernel::Adjoint);
        let potential =
            if kernels.contains(&Kernel::Single) { product::sum(outer, s, inner, t) } else { 0.0 };
        let field = if kernels.into_iter().any(has_field) {
            product::field(outer, s, inner, t)
        } else {
            Vec3::zeros()
        };
        let entry = |kernel, row: usize, column: usize, field: Vec3| match kernel {
            Kernel::Single => potential,
            Kernel::Double => panels.normal(column).dot(&field),
            Kernel::Adjoint => -panels.normal(row).dot(&field),
            Kernel::None => 0.0,
        };
        [entry(kernels[0], i, j, field), entry(kernels[1], j, i, -field)]
    }
}

/// Options of the fast sum for rows of these kinds.
pub(crate) fn plan_options(kernels: &[Kernel], tolerance: f64, densities: usize) -> fmm::Options {
    fmm::Options {
        tolerance,
        densities,
        gradient: kernels.contains(&Kernel::Adjoint),
        dipoles: kernels.contains(&Kernel::Double),
        ..fmm::Options::default()
    }
}

/// The operator.
pub(crate) struct Layer {
    panels: Arc<Panels>,
    rule: &'static Rule,
    kernels: Vec<Kernel>,
    normals: Vec<Vec3>,
    plans: Ladder<'static>,
    correction: Near,
    strengths: Vec<f64>,
    potential: Vec<f64>,
    gradient: Vec<f64>,
    products: usize,
    seconds: f64,
}

impl Layer {
    /// `plans` are over all [`Points`] with [`plan_options`], images as sources alone. Rows are either all [`Kernel::Double`] or none
    /// is; those of panels with images are not.
    pub(crate) fn new(
        panels: Arc<Panels>,
        rule: &'static Rule,
        kernels: Vec<Kernel>,
        plans: Ladder<'static>,
        correction: Near,
    ) -> Self {
        Self {
            normals: (0..panels.len()).map(|i| panels.normal(i)).collect(),
            panels,
            rule,
            kernels,
            plans,
            correction,
            strengths: Vec::new(),
            potential: Vec::new(),
            gradient: Vec::new(),
            products: 0,
            seconds: 0.0,
        }
    }

    /// The plan of true residuals.
    pub(crate) fn plan(&self) -> &fmm::Plan {
        self.plans.tight()
    }

    /// Mean seconds of a product, over all its columns together.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.products == 0 { 0.0 } else { self.seconds / self.products as f64 }
    }

    /// Entries of its near field.
    pub(crate) fn correction_entries(&self) -> usize {
        self.correction.entries()
    }

    /// Takes another near field.
    pub(crate) fn set_correction(&mut self, near: Near) {
        self.correction = near;
    }

    /// Takes another plan of true residuals over the same points.
    pub(crate) fn set_plan(&mut self, plan: fmm::Plan, tolerance: f64) {
        self.plans.set_tight(plan, tolerance);
    }

    /// Error of the fast sum in the first column of the last product, at about `samples` points, against direct sums: of the
    /// gradient if there is no potential. `None` for dipoles and before the first product.
    pub(crate) fn sampled_error(&self, samples: usize) -> Result<Option<SampledError>, Error> {
        let count = self.panels.total() * self.rule.len();
        let strengths = match self.strengths.get(..count) {
            Some(strengths) if !self.kernels.contains(&Kernel::Double) => strengths,
            _ => return Ok(None),
        };
        let points = self.points();
        // An odd stride visits all points of the rule in turn.
        let step = ((points.len() / samples).max(1) - 1) | 1;
        let chosen: Vec<usize> = (0..points.len()).step_by(step).collect();
        let targets: Vec<[f64; 3]> = chosen.iter().map(|&p| points.at(p)).collect();
        let potential = self.kernels.contains(&Kernel::Single);
        let width = if potential { 1 } else { 3 };
        let exact = if potential {
            points.direct_sums(strengths, &targets)
        } else {
            points.direct_slopes(strengths, &targets)
        };
        let fast = if potential { &self.potential } else { &self.gradient };
        let (mut error, mut size) = (0.0, 0.0);
        // Of rows that are potentials.
        let (mut error_there, mut count_there) = (0.0, 0);
        for (&p, exact) in chosen.iter().zip(exact.chunks_exact(width)) {
            let is_potential = self.kernels[p / self.rule.len()] == Kernel::Single;
            for (fast, exact) in fast[width * p..].iter().zip(exact) {
                let square = (fast - exact).powi(2);
                error += square;
                size += exact * exact;
                if is_potential {
                    error_there += square;
                    count_there += 1;
                }
            }
        }
        let absolute =
            if count_there > 0 { (error_there / f64::from(count_there)).sqrt() } else { 0.0 };
        Ok((size > 0.0).then(|| SampledError { relative: (error / size).sqrt(), absolute }))
    }

    /// Errors of the fast sum in the rows of some panels in the first column of the last product, against direct sums. Rows of
    /// [`Kernel::Double`] and rows before the first product have none.
    pub(crate) fn row_errors(&self, chosen: &[usize]) -> Vec<f64> {
        let nodes = self.rule.nodes();
        let count = self.panels.total() * nodes.len();
        let Some(strengths) = self.strengths.get(..count) else { return vec![0.0; chosen.len()] };
        let points = self.points();
        let of_panel = |&i: &usize| i * nodes.len()..(i + 1) * nodes.len();
        let error = |i: &usize| {
            let targets: Vec<[f64; 3]> = of_panel(i).map(|p| points.at(p)).collect();
            let mean = |differences: &mut dyn Iterator<Item = f64>| -> f64 {
                nodes.iter().zip(differences).map(|(node, d)| node.weight * d).sum()
            };
            match self.kernels[*i] {
                Kernel::Single => {
                    let exact = points.direct_sums(strengths, &targets);
                    let fast = &self.potential[of_panel(i)];
                    mean(&mut fast.iter().zip(&exact).map(|(fast, exact)| fast - exact))
                }
                Kernel::Adjoint => {
                    let exact = points.direct_slopes(strengths, &targets);
                    let range = of_panel(i);
                    let fast = &self.gradient[3 * range.start..3 * range.end];
                    let along = |(fast, exact): (&[f64], &[f64])| {
                        let differ = Vec3::from_fn(|k, _| fast[k] - exact[k]);
                        differ.dot(&self.normals[*i])
                    };
                    mean(&mut fast.chunks_exact(3).zip(exact.chunks_exact(3)).map(along))
                }
                Kernel::Double | Kernel::None => 0.0,
            }
        };
        chosen.par_iter().map(error).collect()
    }

    fn points(&self) -> Points<'_> {
        Points::new(&self.panels, self.rule)
    }

    /// Charges of panels to strengths of points: charges, or dipoles along the normals.
    fn spread(&mut self, x: &[f64], dipoles: bool) {
        let (n, total) = (self.panels.len(), self.panels.total());
        let with_images: Vec<f64>;
        let mut x = x;
        if total > n {
            with_images = x.chunks_exact(n).flat_map(|x| self.panels.unfolded(x)).collect();
            x = &with_images;
        }
        let (normals, nodes) = (&self.normals, self.rule.nodes());
        let width = if dipoles { 3 } else { 1 };
        self.strengths.resize(x.len() * nodes.len() * width, 0.0);
        if !dipoles {
            Points::new(&self.panels, self.rule).spread(x, &mut self.strengths);
            return;
        }
        let of_panel = self.strengths.chunks_exact_mut(nodes.len() * width);
        for (index, (strengths, x)) in of_panel.zip(x).enumerate() {
            let moment = normals[index % normals.len()] * *x;
            for (d, node) in strengths.chunks_exact_mut(3).zip(nodes) {
                d.copy_from_slice((moment * node.weight).as_slice());
            }
        }
    }

    fn product(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        slack: Option<Slack>,
    ) -> Result<(), Error> {
        // Before the clock starts: it may be new.
        self.plans.plan(slack, columns)?;
        let started = Instant::now();
        let (n, nodes) = (self.panels.len(), self.rule.nodes());
        let points = columns * n * nodes.len();
        let has = |kernel| self.kernels.contains(&kernel);
        let (dipoles, with_gradient) = (has(Kernel::Double), has(Kernel::Adjoint));
        let with_potential = dipoles || has(Kernel::Single);
        self.spread(x, dipoles);
        self.potential.resize(if with_potential { points } else { 0 }, 0.0);
        self.gradient.resize(if with_gradient { 3 * points } else { 0 }, 0.0);
        let strengths = Some(&self.strengths[..]);
        let densities = if dipoles {
            fmm::Densities { charges: None, dipoles: strengths }
        } else {
            fmm::Densities { charges: strengths, dipoles: None }
        };
        let potentials = fmm::Potentials {
            potential: with_potential.then_some(&mut self.potential[..]),
            gradient: with_gradient.then_some(&mut self.gradient[..]),
        };
        self.plans.plan(slack, columns)?.apply(densities, potentials)?;
        let (normals, kernels) = (&self.normals, &self.kernels);
        let (potential, gradient) = (&self.potential, &self.gradient);
        y.par_iter_mut().enumerate().with_min_len(ROWS).for_each(|(row, y)| {
            let (panel, first) = (row % n, row * nodes.len());
            *y = match kernels[panel] {
                Kernel::None => 0.0,
                Kernel::Single | Kernel::Double => {
                    nodes.iter().zip(&potential[first..]).map(|(node, phi)| node.weight * phi).sum()
                }
                Kernel::Adjoint => {
                    let slopes = gradient[3 * first..].chunks_exact(3);
                    let mean: Vec3 = nodes
                        .iter()
                        .zip(slopes)
                        .map(|(node, g)| Vec3::new(g[0], g[1], g[2]) * node.weight)
                        .sum();
                    mean.dot(&normals[panel])
                }
            };
        });
        self.correction.multiply_add(x, y);
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }
}

impl LinearOperator for Layer {
    fn len(&self) -> usize {
        self.panels.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.product(x, y, columns, None)
    }

    fn apply_loosely(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        slack: Slack,
    ) -> Result<(), Error> {
        self.product(x, y, columns, Some(slack))
    }
}

#[cfg(test)]
mod tests {
    use mesh::generate::{Cube, Resolution, Sphere, SphereBase};

    use super::*;
    use crate::accuracy::Accuracy;

    /// What the points and the pairs that are integrated leave of the adjoint double layer between functions of unit norm, for
    /// constant, linear and random densities.
    #[test]
    fn errors_of_the_adjoint_are_those_asked_for() {
        let resolution = Resolution::Elements(300);
        let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
        let cube = |grade| Cube { edge: 1.0, grade, resolution }.build().unwrap();
        for (name, mesh) in
            [("sphere", sphere.build().unwrap()), ("cube", cube(1.0)), ("graded", cube(30.0))]
        {
            let panels = Panels::new(&mesh, |_| true);
            let n = panels.len();
            let kernels = vec![Kernel::Adjoint; n];
            for tolerance in [1e-5, 1e-6] {
                let accuracy = Accuracy::new(tolerance, 0);
                let pairs = LayerPairs::new(&panels, &kernels, accuracy.pairs);
                let reach = accuracy.selection.reach(&panels);
                let mut scratch = Scratch::default();
                let mut kept = 0;
                let densities: Vec<Vec<f64>> = vec![
                    vec![1.0; n],
                    (0..n).map(|i| panels.centroid(i).x).collect(),
                    (0..n).map(|i| (7.3 * i as f64 * i as f64).sin()).collect(),
                ];
                let mut errors = vec![vec![0.0; n]; densities.len()];
                for i in 0..n {
                    for j in 0..i {
                        let apart = (panels.centroid(i) - panels.centroid(j)).norm();
                        let near = apart < reach[i].max(reach[j])
                            && accuracy
                                .selection
                                .keeps(&panels, &pairs, i, j, &mut scratch)
                                .is_some();
                        if near {
                            kept += 2;
                            continue;
                        }
                        let exact = pairs.exact(i, j, &mut scratch);
                        let points = pairs.by_points([accuracy.rule; 2], i, j);
                        for (error, x) in errors.iter_mut().zip(&densities) {
                            error[i] += (exact[0] - points[0]) * panels.areas()[j] * x[j];
                            error[j] += (exact[1] - points[1]) * panels.areas()[i] * x[i];
                        }
                    }
                }
                let norm = |x: &[f64]| -> f64 {
                    let squares = x.iter().zip(panels.areas()).map(|(x, a)| a * x * x);
                    squares.sum::<f64>().sqrt()
                };
                for (error, x) in errors.iter().zip(&densities) {
                    let left = norm(error) / (2.0 * std::f64::consts::PI * norm(x));
                    println!("{name} {tolerance}: {left:.1e}, {} a row", kept / n);
                    assert!(left < tolerance, "{name} {tolerance}: {left:.1e}");
                }
            }
        }
    }
}
