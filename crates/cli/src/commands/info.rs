//! `farad info`.

use crate::exit::Failure;
use crate::output::Output;
use crate::{machine, units};

/// Prints version, SIMD level, threads, memory and GPUs.
pub(crate) fn run() -> Result<(), Failure> {
    let processor = machine::processor().unwrap_or_else(|| "not known".to_owned());
    let memory = machine::available_memory().map_or("not known".to_owned(), units::bytes);
    Output::default().data(&format!(
        "farad      {}\nprocessor  {processor}\nsimd       {}\nthreads    {}\nmemory     {memory} available\n{}",
        env!("CARGO_PKG_VERSION"),
        fmm::simd::level(),
        machine::threads(),
        gpus(),
    ))
}

/// A line for each GPU, or why there is none.
fn gpus() -> String {
    let line = |gpu: &fmm::DeviceInfo| {
        let (major, minor) = gpu.capability;
        format!(
            "gpu {}      {}, {}, compute capability {major}.{minor}",
            gpu.index,
            gpu.name,
            units::bytes(gpu.memory)
        )
    };
    match fmm::gpus() {
        Ok(gpus) => gpus.iter().map(line).collect::<Vec<_>>().join("\n"),
        Err(error) => format!("gpus       none: {error}"),
    }
}
