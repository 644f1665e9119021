//! `farad info`.

use serde::Serialize;
use simd::Level;

use crate::machine;
use crate::report::{made, units};
use crate::terminal::exit::Failure;
use crate::terminal::output::Output;

/// Arguments of `farad info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object to stdout, and nothing else
    #[arg(long)]
    json: bool,
}

/// The object that `--json` prints.
#[derive(Debug, Serialize)]
struct Info {
    version: &'static str,
    commit: &'static str,
    processor: Option<String>,
    simd: Simd,
    threads: usize,
    available_memory_bytes: Option<u64>,
    gpus: Vec<Gpu>,
    /// Why there is no GPU.
    no_gpu: Option<String>,
}

/// Instruction sets of the sums on a CPU.
#[derive(Debug, Serialize)]
struct Simd {
    used: &'static str,
    /// The best that the processor has.
    best: &'static str,
    /// The level that the environment requests.
    #[serde(rename = "FARAD_SIMD")]
    asked: Option<String>,
}

#[derive(Debug, Serialize)]
struct Gpu {
    index: usize,
    name: String,
    memory_bytes: u64,
    compute_capability: String,
}

/// Prints version, SIMD level, threads, memory and GPUs.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let info = Info::new();
    Output::report(args.json, &info, || info.text())
}

impl Info {
    fn new() -> Self {
        let (gpus, no_gpu) = match fmm::gpus() {
            Ok(gpus) => (gpus.iter().map(Gpu::of).collect(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let asked = std::env::var(simd::VARIABLE).ok().filter(|asked| !asked.is_empty());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: made::COMMIT,
            processor: machine::processor(),
            simd: Simd { used: Level::chosen().name(), best: Level::detect().name(), asked },
            threads: machine::threads(),
            available_memory_bytes: machine::available_memory(),
            gpus,
            no_gpu,
        }
    }

    /// The text for people.
    fn text(&self) -> String {
        let unknown = || "not known".to_owned();
        let processor = self.processor.clone().unwrap_or_else(unknown);
        let memory = self.available_memory_bytes.map_or_else(unknown, units::bytes);
        let Simd { used, best, asked } = &self.simd;
        let chosen = match asked {
            Some(_) => format!(" (chosen by {}; the processor has {best})", simd::VARIABLE),
            None => String::new(),
        };
        let gpus = match &self.no_gpu {
            Some(why) => format!("gpus       none: {why}"),
            None => self.gpus.iter().map(Gpu::text).collect::<Vec<_>>().join("\n"),
        };
        format!(
            "farad      {}\nprocessor  {processor}\nsimd       {used}{chosen}\nthreads    {}\nmemory     {memory} available\n{gpus}",
            made::VERSION,
            self.threads,
        )
    }
}

impl Gpu {
    fn of(gpu: &fmm::DeviceInfo) -> Self {
        Self {
            index: gpu.index,
            name: gpu.name.clone(),
            memory_bytes: gpu.memory,
            compute_capability: gpu.capability.to_string(),
        }
    }

    fn text(&self) -> String {
        let memory = units::bytes(self.memory_bytes);
        let Self { index, name, compute_capability, .. } = self;
        format!("gpu {index}      {name}, {memory}, compute capability {compute_capability}")
    }
}
