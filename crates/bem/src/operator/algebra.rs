//! Operators built from operators: sums, multiples, products, blocks, diagonals.

use std::ops::{Add, Mul, Neg, Sub};

use crate::solve::gmres::{GmresInfo, GmresParams, gmres};
use crate::solve::linear_operator::{Identity, LinearOperator};
use crate::solve::vectors::Metric;
use crate::{Error, StopReason};

/// Any linear operator; see [`LinearOperator`] for what GMRES requires of it.
///
/// Operators are added, subtracted, negated and multiplied by numbers; `a * b` applies `b` first.
/// Sizes that do not fit give [`Error::Length`] when the operator is applied.
///
/// ```
/// use bem::{GmresParams, Operator};
///
/// // (2 1; 0 1/2) (x, y) = (3, 2), from blocks of one row each.
/// let one = || Operator::identity(1);
/// let mut a = Operator::blocks(vec![
///     vec![Some(2.0 * one()), Some(one())],
///     vec![None, Some(one() - 0.5 * one())],
/// ])?;
/// let (x, info) = a.solve(&[3.0, 2.0], &GmresParams::default())?;
/// assert!((x[0] + 0.5).abs() < 1e-12 && (x[1] - 4.0).abs() < 1e-12 && info.iterations == 2);
/// # Ok::<(), bem::Error>(())
/// ```
#[must_use]
pub struct Operator<'a>(Box<dyn LinearOperator + Send + 'a>);

impl<'a> Operator<'a> {
    /// Any operator, so that it can be combined with others.
    pub fn new(operator: impl LinearOperator + Send + 'a) -> Self {
        Self(Box::new(operator))
    }

    /// The identity on vectors of length `n`. For densities that are constant on each triangle it
    /// is also the mass matrix, since rows are means over triangles.
    pub fn identity(n: usize) -> Self {
        Self::new(Identity(n))
    }

    /// Multiplies entry i by `diagonal[i]`.
    pub fn diagonal(diagonal: Vec<f64>) -> Self {
        Self::new(Diagonal(diagonal))
    }

    /// A matrix of operators; `None` is zero. Every row and every column of blocks needs at least
    /// one operator, which determines its size.
    ///
    /// # Errors
    /// [`Error::Length`] if rows have different numbers of blocks, if blocks in one row or column
    /// differ in size, or if a row or column has no operator.
    pub fn blocks(rows: Vec<Vec<Option<Self>>>) -> Result<Self, Error> {
        Ok(Self::new(Blocks::new(rows)?))
    }

    /// Solves this operator's equation for one right-hand side by GMRES without a preconditioner,
    /// from zero.
    ///
    /// # Errors
    /// [`Error::Length`] if `b` does not fit. A solve that does not converge is not an error: see
    /// [`GmresInfo::reason`].
    pub fn solve(
        &mut self,
        b: &[f64],
        params: &GmresParams,
    ) -> Result<(Vec<f64>, GmresInfo), Error> {
        let n = self.len();
        let (weights, mut x) = (vec![1.0; n], vec![0.0; n]);
        let metric = Metric { weights: &weights, measure: None };
        let mut none = Identity(n);
        if b.len() != n {
            return Err(Error::Length { what: "b", expected: n, found: b.len() });
        }
        let infos = gmres(self, &mut none, metric, b, &mut x, params, &mut |_, _| true)?;
        let empty = GmresInfo {
            iterations: 0,
            reason: StopReason::Converged,
            relative_residual: 0.0,
            history: vec![1.0],
        };
        Ok((x, infos.into_iter().next().unwrap_or(empty)))
    }
}

impl LinearOperator for Operator<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inputs(&self) -> usize {
        self.0.inputs()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        for (what, expected, found) in
            [("x", columns * self.inputs(), x.len()), ("y", columns * self.len(), y.len())]
        {
            if expected != found {
                return Err(Error::Length { what, expected, found });
            }
        }
        self.0.apply(x, y, columns)
    }
}

impl<'a> Add for Operator<'a> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(Sum { first: self, second: other, scratch: Vec::new() })
    }
}

impl<'a> Sub for Operator<'a> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<'a> Neg for Operator<'a> {
    type Output = Self;

    fn neg(self) -> Self {
        -1.0 * self
    }
}

impl<'a> Mul<Operator<'a>> for f64 {
    type Output = Operator<'a>;

    fn mul(self, operator: Operator<'a>) -> Operator<'a> {
        Operator::new(Multiple { factor: self, operator })
    }
}

impl<'a> Mul for Operator<'a> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(Product { outer: self, inner: other, scratch: Vec::new() })
    }
}

