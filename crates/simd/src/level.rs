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
pub(crate) enum Set {
    Baseline,
    Avx2,
    Avx512,
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

    /// The level that `value` of [`VARIABLE`] chooses on a processor whose best is `best`.
    fn choose(value: Option<&OsStr>, best: Self) -> Result<Self, Error> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(best) };
        let asked = match value.to_str() {
            Some("baseline") => Self::BASELINE,
            Some("avx2") => Self(Set::Avx2),
            Some("avx512") => Self(Set::Avx512),
            _ => return Err(Error::Unknown { value: value.to_string_lossy().into_owned() }),
        };
        if asked > best {
            return Err(Error::Missing { asked: asked.name(), best: best.name() });
        }
        Ok(asked)
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
        [Set::Baseline, Set::Avx2, Set::Avx512]
            .into_iter()
            .map(Self)
            .filter(move |&level| level <= best)
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Baseline => "baseline",
            Set::Avx2 => "AVX2",
            Set::Avx512 => "AVX-512",
        }
    }
}

/// The level from [`VARIABLE`] and the processor.
///
/// # Errors
/// [`Error::Unknown`] or [`Error::Missing`] if [`VARIABLE`] names another one.
pub fn check() -> Result<Level, Error> {
    Level::choose(std::env::var_os(VARIABLE).as_deref(), Level::detect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_chooses_at_most_what_the_processor_has() {
        let choose = |value: &str, best| Level::choose(Some(OsStr::new(value)), best);
        let all = [("baseline", Set::Baseline), ("avx2", Set::Avx2), ("avx512", Set::Avx512)]
            .map(|(name, set)| (name, Level(set)));
        for (name, level) in all {
            for (_, best) in all {
                match choose(name, best) {
                    Ok(found) => assert!(found == level && level <= best),
                    Err(Error::Missing { .. }) => assert!(level > best),
                    other => panic!("{other:?}"),
                }
            }
        }
        for best in [Level::BASELINE, Level(Set::Avx2)] {
            assert_eq!(Level::choose(None, best).unwrap(), best);
            assert_eq!(choose("", best).unwrap(), best);
        }
        for unknown in ["sse2", "AVX2", "avx2 ", "scalar"] {
            assert!(matches!(choose(unknown, Level(Set::Avx512)), Err(Error::Unknown { .. })));
        }
        // Loops never use instructions that the processor lacks, whatever the tests run under.
        assert!(Level::chosen() <= Level::detect());
        assert_eq!(check().unwrap(), Level::chosen());
    }
}
