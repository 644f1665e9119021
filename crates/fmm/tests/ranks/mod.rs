//! Sums over the points of several ranks, whatever ranks are: what the tests of threads and of MPI
//! have in common.

use comm::{Group, Operation};
use fmm::distributed::{Plan, RankInfo};
use fmm::{Densities, Kernel, Options, Potentials, direct};
use samples::{ChargeKind, Distribution, Random};

/// How points are spread over ranks at first.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// One after the other.
    Cyclic,
    /// In runs of very different lengths.
    Runs,
    /// All on the last rank.
    Last,
}

impl Spread {
    pub fn of(self, i: usize, n: usize, ranks: usize) -> usize {
        match self {
            Self::Cyclic => i % ranks,
            Self::Runs => ((i as f64 / n as f64).powi(3) * ranks as f64) as usize,
            Self::Last => ranks - 1,
        }
    }
}

/// A sum for all ranks together; shapes (k, n), (k, n, 3).
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub sources: Vec<[f64; 3]>,
    pub targets: Option<Vec<[f64; 3]>>,
    pub charges: Option<Vec<f64>>,
    pub dipoles: Option<Vec<f64>>,
    pub densities: usize,
    pub gradient: bool,
}

impl Case {
    pub fn charges(sources: Vec<[f64; 3]>, seed: u64) -> Self {
        let charges = Some(ChargeKind::Mixed.charges(&sources, &mut Random::new(seed)));
        Self { sources, charges, densities: 1, ..Self::default() }
    }

    /// Dipoles and gradients, k densities, and targets of their own.
    pub fn of_everything(k: usize) -> Self {
        let mut random = Random::new(5);
        let sources = Distribution::Sphere.points(2000, &mut random);
        let targets = Distribution::Plummer.points(1500, &mut random);
        let charges = (0..k).flat_map(|_| ChargeKind::Mixed.charges(&sources, &mut random));
        let charges = charges.collect();
        let moments = (0..3 * k * sources.len()).map(|_| 0.1 * (random.uniform() - 0.5)).collect();
        Self {
            sources,
            targets: Some(targets),
            charges: Some(charges),
            dipoles: Some(moments),
            densities: k,
            gradient: true,
        }
    }

    pub fn targets(&self) -> &[[f64; 3]] {
        self.targets.as_deref().unwrap_or(&self.sources)
    }

    /// Exact potentials, shape (k, m), and gradients, shape (k, m, 3), at some of the targets.
    pub fn exact(&self, kernel: Kernel, some: &[usize]) -> [Vec<f64>; 2] {
        let k = self.densities;
        let at: Vec<[f64; 3]> = some.iter().map(|&i| self.targets()[i]).collect();
        let (mut exact, mut slopes) = (vec![0.0; k * at.len()], vec![0.0; 3 * k * at.len()]);
        let mut to = Potentials { potential: Some(&mut exact), gradient: Some(&mut slopes) };
        let densities =
            Densities { charges: self.charges.as_deref(), dipoles: self.dipoles.as_deref() };
        direct::sum(kernel, &self.sources, &at, densities, &mut to).unwrap();
        [exact, slopes]
    }
}

/// The rows of (k, n, width) of some points.
pub fn pick(values: &[f64], some: &[usize], k: usize, width: usize) -> Vec<f64> {
    let n = values.len() / (k * width);
    let of_density = |density| {
        some.iter().flat_map(move |i| {
            let begin = (density * n + i) * width;
            values[begin..begin + width].iter().copied()
        })
    };
    (0..k).flat_map(of_density).collect()
}

/// What one rank gets: its targets, potentials, shape (k, m), gradients, shape (k, m, 3).
pub struct Own {
    pub targets: Vec<usize>,
    pub potential: Vec<f64>,
    pub gradient: Vec<f64>,
    pub info: RankInfo,
    pub timeline: Vec<fmm::Span>,
}