struct Diagonal(Vec<f64>);

impl LinearOperator for Diagonal {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], _columns: usize) -> Result<(), Error> {
        for ((y, x), d) in y.iter_mut().zip(x).zip(self.0.iter().cycle()) {
            *y = d * x;
        }
        Ok(())
    }
}

struct Multiple<'a> {
    factor: f64,
    operator: Operator<'a>,
}

impl LinearOperator for Multiple<'_> {
    fn len(&self) -> usize {
        self.operator.len()
    }

    fn inputs(&self) -> usize {
        self.operator.inputs()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.operator.apply(x, y, columns)?;
        y.iter_mut().for_each(|y| *y *= self.factor);
        Ok(())
    }
}

struct Sum<'a> {
    first: Operator<'a>,
    second: Operator<'a>,
    scratch: Vec<f64>,
}

impl LinearOperator for Sum<'_> {
    fn len(&self) -> usize {
        self.first.len()
    }

    fn inputs(&self) -> usize {
        self.first.inputs()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.first.apply(x, y, columns)?;
        self.scratch.resize(y.len(), 0.0);
        self.second.apply(x, &mut self.scratch, columns)?;
        y.iter_mut().zip(&self.scratch).for_each(|(y, more)| *y += more);
        Ok(())
    }
}

struct Product<'a> {
    outer: Operator<'a>,
    inner: Operator<'a>,
    scratch: Vec<f64>,
}

impl LinearOperator for Product<'_> {
    fn len(&self) -> usize {
        self.outer.len()
    }

    fn inputs(&self) -> usize {
        self.inner.inputs()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        self.scratch.resize(columns * self.inner.len(), 0.0);
        self.inner.apply(x, &mut self.scratch, columns)?;
        self.outer.apply(&self.scratch, y, columns)
    }
}

struct Blocks<'a> {
    rows: Vec<Vec<Option<Operator<'a>>>>,
    /// Length of each row of blocks, and of each column.
    heights: Vec<usize>,
    widths: Vec<usize>,
}

impl<'a> Blocks<'a> {
    fn new(rows: Vec<Vec<Option<Operator<'a>>>>) -> Result<Self, Error> {
        let across = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|row| row.len() != across) {
            return Err(Error::Length {
                what: "row of blocks",
                expected: across,
                found: row.len(),
            });
        }
        let mut heights = vec![None; rows.len()];
        let mut widths = vec![None; across];
        for (i, row) in rows.iter().enumerate() {
            for (j, block) in row.iter().enumerate() {
                let Some(block) = block else { continue };
                for (what, known, found) in [
                    ("rows of a block", &mut heights[i], block.len()),
                    ("columns of a block", &mut widths[j], block.inputs()),
                ] {
                    let expected = *known.get_or_insert(found);
                    if expected != found {
                        return Err(Error::Length { what, expected, found });
                    }
                }
            }
        }
        let all = |sizes: Vec<Option<usize>>, what| -> Result<Vec<usize>, Error> {
            let known = sizes.into_iter().collect::<Option<Vec<usize>>>();
            known.ok_or(Error::Length { what, expected: 1, found: 0 })
        };
        let heights = all(heights, "a row of blocks")?;
        Ok(Self { rows, heights, widths: all(widths, "a column of blocks")? })
    }
}

impl LinearOperator for Blocks<'_> {
    fn len(&self) -> usize {
        self.heights.iter().sum()
    }

    fn inputs(&self) -> usize {
        self.widths.iter().sum()
    }

    fn apply(&mut self, x: &[f64], y: &mut [f64], columns: usize) -> Result<(), Error> {
        let (length, inputs) = (self.len(), self.inputs());
        y.fill(0.0);
        let mut top = 0;
        for (row, &height) in self.rows.iter_mut().zip(&self.heights) {
            let mut left = 0;
            for (block, &width) in row.iter_mut().zip(&self.widths) {
                if let Some(block) = block {
                    let part = |c: usize| &x[c * inputs + left..c * inputs + left + width];
                    let part: Vec<f64> = (0..columns).flat_map(part).copied().collect();
                    let mut product = vec![0.0; columns * height];
                    block.apply(&part, &mut product, columns)?;
                    for (c, product) in product.chunks_exact(height.max(1)).enumerate() {
                        let y = &mut y[c * length + top..c * length + top + height];
                        y.iter_mut().zip(product).for_each(|(y, more)| *y += more);
                    }
                }
                left += width;
            }
            top += height;
        }
        Ok(())
    }
}
