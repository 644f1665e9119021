//! Sums over the points of several ranks that are processes: `mpirun -n 3` with this program. See
//! `.ci/mpi`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)] // mpirun shows them

#[allow(dead_code)] // tests of threads use more of it
#[path = "../../fmm/tests/ranks/mod.rs"]
mod ranks;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use comm::{Communicator, Group};
use fmm::Kernel;
use processes::World;
use samples::{Distribution, Random};

use ranks::{Case, Spread, assert_within, own_sums, with_tolerance};

fn main() {
    let world = Arc::new(World::start().unwrap());
    let group: Group = Arc::<World>::clone(&world);
    let all = || {
        charges(&group);
        everything(&group);
        few_points(&group);
    };
    if catch_unwind(AssertUnwindSafe(all)).is_err() {
        eprintln!("rank {}: check failed", world.rank());
        world.abort(1)
    }
    if world.rank() == 0 {
        println!("{} ranks: all sums are within their tolerances", world.size());
    }
}

fn charges(world: &Group) {
    let spreads = [Spread::Cyclic, Spread::Runs, Spread::Last];
    for (i, distribution) in Distribution::ALL.into_iter().enumerate() {
        let points = distribution.points(6000, &mut Random::new(20 + i as u64));
        let case = Case::charges(points, 7);
        for (tolerance, spread) in [1e-3, 1e-6, 1e-9].into_iter().zip(spreads) {
            let info = assert_within(world, &case, &with_tolerance(tolerance), spread);
            assert_eq!(info.ranks, world.size());
            assert!(info.imbalance < 1.6, "{info:?}");
        }
    }
}

/// Dipoles, gradients, several densities and targets of their own, with and without screening.
fn everything(world: &Group) {
    // More densities than are processed together.
    let case = Case::of_everything(10);
    for kappa in [0.0, 3.0] {
        let options = with_tolerance(1e-5).kernel(Kernel::Yukawa { kappa });
        assert_within(world, &case, &options, Spread::Runs);
    }
}

fn few_points(world: &Group) {
    for points in [Vec::new(), vec![[1.0; 3]], vec![[0.25, -3.0, 1e6]; 500]] {
        let case = Case { gradient: true, ..Case::charges(points, 2) };
        let own = own_sums(world, &case, &with_tolerance(1e-6), Spread::Cyclic);
        assert!(own.potential.iter().chain(&own.gradient).all(|&value| value == 0.0));
    }
}
