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
use crate::device::{DeviceProduct, Sampled};
use crate::gmres::{LinearOperator, Slack};
use crate::ladder::Ladder;
use crate::near::{Near, Needs, PairIntegrals};
use crate::pair::PairQuadrature;
use crate::panels::Panels;
use crate::points::Points;
use crate::potentials::Nodes;
use crate::product::{self, Rule};
use crate::quadrature::TriangleNode;
use crate::single_layer::{self, SingleLayerPairs};
use crate::solid_angle_pair::solid_angle_over;
use crate::triangle::{Triangle, Vec3};

/// Accuracy of exact solid angles, unless a solve asks for more.
pub(crate) const SOLID_ANGLES: f64 = 1e-6;

/// Points of different panels nearer than this share of the panels' size add terms to the gradient that dwarf what the
/// correction leaves of them: that needs all digits.
pub(crate) const COINCIDENT: f64 = 0.03;

/// The same where there are potentials alone, of which the sum has no more than the difference between points.
const COINCIDENT_POTENTIALS: f64 = 1e-3;

/// What near pairs in single precision leave in potentials, times the share of the panels' size that points are apart (measured: 2e-6
/// at 0.014, between plates).
const ROUNDING: f64 = 3e-8;

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
    /// Whether all of them are [`Kernel::Single`].
    are_potentials: bool,
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
    last: Option<(usize, Triangle)>,
}

impl<'a> LayerPairs<'a> {
    /// Rows of these kinds, potentials by `quadrature`, solid angles to [`SOLID_ANGLES`].
    pub(crate) fn new(
        panels: &'a Panels,
        kernels: &'a [Kernel],
        quadrature: PairQuadrature,
    ) -> Self {
        let single = SingleLayerPairs { panels, quadrature };
        let are_potentials = kernels.iter().all(|&kernel| kernel == Kernel::Single);
        Self { panels, kernels, are_potentials, single, needs: None, solid_angles: SOLID_ANGLES }
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
            Kernel::Single => self.potential(i, j, scratch),
            Kernel::Double | Kernel::Adjoint => {
                let [s, t] = self.triangles(i, j, scratch);
                self.field(i, [i, j], [&s, &t], scratch)
            }
            Kernel::None => 0.0,
        }
    }

    fn potential(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        let (first, second) = self.panels.ordered(i, j);
        self.single.exact(first, second, &mut scratch.single)[0]
    }

    /// Both panels, of which the first is kept for pairs to come.
    fn triangles(&self, i: usize, j: usize, scratch: &mut Scratch) -> [Triangle; 2] {
        let first = match scratch.last {
            Some((known, triangle)) if known == i => triangle,
            _ => self.panels.panel(i),
        };
        scratch.last = Some((i, first));
        [first, self.panels.panel(j)]
    }

    /// The entry of row `row`, one of a pair of panels: the mean over the one of the solid angle of the other, over its area.
    fn field(
        &self,
        row: usize,
        pair: [usize; 2],
        [s, t]: [&Triangle; 2],
        scratch: &mut Scratch,
    ) -> f64 {
        let (own, other) = if row == pair[0] { (s, t) } else { (t, s) };
        let (over, of) = match self.kernel(row) {
            _ if pair[0] == pair[1] => return 0.0,
            Kernel::Double => (own, other),
            Kernel::Adjoint => (other, own),
            Kernel::Single | Kernel::None => return 0.0,
        };
        solid_angle_over(over, of, self.solid_angles, &mut scratch.nodes) / (s.area * t.area)
    }
}

