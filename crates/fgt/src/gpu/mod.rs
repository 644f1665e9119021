//! The sums on a GPU: geometry as on processors, by them, then charges to sums on the device
//! (docs/performance.md, "Sums of Gaussians").
//!
//! Each kernel file under `kernels/fgt/` is one stage. Sums do not depend on the order in which
//! blocks of threads run.

mod common;
mod grid;
pub(crate) mod kernels;
mod pairs;

use cuda::{Buffer, Device, Error, Grid, Kernel, Pointer, Precision, Reals, count};

use crate::group_plan::GroupPlan;
use crate::{Options, Sums};
use common::{Common, precision_macro};
use grid::DeviceGrid;
use kernels::points;
use pairs::{MOST_DENSITIES, NearPairs};

/// Points below which a GPU's start and copies cost more than it saves.
pub(crate) const WORTH_IT: usize = 20_000;

/// From this tolerance on single precision is enough.
const SINGLE: f64 = 1e-4;

/// The format for a tolerance.
pub fn precision(options: &Options) -> Precision {
    if options.tolerance >= SINGLE { Precision::Single } else { Precision::Double }
}

/// A plan on a device.
#[derive(Debug)]
pub(crate) struct Engine {
    device: Device,
    precision: Precision,
    dimensions: usize,
    sources: usize,
    targets: usize,
    groups: Vec<Group>,
    gather: Kernel<points::Gather>,
    scatter: Kernel<points::Scatter>,
}

/// A group on a device.
#[derive(Debug)]
struct Group {
    /// As in [`GroupPlan`].
    scale: f64,
    order: Buffer<u32>,
    rank: Buffer<u32>,
    pairs: Option<NearPairs>,
    grid: Option<DeviceGrid>,
}

impl Engine {
    /// Brings groups to the device.
    pub(crate) fn new(
        device: Device,
        precision: Precision,
        dimensions: usize,
        [sources, targets]: [usize; 2],
        groups: &[GroupPlan],
        options: &Options,
        rough: bool,
    ) -> Result<Self, Error> {
        let gradient = options.gradient;
        let common = Common { device: &device, precision, dimensions, gradient, rough };
        let of_device = |group: &GroupPlan| {
            let grid = group.grid.as_ref().map(|grid| DeviceGrid::new(common, group, grid));
            Ok(Group {
                scale: group.scale,
                order: device.upload(&group.sources.order)?,
                rank: device.upload(&group.rank)?,
                pairs: NearPairs::of_group(common, group)?,
                grid: grid.transpose()?,
            })
        };
        let groups = groups.iter().map(of_device).collect::<Result<_, Error>>()?;
        Self::with_groups(device, precision, dimensions, [sources, targets], groups)
    }

    /// All pairs of points, both [axis][point].
    pub(crate) fn all_pairs(
        device: Device,
        dimensions: usize,
        points: &[[Vec<f64>; 3]; 2],
        exponents: &[f64],
        options: &Options,
    ) -> Result<Self, Error> {
        let precision = Precision::Double;
        let gradient = options.gradient;
        let common = Common { device: &device, precision, dimensions, gradient, rough: false };
        let counts = points.each_ref().map(|axes| axes[0].len());
        let [order, rank] = counts.map(|n| (0..n as u32).collect::<Vec<u32>>());
        let group = Group {
            scale: 1.0,
            order: device.upload(&order)?,
            rank: device.upload(&rank)?,
            pairs: NearPairs::all(common, points, exponents)?,
            grid: None,
        };
        Self::with_groups(device, precision, dimensions, counts, vec![group])
    }

    fn with_groups(
        device: Device,
        precision: Precision,
        dimensions: usize,
        [sources, targets]: [usize; 2],
        groups: Vec<Group>,
    ) -> Result<Self, Error> {
        let macros = [precision_macro(precision)];
        let gather = Kernel::new(&device, &macros)?;
        let scatter = Kernel::new(&device, &macros)?;
        device.stream().synchronize()?;
        Ok(Self { device, precision, dimensions, sources, targets, groups, gather, scatter })
    }

