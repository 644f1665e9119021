//! The program, time and machine of results, but no names of people or places, since results are
//! passed on.

use ::report::dates::{DAY, date, seconds};
use serde::Serialize;

use crate::machine;

/// The commit that the program was built of; "unknown" where it was built of no checkout.
pub(crate) const COMMIT: &str = env!("FARAD_COMMIT");

/// Version and commit, for people.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("FARAD_COMMIT"), ")");

/// How results came to be.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Made {
    commit: &'static str,
    /// When, as ISO 8601 has it, by the clock of Greenwich.
    date: String,
    system: String,
    processor: Option<String>,
    processors: Option<usize>,
}

impl Made {
    /// The origin of results that are made now, here.
    pub(crate) fn now() -> Self {
        Self {
            commit: COMMIT,
            date: timestamp(seconds()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            processor: machine::processor(),
            processors: machine::system::processors(),
        }
    }
}

/// Seconds since 1970 as ISO 8601 has them.
pub fn timestamp(seconds: u64) -> String {
    let ([year, month, day], of_day) = (date(seconds / DAY), seconds % DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
