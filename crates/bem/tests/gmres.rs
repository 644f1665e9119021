//! GMRES on small matrices: what it solves, and how it says that it cannot.

#![allow(clippy::unwrap_used)] // helpers of tests are not seen as tests

use bem::{
    Error, GmresInfo, GmresParams, Identity, InexactBudget, LinearOperator, Metric, StopReason,
    gmres,
};

/// A dense matrix by rows; counts its products.
struct Matrix {
    rows: Vec<Vec<f64>>,
    products: usize,
}

impl Matrix {
    fn new(n: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let row = |i| (0..n).map(|j| entry(i, j)).collect();
        Self { rows: (0..n).map(row).collect(), products: 0 }
    }
}

impl LinearOperator for Matrix {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let n = self.len();
        assert_eq!((x.len(), y.len()), (columns * n, columns * n));
        self.products += 1;
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            for (y, row) in y.iter_mut().zip(&self.rows) {
                *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
            }
        }
        Ok(())
    }
}

/// Diagonally dominant, not symmetric.
fn nonsymmetric(n: usize) -> Matrix {
    Matrix::new(n, |i, j| {
        if i == j {
            4.0 + i as f64
        } else {
            ((3 * i + 7 * j) % 5) as f64 / n as f64 - 0.3 / n as f64
        }
    })
}

fn solve(matrix: &mut Matrix, b: &[f64], params: &GmresParams) -> (Vec<f64>, Vec<GmresInfo>) {
    let n = matrix.len();
    let weights = vec![1.0 / n as f64; n];
    let mut x = vec![0.0; b.len()];
    let metric = Metric { weights: &weights, measure: None };
    let infos =
        gmres(matrix, &mut Identity(n), metric, b, &mut x, params, &mut |_, _| true).unwrap();
    (x, infos)
}

fn tight() -> GmresParams {
    GmresParams::default().tolerance(1e-12)
}

#[test]
fn nonsymmetric_systems_are_solved_together() {
    let n = 40;
    let mut matrix = nonsymmetric(n);
    let exact: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.7).sin()).collect();
    let mut b = vec![0.0; 3 * n];
    matrix.apply(&exact, &mut b, 3).unwrap();
    matrix.products = 0;
    let (x, infos) = solve(&mut matrix, &b, &tight());
    for (x, exact) in x.iter().zip(&exact) {
        assert!((x - exact).abs() < 1e-10, "{x} {exact}");
    }
    let longest = infos.iter().map(|info| info.iterations).max().unwrap();
    for info in &infos {
        assert_eq!(info.reason, StopReason::Converged);
        assert!(info.relative_residual <= 1e-12);
        assert_eq!(info.history.len(), info.iterations + 1);
        assert!(info.history.windows(2).all(|pair| pair[1] <= pair[0]));
    }
    // One product an iteration for all columns, and one for the true residuals of each restart.
    assert!(matrix.products <= longest + 2, "{} products, {longest} iterations", matrix.products);
}

#[test]
fn groups_and_restarts_give_the_same_answer() {
    let n = 30;
    let b: Vec<f64> = (0..5 * n).map(|i| (i as f64).cos()).collect();
    let (together, _) = solve(&mut nonsymmetric(n), &b, &tight());
    let short = tight().restart(4).group(2);
    let (apart, infos) = solve(&mut nonsymmetric(n), &b, &short);
    assert!(infos.iter().all(|info| info.reason == StopReason::Converged));
    for (u, v) in together.iter().zip(&apart) {
        assert!((u - v).abs() < 1e-10);
    }
}

#[test]
fn each_right_hand_side_may_have_a_norm_of_its_own() {
    let n = 30;
    let b: Vec<f64> = (0..3 * n).map(|i| (i as f64).cos()).collect();
    // Clusters of two: the last column is the first of its group.
    let params = GmresParams::default().tolerance(1e-3).group(2);
    let solve = |weights: &[f64], b: &[f64]| {
        let mut x = vec![0.0; b.len()];
        let metric = Metric { weights, measure: None };
        let (mut matrix, mut identity) = (nonsymmetric(n), Identity(n));
        gmres(&mut matrix, &mut identity, metric, b, &mut x, &params, &mut |_, _| true).unwrap();
        x
    };
    let weight = |column: i32| (0..n as i32).map(move |i| f64::from(1 + i % 7).powi(2 * column));
    let weights: Vec<f64> = (0..3).flat_map(weight).collect();
    let together = solve(&weights, &b);
    for k in 0..3 {
        let own = k * n..(k + 1) * n;
        assert_eq!(together[own.clone()], solve(&weights[own.clone()], &b[own]), "{k}");
    }
    assert_ne!(together[n..2 * n], solve(&weights[..n], &b[n..2 * n]));
}