/// The sums of one rank of a group. Collective.
pub fn own_sums(group: &Group, case: &Case, options: &Options, spread: Spread) -> Own {
    let (n, m, k) = (case.sources.len(), case.targets().len(), case.densities);
    let options =
        options.clone().gradient(case.gradient).dipoles(case.dipoles.is_some()).densities(k);
    let (rank, ranks) = (group.rank(), group.size());
    let own = |count: usize| -> Vec<usize> {
        (0..count).filter(|&i| spread.of(i, count, ranks) == rank).collect()
    };
    let (own_sources, own_targets) = (own(n), own(m));
    let points = |of: &[[f64; 3]], own: &[usize]| own.iter().map(|&i| of[i]).collect::<Vec<_>>();
    let sources = points(&case.sources, &own_sources);
    let targets = case.targets.as_ref().map(|targets| points(targets, &own_targets));
    let mut plan = Plan::new(group, &sources, targets.as_deref(), &options).unwrap();
    let charges = case.charges.as_ref().map(|q| pick(q, &own_sources, k, 1));
    let dipoles = case.dipoles.as_ref().map(|d| pick(d, &own_sources, k, 3));
    let mut potential = vec![f64::NAN; k * own_targets.len()];
    let mut gradient = vec![f64::NAN; 3 * k * own_targets.len()];
    // Twice: the second apply must not remember the first.
    for _ in 0..2 {
        plan.apply(
            Densities { charges: charges.as_deref(), dipoles: dipoles.as_deref() },
            Potentials {
                potential: Some(&mut potential),
                gradient: case.gradient.then_some(&mut gradient[..]),
            },
        )
        .unwrap();
    }
    let (info, timeline) = (plan.rank_info().clone(), plan.timeline().to_vec());
    Own { targets: own_targets, potential, gradient, info, timeline }
}

/// Asserts that the sums of a group are within the tolerance, at up to about 8000 targets: a few of
/// many, as in the middle of a cluster, may be ten times as far off as all.
/// Collective.
pub fn assert_within(group: &Group, case: &Case, options: &Options, spread: Spread) -> RankInfo {
    assert_near(group, case, options, spread, |some| case.exact(options.kernel, some))
}

/// As [`assert_within`], with exact sums at some of the targets, as of [`Case::exact`], given.
/// Collective.
pub fn assert_near(
    group: &Group,
    case: &Case,
    options: &Options,
    spread: Spread,
    exact: impl FnOnce(&[usize]) -> [Vec<f64>; 2],
) -> RankInfo {
    let (m, k) = (case.targets().len(), case.densities);
    let own = own_sums(group, case, options, spread);
    let every = m.div_ceil(8000).max(1);
    let some: Vec<usize> = (0..own.targets.len()).step_by(every).collect();
    let at: Vec<usize> = some.iter().map(|&i| own.targets[i]).collect();
    let [exact, slopes] = exact(&at);
    let found = (pick(&own.potential, &some, k, 1), pick(&own.gradient, &some, k, 3));
    let squares = |found: &[f64], exact: &[f64]| {
        let difference: f64 = found.iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
        [difference, exact.iter().map(|b| b * b).sum()]
    };
    let mut sums = [squares(&found.0, &exact), squares(&found.1, &slopes)].concat();
    group.all_reduce(&mut sums, Operation::Sum).unwrap();
    let what = if case.gradient { &["potential", "gradient"][..] } else { &["potential"] };
    for (what, sums) in what.iter().zip(sums.chunks(2)) {
        let error = if sums[1] == 0.0 { sums[0].sqrt() } else { (sums[0] / sums[1]).sqrt() };
        let ranks = group.size();
        assert!(error <= options.tolerance, "{ranks} ranks, {spread:?}: {what} {error:e}");
    }
    own.info
}

pub fn with_tolerance(tolerance: f64) -> Options {
    Options::default().tolerance(tolerance)
}
