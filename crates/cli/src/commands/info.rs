//! `farad info`.

use crate::exit::Failure;
use crate::output::Output;
use crate::{backend, machine, units};

/// Prints version, SIMD level, threads, memory and GPUs.
pub(crate) fn run() -> Result<(), Failure> {
    let processor = machine::processor().unwrap_or_else(|| "not known".to_owned());
    let memory = machine::available_memory().map_or("not known".to_owned(), units::bytes);
    Output::default().data(&format!(
        "farad      {}\nprocessor  {processor}\nsimd       {}\nthreads    {}\nmemory     {memory} available\ngpus       none: {}",
        env!("CARGO_PKG_VERSION"),
        fmm::simd::level(),
        machine::threads(),
        backend::NO_GPU,
    ))
}
