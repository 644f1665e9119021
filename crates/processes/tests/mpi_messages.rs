//! Ranks that are processes: `mpirun -n 3` with this program. See `.ci/mpi`.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)] // mpirun shows them

#[path = "../../comm/tests/checks/mod.rs"]
mod checks;

use std::panic::{AssertUnwindSafe, catch_unwind};

use comm::{Communicator, Error, all_gather};
use processes::World;

/// Bytes of a piece of a message, and of the longest messages: in many small pieces, in pieces too
/// long for MPI to send before they are asked for, and in one.
const SIZES: [(usize, usize); 3] = [(7, 100), (100_000, 450_000), (1 << 30, 450_000)];

fn main() {
    let mut world = World::start().unwrap();
    for (piece, longest) in SIZES {
        world.set_piece(piece);
        for (name, check) in checks::ALL {
            if catch_unwind(AssertUnwindSafe(|| check(&world, longest))).is_err() {
                fail(&world, &format!("{name} (piece {piece}, longest {longest})"));
            }
        }
    }
    let own = || {
        ranks_of_a_host_are_counted(&world);
        mpi_starts_once();
        ranks_that_are_none_are_errors(&world);
    };
    if catch_unwind(AssertUnwindSafe(own)).is_err() {
        fail(&world, "World");
    }
    if world.rank() == 0 {
        println!("{} ranks: all checks passed", world.size());
    }
}

/// Reports which check failed where, and ends all ranks.
fn fail(world: &World, name: &str) -> ! {
    eprintln!("rank {}: check failed: {name}", world.rank());
    world.abort(1)
}

fn ranks_of_a_host_are_counted(world: &World) {
    let hosts = world.all_gather(world.host().as_bytes()).unwrap();
    let same = |host: &&Vec<u8>| host.as_slice() == world.host().as_bytes();
    assert_eq!(world.local_size(), hosts.iter().filter(same).count());
    assert_eq!(world.local_rank(), hosts[..world.rank()].iter().filter(same).count());
    let local = all_gather(world, &[world.local_rank() as u64]).unwrap();
    assert_eq!(local.len(), world.size());
    assert!(format!("{world:?}").contains(world.host()));
}

fn mpi_starts_once() {
    assert!(matches!(World::start(), Err(Error::Mpi { call: "MPI_Init_thread", .. })));
}

fn ranks_that_are_none_are_errors(world: &World) {
    let wrong = world.start(vec![(world.size(), vec![1])], &[]);
    assert!(matches!(wrong, Err(Error::Mpi { .. })));
    let wrong = world.start(vec![], &[(world.size(), 1)]);
    assert!(matches!(wrong, Err(Error::Mpi { .. })));
}
