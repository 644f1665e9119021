//! Days by the calendar, by the clock of Greenwich.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// Year, month and day of a day by its number from 1970 on. See H. Hinnant, chrono-compatible
/// low-level date algorithms, 2013, `civil_from_days`.
pub fn date(days: u64) -> [u64; 3] {
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    [year + 400 * era + later, month, of_month]
}