#[test]
fn a_zero_right_hand_side_needs_no_iteration() {
    let (x, infos) = solve(&mut nonsymmetric(5), &[0.0; 5], &tight());
    assert_eq!(x, [0.0; 5]);
    assert_eq!((infos[0].iterations, infos[0].reason), (0, StopReason::Converged));
}

#[test]
fn a_first_guess_is_used() {
    let n = 12;
    let mut matrix = nonsymmetric(n);
    let mut x = vec![1.0; n];
    let mut b = vec![0.0; n];
    matrix.apply(&x, &mut b, 1).unwrap();
    let weights = vec![1.0; n];
    let metric = Metric { weights: &weights, measure: None };
    let infos =
        gmres(&mut matrix, &mut Identity(n), metric, &b, &mut x, &tight(), &mut |_, _| true);
    assert_eq!(infos.unwrap()[0].iterations, 0);
}

#[test]
fn a_singular_matrix_breaks_down() {
    // The right-hand side has a part outside the range of a projection.
    let mut matrix = Matrix::new(4, |i, j| if i == j && i < 3 { 1.0 } else { 0.0 });
    let (x, infos) = solve(&mut matrix, &[1.0, 1.0, 1.0, 1.0], &tight());
    assert_eq!(infos[0].reason, StopReason::Breakdown);
    assert!(x.iter().all(|x| x.is_finite()));
    // sqrt(1/4): the part that no x reaches.
    assert!((infos[0].relative_residual - 0.5).abs() < 1e-12);
}

#[test]
fn a_cyclic_shift_stagnates_under_short_restarts() {
    // GMRES makes no progress at all on it before the n-th step.
    let n = 8;
    let mut matrix = Matrix::new(n, |i, j| if j == (i + 1) % n { 1.0 } else { 0.0 });
    let mut b = vec![0.0; n];
    b[0] = 1.0;
    let (_, infos) = solve(&mut matrix, &b, &tight().restart(3));
    assert_eq!(infos[0].reason, StopReason::Stagnation);
    let (_, infos) = solve(&mut matrix, &b, &tight());
    assert_eq!((infos[0].reason, infos[0].iterations), (StopReason::Converged, n));
}

#[test]
fn nan_is_seen_and_stays_in_its_column() {
    let n = 6;
    let mut b = vec![1.0; 2 * n];
    b[2] = f64::NAN;
    let (x, infos) = solve(&mut nonsymmetric(n), &b, &tight());
    assert_eq!(infos[0].reason, StopReason::Nan);
    assert_eq!(infos[1].reason, StopReason::Converged);
    assert!(x.iter().all(|x| x.is_finite()));
    let mut broken = Matrix::new(n, |i, j| if i == j { 1.0 } else { f64::NAN });
    let (_, infos) = solve(&mut broken, &vec![1.0; n], &tight());
    assert_eq!(infos[0].reason, StopReason::Nan);
}

#[test]
fn the_iteration_limit_holds() {
    let b: Vec<f64> = (0..40).map(|i| (i as f64).sin()).collect();
    let params = tight().max_iterations(3);
    let (_, infos) = solve(&mut nonsymmetric(40), &b, &params);
    assert_eq!((infos[0].reason, infos[0].iterations), (StopReason::MaxIterations, 3));
    assert!(infos[0].relative_residual < 1.0);
}

#[test]
fn the_observer_can_stop_it_and_wrong_lengths_are_refused() {
    let n = 10;
    let weights = vec![1.0; n];
    let metric = Metric { weights: &weights, measure: None };
    let (b, mut x) = (vec![1.0; n], vec![0.0; n]);
    let (mut matrix, params) = (nonsymmetric(n), tight());
    let stopped =
        gmres(&mut matrix, &mut Identity(n), metric, &b, &mut x, &params, &mut |k, _| k < 2);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let refused =
        gmres(&mut matrix, &mut Identity(n), metric, &b, &mut [0.0], &params, &mut |_, _| true);
    assert!(matches!(refused, Err(Error::Length { what: "x", .. })));
}

