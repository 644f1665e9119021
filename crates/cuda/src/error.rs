//! What can go wrong between the program and a GPU: one line each.

/// Why a GPU cannot be used, or why it stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver library is not installed.
    #[error("no NVIDIA driver: the library libcuda cannot be loaded")]
    NoDriver,
    /// The driver knows an older CUDA only.
    #[error("the NVIDIA driver is too old: it offers CUDA {found}, {needed} or newer is needed")]
    DriverTooOld {
        /// Version that the driver offers.
        found: String,
        /// Oldest version that will do.
        needed: String,
    },
    /// The driver is there, a GPU is not.
    #[error("no GPU: the NVIDIA driver finds none")]
    NoDevice,
    /// There are fewer GPUs than asked for.
    #[error("no GPU {index}: the driver finds {count}, numbered from 0")]
    NoSuchDevice {
        /// Number asked for.
        index: usize,
        /// GPUs there are.
        count: usize,
    },
    /// The GPU lacks instructions that the kernels need.
    #[error(
        "GPU {index} ({name}) is too old: compute capability {found}, {needed} or newer is needed"
    )]
    DeviceTooOld {
        /// Number of the GPU.
        index: usize,
        /// Its name.
        name: String,
        /// Its compute capability.
        found: String,
        /// Oldest that will do.
        needed: String,
    },
    /// The run-time compiler is not installed.
    #[error(
        "no CUDA run-time compiler: the library libnvrtc cannot be loaded (part of the CUDA toolkit)"
    )]
    NoCompiler,
    /// A kernel does not compile.
    #[error("the CUDA run-time compiler rejects {file}: {log}")]
    Compile {
        /// The source.
        file: String,
        /// What the compiler says.
        log: String,
    },
    /// Device memory is exhausted, or would be.
    #[error("not enough memory on GPU {gpu}: {} are needed, {} are free", in_units(*needed), in_units(*free))]
    OutOfMemory {
        /// Number of the GPU.
        gpu: usize,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A kernel would have gone beyond the end of an array.
    #[error(
        "the GPU kernel {kernel} was not started: its argument {argument} needs {needed} elements, \
         {there} are there; this is a defect of Farad: please report it with the input, and \
         compute without a GPU meanwhile"
    )]
    TooShort {
        /// The kernel.
        kernel: &'static str,
        /// Which of its arguments the array is.
        argument: &'static str,
        /// Elements that the kernel touches at least.
        needed: u128,
        /// Elements that are there.
        there: usize,
    },
    /// Any other failure that the driver reports; after a failed kernel nothing more works in this
    /// process.
    #[error("the GPU failed in {what}: {reason}")]
    Driver {
        /// What was being done.
        what: &'static str,
        /// The driver's words.
        reason: String,
    },
}

/// Bytes in the binary unit that keeps three digits, for messages.
pub fn in_units(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {}", UNITS[unit])
}
