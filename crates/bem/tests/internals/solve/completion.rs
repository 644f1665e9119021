//! Rows completed so that laws hold.

use bem::Error;
use bem::internals::solve::completion::{Completion, Laws, Vectors, complete, multiply_add};
use nalgebra::DMatrix;

/// Laws on rows that overlap, with entries that repeat places.
pub(crate) struct Overlapping {
    laws: [Laws; 2],
}

impl Overlapping {
    pub(crate) fn new(n: usize) -> Self {
        let laws = |has_expected: bool| {
            let count = 3;
            let mut laws = Laws::new(count, n);
            for law in 0..count {
                for i in (0..n).filter(|i| i % (law + 2) != 1) {
                    let value = 1.0 + (i + law) as f64 / n as f64;
                    // In two parts.
                    laws.found.add(law, i, -0.25 * value);
                    laws.found.add(law, i, -0.75 * value);
                    laws.shifts.add(i, law, if i % 2 == 0 { 1.0 } else { -0.5 });
                }
                for i in (0..n).filter(|i| has_expected && i % 3 == law) {
                    laws.expected.add(law, i, 2.0 - law as f64);
                }
            }
            // What a unit of each shift takes from what the others miss.
            let mut taken = DMatrix::zeros(count, count);
            for l in 0..count {
                let mut unit = vec![0.0; count];
                unit[l] = 1.0;
                let mut rows = vec![0.0; n];
                multiply_add(&laws.shifts, &unit, &mut rows);
                let missing = laws.missing(&vec![0.0; n], &rows);
                (0..count).for_each(|k| taken[(k, l)] = -missing[k]);
            }
            laws.set_inverse(0, &taken.try_inverse().unwrap());
            laws
        };
        Self { laws: [laws(true), laws(false)] }
    }
}

impl Completion for Overlapping {
    fn first(&self) -> &Laws {
        &self.laws[0]
    }

    fn row(&self, i: usize) -> [f64; 2] {
        if i.is_multiple_of(5) { [0.0, 1.0] } else { [1.0 + i as f64, 0.5] }
    }

    fn second(&self) -> &Laws {
        &self.laws[1]
    }

    /// Takes the vectors only in columns that miss a law.
    fn defect(
        &self,
        missing: &[f64],
        sizes: &[f64],
        vectors: &mut Vectors<'_>,
    ) -> Result<f64, Error> {
        let mut defect = missing.iter().zip(sizes).map(|(m, s)| m.abs() / s).sum::<f64>();
        if missing[0] > 0.0 {
            let [x, y] = vectors()?;
            defect += x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>();
        }
        Ok(defect)
    }
}

#[test]
fn completed_rows_meet_the_laws() {
    let n = 100;
    let of = Overlapping::new(n);
    let x: Vec<f64> = (0..n).map(|i| (0.3 * i as f64).sin()).collect();
    let mut y: Vec<f64> = (0..n).map(|i| (0.7 * i as f64).cos()).collect();
    let misses = |y: &[f64]| {
        let missing = of.first().missing(&x, y);
        missing.iter().fold(0.0f64, |most, missing| most.max(missing.abs()))
    };
    let before = misses(&y);
    of.first().shift(&of.first().missing(&x, &y), &mut y);
    assert!(misses(&y) < 1e-13 * before, "{} of {before}", misses(&y));
    complete(&of, &x, &mut y, true).unwrap();
    let missing = of.second().missing(&x, &y);
    assert!(missing.iter().all(|missing| missing.abs() < 1e-10), "{missing:?}");
}