/// A matrix whose products are off by a share of the vector times the budget they get.
struct Inexact {
    matrix: Matrix,
    share: f64,
    slacks: Vec<InexactBudget>,
}

impl LinearOperator for Inexact {
    fn len(&self) -> usize {
        self.matrix.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.matrix.apply(x, y, columns)
    }

    fn apply_inexact(
        &mut self,
        x: &[f64],
        y: &mut [f64],
        columns: usize,
        budget: InexactBudget,
    ) -> Result<(), Error> {
        self.slacks.push(budget);
        self.matrix.apply(x, y, columns)?;
        let n = self.len();
        for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
            let size = (x.iter().map(|x| x * x).sum::<f64>() / n as f64).sqrt();
            for (i, y) in y.iter_mut().enumerate() {
                let sign = (1.7 * (i * i + 3 * self.slacks.len()) as f64).sin();
                *y += self.share * budget.factor * size * sign;
            }
        }
        Ok(())
    }
}

/// Errors that grow as the residual falls cost no iteration, and true residuals, which are exact,
/// meet the tolerance. What is measured may be larger than the norm that is minimised: then the
/// norm is made smaller.
#[test]
fn a_measure_beyond_the_norm_is_met() {
    let n = 40;
    let mut matrix = nonsymmetric(n);
    let b: Vec<f64> = (0..n).map(|i| (0.7 * i as f64).sin()).collect();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let whole = norm(&b);
    let measure = |column: usize, x: &[f64], r: &[f64]| {
        assert_eq!((column, x.len()), (0, n));
        4.0 * norm(r) / whole
    };
    let weights = vec![1.0; n];
    let metric = Metric { weights: &weights, measure: Some(&measure) };
    let params = GmresParams::default().tolerance(1e-8);
    let mut x = vec![0.0; n];
    let on = &mut |_: usize, _: f64| true;
    let infos = gmres(&mut matrix, &mut Identity(n), metric, &b, &mut x, &params, on).unwrap();
    assert_eq!(infos[0].reason, StopReason::Converged);
    assert!(infos[0].relative_residual <= 1e-8);
}

#[test]
fn products_may_be_as_inexact_as_requested() {
    let n = 60;
    // Norm about 1, as a preconditioned operator's.
    let matrix = || Matrix::new(n, |i, j| nonsymmetric(n).rows[i][j] / (4.0 + i as f64));
    let params = GmresParams::default().tolerance(1e-8);
    let mut b = vec![0.0; 2 * n];
    b.iter_mut().enumerate().for_each(|(i, b)| *b = (0.9 * i as f64).cos());
    let weights = vec![1.0 / n as f64; n];
    let run = |share: f64| {
        let mut operator = Inexact { matrix: matrix(), share, slacks: Vec::new() };
        let mut x = vec![0.0; 2 * n];
        let metric = Metric { weights: &weights, measure: None };
        let on = &mut |_: usize, _: f64| true;
        let infos = gmres(&mut operator, &mut Identity(n), metric, &b, &mut x, &params, on);
        (operator, infos.unwrap())
    };
    let (exact, infos) = run(0.0);
    let (inexact, relaxed) = run(0.1 * params.tolerance);
    for (a, b) in infos.iter().zip(&relaxed) {
        assert_eq!((a.iterations, a.reason), (b.iterations, StopReason::Converged));
        assert!(b.relative_residual <= params.tolerance);
        assert_ne!(a.relative_residual, b.relative_residual);
    }
    assert_eq!(inexact.slacks.len(), exact.slacks.len());
    // The first product has no budget; the others have that of the worst column.
    assert_eq!(inexact.slacks[0].factor, 1.0);
    for (k, budget) in inexact.slacks.iter().enumerate() {
        let worst = |k: usize| {
            let running = relaxed.iter().filter(move |info| info.iterations > k);
            running.map(move |info| info.history[k])
        };
        let residual = worst(k).fold(0.0, f64::max);
        assert!((budget.factor * residual - 1.0).abs() < 1e-12);
        // Convergence is linear enough here to be foreseen.
        let left = inexact.slacks.len() - k;
        assert!(k == 0 || budget.products.abs_diff(left) <= 2, "{} of {left}", budget.products);
    }
    // Errors as large in every product as the last may be are too large.
    let last = inexact.slacks[inexact.slacks.len() - 1].factor;
    let (_, spoilt) = run(0.1 * params.tolerance * last);
    assert!(spoilt[0].iterations > infos[0].iterations);
}
