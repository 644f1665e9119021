//! Where the sum of several ranks is computed.

use comm::{Communicator, Operation};

use super::agreement::agreed;
use crate::model::{Backend, Options};
use crate::{Error, gpu};

/// Where the sum is computed, the same on all ranks, and why not on GPUs; `points`: sources and
/// targets of this rank. Collective.
pub(super) fn backend(
    group: &dyn Communicator,
    points: [usize; 2],
    options: &Options,
) -> Result<(Backend, Option<String>), Error> {
    if options.backend == Backend::Cpu {
        return Ok((Backend::Cpu, None));
    }
    if options.backend == Backend::Auto {
        let mut all = points.map(|count| count as f64);
        group.all_reduce(&mut all, Operation::Sum)?;
        // As many on each as pay on one.
        let [n, m] = all.map(|count| count as usize / group.size());
        if !gpu::pays(n, m) {
            return Ok((Backend::Cpu, None));
        }
    }
    let found = agreed(group, gpu::check_gpu(options.gpu).map_err(Error::from));
    match found {
        Ok(()) if options.backend == Backend::Hybrid => Ok((Backend::Hybrid, None)),
        Ok(()) => Ok((Backend::Cuda, None)),
        Err(error) if options.backend == Backend::Auto => {
            Ok((Backend::Cpu, Some(error.to_string())))
        }
        Err(error) => Err(error),
    }
}
