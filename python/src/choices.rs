//! What is chosen by a word: one of several, where to compute.

use crate::error::{Failure, Kind};

/// One of some words.
pub(crate) fn choice<T>(what: &str, word: &str, all: &[(&str, T)]) -> Result<T, Failure>
where
    T: Copy,
{
    let found = all.iter().find(|(known, _)| *known == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<String> = all.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        Failure::input(format!("{what} is \"{word}\"; it must be one of {}", all.join(", ")))
    })
}

/// Where sums are computed.
pub(crate) fn backend(word: &str) -> Result<fmm::Backend, Failure> {
    let all = [
        ("auto", fmm::Backend::Auto),
        ("cpu", fmm::Backend::Cpu),
        ("cuda", fmm::Backend::Cuda),
        ("hybrid", fmm::Backend::Hybrid),
    ];
    choice("backend", word, &all)
}

/// That a GPU that was asked for is there.
pub(crate) fn check_gpu(backend: fmm::Backend, gpu: usize) -> Result<(), Failure> {
    match backend {
        fmm::Backend::Cuda | fmm::Backend::Hybrid => {
            let missing = |error| format!("no GPU {gpu}: {error}; use backend=\"auto\" or \"cpu\"");
            fmm::check_gpu(gpu).map_err(|error| Failure::new(Kind::NoGpu, missing(error)))
        }
        _ => Ok(()),
    }
}