    /// Overwrites `sums` by those of k densities; the seconds between copies.
    pub(crate) fn apply(
        &self,
        charges: &[f64],
        k: usize,
        sums: &mut Sums<'_>,
    ) -> Result<f64, Error> {
        let (n, m, device) = (self.sources, self.targets, &self.device);
        if k == 0 || n == 0 || m == 0 {
            sums.clear();
            return Ok(0.0);
        }
        let charges = device.upload(charges)?;
        let (begin, end) = (device.event()?, device.event()?);
        begin.record(device.stream())?;
        let zeros = |of: &Option<&mut [f64]>| -> Result<Option<Buffer<f64>>, Error> {
            let Some(array) = of else { return Ok(None) };
            let buffer = device.buffer(array.len())?;
            buffer.zero()?;
            Ok(Some(buffer))
        };
        let (values, gradients) = (zeros(&sums.values)?, zeros(&sums.gradients)?);
        for first in (0..k).step_by(MOST_DENSITIES) {
            let some = MOST_DENSITIES.min(k - first);
            for group in &self.groups {
                let charges = |density: usize| charges.pointer_to((first + density) * n);
                let out = |density: usize| {
                    let at = |buffer: &Option<Buffer<f64>>, each: usize| {
                        let place = (first + density) * m * each;
                        buffer.as_ref().map_or(Pointer::null(), |all| all.pointer_to(place))
                    };
                    [at(&values, 1), at(&gradients, self.dimensions)]
                };
                self.add(group, some, gradients.is_some(), &charges, &out)?;
            }
        }
        end.record(device.stream())?;
        for (buffer, array) in [(values, &mut sums.values), (gradients, &mut sums.gradients)] {
            if let (Some(buffer), Some(array)) = (buffer, array) {
                buffer.read(0, array)?;
            }
        }
        begin.seconds_to(&end)
    }

    /// Adds the sums of one group and some densities, whose `charges` and values and gradients are
    /// where the closures say.
    fn add(
        &self,
        group: &Group,
        densities: usize,
        gradient: bool,
        charges: &dyn Fn(usize) -> Pointer<f64>,
        out: &dyn Fn(usize) -> [Pointer<f64>; 2],
    ) -> Result<(), Error> {
        let (device, stream) = (&self.device, self.device.stream());
        let (n, m) = (group.order.len(), self.targets);
        let columns = 1 + if gradient { self.dimensions } else { 0 };
        let slices = group.pairs.as_ref().map_or(1, NearPairs::slices);
        let each = slices * columns * m;
        let sums = Reals::zeros(device, self.precision, densities * each)?;
        if let Some(pairs) = &group.pairs {
            let sorted = Reals::new(device, self.precision, densities * n)?;
            for density in 0..densities {
                let gather = points::Gather {
                    charges: charges(density),
                    order: group.order.pointer(),
                    shares: Pointer::null(),
                    n: count(n),
                    sorted: sorted.pointer_to(density * n),
                };
                // SAFETY: `order` has the group's sources among all.
                unsafe { self.gather.launch(stream, Grid::covering(n, points::THREADS), gather)? };
            }
            pairs.add(device, densities, gradient, &sorted, &sums)?;
        }
        for density in 0..densities {
            let own = sums.pointer_to(density * each);
            if let Some(grid) = &group.grid {
                grid.add(device, &group.order, charges(density), gradient, own)?;
            }
            let [values, gradients] = out(density);
            let scatter = points::Scatter {
                sums: own,
                slices: count(slices),
                rank: group.rank.pointer(),
                m: count(m),
                dimensions: count(self.dimensions),
                columns: count(columns),
                scale: group.scale,
                values,
                gradients,
            };
            // SAFETY: `rank` has the place of each target among the sums.
            unsafe { self.scatter.launch(stream, Grid::covering(m, points::THREADS), scatter)? };
        }
        Ok(())
    }

    /// The GPU's name.
    pub(crate) fn name(&self) -> &str {
        &self.device.info().name
    }

    /// Bytes on the device that the plan holds, and during `apply`.
    pub(crate) fn bytes(&self) -> u64 {
        let of_group = |group: &Group| {
            group.order.bytes()
                + group.rank.bytes()
                + group.pairs.as_ref().map_or(0, NearPairs::bytes)
                + group.grid.as_ref().map_or(0, DeviceGrid::bytes)
        };
        self.groups.iter().map(of_group).sum()
    }
}