impl PairIntegrals for LayerPairs<'_> {
    type Scratch = Scratch;

    /// Images of panels come in groups of reflections, which leave it so.
    fn is_symmetric(&self) -> bool {
        self.are_potentials
    }

    fn exact(&self, i: usize, j: usize, scratch: &mut Scratch) -> [f64; 2] {
        let kernels = [i, j].map(|k| self.kernel(k));
        if kernels == [Kernel::Single; 2] {
            return [self.potential(i, j, scratch); 2];
        }
        let triangles = self.triangles(i, j, scratch);
        let potential =
            if kernels.contains(&Kernel::Single) { self.potential(i, j, scratch) } else { 0.0 };
        let mut entry = |row| match self.kernel(row) {
            Kernel::Single => potential,
            _ => self.field(row, [i, j], triangles.each_ref(), scratch),
        };
        let forth = entry(i);
        [forth, if i == j { forth } else { entry(j) }]
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

    fn errors(&self, rules: [&Rule; 2], pairs: &[[usize; 2]], errors: &mut Vec<[f64; 2]>) {
        if self.are_potentials {
            return self.single.errors(rules, pairs, errors);
        }
        let vertices = self.panels.all_vertices();
        let has = |pair: &&[usize; 2], kernel| pair.iter().any(|&k| self.kernel(k) == kernel);
        let potentials = |pair: &&[usize; 2]| has(pair, Kernel::Single);
        let fields = |pair: &&[usize; 2]| has(pair, Kernel::Adjoint) || has(pair, Kernel::Double);
        let (mut of_potentials, mut of_fields) = (Vec::new(), Vec::new());
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(potentials).copied().collect();
        product::errors(rules, vertices, &chosen, &mut of_potentials);
        let chosen: Vec<[usize; 2]> = pairs.iter().filter(fields).copied().collect();
        product::field_errors(rules, vertices, &chosen, &mut of_fields);
        let (mut of_potentials, mut of_fields) = (of_potentials.into_iter(), of_fields.into_iter());
        errors.extend(pairs.iter().map(|pair| {
            let none = [0.0; 2];
            let potential =
                if potentials(&pair) { of_potentials.next().unwrap_or(0.0) } else { 0.0 };
            let field = if fields(&pair) { of_fields.next().unwrap_or(none) } else { none };
            [0, 1].map(|row| match self.kernel(pair[row]) {
                Kernel::Single => potential,
                Kernel::Adjoint => field[row],
                Kernel::Double => field[1 - row],
                Kernel::None => 0.0,
            })
        }));
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

/// The format of a fast sum for rows of these kinds and a solver's `tolerance`, over points that come as close to each other as `closest`:
/// what close points add the correction takes away again, which needs digits. `None` leaves it to the sum.
pub(crate) fn precision(
    kernels: &[Kernel],
    closest: f64,
    tolerance: f64,
) -> Option<fmm::Precision> {
    let has_slopes = kernels.iter().any(|k| matches!(k, Kernel::Adjoint | Kernel::Double));
    let least =
        if has_slopes { COINCIDENT } else { COINCIDENT_POTENTIALS.max(ROUNDING / tolerance) };
    (closest < least).then_some(fmm::Precision::Double)
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

/// Exact minus quadrature on close pairs, and where it is.
pub(crate) enum Correction {
    /// In the processor's memory.
    Host(Near),
    /// In a GPU's, with the fast sum.
    Device(Box<DeviceProduct>),
}

impl Correction {
    fn entries(&self) -> usize {
        match self {
            Self::Host(near) => near.entries(),
            Self::Device(product) => product.entries(),
        }
    }
}

/// How far a fast sum is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SampledError {
    /// L2 norm of the error over that of the sum.
    pub(crate) relative: f64,
    /// Root mean square, as a potential.
    pub(crate) absolute: f64,
}

/// The operator.
pub(crate) struct Layer {
    panels: Arc<Panels>,
    rule: &'static Rule,
    kernels: Vec<Kernel>,
    normals: Vec<Vec3>,
    plans: Ladder<'static>,
    correction: Correction,
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
        correction: Correction,
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
    pub(crate) fn set_correction(&mut self, correction: Correction) {
        self.correction = correction;
    }

    /// Takes another plan of true residuals over the same points.
    pub(crate) fn set_plan(&mut self, plan: fmm::Plan, tolerance: f64) {
        self.plans.set_tight(plan, tolerance);
    }

    /// Error of the fast sum in the first column of the last product, at about `samples` points, against direct sums: of the
    /// gradient if there is no potential. `None` for dipoles and before the first product.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn sampled_error(&self, samples: usize) -> Result<Option<SampledError>, Error> {
        let points = self.points();
        // An odd stride visits all points of the rule in turn.
        let step = ((points.len() / samples).max(1) - 1) | 1;
        let chosen: Vec<usize> = (0..points.len()).step_by(step).collect();
        let targets: Vec<[f64; 3]> = chosen.iter().map(|&p| points.at(p)).collect();
        let potential = self.kernels.contains(&Kernel::Single);
        let width = if potential { 1 } else { 3 };
        let of = if potential { Sampled::Potentials } else { Sampled::Gradients };
        let sums = self.sums_at(of, &chosen, &targets)?;
        let Some([fast, exact]) = sums else { return Ok(None) };
        let (mut error, mut size) = (0.0, 0.0);
        // Of rows that are potentials.
        let (mut error_there, mut count_there) = (0.0, 0);
        let both = fast.chunks_exact(width).zip(exact.chunks_exact(width));
        for (&p, (fast, exact)) in chosen.iter().zip(both) {
            let is_potential = self.kernels[p / self.rule.len()] == Kernel::Single;
            for (fast, exact) in fast.iter().zip(exact) {
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

    /// The first column of the last product at some points, and direct sums there.
    fn sums_at(
        &self,
        of: Sampled,
        chosen: &[usize],
        targets: &[[f64; 3]],
    ) -> Result<Option<[Vec<f64>; 2]>, Error> {
        if let Correction::Device(product) = &self.correction {
            return Ok(product.samples(of, chosen, targets)?);
        }
        let count = self.panels.total() * self.rule.len();
        let Some(strengths) = self.strengths.get(..count) else { return Ok(None) };
        if self.kernels.contains(&Kernel::Double) {
            return Ok(None);
        }
        let points = self.points();
        Ok(Some(match of {
            Sampled::Potentials => {
                let fast = chosen.iter().map(|&p| self.potential[p]).collect();
                [fast, points.direct_sums(strengths, targets)]
            }
            Sampled::Gradients => {
                let slopes = |&p: &usize| self.gradient[3 * p..3 * p + 3].iter().copied();
                let fast = chosen.iter().flat_map(slopes).collect();
                [fast, points.direct_slopes(strengths, targets)]
            }
        }))
    }

    /// y = A x for `columns` vectors on the device where the near field is.
    ///
    /// # Errors
    /// Those of the fast sum and the GPU; [`fmm::Error::NotPlanned`] if the near field is not there.
    pub(crate) fn apply_there(
        &mut self,
        x: &gpu::Buffer<f64>,
        y: &gpu::Buffer<f64>,
        columns: usize,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let Correction::Device(product) = &mut self.correction else {
            return Err(fmm::Error::NotPlanned { what: "device" }.into());
        };
        product.apply(self.plans.plan(None, columns)?, x, y, columns)?;
        product.device().stream().synchronize()?;
        self.products += 1;
        self.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    /// Errors of the fast sum in the rows of some panels in the first column of the last product, against direct sums. Rows of
    /// [`Kernel::Double`] and rows before the first product have none.
    ///
    /// # Errors
    /// The GPU's.
    pub(crate) fn row_errors(&self, chosen: &[usize]) -> Result<Vec<f64>, Error> {
        let nodes = self.rule.nodes().len();
        let points = self.points();
        let of_panel = |&i: &usize| i * nodes..(i + 1) * nodes;
        let places: Vec<usize> = chosen.iter().flat_map(of_panel).collect();
        let targets: Vec<[f64; 3]> = places.iter().map(|&p| points.at(p)).collect();
        let mut errors = vec![0.0; chosen.len()];
        for (kernel, of) in
            [(Kernel::Single, Sampled::Potentials), (Kernel::Adjoint, Sampled::Gradients)]
        {
            if chosen.iter().all(|&i| self.kernels[i] != kernel) {
                continue;
            }
            let Some([fast, exact]) = self.sums_at(of, &places, &targets)? else { continue };
            let width = fast.len() / (chosen.len() * nodes);
            let both = fast.chunks_exact(width * nodes).zip(exact.chunks_exact(width * nodes));
            for ((error, &i), (fast, exact)) in errors.iter_mut().zip(chosen).zip(both) {
                if self.kernels[i] == kernel {
                    let difference =
                        |k: usize, of: usize| fast[width * k + of] - exact[width * k + of];
                    let value = |k: usize| match kernel {
                        Kernel::Adjoint => {
                            Vec3::from_fn(|of, _| difference(k, of)).dot(&self.normals[i])
                        }
                        _ => difference(k, 0),
                    };
                    let weighted = |(k, node): (usize, &TriangleNode)| node.weight * value(k);
                    *error = self.rule.nodes().iter().enumerate().map(weighted).sum();
                }
            }
        }
        Ok(errors)
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
        if let Correction::Device(product) = &self.correction {
            let there = product.device().upload(x)?;
            let result = product.device().buffer(y.len())?;
            self.apply_there(&there, &result, columns)?;
            return Ok(result.read(0, y)?);
        }
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
        if let Correction::Host(near) = &self.correction {
            near.multiply_add(x, y);
        }
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
                // Here the pairs of whole rows are integrated.
                let pairs = pairs.with_solid_angles(accuracy.solid_angles_of_rows);
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
