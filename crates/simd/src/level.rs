//! Instruction sets: those of the processor, and the one requested by the environment.

use std::ffi::OsStr;
use std::sync::OnceLock;

/// Environment variable that chooses an instruction set: `baseline`, `avx2` or `avx512`.
pub const VARIABLE: &str = "FARAD_SIMD";

/// Errors in the value of [`VARIABLE`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The instruction set does not exist.
    #[error(
        "{VARIABLE} is {value:?}: it can be baseline, avx2 or avx512, or unset for the best that the processor has"
    )]
    Unknown {
        /// The value.
        value: String,
    },
    /// The processor lacks the instruction set.
    #[error("{VARIABLE} asks for {asked}, which this processor lacks: its best is {best}")]
    Missing {
        /// The requested instruction set.
        asked: &'static str,
        /// The best of the processor.
        best: &'static str,
    },
}

/// An instruction set for which loops are compiled and which the processor supports: no other level
/// can be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub(crate) Set);

/// Instruction sets, each of which includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Available on every processor.
    Baseline,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 F, DQ, VL and BW.
    Avx512,
}

impl Set {
    /// All, each after those that it includes.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The set that `value` of [`VARIABLE`] chooses on a processor whose best is `best`.
    ///
    /// # Errors
    /// [`Error::Unknown`] or [`Error::Missing`] if `value` names another one.
    pub fn choose(value: Option<&OsStr>, best: Self) -> Result<Self, Error> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(best) };
        let asked = match value.to_str() {
            Some("baseline") => Self::Baseline,
            Some("avx2") => Self::Avx2,
            Some("avx512") => Self::Avx512,
            _ => return Err(Error::Unknown { value: value.to_string_lossy().into_owned() }),
        };
        if asked > best {
            return Err(Error::Missing { asked: asked.name(), best: best.name() });
        }
        Ok(asked)
    }

    /// Its name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

impl Level {
    /// Available on every processor. On x86-64 it is one lane without intrinsics, the reference for
    /// tests: processors without AVX2 are rare, and more code for them would take everybody's time
    /// to compile. Elsewhere it is 16 bytes of lanes that the compiler vectorises.
    pub const BASELINE: Self = Self(Set::Baseline);

    /// The level that loops use: the one that [`VARIABLE`] names, else the best of the processor.
    /// It is determined once, at the first call. A level that is unknown or that the processor
    /// lacks is ignored here; [`check`] reports it.
    #[inline]
    pub fn chosen() -> Self {
        static CHOSEN: OnceLock<Level> = OnceLock::new();
        *CHOSEN.get_or_init(|| check().unwrap_or_else(|_| Self::detect()))
    }

    /// The best level of the processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            return Self(if all { Set::Avx512 } else { Set::Avx2 });
        }
        Self::BASELINE
    }

    /// Every level that the processor supports, the baseline first.
    pub fn available() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        Set::ALL.into_iter().map(Self).filter(move |&level| level <= best)
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        self.0.name()
    }
}

/// The level from [`VARIABLE`] and the processor.
///
/// # Errors
/// [`Error::Unknown`] or [`Error::Missing`] if [`VARIABLE`] names another one.
pub fn check() -> Result<Level, Error> {
    Set::choose(std::env::var_os(VARIABLE).as_deref(), Level::detect().0).map(Level)
}
