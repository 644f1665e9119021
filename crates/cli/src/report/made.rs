//! What results were made by, when, and on what machine: of that nothing that tells who or where it
//! is, since results are passed on.

use std::time::{SystemTime, UNIX_EPOCH};

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
    /// Of results that are made now, here.
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

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// Seconds since 1970 as ISO 8601 has them.
pub fn timestamp(seconds: u64) -> String {
    let ([year, month, day], of_day) = (date(seconds / DAY), seconds % DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day by its number from 1970 on. See H. Hinnant, chrono-compatible
/// low-level date algorithms, 2013, `civil_from_days`.
pub(crate) fn date(days: u64) -> [u64; 3] {
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    [year + 400 * era + later, month, of_month]
}
